import { escapeSkipWords } from '../../core/text/skip-words.ts';
import { z } from 'zod';
import { calledAgents, handOverLines } from '../sentences/hand-overs.ts';
import type { Change, TaskSize } from '../../core/lane/change.ts';
import { capped } from '../../core/text/cut.ts';
import { circuitWords } from '../../core/lane/circuit.ts';
import { outcomeKinds } from '../../core/outcome.ts';
import { issueOfTask, nameOfTask, taskObstacles, taskStates } from '../../core/tasks/task.ts';
import { answerKinds, askedKinds } from '../../core/feedback/memory.ts';
import { taskSourceKinds } from '../../core/tasks/task-sources.ts';
import { isolationFacts } from '../../core/isolation/facts.ts';
import { tryJson } from '../../core/text/try-json.ts';
import type { RunReport, WorkedReport } from '../../handover/report.ts';
import { isolationSources } from '../../handover/work.ts';
import type { ChecksSummary } from '../../core/feedback/checks/checks-summary.ts';
import { listAsked } from '../sentences/feedback.ts';
import { branchCost, costOrNull } from '../sentences/unknown-cost.ts';
import {
  discrepancies,
  doneTasks,
  iterationsOf,
  laneOf,
  lastVerification,
  resumeInstant,
  settingOf,
  tasksOf,
  workOf,
} from '../facts.ts';

const instant = z.iso.datetime();
const whole = z.int().nonnegative();

