import { mostTokensIn, NOTHING, type Spent } from '../../../core/spending/meter.ts';
import { costAt, givenPriceOf, noPriceText, priceOf, type Prices } from '../../../core/spending/prices.ts';
import type { Account, AgentRequest, ModelProtocol, OwnAnswer, Reading } from '../../../ports/broker.ts';
import { createUsageReader, type TokenCounts } from './usage.ts';

/** The fields that a message of the API may have, by name; each looks for what reaches out in its value, and tells it in words. */
type Form = Readonly<Record<string, (value: unknown) => string | null>>;

/** Google reads JSON as deep as this. */
const MAX_DEPTH = 100;

const nothing = (): null => null;

/** A picture in the answer to a function's call. */
const RESPONSE_PART: Form = { inlineData: nothing };

/** What functions are called with and answer is theirs. */
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

/** What the CLI says of itself. Everything else stays here: what could be a credential, name another method or project, or leave the usage out of the answer. */
const PASSED = /^(?:user-agent|x-goog-api-client|x-server-timeout|x-gemini-[a-z0-9-]+)$/;

/** A request that one of the API's endpoints takes. */
interface Endpoint {
  readonly model: string;
  /** Nothing is generated. */
  readonly isFree: boolean;
  readonly isStream: boolean;
}

const MODEL = /^\/v1(?:beta)?\/models\/(?<model>[A-Za-z0-9][\w.-]{0,99}):(?<method>[A-Za-z]+)(?<stream>\?alt=sse)?$/;

interface ProtocolOptions {
  /** A model that is not among them spends tokens alone. */
  readonly prices: Prices;
  /** Whether the user allows the tool that searches on the provider's servers. */
  readonly mayWebSearch: boolean;
}

/** Four characters are about a token. */
const CHARS_PER_TOKEN = 4;

/** An answer may be four times as long, and is not. */
const USUAL_OUTPUT_TOKENS = 16_000;

/** The output limit of the model that answers at greatest length. */
const MAX_OUTPUT_TOKENS = 65_536;

/** The API returns at most this many candidates for one request. */
const MAX_ANSWERS = 8;

/** A prompt longer than this doubles the price of the input and adds half to that of the output. */
const LONG_TOKENS = 200_000;

const LONG_DEARER = /^gemini-[\d.]+-pro/;

/** The Gemini API, as far as Gemini CLI needs it: its endpoints for content, nothing that the provider's servers do for the caller. */
export function geminiProtocol(options: ProtocolOptions): ModelProtocol {
  const exhausted = errorAnswer('FAILED_PRECONDITION', 'The limit of this run is reached.');
  return {
    read: (request, secretFor) => read(request, secretFor, options),
    exhausted,
    exhaustedIn: (contentType) => (contentType.includes('text/event-stream') ? `data: ${exhausted.body}\n\n` : null),
    withoutPrice: (model) => errorAnswer('FAILED_PRECONDITION', noPriceText(model)),
    hasPrice: (model) => priceOf(options.prices, model) !== null,
    tooLarge: errorAnswer('INVALID_ARGUMENT', 'The request exceeds the maximum length: it is larger than 32 MB.'),
    unreachable: (why) => errorAnswer('UNAVAILABLE', `The provider cannot be reached: ${why}`),
  };
}

