import { computeMaxInput, type Spent } from '../../../core/spending/meter.ts';
import {
  computeCostAt,
  computeMaxSearches,
  findGivenPrice,
  MAX_SEARCH_USD,
  findModelPrice,
  type Prices,
} from '../../../core/spending/prices.ts';
import type { ModelProtocol } from '../../../ports/broker.ts';
import { createModelProtocol, selectHeaders, joinHeader, shortenRequest } from '../../passing/protocol.ts';
import {
  createAnswerMeter,
  estimateTokens,
  createAnswerReader,
  mergeCounts,
  parseJsonObject,
  type UsageReader,
} from '../../passing/usage.ts';
import { asObject, type JsonObject, asAmount, asArray } from '../../reading/json-value.ts';
import { tryJson } from '../../../core/text/try-json.ts';
import { createEventData } from '../../reading/agent-event.ts';

/**
 * The fields that a message of the API may have, by name. Each function describes the part of the field's value that
 * reaches out, or returns null.
 */
type Form = Readonly<Record<string, (value: unknown) => string | null>>;

/** Maximum depth, the same as Google's for JSON. */
const MAX_DEPTH = 100;

const nothing = (): null => null;

/** A picture in the answer to a function's call. */
const RESPONSE_PART: Form = { inlineData: nothing };

/** A function's answer. Arguments and answers of functions are their own data and are not examined. */
const FUNCTION_RESPONSE: Form = {
  id: nothing,
  name: nothing,
  response: nothing,
  willContinue: nothing,
  scheduling: nothing,
  parts: each('a part', (part) => unknownIn(part, RESPONSE_PART)),
};

const PART: Form = {
  text: nothing,
  thought: nothing,
  thoughtSignature: nothing,
  inlineData: nothing,
  videoMetadata: nothing,
  mediaResolution: nothing,
  functionCall: nothing,
  functionResponse: each("a function's answer", (answer) => unknownIn(answer, FUNCTION_RESPONSE)),
};

const CONTENT: Form = { role: nothing, parts: each('a part', (part) => unknownIn(part, PART)) };

/**
 * Headers about the CLI. All others are dropped: they could contain a credential, name another method or project, or
 * omit the usage from the answer.
 */
const PASSED = /^(?:user-agent|x-goog-api-client|x-server-timeout|x-gemini-[a-z0-9-]+)$/;

/** A request that one of the API's endpoints accepts. */
interface Endpoint {
  readonly model: string;
  /** True if the request generates nothing, and so costs nothing. */
  readonly isFree: boolean;
  readonly isStream: boolean;
}

const MODEL = /^\/v1(?:beta)?\/models\/(?<model>[A-Za-z0-9][\w.-]{0,99}):(?<method>[A-Za-z]+)(?<stream>\?alt=sse)?$/;

interface ProtocolOptions {
  /** Prices of models; for a model without a price, only tokens are counted. */
  readonly prices: Prices;
  /** True if the user allows the tool that searches on the provider's servers. */
  readonly mayWebSearch: boolean;
}

/** The usual length of an answer in tokens; the maximum is four times as high. */
const USUAL_OUTPUT_TOKENS = 16_000;

/** The highest output limit of any model, in tokens. */
const MAX_OUTPUT_TOKENS = 65_536;

/** Maximum number of candidates that the API returns for one request. */
const MAX_ANSWERS = 8;

/** Length of a prompt, in tokens, above which the input costs twice and the output one and a half times as much. */
const LONG_TOKENS = 200_000;

const LONG_CONTEXT_PRICED = /^gemini-[\d.]+-pro/;

/**
 * Creates the protocol of the Gemini API as far as Gemini CLI needs it: its endpoints for content, without anything
 * that the provider's servers do for the caller.
 */
