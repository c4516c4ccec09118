import { readCommand } from '../../core/people/command.ts';
import type { TaskComment } from '../../core/tasks/task.ts';
import type { Account, IssueComment } from '../../ports/forge.ts';
import type { GateDeps } from '../deps.ts';
import { OWN_COMMENT_MARKER } from '../event/intent.ts';
import { trusts } from './trust.ts';

/** What the comments of one task may take of a prompt, all together and each. */
const MAX_CHARS = 6_000;
const MAX_COMMENT_CHARS = 2_000;
/** GitHub tells of ten issues in one request; a run hardly gets to more than this. */
const MAX_ISSUES = 50;
/** About so many people a run asks GitHub whether they may write; the others count as strangers. */
const MAX_PEOPLE = 30;

/** What stands below a command is said to whoever works. */
const commandLine = /^\s*\/ralph(?![\w-])[^\r\n]*/i;
/** By these, somebody asks for the work again, and so for what was said until then to be read. */
const asksForWork = (body: string): boolean =>
  ['run', 'retry'].includes(readCommand(/^\s*\/ralph[ \t]+([^\r\n]*)/i.exec(body)?.[1] ?? '').kind);

/** An issue whose comments are wanted, as they were `until` then: when the work was asked for. */
export interface CommentsWanted {
  readonly number: number;
  readonly until: number;
}

/** What the agent gets to read of an issue's comments, oldest first; `unseen` counts the characters that were taken out since a reader does not see them. */
export interface ReadComments {
  readonly comments: readonly TaskComment[];
  readonly unseen: number;
}

/** What the agent gets to read of the comments, by issue. */
export async function readComments(
  run: Pick<GateDeps, 'config' | 'forge'>,
  wanted: readonly CommentsWanted[],
): Promise<ReadonlyMap<number, ReadComments>> {
  if (run.config.commentsFrom === 'nobody' || wanted.length === 0) return new Map();
  const first = wanted.slice(0, MAX_ISSUES);
  const found = await run.forge.commentsOf(first.map(({ number }) => number));
  const isTrusted = trustOfFew(run);
  const read = new Map<number, ReadComments>();
  for (const { number, until } of first)
    read.set(number, await admitted(run, found.get(number) ?? [], { until, isTrusted }));
  return read;
}

type Trust = (account: Account | null) => Promise<boolean>;

async function admitted(
  { config }: Pick<GateDeps, 'config'>,
  comments: readonly IssueComment[],
  { until, isTrusted }: { readonly until: number; readonly isTrusted: Trust },
): Promise<ReadComments> {
  const cutoff = await lastAsked(comments, { until, isTrusted });
  const kept: TaskComment[] = [];
  let left = MAX_CHARS;
  let unseen = 0;
  for (const comment of comments.toReversed()) {
    if (left <= 0) break;
    if (!(await isAdmitted(comment))) continue;
    const [{ cleanText }, { unseenIn }] = await Promise.all([
      import('../../core/text/clean.ts'),
      import('../../core/tasks/preparation.ts'),
    ]);
    const clean = cleanText(comment.body.replace(commandLine, ''));
    const text = clean.text.trim().slice(0, MAX_COMMENT_CHARS).toWellFormed().trim();
    if (text.length > left) break;
    unseen += unseenIn(clean);
    if (text === '' || comment.by === null) continue;
    kept.unshift({ by: comment.by.login, text });
    left -= text.length;
  }
  return { comments: kept, unseen };

  async function isAdmitted({ by, body, at, edited, minimized }: IssueComment): Promise<boolean> {
    if (by === null || minimized || at > cutoff) return false;
    if (body.trimStart().startsWith(OWN_COMMENT_MARKER)) return false;
    // Bots are read by explicit allowance only.
    const mayBeRead = (config.commentsFrom === 'everybody' && by.kind === 'user') || (await isTrusted(by));
    return mayBeRead && (edited === null || edited.at <= cutoff || (await isTrusted(edited.by)));
  }
}

/** Until when comments count: the approval, or a later command by somebody who may give it. */
async function lastAsked(
  comments: readonly IssueComment[],
  { until, isTrusted }: { readonly until: number; readonly isTrusted: Trust },
): Promise<number> {
  for (const { by, body, at, edited } of comments.toReversed()) {
    if (at <= until) break;
    if (edited === null && asksForWork(body) && (await isTrusted(by))) return at;
  }
  return until;
}

function trustOfFew(run: Pick<GateDeps, 'config' | 'forge'>): Trust {
  const people = new Set<string>();
  return async (account) => {
    if (account === null) return false;
    const key = account.login.toLowerCase();
    if (!people.has(key) && people.size >= MAX_PEOPLE) return false;
    people.add(key);
    return trusts(run, account);
  };
}
