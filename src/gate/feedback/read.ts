import type { ChecksSummary } from '../../core/feedback/checks/checks-summary.ts';
import {
  judgeChecks,
  taskIdOfCheck,
  unstartedChecks,
  type JudgedChecks,
  type OwnRuns,
} from '../../core/feedback/checks/checks.ts';
import type { FeedbackItem } from '../../core/feedback/memory.ts';
import type { CheckDetails, CheckNow, PullRequestNow } from '../../core/feedback/pull-request-now.ts';
import { subjectFound, takeIn } from '../../core/feedback/rounds.ts';
import { askedReviews, askedThreads, authorsOf, hidesThreads } from '../../core/feedback/reviews/threads.ts';
import type { LaneState } from '../../core/lane/state.ts';
import type { TaskId } from '../../core/tasks/ids.ts';
import type { Task } from '../../core/tasks/task.ts';
import { mapTexts } from '../../core/text/redact.ts';
import type { GateDeps } from '../deps.ts';
import { trustAmong } from '../people/trust.ts';

/** So many failed checks are worked on in one run: each takes three requests to read. */
const MAX_CHECKS = 2;
/** Names of checks that people get to see. */
const MAX_NAMED = 10;

/** What is asked of a lane's open pull request, as tasks, and the state that remembers it. */
export interface ReadFeedback {
  readonly tasks: readonly Task[];
  readonly state: LaneState;
  /** null: nobody looked. */
  readonly checks: ChecksSummary | null;
  readonly warnings: readonly string[];
}

/** Reads what people and CI say of the pull request of a branch: one request, one for each person who is to be asked about, and three for a failed check. */
export async function readFeedback(
  deps: GateDeps,
  { branch, hasBranch, state }: { readonly branch: string; readonly hasBranch: boolean; readonly state: LaneState },
): Promise<ReadFeedback> {
  const { reviews, checks: answersChecks, maxRounds } = deps.config.answers;
  const nothing: ReadFeedback = { tasks: [], state, checks: null, warnings: [] };
  if (!hasBranch || (!reviews && !answersChecks)) return nothing;
  const now = await deps.forge.pullRequestNow(branch);
  if (now === null) return nothing;
  const people = reviews ? await saidByPeople(deps, now, state) : { tasks: [], more: 0 };
  const seen = answersChecks ? judgeNow(deps, now, state) : null;
  const failed = seen?.judged?.failed ?? [];
  const ofCi = answersChecks ? await saidByCi(now, failed, new Map()) : [];
  const subjects = [...people.tasks, ...ofCi];
  const { running = [], waiting = [] } = seen?.judged ?? {};
  const unfinished = new Set([...running, ...waiting].map(taskIdOfCheck));
  const isUndecided = (id: TaskId, kind: FeedbackItem['kind']): boolean => {
    switch (kind) {
      case 'thread':
        return !reviews || hidesThreads(now);
      case 'review':
        return !reviews;
      case 'check':
        return seen?.judged == null || unfinished.has(id);
      case 'conflict':
        return !answersChecks || now.mergeable === 'unknown';
    }
  };
  const taken = takeIn(state, {
    subjects: subjects.flatMap((task) => subjectFound(task) ?? []),
    isUndecided,
    personHead: personsHead(state, now),
    maxRounds,
  });
  const open = new Set(taken.open);
  const workable = failed.filter(
    (check) => open.has(taskIdOfCheck(check)) && !taken.spent.includes(taskIdOfCheck(check)),
  );
  const details = await detailsOf(deps, workable.slice(0, MAX_CHECKS));
  const withDetails = answersChecks ? await saidByCi(now, failed, details) : [];
  const later = new Set(workable.slice(MAX_CHECKS).map(taskIdOfCheck));
  return {
    tasks: [...people.tasks, ...withDetails].filter(({ id }) => open.has(id) && !later.has(id)),
    state: { ...state, feedback: { ...taken.feedback, unstarted: unstartedOn(seen, now) }, tasks: taken.tasks },
    checks: seen?.summary ?? null,
    warnings: [
      ...(people.more === 0
        ? []
        : [
            `${String(people.more)} more threads of the pull request are open than one run reads. Later runs read them.`,
          ]),
      ...(later.size === 0 ? [] : [`${String(later.size)} more checks fail; later runs work on them.`]),
      ...(seen === null || seen.summary.unreadable === null
        ? []
        : [`The checks of the pull request could not be read. ${seen.summary.unreadable}`]),
    ],
  };
}

