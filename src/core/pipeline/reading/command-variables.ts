import { HOUR_MS, MINUTE_MS } from '../../countdown.ts';

/** What is wrong with a file, in words that follow its name or place. */
export interface Problem {
  /** null: it is about the file as a whole. */
  readonly at: Position | null;
  readonly message: string;
}

/** 1-based. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** More than a person corrects before the next try, and less than any comment takes. */
const MAX_PROBLEMS = 60;

/** `10m`, `1h30m`, `1.5h`, `500ms`; a sign is read, so that a negative one can be named as such. */
const DURATION_PATTERN = /^[+-]?(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+$|^0$/;

const UNIT_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: MINUTE_MS,
  h: HOUR_MS,
};

/** Values by the names of environment variables. */
export type Variables = Readonly<Record<string, string>>;

/** A text with its variables put in, and the names of those that had neither value nor default. */
interface Expanded {
  readonly text: string;
  readonly missing: readonly string[];
}

/** Set by bash itself, or by what runs it. */
const GIVEN =
  /^(?:_|BASH\w*|CDPATH|COLUMNS|COMP_\w+|DIRSTACK|E?UID|EPOCH(?:REALTIME|SECONDS)|FUNCNAME|GROUPS|HOME|HOSTNAME|HOSTTYPE|https?_proxy|HTTPS?_PROXY|IFS|JAVA_TOOL_OPTIONS|LINENO|LINES|LOGNAME|MACHTYPE|MAPFILE|no_proxy|NO_PROXY|NODE_USE_ENV_PROXY|OLDPWD|OPT(?:ARG|ERR|IND)|OSTYPE|PATH|PIPESTATUS|POSIXLY_CORRECT|PPID|PS4|PWD|RALPH_RUN_TAG|RANDOM|REPLY|SECONDS|SHELL|SHELLOPTS|SHLVL|SRANDOM|TERM|TMPDIR|USER)$/;

/** More names of one command are not looked at. */
const MAX_NAMES = 20;

