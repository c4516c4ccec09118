import type { TaskId } from '../tasks/ids.ts';
import { progressOf, untouched } from '../tasks/queue.ts';
import { isFinished, isSettled, isStuck, type Task, type TaskProgress } from '../tasks/task.ts';
import { capped } from '../text/phrase.ts';
import {
  MAX_ANSWER_CHARS,
  MAX_ITEMS,
  MAX_ROUNDS,
  MAX_TITLE_CHARS,
  MAX_TRIED,
  MAX_TRIED_CHARS,
  MAX_URL_CHARS,
  newestItems,
  noFeedback,
  type Feedback,
  type FeedbackItem,
  type FeedbackRound,
} from './memory.ts';
import { isFeedback } from './subject.ts';
import { isOutOfRounds, isUnproven } from './unproven.ts';

type ProgressById = Readonly<Record<TaskId, TaskProgress>>;
type Kind = FeedbackItem['kind'];
type Answer = NonNullable<FeedbackItem['answer']>;

/** What a lane knows of its feedback, and how far it got with it. */
export interface Remembered {
  readonly feedback: Feedback;
  /** Of all tasks of the lane. */
  readonly tasks: ProgressById;
}

/** Something that is asked of the pull request now. */
interface FoundSubject {
  readonly id: TaskId;
  readonly kind: Kind;
  readonly title: string;
  readonly url: string | null;
  /** What asks: id of a comment or review, or a commit. */
  readonly asked: string;
  /** True if a bot asks; absent: a person or CI does. */
  readonly isByBot?: true;
}

/** What is asked of the pull request now. */
export interface Found {
  readonly subjects: readonly FoundSubject[];
  /** Whether nobody can say now if something that is not among them is still asked, as of a check that runs. */
  readonly isUndecided: (id: TaskId, kind: Kind) => boolean;
  /** The head, if a person pushed it; null: it is ours. */
  readonly personHead: string | null;
  /** 0: no limit. */
  readonly maxRounds: number;
}

/** What a run has to do: `open` are the subjects that nothing came of yet, `spent` those of them that a person must decide. */
export interface TakenIn extends Remembered {
  readonly open: readonly TaskId[];
  readonly spent: readonly TaskId[];
}

/** The subject that a feedback task is about; null: it is another task. */
export function subjectFound({ id, title, source }: Task): FoundSubject | null {
  if (source.kind !== 'feedback') return null;
  const { on, url } = source;
  return { id, kind: on.kind, title, url, asked: askedBy(on), ...(isByBot(on) ? { isByBot: true } : {}) };
}

/** The memory with what is asked now. What is asked again opens again; what is not asked any more and has no answer is forgotten. */
export function mergeSubjects({ feedback, tasks }: Remembered, found: Found): TakenIn {
  const isPushed = found.personHead !== null && found.personHead !== feedback.personHead;
  const subjects = new Map(found.subjects.slice(0, MAX_ITEMS).map((subject) => [subject.id, subject]));
  const items = new Map<TaskId, FeedbackItem>();
  const botRounds = isPushed ? 0 : (feedback.botRounds ?? 0);
  const progress = new Map(Object.entries(tasks));
  for (const [id, item] of Object.entries(feedback.items)) {
    const isKept = !isSolvedElsewhere(item) && !isUnproven(item, progressIn(tasks, id));
    if (isKept || subjects.has(id) || found.isUndecided(id, item.kind))
      items.set(id, isPushed ? countedAnew(item) : item);
    else progress.delete(id);
  }

  const open: TaskId[] = [];
  const spent: TaskId[] = [];
  for (const [id, subject] of subjects) {
    const before = items.get(id);
    const item = itemNow(subject, before, botRounds);
    items.set(id, item);
    const then = progressOf(tasks, id);
    // As long as it is asked, a branch with it is not finished.
    if (item.answer?.kind === 'given-up') {
      open.push(id);
      spent.push(id);
      progress.set(id, isStuck(then) ? then : leftToPerson);
      continue;
    }
    if (item.answer !== null && !isUnproven(item, progressIn(tasks, id))) continue;
    open.push(id);
    const now = isAskedAnew(subject, before, then) ? untouched : then;
    // A round that has begun goes on to its end; what is spent says so as long as it is.
    const isSpent = isOutOfRounds(item, found.maxRounds) && !isBegun(now);
    if (isSpent) spent.push(id);
    const next = isSpent ? outOfRounds : isLeftForRounds(now) ? untouched : now;
    if (next === untouched) progress.delete(id);
    else progress.set(id, next);
  }
  const memory: Feedback = {
    ...withBotRounds(feedback, botRounds),
    personHead: found.personHead ?? feedback.personHead,
    items: newestItems(Object.fromEntries(items), MAX_ITEMS),
  };
  return { feedback: memory, tasks: Object.fromEntries(progress), open, spent };
}

