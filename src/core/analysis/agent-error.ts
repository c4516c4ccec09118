import type { AgentError } from './analysis.ts';
import type { Failure } from './cli-event.ts';
import { capped } from './json.ts';

type Kind = AgentError['kind'];

const MAX_TEXT_CHARS = 2_000;

/** Names a failure that the CLI reported: its own fields first, its text last. */
export function classifyFailure(failure: Failure): AgentError {
  const { subtype, error, apiError, terminalReason, status, text } = failure;
  const kind =
    named(SUBTYPES, subtype) ??
    named(TERMINAL_REASONS, terminalReason) ??
    named(MESSAGE_ERRORS, error) ??
    named(API_ERRORS, apiError) ??
    byText(text) ??
    byStatus(status) ??
    'other';
  return { kind, text: capped(text, MAX_TEXT_CHARS) };
}

/** The CLI's own error printed as text, which it is only when it is the whole output; null otherwise. */
export function failureInText(output: string): Failure | null {
  const text = output.trim();
  if (text.length > MAX_TEXT_CHARS || (text.includes('\n') && !REFUSAL.test(text))) return null;
  const own = OWN_TEXTS.some((form) => form.test(text));
  return own ? { text, subtype: null, error: null, apiError: null, terminalReason: null, status: statusIn(text) } : null;
}

const SUBTYPES: Readonly<Record<string, Kind>> = { error_max_turns: 'max-turns', error_max_budget_usd: 'budget' };

const TERMINAL_REASONS: Readonly<Record<string, Kind>> = { prompt_too_long: 'prompt-too-long', max_turns: 'max-turns', budget_exhausted: 'budget' };

/** The synthetic message's `error`; `invalid_request` and `unknown` say too little. */
const MESSAGE_ERRORS: Readonly<Record<string, Kind>> = {
  authentication_failed: 'auth',
  billing_error: 'billing',
  rate_limit: 'rate-limit',
  server_error: 'server',
  overloaded: 'server',
  model_not_found: 'model',
  max_output_tokens: 'other',
};

const API_ERRORS: Readonly<Record<string, Kind>> = { connection_failed: 'server', usage_limit_reached: 'rate-limit', max_output_tokens: 'other' };

/** What the CLI makes of errors, as its versions 2.1.197 and 2.1.330 print it; the start of the text decides. */
const TEXTS: readonly (readonly [Kind, RegExp])[] = [
  ['unknown-session', /^(?:Error: )?No conversation found with session ID/i],
  ['auth', /^(?:Invalid API key|Not logged in|Failed to authenticate|Please run \/login)|^API Error: 40[13]\b/i],
  ['billing', /^Credit balance is too low/i],
  ['model', /^There's an issue with the selected model/i],
  ['prompt-too-long', /^(?:API Error: \d{3} )?Prompt is too long|^API Error: 413\b/i],
  ['max-turns', /^(?:Error: )?Reached max(?:imum number of)? turns/i],
  ['budget', /^(?:Error: )?Reached maximum budget|^(?:Error: )?Exceeded USD budget/i],
  ['rate-limit', /^You've hit your .{1,60} limit|^You're out of extra usage|^(?:Claude (?:AI )?)?(?:usage|session|5-hour|weekly) limit reached|^API Error: (?:Request rejected \(429\)|429\b)/i],
  ['server', /^API Error: (?:Repeated 529|5\d\d\b|Connection|Unable to connect|Request timed out)|^Request timed out/i],
];

/** Errors that the CLI prints without having started; `other` all of them. */
const STARTUP_TEXTS: readonly RegExp[] = [
  /^error: (?:unknown option|option|missing required|too many arguments)/,
  /^Error: (?:When using --|--[a-z-]+ |Session ID |Invalid session ID|Input must be provided|piped stdin|Settings file|claude native binary)/,
  /^--dangerously-skip-permissions cannot be used/,
];

const OWN_TEXTS: readonly RegExp[] = [...TEXTS.map(([, form]) => form), ...STARTUP_TEXTS, /^API Error: /];

/** The one error of several paragraphs. */
const REFUSAL = /^API Error: [^\n]{0,200}safeguards flagged/;

function named(kinds: Readonly<Record<string, Kind>>, name: string | null): Kind | null {
  return name !== null && Object.hasOwn(kinds, name) ? (kinds[name] ?? null) : null;
}

function byText(text: string): Kind | null {
  return TEXTS.find(([, form]) => form.test(text.trimStart()))?.[0] ?? null;
}

function byStatus(status: number | null): Kind | null {
  if (status === null) return null;
  if (status === 401 || status === 403) return 'auth';
  if (status === 402) return 'billing';
  if (status === 404) return 'model';
  if (status === 413) return 'prompt-too-long';
  if (status === 429) return 'rate-limit';
  return status >= 500 ? 'server' : null;
}

function statusIn(text: string): number | null {
  const status = /^API Error: (?:Request rejected \()?(?:Repeated )?(\d{3})\b/.exec(text)?.[1];
  return status === undefined ? null : Number(status);
}
