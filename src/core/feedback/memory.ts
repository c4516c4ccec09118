import { z } from 'zod';
import { countSchema, type Immutable, instantSchema } from '../policy.ts';
import { storedTaskId, type TaskId } from '../tasks/ids.ts';
import type { Task } from '../tasks/task.ts';
import { capText, toOneLine } from '../text/phrase.ts';
import { lockFilesSchema } from './conflict/lock-tools.ts';
import { type CheckNow, holdSchema } from './pull-request-now.ts';
import { isOfPeople } from './subject.ts';

/**
 * Maximum number of API requests that feedback adds to an idle run: ten, minus the one that finds where the branch
 * begins.
 */
const MAX_REQUESTS = 9;

/** Maximum number of checks read in one run; each needs requests for its own log. */
const MAX_CHECKS = 4;

/** Maximum number of subjects kept, more than GitHub shows in one review; the oldest are dropped first. */
export const MAX_ITEMS = 120;

/** Maximum number of rounds that a pull request shows. */
export const MAX_ROUNDS = 10;

/** Maximum length of the agent's words in an answer. */
export const MAX_ANSWER_CHARS = 500;

/** Maximum number of earlier answers kept for one subject. */
export const MAX_EARLIER_ANSWERS = 3;

export const MAX_TRIED_CHARS = 200;

/** Maximum length of a subject's title. */
export const MAX_TITLE_CHARS = 120;

/** Maximum length of an address; a longer one is not kept. */
export const MAX_URL_CHARS = 300;

const objectId = z.string().max(64);

export const answerKinds = ['changed', 'unchanged', 'given-up'] as const;

export const subjectKinds = ['thread', 'review', 'comment', 'check', 'conflict'] as const;

const itemSchema = z.object({
  kind: z.enum(subjectKinds),
  title: z.string().max(MAX_TITLE_CHARS),
  url: z.string().max(MAX_URL_CHARS).nullable(),
  /** Number of rounds since a person last pushed. */
  rounds: countSchema,
  /** For a bot's request, the number of its bot round, from 1; absent if a person or CI makes the newest request. */
  botRound: countSchema.optional(),
  /** Id of the newest comment or review with the request, or the commit that failed or conflicts. */
  asked: z.string().max(80),
  /** The newest commit of work that has no answer yet; absent if none. */
  workedIn: objectId.optional(),
  /** The answer; null if the item is open. `given-up` means that a person must decide. */
  answer: z
    .object({
      kind: z.enum(answerKinds),
      commit: objectId.nullable(),
      /** The agent's words, or Ralph's own. */
      words: z.string().max(MAX_ANSWER_CHARS).nullable(),
      /** True if Ralph, and not the agent, wrote the words. */
      isOurs: z.boolean(),
      /** Results for the lock files that a merge had to regenerate; absent if none. */
      lockFiles: lockFilesSchema.optional(),
      at: instantSchema,
      /** True if people can read the answer in its thread. */
      posted: z.boolean(),
    })
    .nullable(),
  /** Earlier answers to the same request since its rounds were last reset, newest last; absent if none. */
  tried: z
    .array(z.object({ commit: objectId.nullable(), words: z.string().max(MAX_TRIED_CHARS).nullable() }))
    .max(MAX_EARLIER_ANSWERS)
    .optional(),
});

/** A request of people or CI on a pull request, with its answer. */
export type FeedbackItem = Immutable<z.infer<typeof itemSchema>>;

const roundSchema = z.object({
  at: instantSchema,
  /** The head that the run examined. */
  head: objectId,
  asked: countSchema,
  answered: countSchema,
  /** Number of checks of the head by result; null if not known. */
  checks: z.object({ passed: countSchema, failed: countSchema, running: countSchema, waiting: countSchema }).nullable(),
});

/** A run that answered a subject or saw changed checks. */
export type FeedbackRound = Immutable<z.infer<typeof roundSchema>>;

export const feedbackSchema = z.object({
  /** The newest head that a person pushed; rounds are counted from that push. null if no person pushed. */
  personHead: objectId.nullable(),
  items: z.record(storedTaskId, itemSchema),
  /** Number of bot rounds begun on the whole pull request since a person last pushed; absent if none. */
  botRounds: countSchema.optional(),
  /** Rounds, newest last. */
  rounds: z.array(roundSchema).max(MAX_ROUNDS),
  /** The first head on which expected checks did not start, which is reported once; null if they start. */
  unstarted: objectId.nullable(),
  /** People's decisions about a head that Ralph's commits have replaced since; null if nobody decided. */
  overtaken: holdSchema
    // `wasApproved` stays true after the approvers are asked again. It is absent if an earlier version saved the
    // record.
    .extend({ at: instantSchema, wasApproved: z.boolean().optional() })
    .nullable()
    .default(null),
});

/** The feedback on a lane's pull request, with the answers to it. */
export type Feedback = Immutable<z.infer<typeof feedbackSchema>>;

