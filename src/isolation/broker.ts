import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { UserError } from '../errors.ts';
import type {
  Broker,
  BrokeredCall,
  ModelProtocol,
  BrokerAnswer,
  ProviderFailure,
  SignRequest,
} from '../ports/broker.ts';
import { type BrokerCall, createBrokerCall, type ForwardedCall, type PassingRequest } from './broker-call.ts';
import { parseProviderWords, type SendToProvider, parseRetryAfter } from './provider-connection.ts';

/** The provider, the keys and the connections of a broker. */
export interface BrokerOptions {
  readonly protocol: ModelProtocol;
  /** Base URL of the provider without a trailing slash; requests are sent nowhere else. */
  readonly provider: string;
  /** The keys, by the name of their variable. */
  readonly keys: Readonly<Record<string, string>>;
  /** Texts that are removed from answers: the keys, and other secrets that are sent with a request. */
  readonly secrets: readonly string[];
  /** Returns the agent's variables for a broker at this address. */
  readonly environmentFor: (at: {
    readonly address: string;
    readonly placeholders: Readonly<Record<string, string>>;
  }) => Readonly<Record<string, string>>;
  /** Signs a request; null if the key itself is sent. */
  readonly sign: SignRequest | null;
  readonly connect: () => Promise<SendToProvider>;
  /**
   * Makes a server reachable for the agent and returns its port on 127.0.0.1. `isOpen` returns true while a call is
   * open.
   */
  readonly listen: (server: Server, isOpen: () => boolean) => Promise<number>;
}

/** A broker whose port is known before its first call. */
export interface PlacedBroker extends Broker {
  /** Returns the port on 127.0.0.1 at which the agent reaches the broker. */
  port(): Promise<number>;
}

/** Maximum size of a request; the provider accepts no larger ones. */
const MAX_BODY_BYTES = 32 * 1024 * 1024;

/** Maximum number of connections to a broker; the CLI runs at most ten agents at once. */
export const MAX_CONNECTIONS = 64;

/** Maximum size of all unanswered requests: far more than ten agents send, far less than the memory of this process. */
const MAX_HELD_BYTES = 4 * MAX_BODY_BYTES;

/** Maximum number of bytes that are read of an error answer. */
const MAX_ERROR_BYTES = 64 * 1024;

/** Maximum number of bytes that a stream may still send to finish its event after a limit is used up. */
const MAX_EVENT_BYTES = 256 * 1024;

/**
 * Headers of the provider's answer that are dropped: they describe the connection behind the broker, or the CLI would
 * store them.
 */
const NOT_PASSED = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'content-encoding',
  'content-length',
  'set-cookie',
]);

/**
 * Creates a broker: a server on loopback that lives as long as the process. It starts, and this module is loaded, at
 * the first call, so that a run without a call does not pay for it.
 */
export function createBroker(options: BrokerOptions): PlacedBroker {
  let current: BrokerCall | null = null;
  let started: Promise<number> | null = null;
  let connected: Promise<SendToProvider> | null = null;
  const connect = (): Promise<SendToProvider> => (connected ??= options.connect());
  const bodies = createBodies();
  const start = (): Promise<number> =>
    (started ??= listen(options, {
      isOpen: () => current !== null,
      handle: (exchange) => serve({ ...options, connect, bodies }, current, exchange),
    }));
  return {
    port: start,
    async open(limits, hear, spending) {
      const port = await start();
      const call = createBrokerCall(limits, options.keys, { hear, spending });
      current = call;
      return {
        environment: options.environmentFor({
          address: `http://127.0.0.1:${String(port)}`,
          placeholders: call.placeholders,
        }),
        end: async () => {
          if (current === call) current = null;
          return await call.end();
        },
      } satisfies BrokeredCall;
    },
  };
}

/** The options of a broker, and the requests that it holds in memory. */
interface Serving extends BrokerOptions {
  readonly bodies: Bodies;
}

