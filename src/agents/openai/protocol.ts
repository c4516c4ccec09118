import { computeMaxInput, type Spent } from '../../core/spending/meter.ts';
import {
  computeMaxSearches,
  computeModelCost,
  MAX_SEARCH_USD,
  findModelPrice,
  type Prices,
} from '../../core/spending/prices.ts';
import type { ModelProtocol } from '../../ports/broker.ts';
import { findBearerKey, createModelProtocol, selectHeaders, hasContent, shortenRequest } from '../passing/protocol.ts';
import { createAnswerMeter, estimateTokens } from '../passing/usage.ts';
import { asArray, asObject, asString, type JsonObject } from '../reading/json-value.ts';
import { findProviderAction, searchesByItself, WEB_SEARCH } from './reaches-out.ts';
import {
  findOpenAiApi,
  asksForModels,
  createOpenAiUsage,
  type OpenAiApi,
  buildRequestBody,
  type ServedApis,
  API_PATHS,
  type OpenaiTokenCounts,
  type ReportedUsage,
} from './usage.ts';

/** Address of OpenAI's API. */
export const OPENAI_ADDRESS = 'https://api.openai.com/v1';

/**
 * Headers by which Codex, OpenCode, Qwen Code and Copilot CLI describe themselves, their session and the form of a
 * request. All others are dropped: possible credentials, and the account of the request.
 */
const PASSED = new RegExp(
  `^(?:${[
    'accept|user-agent|originator|version|http-referer|x-title|x-initiator|x-interaction-type|x-client-request-id',
    '(?:session|thread|conversation)[_-]id|x-session-(?:id|affinity)',
    '(?:x-stainless|x-codex)-[a-z0-9-]+|x-openai-subagent|x-openai-internal-codex-responses-lite',
    'x-dashscope-(?:cachecontrol|useragent)',
  ].join('|')})$`,
);

interface ProtocolOptions extends ServedApis {
  /** The user's headers for every request, for a gateway. */
  readonly headers: Readonly<Record<string, string>>;
  /** True if the user allows the tool that searches on the provider's servers. */
  readonly mayWebSearch: boolean;
  readonly prices: Prices;
}

/** The usual length of an answer in tokens; the maximum is eight times as high. */
const USUAL_OUTPUT_TOKENS = 16_000;

/** The highest output limit of any model, in tokens. */
const MAX_OUTPUT_TOKENS = 128_000;

/** Maximum number of answers to one question in the API. */
const MAX_ANSWERS = 128;

/** Maximum price factor of the provider's fast tier. */
const PRIORITY = 2.5;

/**
 * Creates the protocol of OpenAI's Responses API and Chat Completions as far as the CLIs need it: conversations that
 * are complete in the request, without anything that the provider's servers do for the caller.
 */
export function createOpenAiProtocol(options: ProtocolOptions): ModelProtocol {
  const { mayWebSearch, prices } = options;
  return createModelProtocol<OpenAiApi>({
    // No CLI retries these statuses, except 502.
    errors: {
      'no-key': [401, 'not_passed_on'],
      'no-object': [400, 'not_passed_on'],
      'not-passed-on': [400, 'not_passed_on'],
      exhausted: [400, 'run_limit_reached'],
      'no-price': [400, 'model_without_price'],
      'too-large': [400, 'context_length_exceeded'],
      unreachable: [502, 'provider_unreachable'],
    },
    errorBody,
    finalHeaders: { 'x-should-retry': 'false' },
    exhausted: EXHAUSTED,
    tooLarge: "The model's maximum context length is exceeded: the request is larger than 32 MB",
    exhaustedIn: (contentType) => (contentType.includes('text/event-stream') ? exhaustedEvents(options) : null),
    hasPrice: (model) => findModelPrice(prices, model) !== null,
    shortAnswer: (method, target) => (asksForModels(method, target, options) ? NO_LIST : null),
    headers: (given, secretFor) => {
      const key = findBearerKey(given, secretFor);
      return key === null ? null : selectHeaders(given, PASSED, { ...options.headers, authorization: `Bearer ${key}` });
    },
    endpoint: (method, target) => findOpenAiApi(method, target, options),
    nameRequest: shortenRequest,
    pass: (message, api, { body }) => {
      const sent = buildRequestBody(api, message, mayWebSearch);
      const reach = findProviderAction(api, message, sent, mayWebSearch);
      if (reach !== null) return reach;
      const text = trySerialize(sent);
      if (text === null) return 'a request that nests too deep';
      const model = asString(sent['model']) ?? '';
      const asked: PricedRequest = {
        ...{ api, model, tier: sent['service_tier'], chars: body.length, prices },
        search: searchIn(sent, model),
      };
      const costs = {
        model,
        expected: spentBy({ ...usualCounts(asked), output: expectedOutput(sent) }, asked),
        atMost: spentBy(
          {
            input: computeMaxInput(text, asked.search.most),
            cached: 0,
            output: mostOutput(sent),
            searches: asked.search.most,
          },
          { ...asked, tier: isLeftToProject(asked.tier) ? 'priority' : asked.tier },
        ),
        account: (contentType: string) => openAnswerMeter(contentType, asked),
      };
      return { target: API_PATHS[api], body: text, costs };
    },
  });
}

const EXHAUSTED = 'The limit of this run is reached: no more requests are passed on';

/** Returns the end of a stream: one event of the API that the CLI uses. */
function exhaustedEvents({ apis }: ServedApis): string {
  const error = { code: 'insufficient_quota', message: EXHAUSTED };
  return apis.includes('responses')
    ? `event: response.failed\ndata: ${JSON.stringify({ type: 'response.failed', response: { status: 'failed', error } })}\n\n`
    : `data: ${JSON.stringify({ error: { ...error, type: 'insufficient_quota', param: null } })}\n\n`;
}

