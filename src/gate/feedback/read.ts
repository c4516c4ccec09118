import {
  type ChecksSummary,
  isFailureOfMachine,
  isUndecidedCheck,
  isUnknownOnBase,
  judgeChecks,
  type JudgedChecks,
  type OwnRuns,
  taskIdOfCheck,
  areChecksUnstarted,
} from '../../core/feedback/checks/checks.ts';
import {
  selectChecksToRead,
  type Feedback,
  type FeedbackItem,
  withEarlierAnswers,
} from '../../core/feedback/memory.ts';
import type { CheckDetails, CheckNow, PullRequestNow, ReviewState } from '../../core/feedback/pull-request-now.ts';
import { subjectOfTask, mergeSubjects } from '../../core/feedback/rounds.ts';
import {
  selectReviewsToAnswer,
  selectThreadsToAnswer,
  listAuthorsToCheck,
  recoverAnswers,
} from '../../core/feedback/reviews/threads.ts';
import { formatCommentTaskId, formatThreadTaskId } from '../../core/feedback/subject.ts';
import type { LaneState } from '../../core/lane/state/state.ts';
import type { TaskId } from '../../core/tasks/ids.ts';
import { getProgress } from '../../core/tasks/queue.ts';
import { isStuck, type Task } from '../../core/tasks/task.ts';
import { mapTexts } from '../../core/text/redact.ts';
import { completeSentence } from '../../core/text/phrase.ts';
import { UserError } from '../../errors.ts';
import type { GateDeps } from '../deps.ts';
import { findBaseBranch } from '../lane/restore.ts';
import { createTrustCheck } from '../people/trust.ts';

/** Maximum number of checks named in a message. */
const MAX_NAMED = 10;

/**
 * Number of requests for reporting that feedback has used up its rounds: the pull request's text, the status comment,
 * and the notice that it was ready.
 */
const SPENT_REPORT_REQUESTS = 5;

/** The requests on a lane's open pull request, as tasks, and the state that contains them. */
export interface ReadFeedback {
  readonly tasks: readonly Task[];
  /** True if a request was not left to a person. */
  readonly asksForWork: boolean;
  readonly state: LaneState;
  /** The checks, or null if they were not read. */
  readonly checks: ChecksSummary | null;
  readonly warnings: readonly string[];
  /** People's decisions on the pull request; null if there is no pull request or GitHub did not answer. */
  readonly standing: PullRequestStanding | null;
}

/** People's decisions on the pull request with this `number`. */
export type PullRequestStanding = ReviewState & { readonly number: number };

/**
 * Reads what people and CI say about the pull request of a branch. Takes one request, one for each person to look up,
 * one if the base branch's tip does not show the state of a failed check, and three for a failed check.
 */
