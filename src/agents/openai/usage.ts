import { createEventData } from '../reading/event-data.ts';
import { asArray, asObject, asString, type JsonObject } from '../reading/json.ts';
import type { OpenAiApi } from './endpoints.ts';

/** Tokens of one answer; what came from the cache is a part of the input, what was thought of the output. */
export interface TokenCounts {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

/** What an answer has told so far. */
interface Told {
  /** null: it has not said. */
  readonly usage: TokenCounts | null;
  /** Tokens that have come since it said so, roughly; null: nothing that could be counted. */
  readonly since: number | null;
  /** The tier that it was served in; null: it has not said. */
  readonly tier: string | null;
}

/** Reads the usage in an answer while it passes. */
export interface UsageReader {
  push(text: string): void;
  told(): Told;
}

/** The last event of a Responses stream repeats the whole answer, the request's tools and instructions. */
const MAX_CHARS = 8 * 1024 * 1024;
/** Four characters are about a token. */
const CHARS_PER_TOKEN = 4;

/** For an answer of this content type. */
export function createUsageReader(api: OpenAiApi, contentType: string): UsageReader {
  return contentType.includes('text/event-stream') ? createStreamReader(api) : createAnswerReader();
}

function createStreamReader(api: OpenAiApi): UsageReader {
  let usage: TokenCounts | null = null;
  let since: number | null = null;
  let tier: string | null = null;
  const push = createEventData(MAX_CHARS, (data) => {
    const event = api === 'responses' ? responseEvent(data) : chatEvent(data);
    usage = merged(usage, event.usage);
    tier = event.tier ?? tier;
    if (event.usage !== null) since = null;
    else if (event.chars !== null) since = (since ?? 0) + Math.max(1, tokensIn(event.chars));
  });
  return { push, told: () => ({ usage, since, tier }) };
}

/** What one event tells: usage, or how many characters of the answer; null: neither. */
interface EventTold {
  readonly usage: TokenCounts | null;
  readonly chars: number | null;
  readonly tier: string | null;
}

const SILENT: EventTold = { usage: null, chars: null, tier: null };
// Within a text its quotation marks would be escaped: only events hold these.
const RESPONSE_END = /"type": ?"response\.(?:completed|incomplete|failed)"/;
const RESPONSE_DELTA = /"type": ?"response\.[a-z_.]+\.delta"/;
const CHAT_USAGE = /"usage": ?\{/;
const CHAT_DELTA = /"delta": ?\{/;

function responseEvent(data: string): EventTold {
  const isDelta = RESPONSE_DELTA.test(data);
  if (!isDelta && !RESPONSE_END.test(data)) return SILENT;
  const event = parsed(data);
  if (isDelta) return { ...SILENT, chars: asString(event?.['delta'])?.length ?? 0 };
  const response = asObject(event?.['response']);
  return { usage: countsIn(response), chars: null, tier: tierIn(response) };
}

function chatEvent(data: string): EventTold {
  if (!CHAT_USAGE.test(data) && !CHAT_DELTA.test(data)) return SILENT;
  const event = parsed(data);
  const deltas = asArray(event?.['choices']).map((choice) => asObject(asObject(choice)?.['delta']));
  const chars = deltas.reduce((sum, delta) => sum + (delta === null ? 0 : charsIn(delta, 0)), 0);
  return { usage: countsIn(event), chars: chars === 0 ? null : chars, tier: tierIn(event) };
}

function tierIn(answer: JsonObject | null): string | null {
  return asString(answer?.['service_tier']) ?? null;
}

const MAX_DEPTH = 8;

/** Characters of all that a delta adds: text, thoughts, names and arguments of calls. */
function charsIn(value: unknown, depth: number): number {
  if (typeof value === 'string') return value.length;
  if (depth === MAX_DEPTH || typeof value !== 'object' || value === null) return 0;
  return Object.entries(value).reduce(
    (sum, [name, part]) => (UNCOUNTED.has(name) ? sum : sum + charsIn(part, depth + 1)),
    0,
  );
}

const UNCOUNTED = new Set(['role', 'id', 'type']);

function createAnswerReader(): UsageReader {
  let answer = '';
  let isTooLong = false;
  return {
    push(text) {
      isTooLong ||= answer.length + text.length > MAX_CHARS;
      if (!isTooLong) answer += text;
    },
    // Asked while it passes, too.
    told: () => {
      const whole = !isTooLong && answer.trimEnd().endsWith('}') ? parsed(answer) : null;
      return { usage: countsIn(whole), since: null, tier: tierIn(whole) };
    },
  };
}

/** By the names of both APIs. */
function countsIn(answer: JsonObject | null): TokenCounts | null {
  const usage = asObject(answer?.['usage']);
  if (usage === null) return null;
  const details = asObject(usage['input_tokens_details']) ?? asObject(usage['prompt_tokens_details']);
  const input = countOf(usage, 'input_tokens', 'prompt_tokens');
  // Some leave out of the output what was thought, and have it in the sum alone.
  const output = Math.max(countOf(usage, 'output_tokens', 'completion_tokens'), countOf(usage, 'total_tokens') - input);
  // No answer is made of nothing: a gateway that says so does not count.
  if (input + output === 0) return null;
  const cached = Math.max(
    countOf(details, 'cached_tokens'),
    countOf(usage, 'cached_tokens', 'prompt_cache_hit_tokens'),
  );
  return { input, cached, output };
}

/** Every event tells the sum so far, or leaves a kind out. */
function merged(a: TokenCounts | null, b: TokenCounts | null): TokenCounts | null {
  if (a === null || b === null) return a ?? b;
  return {
    input: Math.max(a.input, b.input),
    cached: Math.max(a.cached, b.cached),
    output: Math.max(a.output, b.output),
  };
}

export function tokensIn(chars: number): number {
  return Math.ceil(chars / CHARS_PER_TOKEN);
}

function parsed(text: string): JsonObject | null {
  try {
    return asObject(JSON.parse(text));
  } catch {
    return null;
  }
}

/** The largest of the counts of these names. */
function countOf(usage: JsonObject | null, ...names: readonly string[]): number {
  const counts = names.map((name) => usage?.[name]);
  return Math.max(0, ...counts.map((count) => (typeof count === 'number' && Number.isFinite(count) ? count : 0)));
}