function read(
  { method, target, headers, body }: AgentRequest,
  secretFor: (placeholder: string) => string | null,
  { prices, mayWebSearch }: ProtocolOptions,
): Reading {
  const forwarded = forwardedHeaders(headers, secretFor);
  if (forwarded === null) return refused('UNAUTHENTICATED', 'a request without the placeholder of this call');
  const endpoint = endpointOf(method, target);
  if (endpoint === null) return refused('FAILED_PRECONDITION', namedRequest(method, target));
  const message = parsed(body);
  if (message === null) return refused('INVALID_ARGUMENT', 'a body that is not a JSON object');
  const reach = reachesOut(message, mayWebSearch);
  if (reach !== null) return refused('FAILED_PRECONDITION', reach);
  const asked: Asked = { model: endpoint.model, chars: body.length, prices };
  const { isFree } = endpoint;
  return {
    kind: 'forwarded',
    target,
    headers: forwarded,
    // Written anew: of a key that comes twice, two readers may see different ones.
    body: JSON.stringify(message),
    expected: isFree ? NOTHING : expectedOf(asked, message, endpoint.isStream),
    atMost: isFree ? NOTHING : atMost(asked, message, body),
    unpriced: isFree || priceOf(prices, endpoint.model) !== null ? null : endpoint.model,
    account: isFree ? null : (contentType) => createAccount(contentType, asked),
  };
}

/** What its answer is counted by. */
interface Asked {
  readonly model: string;
  readonly chars: number;
  readonly prices: Prices;
}

/** An answer that does not stream is made to its end, whether anybody waits for it or not. */
function expectedOf(asked: Asked, message: Fields, isStream: boolean): Spent {
  const most = mostOutput(message);
  const output = isStream ? Math.min(most, USUAL_OUTPUT_TOKENS) : most;
  return spentBy({ input: tokensIn(asked.chars), cached: 0, output }, asked);
}

/** By its length in bytes, and the longest answer that it allows. */
function atMost(asked: Asked, message: Fields, body: string): Spent {
  return spentBy({ input: mostTokensIn(body), cached: 0, output: mostOutput(message) }, asked);
}

function mostOutput(message: Fields): number {
  const config = fieldsOf(message['generationConfig'] ?? message['generation_config']);
  const numberOf = (...names: readonly string[]): number | null => {
    const given = names.map((name) => config?.[name]).filter((value) => typeof value === 'number' && value > 0);
    return given.length === 0 ? null : Math.max(...(given as readonly number[]));
  };
  const limit = numberOf('maxOutputTokens', 'max_output_tokens') ?? MAX_OUTPUT_TOKENS;
  const answers = numberOf('candidateCount', 'candidate_count') ?? 1;
  return Math.min(limit, MAX_OUTPUT_TOKENS) * Math.min(answers, MAX_ANSWERS);
}

function createAccount(contentType: string, asked: Asked): Account {
  const usage = createUsageReader(contentType);
  let chars = 0;
  return {
    push(text) {
      chars += text.length;
      usage.push(text);
    },
    spent: () =>
      // A gateway that tells no usage spends as much.
      spentBy(usage.counts() ?? { input: tokensIn(asked.chars), cached: 0, output: tokensIn(chars) }, asked),
    isComplete: usage.isComplete,
  };
}

function spentBy(counts: TokenCounts, { model, prices }: Asked): Spent {
  const price = priceOf(prices, model);
  const isLong = counts.input > LONG_TOKENS && LONG_DEARER.test(model) && givenPriceOf(prices, model) === null;
  const asked =
    price === null || !isLong
      ? price
      : { input: 2 * price.input, cachedInput: 2 * price.cachedInput, output: 1.5 * price.output };
  return { tokens: counts.input + counts.output, costUsd: asked === null ? 0 : costAt(asked, counts) };
}

function tokensIn(chars: number): number {
  return Math.ceil(chars / CHARS_PER_TOKEN);
}

/** Google's names of errors, and the HTTP status of each. Gemini CLI 0.61 tries the last one alone again; it takes 503, which is Google's, for a quota. */
const STATUSES = { INVALID_ARGUMENT: 400, FAILED_PRECONDITION: 400, UNAUTHENTICATED: 401, UNAVAILABLE: 502 };

function refused(status: keyof typeof STATUSES, why: string): Reading {
  return { kind: 'refused', answer: errorAnswer(status, `ralph-action does not pass on ${why}.`), why };
}

function errorAnswer(status: keyof typeof STATUSES, message: string): OwnAnswer {
  const code = STATUSES[status];
  return {
    status: code,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ error: { code, message, status } }),
  };
}

