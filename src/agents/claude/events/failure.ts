import type { AgentError, Transcript, UsageLimit } from '../../../core/analysis/analysis.ts';
import { parseResetEpoch, parseResetTime } from '../../../core/analysis/reset-time.ts';
import { capText } from '../../../core/text/phrase.ts';
import { HOUR_MS } from '../../../core/countdown.ts';
import { isAboutErrors, kindOfProviderText, kindOfStatus } from '../../reading/failure.ts';
import type { ClaudeFailure, RateLimit } from './cli-event.ts';

type Kind = AgentError['kind'];

const MAX_TEXT_CHARS = 2_000;

/** Classifies a failure that the CLI reported, by the failure's fields first and by its text last. */
export function classifyClaudeFailure(failure: ClaudeFailure): AgentError {
  const { subtype, error, apiError, terminalReason, status, text } = failure;
  const kind =
    named(SUBTYPES, subtype) ??
    named(TERMINAL_REASONS, terminalReason) ??
    (findLimitText(text) === null ? null : 'rate-limit') ??
    named(MESSAGE_ERRORS, error) ??
    named(API_ERRORS, apiError) ??
    byText(text) ??
    kindOfStatus(status ?? parseStatusIn(text)) ??
    kindOfProviderText(text) ??
    'other';
  return { kind, text: capText(text, MAX_TEXT_CHARS) };
}

/**
 * Returns the call's failure: the reported error, or a generic one if there is no result (even with exit code 0);
 * otherwise null.
 */
export function failureOfMissingResult({
  finished,
  agentError,
}: Pick<Transcript, 'finished' | 'agentError'>): AgentError | null {
  return agentError ?? (finished ? null : { kind: 'other', text: 'The CLI ended without a result.' });
}

/** Returns the CLI's own error if it is the whole output as text, or null. */
export function parseFailureText(output: string): ClaudeFailure | null {
  const text = output.trim();
  const own = text.length <= MAX_TEXT_CHARS && !isAboutErrors(text) && WHOLE_TEXTS.some((form) => form.test(text));
  return own
    ? { text, subtype: null, error: null, apiError: null, terminalReason: null, status: parseStatusIn(text) }
    : null;
}

/**
 * Returns the beginning of a CLI error about a reached usage limit, for example `You've hit your weekly limit`, or null
 * for another text.
 */
export function findLimitText(text: string): string | null {
  return LIMIT.exec(text.trimStart())?.[0] ?? null;
}

