import type { ObjectId } from '../../evidence.ts';
import type { Task } from '../../tasks/task.ts';
import { findUnseen, normalizeBlanks } from '../../text/cleaned.ts';
import { cleanText, cleanTitle } from '../../text/clean.ts';
import { capText, formatMoreLine, completeSentence } from '../../text/phrase.ts';
import type { Annotation, CheckDetails, CheckNow } from '../pull-request-now.ts';
import { FEEDBACK_PRIORITY } from '../subject.ts';
import { taskIdOfCheck } from './checks.ts';

/** Maximum number of lines kept from the end of a log. */
export const MAX_LOG_LINES = 200;

export const MAX_LOG_CHARS = 12_000;

const MAX_LINE_CHARS = 500;

/** Maximum number of characters read from the end of a log, far more than is shown. */
const MAX_READ_CHARS = 256 * 1024;

/** Maximum ratio of characters read to characters shown of a message. */
const READ_FACTOR = 16;

/**
 * Matches terminal sequences for colours, cursor moves, titles and links, and the remainder of a sequence that was cut.
 */
const TERMINAL =
  /\u001B(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001B]*(?:\u0007|\u001B\\)?|[PX^_][^\u001B]*(?:\u001B\\)?|.)/g;

const TIME_STAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z ?/;

/** Matches workflow commands and the marks of the runner: `##[group]`, `::error file=a.js,line=3::`. */
const MARK = /^##\[(group|endgroup|section|command|error|warning|notice|debug)\]|^::([a-z-]{1,20})(?: [^:\n]*)?::/i;

const LEVELS: Readonly<Record<string, string>> = { error: 'Error: ', warning: 'Warning: ', notice: 'Notice: ' };

/** Minimum number of equal consecutive lines that are folded into one. */
const MIN_FOLDED = 3;

const MAX_NAME_CHARS = 100;

const MAX_ANNOTATIONS = 20;

const MAX_ANNOTATION_CHARS = 400;

const MAX_PATH_CHARS = 200;

const MAX_SUMMARY_CHARS = 2_000;

/** The head on which a check failed, and its pull request. */
interface CheckedHead {
  readonly pullRequest: number;
  /** Page of the pull request. */
  readonly url: string;
  readonly head: ObjectId;
}

/** Creates the task for a failed check. Its texts are cleaned and capped; the caller must redact secrets in them. */
export function taskOfCheck(check: CheckNow, details: CheckDetails, { pullRequest, url, head }: CheckedHead): Task {
  const name = shortName(check.name) || 'unnamed';
  return {
    id: taskIdOfCheck(check),
    title: taskTitle(name, details),
    body: taskBody(check, details),
    source: { kind: 'feedback', on: { kind: 'check', name, head }, pullRequest, url: check.url ?? url },
    comments: [],
    obstacle: null,
    priority: FEEDBACK_PRIORITY.check,
    dependsOn: [],
    optional: false,
  };
}

function taskTitle(name: string, { job, step }: CheckDetails): string {
  const where = [shortName(job ?? ''), shortName(step ?? '')].filter((part) => part !== '' && part !== name);
  return `Check "${name}" fails${where.length === 0 ? '' : `: ${where.join(' / ')}`}`;
}

