import { NOTHING, type Spent } from '../../core/spending/meter.ts';
import { costOf, type Prices } from '../../core/spending/prices.ts';
import type { Account, AgentRequest, ModelProtocol, OwnAnswer, Reading } from '../../ports/broker.ts';
import { asObject, asString, type JsonObject } from '../reading/json.ts';
import { apiAt, asksForModels, TARGETS, type OpenAiApi, type Served } from './endpoints.ts';
import { sentBody } from './fields.ts';
import { forwardedHeaders } from './headers.ts';
import { reachesOut } from './reaches-out.ts';
import { createUsageReader, tokensIn, type TokenCounts } from './usage.ts';

interface ProtocolOptions extends Served {
  /** Sent with every request: the user's, for a gateway. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the user allows the tool that searches on the provider's servers. */
  readonly mayWebSearch: boolean;
  readonly prices: Prices;
}

/** An answer may be eight times as long, and is not. */
const USUAL_OUTPUT_TOKENS = 16_000;
/** To one question, as far as the API goes. */
const MAX_ANSWERS = 128;
/** What the provider charges for its fast tier at most. */
const PRIORITY = 2.5;

/** OpenAI's Responses API and Chat Completions, as far as the CLIs that speak them need it: conversations that are whole in the request, nothing that the provider's servers do for the caller. */
export function openAiProtocol(options: ProtocolOptions): ModelProtocol {
  return {
    read: (request, secretFor) => read(request, secretFor, options),
    // A status that no CLI tries again.
    exhausted: errorAnswer(
      400,
      'run_limit_reached',
      'The limit of this run is reached: no more requests are passed on',
    ),
    tooLarge: errorAnswer(
      400,
      'context_length_exceeded',
      "The model's maximum context length is exceeded: the request is larger than 32 MB",
    ),
    unreachable: (why) => ({
      ...errorAnswer(502, 'provider_unreachable', `The provider cannot be reached: ${why}`),
      headers: JSON_TYPE,
    }),
  };
}

function read(
  { method, target, headers, body }: AgentRequest,
  secretFor: (placeholder: string) => string | null,
  options: ProtocolOptions,
): Reading {
  if (asksForModels(method, target, options)) return { kind: 'answered', answer: NO_LIST };
  const forwarded = forwardedHeaders(headers, secretFor, options.headers);
  if (forwarded === null) return refused(401, 'a request without the placeholder of this call');
  const api = apiAt(method, target, options);
  if (api === null) return refused(400, `${method} ${target}`.slice(0, 80));
  const given = parsed(body);
  if (given === null) return refused(400, 'a body that is not a JSON object');
  const sent = sentBody(api, given, options.mayWebSearch);
  const reach = reachesOut(api, given, sent, options.mayWebSearch);
  if (reach !== null) return refused(400, reach);
  const text = written(sent);
  if (text === null) return refused(400, 'a request that nests too deep');
  const asked: Asked = { api, model: asString(sent['model']) ?? '', tier: sent['service_tier'], chars: body.length };
  return {
    kind: 'forwarded',
    target: TARGETS[api],
    headers: forwarded,
    body: text,
    expected: spentBy({ input: tokensIn(asked.chars), cached: 0, output: expectedOutput(sent) }, asked, options),
    account: (contentType) => createAccount(contentType, asked, options),
  };
}

/** What its answer is counted by. */
interface Asked {
  readonly api: OpenAiApi;
  readonly model: string;
  readonly tier: unknown;
  readonly chars: number;
}

function expectedOutput(sent: JsonObject): number {
  const limits = [sent['max_output_tokens'], sent['max_completion_tokens'], sent['max_tokens'], USUAL_OUTPUT_TOKENS];
  return Math.min(...limits.filter(isAboveZero)) * (isAboveZero(sent['n']) ? Math.min(sent['n'], MAX_ANSWERS) : 1);
}

function isAboveZero(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0;
}

function createAccount(contentType: string, asked: Asked, options: ProtocolOptions): Account {
  const reader = createUsageReader(asked.api, contentType);
  let chars = 0;
  return {
    push(text) {
      chars += text.length;
      reader.push(text);
    },
    spent: () => {
      const { usage, since } = reader.told();
      if (usage !== null) return spentBy({ ...usage, output: usage.output + (since ?? 0) }, asked, options);
      // Usage is told at the end; until then, and by a provider that tells none, as much is spent as has passed.
      const counts = { input: tokensIn(asked.chars), cached: 0, output: since ?? tokensIn(chars) };
      return spentBy(counts, asked, options);
    },
  };
}

/** Where nobody has said what the model costs, tokens alone count. */
function spentBy(counts: TokenCounts, { model, tier }: Asked, { prices }: ProtocolOptions): Spent {
  const tokens = counts.input + counts.output;
  if (tokens === 0) return NOTHING;
  return { tokens, costUsd: (costOf(prices, model, counts) ?? 0) * (tier === 'priority' ? PRIORITY : 1) };
}

function refused(status: number, why: string): Reading {
  return {
    kind: 'refused',
    answer: errorAnswer(status, 'not_passed_on', `ralph-action does not pass on ${why}.`),
    why,
  };
}

const JSON_TYPE = { 'content-type': 'application/json' };

function errorAnswer(status: number, code: string, message: string): OwnAnswer {
  const type = status === 502 ? 'server_error' : 'invalid_request_error';
  return {
    status,
    headers: { ...JSON_TYPE, 'x-should-retry': 'false' },
    body: JSON.stringify({ error: { message, type, param: null, code } }),
  };
}

const NO_LIST = errorAnswer(404, 'not_passed_on', 'ralph-action does not pass on questions for models.');

function parsed(body: string): JsonObject | null {
  try {
    return asObject(JSON.parse(body));
  } catch {
    return null;
  }
}

/** Written anew: of a key that comes twice, two readers may see different ones. null: what nobody looks into nests deeper than can be written. */
function written(sent: JsonObject): string | null {
  try {
    return JSON.stringify(sent);
  } catch {
    return null;
  }
}
