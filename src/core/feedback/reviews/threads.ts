import { isOwnComment, whatAnswerSays, withoutCommand } from '../../people/command.ts';
import type { TaskId } from '../../tasks/ids.ts';
import type { FeedbackItem } from '../memory.ts';
import type { Author, PullRequestNow, ReviewNow, ThreadComment, ThreadNow } from '../pull-request-now.ts';
import { reviewTaskId, threadTaskId } from '../subject.ts';

/** Longer texts are for the agent to read. */
const MAX_CHARS = 80;

/** What people write who want nothing more. Neither a word beside them nor agreement is among them: "Yes" may answer a question. */
const COURTESIES = [
  'thanks?( you)?',
  'thank you',
  'many thanks',
  'thx',
  'ty',
  'cheers',
  'lgtm',
  'looks good',
  '(very |so )?(great|nice|good|perfect|excellent|awesome|cool|neat)( (work|job|catch|one|fix|stuff))?',
  'well done',
  'love it',
  'got it',
  'understood',
].join('|');

const FILLERS =
  '(?: (?:to me|now|so much|a lot|very much|for (?:this|that|the (?:fix|change|explanation))|again|all|then))*';

const ONLY_COURTESY = new RegExp(`^(?:(?:${COURTESIES})${FILLERS} ?)+$`);

/** Whether what an account says counts: it may write, or is a bot that is allowed. */
type IsTrusted = (author: Author) => boolean;

/** Something that is said in a thread and may be read: raw text. `ours`: by Ralph, whatever account it has. */
interface Said {
  readonly by: string;
  readonly text: string;
  readonly isOurs: boolean;
}

/** A thread in which somebody who counts waits for an answer. */
export interface AskedThread {
  readonly thread: ThreadNow;
  /** The comment that asks last, and who wrote it. */
  readonly asking: ThreadComment;
  readonly by: Author;
  /** What may be read of the thread, oldest first; `asking` is the last of it that is not ours. */
  readonly conversation: readonly Said[];
  /** Comments of people that do not count. */
  readonly leftOut: number;
  /** What the review that began the thread says as a whole; null: nothing that may be read. */
  readonly review: string | null;
}

/** A review that asks for something as a whole. */
export interface AskedReview {
  readonly review: ReviewNow;
  readonly by: Author;
}

/** What is asked, oldest first, and how much more there is. */
interface Asked<One> {
  readonly asked: readonly One[];
  readonly more: number;
}

/** Of one pull request a run asks GitHub about so many people. */
const MAX_AUTHORS = 30;

const MAX_THREADS = 100;

const MAX_REVIEWS = 20;

/** What is known to have been answered, by the id of its task. */
type Known = Readonly<Record<TaskId, Pick<FeedbackItem, 'asked' | 'answer'>>>;

/** The threads that wait for an answer, or for the person to whom one left them. Nothing counts that somebody says whom `isTrusted` denies. */
export function askedThreads(now: PullRequestNow, isTrusted: IsTrusted, known: Known): Asked<AskedThread> {
  const found = now.threads
    .map((thread) => askedThread(thread, now, { isTrusted, known }))
    .filter((one) => one !== null);
  return { asked: found.slice(0, MAX_THREADS), more: Math.max(0, found.length - MAX_THREADS) + now.moreThreads };
}

/** The same of the reviews whose own text asks: GitHub has no place for an answer, so that the memory says which have theirs. */
export function askedReviews(now: PullRequestNow, isTrusted: IsTrusted, known: Known): Asked<AskedReview> {
  const found = now.reviews.flatMap((review) => {
    const { id, by, state, text } = review;
    if (by === null || (state !== 'changes-requested' && state !== 'commented') || !asks(text)) return [];
    if (!isTrusted(by) || isApprovedSince(now, by, review.at ?? 0)) return [];
    const answer = answerTo(known, reviewTaskId(id), id);
    // Of a change that nobody can read of yet it is not certain that it passes.
    const isOver = answer !== null && answer.posted && answer.kind !== 'given-up';
    return isOver ? [] : [{ review, by }];
  });
  return { asked: found.slice(0, MAX_REVIEWS), more: Math.max(0, found.length - MAX_REVIEWS) };
}

/** What was answered to this very comment or review; null: nothing that is known. */
function answerTo(known: Known, id: TaskId, asked: number): FeedbackItem['answer'] {
  const item = Object.hasOwn(known, id) ? known[id] : undefined;
  return item?.asked === String(asked) ? item.answer : null;
}

/** An answer of ours that is in its thread. */
export interface AnswerInThread {
  readonly thread: ThreadNow;
  readonly first: ThreadComment;
  readonly asked: string;
  readonly answer: NonNullable<FeedbackItem['answer']>;
}

/** The newest answers of ours in threads that are not in the memory, as after a state that was lost. What they say in words stays where it is. */
export function forgottenAnswers(
  { threads }: PullRequestNow,
  isTrusted: IsTrusted,
  items: Readonly<Record<string, FeedbackItem>>,
): readonly AnswerInThread[] {
  return threads.flatMap((thread) => {
    const [first, ...replies] = thread.comments;
    if (first === undefined || Object.hasOwn(items, threadTaskId(first.id))) return [];
    // Everybody can write our marker; an account that may not write is not ours.
    const ours = replies.findLast(
      ({ by, text }) => by !== null && (isTrusted(by) || by.kind === 'bot') && askedOfAnswer(text) !== null,
    );
    const asked = ours === undefined ? null : askedOfAnswer(ours.text);
    if (ours === undefined || asked === null) return [];
    const { kind, commit } = whatAnswerSays(ours.text);
    const answer = { kind, commit, words: null, isOurs: false, at: Math.max(0, ours.at), posted: true };
    return [{ thread, first, asked: String(asked), answer }];
  });
}

