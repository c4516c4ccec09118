import { z } from 'zod';
import { count, type Immutable, instant } from '../policy.ts';
import { storedTaskId, type TaskId } from '../tasks/ids.ts';
import type { Task } from '../tasks/task.ts';
import { capped, oneLine } from '../text/phrase.ts';
import { lockFilesSchema } from './conflict/lock-tools.ts';
import { type CheckNow, holdSchema } from './pull-request-now.ts';

/** What a run with feedback may ask GitHub beyond an idle one: ten requests, one of which is for where its branch begins. */
const MAX_REQUESTS = 9;

/** Each is a task with a log of its own. */
const MAX_CHECKS = 4;

/** More subjects than GitHub shows in one review are not kept; the oldest go first. */
export const MAX_ITEMS = 120;

/** Rounds that a pull request shows. */
export const MAX_ROUNDS = 10;

/** Of an agent's words in an answer. */
export const MAX_ANSWER_CHARS = 500;

/** Earlier answers to the same that are kept, and their words. */
export const MAX_TRIED = 3;

export const MAX_TRIED_CHARS = 200;

/** Of what people see of a subject. */
export const MAX_TITLE_CHARS = 120;

/** An address that is longer is not kept. */
export const MAX_URL_CHARS = 300;

const objectId = z.string().max(64);

export const answerKinds = ['changed', 'unchanged', 'given-up'] as const;

/** What a thing that is asked can be. */
export const askedKinds = ['thread', 'review', 'check', 'conflict'] as const;

const itemSchema = z.object({
  kind: z.enum(askedKinds),
  title: z.string().max(MAX_TITLE_CHARS),
  url: z.string().max(MAX_URL_CHARS).nullable(),
  /** How often it was asked since a person pushed last. */
  rounds: count,
  /** Number of the round of bots in which a bot asked last, from 1. Absent: no bot asked last. */
  botRound: count.optional(),
  /** What asked last: id of a comment or review, or the commit that failed or conflicts. */
  asked: z.string().max(80),
  /** The newest commit of work on it that has no answer yet; absent: there is none. */
  workedIn: objectId.optional(),
  /** What came of it; null: it is open. `given-up`: a person must decide. */
  answer: z
    .object({
      kind: z.enum(answerKinds),
      commit: objectId.nullable(),
      /** The agent's own words, or ours where `isOurs`. */
      words: z.string().max(MAX_ANSWER_CHARS).nullable(),
      isOurs: z.boolean(),
      /** Of a merge: lock files that were to be made again; absent: none. */
      lockFiles: lockFilesSchema.optional(),
      at: instant,
      /** Whether people can read it in its thread. */
      posted: z.boolean(),
    })
    .nullable(),
  /** Answers to the same complaint before, the newest last, since its rounds are counted. Absent: there were none. */
  tried: z
    .array(z.object({ commit: objectId.nullable(), words: z.string().max(MAX_TRIED_CHARS).nullable() }))
    .max(MAX_TRIED)
    .optional(),
});

/** One thing that people or CI asked of a pull request, and what came of it. */
export type FeedbackItem = Immutable<z.infer<typeof itemSchema>>;

const roundSchema = z.object({
  at: instant,
  /** The head that was looked at. */
  head: objectId,
  asked: count,
  answered: count,
  /** Of the head; null: not known. */
  checks: z.object({ passed: count, failed: count, running: count, waiting: count }).nullable(),
});

/** One run that answered, or looked at checks that had changed. */
export type FeedbackRound = Immutable<z.infer<typeof roundSchema>>;

export const feedbackSchema = z.object({
  /** The newest head that a person pushed, from which rounds are counted; null: none did. */
  personHead: objectId.nullable(),
  items: z.record(storedTaskId, itemSchema),
  /** Rounds of bots that have begun on the whole pull request since a person pushed last; absent: none. */
  botRounds: count.optional(),
  /** Newest last. */
  rounds: z.array(roundSchema).max(MAX_ROUNDS),
  /** The first head on which expected checks did not start, which is said once; null: they start. */
  unstarted: objectId.nullable(),
  /** What people had decided of a head that Ralph's commits have replaced since; null: nothing. Earlier states of version 7 do not say. */
  overtaken: holdSchema.extend({ at: instant }).nullable().default(null),
});

/** What was asked of a lane's pull request and answered. */
export type Feedback = Immutable<z.infer<typeof feedbackSchema>>;

/** Of a pull request that nobody has said anything about. */
export const noFeedback: Feedback = { personHead: null, items: {}, rounds: [], unstarted: null, overtaken: null };

