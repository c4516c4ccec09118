import { mostTokensIn, NOTHING, type Spent } from '../../core/spending/meter.ts';
import { costOf, noPriceText, priceOf, type Prices } from '../../core/spending/prices.ts';
import type { Account, AgentRequest, ModelProtocol, OwnAnswer, Reading } from '../../ports/broker.ts';
import { asObject, asString, type JsonObject } from '../reading/agent-event.ts';
import { reachesOut } from './reaches-out.ts';
import {
  apiAt,
  asksForModels,
  createUsageReader,
  type OpenAiApi,
  sentBody,
  type Served,
  TARGETS,
  type TokenCounts,
  tokensIn,
} from './usage.ts';

/**
 * What Codex, OpenCode, Qwen Code and Copilot CLI say of themselves, of their session and of the form of a request.
 * Everything else stays here: what could be a credential, and what says on whose account the request is made.
 */
const PASSED = new RegExp(
  `^(?:${[
    'accept|user-agent|originator|version|http-referer|x-title|x-initiator|x-interaction-type|x-client-request-id',
    '(?:session|thread|conversation)[_-]id|x-session-(?:id|affinity)',
    '(?:x-stainless|x-codex)-[a-z0-9-]+|x-openai-subagent|x-openai-internal-codex-responses-lite',
    'x-dashscope-(?:cachecontrol|useragent)',
  ].join('|')})$`,
);

interface ProtocolOptions extends Served {
  /** Sent with every request: the user's, for a gateway. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the user allows the tool that searches on the provider's servers. */
  readonly mayWebSearch: boolean;
  readonly prices: Prices;
}

/** An answer may be eight times as long, and is not. */
const USUAL_OUTPUT_TOKENS = 16_000;

/** The output limit of the model that answers at greatest length. */
const MAX_OUTPUT_TOKENS = 128_000;

/** To one question, as far as the API goes. */
const MAX_ANSWERS = 128;

/** What the provider charges for its fast tier at most. */
const PRIORITY = 2.5;

/** OpenAI's Responses API and Chat Completions, as far as the CLIs that speak them need it: conversations that are whole in the request, nothing that the provider's servers do for the caller. */
export function openAiProtocol(options: ProtocolOptions): ModelProtocol {
  return {
    read: (request, secretFor) => read(request, secretFor, options),
    // A status that no CLI tries again.
    exhausted: errorAnswer(400, 'run_limit_reached', EXHAUSTED),
    exhaustedIn: (contentType) => (contentType.includes('text/event-stream') ? exhaustedEvents(options) : null),
    withoutPrice: (model) => errorAnswer(400, 'model_without_price', noPriceText(model)),
    hasPrice: (model) => priceOf(options.prices, model) !== null,
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

const EXHAUSTED = 'The limit of this run is reached: no more requests are passed on';

/** As the end of a stream: one event of the API that the CLI was led to. */
function exhaustedEvents({ apis }: Served): string {
  const error = { code: 'insufficient_quota', message: EXHAUSTED };
  return apis.includes('responses')
    ? `event: response.failed\ndata: ${JSON.stringify({ type: 'response.failed', response: { status: 'failed', error } })}\n\n`
    : `data: ${JSON.stringify({ error: { ...error, type: 'insufficient_quota', param: null } })}\n\n`;
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
    atMost: spentBy({ input: mostTokensIn(body), cached: 0, output: mostOutput(sent) }, asked, options),
    unpriced: priceOf(options.prices, asked.model) === null ? asked.model : null,
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

/** An answer that does not stream is made to its end, whether anybody waits for it or not. */
function expectedOutput(sent: JsonObject): number {
  return sent['stream'] === true ? Math.min(mostOutput(sent), USUAL_OUTPUT_TOKENS * answersTo(sent)) : mostOutput(sent);
}

/** The longest answer that it allows. Of several limits the provider may obey any. */
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

function createAccount(contentType: string, asked: Asked, options: ProtocolOptions): Account {
  const reader = createUsageReader(asked.api, contentType);
  let chars = 0;
  return {
    push(text) {
      chars += text.length;
      reader.push(text);
    },
    spent: () => {
      const { usage, since, tier } = reader.told();
      // A project may have another tier than the request asks for.
      const served = { ...asked, tier: isDearer(asked.tier) ? asked.tier : tier };
      if (usage !== null) return spentBy({ ...usage, output: usage.output + (since ?? 0) }, served, options);
      // Usage is told at the end; until then, and by a provider that tells none, as much is spent as has passed.
      const counts = { input: tokensIn(asked.chars), cached: 0, output: since ?? tokensIn(chars) };
      return spentBy(counts, served, options);
    },
    isComplete: () => {
      const { usage, since } = reader.told();
      return usage !== null && since === null;
    },
  };
}

/** Where nobody has said what the model costs, tokens alone count. */
function spentBy(counts: TokenCounts, { model, tier }: Asked, { prices }: ProtocolOptions): Spent {
  const tokens = counts.input + counts.output;
  if (tokens === 0) return NOTHING;
  return { tokens, costUsd: (costOf(prices, model, counts) ?? 0) * (isDearer(tier) ? PRIORITY : 1) };
}

/** A tier of another name than the usual ones counts as the fast one. */
function isDearer(tier: unknown): boolean {
  return typeof tier === 'string' && !['', 'auto', 'default', 'standard', 'flex', 'scale'].includes(tier);
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

/** The request's headers with the real key; null: it holds no placeholder. `own`: the user's, which win. */
function forwardedHeaders(
  given: AgentRequest['headers'],
  secretFor: (placeholder: string) => string | null,
  own: Readonly<Record<string, string>>,
): Record<string, string> | null {
  const placeholder = /^Bearer (\S+)$/i.exec(textOf(given['authorization']))?.[1];
  const key = placeholder === undefined ? null : secretFor(placeholder);
  if (key === null) return null;
  const passed = Object.entries(given).flatMap(([name, value]): [string, string][] =>
    PASSED.test(name) && value !== undefined ? [[name, textOf(value)]] : [],
  );
  return {
    ...Object.fromEntries(passed),
    ...own,
    authorization: `Bearer ${key}`,
    // What the agent says of the body's encoding could make a gateway read another one than was checked.
    'content-type': 'application/json',
    // An answer that passes as it comes must not be packed.
    'accept-encoding': 'identity',
  };
}

function textOf(value: string | readonly string[] | undefined): string {
  return typeof value === 'string' ? value : (value ?? []).join(', ');
}