/** The properties of a request that decide the price of its answer. */
interface PricedRequest {
  readonly api: OpenAiApi;
  readonly model: string;
  readonly tier: unknown;
  readonly chars: number;
  readonly prices: Prices;
  readonly search: Search;
}

/** The searches on the provider's servers that a request allows. */
interface Search {
  /** The maximum number. */
  readonly most: number;
  /** The number for an answer that reports none. */
  readonly usual: number;
  readonly usdEach: number;
}

/** List prices of one search in US dollars; the older tool costs more with models that do not reason. */
const SEARCH_USD = 0.01;
const OLDER_SEARCH_USD = 0.025;

function searchIn(sent: JsonObject, model: string): Search {
  // Each answer searches, and each gateway has its own price.
  if (hasContent(sent['web_search_options']) || searchesByItself(model))
    return { most: computeMaxSearches([null]), usual: 1, usdEach: MAX_SEARCH_USD };
  const types = asArray(sent['tools']).map((tool) => asString(asObject(tool)?.['type']) ?? '');
  const found = types.filter((type) => WEB_SEARCH.test(type));
  const limit = sent['max_tool_calls'];
  const isOlder = found.some((type) => type.includes('preview')) && !/^(?:gpt-[5-9]|o\d)/.test(model);
  return {
    most: found.length === 0 ? 0 : computeMaxSearches([isAboveZero(limit) ? limit : null]),
    usual: 0,
    usdEach: isOlder ? OLDER_SEARCH_USD : SEARCH_USD,
  };
}

type Counts = OpenaiTokenCounts & Pick<ReportedUsage, 'searches'>;

/** Returns the expected usage without an answer. */
function usualCounts({ chars, search }: PricedRequest): Counts {
  return { input: estimateTokens(chars), cached: 0, output: 0, searches: Math.min(search.most, 1) };
}

/**
 * Returns the expected output in tokens. An answer that does not stream is generated to its end, even if nobody waits
 * for it.
 */
function expectedOutput(sent: JsonObject): number {
  return sent['stream'] === true ? Math.min(mostOutput(sent), USUAL_OUTPUT_TOKENS * answersTo(sent)) : mostOutput(sent);
}

/** Returns the longest answer, in tokens, that the request allows; the provider may apply any of several limits. */
function mostOutput(sent: JsonObject): number {
  const limits = [sent['max_output_tokens'], sent['max_completion_tokens'], sent['max_tokens']].filter(isAboveZero);
  return Math.min(limits.length === 0 ? MAX_OUTPUT_TOKENS : Math.max(...limits), MAX_OUTPUT_TOKENS) * answersTo(sent);
}

function answersTo({ n }: JsonObject): number {
  return isAboveZero(n) ? Math.min(n, MAX_ANSWERS) : 1;
}

function isAboveZero(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0;
}

function openAnswerMeter(contentType: string, asked: PricedRequest): ReturnType<typeof createAnswerMeter> {
  return createAnswerMeter(
    createOpenAiUsage(asked.api, contentType),
    ({ usage, since, tier, searches: seen }, chars) => {
      // A project may use another tier than the request asks for.
      const served = { ...asked, tier: isDearer(asked.tier) ? asked.tier : tier };
      const searches = Math.max(seen, asked.search.usual);
      if (usage !== null) return spentBy({ ...usage, searches, output: usage.output + (since ?? 0) }, served);
      // Usage is reported at the end; until then, and if the provider reports none, the characters so far are the
      // estimate.
      return spentBy({ ...usualCounts(asked), searches, output: since ?? estimateTokens(chars) }, served);
    },
  );
}

/** Returns the usage; without a known price for the model, only tokens count. */
function spentBy(counts: Counts, { model, tier, prices, search }: PricedRequest): Spent {
  const tokens = counts.input + counts.output;
  const { output: outputTokens } = counts;
  const ofTokens = (computeModelCost(prices, model, counts) ?? 0) * (isDearer(tier) ? PRIORITY : 1);
  return { tokens, outputTokens, costUsd: ofTokens + counts.searches * search.usdEach };
}

/** Returns true if a tier is more expensive: any unusual name is treated as the fast one. */
function isDearer(tier: unknown): boolean {
  return typeof tier === 'string' && !['', 'auto', 'default', 'standard', 'flex', 'scale'].includes(tier);
}

/** Returns true if the request leaves the tier to the project, whose default may be the fast one. */
function isLeftToProject(tier: unknown): boolean {
  return typeof tier !== 'string' || tier === '' || tier === 'auto';
}

function errorBody({
  status,
  name: code,
  message,
}: Parameters<Parameters<typeof createModelProtocol>[0]['errorBody']>[0]): object {
  const type = status === 502 ? 'server_error' : 'invalid_request_error';
  return { error: { message, type, param: null, code } };
}

const NO_LIST = {
  status: 404,
  headers: { 'content-type': 'application/json', 'x-should-retry': 'false' },
  body: JSON.stringify(
    errorBody({
      status: 404,
      name: 'not_passed_on',
      message: 'ralph-action does not pass on requests for the model list.',
    }),
  ),
};

/**
 * Serializes the body again, since two readers may read a repeated key differently; returns null if ignored parts nest
 * too deeply to be written.
 */
function trySerialize(sent: JsonObject): string | null {
  try {
    return JSON.stringify(sent);
  } catch {
    return null;
  }
}