/** A request and its response. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

async function listen(
  { listen: listenFor }: BrokerOptions,
  { isOpen, handle }: { readonly isOpen: () => boolean; readonly handle: (exchange: Exchange) => Promise<void> },
): Promise<number> {
  const server = createServer((request, response) => void handle({ request, response }));
  server.maxConnections = MAX_CONNECTIONS;
  server.requestTimeout = 0;
  try {
    return await listenFor(server, isOpen);
  } catch (error) {
    throw new UserError(
      'infrastructure',
      `The action cannot listen on 127.0.0.1, where the agent reaches its model: ${String(error)}. Look at the machine's network settings.`,
    );
  }
}

async function serve(options: Serving, call: BrokerCall | null, { request, response }: Exchange): Promise<void> {
  const { protocol, bodies } = options;
  try {
    const body = await bodies.read(request);
    if (body === null) {
      reply(response, protocol.tooLarge);
      return;
    }
    const { method = '', url: target = '', headers } = request;
    const reading = protocol.read({ method, target, headers, body }, call?.secretFor ?? (() => null));
    if (reading.kind === 'refused') call?.refuse(reading.why);
    if (reading.kind !== 'forwarded') {
      reply(response, reading.answer);
      return;
    }
    if (reading.unpriced !== null && call?.needsPrice === true) {
      call.refuseModel(reading.unpriced);
      reply(response, protocol.withoutPrice(reading.unpriced));
      return;
    }
    const passage = (await call?.enter(reading)) ?? null;
    if (passage === null) {
      reply(response, protocol.exhausted);
      return;
    }
    try {
      // Do not forward a request whose client hung up while it waited.
      if (!request.socket.destroyed) passage.recordEnd(await forward(options, reading, { passage, response }));
    } catch (error) {
      // Record no failure if the client hung up, because the provider might have answered.
      if (!response.destroyed) passage.recordEnd({ status: null, words: causeOf(error), waitMs: null });
      throw error;
    } finally {
      passage.leave();
    }
  } catch (error) {
    if (response.headersSent) response.destroy();
    else reply(response, protocol.unreachable(causeOf(error)));
  } finally {
    bodies.release(request);
  }
}

/** The bodies of the requests that are not answered yet. */
interface Bodies {
  /** Reads a body to its end; returns null if it is too large or too many bytes are held already. */
  read(request: IncomingMessage): Promise<string | null>;
  release(request: IncomingMessage): void;
}

function createBodies(): Bodies {
  const sizes = new Map<IncomingMessage, number>();
  let held = 0;
  const release = (request: IncomingMessage): void => {
    held -= sizes.get(request) ?? 0;
    sizes.delete(request);
  };
  return {
    release,
    async read(request) {
      const chunks: Buffer[] = [];
      sizes.set(request, 0);
      // Do not read the chunks with `for await`, which takes twice as long.
      request.on('data', (chunk: Buffer) => {
        const before = sizes.get(request);
        if (before === undefined) return;
        const size = before + chunk.length;
        if (size > MAX_BODY_BYTES || held + chunk.length > MAX_HELD_BYTES) {
          chunks.length = 0;
          release(request);
          return;
        }
        chunks.push(chunk);
        sizes.set(request, size);
        held += chunk.length;
      });
      await once(request, 'end');
      return sizes.has(request) ? Buffer.concat(chunks).toString('utf8') : null;
    },
  };
}

/**
 * Passes the answer on as it arrives, and measures its cost. Returns the failure if the answer is an error, otherwise
 * null.
 */
