import type { AgentError, UsageLimit } from '../../core/analysis/analysis.ts';
import { parseResetTime } from '../../core/analysis/reset-time.ts';
import { capText } from '../../core/text/phrase.ts';
import type { Dialect, ErrorForm, AgentFailure } from './agent-event.ts';

const MAX_TEXT_CHARS = 2_000;

/** Texts with which providers report that a plan or a key is used up for now. */
const LIMIT = new RegExp(
  [
    String.raw`\b(?:hit|reached|exceeded|exhausted|used up) (?:a|its|your|the|this) (?:(?!(?:size|context|length|input|output|image|file|memory)\b)[\w.'’-]+ ){0,4}(?:limits?|quota|cap|allowance|token usage)\b`,
    String.raw`\bquota[ _](?:exceeded|reached)\b|\binsufficient_quota\b|\bexceeded your current quota\b|\bno (?:quota|remaining (?:\w+ ){0,2}(?:requests|credits))\b`,
    String.raw`\bexhausted your capacity\b|\bused (?:up |all )(?:of )?(?:your|today['’]s) (?:[\w.'’-]+ ){0,4}(?:usage|credits|requests|quota|allowance)\b`,
    String.raw`\b(?:budget|free tier) (?:[\w.'’-]+ ){0,4}has been (?:reached|exceeded|exhausted)\b|\bExceededBudget\b|\bFreeTierOnly\b`,
    String.raw`\busage (?:is|has been|was) exhausted\b|\bspend(?:ing)? (?:cap|limit) (?:has been |was |is )?(?:reached|exceeded)\b`,
    String.raw`\busage_limit_(?:reached|exceeded)\b|\b(?:usage limit|(?:free|plan|api|token|model) usage) (?:has been |was )?(?:reached|exceeded)\b`,
    String.raw`\b(?:daily|weekly|monthly|five-hour|5-hour|session|key|quota) (?:[\w-]+ ){0,2}limit (?:has been |was |is )?(?:reached|exceeded|exhausted)\b`,
  ].join('|'),
  'i',
);

/** Limits that only a person can lift. Waiting does not help, even if the text names a time. */
const BY_PERSON =
  /insufficient_quota|exceeded your current quota|\bbilling\b|\bspend(?:ing)?\b|\bcredits?\b|\bmonthly\b|\ballowance\b|\bno (?:quota|remaining)\b|\bupgrade\b|\bpurchase\b|\btotal limit\b|budget\b|\bfree[ ]?tier/i;

/** Limits that end by themselves, even if the text advises people to pay. */
const BY_ITSELF = /\btry again later\b|\bwait for\b|\b(?:daily|weekly)\b|\bper[ -](?:day|week)\b|\bfree usage\b/i;

/** Statuses with which a limit is reported; others have their own meaning, regardless of the text. */
const LIMIT_STATUSES: readonly (number | null)[] = [null, 400, 402, 403, 429];

/** Texts of a provider without capacity, and of a request that it can never take, whatever the status. */
const BEYOND_CAPACITY: readonly ErrorForm[] = [
  ['prompt-too-long', /\brequest too large\b.{0,200}\brequested \d/i],
  [
    'server',
    /\boverloaded(?:_error)?\b|\bat capacity\b|\bno capacity available\b|\bMODEL_CAPACITY_EXHAUSTED\b|\bhigh demand\b/i,
  ],
];

