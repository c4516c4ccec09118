import type { OrderKind } from '../sharing/orders.ts';
import { parseTaskName, type TaskId } from '../tasks/ids.ts';
import { cutText } from '../text/phrase.ts';
import { isAlmostName, findNearest } from '../text/nearest.ts';

/** The beginning of every comment by Ralph, so that Ralph recognizes its comments by content and not by login. */
export const OWN_COMMENT_MARKER = '<!-- ralph-action:';

/** Returns true if a comment claims that Ralph wrote it. The caller must check its author. */
export function isOwnComment(text: string): boolean {
  return text.trimStart().startsWith(OWN_COMMENT_MARKER);
}

/** The words of each command, with its description. */
export const COMMAND_HELP = {
  run: 'work on this issue now (on a pull request: on its tasks)',
  status: 'show the status of the work, without an agent call',
  doctor: 'check the set-up, without an agent call: what would stop a run, and what to do about it',
  pause: 'no run starts until `resume`; a run in progress continues to its end',
  resume: 'end the pause',
  stop: 'like `pause`, and a run of one job ends after its running iteration',
  plan: 'propose sub-tasks of this issue, with one call that only reads',
  approve: 'create the proposed sub-tasks as sub-issues',
  retry: 'try failed, blocked and set-aside tasks again; `retry N` tries only task N (`12`, `#12` or its id)',
  'reset circuit': 'close the circuit, whatever opened it',
  'reset session': 'start a new conversation with the agent',
  help: 'list these commands',
} as const;

export type CommandWords = keyof typeof COMMAND_HELP;

/** A person's request. */
export type RalphCommand =
  | { readonly kind: 'run' }
  | { readonly kind: 'status' }
  | { readonly kind: 'order'; readonly order: Exclude<OrderKind, 'retry' | 'request'> }
  /** `task` is the only task to retry; null if none was named. */
  | { readonly kind: 'retry'; readonly task: TaskId | null }
  | { readonly kind: 'plan' | 'approve' }
  | { readonly kind: 'doctor' }
  | { readonly kind: 'help' }
  /** A request in a sentence that is not a command; the comment describes the work. */
  | { readonly kind: 'request' }
  | { readonly kind: 'unknown'; readonly word: string };

const known: Readonly<Record<CommandWords, RalphCommand>> = {
  run: { kind: 'run' },
  status: { kind: 'status' },
  pause: { kind: 'order', order: 'pause' },
  resume: { kind: 'order', order: 'resume' },
  stop: { kind: 'order', order: 'stop' },
  retry: { kind: 'retry', task: null },
  'reset circuit': { kind: 'order', order: 'reset-circuit' },
  'reset session': { kind: 'order', order: 'reset-session' },
  plan: { kind: 'plan' },
  approve: { kind: 'approve' },
  doctor: { kind: 'doctor' },
  help: { kind: 'help' },
};

/** Matches sentences that ask to end the work; unlike "stop using tabs", they never count as requests for work. */
const WANTS_END =
  /^(?:please,? )?(?:stop|pause)(?: (?:all|everything|for|here|it|now|please|that|the (?:run|work)|this|until|work|working)\b|[,.!:]|$)/i;

/** Parses the words of a command; an unknown word is cut to 40 characters. */
export function parseCommand(text: string): RalphCommand {
  const words = text.trim().toLowerCase().split(/\s+/).join(' ');
  if (isCommand(words)) return known[words];
  const task = parseTaskName(/^retry\s+(\S+)$/i.exec(text.trim())?.[1] ?? '');
  return task === null ? { kind: 'unknown', word: cutText(text.trim(), 40) } : { kind: 'retry', task };
}

/**
 * Parses the command or request at the beginning of a comment; null if none. Unknown commands are returned as
 * well. A mention of the account `bot` works like `/ralph`; if `bot` is null, mentions are ignored.
 */
