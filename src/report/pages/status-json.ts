import type { ChecksSummary } from '../../core/feedback/checks/checks.ts';
import type { BranchChange, TaskSize } from '../../core/lane/change.ts';
import { issueOfTask, nameOfTask } from '../../core/tasks/task.ts';
import { capText, escapeSkipWords } from '../../core/text/phrase.ts';
import type { RunReport, WorkedReport } from '../../handover/report.ts';
import {
  listDiscrepancies,
  listDoneTasks,
  listIterations,
  selectLaneReport,
  pickVerification,
  findResumeInstant,
  selectReportSetting,
  listLaneTasks,
  selectWorkedReport,
} from '../facts.ts';
import { listFeedbackRequests } from '../sentences/feedback.ts';
import { countCalledAgents, describeHandOvers } from '../sentences/lane-status.ts';
import { computeBranchCost, computeKnownCostUsd } from '../sentences/spend.ts';
import type { RalphStatus } from './status-schema.ts';

/** Renders the value of the output `status-json`. */
export function renderStatusJson(report: RunReport): string {
  return serializeWithin(report, 64_000, JSON.stringify);
}

/**
 * Renders the hidden part of a pull request's body: an HTML comment of at most `maxChars` characters. `title` is the
 * pull request's title as we would write it.
 */
export function renderHiddenStatus(report: RunReport, title: string, maxChars: number): string {
  const json = serializeWithin(report, maxChars - 100, (status) =>
    stringifyForComment({ ...status, title: capText(title, 300) }),
  );
  return `${HIDDEN_OPENING}${json}${HIDDEN_CLOSING}`;
}

/** The beginning and the end of the hidden part of a body. */
export const HIDDEN_OPENING = '<!-- ralph-action:RALPH_STATUS ';

export const HIDDEN_CLOSING = ' -->';

const MAX_TASKS = 200;

const MAX_HAND_OVERS = 20;

const MAX_ASKED = 50;

const MAX_CHECKS = 10;

/** Maximum number of unlisted tasks that are remembered. */
export const MAX_UNLISTED = 25;

function serializeWithin(report: RunReport, maxChars: number, stringify: (status: RalphStatus) => string): string {
  const requestCount = listFeedbackRequests(report).length;
  const most = Math.max(Math.min(listLaneTasks(report).length, MAX_TASKS), Math.min(requestCount, MAX_ASKED));
  for (let shown = most; ; shown = Math.floor(shown / 2)) {
    const json = stringify(ralphStatus(report, shown));
    if (json.length <= maxChars || shown === 0) return json;
  }
}

/** Builds the status with at most `shown` tasks and at most `shown` requests. */
function ralphStatus(report: RunReport, shown: number): RalphStatus {
  const tasks = listLaneTasks(report).slice(0, Math.min(shown, MAX_TASKS));
  const { outcome } = report;
  const lane = selectLaneReport(report);
  const work = selectWorkedReport(report);
  const saved = work?.saved ?? null;
  const headVerification = work?.headVerification ?? null;
  const baseBranch = lane?.baseBranch ?? null;
  const taskCount = listLaneTasks(report).length;
  const tasksDone = listDoneTasks(report).length;
  const resumeAt = findResumeInstant(outcome);
  return {
    version: 1,
    outcome: outcome.kind,
    reason: outcome.reason,
    branchId: lane?.lane ?? null,
    branch: lane === null ? null : capText(lane.branch, 255),
    baseBranch: baseBranch === null ? null : capText(baseBranch, 255),
    headSha: lane?.headSha ?? null,
    pullRequest: lane?.pullRequest?.number ?? null,
    iterations: listIterations(report).length,
    maxIterations: selectReportSetting(report)?.policy.maxIterations ?? null,
    tasksDone,
    tasksOpen: taskCount - tasksDone,
    tasks: tasks.map(({ task, progress, share }) => ({
      id: task.id,
      issue: issueOfTask(task),
      source:
        task.source.kind === 'feedback' ? undefined : { kind: task.source.kind, name: capText(nameOfTask(task), 120) },
      title: capText(task.title, 120),
      state: progress.state,
      hold: task.obstacle,
      attempts: progress.attempts,
      commit: progress.doneCommit,
      iterations: share.iterations,
      costUsd: dollars(computeBranchCost(share)),
      ...(share.agents.length === 0 ? {} : { agents: [...share.agents] }),
      size: share.size === null ? null : withoutCommit(share.size),
    })),
    tasksOmitted: taskCount - tasks.length,
    unlisted: (work?.unlisted ?? []).slice(-MAX_UNLISTED),
    ...agentsOf(report),
    change: work === null ? null : changeOf(work.change),
    tests: TESTS_WORD[pickVerification(report).kind],
    verification:
      headVerification === null
        ? null
        : { commit: headVerification.commit, result: headVerification.verification.kind },
    baseTests: TESTS_WORD[work?.baseVerification?.kind ?? 'not-run'],
    feedback: feedbackOf(report, Math.min(shown, MAX_ASKED)),
    discrepancies: listDiscrepancies(report).length,
    withheldFiles: work?.withheld.length ?? 0,
    isolation: isolationOf(work?.isolation ?? null),
    circuit: lane?.circuit ?? null,
    callsRemaining: lane?.callsRemaining ?? null,
    tokens: work?.tokens ?? 0,
    costUsd: dollars(work === null ? 0 : computeKnownCostUsd(work)),
    resumeAt: resumeAt === null ? null : new Date(resumeAt).toISOString(),
    stateSaved: saved === null ? null : saved.kind === 'saved',
    runUrl: report.runUrl,
    startedAt: new Date(report.startedAt).toISOString(),
    endedAt: new Date(report.endedAt).toISOString(),
  };
}