/** Commands that set what cannot be told from here. */
const SETS_ANYTHING = /(?:^|[\s;&|({])(?:source|\.|eval)\s/m;

/** A text in which nothing is put in, over lines. */
const QUOTED_HERE_DOCUMENT = /<<-?\s*['"\\]/;

/** Names that a command has as `${NAME}` where bash would put in nothing: neither does the step see them, nor does the command set them. Where that cannot be told it is none. */
export function unsetIn(command: string, variables: Variables): readonly string[] {
  if (SETS_ANYTHING.test(command) || QUOTED_HERE_DOCUMENT.test(command)) return [];
  const { names, words } = readShell(command);
  const isSet = (name: string): boolean => Object.hasOwn(variables, name) || GIVEN.test(name) || sets(words, name);
  return [...new Set(names)].slice(0, MAX_NAMES).filter((name) => !isSet(name));
}

/** Returns the variables whose values a command needs and does not set itself: `$NAME` and `${NAME…}` without a default, outside of single quotes. Where that cannot be told it returns none. */
export function variablesNeededBy(command: string): readonly string[] {
  if (SETS_ANYTHING.test(command) || QUOTED_HERE_DOCUMENT.test(command)) return [];
  const { needed, words } = readShell(command);
  return [...new Set(needed)].slice(0, MAX_NAMES).filter((name) => !GIVEN.test(name) && !sets(words, name));
}

/** Whether the words of a command set a variable, or may: `X=1`, `${X:=1}`, `for X in`, `read -r X`. */
function sets(words: string, name: string): boolean {
  return (
    new RegExp(`(?:^|[^\\w$])${name}\\+?=|\\$\\{${name}:?=`).test(words) ||
    new RegExp(
      `\\b(?:for|select|read|mapfile|readarray|getopts|export|declare|typeset|local|readonly|printf)\\s[^;&|\\n]*\\b${name}\\b`,
    ).test(words.replaceAll('$' + `{${name}}`, ' '))
  );
}

/** What is read as one outside of double quotes, and within. */
const PLAIN = /\\[^]|'[^']*'?|\$'(?:[^'\\]|\\[^])*'?|(?<=^|\s)#[^\n]*|\$\{\w+\}|\$\{[#!]?\w+|\$\$|\$[A-Za-z_]\w*|\$\(/y;

const IN_QUOTES = /\\[^]|\$\{\w+\}|\$\{[#!]?\w+|\$\$|\$[A-Za-z_]\w*|\$\(/y;

/** What stands behind a name in braces where the variable may be unset. */
const HAS_DEFAULT = /^:?[-=+]/;

function tokenAt(command: string, at: number, tokens: RegExp): string {
  const sticky = new RegExp(tokens);
  sticky.lastIndex = at;
  return sticky.exec(command)?.[0] ?? command.charAt(at);
}

/** What bash looks at: names that it puts in as `${NAME}`, all whose values are needed, and the command without comments and what stands in single quotes. */
function readShell(command: string): {
  readonly names: readonly string[];
  readonly needed: readonly string[];
  readonly words: string;
} {
  const names: string[] = [];
  const needed: string[] = [];
  let words = '';
  // A command in `$(…)` has quotes of its own.
  const inQuotes: boolean[] = [false];
  for (let at = 0; at < command.length;) {
    const quoted = inQuotes.at(-1) === true;
    const token = tokenAt(command, at, quoted ? IN_QUOTES : PLAIN);
    const isReference = /^\$\{\w+\}$/.test(token);
    if (isReference) names.push(token.slice(2, -1));
    const name = /^\$\{?[#!]?([A-Za-z_]\w*)\}?$/.exec(token)?.[1];
    if (name !== undefined && !HAS_DEFAULT.test(command.slice(at + token.length, at + token.length + 2)))
      needed.push(name);
    if (token === '"') inQuotes[inQuotes.length - 1] = !quoted;
    if (token === '$(' || (token === '(' && !quoted)) inQuotes.push(false);
    if (token === ')' && !quoted && inQuotes.length > 1) inQuotes.pop();
    words += isSilent(token) ? ' ' : token;
    at += token.length;
  }
  return { names: names.filter((name) => /^[A-Za-z_]/.test(name)), needed, words };
}

function isSilent(token: string): boolean {
  return /^(?:\\.|\$?'|#.)/s.test(token);
}

/** Whether a text is one variable and nothing else. */
export function isReference(text: string): boolean {
  return /^\$\{[A-Za-z_][A-Za-z0-9_]*(?::-[^}]*)?\}$/.test(text.trim());
}

/** `${NAME}` and `${NAME:-default}`: what is not among `variables` becomes its default, or nothing. What a value holds is not looked at again. */
export function expandVariables(text: string, variables: Variables): Expanded {
  const missing: string[] = [];
  const expanded = text.replace(
    // A default ends where another reference begins: a text of many that are not closed is read once.
    /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-((?:[^}$]|\$(?!\{))*))?\}/g,
    (_all, name: string, fallback: string | undefined) => {
      const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
      // As in a shell: with a default an empty value counts as none.
      if (value !== undefined && (value !== '' || fallback === undefined)) return value;
      if (fallback === undefined) missing.push(name);
      return fallback ?? '';
    },
  );
  return { text: expanded, missing };
}

/** A duration in whole ms, from seconds or a text such as `1h30m`; null: it is none. May be negative. */
export function parseDuration(value: string | number): number | null {
  if (typeof value === 'number') return Number.isFinite(value) ? Math.round(value * 1000) : null;
  const text = value.trim();
  if (/^[+-]?\d+(?:\.\d+)?$/.test(text)) return Math.round(Number(text) * 1000);
  if (!DURATION_PATTERN.test(text)) return null;
  const sum = [...text.matchAll(/(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)/g)].reduce(
    (total, [, amount, unit = '']) => total + Number(amount) * (UNIT_MS[unit] ?? 0),
    0,
  );
  return Math.round(text.startsWith('-') ? -sum : sum);
}

/** All that is wrong with a file as sentences with file, line and column, in the order of the file. */
export function problemLines(file: string, problems: readonly Problem[]): readonly string[] {
  const more = problems.length - MAX_PROBLEMS;
  const listed = [...problems]
    .sort((a, b) => (a.at?.line ?? 0) - (b.at?.line ?? 0) || (a.at?.column ?? 0) - (b.at?.column ?? 0))
    .slice(0, MAX_PROBLEMS)
    .map(({ at, message }) => `${file}${at === null ? '' : `:${at.line}:${at.column}`} ${message}`);
  return [...listed, ...(more > 0 ? [`${file} has ${more} more problems`] : [])];
}
