import { mostTokensIn, NOTHING, type Spent } from '../../../core/spending/meter.ts';
import { noPriceText, type Prices } from '../../../core/spending/prices.ts';
import type { Account, AgentRequest, ModelProtocol, OwnAnswer, Reading } from '../../../ports/broker.ts';
import { costUsd, NO_TOKENS, priceOfClaude, type Terms, type TokenCounts } from './prices.ts';
import { createUsageReader } from './usage.ts';

/** A request that one of a provider's endpoints takes. */
interface Endpoint {
  /** Path and query at the provider, made of checked parts. */
  readonly target: string;
  /** null: the body names it. */
  readonly model: string | null;
  /** Nothing is generated. */
  readonly isFree: boolean;
}

/** How a provider serves the model. */
interface ModelApi {
  /** null: the agent's CLI does not need it. */
  endpoint(method: string, target: string): Endpoint | null;
  /** The status of a question that is not passed on, and whose answer the CLI can do without; null: it is not such a question. */
  shortAnswer(method: string, target: string): number | null;
}

const MESSAGES = /^(\/v1\/messages(?<count>\/count_tokens)?)(?:\?beta=true)?$/;

/** Anthropic's own, or a gateway's. */
export const messagesApi: ModelApi = {
  endpoint: (method, target) => {
    const match = method === 'POST' ? MESSAGES.exec(target) : null;
    return match === null ? null : { target, model: null, isFree: match.groups?.['count'] !== undefined };
  },
  // Older versions ask whether anybody is there.
  shortAnswer: (method, target) => (method === 'HEAD' && target === '/' ? 200 : null),
};

/** A model's id, or an ARN, whose slashes are encoded. */
const BEDROCK = /^\/model\/(?<model>(?:[\w.:-]|%3A|%2F)+)\/invoke(?:-with-response-stream)?$/i;

/** Amazon Bedrock's runtime. */
export const bedrockApi: ModelApi = {
  endpoint: (method, target) => {
    const model = method === 'POST' ? BEDROCK.exec(target)?.groups?.['model'] : undefined;
    return model === undefined || model.includes('..')
      ? null
      : { target, model: model.replace(/%3A/gi, ':').replace(/%2F/gi, '/'), isFree: false };
  },
  // The list of profiles is at another address; without it the CLI takes its own names.
  shortAnswer: (method, target) => (method === 'GET' && /^\/inference-profiles(?:\?|$)/.test(target) ? 404 : null),
};

const VERTEX = /^(?<model>[\w.@-]+):(?:streamR|r)awPredict$/;

/** Tools that the agent's CLI runs itself; every other type runs on the provider's servers. A tool without a type is one of these, too. */
const OWN_TOOLS = /^(?:custom|(?:bash|text_editor|memory|computer|tool_search_tool(?:_regex|_bm25)?)_\d{8})$/;

const WEB_SEARCH = /^web_search_\d{8}$/;

/** Where a request keeps text and data of its own, which nobody reads as parts of the protocol. */
const OPAQUE = new Set(['input', 'input_schema', 'text', 'thinking', 'data', 'metadata']);

/** Sources that are in the request themselves. */
const OWN_SOURCES: readonly unknown[] = ['base64', 'text', 'content'];

/** More than any conversation nests. */
const MAX_DEPTH = 64;

/** What the CLI says of itself and of the form of its request. Everything else stays here, above all what could be a credential. */
const PASSED = /^(?:accept|user-agent|x-app|x-client-request-id|(?:anthropic|x-stainless|x-claude)-[a-z0-9-]+)$/;

/** By which the provider's servers would be asked to fetch or run something. */
const REACHING_BETAS = /^(?:mcp-|files-api|code-execution|web-fetch|skills-|container|managed-agents|environments)/;

const OAUTH_BETA = 'oauth-2025-04-20';

interface ProtocolOptions {
  readonly api: ModelApi;
  /** Sent with every request: the user's, for a gateway. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the user allows the tool that searches on the provider's servers. */
  readonly mayWebSearch: boolean;
  readonly prices: Prices;
}

/** Four characters are about a token. */
const CHARS_PER_TOKEN = 4;

/** An answer may be eight times as long, and is not. */
const USUAL_OUTPUT_TOKENS = 16_000;

/** The output limit of the model that answers at greatest length. */
const MAX_OUTPUT_TOKENS = 128_000;

/** The Messages API, as far as Claude Code needs it: its endpoints for messages, nothing that the provider's servers do for the caller. */
export function claudeProtocol(options: ProtocolOptions): ModelProtocol {
  return {
    read: (request, secretFor) => read(request, secretFor, options),
    exhausted: errorAnswer(400, 'invalid_request_error', EXHAUSTED),
    exhaustedIn: (contentType) =>
      contentType.includes('text/event-stream')
        ? `event: error\ndata: ${errorBody('invalid_request_error', EXHAUSTED)}\n\n`
        : contentType.includes('vnd.amazon.eventstream')
          ? ''
          : null,
    withoutPrice: (model) => errorAnswer(400, 'invalid_request_error', noPriceText(model)),
    hasPrice: (model) => priceOfClaude(model, options.prices) !== null,
    tooLarge: errorAnswer(413, 'request_too_large', 'Prompt is too long: the request is larger than 32 MB'),
    unreachable: (why) => ({
      ...errorAnswer(502, 'api_error', `The provider cannot be reached: ${why}`),
      headers: JSON_TYPE,
    }),
  };
}

