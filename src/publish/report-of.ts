import type { Config, RunContext } from '../config/config.ts';
import { view } from '../core/lane/circuit.ts';
import { QUEUE } from '../core/tasks/ids.ts';
import type { Outcome } from '../core/outcome.ts';
import { mapTexts } from '../core/text/redact.ts';
import { callsRemaining } from '../core/lane/windows.ts';
import type { Intake } from '../handover/intake.ts';
import type { Work } from '../handover/work.ts';
import type { PullRequest } from '../ports/forge.ts';
import { MAX_UNLISTED, parseHiddenStatus } from '../report/pages/status-json.ts';
import { reportWithoutLane, type RunReport, type SavedReport } from '../handover/report.ts';
import { laneViewOf, tasksWithProgress } from './lane-view.ts';

/** What every report is made with. */
export interface ReportFrame {
  readonly config: Config;
  readonly context: RunContext;
  /** Text → the same text without secrets. */
  readonly redact: (text: string) => string;
  readonly now: number;
}

/** The report of a run that worked, as far as it got. */
export function reportOfWork(
  frame: ReportFrame,
  work: Work,
  published: {
    readonly pullRequest: PullRequest | null;
    readonly headSha: string | null;
    readonly saved: SavedReport | null;
  },
): RunReport {
  const sum = (of: (entry: Work['journal'][number]) => number | null): number =>
    work.journal.reduce((total, entry) => total + (of(entry) ?? 0), 0);
  const report: RunReport = {
    ...reportOfLane(frame, work),
    ...published,
    lane: work.lane.id,
    unlisted: unlistedTasks(work),
    taskSources: sourcesOf(frame, work.lane.id),
    branch: work.lane.branch,
    baseBranch: work.lane.baseBranch,
    iterations: work.journal,
    tokens: sum((entry) => entry.analysis.tokens),
    costUsd: sum((entry) => entry.analysis.costUsd),
    session: sessionWord(work),
    withheld: work.withheld,
    agent: work.agent,
    startedAt: work.startedAt,
    endedAt: work.endedAt,
    warnings: [...work.notes.warnings, ...work.warnings],
  };
  // Text by text: what looks like the beginning of a key in a title must not swallow the rest of a page.
  return mapTexts(report, frame.redact);
}

/** The report of a run that the gate ended. */
export function reportOfEnd(
  frame: ReportFrame,
  intake: Extract<Intake, { kind: 'end' }>,
  startedAt: number,
): RunReport {
  const { lane, state, tasks, notes, outcome } = intake;
  const base = {
    ...reportWithoutLane({ ...factsOf(frame, outcome), startedAt }),
    warnings: notes.warnings,
    policy: frame.config.policy,
    taskLabel: frame.config.taskLabel,
    taskSources: sourcesOf(frame, lane?.id ?? state?.lane ?? QUEUE),
  };
  if (state === null) return mapTexts(base, frame.redact);
  const report: RunReport = {
    ...base,
    ...reportOfLane(frame, { state, tasks, notes, outcome }),
    lane: lane?.id ?? state.lane,
    taskSources: base.taskSources,
    branch: lane?.branch ?? frame.config.branchPrefix + state.lane,
    baseBranch: lane?.baseBranch ?? null,
    pullRequest: lane?.pullRequest ?? state.lastRun?.published?.pullRequest ?? null,
    headSha: state.lastRun?.published?.head ?? null,
    laneView:
      outcome.kind === 'idle' && outcome.reason === 'answered'
        ? laneViewOf(intake, { config: frame.config, runUrl: frame.context.runUrl, now: frame.now })
        : null,
  };
  return mapTexts(report, frame.redact);
}

function reportOfLane(
  frame: ReportFrame,
  { state, tasks, notes, outcome }: Pick<Work, 'state' | 'tasks' | 'notes' | 'outcome'>,
): RunReport {
  const { policy } = frame.config;
  return {
    ...reportWithoutLane(factsOf(frame, outcome)),
    tasks: tasksWithProgress(tasks, state),
    unmarked: state.unmarked,
    circuit: view(state.circuit, policy.circuit, frame.now).kind,
    callsRemaining: callsRemaining(state.windows, policy, frame.now),
    restored: notes.restored,
    verifyCommands: frame.config.verify,
    policy,
    taskLabel: frame.config.taskLabel,
    warnings: notes.warnings,
  };
}

function factsOf(
  { context, now }: ReportFrame,
  outcome: Outcome,
): Pick<RunReport, 'outcome' | 'repositoryUrl' | 'runUrl' | 'startedAt' | 'endedAt'> {
  const { owner, repo } = context.repository;
  return {
    outcome,
    repositoryUrl: `${context.serverUrl}/${owner}/${repo}`,
    runUrl: context.runUrl,
    startedAt: now,
    endedAt: now,
  };
}

/** An issue's own lane looks at its issue alone. */
function sourcesOf({ config }: ReportFrame, lane: string): readonly string[] {
  return lane === QUEUE ? config.taskSources : ['issues'];
}

/** The pull request itself remembers which tasks it has work of: the lane's state also knows those that were merged long ago. */
function unlistedTasks({ lane, tasks }: Work): RunReport['unlisted'] {
  const before = parseHiddenStatus(lane.pullRequest?.body ?? '');
  if (before.kind !== 'found') return [];
  const isListed = new Set(tasks.map(({ id }) => id));
  // What is done in a file leaves it: it is archived, or a person tidied up.
  const begun = before.status.tasks.filter(
    ({ issue, state, attempts }) => (issue !== null && state === 'done') || (state !== 'done' && attempts > 0),
  );
  return [...(before.status.unlisted ?? []), ...begun.map(({ id }) => id)]
    .filter((id) => !isListed.has(id) && /^[\w.-]{1,80}$/.test(id))
    .slice(-MAX_UNLISTED);
}

function sessionWord({ state, stateBefore, journal }: Work): string {
  if (state.session === null) return journal.length === 0 ? 'none' : 'ended with this run';
  return state.session.id === stateBefore.session?.id ? 'resumed from the last run' : 'new in this run';
}
