import { mostTokensIn, NOTHING, type Spent } from '../../../core/spending/meter.ts';
import { noPriceText, type Prices } from '../../../core/spending/prices.ts';
import type { Account, AgentRequest, ModelProtocol, OwnAnswer, Reading } from '../../../ports/broker.ts';
import type { ModelApi } from './endpoints.ts';
import { forwardedHeaders, passedBetas } from './headers.ts';
import { costUsd, NO_TOKENS, priceOfClaude, type Terms, type TokenCounts } from './prices.ts';
import { reachesOut } from './reaches-out.ts';
import { createUsageReader } from './usage.ts';

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