type Fields = Readonly<Record<string, unknown>>;

function parsed(body: string): Fields | null {
  try {
    return fieldsOf(JSON.parse(body));
  } catch {
    return null;
  }
}

function fieldsOf(value: unknown): Fields | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : null;
}

/** null: it is none of those that Gemini CLI needs. */
export function endpointOf(method: string, target: string): Endpoint | null {
  const { model, method: called, stream } = (method === 'POST' ? MODEL.exec(target)?.groups : null) ?? {};
  if (model === undefined || model.includes('..')) return null;
  if (called === 'streamGenerateContent') return { model, isFree: false, isStream: true };
  // An answer that does not stream has no form to choose.
  if (stream !== undefined) return null;
  return called === 'generateContent' || called === 'countTokens'
    ? { model, isFree: called === 'countTokens', isStream: false }
    : null;
}

/** A request for the log: what stands in a query could be a key. */
export function namedRequest(method: string, target: string): string {
  const [path = '', ...query] = target.split('?');
  return `${`${method} ${path}`.slice(0, 80)}${query.length === 0 ? '' : ' with a query'}`;
}

/** The request's headers with the real key; null: it holds no placeholder. */
function forwardedHeaders(
  given: AgentRequest['headers'],
  secretFor: (placeholder: string) => string | null,
): Record<string, string> | null {
  const key = secretFor(textOf(given['x-goog-api-key']));
  if (key === null) return null;
  const passed = Object.entries(given).flatMap(([name, value]): [string, string][] =>
    PASSED.test(name) && value !== undefined ? [[name, textOf(value)]] : [],
  );
  return {
    ...Object.fromEntries(passed),
    'x-goog-api-key': key,
    // What is agreed on here is what the request was checked as, and what the answer is read as.
    'content-type': 'application/json',
    accept: '*/*',
    // An answer that passes as it comes must not be packed.
    'accept-encoding': 'identity',
  };
}

function textOf(value: string | readonly string[] | undefined): string {
  return typeof value === 'string' ? value : (value ?? []).join(', ');
}

/** What in a request makes the provider's servers fetch, keep or run something, in words; null: nothing does. A field that is not known here is one of these. */
export function reachesOut(body: Fields, mayWebSearch: boolean): string | null {
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

/** Where the API wants a list it takes one of its items as well. */
function each(what: string, find: (item: Fields) => string | null): (value: unknown) => string | null {
  return (value) => {
    for (const item of Array.isArray(value) ? (value as readonly unknown[]) : [value]) {
      const found = isFields(item) ? find(item) : `${what} in an unknown form`;
      if (found !== null) return found;
    }
    return null;
  };
}

/** Functions are the CLI's own; everything else runs on the provider's servers. */
function toolIn(tool: Fields, mayWebSearch: boolean): string | null {
  const name = Object.keys(tool).find(
    (field) =>
      isGiven(tool[field]) &&
      !isNamed(field, 'functionDeclarations') &&
      !(mayWebSearch && isNamed(field, 'googleSearch')),
  );
  return name === undefined ? null : `the tool ${quoted(name)} of the provider's servers`;
}

function unknownIn(message: Fields, form: Form): string | null {
  for (const [name, value] of Object.entries(message)) {
    if (!isGiven(value)) continue;
    const find = Object.entries(form).find(([known]) => isNamed(name, known))?.[1];
    const found = find === undefined ? `${quoted(name)} in a request` : find(value);
    if (found !== null) return found;
  }
  return null;
}

/** The API knows a field by two names: `fileData` is `file_data`, too. */
function isNamed(name: string, field: string): boolean {
  return name === field || name === field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** What is null is not there. */
function isGiven(value: unknown): boolean {
  return value !== null && value !== undefined;
}

function isTooDeep(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return depth > MAX_DEPTH || Object.values(value).some((inner) => isTooDeep(inner, depth + 1));
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function quoted(name: string): string {
  return JSON.stringify(name).slice(0, 60);
}
