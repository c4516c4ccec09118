import { findUnseen, toLineFeeds } from '../../text/cleaned.ts';
import type { Suggestion } from '../subject.ts';
import type { AskedThread } from './threads.ts';

/**
 * The result of applying a suggestion. `there`: the file already has the suggested text; `stale`: the file no longer
 * has the lines that the reviewer saw.
 */
type SuggestionResult =
  | { readonly kind: 'applied'; readonly text: string }
  | { readonly kind: 'there' }
  | { readonly kind: 'stale' };

/** Maximum size of a suggestion that is applied directly; the agent looks at larger ones. */
const MAX_LINES = 500;
const MAX_CHARS = 20_000;

/** Returns the suggested change in the asking comment; null without one, or if it cannot be applied mechanically. */
export function parseSuggestion({ thread, asking }: Pick<AskedThread, 'thread' | 'asking'>): Suggestion | null {
  const { line, startLine, side, startSide, isOutdated } = thread;
  // A removed line is numbered in the old file, so it cannot be found in the new one.
  if (line === null || side !== 'right' || startSide === 'left' || isOutdated) return null;
  const from = startLine ?? line;
  const lines = suggestedLines(asking.text);
  const old = from <= line && line - from < MAX_LINES ? seenLines(asking.hunk, line - from + 1) : null;
  return lines === null || old === null ? null : { from, to: line, old, lines };
}

/** Applies a suggestion to a file's text if the file still has exactly the lines that the reviewer saw. */
export function applySuggestion(text: string, { from, to, old, lines: wanted }: Suggestion): SuggestionResult {
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const there = lines.slice(Math.max(0, from - 1), to).map((line) => line.slice(0, line.length - endOf(line).length));
  // A suggestion that changes the number of lines cannot be recognized as applied, because later lines have moved.
  if (from >= 1 && wanted.length === to - from + 1 && areEqualLines(there, wanted)) return { kind: 'there' };
  if (from < 1 || old.length !== to - from + 1 || !areEqualLines(there, old)) return { kind: 'stale' };
  const end = endOf(lines[from - 1] ?? '') || endOf(lines[0] ?? '') || '\n';
  const whole = [...lines.slice(0, from - 1), ...wanted.map((line) => line + end), ...lines.slice(to)].join('');
  return { kind: 'applied', text: text.endsWith('\n') ? whole : whole.replace(/\r?\n$/, '') };
}

function areEqualLines(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((line, index) => line === others[index]);
}

function endOf(line: string): string {
  return /\r?\n$/.exec(line)?.[0] ?? '';
}

/** Returns the last lines on the new side of the hunk, which ends at the comment; null if the hunk has too few. */
function seenLines(hunk: string, count: number): readonly string[] | null {
  const lines = hunk.replace(/\n$/, '').split('\n').slice(1);
  const shown = lines.filter((line) => !line.startsWith('\\'));
  if (shown.at(-1)?.startsWith('-') !== false) return null;
  const right = shown.filter((line) => !line.startsWith('-')).map((line) => line.slice(1).replace(/\r$/, ''));
  return right.length < count ? null : right.slice(-count);
}

/** Returns the lines of a comment's only suggestion, verbatim; null if the comment contains anything else to answer. */
function suggestedLines(text: string): readonly string[] | null {
  const { words, suggestions } = parseFences(toLineFeeds(text));
  const [lines] = suggestions;
  if (lines === undefined || suggestions.length > 1) return null;
  const written = lines.join('\n');
  if (lines.length > MAX_LINES || written.length > MAX_CHARS) return null;
  // Comments with invisible characters, questions or hidden text are left to the agent, which must read them.
  return /[?？]|<!--/.test(words) || findUnseen(written).length > 0 ? null : lines;
}

interface Fence {
  readonly marks: string;
  readonly indent: number;
  readonly isSuggestion: boolean;
  readonly lines: string[];
}

/** Parses code fences as in CommonMark, but ignores unclosed ones. */
function parseFences(text: string): { readonly words: string; readonly suggestions: readonly (readonly string[])[] } {
  const words: string[] = [];
  const suggestions: (readonly string[])[] = [];
  let open: Fence | null = null;
  for (const line of text.split('\n')) {
    if (open === null) {
      open = openingFence(line);
      if (open === null) words.push(line);
    } else if (closes(line, open)) {
      if (open.isSuggestion) suggestions.push(open.lines);
      open = null;
    } else {
      open.lines.push(line.replace(new RegExp(`^ {0,${open.indent}}`), ''));
    }
  }
  return { words: words.join('\n'), suggestions };
}

function openingFence(line: string): Fence | null {
  const [, indent = '', marks = '', info = ''] = /^( {0,3})(`{3,}|~{3,})(.*)$/.exec(line) ?? [];
  if (marks === '' || (marks.startsWith('`') && info.includes('`'))) return null;
  return { marks, indent: indent.length, isSuggestion: info.trim() === 'suggestion', lines: [] };
}

function closes(line: string, { marks }: Fence): boolean {
  const end = /^ {0,3}(`{3,}|~{3,})[ \t]*$/.exec(line)?.[1];
  return end !== undefined && end.startsWith(marks.charAt(0)) && end.length >= marks.length;
}
