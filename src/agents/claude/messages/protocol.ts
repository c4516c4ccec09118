import { computeMaxInput, type Spent } from '../../../core/spending/meter.ts';
import { computeMaxSearches, type Prices } from '../../../core/spending/prices.ts';
import type { AgentRequest, ModelProtocol } from '../../../ports/broker.ts';
import {
  findBearerKey,
  createModelProtocol,
  findFirstResult,
  selectHeaders,
  joinHeader,
  hasContent,
  type SecretFor,
  shortenRequest,
} from '../../passing/protocol.ts';
import { createAnswerMeter, estimateTokens } from '../../passing/usage.ts';
import { asArray, asObject, asString, type JsonObject } from '../../reading/json-value.ts';
import { computeCostUsd, NO_TOKENS, priceOfClaude, type PricingTerms, type ClaudeTokenCounts } from './prices.ts';
import { createClaudeUsage } from './usage.ts';

/** A request that one of a provider's endpoints accepts. */
interface Endpoint {
  /** Path and query at the provider, made of checked parts. */
  readonly target: string;
  /** The model; null if the body names it. */
  readonly model: string | null;
  /** True if the request generates nothing, and so costs nothing. */
  readonly isFree: boolean;
}

/** The API through which a provider offers the model. */
interface ClaudeApi {
  /** Returns the endpoint, or null if the agent's CLI does not need it. */
  endpoint(method: string, target: string): Endpoint | null;
  /**
   * Returns the status for a request that is answered here and not passed on, since the CLI works without it; null for
   * all other requests.
   */
  shortAnswer(method: string, target: string): number | null;
}

const MESSAGES = /^(\/v1\/messages(?<count>\/count_tokens)?)(?:\?beta=true)?$/;

/** Anthropic's own API, or the same API of a gateway. */
export const messagesApi: ClaudeApi = {
  endpoint: (method, target) => {
    const match = method === 'POST' ? MESSAGES.exec(target) : null;
    return match === null ? null : { target, model: null, isFree: match.groups?.['count'] !== undefined };
  },
  // Answer this request, with which older versions check the connection.
  shortAnswer: (method, target) => (method === 'HEAD' && target === '/' ? 200 : null),
};

/** The path for a model's id, or an ARN, whose slashes are encoded. */
const BEDROCK = /^\/model\/(?<model>(?:[\w.:-]|%3A|%2F)+)\/invoke(?:-with-response-stream)?$/i;

/** Amazon Bedrock's runtime. */
export const bedrockApi: ClaudeApi = {
  endpoint: (method, target) => {
    const model = method === 'POST' ? BEDROCK.exec(target)?.groups?.['model'] : undefined;
    return model === undefined || model.includes('..')
      ? null
      : { target, model: model.replace(/%3A/gi, ':').replace(/%2F/gi, '/'), isFree: false };
  },
  // Refuse the list of profiles, which is at another address; without it, the CLI uses its own names.
  shortAnswer: (method, target) => (method === 'GET' && /^\/inference-profiles(?:\?|$)/.test(target) ? 404 : null),
};

const VERTEX = /^(?<model>[\w.@-]+):(?:streamR|r)awPredict$/;

/**
 * Tools that the agent's CLI runs itself, including those without a type; every other type runs on the provider's
 * servers.
 */
const OWN_TOOLS = /^(?:custom|(?:bash|text_editor|memory|computer|tool_search_tool(?:_regex|_bm25)?)_\d{8})$/;

const WEB_SEARCH = /^web_search_\d{8}$/;

/** Fields with a request's own text and data, which are not part of the protocol. */
const OPAQUE = new Set(['input', 'input_schema', 'text', 'thinking', 'data', 'metadata']);

/** Sources whose content is in the request. */
const OWN_SOURCES: readonly unknown[] = ['base64', 'text', 'content'];

/** Maximum depth: no conversation nests deeper. */
const MAX_DEPTH = 64;

/**
 * Headers about the CLI and the form of its request. All others are dropped, above all possible credentials; only some
 * betas pass.
 */
const PASSED =
  /^(?:accept|user-agent|x-app|x-client-request-id|anthropic-(?!beta$)[a-z0-9-]+|(?:x-stainless|x-claude)-[a-z0-9-]+)$/;

/** Betas that would make the provider's servers fetch content or run programs. */
const REACHING_BETAS = /^(?:mcp-|files-api|code-execution|web-fetch|skills-|container|managed-agents|environments)/;

const OAUTH_BETA = 'oauth-2025-04-20';

