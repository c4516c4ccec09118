import { nameOfTask, type Task } from '../tasks/task.ts';
import { findUnseen, normalizeBlanks, toLineFeeds } from './cleaned.ts';
import {
  ANSI_SEQUENCE,
  breakReferences,
  capText,
  cutText,
  hasSkipWords,
  toPlainTitle,
  withoutSkipWords,
} from './phrase.ts';

const MAX_FOREIGN_CHARS = 20_000;
/** Maximum length of a subject; most tools cut a longer one. */
export const MAX_SUBJECT_CHARS = 120;
const MAX_BODY_LINES = 40;
const MAX_BODY_CHARS = 2_000;

/**
 * Cleans an untrusted commit message: it must not steer CI, close issues, mention people or bring trailers. Empty if
 * nothing remains.
 */
export function cleanCommitMessage(foreign: string): string {
  const lines = visibleLines(foreign).filter((line) => !isDirective(line));
  const [subject = '', ...rest] = lines.slice(lines.findIndex((line) => line !== ''));
  const body = withoutTrailers(rest);
  return [cleanCommitSubject(subject), capText(breakReferences(withoutSkipWords(cutBody(body))), MAX_BODY_CHARS)]
    .filter((part) => part !== '')
    .join('\n\n');
}

/**
 * Cleans an untrusted text for the subject of a commit: one line of at most 120 characters, as harmless as a cleaned
 * message.
 */
export function cleanCommitSubject(foreign: string): string {
  const line = visibleLines(foreign).join(' ').replace(/\s+/g, ' ').trim();
  return capText(breakReferences(withoutSkipWords(cutText(line, 4 * MAX_SUBJECT_CHARS))), MAX_SUBJECT_CHARS);
}

/**
 * Returns the name of a task for messages. The name is made inert, because a subject with "fixes #99" would close that
 * issue on merge.
 */
export function formatTaskName(task: Pick<Task, 'source'>): string {
  const name = nameOfTask(task);
  return task.source.kind === 'issue' ? name : toPlainTitle(name, MAX_SUBJECT_CHARS);
}

/**
 * Returns the message for the changes that an iteration left uncommitted: the agent's first sentence, or the task's
 * title with the number of its iteration.
 */
export function buildIterationMessage(iteration: {
  readonly title: string;
  /** The task's name for people, such as `#12`. */
  readonly name: string;
  /** The agent's summary of its work; empty if none. */
  readonly summary: string;
  /** The agent's summaries of earlier commits, whose subjects are not repeated. */
  readonly earlier: readonly string[];
  /** Number of the task's iteration, 1-based. */
  readonly attempt: number;
}): string {
  const { title, name, summary, earlier, attempt } = iteration;
  const own = subjectOfSummary(summary);
  const said = earlier.some((text) => subjectOfSummary(text) === own) ? '' : own;
  const subject = said === '' ? (attempt > 1 ? `${title} (iteration ${attempt})` : title) : said;
  const body = said === '' ? `Part of ${name}` : `Part of ${name}: ${title}`;
  return `${subject}\n\n${body}`;
}

function subjectOfSummary(summary: string): string {
  return cleanCommitSubject(firstSentence(summary));
}

/** Returns the first sentence without its full stop, as usual for subjects. */
function firstSentence(text: string): string {
  const line = text.trim().split('\n')[0] ?? '';
  return (/^.*?[^.\s][.!?](?=\s)/.exec(line)?.[0] ?? line).replace(/\.$/, '');
}

function visibleLines(foreign: string): readonly string[] {
  const plain = normalizeBlanks(
    toLineFeeds(cutText(foreign, MAX_FOREIGN_CHARS).toWellFormed().replace(ANSI_SEQUENCE, '')),
  );
  let seen = '';
  let at = 0;
  for (const { start, end } of findUnseen(plain)) {
    seen += plain.slice(at, start);
    at = end;
  }
  return (seen + plain.slice(at)).split('\n').map((line) => line.replaceAll('\t', '  ').trimEnd());
}

/**
 * Returns true for a line that changes how git or a service reads a message: dividers, scissors, orders to CI or the
 * runner, markers, images.
 */
function isDirective(line: string): boolean {
  return /^\s*(?:::|##\[|<!--|!\[)|^\s*-{3,}(?:\s|$)|-{4,}\s*(?:>8|8<)|^\s*#?\s*(?:skip|request)-checks\s*:/i.test(
    line,
  );
}