export function createGeminiProtocol({ prices, mayWebSearch }: ProtocolOptions): ModelProtocol {
  const protocol: ModelProtocol = createModelProtocol<Endpoint>({
    // Google's names of errors. Gemini CLI 0.61 retries only 502; it treats Google's 503 as a quota.
    errors: {
      'no-key': [401, 'UNAUTHENTICATED'],
      'no-object': [400, 'INVALID_ARGUMENT'],
      'not-passed-on': [400, 'FAILED_PRECONDITION'],
      exhausted: [400, 'FAILED_PRECONDITION'],
      'no-price': [400, 'FAILED_PRECONDITION'],
      'too-large': [400, 'INVALID_ARGUMENT'],
      unreachable: [502, 'UNAVAILABLE'],
    },
    errorBody: ({ status: code, name: status, message }) => ({ error: { code, message, status } }),
    finalHeaders: {},
    exhausted: 'The limit of this run is reached.',
    tooLarge: 'The request exceeds the maximum length: it is larger than 32 MB.',
    exhaustedIn: (contentType) =>
      contentType.includes('text/event-stream') ? `data: ${protocol.exhausted.body}\n\n` : null,
    hasPrice: (model) => findModelPrice(prices, model) !== null,
    shortAnswer: () => null,
    headers: (given, secretFor) => {
      const key = secretFor(joinHeader(given['x-goog-api-key']));
      // Set `accept`, which decides the form of the answer.
      return key === null ? null : selectHeaders(given, PASSED, { 'x-goog-api-key': key, accept: '*/*' });
    },
    endpoint: findEndpoint,
    nameRequest: shortenGeminiRequest,
    pass: (message, { model, isFree, isStream }, { target, body }) => {
      const reach = findGeminiProviderAction(message, mayWebSearch);
      if (reach !== null) return reach;
      const text = JSON.stringify(message);
      const asked: PricedRequest = { model, chars: body.length, prices, searches: countSearches(message, model) };
      const costs = {
        model,
        expected: expectedOf(asked, message, isStream),
        atMost: atMost(asked, message, text),
        account: (contentType: string) =>
          createAnswerMeter(createGeminiUsage(contentType), (counts, chars) =>
            // For a gateway that reports no usage, the estimate counts.
            spentBy(counts ?? { ...usualCounts(asked), output: estimateTokens(chars) }, asked),
          ),
      };
      return { target, body: text, costs: isFree ? null : costs };
    },
  });
  return protocol;
}

/** The properties of a request that decide the price of its answer. */
interface PricedRequest {
  readonly model: string;
  readonly chars: number;
  readonly prices: Prices;
  /** The maximum number of searches on the provider's servers. */
  readonly searches: number;
}

/** Models up to 2.5 pay once for all searches of a request, later ones for each. */
const PAID_BY_PROMPT = /^gemini-[12]\b/;

/** List price of one search of Gemini 3 in US dollars. */
const SEARCH_USD = 0.014;

function countSearches(message: JsonObject, model: string): number {
  const searches = [message['tools']]
    .flat()
    .some((tool) => Object.keys(asObject(tool) ?? {}).some((field) => isSpellingOfField(field, 'googleSearch')));
  if (!searches) return 0;
  return computeMaxSearches([PAID_BY_PROMPT.test(model) ? 1 : null]);
}

/** Returns the expected usage without an answer: a request that may search usually does so once. */
function usualCounts({ chars, searches }: PricedRequest): GeminiTokenCounts {
  return { input: estimateTokens(chars), cached: 0, output: 0, searches: Math.min(searches, 1) };
}

/** Returns the expected cost. An answer that does not stream is generated to its end, even if nobody waits for it. */
function expectedOf(asked: PricedRequest, message: JsonObject, isStream: boolean): Spent {
  const most = mostOutput(message);
  const output = isStream ? Math.min(most, USUAL_OUTPUT_TOKENS) : most;
  return spentBy({ ...usualCounts(asked), output }, asked);
}

/** Returns the maximum cost: the longest input, the longest answer, and all searches that the request allows. */
function atMost(asked: PricedRequest, message: JsonObject, text: string): Spent {
  const { searches } = asked;
  return spentBy({ input: computeMaxInput(text, searches), cached: 0, output: mostOutput(message), searches }, asked);
}

