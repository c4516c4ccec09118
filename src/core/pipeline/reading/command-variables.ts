import type { Variables } from './variables.ts';

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
