import { mostTokensIn, type Spent } from '../../../core/spending/meter.ts';
import { costAt, givenPriceOf, priceOf, type Prices } from '../../../core/spending/prices.ts';
import type { ModelProtocol } from '../../../ports/broker.ts';
import { createProtocol, headersOf, headerText, shortRequest } from '../../passing/protocol.ts';
import { createAccount, tokensIn } from '../../passing/usage.ts';
import { asObject, type JsonObject } from '../../reading/agent-event.ts';
import { createGeminiUsage, type TokenCounts } from './usage.ts';

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
export function geminiProtocol({ prices, mayWebSearch }: ProtocolOptions): ModelProtocol {
  const protocol: ModelProtocol = createProtocol<Endpoint>({
    // Google's names of errors. Gemini CLI 0.61 tries 502 alone again; it takes 503, which is Google's, for a quota.
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
    hasPrice: (model) => priceOf(prices, model) !== null,
    shortAnswer: () => null,
    headers: (given, secretFor) => {
      const key = secretFor(headerText(given['x-goog-api-key']));
      // What is agreed on here is what the answer is read as.
      return key === null ? null : headersOf(given, PASSED, { 'x-goog-api-key': key, accept: '*/*' });
    },
    endpoint: endpointOf,
    nameRequest: namedRequest,
    pass: (message, { model, isFree, isStream }, { target, body }) => {
      const reach = reachesOutOfGemini(message, mayWebSearch);
      if (reach !== null) return reach;
      const asked: Asked = { model, chars: body.length, prices };
      const costs = {
        model,
        expected: expectedOf(asked, message, isStream),
        atMost: atMost(asked, message, body),
        account: (contentType: string) =>
          createAccount(createGeminiUsage(contentType), (counts, chars) =>
            // A gateway that tells no usage spends as much.
            spentBy(counts ?? { input: tokensIn(asked.chars), cached: 0, output: tokensIn(chars) }, asked),
          ),
      };
      return { target, body: JSON.stringify(message), costs: isFree ? null : costs };
    },
  });
  return protocol;
}

/** What its answer is counted by. */
interface Asked {
  readonly model: string;
  readonly chars: number;
  readonly prices: Prices;
}

/** An answer that does not stream is made to its end, whether anybody waits for it or not. */
function expectedOf(asked: Asked, message: JsonObject, isStream: boolean): Spent {
  const most = mostOutput(message);
  const output = isStream ? Math.min(most, USUAL_OUTPUT_TOKENS) : most;
  return spentBy({ input: tokensIn(asked.chars), cached: 0, output }, asked);
}

/** By its length in bytes, and the longest answer that it allows. */
function atMost(asked: Asked, message: JsonObject, body: string): Spent {
  return spentBy({ input: mostTokensIn(body), cached: 0, output: mostOutput(message) }, asked);
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

function spentBy(counts: TokenCounts, { model, prices }: Asked): Spent {
  const price = priceOf(prices, model);
  const isLong = counts.input > LONG_TOKENS && LONG_DEARER.test(model) && givenPriceOf(prices, model) === null;
  const asked =
    price === null || !isLong
      ? price
      : { input: 2 * price.input, cachedInput: 2 * price.cachedInput, output: 1.5 * price.output };
  return { tokens: counts.input + counts.output, costUsd: asked === null ? 0 : costAt(asked, counts) };
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
  return `${shortRequest(method, path)}${query.length === 0 ? '' : ' with a query'}`;
}

/** What in a request makes the provider's servers fetch, keep or run something, in words; null: nothing does. A field that is not known here is one of these. */
export function reachesOutOfGemini(body: JsonObject, mayWebSearch: boolean): string | null {
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

/** Functions are the CLI's own; everything else runs on the provider's servers. */
function toolIn(tool: JsonObject, mayWebSearch: boolean): string | null {
  const name = Object.keys(tool).find(
    (field) =>
      isGiven(tool[field]) &&
      !isNamed(field, 'functionDeclarations') &&
      !(mayWebSearch && isNamed(field, 'googleSearch')),
  );
  return name === undefined ? null : `the tool ${quoted(name)} of the provider's servers`;
}

function unknownIn(message: JsonObject, form: Form): string | null {
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

function quoted(name: string): string {
  return JSON.stringify(name).slice(0, 60);
}
