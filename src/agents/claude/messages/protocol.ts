import { NOTHING, type Spent } from '../../../core/spending/meter.ts';
import type { Account, AgentRequest, ModelProtocol, OwnAnswer, Reading } from '../../../ports/broker.ts';
import type { ModelApi } from './endpoints.ts';
import { forwardedHeaders, passedBetas } from './headers.ts';
import { costUsd, NO_TOKENS, type TokenCounts } from './prices.ts';
import { reachesOut } from './reaches-out.ts';
import { createUsageReader } from './usage.ts';

interface ProtocolOptions {
  readonly api: ModelApi;
  /** Sent with every request: the user's, for a gateway. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the user allows the tool that searches on the provider's servers. */
  readonly mayWebSearch: boolean;
}

/** Four characters are about a token. */
const CHARS_PER_TOKEN = 4;
/** An answer may be eight times as long, and is not. */
const USUAL_OUTPUT_TOKENS = 16_000;

/** The Messages API, as far as Claude Code needs it: its endpoints for messages, nothing that the provider's servers do for the caller. */
export function claudeProtocol(options: ProtocolOptions): ModelProtocol {
  return {
    read: (request, secretFor) => read(request, secretFor, options),
    exhausted: errorAnswer(400, 'invalid_request_error', 'Credit balance is too low: the limit of this run is reached'),
    tooLarge: errorAnswer(413, 'request_too_large', 'Prompt is too long: the request is larger than 32 MB'),
    unreachable: (why) => ({
      ...errorAnswer(502, 'api_error', `The provider cannot be reached: ${why}`),
      headers: JSON_TYPE,
    }),
  };
}

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
  const asked: Asked = { model, isFast: message['speed'] === 'fast', chars: body.length };
  return {
    kind: 'forwarded',
    target: endpoint.target,
    headers: forwarded,
    // Written anew: of a key that comes twice, two readers may see different ones.
    body: JSON.stringify(withPassedBetas(message)),
    expected: endpoint.isFree ? NOTHING : expectedOf(asked, message['max_tokens']),
    account: endpoint.isFree ? null : (contentType) => createAccount(contentType, asked),
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
interface Asked {
  readonly model: string;
  readonly isFast: boolean;
  readonly chars: number;
}

function expectedOf(asked: Asked, maxTokens: unknown): Spent {
  const output = Math.min(typeof maxTokens === 'number' && maxTokens > 0 ? maxTokens : Infinity, USUAL_OUTPUT_TOKENS);
  return spentBy({ ...NO_TOKENS, input: tokensIn(asked.chars), output }, asked);
}

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
  };
}

function spentBy(counts: TokenCounts, { model, isFast }: Asked): Spent {
  const { input, cacheWrite, cacheWriteHour, cacheRead, output } = counts;
  return { tokens: input + cacheWrite + cacheWriteHour + cacheRead + output, costUsd: costUsd(counts, model, isFast) };
}

function tokensIn(chars: number): number {
  return Math.ceil(chars / CHARS_PER_TOKEN);
}

function refused(status: number, type: string, why: string): Reading {
  return { kind: 'refused', answer: errorAnswer(status, type, `ralph-action does not pass on ${why}.`), why };
}

const JSON_TYPE = { 'content-type': 'application/json' };

function errorAnswer(status: number, type: string, message: string): OwnAnswer {
  return {
    status,
    headers: { ...JSON_TYPE, 'x-should-retry': 'false' },
    body: JSON.stringify({ type: 'error', error: { type, message } }),
  };
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
