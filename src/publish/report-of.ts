import { type Config, countJobs, type RunContext } from '../config/config.ts';
import type { Verification } from '../core/evidence.ts';
import { withoutUnprovenAnswers } from '../core/feedback/unproven.ts';
import { changeFactTexts } from '../core/isolation/texts.ts';
import { findTaskShare, type TaskShare } from '../core/lane/change.ts';
import { viewCircuit } from '../core/lane/circuit.ts';
import { type VerificationRecord, createInitialState, type LaneState } from '../core/lane/state/state.ts';
import { countCallsRemaining, measureUsageAt } from '../core/lane/windows.ts';
import { findCircuitOpener } from '../core/others/left-circuit.ts';
import { countEntryCalls } from '../core/journal/journal.ts';
import { type RunUsage, measureSpent } from '../core/sharing/budget.ts';
import { QUEUE, type TaskId } from '../core/tasks/ids.ts';
import { isListedTask, computeShownProgress, type Task } from '../core/tasks/task.ts';
import { getProgress } from '../core/tasks/queue.ts';
import { mapTexts } from '../core/text/redact.ts';
import type { Work, EndIntake } from '../handover/intake.ts';
import type {
  AnsweredReport,
  EndedReport,
  HeadVerification,
  LaneFacts,
  LaneView,
  ReportAtGate,
  SavedReport,
  TaskReport,
  WorkedReport,
} from '../handover/report.ts';
import type { PullRequest } from '../ports/forge.ts';
import { buildRunFacts, createGateReport, type ReportFrame, settingOfRun } from '../report/at-gate.ts';
import { parseHiddenStatus } from '../report/pages/pull-request-body.ts';
import { MAX_UNLISTED } from '../report/pages/status-json.ts';
import { describeUnfinishedCalls } from '../report/sentences/spend.ts';

/** A share without the agent's words on this branch, which do not apply to a question of another branch. */
const noAgentWords = { question: null, summary: null, recommendation: null };

/** Returns the report of a run that worked, as far as the run got. */
export function reportOfWork(
  frame: ReportFrame,
  work: Work,
  published: {
    readonly pullRequest: PullRequest | null;
    readonly headSha: string | null;
    readonly saved: SavedReport | null;
  },
): WorkedReport {
  const used = sumUsage(work);
  const report = {
    ...buildRunFacts(frame, work.outcome, work.startedAt),
    ...settingOfRun(frame, work.lane.id, {
      warnings: [...work.notes.warnings, ...work.warnings, ...describeUnfinishedCalls(used.unfinished)],
      found: work.notes.found,
      // A record of an earlier version lacks these fields, so they may be missing.
      before: work.notes.before ?? null,
      train: work.notes.train ?? null,
    }),
    ...laneFactsOf(frame, work),
    ...published,
    lane: work.lane.id,
    branch: work.lane.branch,
    baseBranch: work.lane.baseBranch,
    unlisted: unlistedTasks(work),
    iterations: work.journal,
    tokens: used.tokens,
    costUsd: used.costUsd,
    // A record of an earlier version lacks this field, so it may be missing.
    forecast: work.notes.forecast ?? null,
    session: sessionWords(work),
    withheld: work.withheld,
    lookAt: work.lookAt,
    change: work.state.change,
    baseVerification: frame.config.policy.verifies ? work.state.baseVerification : null,
    headVerification: frame.config.policy.verifies ? headVerificationOf(work, published.headSha ?? work.head) : null,
    isolation: isolationOf(work, frame.redact),
    agent: work.agent,
    shown: work.shown,
    waitSkippedBy: work.waitSkippedBy,
    endedAt: work.endedAt,
  };
  // Redact texts one by one, so that a title that resembles the beginning of a key does not swallow the rest of a page.
  return { ...mapTexts(report, frame.redact), kind: 'worked' };
}

/** Tolerance in US dollars, because sums of floating-point numbers depend on their order. */
const ROUNDING_USD = 1e-6;

/**
 * Returns the usage of the run according to its state, and in `unfinished` the part of it that no journal line has,
 * because the iteration failed before its line was written.
 */