async function saidByPeople(
  deps: GateDeps,
  now: PullRequestNow,
  { feedback }: LaneState,
): Promise<{ readonly tasks: readonly Task[]; readonly more: number }> {
  const isTrusted = await trustAmong(deps, authorsOf(now));
  const threads = askedThreads(now, isTrusted);
  const reviews = askedReviews(now, isTrusted, feedback.items);
  const more = threads.more + reviews.more;
  if (threads.asked.length + reviews.asked.length === 0) return { tasks: [], more };
  // Brings a Markdown parser along.
  const { taskOfReview, taskOfThread } = await import('../../core/feedback/reviews/thread-task.ts');
  const tasks = [
    ...threads.asked.map((one) => taskOfThread(one, now)),
    ...reviews.asked.map((one) => taskOfReview(one, now)),
  ];
  return { tasks: tasks.filter((task) => task !== null), more };
}

/** A conflict with the base, and failed checks: as far as it is known with what CI says of each. */
async function saidByCi(
  now: PullRequestNow,
  failed: readonly CheckNow[],
  details: ReadonlyMap<CheckNow, CheckDetails>,
): Promise<readonly Task[]> {
  const conflicts = now.mergeable === 'conflicting';
  if (!conflicts && failed.length === 0) return [];
  // They bring a Markdown parser along.
  const [{ taskOfCheck }, { taskOfConflict }] = await Promise.all([
    import('../../core/feedback/checks/check-task.ts'),
    import('../../core/feedback/conflict/conflict-task.ts'),
  ]);
  const { number: pullRequest, url, head, base } = now;
  return [
    ...(conflicts ? [taskOfConflict({ branch: base.branch, base: base.tip, pullRequest, url })] : []),
    ...failed.map((check) => taskOfCheck(check, details.get(check) ?? noDetails, { pullRequest, url, head })),
  ];
}

const noDetails: CheckDetails = { job: null, step: null, annotations: [], log: null, missing: null };

interface SeenChecks {
  /** null: they could not be read. */
  readonly judged: JudgedChecks | null;
  readonly summary: ChecksSummary;
}

function judgeNow({ context, clock }: GateDeps, { checks, head }: PullRequestNow, state: LaneState): SeenChecks {
  if (checks.kind === 'unreadable') return { judged: null, summary: { ...noChecks, unreadable: checks.why } };
  const own: OwnRuns = { workflow: context.workflowPath, run: Number(context.runId) };
  const judged = judgeChecks(checks, own);
  const { lastRun, feedback } = state;
  // A person's push starts workflows by itself.
  const sincePushMs = lastRun?.published?.head === head ? clock.now() - lastRun.at : 0;
  const ranBefore = feedback.rounds.some(
    (round) => round.checks !== null && round.checks.passed + round.checks.failed > 0,
  );
  const names = (some: readonly CheckNow[]): readonly string[] => some.slice(0, MAX_NAMED).map(({ name }) => name);
  const { failed, alsoOnBase, flaky, running, waiting, passed } = judged;
  return {
    judged,
    summary: {
      counts: { passed, failed: failed.length + alsoOnBase.length, running: running.length, waiting: waiting.length },
      alsoOnBase: names(alsoOnBase),
      flaky: names(flaky),
      waiting: names(waiting),
      unstarted: unstartedChecks(checks, { own, ranBefore, sincePushMs }),
      unreadable: null,
      runs: failed.length + alsoOnBase.length + running.length + waiting.length + passed,
    },
  };
}

const noChecks: ChecksSummary = {
  counts: null,
  alsoOnBase: [],
  flaky: [],
  waiting: [],
  unstarted: false,
  unreadable: null,
  runs: 0,
};

/** The head on which checks were expected and did not start; null: they start, or nobody knows. */
function unstartedOn(seen: SeenChecks | null, { head }: PullRequestNow): string | null {
  return seen?.summary.unstarted === true ? head : null;
}

/** The head, where it is not what we published last: a person pushed it. */
function personsHead({ lastRun }: LaneState, { head }: PullRequestNow): string | null {
  const published = lastRun?.published?.head ?? null;
  return published !== null && published !== head ? head : null;
}

/** Secrets of the job are taken out before anything is cut. */
async function detailsOf(
  { forge, redact }: GateDeps,
  checks: readonly CheckNow[],
): Promise<ReadonlyMap<CheckNow, CheckDetails>> {
  const read = await Promise.all(
    checks.map(async (check) => [check, mapTexts(await forge.checkDetails(check), redact)] as const),
  );
  return new Map(read);
}