function taskBody(check: CheckNow, { job, step, annotations, log, missing }: CheckDetails): string {
  const workflow = check.workflow === null ? '' : shortName(check.workflow.path ?? check.workflow.name);
  const facts = [
    `Conclusion: ${shortName(check.conclusion) || 'failure'}`,
    ...(workflow === '' ? [] : [`Workflow: ${workflow}`]),
    ...(shortName(job ?? '') === '' ? [] : [`Job: ${shortName(job ?? '')}`]),
    ...(shortName(step ?? '') === '' ? [] : [`Step: ${shortName(step ?? '')}`]),
  ];
  const end = trimJobLog(log ?? '');
  const summary = capText(cleanText(check.summary).text.trim(), MAX_SUMMARY_CHARS);
  return [
    facts.join('\n'),
    withHeading('Annotations:', annotationLines(annotations).join('\n')),
    withHeading('Summary:', summary),
    withHeading('End of the log:', end),
    missing === null ? '' : completeSentence(toPlainMessage(missing, MAX_ANNOTATION_CHARS)),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

function withHeading(title: string, text: string): string {
  return text === '' ? '' : `${title}\n${text}`;
}

function annotationLines(annotations: readonly Annotation[]): readonly string[] {
  const shown = annotations.slice(0, MAX_ANNOTATIONS).map(annotationLine);
  return [...shown, ...formatMoreLine(annotations.length - shown.length)];
}

function annotationLine({ path, line, level, message }: Annotation): string {
  const where = `${toPlainMessage(path, MAX_PATH_CHARS)}${line === null ? '' : `:${line}`}`;
  const grade = toPlainMessage(level, 20);
  return `- ${where}${grade === '' ? '' : ` (${grade})`}: ${toPlainMessage(message, MAX_ANNOTATION_CHARS)}`;
}

/** Cleans a name and shortens it to one line. */
function shortName(raw: string): string {
  return capText(cleanTitle(raw).text, MAX_NAME_CHARS);
}

/**
 * Returns the end of a job's log as a person reads it: at most 200 lines and 12,000 characters, without timestamps,
 * colours, runner marks and invisible characters. Equal consecutive lines are folded into one.
 */
export function trimJobLog(raw: string): string {
  const lines = foldRepeats(raw.slice(-MAX_READ_CHARS).toWellFormed().split(/\r?\n/).flatMap(cleanCheckLine));
  const kept: string[] = [];
  let room = MAX_LOG_CHARS;
  for (const line of lines.slice(-MAX_LOG_LINES).reverse()) {
    if (line.length + 1 > room) break;
    kept.unshift(line);
    room -= line.length + 1;
  }
  return kept.join('\n').trim();
}

/** Returns a check's text as one plain line. */
export function toPlainMessage(raw: string, maxChars: number): string {
  return capText(
    raw
      .slice(0, READ_FACTOR * maxChars)
      .toWellFormed()
      .split(/\r?\n/)
      .flatMap(cleanCheckLine)
      .map((line) => line.trim())
      .filter((line) => line !== '')
      .join(' '),
    maxChars,
  );
}

/** Returns an empty list if the raw line is only a runner mark. */
function cleanCheckLine(raw: string): readonly string[] {
  const line = visibleLine(lastDrawn(raw.replace(TERMINAL, '')))
    .replace(TIME_STAMP, '')
    .replace(/^\[command\]/, '');
  const mark = MARK.exec(line);
  if (mark === null) return [capText(line.trimEnd(), MAX_LINE_CHARS)];
  const [all, old = '', now = ''] = mark;
  const name = (old + now).toLowerCase();
  const rest = line.slice(all.length).trim();
  if (name === 'endgroup' || (rest === '' && name !== 'error')) return [];
  return [capText(`${LEVELS[name] ?? ''}${rest}`, MAX_LINE_CHARS)];
}

/** Keeps the final state of a progress bar, which redraws its line after each carriage return. */
function lastDrawn(line: string): string {
  return line.includes('\r') ? (line.split('\r').findLast((part) => part.trim() !== '') ?? '') : line;
}

function visibleLine(line: string): string {
  let kept = '';
  let at = 0;
  for (const { start, end } of findUnseen(line)) {
    kept += line.slice(at, start);
    at = end;
  }
  return normalizeBlanks(kept + line.slice(at)).replaceAll('\n', ' ');
}

function foldRepeats(lines: readonly string[]): readonly string[] {
  const kept: string[] = [];
  for (let at = 0; at < lines.length;) {
    const line = lines[at] ?? '';
    let next = at + 1;
    while (next < lines.length && lines[next] === line) next += 1;
    const count = next - at;
    if (line === '') kept.push('');
    else if (count < MIN_FOLDED) kept.push(...lines.slice(at, next));
    else kept.push(line, `… ${count - 1} more lines like this`);
    at = next;
  }
  return kept;
}