export async function readFeedback(
  deps: GateDeps,
  asked: {
    readonly branch: string;
    readonly hasBranch: boolean;
    readonly state: LaneState;
    /** True if the event asks for an answer, so that a run that cannot read the comments ends. */
    readonly isAsked: boolean;
    /** True if the base branch is merged even without a conflict, because a rule requires an up-to-date branch. */
    readonly update: boolean;
  },
): Promise<ReadFeedback> {
  const { branch, hasBranch, state: known, isAsked, update } = asked;
  const { reviews, checks: answersChecks, maxRounds } = deps.config.answers;
  const nothing: ReadFeedback = {
    ...{ tasks: [], asksForWork: false, state: known, checks: null, warnings: [], standing: null },
  };
  if (!hasBranch) return nothing;
  let now: PullRequestNow | null;
  try {
    now = await deps.forge.pullRequestNow(branch);
  } catch (error) {
    if (isAsked || !(error instanceof UserError)) throw error;
    const why = `The comments and checks on the pull request of ${branch} could not be read, so this run does not answer them. ${completeSentence(error.message)}`;
    const isTemporary = error.kind === 'infrastructure';
    return { ...nothing, checks: { ...noChecks, unreadable: error.message, isTemporary }, warnings: [why] };
  }
  if (now === null) return nothing;
  const { items } = known.feedback;
  const comments = now.comments.filter(({ id }) => Object.hasOwn(items, formatCommentTaskId(id)));
  if (!reviews && !answersChecks && comments.length === 0) return { ...nothing, standing: now };
  // Comments that address Ralph by name are answered even if reviews are not, so only threads and reviews are dropped.
  const said = reviews ? { ...now, comments } : { ...now, comments, threads: [], moreThreads: 0, reviews: [] };
  const people = await reviewTasks(deps, said, known);
  const { feedback } = known;
  const state = { ...known, feedback: { ...feedback, items: { ...people.answered, ...feedback.items } } };
  const earlier = answersChecks ? await earlierChecksOnBase(deps, now) : null;
  const checks = answersChecks ? judgeChecksNow(deps, { now, earlier: earlier ?? [] }, state) : null;
  const failed = checks?.judged?.failed ?? [];
  const mayMerge = now.mergeable === 'conflicting' || update;
  const base = answersChecks && mayMerge ? await findBaseBranch(deps) : now.base.branch;
  const merge = { update, isOurBase: base === now.base.branch };
  const ofCi = answersChecks ? await checkTasks(deps, now, { failed, details: new Map(), ...merge }) : [];
  const subjects = [...people.tasks, ...ofCi];
  const isUndecided = (id: TaskId, kind: FeedbackItem['kind']): boolean => {
    switch (kind) {
      case 'thread':
      case 'review':
        return !reviews || people.more > 0;
      case 'comment':
        return people.more > 0;
      case 'check':
        return checks?.judged == null || isUndecidedCheck(checks.judged, id);
      case 'conflict':
        return !answersChecks || now.mergeable === 'unknown';
    }
  };
  const merged = mergeSubjects(state, {
    subjects: subjects.flatMap((task) => subjectOfTask(task) ?? []),
    isUndecided,
    personHead: headByPerson(state, now),
    maxRounds,
  });
  const open = new Set(merged.open);
  const workable = failed.filter(
    (check) => open.has(taskIdOfCheck(check)) && !merged.spent.includes(taskIdOfCheck(check)),
  );
  // A task set aside must not take the turn of one that can be worked on, so it comes last.
  const isAside = (check: CheckNow): boolean => getProgress(merged.tasks, taskIdOfCheck(check)).setAside !== null;
  const roundsOf = (check: CheckNow): number => merged.feedback.items[taskIdOfCheck(check)]?.rounds ?? 0;
  // A check that fails again and again must not keep others from their first round, so those with fewer rounds come
  // first.
  const inOrder = workable.toSorted((one, other) => roundsOf(one) - roundsOf(other));
  const inTurn = [...inOrder.filter((check) => !isAside(check)), ...inOrder.filter(isAside)];
  const requestsSoFar =
    people.requests + (earlier === null ? 0 : 1) + (merged.spent.length === 0 ? 0 : SPENT_REPORT_REQUESTS);
  const details = await readCheckDetails(deps, selectChecksToRead(inTurn, requestsSoFar));
  const withDetails = answersChecks ? await checkTasks(deps, now, { failed, details, ...merge }) : [];
  const later = new Set(inTurn.filter((check) => !details.has(check)).map(taskIdOfCheck));
  const unrun = [...details].filter(([, known]) => isFailureOfMachine(known)).map(([check]) => check);
  for (const check of unrun) open.delete(taskIdOfCheck(check));
  const summary = checks?.summary ?? null;
  const unread = summary?.unreadable ?? null;
  const unreadWords = unread === null ? [] : [`The checks of the pull request could not be read. ${unread}`];
  for (const words of unreadWords) deps.log.warning(words);
  return {
    tasks: [...people.tasks, ...withDetails]
      .filter(({ id }) => open.has(id))
      .map((task) => withEarlierAnswers(task, merged.feedback.items[task.id] ?? {}))
      .map((task) => (later.has(task.id) ? { ...task, obstacle: 'unread' } : task)),
    asksForWork: [...open].some(
      (id) => merged.feedback.items[id]?.answer?.kind !== 'given-up' || !isStuck(getProgress(merged.tasks, id)),
    ),
    state: { ...state, feedback: { ...merged.feedback, unstarted: checks?.unstarted ?? null }, tasks: merged.tasks },
    checks: summary && { ...summary, waiting: [...summary.waiting, ...unrun.map(({ name }) => name)] },
    standing: now,
    warnings: [
      ...(merge.isOurBase
        ? []
        : [
            `Pull request #${String(now.number)} is for ${now.base.branch}, but runs merge ${base} into its branch. Set \`base-branch: ${now.base.branch}\`, or change the base of the pull request to ${base}.`,
          ]),
      ...(people.more === 0
        ? []
        : [`The pull request has ${String(people.more)} more open threads than one run reads. Later runs read them.`]),
      ...unreadWords,
    ],
  };
}