export function parseCommandComment(text: string, bot: string | null = null): RalphCommand | null {
  const words = wordsTo(RALPH, text) ?? (bot === null ? null : wordsTo(mentionOf(bot), text));
  if (words === null) return null;
  const line = (words.split(/[\r\n]/, 1)[0] ?? '')
    .replaceAll(BLANKS, ' ')
    .replaceAll(/\*\*|`/g, '')
    .trim()
    .replace(/[ .!?,;:…]{1,20}$/, '');
  const command = parseCommand(line);
  const isSentence = /\p{L}/u.test(words) && !/^[\w#.-]*$/.test(words.trim());
  // A single word near a command, with or without numbers, is most likely a typo; but `rename it` is a request.
  const isNear = /^\S+[ \d#]*$/.test(line)
    ? findNearestCommand(line) !== null
    : /^\S+ \S+$/.test(line) && [line, line.replace(/ .*/, '')].some((one) => isAlmostName(one, Object.keys(known)));
  const isMistyped = WANTS_END.test(line) || isNear;
  return command.kind === 'unknown' && isSentence && !isMistyped ? { kind: 'request' } : command;
}

/**
 * Returns the part of a comment that is meant for the agent: the words of a request, and the text below a command. Any
 * other text is returned unchanged.
 */
export function withoutCommand(text: string): string {
  const words = wordsTo(RALPH, text);
  if (words === null) return text;
  return parseCommandComment(text)?.kind === 'request' ? words : words.replace(/^[^\r\n]*/, '');
}

/** Matches any kind of blank, including blanks without width. */
const BLANK = String.raw`[\s\u2800\p{Default_Ignorable_Code_Point}]`;
const BLANKS = new RegExp(`${BLANK}+`, 'gu');

const RALPH = '/ralph';

/** Returns a pattern for mentions of an account; the `[bot]` at the end of a bot's login is optional. */
function mentionOf(login: string): string {
  const name = login.replace(/\[bot\]$/, '').replaceAll(/[^\w-]/g, '');
  return String.raw`@${name}(?:\[bot\])?`;
}

/** Returns the text after `name` (as code, in bold or plain); null if the text does not begin with `name`. */
function wordsTo(name: string, text: string): string | null {
  const beginning = `^${BLANK}*(\\*\\*|\`)?${name}[,:]?(\\1)?[,:]?(?:${BLANK}+|$)`;
  const found = new RegExp(beginning, 'iu').exec(text);
  if (found === null) return null;
  const [whole, mark = '', closed = ''] = found;
  const words = text.slice(whole.length);
  return mark === closed ? words : words.replace(mark, '');
}

/** Returns the command that `word` was most likely meant to be; null if none is similar. */
export function findNearestCommand(word: string): CommandWords | null {
  const names = Object.keys(COMMAND_HELP) as CommandWords[];
  // Further words may belong to the mistyped command, as in `rety 12` or `run please`.
  return findNearest(word, names) ?? findNearest(word.split(/\s+/)[0] ?? '', names);
}

function isCommand(words: string): words is CommandWords {
  return Object.hasOwn(known, words);
}

/**
 * Returns the first line of Ralph's answer on a pull request; `asked` is the comment, review or commit that it answers.
 */
export function formatAnswerMarker(id: string, asked: string): string {
  return `${OWN_COMMENT_MARKER}answer ${safeInComment(id)} asked=${safeInComment(asked)} -->`;
}

/** Parses the kind and commit from Ralph's own answer, whose first words `renderAnswer` writes. */
export function parseAnswer(text: string): {
  readonly kind: 'changed' | 'unchanged' | 'given-up';
  readonly commit: string | null;
} {
  const line = text.split('\n').find((one) => one.startsWith('**')) ?? '';
  const commit = /\/commit\/([0-9a-f]{40,64})\)/.exec(line)?.[1] ?? null;
  if (line.startsWith('**A person must decide.**')) return { kind: 'given-up', commit };
  return { kind: commit === null ? 'unchanged' : 'changed', commit };
}

/** Replaces everything that could end the HTML comment around the name. */
function safeInComment(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_.]+/g, '-').slice(0, 80);
}