/** The accounts on which it depends what is asked, each once, at most 30: those first who said something last. */
export function authorsOf({ threads, reviews }: PullRequestNow): readonly Author[] {
  const words = [
    ...threads.flatMap(({ comments }) => comments.map(({ by, at, text }) => ({ by, at, text }))),
    ...reviews.map(({ by, at, text }) => ({ by, at: at ?? 0, text })),
  ];
  const authors = new Map<string, Author>();
  for (const { by, text } of words.toSorted((a, b) => b.at - a.at)) {
    // What a bot says of itself, its marker does; of a person's account it is asked whether it may write.
    if (by === null || text.trim() === '' || (by.kind === 'bot' && isOwnComment(text))) continue;
    if (!authors.has(nameOf(by))) authors.set(nameOf(by), by);
  }
  return [...authors.values()].slice(0, MAX_AUTHORS);
}

interface Heard extends Said {
  readonly comment: ThreadComment;
  readonly author: Author;
  /** When others could read it: what is written in a review is shown once that is submitted. */
  readonly saidAt: number;
  readonly isDismissed: boolean;
}

function askedThread(
  thread: ThreadNow,
  now: PullRequestNow,
  { isTrusted, known }: { readonly isTrusted: IsTrusted; readonly known: Known },
): AskedThread | null {
  const reviews = new Map(now.reviews.map((review) => [review.id, review]));
  const shown = thread.comments.filter(({ review }) => stateOf(review) !== 'pending');
  const heard = shown.flatMap((comment) => heardOf(comment) ?? []).toSorted((one, other) => one.saidAt - other.saidAt);
  // An approval ends what its own author asked, and nothing that others did.
  const position = heard.findLastIndex(
    ({ isOurs, isDismissed, author, saidAt }) => !isOurs && !isDismissed && !isApprovedSince(now, author, saidAt),
  );
  const asking = heard[position];
  if (asking === undefined) return null;
  const isLeft = answerTo(known, threadTaskId(thread.comments[0]?.id ?? 0), asking.comment.id)?.kind === 'given-up';
  if (!isLeft && position <= lastAnswered(heard)) return null;
  return {
    thread,
    asking: asking.comment,
    by: asking.author,
    conversation: heard
      .filter(({ isOurs }, index) => isOurs || index <= position)
      .map(({ by, text, isOurs }) => ({ by, text, isOurs })),
    leftOut: shown.filter(({ by }) => by === null || !(isTrusted(by) || by.kind === 'bot')).length,
    review: contextOf(reviews.get(thread.comments[0]?.review ?? 0)),
  };

  function heardOf(comment: ThreadComment): Heard | null {
    const { by: author, text, at } = comment;
    if (author === null) return null;
    const isOurs = isOwnComment(text);
    // Everybody can write our marker; an account that may not write is not ours.
    if (!isTrusted(author) && !(isOurs && author.kind === 'bot')) return null;
    if (!isOurs && !asks(text)) return null;
    const saidAt = Math.max(at, reviews.get(comment.review ?? 0)?.at ?? 0);
    const isDismissed = stateOf(comment.review) === 'dismissed';
    return { comment, author, by: author.login, text, isOurs, saidAt, isDismissed };
  }

  function contextOf(review: ReviewNow | undefined): string | null {
    if (review === undefined || review.state === 'pending' || review.state === 'dismissed') return null;
    return review.by !== null && isTrusted(review.by) && asks(review.text) ? review.text : null;
  }

  function stateOf(review: number | null): ReviewNow['state'] | null {
    return reviews.get(review ?? 0)?.state ?? null;
  }
}

/** Up to where our answers go: to the comment that each names, since others may be written while an answer is. */
function lastAnswered(heard: readonly Heard[]): number {
  const answered = heard.map(({ isOurs, text }, index) => {
    if (!isOurs) return -1;
    const asked = askedOfAnswer(text);
    const position = heard.findIndex(({ comment }) => comment.id === asked);
    return position === -1 ? index : position;
  });
  return Math.max(-1, ...answered);
}

/** The comment that an answer of ours says it answers; null: it does not say. */
function askedOfAnswer(text: string): number | null {
  const id = /^\s*<!-- ralph-action:answer [^\n>]*?\basked=([1-9]\d{0,15})\b[^\n>]*-->/.exec(text)?.[1];
  return id === undefined ? null : Number(id);
}

/** Whether the newest of what an account decided of the pull request is an approval that came later. Dismissed reviews decide nothing. */
function isApprovedSince({ reviews }: PullRequestNow, author: Author, saidAt: number): boolean {
  const decided = reviews.findLast(
    ({ by, state }) =>
      (state === 'approved' || state === 'changes-requested') && by !== null && nameOf(by) === nameOf(author),
  );
  return decided?.state === 'approved' && (decided.at ?? 0) >= saidAt;
}

function asks(text: string): boolean {
  const words = withoutCommand(text).trim();
  return !isOwnComment(text) && words !== '' && !isCourtesy(words);
}

/** The same for the same account. */
function nameOf({ login, id, kind }: Author): string {
  return id === null ? `${kind} ${login.toLowerCase()}` : String(id);
}

/** Whether a comment is nothing but thanks or praise, which waits for no answer. */
export function isCourtesy(text: string): boolean {
  if (text.length > MAX_CHARS) return false;
  const words = text
    .toLowerCase()
    .replaceAll(/:[a-z0-9_+-]+:/g, ' ')
    .replaceAll(/@[\w-]+(?:\[bot\])?/g, ' ')
    .replaceAll(/[\p{Extended_Pictographic}\p{Emoji_Modifier}\u200d\ufe0f.,!;()~*–—]/gu, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return ONLY_COURTESY.test(words);
}