const EXHAUSTED = 'Credit balance is too low: the limit of this run is reached';

function read(
  { method, target, headers, body }: AgentRequest,
  secretFor: (placeholder: string) => string | null,
  options: ProtocolOptions,
): Reading {
  const status = options.api.shortAnswer(method, target);
  if (status !== null) return { kind: 'answered', answer: { status, headers: {}, body: '' } };
  const forwarded = forwardedHeaders(headers, secretFor, options.headers);
  if (forwarded === null) return refused(401, 'authentication_error', 'a request without the placeholder of this call');
  const endpoint = options.api.endpoint(method, target);
  if (endpoint === null) return refused(403, 'permission_error', `${method} ${target}`.slice(0, 80));
  const message = parsed(body);
  if (message === null) return refused(400, 'invalid_request_error', 'a body that is not a JSON object');
  const reach = reachesOut(message, options.mayWebSearch);
  if (reach !== null) return refused(403, 'permission_error', reach);
  const model = endpoint.model ?? textOf(message['model']);
  const asked: Asked = {
    model,
    isFast: message['speed'] === 'fast',
    isInOnePlace: !['global', undefined, null].includes(message['inference_geo'] as string | null | undefined),
    prices: options.prices,
    chars: body.length,
  };
  const { isFree } = endpoint;
  return {
    kind: 'forwarded',
    target: endpoint.target,
    headers: forwarded,
    // Serialized again, because two parsers may disagree about a duplicate key.
    body: JSON.stringify(withPassedBetas(message)),
    expected: isFree
      ? NOTHING
      : expectedOf(asked, message, message['stream'] === true || /stream/i.test(endpoint.target)),
    atMost: isFree ? NOTHING : atMost(asked, message, body),
    unpriced: isFree || priceOfClaude(model, options.prices) !== null ? null : model,
    account: isFree ? null : (contentType) => createAccount(contentType, asked),
  };
}

/** Where there is no header for them, they are in the body. */
function withPassedBetas(message: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { anthropic_beta: given, ...rest } = message;
  if (given === undefined) return message;
  const names = (Array.isArray(given) ? given : [given]).filter((name): name is string => typeof name === 'string');
  const betas = passedBetas(names);
  return betas.length === 0 ? rest : { ...rest, anthropic_beta: betas };
}

/** What its answer is counted by. */
interface Asked extends Terms {
  readonly chars: number;
}

/** An answer that does not stream is made to its end, whether anybody waits for it or not. */
function expectedOf(asked: Asked, message: Message, isStream: boolean): Spent {
  const most = maxTokensIn(message);
  const output = isStream ? Math.min(most, USUAL_OUTPUT_TOKENS) : most;
  return spentBy({ ...NO_TOKENS, input: tokensIn(asked.chars), output }, asked);
}

/** By its length in bytes, the dearest way to the cache that it names, and the longest answer that it allows. */
function atMost(asked: Asked, message: Message, body: string): Spent {
  const input = mostTokensIn(body);
  const kind = /"ttl":\s*"1h"/.test(body)
    ? 'cacheWriteHour'
    : body.includes('"cache_control"')
      ? 'cacheWrite'
      : 'input';
  return spentBy({ ...NO_TOKENS, [kind]: input, output: maxTokensIn(message) }, asked);
}

function maxTokensIn({ max_tokens: given }: Message): number {
  return typeof given === 'number' && given > 0 ? Math.min(given, MAX_OUTPUT_TOKENS) : MAX_OUTPUT_TOKENS;
}

type Message = Readonly<Record<string, unknown>>;

function createAccount(contentType: string, asked: Asked): Account {
  const usage = createUsageReader(contentType);
  let chars = 0;
  return {
    push(text) {
      chars += text.length;
      usage.push(text);
    },
    spent: () => {
      // A gateway that tells no usage spends as much.
      const counts = usage.counts() ?? { ...NO_TOKENS, input: tokensIn(asked.chars), output: tokensIn(chars) };
      return spentBy(counts, asked);
    },
    isComplete: usage.isComplete,
  };
}

function spentBy(counts: TokenCounts, terms: Terms): Spent {
  const { input, cacheWrite, cacheWriteHour, cacheRead, output } = counts;
  return { tokens: input + cacheWrite + cacheWriteHour + cacheRead + output, costUsd: costUsd(counts, terms) };
}

