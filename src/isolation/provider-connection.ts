import { once } from 'node:events';
import { Agent as HttpAgent, type IncomingMessage, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { type Duplex, pipeline } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import { toOneLine } from '../core/text/phrase.ts';
import { tryJson } from '../core/text/try-json.ts';

const MAX_CHARS = 300;

/** A provider's answer; its body is decompressed and streamed. */
interface ProviderAnswer {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: AsyncIterable<Uint8Array>;
}

/** Sends a message to a provider; rejects if no answer comes, or if the answer is a redirect. */
export type SendToProvider = (
  url: string,
  message: { readonly headers: Readonly<Record<string, string>>; readonly body: string; readonly signal: AbortSignal },
) => Promise<ProviderAnswer>;

const UNPACKING: Readonly<Record<string, () => Duplex>> = {
  gzip: createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};

/** Creates a `SendToProvider` with direct connections; `fetch` would take four times as long per message. */
export function createDirectSend(): SendToProvider {
  const options = { keepAlive: true };
  const agents = { 'http:': new HttpAgent(options), 'https:': new HttpsAgent(options) };
  return async (url, { headers, body, signal }) => {
    const isPlain = url.startsWith('http:');
    const request = (isPlain ? httpRequest : httpsRequest)(url, {
      method: 'POST',
      headers: { ...headers, 'content-length': String(Buffer.byteLength(body)) },
      agent: agents[isPlain ? 'http:' : 'https:'],
      signal,
    });
    request.end(body);
    const [answer] = (await once(request, 'response')) as [IncomingMessage];
    // Ignore errors from here on, because they surface where the body is read.
    request.on('error', () => undefined);
    const status = answer.statusCode ?? 0;
    if (status >= 300 && status < 400) {
      answer.destroy();
      throw new Error('its answer redirects to another address');
    }
    return { status, headers: pairsOf(answer.rawHeaders), body: unpacked(answer) };
  };
}

/** Creates a `SendToProvider` that uses a `fetch`, which can go through a proxy. */
export function createFetchSend(send: typeof fetch): SendToProvider {
  return async (url, { headers, body, signal }) => {
    const answer = await send(url, { method: 'POST', headers, body, redirect: 'error', signal });
    return { status: answer.status, headers: [...answer.headers], body: answer.body ?? nothing() };
  };
}

function pairsOf(raw: readonly string[]): (readonly [string, string])[] {
  return raw.flatMap((name, at): (readonly [string, string])[] =>
    at % 2 === 0 ? [[name.toLowerCase(), raw[at + 1] ?? '']] : [],
  );
}

/** Returns the decompressed body, because a gateway may compress its answers unasked. */
function unpacked(answer: IncomingMessage): AsyncIterable<Uint8Array> {
  const encoding = answer.headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  if (encoding === 'identity' || encoding === '') return answer;
  const create = UNPACKING[encoding];
  if (create === undefined) {
    answer.destroy();
    throw new Error('its answer has an unknown compression');
  }
  // Ignore errors here, because they surface where the body is read.
  return pipeline(answer, create(), () => undefined);
}

async function* nothing(): AsyncGenerator<Uint8Array> {
  // An answer without a body has no chunks.
}

/** Returns the message in the body of an error answer, in any provider's format, or null if there is no message. */
export function parseProviderWords(body: string): string | null {
  const parsed = tryJson(body);
  const words = parsed === undefined ? plainText(body) : messageIn(Array.isArray(parsed) ? parsed[0] : parsed);
  const line = toOneLine(words ?? '', MAX_CHARS);
  return line === '' ? null : line;
}

/** Finds the message in `{"error":{"message":…}}`, `{"message":…}` and the variants of gateways. */
function messageIn(value: unknown): string | null {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return null;
  const { error, message, detail } = value as Readonly<Record<string, unknown>>;
  return [error, message, detail].map(messageIn).find((found) => found !== null) ?? null;
}

/** Returns the body, or null if it is an HTML page, which is meant for browsers. */
function plainText(body: string): string | null {
  return /^\s*</.test(body) ? null : body;
}

/** Parses the header `retry-after`: the time to wait in ms, or null if the header does not say. */
export function parseRetryAfter(header: string): number | null {
  const seconds = /^\s*(\d{1,8})\s*$/.exec(header)?.[1];
  return seconds === undefined ? null : Number(seconds) * 1_000;
}