async function reviewTasks(
  deps: GateDeps,
  now: PullRequestNow,
  { feedback }: LaneState,
): Promise<{
  readonly tasks: readonly Task[];
  readonly more: number;
  readonly requests: number;
  /** Our own answers that the state has lost. */
  readonly answered: Feedback['items'];
}> {
  const authors = listAuthorsToCheck(now);
  const requests = authors.length;
  const isTrusted = await createTrustCheck(deps, authors);
  const forgotten = recoverAnswers(now, isTrusted, feedback.items);
  const known = {
    ...Object.fromEntries(forgotten.map((one) => [formatThreadTaskId(one.first.id), one])),
    ...feedback.items,
  };
  const threads = selectThreadsToAnswer(now, isTrusted, known);
  const reviews = selectReviewsToAnswer(now, isTrusted, known);
  const more = threads.more + reviews.more;
  if (threads.asked.length + reviews.asked.length + forgotten.length === 0)
    return { tasks: [], more, requests, answered: {} };
  // Load this only here, because it includes a Markdown parser.
  const { itemOfAnswer, taskOfReview, taskOfThread } = await import('../../core/feedback/reviews/thread-task.ts');
  const tasks = [
    ...threads.asked.map((one) => taskOfThread(one, now)),
    ...reviews.asked.map((one) => taskOfReview(one, now)),
  ];
  const answered = forgotten.map((one) => [formatThreadTaskId(one.first.id), itemOfAnswer(one, now)] as const);
  return { tasks: tasks.filter((task) => task !== null), more, requests, answered: Object.fromEntries(answered) };
}

/** Returns the tasks for a conflict with the base and for failed checks, with CI's details as far as they are known. */
async function checkTasks(
  { redact }: Pick<GateDeps, 'redact'>,
  now: PullRequestNow,
  read: {
    readonly failed: readonly CheckNow[];
    readonly details: ReadonlyMap<CheckNow, CheckDetails>;
    readonly update: boolean;
    /** False if a person has changed the base branch of the pull request; a run merges only its own base branch. */
    readonly isOurBase: boolean;
  },
): Promise<readonly Task[]> {
  const { failed, details, update, isOurBase } = read;
  const conflicts = now.mergeable === 'conflicting';
  const isToMerge = isOurBase && (conflicts || update);
  if (!isToMerge && failed.length === 0) return [];
  // Load these only here, because they include a Markdown parser.
  const [{ taskOfCheck }, { taskOfConflict }] = await Promise.all([
    import('../../core/feedback/checks/check-task.ts'),
    import('../../core/feedback/conflict/conflict-task.ts'),
  ]);
  const { number: pullRequest, url, head, base } = now;
  // Redact before cutting, because a cut secret is not recognized, and again afterwards, because a secret may be
  // spelled with invisible characters.
  const ofChecks = failed.map((check) => {
    const known = mapTexts({ summary: check.summary, details: details.get(check) ?? noDetails }, redact);
    const task = taskOfCheck({ ...check, summary: known.summary }, known.details, { pullRequest, url, head });
    return { ...task, title: redact(task.title), body: redact(task.body) };
  });
  return [
    ...(isToMerge ? [taskOfConflict({ branch: base.branch, base: base.tip, pullRequest, url, conflicts })] : []),
    ...ofChecks,
  ];
}