/** The same items, the newest last, at most so many: what was answered in public goes first, what is open last. A thread itself says that it is answered; of a review as a whole only the memory does. */
export function newestItems(items: Feedback['items'], most: number): Feedback['items'] {
  const entries = Object.entries(items);
  let surplus = entries.length - most;
  if (surplus <= 0) return items;
  const dropped = new Set<string>();
  for (const goes of [isSaidThere, isPosted, isAnswered, () => true]) {
    for (const [id, item] of entries) {
      if (surplus <= 0) break;
      if (dropped.has(id) || !goes(item)) continue;
      dropped.add(id);
      surplus -= 1;
    }
  }
  return Object.fromEntries(entries.filter(([id]) => !dropped.has(id)));
}

/** The memory in fewer bytes, with everything that decides. */
export function withShorterWords(feedback: Feedback): Feedback {
  return mapItems({ ...feedback, rounds: feedback.rounds.slice(-5) }, ({ title, answer, tried, ...item }) => ({
    ...item,
    ...(tried === undefined ? {} : { tried: tried.slice(-1) }),
    title: capped(title, 60),
    answer:
      answer === null
        ? null
        : { ...withoutLockFiles(answer), words: answer.words === null ? null : capped(answer.words, 100) },
  }));
}

/** The memory without a word that somebody else could have written into it: what is left can only cost a run. */
export function withoutWords(feedback: Feedback): Feedback {
  return mapItems(feedback, ({ tried: _, ...item }) => ({
    ...item,
    title: '',
    url: null,
    workedIn: undefined,
    // What nobody vouches for is not posted: it is asked once more.
    answer:
      isPosted(item) && item.answer !== null ? { ...withoutLockFiles(item.answer), commit: null, words: null } : null,
  }));
}

/** An answer that says nothing of lock files. */
export function withoutLockFiles({
  lockFiles: _,
  ...answer
}: NonNullable<FeedbackItem['answer']>): NonNullable<FeedbackItem['answer']> {
  return answer;
}

function mapItems(feedback: Feedback, change: (item: FeedbackItem) => FeedbackItem): Feedback {
  const items = Object.entries(feedback.items).map(([id, item]) => [id, change(item)] as const);
  return { ...feedback, items: Object.fromEntries(items) };
}

function isAnswered({ answer }: FeedbackItem): boolean {
  return answer !== null;
}

function isSaidThere(item: FeedbackItem): boolean {
  return isPosted(item) && item.kind !== 'review';
}

function isPosted({ answer }: FeedbackItem): boolean {
  return answer?.posted === true;
}

/** What people wait for in their threads: a later run posts it, also where it has nothing else to do. */
function unpostedIn({ items }: Pick<Feedback, 'items'>): readonly TaskId[] {
  return Object.entries(items).flatMap(([id, item]) => (isAnsweredThere(item) && isUnposted(item) ? [id] : []));
}

/** Whether there is an answer that people cannot read yet. */
export function isUnposted({ answer }: Pick<FeedbackItem, 'answer'>): boolean {
  return answer !== null && !answer.posted;
}

/** What became of checks and conflicts the pull request's own text says. */
function isAnsweredThere({ kind }: FeedbackItem): boolean {
  return kind === 'thread' || kind === 'review';
}

/** Whether people wait for words that a run can say without a call: an answer that an earlier run could not post; or that checks do not start, which the pull request says once and takes back once. */
export function hasUnpostedAnswers(now: Feedback, before: Feedback): boolean {
  const isSaid = (now.unstarted === null) === (before.unstarted === null);
  return unpostedIn(now).length > 0 || !isSaid;
}

/** The failed checks whose details one run reads, in their turn: as many as `asked` requests about people leave room for, but the first in any case. */
export function checksToRead(inTurn: readonly CheckNow[], asked: number): readonly CheckNow[] {
  const read: CheckNow[] = [];
  let requests = asked;
  for (const check of inTurn) {
    const more = requestsFor(check);
    if (read.length >= MAX_CHECKS || (read.length > 0 && requests + more > MAX_REQUESTS)) continue;
    read.push(check);
    requests += more;
  }
  return read;
}

/** Annotations, the job and where its log is; other apps have only annotations, and a commit status says all there is. */
function requestsFor({ of, id, app }: CheckNow): number {
  if (of !== 'check-run' || id === null) return 0;
  return app === 'github-actions' ? 3 : 1;
}

/** The task with what was answered to the same before, so that it is not tried again. */
export function withTried<T extends Pick<Task, 'body'>>(task: T, { tried = [] }: Pick<FeedbackItem, 'tried'>): T {
  if (tried.length === 0) return task;
  const lines = tried.map(({ commit, words }) =>
    [
      commit === null ? '- nothing was changed' : `- changed in commit ${oneLine(commit, 64)}`,
      ...(words === null ? [] : [oneLine(words, MAX_TRIED_CHARS)]),
    ].join(': '),
  );
  return { ...task, body: `${task.body}\n\nAnswered before, and it was not enough:\n${lines.join('\n')}` };
}