export function sumUsage({ journal, stateBefore, state }: Work): RunUsage & { readonly unfinished: RunUsage } {
  const booked = measureSpent(stateBefore, state);
  const sum = (of: (entry: Work['journal'][number]) => number | null): number =>
    journal.reduce((total, entry) => total + (of(entry) ?? 0), 0);
  const journaled = {
    calls: sum(countEntryCalls),
    tokens: sum(({ analysis }) => analysis.tokens),
    costUsd: sum(({ analysis }) => analysis.costUsd),
  };
  const rest = Math.max(0, booked.costUsd - journaled.costUsd);
  const unfinished = {
    calls: Math.max(0, booked.calls - journaled.calls),
    tokens: Math.max(0, booked.tokens - journaled.tokens),
    costUsd: rest > ROUNDING_USD ? rest : 0,
  };
  return {
    calls: journaled.calls + unfinished.calls,
    tokens: journaled.tokens + unfinished.tokens,
    costUsd: journaled.costUsd + unfinished.costUsd,
    unfinished,
  };
}

/** Creates the report of a run that the gate ended. */
export function reportOfEnd(
  frame: ReportFrame,
  intake: EndIntake,
  startedAt: number,
): ReportAtGate | EndedReport | AnsweredReport {
  const { lane, state, tasks, notes, outcome } = intake;
  const { findings } = mapTexts(
    { findings: intake.answer?.text.kind === 'doctor' ? intake.answer.text.findings : [] },
    frame.redact,
  );
  if (state === null)
    return { ...createGateReport(frame, { outcome, lane: lane?.id ?? QUEUE, notes, startedAt }), findings };
  const report = {
    ...buildRunFacts(frame, outcome, startedAt),
    ...settingOfRun(frame, lane?.id ?? state.lane, notes),
    ...laneFactsOf(frame, { state, tasks, notes }),
    lane: lane?.id ?? state.lane,
    branch: lane?.branch ?? frame.config.branchPrefix + state.lane,
    baseBranch: lane?.baseBranch ?? null,
    pullRequest: lane?.pullRequest ?? state.lastRun?.published?.pullRequest ?? null,
    headSha: state.lastRun?.published?.head ?? null,
  };
  const ended = mapTexts(report, frame.redact);
  const asksForStatus = outcome.kind === 'idle' && outcome.reason === 'answered' && findings.length === 0;
  if (!asksForStatus) return { ...ended, findings, kind: 'ended' };
  const view = buildLaneView(intake, frame);
  return { ...ended, kind: 'answered', view: mapTexts(view, frame.redact) };
}

/** Redacts the isolation facts. Their hosts are keys, which the redaction of a whole report does not change. */
function isolationOf({ isolation, isolationFrom }: Work, redact: ReportFrame['redact']): WorkedReport['isolation'] {
  return isolation === null ? null : { facts: changeFactTexts(isolation, redact), from: isolationFrom };
}

/**
 * Returns the verification of this run, or of an earlier one if it is about the published head and by the same
 * commands.
 */
function headVerificationOf(
  { state, head, journal, cleanVerification }: Work,
  headSha: string | null,
): HeadVerification | null {
  const record = state.headVerification;
  if (record === null) return null;
  const made = cleanVerification?.commit === record.commit ? cleanVerification.verification : null;
  // After the last iteration's commit there is at most one commit that archives, so the verification is still valid.
  const isBeforeTidying =
    headSha === head && journal.findLast(({ commit }) => commit !== null)?.commit === record.commit;
  const of = record.commit === headSha || isBeforeTidying ? 'head' : 'earlier';
  if (made !== null && made.kind !== 'not-run') return { of, commit: record.commit, verification: made };
  return of === 'head' && record.commands === state.baseVerification?.commands
    ? { of, commit: record.commit, verification: verificationFrom(record) }
    : null;
}

/** Turns a stored record into a verification; output and duration are not stored. */
function verificationFrom({ kind, command, exitCode }: VerificationRecord): Exclude<Verification, { kind: 'not-run' }> {
  return kind === 'passed'
    ? { kind, durationMs: 0 }
    : { kind, command: command ?? '', code: exitCode, tail: '', durationMs: 0 };
}

function laneFactsOf(
  { config, context, now }: ReportFrame,
  { state, tasks, notes }: Pick<Work, 'state' | 'tasks' | 'notes'>,
): Pick<
  LaneFacts,
  | 'tasks'
  | 'feedback'
  | 'answers'
  | 'checks'
  | 'redBase'
  | 'held'
  | 'circuit'
  | 'failure'
  | 'openedBy'
  | 'callsRemaining'
  | 'restored'
