import { once } from 'node:events';
import { Agent as HttpAgent, type IncomingMessage, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { type Duplex, pipeline } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import { oneLine } from '../core/text/phrase.ts';
import { tryJson } from '../core/text/try-json.ts';

const MAX_CHARS = 300;

/** What a provider answers; its body is unpacked, and comes as it is sent. */
interface ProviderAnswer {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: AsyncIterable<Uint8Array>;
}

/** Sends a message to a provider; rejects when no answer comes, and for one that leads elsewhere. */
export type Send = (
  url: string,
  message: { readonly headers: Readonly<Record<string, string>>; readonly body: string; readonly signal: AbortSignal },
) => Promise<ProviderAnswer>;

const UNPACKING: Readonly<Record<string, () => Duplex>> = {
  gzip: createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};

/** Straight to the provider; `fetch` would take four times as long for a message. */
export function createDirectSend(): Send {
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
    // A connection that breaks later is seen where the body is read.
    request.on('error', () => undefined);
    const status = answer.statusCode ?? 0;
    if (isRedirect(status)) {
      answer.destroy();
      throw new Error('its answer leads to another address');
    }
    return { status, headers: pairsOf(answer.rawHeaders), body: unpacked(answer) };
  };
}

/** By a `fetch`, which a proxy on the way takes. */
export function createFetchSend(send: typeof fetch): Send {
  return async (url, { headers, body, signal }) => {
    const answer = await send(url, { method: 'POST', headers, body, redirect: 'error', signal });
    return { status: answer.status, headers: [...answer.headers], body: answer.body ?? nothing() };
  };
}

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400;
}

function pairsOf(raw: readonly string[]): (readonly [string, string])[] {
  return raw.flatMap((name, at): (readonly [string, string])[] =>
    at % 2 === 0 ? [[name.toLowerCase(), raw[at + 1] ?? '']] : [],
  );
}

/** A gateway may pack what nobody asked it to. */
function unpacked(answer: IncomingMessage): AsyncIterable<Uint8Array> {
  const encoding = answer.headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  if (encoding === 'identity' || encoding === '') return answer;
  const create = UNPACKING[encoding];
  if (create === undefined) {
    answer.destroy();
    throw new Error('its answer is packed in an unknown way');
  }
  // What goes wrong is seen where the body is read.
  return pipeline(answer, create(), () => undefined);
}

async function* nothing(): AsyncGenerator<Uint8Array> {
  // An answer without a body.
}

/** What a provider says in the body of an answer that is an error, in whichever dialect; null: no words. */
export function providerWords(body: string): string | null {
  const parsed = tryJson(body);
  const words = parsed === undefined ? plainText(body) : messageIn(Array.isArray(parsed) ? parsed[0] : parsed);
  const line = oneLine(words ?? '', MAX_CHARS);
  return line === '' ? null : line;
}

/** `{"error":{"message":…}}`, `{"message":…}` and what gateways make of it. */
function messageIn(value: unknown): string | null {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return null;
  const { error, message, detail } = value as Readonly<Record<string, unknown>>;
  return [error, message, detail].map(messageIn).find((found) => found !== null) ?? null;
}

/** A page is for people at a screen. */
function plainText(body: string): string | null {
  return /^\s*</.test(body) ? null : body;
}

/** For how long a provider asks to wait, in ms, by its header `retry-after`; null: it does not say. */
export function waitOf(header: string): number | null {
  const seconds = /^\s*(\d{1,8})\s*$/.exec(header)?.[1];
  return seconds === undefined ? null : Number(seconds) * 1_000;
}