/** The memory when an iteration is made, or a suggestion applied, for what is asked: a round begins with the first of them. `before`: how far the task was. */
export function beginRound(feedback: Feedback, id: TaskId, before: TaskProgress): Feedback {
  if (isBegun(before)) return feedback;
  const begun = changeItem(feedback, id, (item) => ({ ...item, rounds: item.rounds + 1 }));
  return countBotRounds(begun, [id]);
}

/** The memory with the rounds of bots that have begun, now that work on these items has. */
export function countBotRounds(feedback: Feedback, ids: readonly TaskId[]): Feedback {
  const { items, botRounds = 0 } = feedback;
  const begun = ids.map((id) => (Object.hasOwn(items, id) ? (items[id]?.botRound ?? 0) : 0));
  return withBotRounds(feedback, Math.max(botRounds, ...begun));
}

/** None are not written down. */
function withBotRounds(feedback: Feedback, botRounds: number): Feedback {
  if (botRounds === (feedback.botRounds ?? 0)) return feedback;
  return botRounds === 0 ? withoutBotRounds(feedback) : { ...feedback, botRounds };
}

function withoutBotRounds({ botRounds: _, ...others }: Feedback): Feedback {
  return others;
}

/** The memory with an answer to what is asked, not posted yet. */
export function answerWith(feedback: Feedback, id: TaskId, answer: Omit<Answer, 'posted'>): Feedback {
  const words = answer.words === null ? null : capped(answer.words, MAX_ANSWER_CHARS);
  return changeItem(feedback, id, (item) => ({
    ...item,
    workedIn: undefined,
    answer: { ...answer, words, posted: false },
  }));
}

/** The memory with a commit of work on what is asked that is not finished. */
export function workOn(feedback: Feedback, id: TaskId, commit: string): Feedback {
  return changeItem(feedback, id, (item) => ({ ...item, workedIn: commit }));
}

/** The newest commit of work on it that nobody has read of: of work that is not finished, or that was answered and did not pass; null: there is none. */
export function workedBefore({ items }: Pick<Feedback, 'items'>, id: TaskId): string | null {
  const item = Object.hasOwn(items, id) ? items[id] : undefined;
  if (item?.workedIn !== undefined) return item.workedIn;
  const answer = item?.answer ?? null;
  return answer?.kind === 'changed' && !answer.posted ? answer.commit : null;
}

/** The memory in which people can read these answers. */
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

/** The memory with one more run that answered, or looked at checks that had changed. */
export function addRound(feedback: Feedback, round: FeedbackRound): Feedback {
  return { ...feedback, rounds: [...feedback.rounds, round].slice(-MAX_ROUNDS) };
}

/** The memory when a person has a task tried again: its rounds are counted from now on, and what CI says, or a review that was left to a person, is looked at again. Whoever wants more in a thread says so there. */
export function forgetRounds(feedback: Feedback, id: TaskId): Feedback {
  const known = Object.hasOwn(feedback.items, id) ? feedback.items[id] : undefined;
  // What is not known yet was asked by a bot that is out of rounds: a run without a call remembers nothing.
  const isOfBot = known === undefined || known.botRound !== undefined;
  return changeItem(isOfBot ? withBotRounds(feedback, 0) : feedback, id, ({ botRound: _, ...item }) => {
    const isOfCi = item.kind === 'check' || item.kind === 'conflict';
    const isAskedStill = isOfCi || (item.kind === 'review' && item.answer?.kind === 'given-up');
    return { ...item, rounds: 0, answer: isAskedStill ? null : item.answer };
  });
}

/** Forgets the pull request of a branch that begins again. */
export function forgetFeedback({ tasks }: Remembered): Remembered {
  return { feedback: noFeedback, tasks: Object.fromEntries(Object.entries(tasks).filter(([id]) => !isFeedback(id))) };
}