/** Returns the HTTP status in an error text of the CLI; older versions report it nowhere else. */
export function parseStatusIn(text: string): number | null {
  const status = /^API Error(?: \([^()]{1,200}\))?: (?:Request rejected \()?(?:Repeated )?(\d{3})\b/.exec(
    text.trimStart(),
  )?.[1];
  return status === undefined ? null : Number(status);
}

const SUBTYPES: Readonly<Record<string, Kind>> = { error_max_turns: 'max-turns', error_max_budget_usd: 'budget' };

const TERMINAL_REASONS: Readonly<Record<string, Kind>> = {
  prompt_too_long: 'prompt-too-long',
  max_turns: 'max-turns',
  budget_exhausted: 'budget',
};

/** Kinds by the synthetic message's `error`; `invalid_request` and `unknown` are too vague. */
const MESSAGE_ERRORS: Readonly<Record<string, Kind>> = {
  authentication_failed: 'auth',
  billing_error: 'billing',
  rate_limit: 'rate-limit',
  server_error: 'server',
  overloaded: 'server',
  model_not_found: 'model',
  max_output_tokens: 'other',
};

const API_ERRORS: Readonly<Record<string, Kind>> = {
  connection_failed: 'server',
  usage_limit_reached: 'rate-limit',
  max_output_tokens: 'other',
};

/** The beginnings of messages about a reached limit; versions differ in apostrophes and separators. */
const LIMIT_START = [
  String.raw`You['’]ve (?:hit|reached) your (?:[\w.'’-]+ ){0,3}limit(?: for (?:[\w.-]+ ){0,3}[\w.-]*\w)?`,
  String.raw`You['’]ve used (?:up|all(?: of)?) your (?:[\w.'’-]+ ){0,3}(?:usage|credits)`,
  String.raw`Your (?:organi[sz]ation|team|workspace|company) has (?:hit|reached) its (?:[\w.'’-]+ ){0,3}limit`,
  String.raw`You['’]re out of (?:extra usage|usage credits)`,
  String.raw`(?:API Error: 400 [^\n]{0,200}?)?You have reached your specified (?:\w+ )?API usage limits`,
  String.raw`(?:API Error: (?:Request rejected \(429\)|429) · )?(?:(?:Claude|AI|Opus|Sonnet|Haiku|usage|session|5-hour|five-hour|weekly) ){0,4}limit reached`,
].join('|');

/** Matches `resets 5pm (Europe/Berlin)`, optionally followed by a hint but not by prose. */
const RESETS = String.raw`resets? (?:(?:at|on) )?(?:[a-z]{3,9}\.? \d{1,2}(?:,| at|, at)? )?[\w:]{1,12}(?: ?[ap]m)?(?: ?\([^()]{1,64}\))?(?:\.|\.? ?[·∙/(].{1,120})?`;

const LIMIT_REST = String.raw`(?:\|\d{9,13}|,? [·∙] (?!resets?\b).{1,120}|,? (?:[·∙] )?${RESETS}|\. Your limit will reset .{1,80})?`;

/** Matches a message about a limit, but not prose that begins with the same words and continues differently. */
const LIMIT = new RegExp(`^(?:${LIMIT_START})(?=\\s*(?:$|[\\n|·∙.,(])|\\s+(?:resets?|will reset)\\b)`, 'i');

/** A pattern whose match at the start of a text decides the kind. In a plain-text output, only `rest` may follow. */
interface Form {
  readonly kind: Kind;
  readonly start: RegExp;
  readonly rest: string;
}

/** The CLI's error texts, as its versions 2.1.197 and 2.1.330 print them. */
const FORMS: readonly Form[] = [
  { kind: 'unknown-session', start: /(?:Error: )?No conversation found with session ID/, rest: String.raw`: \S+` },
  {
    kind: 'auth',
    start: /Invalid API key|Not logged in|Please run \/login|OAuth token (?:revoked|has expired)/,
    rest: String.raw` · (?:Fix external API key|Please run /login|API Error: .+)`,
  },
  { kind: 'auth', start: /Your (?:organization|account) does not have access to Claude\b/, rest: '.*' },
  { kind: 'model', start: /Claude \w+ is not available with the Claude \w+ plan/, rest: '.*' },
  { kind: 'auth', start: /Failed to authenticate/, rest: String.raw`\. API Error: .+` },
  { kind: 'auth', start: /API Error: 40[13]\b/, rest: '.*' },
  { kind: 'billing', start: /Credit balance is too low/, rest: '' },
  { kind: 'model', start: /There's an issue with the selected model/, rest: String.raw` \(.{1,200}\)\..*` },
  { kind: 'prompt-too-long', start: /(?:API Error: \d{3} )?Prompt is too long/, rest: '(?: · .+)?' },
  { kind: 'prompt-too-long', start: /API Error: 413\b/, rest: '.*' },
  { kind: 'max-turns', start: /(?:Error: )?Reached max(?:imum number of)? turns/, rest: String.raw` \(\d+\)\.?` },
  { kind: 'budget', start: /(?:Error: )?(?:Reached maximum|Exceeded USD) budget/, rest: String.raw` \(\$?[\d.]+\)\.?` },
  { kind: 'rate-limit', start: /API Error: (?:Request rejected \(429\)|429\b)/, rest: '.*' },
  {
    kind: 'server',
    start: /API Error: (?:Repeated 529|5\d\d\b|Connection|Unable to connect|Request timed out)/,
    rest: '.*',
  },
  { kind: 'server', start: /Request timed out/, rest: String.raw`\.?(?: (?:Check|Try|Please|This|If|See) .+)?` },
];

const STARTS = FORMS.map(({ kind, start }) => ({ kind, start: new RegExp(`^(?:${start.source})`, 'i') }));

const WHOLE_TEXTS: readonly RegExp[] = [
  ...FORMS.map(({ start, rest }) => new RegExp(`^(?:${start.source})${rest}$`, 'i')),
  new RegExp(`^(?:${LIMIT_START})${LIMIT_REST}$`, 'i'),
  /^API Error: .+$/,
  // Only this error has several paragraphs.
  /^API Error: [^\n]{0,200}safeguards flagged/,
  // The CLI prints these errors before it has started.
  /^error: (?:unknown option|option|missing required|too many arguments).*$/,
  /^Error: (?:When using --|--[a-z-]+ |Session ID |Invalid session ID|Input must be provided|piped stdin|Settings file|claude native binary).*$/,
  /^--dangerously-skip-permissions cannot be used.*$/,
];

function named(kinds: Readonly<Record<string, Kind>>, name: string | null): Kind | null {
  return name !== null && Object.hasOwn(kinds, name) ? (kinds[name] ?? null) : null;
}

function byText(text: string): Kind | null {
  return STARTS.find(({ start }) => start.test(text.trimStart()))?.kind ?? null;
}

type Window = UsageLimit['window'];

const SHORT_WINDOW_MS = 5 * HOUR_MS;

/**
 * Returns the provider's limit that ended a call: from the CLI's structured event first, then from the text and status
 * of its own error. A limit with only one sign is unconfirmed.
 */
export function findClaudeLimit(
  failure: ClaudeFailure | null,
  rejected: RateLimit | null,
  now: number,
): UsageLimit | null {
  const limit = reportedLimit(failure, rejected, now);
  if (limit === null) return null;
  const whole =
    limit.resumeAt === null && isByPerson(findLimitText(failure?.text ?? ''))
      ? { ...limit, byPerson: true as const }
      : limit;
  return confirmed(whole, failure, { rejected, now });
}

/** Returns true if only a person can lift the limit, such as missing credit or a rule of the organization. */
function isByPerson(limit: string | null): boolean {
  return (
    limit !== null &&
    /\b(?:spend(?:ing)?|credits?|monthly|month|billing|organi[sz]ation|org|extra usage)\b/i.test(limit)
  );
}

function confirmed(
  limit: UsageLimit,
  failure: ClaudeFailure | null,
  { rejected, now }: { readonly rejected: RateLimit | null; readonly now: number },
): UsageLimit {
  return hasSecondSign(limit, failure, { rejected, now }) ? limit : { ...limit, unconfirmed: true };
}

/**
 * Returns true if a second sign confirms the limit. An event is confirmed by a failure about a limit that is at least
 * as long; a failure without an event must name the limit both in its text and in its fields.
 */
function hasSecondSign(
  { window, resumeAt }: UsageLimit,
  failure: ClaudeFailure | null,
  { rejected, now }: { readonly rejected: RateLimit | null; readonly now: number },
): boolean {
  if (failure === null) return false;
  const text = findLimitText(failure.text);
  const isNamed = rejected === null ? hasLimitField(failure) && text !== null : hasLimitField(failure) || text !== null;
  const isShort = window === 'five-hour' || (text !== null && windowOfText(text) === 'five-hour');
  // A failure that names a five-hour limit does not confirm a longer wait.
  const isLonger = resumeAt !== null && Date.parse(resumeAt) > now + SHORT_WINDOW_MS;
  return isNamed && !(isShort && isLonger);
}

function reportedLimit(failure: ClaudeFailure | null, rejected: RateLimit | null, now: number): UsageLimit | null {
  const text = failure?.text ?? '';
  if (rejected !== null) {
    const resumeAt = rejected.resetsAt === null ? parseResetTime(text, now) : parseResetEpoch(rejected.resetsAt);
    return { window: windowOfType(rejected.type), resumeAt };
  }
  if (failure === null) return null;
  const limit = findLimitText(text);
  const epoch = limit && /^\|(\d{9,13})\b/.exec(text.trimStart().slice(limit.length))?.[1];
  if (epoch) return { window: 'unknown', resumeAt: parseResetEpoch(Number(epoch)) };
  if (limit !== null || failure.apiError === 'usage_limit_reached')
    return { window: windowOfText(limit ?? text), resumeAt: parseResetTime(text, now) };
  return isOverload(failure) ? { window: 'unknown', resumeAt: parseResetTime(text, now) } : null;
}

function windowOfText(text: string): Window {
  if (/\bextra usage\b/i.test(text)) return 'extra';
  if (/\b(?:5-hour|five-hour|session)\b/i.test(text)) return 'five-hour';
  return /\bweekly\b/i.test(text) ? 'weekly' : 'unknown';
}

function windowOfType(type: string | null): Window {
  if (type === null) return 'unknown';
  if (type === 'five_hour') return 'five-hour';
  if (type.startsWith('seven_day')) return 'weekly';
  return /overage|extra/.test(type) ? 'extra' : 'unknown';
}

/** Returns true if a field of the CLI's error other than the text reports a limit. An overload is not a limit. */
function hasLimitField({ apiError, error, status }: ClaudeFailure): boolean {
  return apiError === 'usage_limit_reached' || error === 'rate_limit' || status === 429;
}

/** Returns true if the provider is overloaded: 429 and 529 after the CLI's own retries. */
function isOverload(failure: ClaudeFailure): boolean {
  const status = failure.status ?? parseStatusIn(failure.text);
  return status === 429 || status === 529 || failure.error === 'rate_limit' || failure.error === 'overloaded';
}
