import type { TaskComment } from '../tasks/task.ts';
import { cleanText, countUnseenCharacters } from '../text/clean.ts';
import { parseCommandComment, isOwnComment, withoutCommand } from './command.ts';

/** The author or editor of a comment. */
interface Person {
  readonly login: string;
  readonly kind: 'user' | 'bot';
}

/** A comment from GitHub as raw text of strangers. */
export interface RawComment<Account extends Person> {
  readonly by: Account | null;
  readonly body: string;
  readonly at: number;
  /** The last change; null if the comment was never changed. */
  readonly edited: { readonly by: Account | null; readonly at: number } | null;
  /** True if people hid the comment (spam, outdated, resolved …). */
  readonly minimized: boolean;
}

/** The comments of an issue, oldest first. */
export interface Discussion<Account extends Person> {
  readonly number: number;
  /** Instant after which comments are read only if the work was requested again. */
  readonly until: number;
  readonly comments: readonly RawComment<Account>[];
}

/** The comments that the agent may read, oldest first. */
export interface ReadableComments {
  readonly comments: readonly TaskComment[];
  /** Number of removed characters that a reader would not see. */
  readonly unseen: number;
}

/** Maximum characters in a prompt for all comments of one task. */
const MAX_CHARS = 6_000;
const MAX_COMMENT_CHARS = 2_000;
/** Maximum number of people whose permission a run asks GitHub for; others count as strangers. */
const MAX_PEOPLE = 30;

/** A generator that yields each account whose permission it needs; the caller answers whether the account has it. */
type Asking<Account, Result> = Generator<Account, Result, boolean>;

/** Selects the comments that the agent may read, by issue number. With `everybody`, people need no permission. */
export function* selectReadableComments<Account extends Person>(
  discussions: readonly Discussion<Account>[],
  from: 'writers' | 'everybody',
): Asking<Account, ReadonlyMap<number, ReadableComments>> {
  const people = new Set<string>();
  const readable = new Map<number, ReadableComments>();
  for (const discussion of discussions) readable.set(discussion.number, yield* readableOf(discussion));
  return readable;

  function* readableOf({ comments, until }: Discussion<Account>): Asking<Account, ReadableComments> {
    const cutoff = yield* lastAsked(comments, until);
    const kept: TaskComment[] = [];
    let left = MAX_CHARS;
    let unseen = 0;
    for (const comment of comments.toReversed()) {
      if (left <= 0) break;
      if (comment.by === null || !(yield* mayBeRead(comment, cutoff))) continue;
      const clean = cleanText(withoutCommand(comment.body));
      const text = clean.text.trim().slice(0, MAX_COMMENT_CHARS).toWellFormed().trim();
      if (text.length > left) break;
      unseen += countUnseenCharacters(clean);
      if (text === '') continue;
      kept.unshift({ by: comment.by.login, text });
      left -= text.length;
    }
    return { comments: kept, unseen };
  }

  function* mayBeRead(
    { by, body, at, edited, minimized }: RawComment<Account>,
    cutoff: number,
  ): Asking<Account, boolean> {
    if (minimized || at > cutoff || isOwnComment(body)) return false;
    // Comments by bots are read only if the bot is allowed.
    if (!(from === 'everybody' && by?.kind === 'user') && !(yield* isTrusted(by))) return false;
    return edited === null || edited.at <= cutoff || (yield* isTrusted(edited.by));
  }

  /**
   * Returns the instant up to which comments are read: the approval, or a later command by a person with permission.
   */
  function* lastAsked(comments: readonly RawComment<Account>[], until: number): Asking<Account, number> {
    for (const { by, body, at, edited } of comments.toReversed()) {
      if (at <= until) break;
      if (edited === null && asksForWork(body) && (yield* isTrusted(by))) return at;
    }
    return until;
  }

  function* isTrusted(account: Account | null): Asking<Account, boolean> {
    if (account === null) return false;
    const login = account.login.toLowerCase();
    if (!people.has(login) && people.size >= MAX_PEOPLE) return false;
    people.add(login);
    return yield account;
  }
}

/** Returns true if a comment requests the work again, so that the agent may also read the comments before it. */
function asksForWork(body: string): boolean {
  return ['run', 'retry'].includes(parseCommandComment(body)?.kind ?? '');
}
