import type { TaskId } from '../tasks/ids.ts';
import { getProgress, untouchedProgress } from '../tasks/queue.ts';
import { isFinished, isSettled, isStuck, type Task, type TaskProgress } from '../tasks/task.ts';
import { capText } from '../text/phrase.ts';
import {
  MAX_ANSWER_CHARS,
  MAX_ITEMS,
  MAX_ROUNDS,
  MAX_TITLE_CHARS,
  MAX_EARLIER_ANSWERS,
  MAX_TRIED_CHARS,
  MAX_URL_CHARS,
  keepNewestItems,
  noFeedback,
  type Feedback,
  type FeedbackItem,
  type FeedbackRound,
} from './memory.ts';
import { isAnsweredByComment, isFeedback, isOfPeople } from './subject.ts';
import { isOutOfRounds, isUnproven } from './unproven.ts';

type ProgressById = Readonly<Record<TaskId, TaskProgress>>;
type Kind = FeedbackItem['kind'];
type Answer = NonNullable<FeedbackItem['answer']>;

/** The feedback of a lane and the progress of its tasks. */
export interface FeedbackMemory {
  readonly feedback: Feedback;
  /** Progress of all tasks of the lane, not only of the feedback tasks. */
  readonly tasks: ProgressById;
}

/** A subject that currently needs an answer. */
interface AskedSubject {
  readonly id: TaskId;
  readonly kind: Kind;
  readonly title: string;
  readonly url: string | null;
  /** Id of the comment or review with the request, or the commit on which a check failed or that conflicts. */
  readonly asked: string;
  /** Present if a bot makes the request; absent if a person or CI does. */
  readonly isByBot?: true;
}

/** The current requests of people and CI, as the pull request shows them. */
export interface CurrentSubjects {
  readonly subjects: readonly AskedSubject[];
  /**
   * True if a subject that is missing in `subjects` may still need an answer, for example because its check is running.
   */
  readonly isUndecided: (id: TaskId, kind: Kind) => boolean;
  /** The head if a person pushed it; null if Ralph did. */
  readonly personHead: string | null;
  /** Maximum number of rounds; 0 = no limit. */
  readonly maxRounds: number;
}

/** The memory with the current requests. */
export interface MergedSubjects extends FeedbackMemory {
  /** The subjects without a final answer. */
  readonly open: readonly TaskId[];
  /** The open subjects that a person must decide. */
  readonly spent: readonly TaskId[];
}

/** Returns the subject of a feedback task; null for any other task. */
export function subjectOfTask({ id, title, source }: Task): AskedSubject | null {
  if (source.kind !== 'feedback') return null;
  const { on, url } = source;
  return { id, kind: on.kind, title, url, asked: requestIdOf(on), ...(isByBot(on) ? { isByBot: true } : {}) };
}

/**
 * Merges the current requests into the memory. A repeated request reopens its subject; a subject without a request and
 * without an answer is forgotten.
 */
export function mergeSubjects({ feedback, tasks }: FeedbackMemory, current: CurrentSubjects): MergedSubjects {
  const isPushed = current.personHead !== null && current.personHead !== feedback.personHead;
  const subjects = new Map(current.subjects.slice(0, MAX_ITEMS).map((subject) => [subject.id, subject]));
  const items = new Map<TaskId, FeedbackItem>();
  const botRounds = isPushed ? 0 : (feedback.botRounds ?? 0);
  const progress = new Map(Object.entries(tasks));
  for (const [id, item] of Object.entries(feedback.items)) {
    const isKept = !isOver(item) && !isUnproven(item, progressIn(tasks, id));
    if (isKept || subjects.has(id) || current.isUndecided(id, item.kind))
      items.set(id, isPushed ? withRoundsReset(item) : item);
    else progress.delete(id);
  }

  const open: TaskId[] = [];
  const spent: TaskId[] = [];
  for (const [id, subject] of subjects) {
    const before = items.get(id);
    const item = itemNow(subject, before, botRounds);
    items.set(id, item);
    const then = getProgress(tasks, id);
    const isLeft = item.answer?.kind === 'given-up';
    // A branch is not finished while a person must still decide one of its subjects. A retry begins its task again, so
    // its progress is known and not stuck; after the state was lost, it is unknown.
    if (isLeft && (isStuck(then) || progressIn(tasks, id) === null)) {
      open.push(id);
      spent.push(id);
      progress.set(id, isStuck(then) ? then : leftToPerson);
      continue;
    }
    if (item.answer !== null && !isLeft && !isUnproven(item, progressIn(tasks, id))) continue;
    open.push(id);
    const now = !isLeft && isNewRequest(subject, before, then) ? untouchedProgress : then;
    // A round in progress is finished even if it exceeds the limit.
    const isSpent = isOutOfRounds(item, current.maxRounds) && !isRoundBegun(now);
    if (isSpent) spent.push(id);
    const next = isSpent ? outOfRounds : isLeftForRounds(now) ? untouchedProgress : now;
    if (next === untouchedProgress && !isLeft) progress.delete(id);
    else progress.set(id, next);
  }
  const memory: Feedback = {
    ...withBotRounds(feedback, botRounds),
    personHead: current.personHead ?? feedback.personHead,
    items: keepNewestItems(Object.fromEntries(items), MAX_ITEMS),
  };
  return { feedback: memory, tasks: Object.fromEntries(progress), open, spent };
}