const noDetails: CheckDetails = { job: null, step: null, annotations: [], log: null, missing: null };

interface SeenChecks {
  /** The judged checks, or null if they could not be read. */
  readonly judged: JudgedChecks | null;
  readonly summary: ChecksSummary;
  /** The first head on which expected checks did not start, or null if they start. */
  readonly unstarted: string | null;
}

/**
 * Returns the checks of commits before the base branch's tip if the tip does not show the state of a failed check;
 * otherwise null.
 */
async function earlierChecksOnBase(
  { forge, context }: GateDeps,
  { checks, base }: PullRequestNow,
): Promise<readonly CheckNow[] | null> {
  return checks.kind === 'known' && isUnknownOnBase(checks, ownRuns(context)) ? forge.checksBefore(base.tip) : null;
}

function ownRuns({ workflowPath, runId }: GateDeps['context']): OwnRuns {
  return { workflow: workflowPath, run: Number(runId) };
}

/** Judges the checks. `earlier` are the checks of base commits before the tip. */
function judgeChecksNow(
  { context, clock }: GateDeps,
  { now, earlier }: { readonly now: PullRequestNow; readonly earlier: readonly CheckNow[] },
  state: LaneState,
): SeenChecks {
  const { checks, head } = now;
  const { lastRun, feedback } = state;
  if (checks.kind === 'unreadable') {
    const { unstarted } = feedback;
    const { why: unreadable, isTemporary = false } = checks;
    return {
      judged: null,
      summary: { ...noChecks, unstarted: unstarted !== null, unreadable, isTemporary },
      unstarted,
    };
  }
  const own = ownRuns(context);
  const judged = judgeChecks({ head: checks.head, base: [...earlier, ...checks.base] }, own);
  // A person's push always starts workflows, so the time since such a push is not measured.
  const sincePushMs = lastRun?.published?.head === head ? clock.now() - lastRun.at : 0;
  const ranBefore = feedback.rounds.some(
    (round) => round.checks !== null && round.checks.passed + round.checks.failed > 0,
  );
  const unstarted = headWithoutChecks(
    head,
    feedback.unstarted,
    areChecksUnstarted(checks, { own, ranBefore, sincePushMs }),
  );
  const names = (some: readonly CheckNow[]): readonly string[] => some.slice(0, MAX_NAMED).map(({ name }) => name);
  const { failed, alsoOnBase, flaky, running, waiting, passed } = judged;
  return {
    judged,
    summary: {
      counts: {
        passed: passed.length,
        failed: failed.length + alsoOnBase.length,
        running: running.length,
        waiting: waiting.length,
      },
      alsoOnBase: names(alsoOnBase),
      flaky: names(flaky),
      waiting: names(waiting),
      unstarted: unstarted !== null,
      unreadable: null,
      runs: failed.length + alsoOnBase.length + running.length + waiting.length + passed.length,
    },
    unstarted,
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

/** Returns the head on which checks are missing, or null if they started. Returns `before` while this is unknown. */
function headWithoutChecks(head: string, before: string | null, isMissing: boolean | null): string | null {
  if (isMissing === null) return before;
  return isMissing ? (before ?? head) : null;
}

/**
 * Returns the head if a person pushed it, that is, if Ralph did not publish it last. Ignores merges of the base branch
 * on top, which a button makes, or a program that keeps pull requests up to date.
 */
function headByPerson({ lastRun }: LaneState, { heads }: PullRequestNow): string | null {
  const published = lastRun?.published?.head ?? null;
  return published === null || heads.includes(published) ? null : (heads.at(-1) ?? null);
}

async function readCheckDetails(
  { forge }: GateDeps,
  checks: readonly CheckNow[],
): Promise<ReadonlyMap<CheckNow, CheckDetails>> {
  const read = await Promise.all(checks.map(async (check) => [check, await forge.checkDetails(check)] as const));
  return new Map(read);
}
