import { parseCommandComment, isOwnComment, parseAnswer, withoutCommand } from '../../people/command.ts';
import type { TaskId } from '../../tasks/ids.ts';
import type { FeedbackItem } from '../memory.ts';
import type { Author, PullRequestNow, ReviewNow, ThreadComment, ThreadNow } from '../pull-request-now.ts';
import { formatCommentTaskId, formatReviewTaskId, formatThreadTaskId } from '../subject.ts';

/** Maximum length of a courtesy; longer texts are left to the agent. */
const MAX_CHARS = 80;

/**
 * Phrases that need no answer if a comment contains nothing else. Agreement is not included, because "Yes" may answer a
 * question.
 */
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

/** Returns true if an account is trusted: it has write permission or is an allowed bot. */
type IsTrusted = (author: Author) => boolean;

/** A readable comment of a thread as raw text. */
interface ThreadMessage {
  readonly by: string;
  readonly text: string;
  /** True if Ralph wrote the comment, from any account. */
  readonly isOurs: boolean;
}

/** A thread in which a trusted account waits for an answer. */
export interface AskedThread {
  readonly thread: ThreadNow;
  /** The last comment that requests something. */
  readonly asking: ThreadComment;
  readonly by: Author;
  /** The readable comments, oldest first; `asking` is the last of them that Ralph did not write. */
  readonly conversation: readonly ThreadMessage[];
  /** Number of comments by untrusted people. */
  readonly leftOut: number;
  /** The text of the review that began the thread; null if there is no readable text. */
  readonly review: string | null;
}

/** A review or comment whose own text requests something. */
export interface AskedReview {
  readonly review: ReviewNow;
  readonly by: Author;
}

/** The requests to answer, oldest first, and the number of requests beyond the limit. */
interface Asked<One> {
  readonly asked: readonly One[];
  readonly more: number;
}

/** Maximum number of accounts whose permission a run looks up for one pull request. */
const MAX_AUTHORS = 30;

const MAX_THREADS = 100;

const MAX_REVIEWS = 20;

const ASKING_STATES: readonly ReviewNow['state'][] = ['changes-requested', 'commented', 'comment'];

type Known = Readonly<Record<TaskId, Pick<FeedbackItem, 'asked' | 'answer'>>>;

/**
 * Returns the threads that need an answer from Ralph or, if Ralph gave up, from a person. Comments by untrusted
 * accounts are ignored.
 */
export function selectThreadsToAnswer(now: PullRequestNow, isTrusted: IsTrusted, known: Known): Asked<AskedThread> {
  const found = now.threads
    .map((thread) => askedThread(thread, now, { isTrusted, known }))
    .filter((one) => one !== null);
  return { asked: found.slice(0, MAX_THREADS), more: Math.max(0, found.length - MAX_THREADS) + now.moreThreads };
}

/**
 * Returns the reviews and comments whose own text needs an answer. GitHub has no replies to them, so the memory records
 * which are answered.
 */
export function selectReviewsToAnswer(now: PullRequestNow, isTrusted: IsTrusted, known: Known): Asked<AskedReview> {
  const found = [...now.reviews, ...now.comments].flatMap((review) => {
    const { id, by, state, text } = review;
    const mayAsk = ASKING_STATES.includes(state) || (state === 'approved' && isRequest(text));
    if (by === null || !mayAsk || !asks(text)) return [];
    if (!isTrusted(by) || isApprovedSince(now, by, { saidAt: review.at ?? 0, text })) return [];
    const answer = answerTo(known, state === 'comment' ? formatCommentTaskId(id) : formatReviewTaskId(id), id);
    // An unposted answer is not final, because its change may still fail verification.
    const isOver = answer !== null && answer.posted && answer.kind !== 'given-up';
    return isOver ? [] : [{ review, by }];
  });
  return { asked: found.slice(0, MAX_REVIEWS), more: Math.max(0, found.length - MAX_REVIEWS) };
}

/** Returns the known answer to exactly this comment or review; null if none. */
function answerTo(known: Known, id: TaskId, asked: number): FeedbackItem['answer'] {
  const item = Object.hasOwn(known, id) ? known[id] : undefined;
  return item?.asked === String(asked) ? item.answer : null;
}

/** Ralph's answer found in a thread. */
export interface AnswerInThread {
  readonly thread: ThreadNow;
  readonly first: ThreadComment;
  /** Id of the answered comment. */
  readonly asked: string;
  readonly answer: NonNullable<FeedbackItem['answer']>;
}

/**
 * Returns Ralph's newest answers in threads that the memory lacks, for example after the state was lost. Their text is
 * not used.
 */
export function recoverAnswers(
  { threads }: PullRequestNow,
  isTrusted: IsTrusted,
  items: Readonly<Record<string, FeedbackItem>>,
): readonly AnswerInThread[] {
  return threads.flatMap((thread) => {
    const [first, ...replies] = thread.comments;
    if (first === undefined || Object.hasOwn(items, formatThreadTaskId(first.id))) return [];
    // Anybody can write Ralph's marker, so an account without write permission does not count as Ralph.
    const ours = replies.findLast(
      ({ by, text }) => by !== null && (isTrusted(by) || by.kind === 'bot') && commentAnsweredBy(text) !== null,
    );
    const asked = ours === undefined ? null : commentAnsweredBy(ours.text);
    if (ours === undefined || asked === null) return [];
    const { kind, commit } = parseAnswer(ours.text);
    const answer = { kind, commit, words: null, isOurs: false, at: Math.max(0, ours.at), posted: true };
    return [{ thread, first, asked: String(asked), answer }];
  });
}

