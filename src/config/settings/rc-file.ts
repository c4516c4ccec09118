/** A line of a settings file that sets something; `line` is its first line, from 1. */
interface RcEntry {
  readonly key: string;
  readonly value: string;
  readonly line: number;
}

/** The problem of a line, as a verb phrase: `is shell code …`. */
interface RcProblem {
  readonly line: number;
  readonly why: string;
}

/**
 * The entries of a settings file in their order, and its problems up to a limit. If a key is set twice, the last entry
 * counts.
 */
export interface ParsedRc {
  readonly entries: readonly RcEntry[];
  readonly problems: readonly RcProblem[];
}

/**
 * Parses `KEY=VALUE` lines as bash would read them, including quotes and comments, but runs nothing: an expression that
 * only a shell can evaluate is a problem of its line. Never throws.
 */
export function parseRc(text: string): ParsedRc {
  const scan: Scan = { text: text.replace(/^\uFEFF/, '').replace(/\r\n?/g, '\n'), at: 0, line: 1, known: new Map() };
  const entries: RcEntry[] = [];
  const problems: RcProblem[] = [];
  if (text.includes('\uFFFD')) return { entries, problems: [{ line: lineOf(text), why: NOT_TEXT }] };
  while (scan.at < scan.text.length && problems.length < MAX_PROBLEMS) {
    const { line } = scan;
    try {
      const set = parseStatement(scan);
      if (set === null) continue;
      scan.known.set(set.key, set.value);
      entries.push({ ...set, line });
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      problems.push({ line: error.line ?? scan.line, why: error.message });
      skipLine(scan);
    }
  }
  return { entries, problems };
}

/** Maximum number of problems: a text with more is not a settings file, and its rest is not read. */
const MAX_PROBLEMS = 100;

/** The position of the parser; `known` contains the values set by earlier lines. */
interface Scan {
  readonly text: string;
  at: number;
  line: number;
  readonly known: Map<string, string>;
}

const NOT_TEXT = 'has bytes that are not UTF-8: save the file as UTF-8';

class Unreadable extends Error {
  /** The line of the problem, or null for the line that was being read. */
  readonly line: number | null;

  constructor(why: string, line: number | null) {
    super(why);
    this.line = line;
  }
}

/** Parses one line, or several if a value in quotes continues; returns null for a blank line or a comment. */
function parseStatement(scan: Scan): Omit<RcEntry, 'line'> | null {
  skipBlanks(scan);
  const character = scan.text[scan.at];
  if (character === undefined) return null;
  if (character === '\n' || character === '#') {
    skipLine(scan);
    return null;
  }
  const [whole, key] = match(scan, /(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)=/y) ?? [];
  if (whole === undefined || key === undefined) throw new Unreadable(notASetting(scan), null);
  scan.at += whole.length;
  const value = parseValue(scan, key);
  const hasBlanks = skipBlanks(scan);
  const next = scan.text[scan.at];
  if (next === undefined || next === '\n' || (next === '#' && hasBlanks)) {
    skipLine(scan);
    return { key, value };
  }
  throw new Unreadable(
    `has more after the value of ${key}, which a shell would run as a command: put a value with spaces in quotes, ${key}="…"`,
    null,
  );
}

function notASetting(scan: Scan): string {
  return /^(?:export[ \t]+)?[A-Za-z_]\w*[ \t]+=/.test(restOfLine(scan))
    ? 'has a space before the =: write KEY=VALUE'
    : 'is not KEY=VALUE but shell code, which is never run here: write the value itself, or set it in the workflow';
}

