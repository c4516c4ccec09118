/** A line of a settings file that sets something. `line`: where it begins, from 1. */
interface RcEntry {
  readonly key: string;
  readonly value: string;
  readonly line: number;
}

/** What is wrong with a line, as a predicate: `is shell code …`. */
interface RcProblem {
  readonly line: number;
  readonly why: string;
}

/** What a settings file says, in its order; and its problems, as many as anybody reads. Of a key that is set twice the last one counts. */
export interface ParsedRc {
  readonly entries: readonly RcEntry[];
  readonly problems: readonly RcProblem[];
}

/** Parses `KEY=VALUE` lines as bash would read them, quotes and comments included, and runs nothing: what only a shell could answer is a problem with its line. Never throws. */
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

/** A text with so many is no settings file: the rest of it is not read. */
const MAX_PROBLEMS = 100;

/** Where the reading is. `known`: what the lines before have set. */
interface Scan {
  readonly text: string;
  at: number;
  line: number;
  readonly known: Map<string, string>;
}

const NOT_TEXT = 'has bytes that are not UTF-8: save the file as UTF-8';

class Unreadable extends Error {
  /** null: the line that was being read. */
  readonly line: number | null;

  constructor(why: string, line: number | null) {
    super(why);
    this.line = line;
  }
}

/** One line, or several where a value in quotes goes on; null: it is blank or a comment. */
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
    `has more after the value of ${key}, which a shell would run as a command: put a value with blanks in quotes, ${key}="…"`,
    null,
  );
}

function notASetting(scan: Scan): string {
  return /^(?:export[ \t]+)?[A-Za-z_]\w*[ \t]+=/.test(restOfLine(scan))
    ? 'has a blank before the =: write KEY=VALUE'
    : 'is not KEY=VALUE but shell code, which is never run here: write the value itself, or set the input in the workflow';
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
      throw new Unreadable('has ~ behind a colon, which only a shell can resolve: write the whole path', null);
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
    // Within double quotes a `$` before a quote is a `$`.
    else if (character === '$' && /["']/.test(scan.text[scan.at + 1] ?? '')) value += take(scan);
    else if (/[$`]/.test(character)) value += expanded(scan, key);
    else value += take(scan);
  }
}

/** A backslash and what it stands before: a line end is joined, one of `special` is itself, before anything else the backslash stays. */
function escaped(scan: Scan, special: RegExp): string {
  scan.at += 1;
  const character = scan.text[scan.at];
  if (character === undefined) return '\\';
  const taken = take(scan);
  if (character === '\n') return '';
  return special.test(character) ? taken : `\\${taken}`;
}

/** What a `$` or a backquote begins. */
function expanded(scan: Scan, key: string): string {
  const rest = restOfLine(scan);
  if (rest.startsWith('$(') || rest.startsWith('`'))
    throw new Unreadable(
      `has ${rest.startsWith('`') ? 'a command in backquotes' : 'a command in $(…)'}, which is never run here: write the value itself, or set the input in the workflow`,
      null,
    );
  const [whole, braced, fallback, plain] = /^\$(?:\{(\w+)(?::?-([^{}$`\\"']*))?\}|([A-Za-z_]\w*))/.exec(rest) ?? [];
  if (whole === undefined) {
    // `$'…'`, `${#x}`, the old arithmetic `$[1+1]` and the like are the shell's; a lone `$` is a `$`.
    if (/^\$(?:[{['"]|[0-9@*#?!$-])/.test(rest))
      throw new Unreadable('has an expansion that only a shell can make: write the value itself', null);
    return take(scan);
  }
  scan.at += whole.length;
  const name = braced ?? plain ?? '';
  const known = scan.known.get(name) ?? '';
  if (known !== '') return known;
  // `KEY="${KEY:-value}"`: the environment comes first in any case, so here only the value is left.
  if (name === key && fallback !== undefined) return fallback;
  throw new Unreadable(
    `refers to ${name}, which no line above sets. Variables of the environment are not read into a setting, since they may be secrets: write the value itself`,
    null,
  );
}

function unclosed(scan: Scan, { quote, line }: { readonly quote: string; readonly line: number }): Unreadable {
  // What follows is in quotes that nobody closed: none of it is known to be a setting.
  scan.at = scan.text.length;
  return new Unreadable(`begins a value with ${quote} that is never closed`, line);
}

function take(scan: Scan): string {
  const character = scan.text[scan.at] ?? '';
  scan.at += 1;
  if (character === '\n') scan.line += 1;
  return character;
}

/** Whether there were any. */
function skipBlanks(scan: Scan): boolean {
  const [blanks = ''] = match(scan, /[ \t]*/y) ?? [];
  scan.at += blanks.length;
  return blanks !== '';
}

/** To the line behind this one. */
function skipLine(scan: Scan): void {
  const end = scan.text.indexOf('\n', scan.at);
  if (end === -1) scan.at = scan.text.length;
  else {
    scan.at = end + 1;
    scan.line += 1;
  }
}

/** As much of it as an expansion may take. */
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

/** Of the first character that no UTF-8 stands for. */
function lineOf(text: string): number {
  return countLines(text.slice(0, text.indexOf('\uFFFD')).replace(/\r\n?/g, '\n')) + 1;
}