function tokensIn(chars: number): number {
  return Math.ceil(chars / CHARS_PER_TOKEN);
}

function refused(status: number, type: string, why: string): Reading {
  return { kind: 'refused', answer: errorAnswer(status, type, `ralph-action does not pass on ${why}.`), why };
}

const JSON_TYPE = { 'content-type': 'application/json' };

function errorAnswer(status: number, type: string, message: string): OwnAnswer {
  return { status, headers: { ...JSON_TYPE, 'x-should-retry': 'false' }, body: errorBody(type, message) };
}

function errorBody(type: string, message: string): string {
  return JSON.stringify({ type: 'error', error: { type, message } });
}

function parsed(body: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, unknown>>)
      : null;
  } catch {
    return null;
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The request's headers with the real key; null: it holds no placeholder. `own`: the user's, which win. */
function forwardedHeaders(
  given: AgentRequest['headers'],
  secretFor: (placeholder: string) => string | null,
  own: Readonly<Record<string, string>>,
): Record<string, string> | null {
  const key = secretFor(headerText(given['x-api-key']));
  const bearer = /^Bearer (\S+)$/i.exec(headerText(given['authorization']))?.[1];
  const token = bearer === undefined ? null : secretFor(bearer);
  if (key === null && token === null) return null;
  const passed = Object.entries(given).flatMap(([name, value]): [string, string][] =>
    PASSED.test(name) && value !== undefined ? [[name, headerText(value)]] : [],
  );
  const betas = passedBetas(headerText(given['anthropic-beta']).split(','));
  // A token of a subscription is refused without it; the CLI sends it where it knows that it holds one.
  if (token?.startsWith('sk-ant-oat') === true && !betas.includes(OAUTH_BETA)) betas.push(OAUTH_BETA);
  return {
    ...Object.fromEntries(passed.filter(([name]) => name !== 'anthropic-beta')),
    ...(betas.length === 0 ? {} : { 'anthropic-beta': betas.join(',') }),
    ...own,
    ...(key === null ? {} : { 'x-api-key': key }),
    ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    // What the agent says of the body's encoding could make a gateway read another one than was checked.
    'content-type': 'application/json',
    // An answer that passes as it comes must not be packed.
    'accept-encoding': 'identity',
  };
}

/** Those that may pass, without spaces. */
function passedBetas(names: readonly string[]): string[] {
  return names.map((beta) => beta.trim()).filter((beta) => beta !== '' && !REACHING_BETAS.test(beta));
}

function headerText(value: string | readonly string[] | undefined): string {
  return typeof value === 'string' ? value : (value ?? []).join(', ');
}

/** What in a request makes the provider's servers fetch or run something, in words; null: nothing does. */
function reachesOut(body: Readonly<Record<string, unknown>>, mayWebSearch: boolean): string | null {
  if (isGiven(body['mcp_servers'])) return 'MCP servers';
  if (isGiven(body['container'])) return 'a container';
  return toolIn(body['tools'], mayWebSearch) ?? sourceIn([body['messages'], body['system'], body['tools']], 0);
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);
}

function toolIn(tools: unknown, mayWebSearch: boolean): string | null {
  if (tools === undefined || tools === null) return null;
  if (!Array.isArray(tools)) return 'tools in an unknown form';
  for (const tool of tools as readonly unknown[]) {
    const type = isRecord(tool) ? tool['type'] : 'unknown';
    if (type === undefined || type === null || (typeof type === 'string' && OWN_TOOLS.test(type))) continue;
    if (mayWebSearch && typeof type === 'string' && WEB_SEARCH.test(type)) continue;
    return `the tool ${JSON.stringify(type).slice(0, 60)} of the provider's servers`;
  }
  return null;
}

/** Content that the provider would get from elsewhere, at any depth. */
function sourceIn(value: unknown, depth: number): string | null {
  if (depth > MAX_DEPTH) return 'a request that nests too deep';
  if (Array.isArray(value)) return firstOf(value as readonly unknown[], (part) => sourceIn(part, depth + 1));
  if (!isRecord(value)) return null;
  const source = value['source'];
  const kind = isRecord(source) ? source['type'] : undefined;
  if (kind === 'url' || kind === 'file') return `content from ${kind === 'url' ? 'an address' : 'a stored file'}`;
  if (kind !== undefined && !OWN_SOURCES.includes(kind))
    return `content from a source of the kind ${JSON.stringify(kind).slice(0, 60)}`;
  if (isGiven(value['file_id'])) return 'content from a stored file';
  const parts = Object.entries(value).filter(([name]) => !OPAQUE.has(name));
  return firstOf(parts, ([, part]) => sourceIn(part, depth + 1));
}

function firstOf<T>(items: readonly T[], find: (item: T) => string | null): string | null {
  for (const item of items) {
    const found = find(item);
    if (found !== null) return found;
  }
  return null;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Google Vertex AI. `models`: path of the models of one project in one place. */
export function vertexApi(models: string): ModelApi {
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
