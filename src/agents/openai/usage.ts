import {
  createAnswerReader,
  mergeCounts,
  parseJsonObject,
  estimateTokens,
  type UsageReader,
} from '../passing/usage.ts';
import { hasContent } from '../passing/protocol.ts';
import { createEventData } from '../reading/agent-event.ts';
import { asArray, asObject, asString, type JsonObject } from '../reading/json-value.ts';

/** OpenAI's two APIs for conversations; other providers have the second one, and some have both. */
export type OpenAiApi = 'responses' | 'chat';

/** The API that the agent's CLI was given. */
export interface ServedApis {
  readonly apis: readonly OpenAiApi[];
  /** Path of the API's address, without a slash at the end. */
  readonly basePath: string;
}

/** The path of each API after the provider's address. */
export const API_PATHS: Readonly<Record<OpenAiApi, string>> = { responses: '/responses', chat: '/chat/completions' };

/** Fields about how the model answers, common to both APIs, including those that other providers add. */
const COMMON = [
  ...['model', 'tools', 'tool_choice', 'parallel_tool_calls', 'stream', 'stream_options', 'metadata', 'user'],
  ...['temperature', 'top_p', 'top_k', 'min_p', 'top_logprobs', 'repetition_penalty', 'service_tier', 'reasoning'],
  ...['safety_identifier', 'prompt_cache_key', 'prompt_cache_options', 'prompt_cache_retention'],
  ...['thinking', 'enable_thinking', 'thinking_budget', 'preserve_thinking', 'chat_template_kwargs'],
  // This field names the providers to which a gateway may forward the request, and the data that they may store.
  'provider',
];

/** Fields that are passed on. Others are dropped, because some make a provider search, store data or run programs. */
const FIELDS: Readonly<Record<OpenAiApi, ReadonlySet<string>>> = {
  responses: new Set([
    ...COMMON,
    ...['input', 'instructions', 'include', 'text', 'truncation', 'context_management', 'client_metadata'],
    ...['max_output_tokens', 'max_tool_calls'],
  ]),
  chat: new Set([
    ...COMMON,
    ...['messages', 'functions', 'function_call', 'response_format', 'reasoning_effort', 'verbosity', 'prediction'],
    ...['max_tokens', 'max_completion_tokens', 'n', 'stop', 'seed', 'logit_bias', 'logprobs'],
    ...['frequency_penalty', 'presence_penalty', 'usage', 'tool_stream', 'vl_high_resolution_images'],
  ]),
};

/** Marks that Copilot CLI (1.0.102) adds to messages for its own use and sends along when it continues a session. */
const MARKS: ReadonlySet<string> = new Set(['__copilotMessageSource', '__copilotUserShellOutput']);