async function forward(
  { protocol, provider, secrets, sign, connect }: BrokerOptions,
  { target, headers, body, expected, account: open }: ForwardedCall,
  { passage, response }: { readonly passage: PassingRequest; readonly response: ServerResponse },
): Promise<ProviderFailure | null> {
  const left = new AbortController();
  response.once('close', () => {
    left.abort();
  });
  const signal = AbortSignal.any([passage.signal, left.signal]);
  const send = await connect();
  const url = `${provider}${target}`;
  const proof = await sign?.({ url, body });
  // Count the request before the answer, because the provider charges for reading it even if nobody waits.
  passage.count(open?.('') ?? null);
  const answer = await send(url, { headers: { ...headers, ...proof }, body, signal }).catch((error: unknown) => {
    // Count the expected answer if the client hung up, because the provider finishes and charges it.
    // The answer's events are not read, so count the expected cost.
    if (left.signal.aborted) passage.count({ push: () => undefined, spent: () => expected, isComplete: () => true });
    else if (!signal.aborted) passage.count(null);
    throw error;
  });
  const isError = answer.status >= 400;
  const account = isError ? null : (open?.(headerOf(answer.headers, 'content-type')) ?? null);
  passage.count(account);
  const passed = answer.headers.filter(([name]) => !NOT_PASSED.has(name));
  response.writeHead(
    answer.status,
    passed.flatMap(([name, value]) => [name, withoutSecrets(value, secrets)]),
  );
  response.flushHeaders();
  if (isError) {
    const text = await errorText(answer.body, secrets);
    response.end(text);
    const waitMs = parseRetryAfter(headerOf(answer.headers, 'retry-after'));
    return { status: answer.status, words: parseProviderWords(text), waitMs };
  }
  const decoder = new TextDecoder();
  const contentType = headerOf(answer.headers, 'content-type');
  const words = account === null ? null : protocol.exhaustedIn(contentType);
  const cut = createCut(words ?? '');
  for await (const chunk of answer.body) {
    account?.push(decoder.decode(chunk, { stream: true }));
    // Do not cut a complete answer: it is paid for and still useful.
    const isOver = words !== null && account?.isComplete() === false && passage.isOver();
    const last = isOver ? cut(chunk) : null;
    const isDrained = response.write(last ?? chunk);
    if (last !== null) {
      if (words === '') response.destroy();
      else response.end();
      // Leave the loop, which closes the connection, so that the provider stops generating.
      return null;
    }
    // Stop waiting when the call ends, because the client may never read.
    if (!isDrained) await once(response, 'drain', { signal });
  }
  response.end();
  return null;
}

/**
 * Creates a function that ends a stream after its current event, with `words` as the last event, or at once if `words`
 * is empty. It returns the last chunk, or null while the event continues.
 */
function createCut(words: string): (chunk: Uint8Array) => Buffer | null {
  let waited = 0;
  return (chunk) => {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const ends = ['\n\n', '\r\n\r\n'].flatMap((end) => {
      const at = bytes.indexOf(end);
      return at < 0 ? [] : [at + end.length];
    });
    waited += bytes.length;
    if (words !== '' && ends.length === 0 && waited <= MAX_EVENT_BYTES) return null;
    const end = ends.length === 0 ? 0 : Math.min(...ends);
    return Buffer.concat([bytes.subarray(0, end), Buffer.from(words)]);
  };
}

/**
 * Returns the text of an error answer without keys. A text that is cut also loses its end, which may be the beginning
 * of a key.
 */
async function errorText(body: AsyncIterable<Uint8Array>, secrets: readonly string[]): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > MAX_ERROR_BYTES) break;
  }
  const text = withoutSecrets(Buffer.concat(chunks).subarray(0, MAX_ERROR_BYTES).toString('utf8'), secrets);
  const longest = Math.max(0, ...secrets.map((secret) => secret.length));
  return size > MAX_ERROR_BYTES ? text.slice(0, text.length - longest) : text;
}

/** Replaces every secret by `[key]`, because a gateway may repeat a key that it rejects. */
function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((cleaned, secret) => cleaned.replaceAll(secret, '[key]'), text);
}

function headerOf(headers: readonly (readonly [string, string])[], wanted: string): string {
  return headers.find(([name]) => name === wanted)?.[1] ?? '';
}

function reply(response: ServerResponse, { status, headers, body }: BrokerAnswer): void {
  response.writeHead(status, headers);
  response.end(body);
}

/** Returns the code or message of an error's cause, which explains a failed connection better than the error itself. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = (cause as { readonly code?: unknown }).code;
  return typeof code === 'string' ? code : cause instanceof Error ? cause.message : String(cause);
}

/**
 * Serves the brokers of several agents on one port. Only one agent works at a time: a request goes to the broker whose
 * call is open, since only that broker knows the placeholders of the call.
 */
export function shareBrokerPort(listen: (server: Server) => Promise<number>): BrokerOptions['listen'] {
  const brokers: { readonly server: Server; readonly isOpen: () => boolean }[] = [];
  let port: Promise<number> | null = null;
  const front = createServer((request, response) => {
    const { server } = brokers.find(({ isOpen }) => isOpen()) ?? brokers[0] ?? {};
    server?.emit('request', request, response);
  });
  front.maxConnections = MAX_CONNECTIONS;
  front.requestTimeout = 0;
  return (server, isOpen) => {
    brokers.push({ server, isOpen });
    return (port ??= listen(front));
  };
}
