import type { ChecksSummary } from '../../core/feedback/checks-summary.ts';
import type { JudgedChecks, OwnRuns } from '../../core/feedback/checks.ts';
import type { CheckDetails, CheckNow, PullRequestNow } from '../../core/feedback/pull-request-now.ts';
import { CONFLICT_TASK } from '../../core/feedback/subject.ts';
import type { LaneState } from '../../core/lane/state.ts';
import type { TaskId } from '../../core/tasks/ids.ts';
import type { Task } from '../../core/tasks/task.ts';
import { mapTexts } from '../../core/text/redact.ts';
import type { GateDeps } from '../deps.ts';
import { trustAmong } from '../people/trust.ts';

/** So many failed checks are worked on in one run: each takes three requests to read. */
const MAX_CHECKS = 3;

/** What is asked of a lane's open pull request, as tasks in no order, and the state that remembers it. */
export interface ReadFeedback {
  readonly tasks: readonly Task[];
  readonly state: LaneState;
  /** null: nobody looked. */
  readonly checks: ChecksSummary | null;
  readonly warnings: readonly string[];
}

/** Reads what people and CI say of the pull request of a branch: one request, as many more as people are to be asked about, and three for a failed check. */
export async function readFeedback(
  deps: GateDeps,
  { branch, hasBranch, state }: { readonly branch: string; readonly hasBranch: boolean; readonly state: LaneState },
): Promise<ReadFeedback> {
  const { reviews, checks: answersChecks } = deps.config.answers;
  const nothing: ReadFeedback = { tasks: [], state, checks: null, warnings: [] };
  if (!hasBranch || (!reviews && !answersChecks)) return nothing;
  const now = await deps.forge.pullRequestNow(branch);
  if (now === null) return nothing;
  // Brings a Markdown parser along, which a run without a pull request does not need.
  const rules = await import('../../core/feedback/found.ts');
  const people = reviews ? await saidByPeople(deps, now, state, rules) : { tasks: [], more: 0 };
  const checks = answersChecks ? judgeNow(deps, now, rules) : null;
  const failed = checks?.judged?.failed ?? [];
  const subjects = [
    ...(answersChecks && now.mergeable === 'conflicting' ? [rules.conflictOf(now)] : []),
    ...people.tasks,
    ...failed.map((check) => rules.checkOf(now, check, null)),
  ];
  const undecided = new Set<TaskId>([
    ...(now.mergeable === 'unknown' || !answersChecks ? [CONFLICT_TASK] : []),
    ...(checks?.judged === undefined || checks.judged === null ? [] : checks.judged.running.map(rules.taskIdOfCheck)),
  ]);
  const taken = rules.takeIn(state, {
    subjects: subjects.flatMap((task) => rules.subjectFound(task) ?? []),
    isUndecided: (id, kind) =>
      undecided.has(id) ||
      (kind === 'check' && (checks === null || checks.judged === null)) ||
      ((kind === 'thread' || kind === 'review') && !reviews),
    personHead: personsHead(state, now),
    maxRounds: deps.config.answers.maxRounds,
  });
  const open = new Set(taken.open);
  const toRead = failed.filter((check) => open.has(rules.taskIdOfCheck(check))).slice(0, MAX_CHECKS);
  const details = await detailsOf(deps, toRead, taken.spent, rules.taskIdOfCheck);
  const tasks = subjects
    .filter(({ id, source }) => open.has(id) && (source.kind !== 'feedback' || source.on.kind !== 'check'))
    .concat(toRead.map((check) => rules.checkOf(now, check, details.get(check) ?? null)));
  return {
    tasks,
    state: { ...state, feedback: taken.feedback, tasks: taken.tasks },
    checks: checks?.summary ?? null,
    warnings: [
      ...(people.more === 0
        ? []
        : [`${String(people.more)} more threads of the pull request are open than one run reads; later runs read them.`]),
      ...(checks !== null && checks.summary.unreadable !== null
        ? [`The checks of the pull request could not be read: ${checks.summary.unreadable}`]
        : []),
    ],
  };
}

type Rules = typeof import('../../core/feedback/found.ts');

async function saidByPeople(
  deps: GateDeps,
  now: PullRequestNow,
  { feedback }: LaneState,
  rules: Rules,
): Promise<{ readonly tasks: readonly Task[]; readonly more: number }> {
  const isTrusted = await trustAmong(deps, rules.authorsOf(now));
  const threads = rules.askedThreads(now, isTrusted);
  const reviews = rules.askedReviews(now, isTrusted, feedback.items);
  return {
    tasks: [
      ...threads.asked.map((one) => rules.taskOfThread(one, now)),
      ...reviews.asked.map((one) => rules.taskOfReview(one, now)),
    ],
    more: threads.more + reviews.more,
  };
}

function judgeNow(
  { context, clock }: GateDeps,
  now: PullRequestNow,
  rules: Rules,
): { readonly judged: JudgedChecks | null; readonly summary: ChecksSummary } {
  const { checks } = now;
  if (checks.kind === 'unreadable') return { judged: null, summary: { ...rules.nothingSeen, unreadable: checks.why } };
  const own: OwnRuns = { workflow: context.workflowPath, run: Number(context.runId) };
  const judged = rules.judgeChecks(checks, own);
  return { judged, summary: rules.summaryOf(checks, judged, { own, sincePushMs: rules.sincePush(now, clock.now()) }) };
}

/** The head, where it is not what we published last: a person pushed it. */
function personsHead({ lastRun }: LaneState, { head }: PullRequestNow): string | null {
  const published = lastRun?.published?.head ?? null;
  return published !== null && published !== head ? head : null;
}

/** Secrets of the job are taken out before anything is cut. Of those that nobody works on any more nothing is read. */
async function detailsOf(
  { forge, redact }: GateDeps,
  checks: readonly CheckNow[],
  spent: readonly TaskId[],
  idOf: (check: CheckNow) => TaskId,
): Promise<ReadonlyMap<CheckNow, CheckDetails>> {
  const read = await Promise.all(
    checks
      .filter((check) => !spent.includes(idOf(check)))
      .map(async (check) => [check, mapTexts(await forge.checkDetails(check), redact)] as const),
  );
  return new Map(read);
}