/** Matches trailers that are read anywhere in a message: names with a hyphen, and names that services look for. */
const NAMED_TRAILER =
  /^\s*(?:[a-z\d]+(?:-[a-z\d]+)+|cc|bcc|bug|see|ref|refs|link)\s*[:=](?:\s|$)|^\s*\(cherry picked from /i;
const ANY_TRAILER = /^[a-z\d-]+\s*[:=]/i;

/** Removes lines that `git interpret-trailers` or GitHub would read as trailers, with their continuation lines. */
function withoutTrailers(lines: readonly string[]): string {
  const kept: string[] = [];
  let inTrailer = false;
  for (const line of lines) {
    inTrailer = NAMED_TRAILER.test(line) || (inTrailer && /^\s+\S/.test(line));
    if (!inTrailer) kept.push(line);
  }
  const paragraphs = kept
    .join('\n')
    .split(/\n{2,}/)
    .map((paragraph) => paragraph.replace(/^\n+|\n+$/g, ''))
    .filter((paragraph) => paragraph !== '');
  while (isAllTrailers(paragraphs.at(-1))) paragraphs.pop();
  return paragraphs.join('\n\n');
}

function isAllTrailers(paragraph: string | undefined): boolean {
  if (paragraph === undefined) return false;
  const lines = paragraph.split('\n');
  return ANY_TRAILER.test(lines[0] ?? '') && lines.every((line) => ANY_TRAILER.test(line) || /^\s/.test(line));
}

function cutBody(body: string): string {
  return cutText(body.split('\n').slice(0, MAX_BODY_LINES).join('\n'), MAX_BODY_CHARS).trimEnd();
}

/** Returns the trailer by which the author of a commit signs it off (Developer Certificate of Origin). */
export function buildSignOff(author: {
  readonly name: string;
  readonly email: string;
}): Readonly<Record<string, string>> {
  return { 'Signed-off-by': `${author.name} <${author.email}>` };
}

/** The references that Ralph's own messages may contain: names of tasks (`#12`) and co-authors (`Name <address>`). */
export interface OwnWords {
  readonly names: readonly string[];
  readonly coAuthors: readonly string[];
  /** The author of all commits, who alone may sign them off. */
  readonly identity: { readonly name: string; readonly email: string };
}

/**
 * Returns why this program cannot have written a commit message; null if it can. It is used to check commits of another
 * job.
 */
export function problemOfOwnMessage(message: string, own: OwnWords): string | null {
  const paragraphs = message.trimEnd().split(/\n{2,}/);
  const trailers = paragraphs.length > 1 ? (paragraphs.pop() ?? '').split('\n') : [];
  const foreign = trailers.find((line) => !isOwnTrailer(line, own));
  if (foreign !== undefined) return 'its trailers are not those of this run';
  const lines = paragraphs.flatMap((paragraph) => paragraph.split('\n'));
  return lines.some((line) => steers(withoutName(line, own.names)))
    ? 'its message mentions, closes or steers something'
    : null;
}

/** Returns the task that the last paragraph of Ralph's own message names; null if it names none. */
export function parseTaskInMessage(message: string): string | null {
  const last = message
    .trimEnd()
    .split(/\n{2,}/)
    .slice(1)
    .at(-1);
  return /^Ralph-Task: ([\w.-]+)$/m.exec(last ?? '')?.[1] ?? null;
}

function isOwnTrailer(line: string, { coAuthors, identity }: OwnWords): boolean {
  const [, name = '', value = ''] = /^([A-Za-z-]+): (.*)$/.exec(line) ?? [];
  if (name === 'Co-authored-by') return coAuthors.includes(value);
  return (
    buildSignOff(identity)[name] === value || (/^Ralph-(?:Run|Iteration|Task)$/.test(name) && /^[\w.-]+$/.test(value))
  );
}

/** Removes the one reference that Ralph's own messages have: to their own task. */
function withoutName(line: string, names: readonly string[]): string {
  const name = names.find((one) => line === `Part of ${one}` || line.startsWith(`Part of ${one}: `));
  return name === undefined ? line : line.slice(`Part of ${name}`.length);
}

/**
 * Returns true if a line contains mentions, references or links for GitHub, or words that CI obeys. Cleaned text
 * contains none.
 */
function steers(line: string): boolean {
  const isReference = /@(?=[a-z\d])|#(?=\d)|\bgh-(?=\d)|:\/\/(?=\S)|www(?=\.)/i.test(line);
  return isReference || hasSkipWords(line) || /[\p{Cc}\u202A-\u202E\u2066-\u2069]/u.test(line);
}