function mostOutput(message: JsonObject): number {
  const config = asObject(message['generationConfig'] ?? message['generation_config']);
  const numberOf = (...names: readonly string[]): number | null => {
    const given = names.map((name) => config?.[name]).filter((value) => typeof value === 'number' && value > 0);
    return given.length === 0 ? null : Math.max(...(given as readonly number[]));
  };
  const limit = numberOf('maxOutputTokens', 'max_output_tokens') ?? MAX_OUTPUT_TOKENS;
  const answers = numberOf('candidateCount', 'candidate_count') ?? 1;
  return Math.min(limit, MAX_OUTPUT_TOKENS) * Math.min(answers, MAX_ANSWERS);
}

function spentBy(counts: GeminiTokenCounts, { model, prices }: PricedRequest): Spent {
  const price = findModelPrice(prices, model);
  const isLong =
    counts.input > LONG_TOKENS && LONG_CONTEXT_PRICED.test(model) && findGivenPrice(prices, model) === null;
  const asked =
    price === null || !isLong
      ? price
      : { input: 2 * price.input, cachedInput: 2 * price.cachedInput, output: 1.5 * price.output };
  const { input, output, searches } = counts;
  const ofTokens = asked === null ? 0 : computeCostAt(asked, counts);
  return { tokens: input + output, outputTokens: output, costUsd: ofTokens + searchCost(searches, model) };
}

function searchCost(searches: number, model: string): number {
  if (PAID_BY_PROMPT.test(model)) return searches > 0 ? MAX_SEARCH_USD : 0;
  return searches * (model.startsWith('gemini-3') ? SEARCH_USD : MAX_SEARCH_USD);
}

/** Returns the endpoint, or null if Gemini CLI does not need it. */
export function findEndpoint(method: string, target: string): Endpoint | null {
  const { model, method: called, stream } = (method === 'POST' ? MODEL.exec(target)?.groups : null) ?? {};
  if (model === undefined || model.includes('..')) return null;
  if (called === 'streamGenerateContent') return { model, isFree: false, isStream: true };
  // A request that does not stream has no `alt` parameter for the form of its answer.
  if (stream !== undefined) return null;
  return called === 'generateContent' || called === 'countTokens'
    ? { model, isFree: called === 'countTokens', isStream: false }
    : null;
}

/** Returns a request for the log, without its query, which could contain a key. */
export function shortenGeminiRequest(method: string, target: string): string {
  const [path = '', ...query] = target.split('?');
  return `${shortenRequest(method, path)}${query.length === 0 ? '' : ' with a query'}`;
}

/**
 * Describes the part of a request that makes the provider's servers fetch or keep content, or run programs; null if no
 * part does. An unknown field is treated as such a part.
 */
export function findGeminiProviderAction(body: JsonObject, mayWebSearch: boolean): string | null {
  if (isTooDeep(body, 0)) return 'a request that nests too deep';
  return unknownIn(body, {
    contents: each('content', (content) => unknownIn(content, CONTENT)),
    systemInstruction: each('a system instruction', (content) => unknownIn(content, CONTENT)),
    tools: each('tools', (tool) => toolIn(tool, mayWebSearch)),
    toolConfig: nothing,
    generationConfig: nothing,
    safetySettings: nothing,
  });
}

/** Applies `find` to each item: the API also accepts a single item in place of a list. */
function each(what: string, find: (item: JsonObject) => string | null): (value: unknown) => string | null {
  return (value) => {
    for (const item of Array.isArray(value) ? (value as readonly unknown[]) : [value]) {
      const fields = asObject(item);
      const found = fields === null ? `${what} in an unknown form` : find(fields);
      if (found !== null) return found;
    }
    return null;
  };
}

/** Describes the part of a tool that runs on the provider's servers: everything but functions, which the CLI runs. */
function toolIn(tool: JsonObject, mayWebSearch: boolean): string | null {
  const name = Object.keys(tool).find(
    (field) =>
      isPresent(tool[field]) &&
      !isSpellingOfField(field, 'functionDeclarations') &&
      !(mayWebSearch && isSpellingOfField(field, 'googleSearch')),
  );
  return name === undefined ? null : `the tool ${quoted(name)} of the provider's servers`;
}

