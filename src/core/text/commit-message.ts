import { nameOfTask, type Task } from '../tasks/task.ts';
import { findUnseen, plainBlanks, plainLines } from './cleaned.ts';
import { ANSI_SEQUENCE, breakReferences, capped, cut, hasSkipWords, plainTitle, withoutSkipWords } from './phrase.ts';

const MAX_FOREIGN_CHARS = 20_000;
/** A longer subject is cut by most that show it. */
export const MAX_SUBJECT_CHARS = 120;
const MAX_BODY_LINES = 40;
const MAX_BODY_CHARS = 2_000;

/** A foreign commit message that neither steers CI, closes issues, mentions people nor brings trailers; empty when nothing is left. */
export function cleanCommitMessage(foreign: string): string {
  const lines = visibleLines(foreign).filter((line) => !isDirective(line));
  const [subject = '', ...rest] = lines.slice(lines.findIndex((line) => line !== ''));
  const body = withoutTrailers(rest);
  return [cleanCommitSubject(subject), capped(breakReferences(withoutSkipWords(cutBody(body))), MAX_BODY_CHARS)]
    .filter((part) => part !== '')
    .join('\n\n');
}

/** A foreign text as the subject of a commit: one line of at most 120 characters, as harmless as a cleaned message. */
export function cleanCommitSubject(foreign: string): string {
  const line = visibleLines(foreign).join(' ').replace(/\s+/g, ' ').trim();
  return capped(breakReferences(withoutSkipWords(cut(line, 4 * MAX_SUBJECT_CHARS))), MAX_SUBJECT_CHARS);
}

/** What a task is called in messages: a subject that says "fixes #99" would close that issue when the branch is merged, and so would the key of an entry. */
export function nameInMessage(task: Pick<Task, 'source'>): string {
  const name = nameOfTask(task);
  return task.source.kind === 'issue' ? name : plainTitle(name, MAX_SUBJECT_CHARS);
}

/** The message of what an iteration left uncommitted: the agent's own first sentence, or the title of the task and which of its iterations it was. */
export function iterationMessage(iteration: {
  readonly title: string;
  /** What people call the task: `#12`. */
  readonly name: string;
  /** What the agent says that it did; empty: nothing. */
  readonly summary: string;
  /** What it said of commits before this one: a subject that repeats one of them tells nothing. */
  readonly earlier: readonly string[];
  /** 1-based, of the task. */
  readonly attempt: number;
}): string {
  const { title, name, summary, earlier, attempt } = iteration;
  const own = subjectOf(summary);
  const said = earlier.some((text) => subjectOf(text) === own) ? '' : own;
  const subject = said === '' ? (attempt > 1 ? `${title} (iteration ${attempt})` : title) : said;
  const body = said === '' ? `Part of ${name}` : `Part of ${name}: ${title}`;
  return `${subject}\n\n${body}`;
}

function subjectOf(summary: string): string {
  return cleanCommitSubject(firstSentence(summary));
}

/** Without its full stop, as subjects are. */
function firstSentence(text: string): string {
  const line = text.trim().split('\n')[0] ?? '';
  return (/^.*?[^.\s][.!?](?=\s)/.exec(line)?.[0] ?? line).replace(/\.$/, '');
}

function visibleLines(foreign: string): readonly string[] {
  const plain = plainBlanks(plainLines(cut(foreign, MAX_FOREIGN_CHARS).toWellFormed().replace(ANSI_SEQUENCE, '')));
  let seen = '';
  let at = 0;
  for (const { start, end } of findUnseen(plain)) {
    seen += plain.slice(at, start);
    at = end;
  }
  return (seen + plain.slice(at)).split('\n').map((line) => line.replaceAll('\t', '  ').trimEnd());
}

/** What makes git or a service read the rest in another way: dividers, scissors, orders to CI or the runner, markers, images. */
function isDirective(line: string): boolean {
  return /^\s*(?:::|##\[|<!--|!\[)|^\s*-{3,}(?:\s|$)|-{4,}\s*(?:>8|8<)|^\s*#?\s*(?:skip|request)-checks\s*:/i.test(
    line,
  );
}

/** Names with a hyphen are trailers wherever they stand, as are those that services look for. */
const NAMED_TRAILER =
  /^\s*(?:[a-z\d]+(?:-[a-z\d]+)+|cc|bcc|bug|see|ref|refs|link)\s*[:=](?:\s|$)|^\s*\(cherry picked from /i;
const ANY_TRAILER = /^[a-z\d-]+\s*[:=]/i;

/** The paragraphs without lines that `git interpret-trailers` or GitHub would read as trailers, with their continuations. */
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
  return cut(body.split('\n').slice(0, MAX_BODY_LINES).join('\n'), MAX_BODY_CHARS).trimEnd();
}

/** What messages of ours may name: tasks by what people call them (`#12`), and who may be a co-author (`Name <address>`). */
export interface OwnWords {
  readonly names: readonly string[];
  readonly coAuthors: readonly string[];
}

/** Why a message cannot be one that was made here, whoever wrote its words, as words; null: it can. Commits of another job are held against it. */
export function problemOfOwnMessage(message: string, { names, coAuthors }: OwnWords): string | null {
  const paragraphs = message.trimEnd().split(/\n{2,}/);
  const trailers = paragraphs.length > 1 ? (paragraphs.pop() ?? '').split('\n') : [];
  const foreign = trailers.find((line) => !isOwnTrailer(line, coAuthors));
  if (foreign !== undefined) return 'its trailers are not those of this run';
  const lines = paragraphs.flatMap((paragraph) => paragraph.split('\n'));
  return lines.some((line) => steers(withoutName(line, names)))
    ? 'its message mentions, closes or steers something'
    : null;
}

/** The task that a message of ours says it is for, in its last paragraph; null: none. */
export function taskInMessage(message: string): string | null {
  const last = message
    .trimEnd()
    .split(/\n{2,}/)
    .slice(1)
    .at(-1);
  return /^Ralph-Task: ([\w.-]+)$/m.exec(last ?? '')?.[1] ?? null;
}

function isOwnTrailer(line: string, coAuthors: readonly string[]): boolean {
  const [, name = '', value = ''] = /^([A-Za-z-]+): (.*)$/.exec(line) ?? [];
  return name === 'Co-authored-by'
    ? coAuthors.includes(value)
    : /^Ralph-(?:Run|Iteration|Task)$/.test(name) && /^[\w.-]+$/.test(value);
}

/** The one reference that a message of ours has: to its own task. */
function withoutName(line: string, names: readonly string[]): string {
  const name = names.find((one) => line === `Part of ${one}` || line.startsWith(`Part of ${one}: `));
  return name === undefined ? line : line.slice(`Part of ${name}`.length);
}

/** What GitHub makes a mention, a reference or a link of, and words that CI obeys; what was cleaned here has none of it. */
function steers(line: string): boolean {
  const isReference = /@(?=[a-z\d])|#(?=\d)|\bgh-(?=\d)|:\/\/(?=\S)|www(?=\.)/i.test(line);
  return isReference || hasSkipWords(line) || /[\p{Cc}\u202A-\u202E\u2066-\u2069]/u.test(line);
}