/**
 * Returns the accounts whose permission decides which comments are considered: at most 30, without duplicates, the
 * latest writers first.
 */
export function listAuthorsToCheck({ threads, reviews, comments }: PullRequestNow): readonly Author[] {
  const words = [
    ...threads.flatMap(({ comments }) => comments.map(({ by, at, text }) => ({ by, at, text }))),
    ...[...reviews, ...comments].map(({ by, at, text }) => ({ by, at: at ?? 0, text })),
  ];
  const authors = new Map<string, Author>();
  for (const { by, text } of words.toSorted((a, b) => b.at - a.at)) {
    // The marker is enough to identify Ralph's comments by bots, so their permission is not looked up; a person's
    // account needs write permission as well.
    if (by === null || text.trim() === '' || (by.kind === 'bot' && isOwnComment(text))) continue;
    if (!authors.has(accountKey(by))) authors.set(accountKey(by), by);
  }
  return [...authors.values()].slice(0, MAX_AUTHORS);
}

interface ConsideredComment extends ThreadMessage {
  readonly comment: ThreadComment;
  readonly author: Author;
  /** Instant at which the comment became visible; comments of a review appear when the review is submitted. */
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
  const considered = shown
    .flatMap((comment) => consideredOf(comment) ?? [])
    .toSorted((one, other) => one.saidAt - other.saidAt);
  // An approval settles only its author's own requests, so those of other authors still ask for an answer.
  const position = considered.findLastIndex(
    (one) => !one.isOurs && !one.isDismissed && !isApprovedSince(now, one.author, one),
  );
  const asking = considered[position];
  if (asking === undefined) return null;
  const isLeft =
    answerTo(known, formatThreadTaskId(thread.comments[0]?.id ?? 0), asking.comment.id)?.kind === 'given-up';
  if (!isLeft && position <= lastAnswered(considered)) return null;
  return {
    thread,
    asking: asking.comment,
    by: asking.author,
    conversation: considered
      .filter(({ isOurs }, index) => isOurs || index <= position)
      .map(({ by, text, isOurs }) => ({ by, text, isOurs })),
    leftOut: shown.filter(({ by }) => by === null || !(isTrusted(by) || by.kind === 'bot')).length,
    review: contextOf(reviews.get(thread.comments[0]?.review ?? 0)),
  };

  function consideredOf(comment: ThreadComment): ConsideredComment | null {
    const { by: author, text, at } = comment;
    if (author === null) return null;
    const isOurs = isOwnComment(text);
    // Anybody can write Ralph's marker, so an account without write permission does not count as Ralph.
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

/**
 * Returns the index of the last answered comment. An answer names its comment, because others may have been written
 * before the answer was posted.
 */
function lastAnswered(considered: readonly ConsideredComment[]): number {
  const answered = considered.map(({ isOurs, text }, index) => {
    if (!isOurs) return -1;
    const asked = commentAnsweredBy(text);
    const position = considered.findIndex(({ comment }) => comment.id === asked);
    return position === -1 ? index : position;
  });
  return Math.max(-1, ...answered);
}

/** Returns the id of the comment that Ralph's answer names; null for a text that is not an answer. */
function commentAnsweredBy(text: string): number | null {
  const id = /^\s*<!-- ralph-action:answer [^\n>]*?\basked=([1-9]\d{0,15})\b[^\n>]*-->/.exec(text)?.[1];
  return id === undefined ? null : Number(id);
}

/**
 * Returns true if the author's newest decision is an approval that is later than this text. An approval submitted
 * together with the text settles it unless the text is a request to Ralph. Dismissed reviews are ignored.
 */
function isApprovedSince(
  { reviews }: PullRequestNow,
  author: Author,
  { saidAt, text }: Pick<ConsideredComment, 'saidAt' | 'text'>,
): boolean {
  const decided = reviews.findLast(
    ({ by, state }) =>
      (state === 'approved' || state === 'changes-requested') && by !== null && accountKey(by) === accountKey(author),
  );
  if (decided?.state !== 'approved') return false;
  const decidedAt = decided.at ?? 0;
  return decidedAt > saidAt || (decidedAt === saidAt && !isRequest(text));
}

/** Returns true if a text asks Ralph by name to work. */
function isRequest(text: string): boolean {
  return parseCommandComment(text)?.kind === 'request';
}

function asks(text: string): boolean {
  const words = withoutCommand(text).trim();
  return !isOwnComment(text) && words !== '' && !isCourtesy(words);
}

/** Returns a key that identifies an account. */
function accountKey({ login, id, kind }: Author): string {
  return id === null ? `${kind} ${login.toLowerCase()}` : String(id);
}

/** Returns true if a comment contains only thanks or praise and waits for no answer. */
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