function unknownIn(message: JsonObject, form: Form): string | null {
  for (const [name, value] of Object.entries(message)) {
    if (!isPresent(value)) continue;
    const find = Object.entries(form).find(([known]) => isSpellingOfField(name, known))?.[1];
    const found = find === undefined ? `${quoted(name)} in a request` : find(value);
    if (found !== null) return found;
  }
  return null;
}

/** Returns true if a name is the field: the API accepts two spellings, `fileData` and `file_data`. */
function isSpellingOfField(name: string, field: string): boolean {
  return name === field || name === field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Returns true if a value is neither null nor undefined. */
function isPresent(value: unknown): boolean {
  return value !== null && value !== undefined;
}

function isTooDeep(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return depth > MAX_DEPTH || Object.values(value).some((inner) => isTooDeep(inner, depth + 1));
}

function quoted(name: string): string {
  return JSON.stringify(name).slice(0, 60);
}

/** Tokens of one answer; `cached` is part of `input`. */
interface GeminiTokenCounts {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  /** Queries with which the provider's servers have searched; at least one if the answer rests on a search. */
  readonly searches: number;
}

/** The counts are null until the answer has reported them. */
type GeminiUsage = UsageReader<GeminiTokenCounts | null>;

/** Maximum length of an event in characters; it can contain a whole written file. */
const MAX_CHARS = 8 * 1024 * 1024;

/** Creates a reader for an answer of the Gemini API with this content type. */
export function createGeminiUsage(contentType: string): GeminiUsage {
  if (!contentType.includes('text/event-stream')) return createAnswerReader(MAX_CHARS, readAnswer);
  const { read, counts, isComplete } = createEventCounter();
  const push = createEventData(MAX_CHARS, (data) => {
    read(parseJsonObject(data));
  });
  return { push, counts, isComplete };
}

/**
 * Reads the text so far, up to the last complete item: a whole answer, or a list of the same objects that a stream
 * sends as events.
 */
function readAnswer(text: string): Pick<GeminiUsage, 'counts' | 'isComplete'> {
  const events = createEventCounter();
  const whole = tryJson(text.startsWith('[') && text.endsWith('}') ? `${text}]` : text);
  for (const event of Array.isArray(whole) ? (whole as readonly unknown[]) : [whole]) events.read(asObject(event));
  return events;
}

/** Creates a counter for events that contain the sums so far, or omit some of them. */
function createEventCounter() {
  let counts: GeminiTokenCounts | null = null;
  // An event with content is at least one token, so their number is the estimate for an answer that breaks off.
  let pieces = 0;
  const queries = new Set<string>();
  let isGrounded = false;
  let isComplete = false;
  return {
    read: (event: JsonObject | null): void => {
      const candidates = event?.['candidates'];
      if (candidates !== undefined) pieces += 1;
      for (const one of asArray(candidates)) {
        const grounding = asObject(asObject(one)?.['groundingMetadata']);
        isGrounded ||= grounding !== null && Object.keys(grounding).length > 0;
        for (const query of asArray(grounding?.['webSearchQueries'])) queries.add(String(query));
      }
      isComplete ||=
        Array.isArray(candidates) && candidates.some((one) => asObject(one)?.['finishReason'] !== undefined);
      const usage = asObject(event?.['usageMetadata']);
      if (usage !== null) counts = mergeCounts(counts, countsIn(usage));
    },
    counts: (): GeminiTokenCounts | null =>
      counts === null
        ? null
        : { ...counts, output: Math.max(counts.output, pieces), searches: Math.max(queries.size, isGrounded ? 1 : 0) },
    isComplete: () => isComplete,
  };
}

/**
 * Returns the counts. Cached tokens are reported as part of the prompt; tokens that are only in the total are treated
 * as output.
 */
function countsIn(usage: JsonObject): GeminiTokenCounts {
  const count = (name: string): number => asAmount(usage[name]) ?? 0;
  const input = count('promptTokenCount') + count('toolUsePromptTokenCount');
  const output = count('candidatesTokenCount') + count('thoughtsTokenCount');
  return {
    input,
    cached: Math.min(count('cachedContentTokenCount'), input),
    output: Math.max(output, count('totalTokenCount') - input),
    searches: 0,
  };
}