/** Tokens of one answer; cached ones are part of the input, reasoning ones of the output. */
export interface OpenaiTokenCounts {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

/** The reported usage of an answer so far. */
export interface ReportedUsage {
  /** The token counts; null until they are reported. */
  readonly usage: OpenaiTokenCounts | null;
  /** Estimate of tokens since the report; null if nothing could be counted. */
  readonly since: number | null;
  /** The tier of the answer; null until it is reported. */
  readonly tier: string | null;
  /** Searches of the provider's servers that were seen in the answer. */
  readonly searches: number;
}

/**
 * Maximum length in characters: the last event of a Responses stream repeats the whole answer and the request's tools
 * and instructions.
 */
const MAX_CHARS = 8 * 1024 * 1024;

/** Creates a reader for an answer with this content type. */
export function createOpenAiUsage(api: OpenAiApi, contentType: string): UsageReader<ReportedUsage> {
  if (!contentType.includes('text/event-stream')) return createAnswerReader(MAX_CHARS, readAnswer);
  let usage: OpenaiTokenCounts | null = null;
  let since: number | null = null;
  let tier: string | null = null;
  let searches = 0;
  const push = createEventData(MAX_CHARS, (data) => {
    const event = api === 'responses' ? responseEvent(data) : chatEvent(data);
    usage = mergeCounts(usage, event.usage);
    tier = event.tier ?? tier;
    searches = Math.max(searches + event.ended, event.searches);
    if (event.usage !== null) since = null;
    else if (event.chars !== null) since = (since ?? 0) + Math.max(1, estimateTokens(event.chars));
  });
  return { push, counts: () => ({ usage, since, tier, searches }), isComplete: () => usage !== null && since === null };
}

function readAnswer(answer: string): Pick<UsageReader<ReportedUsage>, 'counts' | 'isComplete'> {
  const whole = answer.endsWith('}') ? parseJsonObject(answer) : null;
  const usage = countsIn(whole);
  const searches = searchesIn(whole);
  return { counts: () => ({ usage, since: null, tier: tierIn(whole), searches }), isComplete: () => usage !== null };
}

/**
 * The part of one event that matters for the usage: reported tokens, the number of characters that it adds, the tier,
 * the number of searches that it ends, and the reported number of all searches; null for what it lacks.
 */
interface EventUsage {
  readonly usage: OpenaiTokenCounts | null;
  readonly chars: number | null;
  readonly tier: string | null;
  readonly ended: number;
  readonly searches: number;
}

const NO_USAGE: EventUsage = { usage: null, chars: null, tier: null, ended: 0, searches: 0 };

// Matches only in events: inside a text, the quotation marks would be escaped.
const RESPONSE_END = /"type": ?"response\.(?:completed|incomplete|failed)"/;

const RESPONSE_DELTA = /"type": ?"response\.[a-z_.]+\.delta"/;

const ITEM_END = /"type": ?"response\.output_item\.done"/;

const CHAT_USAGE = /"usage": ?\{/;

const CHAT_DELTA = /"delta": ?\{/;

function responseEvent(data: string): EventUsage {
  if (ITEM_END.test(data)) return { ...NO_USAGE, ended: isSearch(parseJsonObject(data)?.['item']) ? 1 : 0 };
  const isDelta = RESPONSE_DELTA.test(data);
  if (!isDelta && !RESPONSE_END.test(data)) return NO_USAGE;
  const event = parseJsonObject(data);
  if (isDelta) return { ...NO_USAGE, chars: asString(event?.['delta'])?.length ?? 0 };
  const response = asObject(event?.['response']);
  return { ...NO_USAGE, usage: countsIn(response), tier: tierIn(response), searches: searchesIn(response) };
}

function chatEvent(data: string): EventUsage {
  if (!CHAT_USAGE.test(data) && !CHAT_DELTA.test(data)) return NO_USAGE;
  const event = parseJsonObject(data);
  const deltas = asArray(event?.['choices']).map((choice) => asObject(asObject(choice)?.['delta']));
  const chars = deltas.reduce((sum, delta) => sum + (delta === null ? 0 : charsIn(delta, 0)), 0);
  return {
    ...NO_USAGE,
    ...{ usage: countsIn(event), chars: chars === 0 ? null : chars, tier: tierIn(event), searches: searchesIn(event) },
  };
}

/** True if an item of an answer is a search that is charged; opening a page that was found is not. */
function isSearch(value: unknown): boolean {
  const item = asObject(value);
  const action = asObject(item?.['action'])?.['type'];
  return item?.['type'] === 'web_search_call' && (action === undefined || action === 'search');
}

function tierIn(answer: JsonObject | null): string | null {
  return asString(answer?.['service_tier']) ?? null;
}

const MAX_DEPTH = 8;

/** Returns the number of characters that a delta adds: text, thoughts, names and arguments of calls. */
function charsIn(value: unknown, depth: number): number {
  if (typeof value === 'string') return value.length;
  if (depth === MAX_DEPTH || typeof value !== 'object' || value === null) return 0;
  return Object.entries(value).reduce(
    (sum, [name, part]) => (UNCOUNTED.has(name) ? sum : sum + charsIn(part, depth + 1)),
    0,
  );
}

const UNCOUNTED = new Set(['role', 'id', 'type']);

/** Returns the counts, which may be under either API's names. */
function countsIn(answer: JsonObject | null): OpenaiTokenCounts | null {
  const usage = asObject(answer?.['usage']);
  if (usage === null) return null;
  const details = asObject(usage['input_tokens_details']) ?? asObject(usage['prompt_tokens_details']);
  const input = countOf(usage, 'input_tokens', 'prompt_tokens');
  // Compare with the sum, because some providers include the reasoning only there and not in the output.
  const output = Math.max(countOf(usage, 'output_tokens', 'completion_tokens'), countOf(usage, 'total_tokens') - input);
  // Every answer has tokens, so a report of zero is ignored.
  if (input + output === 0) return null;
  const cached = Math.max(
    countOf(details, 'cached_tokens'),
    countOf(usage, 'cached_tokens', 'prompt_cache_hit_tokens'),
  );
  return { input, cached, output };
}

/** Returns the number of searches that an answer reports, which is independent of its tokens. */
function searchesIn(answer: JsonObject | null): number {
  const usage = asObject(answer?.['usage']);
  return Math.max(
    asArray(answer?.['output']).filter(isSearch).length,
    countOf(asObject(usage?.['server_tool_use']), 'web_search_requests'),
    countOf(usage, 'num_search_queries'),
  );
}

/** Returns the largest of the counts with these names. */
function countOf(usage: JsonObject | null, ...names: readonly string[]): number {
  const counts = names.map((name) => usage?.[name]);
  return Math.max(0, ...counts.map((count) => (typeof count === 'number' && Number.isFinite(count) ? count : 0)));
}

/** Returns the body to send. `mayWebSearch` means that the user allows the provider's search. */
export function buildRequestBody(api: OpenAiApi, body: JsonObject, mayWebSearch: boolean): JsonObject {
  const isKept = (name: string): boolean =>
    FIELDS[api].has(name) || (mayWebSearch && api === 'chat' && name === 'web_search_options');
  const kept = Object.fromEntries(
    Object.entries(body).flatMap(([name, value]): [string, unknown][] =>
      isKept(name) ? [[name, name === 'messages' || name === 'input' ? withoutMarks(value) : value]] : [],
    ),
  );
  // Do not let the provider store the conversation, which anyone with the key could read later.
  if (api === 'responses') return { ...kept, store: false };
  // Otherwise a stream does not report its usage.
  return hasContent(body['stream']) && body['stream'] !== false
    ? { ...kept, stream_options: { ...asObject(body['stream_options']), include_usage: true } }
    : kept;
}

function withoutMarks(messages: unknown): unknown {
  if (!Array.isArray(messages)) return messages;
  return (messages as readonly unknown[]).map((message) => {
    const fields = asObject(message);
    if (fields === null || !Object.keys(fields).some((name) => MARKS.has(name))) return message;
    return Object.fromEntries(Object.entries(fields).filter(([name]) => !MARKS.has(name)));
  });
}

/** Returns the API of a request, or null if the agent's CLI does not need it. */
export function findOpenAiApi(method: string, target: string, { apis, basePath }: ServedApis): OpenAiApi | null {
  if (method !== 'POST') return null;
  return apis.find((api) => target === `${basePath}${API_PATHS[api]}`) ?? null;
}

/** True if a request asks for the list of models, which every CLI can do without: the user names the model. */
export function asksForModels(method: string, target: string, { basePath }: ServedApis): boolean {
  return method === 'GET' && target.startsWith(basePath) && /^\/models(?:[/?]|$)/.test(target.slice(basePath.length));
}