/**
 * Counts a round when work on a subject begins: its first iteration, or an applied suggestion. `before` is its task's
 * progress until then.
 */
export function beginRound(feedback: Feedback, id: TaskId, before: TaskProgress): Feedback {
  if (isRoundBegun(before)) return feedback;
  const begun = changeItem(feedback, id, (item) => ({ ...item, rounds: item.rounds + 1 }));
  return countBotRounds(begun, [id]);
}

/** Counts the bot rounds that begin when these items are worked on. */
export function countBotRounds(feedback: Feedback, ids: readonly TaskId[]): Feedback {
  const { items, botRounds = 0 } = feedback;
  const begun = ids.map((id) => (Object.hasOwn(items, id) ? (items[id]?.botRound ?? 0) : 0));
  return withBotRounds(feedback, Math.max(botRounds, ...begun));
}

/** Omits the field when the count is 0. */
function withBotRounds(feedback: Feedback, botRounds: number): Feedback {
  if (botRounds === (feedback.botRounds ?? 0)) return feedback;
  return botRounds === 0 ? withoutBotRounds(feedback) : { ...feedback, botRounds };
}

function withoutBotRounds({ botRounds: _, ...others }: Feedback): Feedback {
  return others;
}

/** Records an answer to a subject, not yet posted. */
export function setAnswer(feedback: Feedback, id: TaskId, answer: Omit<Answer, 'posted'>): Feedback {
  const words = answer.words === null ? null : capText(answer.words, MAX_ANSWER_CHARS);
  return changeItem(feedback, id, (item) => ({
    ...item,
    workedIn: undefined,
    answer: { ...answer, words, posted: false },
  }));
}

/** Records a commit of unfinished work on a subject. */
export function recordWorkCommit(feedback: Feedback, id: TaskId, commit: string): Feedback {
  return changeItem(feedback, id, (item) => ({ ...item, workedIn: commit }));
}

/**
 * Returns the newest commit of work on a subject whose answer is not posted because the work is unfinished or its
 * verification failed; null if none.
 */
export function findUnpostedCommit({ items }: Pick<Feedback, 'items'>, id: TaskId): string | null {
  const item = Object.hasOwn(items, id) ? items[id] : undefined;
  if (item?.workedIn !== undefined) return item.workedIn;
  const answer = item?.answer ?? null;
  return answer?.kind === 'changed' && !answer.posted ? answer.commit : null;
}

/** Records that these answers are posted. */
export function markPosted(feedback: Feedback, ids: readonly TaskId[]): Feedback {
  return ids.reduce(
    (next, id) =>
      changeItem(next, id, (item) => ({
        ...item,
        answer: item.answer === null ? null : { ...item.answer, posted: true },
      })),
    feedback,
  );
}

/** Adds a run that answered a subject or saw changed checks. */
export function addRound(feedback: Feedback, round: FeedbackRound): Feedback {
  return { ...feedback, rounds: [...feedback.rounds, round].slice(-MAX_ROUNDS) };
}

/** Records a comment with a request; the next run that reads the pull request reads its text. */
export function withRequest(feedback: Feedback, id: TaskId): Feedback {
  if (Object.hasOwn(feedback.items, id)) return feedback;
  const item = {
    kind: 'comment',
    title: '',
    url: null,
    rounds: 0,
    asked: id.replace(/\D/g, ''),
    answer: null,
  } as const;
  return { ...feedback, items: keepNewestItems({ ...feedback.items, [id]: item }, MAX_ITEMS) };
}

/**
 * Resets the rounds of a subject that a person retries. Reopens a check, a conflict, or a review that was left to a
 * person. A thread that was left to a person keeps this answer until it gets another one.
 */
export function resetRounds(feedback: Feedback, id: TaskId): Feedback {
  const known = Object.hasOwn(feedback.items, id) ? feedback.items[id] : undefined;
  // An unknown subject belongs to a bot that is out of rounds, because a run without a call does not store it.
  const isOfBot = known === undefined || known.botRound !== undefined;
  return changeItem(isOfBot ? withBotRounds(feedback, 0) : feedback, id, ({ botRound: _, ...item }) => {
    const isOfCi = item.kind === 'check' || item.kind === 'conflict';
    const isAskedStill = isOfCi || (isAnsweredByComment(item.kind) && item.answer?.kind === 'given-up');
    return { ...item, rounds: 0, answer: isAskedStill ? null : item.answer };
  });
}