/** Returns the agents and hand-overs; each is absent if none. */
function agentsOf(report: RunReport): Pick<RalphStatus, 'agents' | 'handOvers'> {
  const agents = countCalledAgents(listIterations(report)).map(({ agent, iterations }) => ({
    name: agent,
    iterations,
  }));
  const handOvers = describeHandOvers(listIterations(report)).slice(-MAX_HAND_OVERS);
  return { ...(agents.length === 0 ? {} : { agents }), ...(handOvers.length === 0 ? {} : { handOvers }) };
}

function feedbackOf(report: RunReport, shown: number): RalphStatus['feedback'] {
  const lane = selectLaneReport(report);
  const requests = listFeedbackRequests(report);
  if (lane === null || (requests.length === 0 && lane.answers.rounds.length === 0 && lane.checks === null)) return null;
  const isOpen = requests.filter((one) => one.isOpen);
  const newestFirst = [...isOpen.toReversed(), ...requests.filter((one) => !one.isOpen).toReversed()];
  return {
    rounds: lane.answers.rounds.length,
    open: isOpen.length,
    answered: requests.length - isOpen.length,
    items: newestFirst
      .slice(0, shown)
      .map(({ id, item }) => ({
        id,
        kind: item.kind,
        title: capText(item.title, 120),
        url: item.url,
        rounds: item.rounds,
        state: item.answer?.kind ?? 'open',
        commit: item.answer?.commit ?? null,
      })),
    checks: lane.checks === null ? null : publishedChecksOf(lane.checks),
  };
}

function publishedChecksOf(summary: ChecksSummary): FeedbackChecks {
  const { runs, counts, alsoOnBase, flaky, waiting, unstarted, unreadable } = summary;
  const named = (names: readonly string[]): string[] => names.slice(0, MAX_CHECKS).map((name) => capText(name, 60));
  return {
    ...{ runs, counts, alsoOnBase: named(alsoOnBase), flaky: named(flaky), waiting: named(waiting), unstarted },
    unreadable: unreadable === null ? null : capText(unreadable, 300),
  };
}

type FeedbackChecks = NonNullable<RalphStatus['feedback']>['checks'];

/** Returns numbers instead of names, so that the size is bounded. */
function isolationOf(isolation: WorkedReport['isolation']): RalphStatus['isolation'] {
  if (isolation === null) return null;
  const { facts, from } = isolation;
  const { level, network, allowedHosts, refused, probe, keyHidden, processesLeft } = facts;
  return {
    ...{ from, level, network, allowedHosts, refusedHosts: Object.keys(refused).length },
    ...{ checks: probe?.checks ?? null, failedChecks: probe?.failed.length ?? null, keyHidden, processesLeft },
  };
}

function changeOf(change: BranchChange): RalphStatus['change'] {
  const { runs, iterations, tokens, lines, failingSince } = change;
  const leftOut = change.leftOut.length + change.leftOutMore;
  const overruled = change.overruled.length + change.overruledMore;
  return {
    runs,
    iterations,
    costUsd: dollars(computeBranchCost(change)),
    tokens,
    lines,
    failingSince,
    leftOut,
    overruled,
  };
}

function withoutCommit({ files, insertions, deletions }: TaskSize): Omit<TaskSize, 'since'> {
  return { files, insertions, deletions };
}

/** Rounds to millionths of a dollar, to remove the noise of floating point. */
function dollars(costUsd: number | null): number | null {
  return costUsd === null ? null : Math.round(costUsd * 1e6) / 1e6;
}

const TESTS_WORD = { passed: 'passing', failed: 'failing', 'not-run': 'not-run' } as const;

/**
 * Returns JSON that cannot end the comment around it and that contains no mention, issue or address, because a squash
 * merge may copy it unchanged into a commit message.
 */
function stringifyForComment(status: RalphStatus): string {
  return escapeSkipWords(JSON.stringify(status))
    .replace(
      /[<>&@#\u007F-\u009F\u2028\u2029]|-(?=[->])|(?<=gh)-/gi,
      (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
    )
    .replaceAll('://', ':\\/\\/');
}