/** The feedback on a new pull request. */
export const noFeedback: Feedback = { personHead: null, items: {}, rounds: [], unstarted: null, overtaken: null };

/**
 * Returns at most `most` items, newest last. Items whose answer is posted in their thread are dropped first, and open
 * ones last. A posted answer to a review is kept longer, because only the memory records it.
 */
export function keepNewestItems(items: Feedback['items'], most: number): Feedback['items'] {
  const entries = Object.entries(items);
  let surplus = entries.length - most;
  if (surplus <= 0) return items;
  const dropped = new Set<string>();
  for (const goes of [isPostedInThread, isPosted, isAnswered, () => true]) {
    for (const [id, item] of entries) {
      if (surplus <= 0) break;
      if (dropped.has(id) || !goes(item)) continue;
      dropped.add(id);
      surplus -= 1;
    }
  }
  return Object.fromEntries(entries.filter(([id]) => !dropped.has(id)));
}

/** Shortens the texts of the memory and keeps everything that decisions depend on. */
export function withShorterWords(feedback: Feedback): Feedback {
  return mapItems({ ...feedback, rounds: feedback.rounds.slice(-5) }, ({ title, answer, tried, ...item }) => ({
    ...item,
    ...(tried === undefined ? {} : { tried: tried.slice(-1) }),
    title: capText(title, 60),
    answer:
      answer === null
        ? null
        : { ...withoutLockFiles(answer), words: answer.words === null ? null : capText(answer.words, 100) },
  }));
}

/** Removes every text, because a stranger may have written it. Forged values in the rest cost at most one run. */
export function withoutWords(feedback: Feedback): Feedback {
  return mapItems(feedback, ({ tried: _, ...item }) => ({
    ...item,
    title: '',
    url: null,
    workedIn: undefined,
    // An answer of unknown origin is never posted; its request is worked on again.
    answer:
      isPosted(item) && item.answer !== null ? { ...withoutLockFiles(item.answer), commit: null, words: null } : null,
  }));
}

/** Removes the lock files from an answer. */
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

function isPostedInThread(item: FeedbackItem): boolean {
  return isPosted(item) && item.kind !== 'review';
}

function isPosted({ answer }: FeedbackItem): boolean {
  return answer?.posted === true;
}

/**
 * Returns the items whose answer is not posted in their thread or review. A later run posts such answers even if it has
 * nothing else to do.
 */
function unpostedIn({ items }: Pick<Feedback, 'items'>): readonly TaskId[] {
  // Checks and conflicts are answered in the description of the pull request, so they are left out.
  return Object.entries(items).flatMap(([id, item]) => (isOfPeople(item.kind) && isUnposted(item) ? [id] : []));
}

/** Returns true if an item has an answer that people cannot read yet. */
export function isUnposted({ answer }: Pick<FeedbackItem, 'answer'>): boolean {
  return answer !== null && !answer.posted;
}

/**
 * Returns true if a run without a call has something to post: an earlier run's unposted answer, a change of
 * `unstarted`, or feedback that was settled without Ralph, such as a check that passes now.
 */
export function hasAnswersToPost(now: Feedback, before: Feedback): boolean {
  const isSaid = (now.unstarted === null) === (before.unstarted === null);
  const isSettled = Object.keys(before.items).some((id) => !Object.hasOwn(now.items, id));
  return unpostedIn(now).length > 0 || !isSaid || isSettled;
}

/**
 * Selects from `inTurn` the failed checks whose details a run reads: the first one, and as many others as the limit on
 * API requests allows after `requestsBefore`.
 */
export function selectChecksToRead(inTurn: readonly CheckNow[], requestsBefore: number): readonly CheckNow[] {
  const read: CheckNow[] = [];
  let requests = requestsBefore;
  for (const check of inTurn) {
    const more = requestsFor(check);
    if (read.length >= MAX_CHECKS || (read.length > 0 && requests + more > MAX_REQUESTS)) continue;
    read.push(check);
    requests += more;
  }
  return read;
}

/**
 * Returns the number of API requests for a check: annotations, job and log location for GitHub Actions; only
 * annotations for other apps; none for a commit status.
 */
function requestsFor({ of, id, app }: CheckNow): number {
  if (of !== 'check-run' || id === null) return 0;
  return app === 'github-actions' ? 3 : 1;
}

/** Adds the earlier answers to the task's body, so that the agent does not repeat them. */
export function withEarlierAnswers<T extends Pick<Task, 'body'>>(
  task: T,
  { tried = [] }: Pick<FeedbackItem, 'tried'>,
): T {
  if (tried.length === 0) return task;
  const lines = tried.map(({ commit, words }) =>
    [
      commit === null ? '- nothing was changed' : `- changed in commit ${toOneLine(commit, 64)}`,
      ...(words === null ? [] : [toOneLine(words, MAX_TRIED_CHARS)]),
    ].join(': '),
  );
  return { ...task, body: `${task.body}\n\nEarlier answers, which were not enough:\n${lines.join('\n')}` };
}