/** RALPH_STATUS for machines: the output `status-json` and the hidden part of a pull request. A change that breaks readers gets a new `version`. */
const ralphStatusSchema = z.object({
  version: z.literal(1),
  outcome: z.enum(outcomeKinds).describe('Why the run ended.'),
  reason: z.string().describe('The outcome in detail, e.g. plan_complete, circuit_open, calls_per_hour.'),
  lane: z.string().nullable().describe('`queue` or `issue-N`; null when the run ended before it had one.'),
  branch: z.string().nullable(),
  baseBranch: z.string().nullable(),
  headSha: z.string().nullable().describe('Tip of the branch on the remote.'),
  pullRequest: whole.nullable().describe('Number of the pull request.'),
  iterations: whole.describe('Agent calls of this run.'),
  maxIterations: whole.nullable(),
  tasksDone: whole.describe('Over all runs on this branch.'),
  tasksOpen: whole.describe('Over all runs on this branch; everything that is not done.'),
  tasks: z.array(
    z.object({
      id: z.string(),
      issue: whole.nullable().describe('null for a task of a file.'),
      source: z
        .object({
          kind: z.enum(taskSourceKinds),
          name: z.string().describe('`#12`, `.ralph/fix_plan.md:7`, `PROMPT.md`, or the id in its file.'),
        })
        .optional(),
      title: z.string(),
      state: z.enum(taskStates),
      hold: z
        .enum(taskObstacles)
        .nullable()
        .optional()
        .describe('Why it may not be worked on although it is open; null: nothing is in the way.'),
      attempts: whole.describe('Iterations spent on it, in all runs.'),
      commit: z.string().nullable().describe('Head after the iteration that finished it.'),
      iterations: whole.optional().describe('Iterations spent on it since the branch began.'),
      costUsd: z
        .number()
        .nonnegative()
        .nullable()
        .optional()
        .describe('Spent on it since the branch began, as far as it is known; null: not known.'),
      agents: z.array(z.string()).optional().describe('Agents that have worked on it, the last one last.'),
      size: z
        .object({ files: whole, insertions: whole, deletions: whole })
        .nullable()
        .optional()
        .describe('What its commits changed, all together; null: not measured.'),
    }),
  ),
  tasksOmitted: whole.describe('Tasks left out of `tasks` to stay within size limits.'),
  unlisted: z
    .array(z.string())
    .optional()
    .describe('Ids of tasks that the branch has work of and that are no longer in the queue; the newest 25.'),
  agents: z
    .array(z.object({ name: z.string(), iterations: whole }))
    .optional()
    .describe('Agents that this run called, with the iterations of each, in the order of their first.'),
  handOvers: z
    .array(z.string())
    .optional()
    .describe('Which agent took over from which in this run and why, as sentences; the newest 20.'),
  title: z.string().optional().describe('Title of the pull request, as it was written last; only in its body.'),
  change: z
    .object({
      runs: whole,
      iterations: whole,
      costUsd: z.number().nonnegative().nullable().describe('As far as it is known; null: not known.'),
      tokens: whole,
      lines: whole.nullable().describe('Changed lines without generated and lock files; null: not measured.'),
      failingSince: whole.nullable().describe('Iteration of the branch since which verify fails.'),
      leftOut: whole.optional().describe('Files of the work that are not in the branch.'),
      overruled: whole.optional().describe('Claims of the agent that the evidence overruled.'),
    })
    .nullable()
    .optional()
    .describe('What the branch holds since it began, over all runs; null: the run did not work on it.'),
  tests: z
    .enum(['passing', 'failing', 'not-run'])
    .describe(
      'Result of the verify commands, never a claim of the agent: of the published head in a clean clone, if they ran there.',
    ),
  cleanCheck: z
    .object({ commit: z.string(), result: z.enum(['passed', 'failed']) })
    .nullable()
    .optional()
    .describe('What the verify commands said of a commit of the branch in a clean clone; null: not known.'),
  baseTests: z
    .enum(['passing', 'failing', 'not-run'])
    .optional()
    .describe('Result of the verify commands on the base commit before the work.'),
  feedback: z
    .object({
      rounds: whole.describe('Rounds of answers that are remembered, at most 10.'),
      open: whole.describe('What was asked and has no answer yet, or an answer that a person must decide.'),
      answered: whole,
      items: z
        .array(
          z.object({
            id: z.string(),
            kind: z.enum(askedKinds),
            title: z.string(),
            url: z.string().nullable(),
            rounds: whole.describe('How often it was worked on since a person pushed last.'),
            state: z.enum(['open', ...answerKinds]),
            commit: z.string().nullable().describe('The commit that answers it.'),
          }),
        )
        .describe('The newest 50, those that are open first.'),
      checks: z
        .object({
          runs: whole,
          counts: z
            .object({ passed: whole, failed: whole, running: whole, waiting: whole })
            .nullable()
            .describe('How the runs stand; null: they could not be read.'),
          alsoOnBase: z.array(z.string()),
          flaky: z.array(z.string()),
          waiting: z.array(z.string()),
          unstarted: z.boolean().describe('Whether checks are expected and none has started.'),
          unreadable: z.string().nullable().describe('Why the checks could not be read.'),
        })
        .nullable()
        .describe('Checks of the head, and those of them that are not worked on; null: nobody looked.'),
    })
    .nullable()
    .optional()
    .describe('What people and CI asked of the pull request; null: nothing that is known.'),
  discrepancies: whole.describe('Claims of the agent that the evidence contradicted, in this run.'),
  withheldFiles: whole.describe('Changed files that this run left out of its commits.'),
  isolation: z
    .object({
      from: z
        .enum(isolationSources)
        .describe('Whose word it is: where it was measured, or the record of the main step.'),
      level: isolationFacts.shape.level,
      network: isolationFacts.shape.network.describe(
        '`limited`: only allowed hosts; `any`: all hosts were allowed; `open`: nothing could limit it.',
      ),
      allowedHosts: whole,
      refusedHosts: whole.describe('Hosts that programs of the agent asked for in vain.'),
      checks: whole.nullable().describe('Tries from where the agent runs; null: there were none.'),
      failedChecks: whole.nullable().describe('Those that were not as they should be; null: nothing was tried.'),
      keyHidden: z.boolean().describe('Whether the model key was kept from the agent.'),
      processesLeft: whole.nullable().describe("The agent's processes that were left at the end; null: not counted."),
    })
    .nullable()
    .optional()
    .describe('What was measured of how the agent was kept apart; null: nothing.'),
  circuit: z.enum(circuitWords).nullable(),
  callsRemaining: whole.nullable().describe("Calls left in the repository's current window."),
  tokens: whole.describe('Of this run.'),
  costUsd: z.number().nonnegative().nullable().describe('Of this run, as far as it is known; null: not known.'),
  resumeAt: instant.nullable().describe('When a later run continues; null when nothing waits.'),
  stateSaved: z.boolean().nullable().describe('null: not known when this was written, or nothing to save.'),
  runUrl: z.string(),
  startedAt: instant,
  endedAt: instant,
});

export type RalphStatus = Readonly<z.infer<typeof ralphStatusSchema>>;

/** What a body says in its hidden part. */
export type HiddenStatus =
  | { readonly kind: 'found'; readonly status: RalphStatus }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unreadable'; readonly why: string };

/** Value of the output `status-json`. */
export function renderStatusJson(report: RunReport): string {
  return serializeWithin(report, 64_000, JSON.stringify);
}