/** Other texts of providers, for statuses that are too vague. */
const SHARED: readonly ErrorForm[] = [
  [
    'rate-limit',
    /\brate.?limit(?:s|ed|_?error|_exceeded)?\b|\btoo many (?:requests\b|tokens(?: per \w+)?, please wait\b)|\bresource(?: has been |[ _])exhausted\b|\bThrottlingException\b|\bServiceQuotaExceeded/i,
  ],
  [
    'auth',
    /\brefresh[ _]token\b.{0,40}\b(?:used|reused|expired|revoked|invalid)|\baccess token could not be refreshed\b|\btoken (?:has |is )?expired\b|\b(?:sign(?:ing)?|log(?:ging)?) in again\b|\binvalid_(?:api_key|grant)\b|\b(?:incorrect|invalid) (?:x-)?api[ -]key\b|\bauthentication_error\b|\bnot logged in\b|(?<!proxy )\bauthentication required\b|\bapi key (?:is |has been |was )?(?:invalid|not valid|expired|disabled|revoked|deleted)\b|\bAPI_KEY_INVALID\b|\b(?:country|region|location)\b.{0,40}\bnot supported\b|\borgani[sz]ation has been disabled\b|\bnot authorized to use\b|\bdenied by policy\b|\bPlease run \/login\b|\bmust be verified to use\b|\bdo(?:es)? not have access to the organi[sz]ation\b/i,
  ],
  [
    'billing',
    /\binsufficient (?:credits?|balance|funds)\b|\b(?:credit|account) balance is too low\b|\bout of (?:\w+ )?credits\b|\bcredits (?:are|have been) (?:depleted|exhausted|used up)\b|\b(?:trial|subscription|plan) (?:has (?:ended|expired)|does not include)\b|\bbilling (?:hard )?limit\b|\bpayment required\b|\bbilling to be enabled\b|\bArrearage\b|\baccount is in good standing\b|\baccount (?:is|has been) suspended\b|\bno payment method\b|\brequires more credits\b/i,
  ],
  [
    'prompt-too-long',
    /ran out of room|\bprompt is too long\b|exceeds the maximum number of tokens|maximum context length|context_length_exceeded|exceeds the context window|ContextOverflowError|exceeds the maximum length|exceed context limit|\bprompt token count of \d+ exceeds\b/i,
  ],
  [
    'model',
    /\bmodels?\b.{0,200}\b(?:does not exist|not found|(?:is |are )?not (?:available|supported)|isn['’]t (?:available|supported)|is unavailable|(?:has been|was) retired|no longer (?:available|supported)|identifier is invalid)\b|\bmodel_not_(?:found|available)\b|\bunknown model\b|ModelNotFoundError\b/i,
  ],
  [
    'server',
    /\b(?:ECONN(?:REFUSED|RESET|ABORTED)|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH)\b|\bsocket hang up\b|\bfetch failed\b|\bstream disconnected before completion\b|\berror sending request\b|\b(?:Bad Gateway|Service Unavailable|Gateway Time-?out|Internal Server Error)\b/,
  ],
];

/**
 * Classifies the failure that ended a call: a limit first, then by the agent's own texts, by the status, and by texts
 * that all providers use.
 */
export function classifyFailure(failure: AgentFailure, { reported }: Pick<Dialect, 'reported'>): AgentError {
  const { text, status } = failure;
  const kind =
    (reportsLimit(failure) ? 'rate-limit' : null) ??
    kindIn(BEYOND_CAPACITY, text) ??
    kindIn(reported, text) ??
    kindOfStatus(status) ??
    kindIn(SHARED, text) ??
    'other';
  return { kind, text: capText(text, MAX_TEXT_CHARS) };
}

/** Returns the limit that ended a call, or null. If the failure does not name a limit, a second sign is required. */
export function findUsageLimit(
  failure: AgentFailure,
  kind: AgentError['kind'],
  resumeAt: string | null,
): UsageLimit | null {
  if (reportsLimit(failure))
    return { window: 'unknown', resumeAt, ...(isByPerson(failure, resumeAt) ? { byPerson: true } : {}) };
  return kind === 'rate-limit' ? { window: 'unknown', resumeAt, unconfirmed: true } : null;
}

/**
 * Returns the instant (ISO) at which calls are accepted again according to a failure, counted from its own time, or
 * null.
 */
export function findResetTime({ text, at }: AgentFailure, now: number): string | null {
  return parseResetTime(text, Math.max(now, at ?? now));
}

function isByPerson({ text, status }: AgentFailure, resumeAt: string | null): boolean {
  return resumeAt === null && (status === 402 || BY_PERSON.test(text)) && !BY_ITSELF.test(text);
}

function reportsLimit({ text, status }: AgentFailure): boolean {
  return LIMIT_STATUSES.includes(status) && LIMIT.test(text);
}

/** Beginnings of a message with the provider's failure, which some agents print in place of the model's answer. */
const SPOKEN =
  /^(?:API Error: |Error: (?=\W*[A-Z\d])|[45]\d\d (?=\W*[A-Z])|(?:sorry, )?you(?:['’]ve| have) (?:hit|reached|exceeded|exhausted)\b|(?:quota|usage limit|retry limit|rate limit) (?:has been |is |was )?(?:exceeded|reached|exhausted|hit)\b|exceeded (?:retry limit|your)|unexpected status \d|we['’]re currently experiencing high demand)/i;

/** Returns the provider's failure that an agent prints in place of an answer; null if the text is a real answer. */
export function findFailureInAnswer(answer: string): string | null {
  const text = answer.trim();
  return text.length <= MAX_TEXT_CHARS && !text.includes('\n') && SPOKEN.test(text) && !isAboutErrors(text)
    ? text.replace(/^(?:API )?Error: /i, '')
    : null;
}

/** Matches the line with which a program reports why it ends. */
const ERROR_LINE = /^\W{0,4}(?:[\w.]{0,80}(?:Error|Exception)|error|fatal)\b[^:\n]{0,40}: \S/i;

/** Maximum number of last lines in which a program reports why it ended. */
const MAX_LAST_LINES = 12;

/**
 * Returns the failure that a failed program printed last, from its error line to the end. An output of one or two lines
 * is a failure as a whole. Returns null for any other output.
 */
export function findLastFailure(output: string): string | null {
  const lines = visibleLines(output).slice(-MAX_LAST_LINES);
  const at = lines.findLastIndex((line) => ERROR_LINE.test(line) || findFailureInAnswer(line) !== null);
  const text = lines.slice(Math.max(at, 0)).join('\n');
  return text === '' || (at === -1 && lines.length > 2) || isAboutErrors(text) ? null : text;
}

/** Forms of an agent's prose about errors that it works on: `API Error: 500 responses are retried now.` */
const ABOUT_ERRORS: readonly RegExp[] = [
  new RegExp(
    String.raw`^API Error: (?:\S+ ){0,2}(?:responses?|errors?|answers?|replies|failures?|handling|retries|cases?|codes?|timeouts?)(?: [\w'-]+){0,4}? (?:${'is|are|was|were|has|have|gets?|will|should|can|now|added|done|fixed|handled|implemented|improved|tested'})\b`,
    'i',
  ),
  /^API Error: (?:\d{3} )?(?:(?:is|are|was|were) )?(?:now )?(?:handled|retried|caught|mapped|shown|logged|fixed|tested|covered)\b/i,
  // The CLI's own texts do not begin with an article or pronoun, so such a text is the agent's prose.
  /^API Error: (?:the|an?|this|that|these|those|new|my|our|its) /,
  // Prose says in its first sentence what the agent did ("now returns"). A provider's error uses "now" only in phrases
  // such as "right now" or "upgrade now".
  /^(?:[^.!?\n·{]|[.!?](?=\S)){0,300}?\b(?:(?<!\b(?:right|upgrade|credits?) )now|added|handled|retried|translated|mapped|covered|implemented|fixed)\b/i,
];

/** Returns true if a text that begins like an error is an agent's sentence about its work on such errors. */
export function isAboutErrors(text: string): boolean {
  return ABOUT_ERRORS.some((form) => form.test(text));
}

/** Returns the CLI's own error if the first line of the output, ignoring noise, is one; else null. */
export function findErrorInText(
  text: string,
  { printed, noise }: Pick<Dialect, 'printed' | 'noise'>,
): AgentError | null {
  const lines = visibleLines(text).filter((line) => noise?.test(line) !== true);
  const kind = kindIn(printed, lines[0] ?? '');
  return kind && { kind, text: capText(lines.join('\n'), MAX_TEXT_CHARS) };
}

/** Returns the lines of an output without blanks, colours and warnings of Node.js. */
function visibleLines(text: string): readonly string[] {
  const lines = text.replace(COLOURS, '').split('\n');
  return lines.map((line) => line.trim()).filter((line) => line !== '' && !OF_NODE.test(line));
}

/** Returns the kind of error by a text that all providers use, or null. */
export function kindOfProviderText(text: string): AgentError['kind'] | null {
  return kindIn(SHARED, text);
}

function kindIn(forms: readonly ErrorForm[], text: string): AgentError['kind'] | null {
  return forms.find(([, form]) => form.test(text))?.[0] ?? null;
}

/** Warnings of Node.js, the runtime of most CLIs. */
const OF_NODE = /^\(node:\d+\) |^\(Use `node /;

const COLOURS = new RegExp(String.raw`\u001b\[[0-9;]{0,16}m`, 'g');

/** Returns the kind of error for an HTTP status of a model's provider, or null if it is too vague. */
export function kindOfStatus(status: number | null): AgentError['kind'] | null {
  if (status === null) return null;
  if (status === 401 || status === 403) return 'auth';
  if (status === 402) return 'billing';
  if (status === 404) return 'model';
  if (status === 413) return 'prompt-too-long';
  if (status === 429) return 'rate-limit';
  return status >= 500 ? 'server' : null;
}
