import { HOUR_MS, MINUTE_MS } from '../../countdown.ts';

/** A problem of a file. */
export interface PipelineProblem {
  /** Position of the problem; null if it concerns the whole file. */
  readonly at: TextPosition | null;
  /** The problem in words that follow the file's name or the position. */
  readonly message: string;
}

/** Position in a text, 1-based. */
export interface TextPosition {
  readonly line: number;
  readonly column: number;
}

/** Maximum number of problems listed, more than a person fixes at once and few enough for a comment. */
const MAX_PROBLEMS = 60;

/** Matches `10m`, `1h30m`, `1.5h`, `500ms`. A sign is accepted, so that a negative duration can be reported. */
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
export type StepVariables = Readonly<Record<string, string>>;

/** A text with its variables replaced, and the names of those without value or default. */
interface Expanded {
  readonly text: string;
  readonly missing: readonly string[];
}

/** Matches variables that bash or its environment always sets. */
const GIVEN =
  /^(?:_|BASH\w*|CDPATH|COLUMNS|COMP_\w+|DIRSTACK|E?UID|EPOCH(?:REALTIME|SECONDS)|FUNCNAME|GROUPS|HOME|HOSTNAME|HOSTTYPE|https?_proxy|HTTPS?_PROXY|IFS|JAVA_TOOL_OPTIONS|LINENO|LINES|LOGNAME|MACHTYPE|MAPFILE|no_proxy|NO_PROXY|NODE_USE_ENV_PROXY|OLDPWD|OPT(?:ARG|ERR|IND)|OSTYPE|PATH|PIPESTATUS|POSIXLY_CORRECT|PPID|PS4|PWD|RALPH_RUN_TAG|RANDOM|REPLY|SECONDS|SHELL|SHELLOPTS|SHLVL|SRANDOM|TERM|TMPDIR|USER)$/;

/** Maximum number of variables checked per command. */
const MAX_NAMES = 20;

/** Matches commands that may set any variable. */
const SETS_ANYTHING = /(?:^|[\s;&|({])(?:source|\.|eval)\s/m;

/** Matches a here-document without expansion. */
const QUOTED_HERE_DOCUMENT = /(?<!<)<<-?\s*['"\\]/;

/**
 * Returns the variables that a command uses as `${NAME}` and that are set neither for the step nor by the command.
 * Empty if that cannot be determined.
 */
export function findUnsetVariables(command: string, variables: StepVariables): readonly string[] {
  if (SETS_ANYTHING.test(command) || QUOTED_HERE_DOCUMENT.test(command)) return [];
  const { names, words } = scanShell(command);
  const isSet = (name: string): boolean => Object.hasOwn(variables, name) || GIVEN.test(name) || sets(words, name);
  return [...new Set(names)].slice(0, MAX_NAMES).filter((name) => !isSet(name));
}

/**
 * Returns the variables whose values a command needs and does not set itself: `$NAME` and `${NAME…}` without a default,
 * outside of single quotes. Empty if that cannot be determined.
 */
export function findNeededVariables(command: string): readonly string[] {
  if (SETS_ANYTHING.test(command) || QUOTED_HERE_DOCUMENT.test(command)) return [];
  const scanned = scanShell(command);
  // An assignment such as `make X=$X` only passes the variable on.
  const words = scanned.words.replaceAll(/(?<!\w)(\w+)="?\$\{?\1\}?"?(?=[\s;&|)]|$)/g, ' ');
  return [...new Set(scanned.needed)].slice(0, MAX_NAMES).filter((name) => !GIVEN.test(name) && !sets(words, name));
}

/** Returns true if a command sets a variable or may set it: `X=1`, `${X:=1}`, `for X in`, `read -r X`. */
function sets(words: string, name: string): boolean {
  const values = new RegExp(String.raw`\$\{?[#!]?${name}\b`, 'g');
  return (
    new RegExp(`(?:^|[^\\w$])${name}\\+?=|\\$\\{${name}:?=`).test(words) ||
    new RegExp(
      `\\b(?:for|select|read|mapfile|readarray|getopts|export|declare|typeset|local|readonly|printf\\s+-v)\\s[^;&|\\n]*\\b${name}\\b`,
    ).test(words.replaceAll(values, ' '))
  );
}

/** Matches one token outside of double quotes. */
const PLAIN = /\\[^]|'[^']*'?|\$'(?:[^'\\]|\\[^])*'?|(?<=^|\s)#[^\n]*|\$\{\w+\}|\$\{[#!]?\w+|\$\$|\$[A-Za-z_]\w*|\$\(/y;

const IN_QUOTES = /\\[^]|\$\{\w+\}|\$\{[#!]?\w+|\$\$|\$[A-Za-z_]\w*|\$\(/y;

/** Matches an operator after a name in braces that allows the variable to be unset. */
const HAS_DEFAULT = /^:?[-=+]/;

function tokenAt(command: string, at: number, tokens: RegExp): string {
  const sticky = new RegExp(tokens);
  sticky.lastIndex = at;
  return sticky.exec(command)?.[0] ?? command.charAt(at);
}

/**
 * Returns what bash evaluates: names used as `${NAME}`, names whose values are needed, and the command without comments
 * and single-quoted text.
 */
function scanShell(command: string): {
  readonly names: readonly string[];
  readonly needed: readonly string[];
  readonly words: string;
} {
  const names: string[] = [];
  const needed: string[] = [];
  let words = '';
  // A command in `$(…)` has quotes of its own, so each level is tracked.
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
    words += isLiteral(token) ? ' ' : token;
    at += token.length;
  }
  return { names: names.filter((name) => /^[A-Za-z_]/.test(name)), needed, words };
}

function isLiteral(token: string): boolean {
  return /^(?:\\.|\$?'|#.)/s.test(token);
}

/** Returns true if a text is a single variable. */
export function isReference(text: string): boolean {
  return /^\$\{[A-Za-z_][A-Za-z0-9_]*(?::-[^}]*)?\}$/.test(text.trim());
}

/**
 * Replaces `${NAME}` and `${NAME:-default}`. An unknown variable becomes its default or nothing; values are not
 * expanded again.
 */
export function expandVariables(text: string, variables: StepVariables): Expanded {
  const missing: string[] = [];
  const expanded = text.replace(
    // A default ends at the next reference, so that a text with many unclosed references is scanned only once.
    /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-((?:[^}$]|\$(?!\{))*))?\}/g,
    (_all, name: string, fallback: string | undefined) => {
      const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
      // An empty value is replaced by the default, as in a shell.
      if (value !== undefined && (value !== '' || fallback === undefined)) return value;
      if (fallback === undefined) missing.push(name);
      return fallback ?? '';
    },
  );
  return { text: expanded, missing };
}

/**
 * Parses a duration into whole ms, from seconds or a text such as `1h30m`; may be negative. Returns null if the text is
 * not a duration.
 */
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

/** Returns the problems of a file as sentences with file, line and column, in file order. */
export function formatPipelineProblems(file: string, problems: readonly PipelineProblem[]): readonly string[] {
  const more = problems.length - MAX_PROBLEMS;
  const listed = [...problems]
    .sort((a, b) => (a.at?.line ?? 0) - (b.at?.line ?? 0) || (a.at?.column ?? 0) - (b.at?.column ?? 0))
    .slice(0, MAX_PROBLEMS)
    .map(({ at, message }) => `${file}${at === null ? '' : `:${at.line}:${at.column}`} ${message}`);
  return [...listed, ...(more > 0 ? [`${file} has ${more} more problems`] : [])];
}