/** The hidden part of a pull request's body: an HTML comment of at most so many characters. `title`: of the pull request, as we would write it. */
export function renderHiddenStatus(report: RunReport, title: string, maxChars: number): string {
  const json = serializeWithin(report, maxChars - 100, (status) =>
    stringifyForComment({ ...status, title: capped(title, 300) }),
  );
  return `${HIDDEN_OPENING}${json}${HIDDEN_CLOSING}`;
}

/** Reads the last hidden status of a body. Never throws. */
export function parseHiddenStatus(body: string): HiddenStatus {
  const start = body.lastIndexOf(HIDDEN_OPENING);
  if (start === -1) return { kind: 'absent' };
  const json = body.slice(start + HIDDEN_OPENING.length);
  const end = json.indexOf(HIDDEN_CLOSING);
  if (end === -1) return { kind: 'unreadable', why: 'the comment has no end' };
  const status = ralphStatusSchema.safeParse(tryJson(json.slice(0, end)));
  return status.success
    ? { kind: 'found', status: status.data }
    : { kind: 'unreadable', why: z.prettifyError(status.error) };
}

/** The published JSON Schema of `RalphStatus`. */
export function ralphStatusJsonSchema(): object {
  return { title: 'RALPH_STATUS', ...z.toJSONSchema(ralphStatusSchema, { io: 'input' }) };
}

/** Where the hidden part of a body begins, and where it ends. */
export const HIDDEN_OPENING = '<!-- ralph-action:RALPH_STATUS ';
export const HIDDEN_CLOSING = ' -->';

const MAX_TASKS = 200;
const MAX_HAND_OVERS = 20;
const MAX_ASKED = 50;
const MAX_CHECKS = 10;
/** So many tasks that are gone are remembered. */
export const MAX_UNLISTED = 25;

function serializeWithin(report: RunReport, maxChars: number, stringify: (status: RalphStatus) => string): string {
  const asked = listAsked(report).length;
  const most = Math.max(Math.min(tasksOf(report).length, MAX_TASKS), Math.min(asked, MAX_ASKED));
  for (let shown = most; ; shown = Math.floor(shown / 2)) {
    const json = stringify(ralphStatus(report, shown));
    if (json.length <= maxChars || shown === 0) return json;
  }
}

/** With so many tasks, and so many things that were asked, at most. */
function ralphStatus(report: RunReport, shown: number): RalphStatus {
  const tasks = tasksOf(report).slice(0, Math.min(shown, MAX_TASKS));
  const { outcome } = report;
  const lane = laneOf(report);
  const work = workOf(report);
  const saved = work?.saved ?? null;
  const headCheck = work?.headCheck ?? null;
  const baseBranch = lane?.baseBranch ?? null;
  const taskCount = tasksOf(report).length;
  const tasksDone = doneTasks(report).length;
  const resumeAt = resumeInstant(outcome);
  return {
    version: 1,
    outcome: outcome.kind,
    reason: outcome.reason,
    lane: lane?.lane ?? null,
    branch: lane === null ? null : capped(lane.branch, 255),
    baseBranch: baseBranch === null ? null : capped(baseBranch, 255),
    headSha: lane?.headSha ?? null,
    pullRequest: lane?.pullRequest?.number ?? null,
    iterations: iterationsOf(report).length,
    maxIterations: settingOf(report)?.policy.maxIterations ?? null,
    tasksDone,
    tasksOpen: taskCount - tasksDone,
    tasks: tasks.map(({ task, progress, share }) => ({
      id: task.id,
      issue: issueOfTask(task),
      source:
        task.source.kind === 'feedback' ? undefined : { kind: task.source.kind, name: capped(nameOfTask(task), 120) },
      title: capped(task.title, 120),
      state: progress.state,
      hold: task.obstacle,
      attempts: progress.attempts,
      commit: progress.doneCommit,
      iterations: share.iterations,
      costUsd: dollars(branchCost(share)),
      ...(share.agents.length === 0 ? {} : { agents: [...share.agents] }),
      size: share.size === null ? null : withoutCommit(share.size),
    })),
    tasksOmitted: taskCount - tasks.length,
    unlisted: (work?.unlisted ?? []).slice(-MAX_UNLISTED),
    ...agentsOf(report),
    change: work === null ? null : changeOf(work.change),
    tests: TESTS_WORD[lastVerification(report).kind],
    cleanCheck: headCheck === null ? null : { commit: headCheck.commit, result: headCheck.verification.kind },
    baseTests: TESTS_WORD[work?.baseCheck?.kind ?? 'not-run'],
    feedback: feedbackOf(report, Math.min(shown, MAX_ASKED)),
    discrepancies: discrepancies(report).length,
    withheldFiles: work?.withheld.length ?? 0,
    isolation: isolationOf(work?.isolation ?? null),
    circuit: lane?.circuit ?? null,
    callsRemaining: lane?.callsRemaining ?? null,
    tokens: work?.tokens ?? 0,
    costUsd: dollars(work === null ? 0 : costOrNull(work)),
    resumeAt: resumeAt === null ? null : new Date(resumeAt).toISOString(),
    stateSaved: saved === null ? null : saved.kind === 'saved',
    runUrl: report.runUrl,
    startedAt: new Date(report.startedAt).toISOString(),
    endedAt: new Date(report.endedAt).toISOString(),
  };
}