function parseValue(scan: Scan, key: string): string {
  if (scan.text[scan.at] === '~')
    throw new Unreadable('begins its value with ~, which only a shell can resolve: write the whole path', null);
  let value = '';
  for (;;) {
    const character = scan.text[scan.at];
    if (character === undefined || /[ \t\n]/.test(character)) return value;
    if (character === "'") value += inSingleQuotes(scan);
    else if (character === '"') value += inDoubleQuotes(scan, key);
    else if (character === '\\') value += escaped(scan, /[^]/);
    else if (/[$`]/.test(character)) value += expanded(scan, key);
    else if (character === '~' && scan.text[scan.at - 1] === ':')
      throw new Unreadable('has ~ after a colon, which only a shell can resolve: write the whole path', null);
    else if (/[;&|<>()]/.test(character))
      throw new Unreadable(
        `has ${character} outside of quotes, which is shell code and is never run here: put the value of ${key} in quotes`,
        null,
      );
    else value += take(scan);
  }
}

function inSingleQuotes(scan: Scan): string {
  const { line } = scan;
  const end = scan.text.indexOf("'", scan.at + 1);
  if (end === -1) throw unclosed(scan, { quote: "'", line });
  const value = scan.text.slice(scan.at + 1, end);
  scan.at = end + 1;
  scan.line += countLines(value);
  return value;
}

function inDoubleQuotes(scan: Scan, key: string): string {
  const { line } = scan;
  let value = '';
  scan.at += 1;
  for (;;) {
    const character = scan.text[scan.at];
    if (character === undefined) throw unclosed(scan, { quote: '"', line });
    if (character === '"') {
      scan.at += 1;
      return value;
    }
    if (character === '\\') value += escaped(scan, /[$`"\\]/);
    // Within double quotes, a `$` before a quote is literal.
    else if (character === '$' && /["']/.test(scan.text[scan.at + 1] ?? '')) value += take(scan);
    else if (/[$`]/.test(character)) value += expanded(scan, key);
    else value += take(scan);
  }
}

/**
 * Reads a backslash and the next character: a line end is dropped, one of `special` loses its backslash, and before
 * anything else the backslash stays.
 */
function escaped(scan: Scan, special: RegExp): string {
  scan.at += 1;
  const character = scan.text[scan.at];
  if (character === undefined) return '\\';
  const taken = take(scan);
  if (character === '\n') return '';
  return special.test(character) ? taken : `\\${taken}`;
}

/** Reads the expansion that a `$` or a backquote begins; throws Unreadable if only a shell can evaluate it. */
function expanded(scan: Scan, key: string): string {
  const rest = restOfLine(scan);
  if (rest.startsWith('$(') || rest.startsWith('`'))
    throw new Unreadable(
      `has ${rest.startsWith('`') ? 'a command in backquotes' : 'a command in $(…)'}, which is never run here: write the value itself, or set it in the workflow`,
      null,
    );
  const [whole, braced, fallback, plain] = /^\$(?:\{(\w+)(?::?-([^{}$`\\"']*))?\}|([A-Za-z_]\w*))/.exec(rest) ?? [];
  if (whole === undefined) {
    // `$'…'`, `${#x}`, the old arithmetic `$[1+1]` and similar forms need a shell; a lone `$` is literal.
    if (/^\$(?:[{['"]|[0-9@*#?!$-])/.test(rest))
      throw new Unreadable('has an expansion that only a shell can make: write the value itself', null);
    return take(scan);
  }
  scan.at += whole.length;
  const name = braced ?? plain ?? '';
  const known = scan.known.get(name) ?? '';
  if (known !== '') return known;
  // In `KEY="${KEY:-value}"` the environment comes first in any case, so only the value is needed here.
  if (name === key && fallback !== undefined) return fallback;
  throw new Unreadable(
    `refers to ${name}, which no line above sets. Variables of the environment are not read into a setting, since they may be secrets: write the value itself`,
    null,
  );
}

function unclosed(scan: Scan, { quote, line }: { readonly quote: string; readonly line: number }): Unreadable {
  // The quote never ends, so the rest of the file is skipped: none of it is known to be a setting.
  scan.at = scan.text.length;
  return new Unreadable(`begins a value with ${quote} that is never closed`, line);
}

function take(scan: Scan): string {
  const character = scan.text[scan.at] ?? '';
  scan.at += 1;
  if (character === '\n') scan.line += 1;
  return character;
}

/** Skips blanks. Returns true if there were any. */
function skipBlanks(scan: Scan): boolean {
  const [blanks = ''] = match(scan, /[ \t]*/y) ?? [];
  scan.at += blanks.length;
  return blanks !== '';
}

/** Moves to the beginning of the next line. */
function skipLine(scan: Scan): void {
  const end = scan.text.indexOf('\n', scan.at);
  if (end === -1) scan.at = scan.text.length;
  else {
    scan.at = end + 1;
    scan.line += 1;
  }
}

/** Returns the rest of the line, up to the length that an expansion may have. */
function restOfLine({ text, at }: Scan): string {
  const [line = ''] = text.slice(at, at + 2_000).split('\n', 1);
  return line;
}

function match({ text, at }: Scan, pattern: RegExp): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

function countLines(text: string): number {
  return text.split('\n').length - 1;
}

/** Returns the line of the first bytes that are not UTF-8. */
function lineOf(text: string): number {
  return countLines(text.slice(0, text.indexOf('\uFFFD')).replace(/\r\n?/g, '\n')) + 1;
}