/** Removes the feedback on the previous pull request when a branch begins again. */
export function forgetFeedback({ tasks }: FeedbackMemory): FeedbackMemory {
  return { feedback: noFeedback, tasks: Object.fromEntries(Object.entries(tasks).filter(([id]) => !isFeedback(id))) };
}

/** Returns true if a round has begun, with a call or with an applied suggestion that failed verification. */
function isRoundBegun({ attempts, state }: TaskProgress): boolean {
  return attempts > 0 || state === 'in-progress';
}

function progressIn(tasks: ProgressById, id: TaskId): TaskProgress | null {
  return Object.hasOwn(tasks, id) ? (tasks[id] ?? null) : null;
}

/**
 * Returns true if an item without a current request can be dropped: Ralph did not answer it, or left it to a person.
 */
function isOver({ answer }: FeedbackItem): boolean {
  return answer === null || answer.kind === 'given-up';
}

const leftToPerson: TaskProgress = { ...untouchedProgress, state: 'blocked', reason: 'status_blocked' };

const outOfRounds: TaskProgress = { ...untouchedProgress, state: 'blocked', reason: 'feedback_rounds' };

function isLeftForRounds({ reason }: TaskProgress): boolean {
  return reason === 'feedback_rounds';
}

/** Returns the item of a subject. `botRounds` is the number of bot rounds begun on the pull request. */
function itemNow(subject: AskedSubject, before: FeedbackItem | undefined, botRounds: number): FeedbackItem {
  const { kind, asked } = subject;
  const url = subject.url !== null && subject.url.length <= MAX_URL_CHARS ? subject.url : null;
  const title = capText(subject.title, MAX_TITLE_CHARS);
  const isSame = before?.asked === asked;
  // After a resolved conflict, one with a newer base is another conflict: with many open pull requests, each merge
  // makes one.
  const isAnother = kind === 'conflict' && !isSame && before?.answer?.kind === 'changed' && before.answer.posted;
  const counted = isAnother ? 0 : (before?.rounds ?? 0);
  // A person's request does not inherit the rounds of bots, so it begins at 0.
  const rounds = subject.isByBot !== true && before?.botRound !== undefined ? 0 : counted;
  const botRound = (isSame ? before.botRound : undefined) ?? botRounds + 1;
  const workedIn = isSame || before?.answer === null ? before.workedIn : undefined;
  const tried = before === undefined || counted === 0 ? [] : isSame ? (before.tried ?? []) : earlierAnswersOf(before);
  const answer = isSame ? before.answer : null;
  return {
    ...{ kind, title, url, rounds, asked, workedIn, answer },
    ...(subject.isByBot === true ? { botRound } : {}),
    ...(tried.length === 0 ? {} : { tried }),
  };
}

/** Resets the rounds of an item after a person pushed. */
function withRoundsReset(item: FeedbackItem): FeedbackItem {
  return { ...item, rounds: 0, ...(item.botRound === undefined ? {} : { botRound: 1 }) };
}

/** Returns the earlier answers to a request that is made again, newest last. */
function earlierAnswersOf({ tried = [], answer }: FeedbackItem): NonNullable<FeedbackItem['tried']> {
  if (answer === null) return tried;
  const words = answer.words === null ? null : capText(answer.words, MAX_TRIED_CHARS);
  return [...tried, { commit: answer.commit, words }].slice(-MAX_EARLIER_ANSWERS);
}

/**
 * Returns true if a request starts its task from the beginning. A check that still fails on a newer commit while its
 * task is open is the same request.
 */
function isNewRequest({ kind, asked }: AskedSubject, before: FeedbackItem | undefined, then: TaskProgress): boolean {
  // A finished task without an answer lost its run before it could answer, so it starts again.
  if (before === undefined || (before.answer === null && isFinished(then))) return true;
  if (before.asked === asked && (before.answer === null || isUnproven(before, then))) return false;
  return isOfPeople(kind) || before.answer !== null || (isSettled(then) && !isLeftForRounds(then));
}

function requestIdOf(on: Extract<Task['source'], { kind: 'feedback' }>['on']): string {
  switch (on.kind) {
    case 'thread':
      return String(on.asked);
    case 'review':
    case 'comment':
      return String(on.review);
    case 'check':
      return on.head;
    case 'conflict':
      return on.base;
  }
}

/** Returns true if a bot requests the change: only bots have brackets in their GitHub login. */
function isByBot(on: Extract<Task['source'], { kind: 'feedback' }>['on']): boolean {
  return isOfPeople(on.kind) && 'by' in on && on.by.endsWith('[bot]');
}

function changeItem(feedback: Feedback, id: TaskId, change: (item: FeedbackItem) => FeedbackItem): Feedback {
  const item = Object.hasOwn(feedback.items, id) ? feedback.items[id] : undefined;
  return item === undefined ? feedback : { ...feedback, items: { ...feedback.items, [id]: change(item) } };
}