interface ProtocolOptions {
  readonly api: ClaudeApi;
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

/**
 * Creates the protocol of the Messages API as far as Claude Code needs it: its endpoints for messages, without anything
 * that the provider's servers do for the caller.
 */
export function createClaudeProtocol({ api, headers: own, mayWebSearch, prices }: ProtocolOptions): ModelProtocol {
  return createModelProtocol<Endpoint>({
    errors: {
      'no-key': [401, 'authentication_error'],
      'no-object': [400, 'invalid_request_error'],
      'not-passed-on': [403, 'permission_error'],
      exhausted: [400, 'invalid_request_error'],
      'no-price': [400, 'invalid_request_error'],
      'too-large': [413, 'request_too_large'],
      unreachable: [502, 'api_error'],
    },
    errorBody,
    finalHeaders: { 'x-should-retry': 'false' },
    exhausted: EXHAUSTED,
    tooLarge: 'Prompt is too long: the request is larger than 32 MB',
    exhaustedIn: (contentType) =>
      contentType.includes('text/event-stream')
        ? `event: error\ndata: ${JSON.stringify(errorBody({ name: 'invalid_request_error', message: EXHAUSTED }))}\n\n`
        : contentType.includes('vnd.amazon.eventstream')
          ? ''
          : null,
    hasPrice: (model) => priceOfClaude(model, prices) !== null,
    shortAnswer: (method, target) => {
      const status = api.shortAnswer(method, target);
      return status === null ? null : { status, headers: {}, body: '' };
    },
    headers: (given, secretFor) => forwardedHeaders(given, secretFor, own),
    endpoint: (method, target) => api.endpoint(method, target),
    nameRequest: shortenRequest,
    pass: (message, { target, model: named, isFree }, { body }) => {
      const reach = reachesOutByMessages(message, mayWebSearch);
      if (reach !== null) return reach;
      const model = named ?? asString(message['model']) ?? '';
      const text = JSON.stringify(withPassedBetas(message));
      const asked: PricedRequest = {
        model,
        isFast: message['speed'] === 'fast',
        staysInOneCountry: !['global', undefined, null].includes(message['inference_geo'] as string | null | undefined),
        prices,
        chars: body.length,
        searches: computeMaxSearches(searchLimitsIn(message['tools'])),
      };
      const costs = {
        model,
        expected: expectedOf(asked, message, message['stream'] === true || /stream/i.test(target)),
        atMost: atMost(asked, message, text),
        account: (contentType: string) =>
          createAnswerMeter(createClaudeUsage(contentType), (counts, chars) =>
            // For a gateway that reports no usage, the estimate counts.
            spentBy(counts ?? { ...usualCounts(asked), output: estimateTokens(chars) }, asked),
          ),
      };
      return { target, body: text, costs: isFree ? null : costs };
    },
  });
}

const EXHAUSTED = 'Credit balance is too low: the limit of this run is reached';

function errorBody({ name, message }: { readonly name: string; readonly message: string }): object {
  return { type: 'error', error: { type: name, message } };
}

/** Removes betas that may not pass from the body, which contains them in APIs without a header for betas. */
function withPassedBetas(message: JsonObject): JsonObject {
  const { anthropic_beta: given, ...rest } = message;
  if (given === undefined) return message;
  const names = (Array.isArray(given) ? given : [given]).filter((name): name is string => typeof name === 'string');
  const betas = passedBetas(names);
  return betas.length === 0 ? rest : { ...rest, anthropic_beta: betas };
}

/** The properties of a request that decide the price of its answer. */
interface PricedRequest extends PricingTerms {
  readonly chars: number;
  /** The maximum number of searches on the provider's servers. */
  readonly searches: number;
}

/** Returns the expected usage without an answer: a request that may search usually does so once. */
function usualCounts({ chars, searches }: PricedRequest): ClaudeTokenCounts {
  return { ...NO_TOKENS, input: estimateTokens(chars), webSearches: Math.min(searches, 1) };
}

/** Returns the expected cost. An answer that does not stream is generated to its end, even if nobody waits for it. */
function expectedOf(asked: PricedRequest, message: JsonObject, isStream: boolean): Spent {
  const most = maxTokensIn(message);
  const output = isStream ? Math.min(most, USUAL_OUTPUT_TOKENS) : most;
  return spentBy({ ...usualCounts(asked), output }, asked);
}

/**
 * Returns the maximum cost: the longest input, the most expensive cache that it names, the longest answer and all
 * searches that it allows. A conversation that the provider's servers compact is read and written twice.
 */
function atMost(asked: PricedRequest, message: JsonObject, text: string): Spent {
  const input = computeMaxInput(text, asked.searches);
  const kind = text.includes('"ttl":"1h"')
    ? 'cacheWriteHour'
    : text.includes('"cache_control"')
      ? 'cacheWrite'
      : 'input';
  const output = maxTokensIn(message);
  const times = text.includes('"type":"compact_') ? 2 : 1;
  return spentBy({ ...NO_TOKENS, [kind]: times * input, output: times * output, webSearches: asked.searches }, asked);
}

/** Returns the limit of each tool that searches on the provider's servers; null for one without a limit. */
function searchLimitsIn(tools: unknown): readonly (number | null)[] {
  return asArray(tools).flatMap((tool) => {
    const { type, max_uses: limit } = asObject(tool) ?? {};
    if (typeof type !== 'string' || !WEB_SEARCH.test(type)) return [];
    return [typeof limit === 'number' && limit > 0 ? limit : null];
  });
}

function maxTokensIn({ max_tokens: given }: JsonObject): number {
  return typeof given === 'number' && given > 0 ? Math.min(given, MAX_OUTPUT_TOKENS) : MAX_OUTPUT_TOKENS;
}

function spentBy(counts: ClaudeTokenCounts, terms: PricingTerms): Spent {
  const { input, cacheWrite, cacheWriteHour, cacheRead, output } = counts;
  const tokens = input + cacheWrite + cacheWriteHour + cacheRead + output;
  return { tokens, outputTokens: output, costUsd: computeCostUsd(counts, terms) };
}

/** Returns the headers to forward. `own` are the user's and override the others. */
function forwardedHeaders(
  given: AgentRequest['headers'],
  secretFor: SecretFor,
  own: Readonly<Record<string, string>>,
): Record<string, string> | null {
  const key = secretFor(joinHeader(given['x-api-key']));
  const token = findBearerKey(given, secretFor);
  if (key === null && token === null) return null;
  const betas = passedBetas(joinHeader(given['anthropic-beta']).split(','));
  // Add the beta without which a subscription's token is refused; the CLI, which sees a placeholder, may not send it.
  if (token?.startsWith('sk-ant-oat') === true && !betas.includes(OAUTH_BETA)) betas.push(OAUTH_BETA);
  return selectHeaders(given, PASSED, {
    ...(betas.length === 0 ? {} : { 'anthropic-beta': betas.join(',') }),
    ...own,
    ...(key === null ? {} : { 'x-api-key': key }),
    ...(token === null ? {} : { authorization: `Bearer ${token}` }),
  });
}

/** Returns the betas that may pass, without spaces. */
function passedBetas(names: readonly string[]): string[] {
  return names.map((beta) => beta.trim()).filter((beta) => beta !== '' && !REACHING_BETAS.test(beta));
}

/**
 * Describes the part of a request that makes the provider's servers fetch content or run programs; null if no part
 * does.
 */
function reachesOutByMessages(body: JsonObject, mayWebSearch: boolean): string | null {
  if (hasContent(body['mcp_servers'])) return 'MCP servers';
  if (hasContent(body['container'])) return 'a container';
  return toolIn(body['tools'], mayWebSearch) ?? sourceIn([body['messages'], body['system'], body['tools']], 0);
}

function toolIn(tools: unknown, mayWebSearch: boolean): string | null {
  if (tools === undefined || tools === null) return null;
  if (!Array.isArray(tools)) return 'tools in an unknown form';
  for (const tool of tools as readonly unknown[]) {
    const type = asObject(tool) === null ? 'unknown' : asObject(tool)?.['type'];
    if (type === undefined || type === null || (typeof type === 'string' && OWN_TOOLS.test(type))) continue;
    if (mayWebSearch && typeof type === 'string' && WEB_SEARCH.test(type)) continue;
    return `the tool ${JSON.stringify(type).slice(0, 60)} of the provider's servers`;
  }
  return null;
}

/** Describes content, at any depth, that the provider would fetch from elsewhere; null if none. */
function sourceIn(value: unknown, depth: number): string | null {
  if (depth > MAX_DEPTH) return 'a request that nests too deep';
  if (Array.isArray(value)) return findFirstResult(asArray(value), (part) => sourceIn(part, depth + 1));
  const content = asObject(value);
  if (content === null) return null;
  const kind = asObject(content['source'])?.['type'];
  if (kind === 'url' || kind === 'file') return `content from ${kind === 'url' ? 'an address' : 'a stored file'}`;
  if (kind !== undefined && !OWN_SOURCES.includes(kind))
    return `content from a source of the kind ${JSON.stringify(kind).slice(0, 60)}`;
  if (hasContent(content['file_id'])) return 'content from a stored file';
  const parts = Object.entries(content).filter(([name]) => !OPAQUE.has(name));
  return findFirstResult(parts, ([, part]) => sourceIn(part, depth + 1));
}

/** Creates the API of Google Vertex AI. `models` is the path of the models of one project in one location. */
export function createVertexApi(models: string): ClaudeApi {
  return {
    endpoint: (method, target) => {
      const isThere = method === 'POST' && target.startsWith(models);
      const model = isThere ? VERTEX.exec(target.slice(models.length))?.groups?.['model'] : undefined;
      if (model === undefined) return null;
      return model === 'count-tokens' ? { target, model: null, isFree: true } : { target, model, isFree: false };
    },
    shortAnswer: () => null,
  };
}
