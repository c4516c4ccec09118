import { NO_SPENDING, type Spent } from '../../core/spending/meter.ts';
import { describeMissingPrice } from '../../core/spending/prices.ts';
import type { AnswerMeter, AgentRequest, ModelProtocol, BrokerAnswer, Reading } from '../../ports/broker.ts';
import type { JsonObject } from '../reading/json-value.ts';
import { parseJsonObject } from './usage.ts';

/** The reason why the broker answers a request itself. */
type Problem = 'no-key' | 'no-object' | 'not-passed-on' | 'exhausted' | 'no-price' | 'too-large' | 'unreachable';

export type SecretFor = (placeholder: string) => string | null;

/** One API for conversations, with everything that differs between APIs. */
export interface ModelApi<Endpoint> {
  /**
   * Errors in the provider's own names, so that the CLI ends without another attempt; it may retry only for an
   * unreachable provider.
   */
  readonly errors: Readonly<Record<Problem, readonly [status: number, name: string]>>;
  readonly errorBody: (error: { readonly status: number; readonly name: string; readonly message: string }) => object;
  /** Headers that tell a CLI not to retry. */
  readonly finalHeaders: Readonly<Record<string, string>>;
  readonly exhausted: string;
  readonly tooLarge: string;
  /** See ModelProtocol. */
  readonly exhaustedIn: ModelProtocol['exhaustedIn'];
  readonly hasPrice: ModelProtocol['hasPrice'];
  /**
   * Returns the answer to a request that is not passed on, since the CLI works without it; null for all other requests.
   */
  readonly shortAnswer: (method: string, target: string) => BrokerAnswer | null;
  /** Returns the request's headers with the real key, or null if they contain no placeholder. */
  readonly headers: (given: AgentRequest['headers'], secretFor: SecretFor) => Record<string, string> | null;
  /** Returns the endpoint, or null if the agent's CLI does not need it. */
  readonly endpoint: (method: string, target: string) => Endpoint | null;
  /** Renders a request for the log. */
  readonly nameRequest: (method: string, target: string) => string;
  /**
   * Returns the part of a message to pass on, or a text that describes the part which makes the provider's servers
   * fetch or keep content, or run programs.
   */
  readonly pass: (message: JsonObject, endpoint: Endpoint, request: AgentRequest) => Passed | string;
}

/**
 * The part of a message to pass on. `body` is serialized again, since two readers may read a repeated key differently.
 */
interface Passed {
  readonly target: string;
  readonly body: string;
  /** The costs; null if the request generates nothing. */
  readonly costs: Costs | null;
}

interface Costs {
  readonly model: string;
  readonly expected: Spent;
  readonly atMost: Spent;
  readonly account: (contentType: string) => AnswerMeter;
}

/** Creates the protocol of an API, as far as the agents' CLIs need it. */
export function createModelProtocol<Endpoint>(api: ModelApi<Endpoint>): ModelProtocol {
  return {
    read: (request, secretFor) => read(api, request, secretFor),
    exhausted: answerOf(api, 'exhausted', api.exhausted),
    exhaustedIn: api.exhaustedIn,
    withoutPrice: (model) => answerOf(api, 'no-price', describeMissingPrice(model)),
    hasPrice: api.hasPrice,
    tooLarge: answerOf(api, 'too-large', api.tooLarge),
    unreachable: (why) => answerOf(api, 'unreachable', `The provider cannot be reached: ${why}`),
  };
}

function read<Endpoint>(api: ModelApi<Endpoint>, request: AgentRequest, secretFor: SecretFor): Reading {
  const { method, target, body } = request;
  const refused = (problem: Problem, why: string): Reading => ({
    kind: 'refused',
    answer: answerOf(api, problem, `ralph-action does not pass on ${why}.`),
    why,
  });
  const answer = api.shortAnswer(method, target);
  if (answer !== null) return { kind: 'answered', answer };
  const headers = api.headers(request.headers, secretFor);
  if (headers === null) return refused('no-key', 'a request without the placeholder of this call');
  const endpoint = api.endpoint(method, target);
  if (endpoint === null) return refused('not-passed-on', api.nameRequest(method, target));
  const message = parseJsonObject(body);
  if (message === null) return refused('no-object', 'a body that is not a JSON object');
  const passed = api.pass(message, endpoint, request);
  if (typeof passed === 'string') return refused('not-passed-on', passed);
  const { costs } = passed;
  return {
    ...{ kind: 'forwarded', target: passed.target, headers, body: passed.body },
    expected: costs?.expected ?? NO_SPENDING,
    atMost: costs?.atMost ?? NO_SPENDING,
    unpriced: costs === null || api.hasPrice(costs.model) ? null : costs.model,
    account: costs?.account ?? null,
  };
}

function answerOf<Endpoint>(api: ModelApi<Endpoint>, problem: Problem, message: string): BrokerAnswer {
  const [status, name] = api.errors[problem];
  return {
    status,
    headers: { 'content-type': 'application/json', ...(problem === 'unreachable' ? {} : api.finalHeaders) },
    body: JSON.stringify(api.errorBody({ status, name, message })),
  };
}

/** Returns the agent's headers that may pass, overridden by `own`. */
export function selectHeaders(
  given: AgentRequest['headers'],
  mayPass: RegExp,
  own: Readonly<Record<string, string>>,
): Record<string, string> {
  const passed = Object.entries(given).flatMap(([name, value]): [string, string][] =>
    mayPass.test(name) && value !== undefined ? [[name, joinHeader(value)]] : [],
  );
  return {
    ...Object.fromEntries(passed),
    ...own,
    // Override the agent's header, with which a gateway could read another body than the checked one.
    'content-type': 'application/json',
    // Ask for an uncompressed answer, whose usage is read while it passes.
    'accept-encoding': 'identity',
  };
}

/** Returns the value of a header as one text; empty if the header is missing. */
export function joinHeader(value: AgentRequest['headers'][string]): string {
  return typeof value === 'string' ? value : (value ?? []).join(', ');
}

/** Returns the key for the placeholder that the agent sends as its token, or null if it sends none. */
export function findBearerKey(given: AgentRequest['headers'], secretFor: SecretFor): string | null {
  const bearer = /^Bearer (\S+)$/i.exec(joinHeader(given['authorization']))?.[1];
  return bearer === undefined ? null : secretFor(bearer);
}

/** Returns method and path, shortened. */
export function shortenRequest(method: string, target: string): string {
  return `${method} ${target}`.slice(0, 80);
}

/** True if a field has content. */
export function hasContent(value: unknown): boolean {
  return value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);
}

/** Returns the first result of `find` for one of the items, or null. */
export function findFirstResult<T>(items: readonly T[], find: (item: T) => string | null): string | null {
  for (const item of items) {
    const found = find(item);
    if (found !== null) return found;
  }
  return null;
}