/** Also without a call, as by a suggestion that did not pass. */
function isBegun({ attempts, state }: TaskProgress): boolean {
  return attempts > 0 || state === 'in-progress';
}

function progressIn(tasks: ProgressById, id: TaskId): TaskProgress | null {
  return Object.hasOwn(tasks, id) ? (tasks[id] ?? null) : null;
}

/** Whether it is over, now that nobody asks for it: without an answer of ours, or with one that left it to a person. */
function isSolvedElsewhere({ answer }: FeedbackItem): boolean {
  return answer === null || answer.kind === 'given-up';
}

const leftToPerson: TaskProgress = { ...untouched, state: 'blocked', reason: 'status_blocked' };

const outOfRounds: TaskProgress = { ...untouched, state: 'blocked', reason: 'feedback_rounds' };

function isLeftForRounds({ reason }: TaskProgress): boolean {
  return reason === 'feedback_rounds';
}

/** `botRounds`: of bots on the pull request, begun so far. */
function itemNow(subject: FoundSubject, before: FeedbackItem | undefined, botRounds: number): FeedbackItem {
  const { kind, asked } = subject;
  const url = subject.url !== null && subject.url.length <= MAX_URL_CHARS ? subject.url : null;
  const title = capped(subject.title, MAX_TITLE_CHARS);
  const counted = before?.rounds ?? 0;
  const isSame = before?.asked === asked;
  // Rounds of bots are not those of the person who asks now.
  const rounds = subject.isByBot !== true && before?.botRound !== undefined ? 0 : counted;
  const botRound = (isSame ? before.botRound : undefined) ?? botRounds + 1;
  const workedIn = isSame || before?.answer === null ? before.workedIn : undefined;
  const tried = before === undefined || counted === 0 ? [] : isSame ? (before.tried ?? []) : triedBy(before);
  const answer = isSame ? before.answer : null;
  return {
    ...{ kind, title, url, rounds, asked, workedIn, answer },
    ...(subject.isByBot === true ? { botRound } : {}),
    ...(tried.length === 0 ? {} : { tried }),
  };
}

/** After a push by a person, with which the first round begins again. */
function countedAnew(item: FeedbackItem): FeedbackItem {
  return { ...item, rounds: 0, ...(item.botRound === undefined ? {} : { botRound: 1 }) };
}

/** What was answered, by one that is asked again. */
function triedBy({ tried = [], answer }: FeedbackItem): NonNullable<FeedbackItem['tried']> {
  if (answer === null) return tried;
  const words = answer.words === null ? null : capped(answer.words, MAX_TRIED_CHARS);
  return [...tried, { commit: answer.commit, words }].slice(-MAX_TRIED);
}

/** Whether work on it begins from the start. A check that still fails on a newer commit while it is worked on is the same complaint. */
function isAskedAnew({ kind, asked }: FoundSubject, before: FeedbackItem | undefined, then: TaskProgress): boolean {
  // Of what was finished when the run was lost nobody has an answer.
  if (before === undefined || (before.answer === null && isFinished(then))) return true;
  if (before.asked === asked && (before.answer === null || isUnproven(before, then))) return false;
  const isOfPeople = kind === 'thread' || kind === 'review';
  return isOfPeople || before.answer !== null || (isSettled(then) && !isLeftForRounds(then));
}

function askedBy(on: Extract<Task['source'], { kind: 'feedback' }>['on']): string {
  switch (on.kind) {
    case 'thread':
      return String(on.asked);
    case 'review':
      return String(on.review);
    case 'check':
      return on.head;
    case 'conflict':
      return on.base;
  }
}

/** GitHub gives no person a login with brackets. */
function isByBot(on: Extract<Task['source'], { kind: 'feedback' }>['on']): boolean {
  return (on.kind === 'thread' || on.kind === 'review') && on.by.endsWith('[bot]');
}

function changeItem(feedback: Feedback, id: TaskId, change: (item: FeedbackItem) => FeedbackItem): Feedback {
  const item = Object.hasOwn(feedback.items, id) ? feedback.items[id] : undefined;
  return item === undefined ? feedback : { ...feedback, items: { ...feedback.items, [id]: change(item) } };
}