> {
  return {
    tasks: reportTasks(tasks.filter(isListedTask), state, context),
    feedback: reportTasks(
      tasks.filter((task) => !isListedTask(task)),
      state,
      context,
    ),
    answers: withoutUnprovenAnswers(state),
    checks: notes.checks,
    redBase: state.redBase,
    held: notes.held,
    circuit: viewCircuit(state.circuit, config.policy.circuit, now).kind,
    failure: state.circuit.kind === 'open' ? (state.circuit.failure ?? null) : null,
    openedBy: findCircuitOpener(state.transitions),
    callsRemaining: countCallsRemaining(state.windows, config.policy, now),
    restored: notes.restored,
  };
}

/**
 * Returns tasks with work in the pull request that are no longer listed. Uses the pull request's own record, because
 * the lane's state also has tasks that were merged long ago.
 */
function unlistedTasks({ lane, tasks }: Work): WorkedReport['unlisted'] {
  const before = parseHiddenStatus(lane.pullRequest?.body ?? '');
  if (before.kind !== 'found') return [];
  const isListed = new Set(tasks.map(({ id }) => id));
  // Finished tasks disappear from their file, because they are archived or a person removes them, so leave them out.
  const begun = before.status.tasks.filter(
    ({ issue, state, attempts }) => (issue !== null && state === 'done') || (state !== 'done' && attempts > 0),
  );
  return [...(before.status.unlisted ?? []), ...begun.map(({ id }) => id)]
    .filter((id) => !isListed.has(id) && /^[\w.-]{1,80}$/.test(id))
    .slice(-MAX_UNLISTED);
}

function sessionWords({ state, stateBefore, journal }: Work): string {
  if (state.session === null) return journal.length === 0 ? 'none' : 'ended with this run';
  return state.session.id === stateBefore.session?.id ? 'resumed from the last run' : 'new in this run';
}

/** Returns the state of the lane for a run that the gate ended. */
export function buildLaneView(
  { lane, state, tasks, notes, answer }: EndIntake,
  run: {
    readonly config: Pick<Config, 'policy' | 'taskLabel' | 'handoff'>;
    readonly context: RunContext;
    readonly now: number;
  },
): LaneView {
  const { config, context, now } = run;
  const id = lane?.id ?? state?.lane ?? QUEUE;
  const known = state ?? createInitialState(id, now);
  const circuit = viewCircuit(known.circuit, config.policy.circuit, now);
  return {
    lane: id,
    state,
    restored: notes.restored,
    claimedBy: notes.claimedBy,
    tasks: reportTasks(tasks.filter(isListedTask), known, context),
    circuit: circuit.kind,
    probeAt: circuit.kind === 'open' ? circuit.probeAt : null,
    usage: measureUsageAt(known.windows, now),
    limits: config.policy,
    receipt: answer?.text.kind === 'status' ? answer.text.receipt : null,
    pullRequest: lane?.pullRequest ?? known.lastRun?.published?.pullRequest ?? null,
    taskLabel: config.taskLabel,
    jobs: countJobs(config),
    runUrl: context.runUrl,
    now,
  };
}

/** Returns tasks with the lane's progress on each. */
export function reportTasks(
  tasks: readonly Task[],
  state: LaneState,
  { serverUrl, repository: { owner, repo } }: Pick<RunContext, 'serverUrl' | 'repository'>,
): TaskReport[] {
  const asked = (id: TaskId): string | null => {
    const notice = state.notified.findLast(({ about }) => about === id);
    return notice === undefined || notice.comment === null
      ? null
      : `${serverUrl}/${owner}/${repo}/issues/${String(notice.thread)}#issuecomment-${String(notice.comment)}`;
  };
  return tasks.map((task) => {
    const share = isListedTask(task) ? findTaskShare(state.change, task.id) : answeredShare(state, task.id);
    const progress = computeShownProgress(getProgress(state.tasks, task.id));
    return progress.answer !== undefined
      ? { task, progress, share: { ...share, ...noAgentWords }, asked: asked(task.id) }
      : { task, progress, share, asked: null };
  });
}

/** Returns a feedback task's share of the branch, with the agent's words from its answer. */
function answeredShare({ change, feedback }: LaneState, id: TaskId): TaskShare {
  const answer = Object.hasOwn(feedback.items, id) ? feedback.items[id]?.answer : null;
  return { ...findTaskShare(change, id), summary: answer?.words ?? null };
}