/** Absent where nobody was called, or nobody took over. */
function agentsOf(report: RunReport): Pick<RalphStatus, 'agents' | 'handOvers'> {
  const agents = calledAgents(iterationsOf(report)).map(({ agent, iterations }) => ({ name: agent, iterations }));
  const handOvers = handOverLines(iterationsOf(report)).slice(-MAX_HAND_OVERS);
  return { ...(agents.length === 0 ? {} : { agents }), ...(handOvers.length === 0 ? {} : { handOvers }) };
}

function feedbackOf(report: RunReport, shown: number): RalphStatus['feedback'] {
  const lane = laneOf(report);
  const asked = listAsked(report);
  if (lane === null || (asked.length === 0 && lane.answers.rounds.length === 0 && lane.checks === null)) return null;
  const isOpen = asked.filter((one) => one.isOpen);
  const newestFirst = [...isOpen.toReversed(), ...asked.filter((one) => !one.isOpen).toReversed()];
  return {
    rounds: lane.answers.rounds.length,
    open: isOpen.length,
    answered: asked.length - isOpen.length,
    items: newestFirst
      .slice(0, shown)
      .map(({ id, item }) => ({
        id,
        kind: item.kind,
        title: capped(item.title, 120),
        url: item.url,
        rounds: item.rounds,
        state: item.answer?.kind ?? 'open',
        commit: item.answer?.commit ?? null,
      })),
    checks: lane.checks === null ? null : checksOf(lane.checks),
  };
}

function checksOf({ runs, counts, alsoOnBase, flaky, waiting, unstarted, unreadable }: ChecksSummary): FeedbackChecks {
  const named = (names: readonly string[]): string[] => names.slice(0, MAX_CHECKS).map((name) => capped(name, 60));
  return {
    ...{ runs, counts, alsoOnBase: named(alsoOnBase), flaky: named(flaky), waiting: named(waiting), unstarted },
    unreadable: unreadable === null ? null : capped(unreadable, 300),
  };
}

type FeedbackChecks = NonNullable<RalphStatus['feedback']>['checks'];

/** How much, not which: what it takes is bounded. */
function isolationOf(isolation: WorkedReport['isolation']): RalphStatus['isolation'] {
  if (isolation === null) return null;
  const { facts, from } = isolation;
  const { level, network, allowedHosts, refused, probe, keyHidden, processesLeft } = facts;
  return {
    ...{ from, level, network, allowedHosts, refusedHosts: Object.keys(refused).length },
    ...{ checks: probe?.checks ?? null, failedChecks: probe?.failed.length ?? null, keyHidden, processesLeft },
  };
}

function changeOf(change: Change): RalphStatus['change'] {
  const { runs, iterations, tokens, lines, failingSince } = change;
  const leftOut = change.leftOut.length + change.leftOutMore;
  const overruled = change.overruled.length + change.overruledMore;
  return { runs, iterations, costUsd: dollars(branchCost(change)), tokens, lines, failingSince, leftOut, overruled };
}

function withoutCommit({ files, insertions, deletions }: TaskSize): Omit<TaskSize, 'since'> {
  return { files, insertions, deletions };
}

/** Without the noise of floating point. */
function dollars(costUsd: number | null): number | null {
  return costUsd === null ? null : Math.round(costUsd * 1e6) / 1e6;
}

const TESTS_WORD = { passed: 'passing', failed: 'failing', 'not-run': 'not-run' } as const;

/**
 * JSON that cannot end the comment it stands in, and in which nobody finds a mention, an issue or an address to close:
 * a squash merge may copy it raw into a commit message.
 */
function stringifyForComment(status: RalphStatus): string {
  return escapeSkipWords(JSON.stringify(status))
    .replace(
      /[<>&@#\u007F-\u009F\u2028\u2029]|-(?=[->])|(?<=gh)-/gi,
      (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
    )
    .replaceAll('://', ':\\/\\/');
}
