import { subscribe } from 'node:diagnostics_channel';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { tryJson } from '../core/text/try-json.ts';

/** What the cache service said to one HTTP request of the library, or how the connection ended. */
export type Exchange =
  /** The status is there, the body not yet; the library leaves some bodies unread. */
  | { readonly kind: 'begun'; readonly step: Step; readonly status: number }
  | {
      readonly kind: 'answered';
      readonly step: Step;
      readonly status: number;
      readonly body: Readonly<Record<string, unknown>> | null;
    }
  | { readonly kind: 'cut'; readonly step: Step; readonly code: string };

type Step = 'lookup' | 'reservation' | 'finalization' | 'upload' | 'download';

/**
 * Watches every HTTP exchange of this process and reports each step of it. The library swallows its errors and
 * returns the same for "no such key" and for "the service is down"; what the service answered tells them apart.
 */
export function watchTraffic(onExchange: (exchange: Exchange) => void): void {
  subscribe('http.client.response.finish', (message) => {
    const { request, response } = message as { request: ClientRequest; response: IncomingMessage };
    const step = stepOf(request);
    const status = response.statusCode ?? 0;
    onExchange({ kind: 'begun', step, status });
    overhear(response, (end) => {
      onExchange(
        end.kind === 'cut'
          ? { kind: 'cut', step, code: end.code }
          : { kind: 'answered', step, status, body: parseObject(end.text) },
      );
    });
  });
  subscribe('http.client.request.error', (message) => {
    const { request, error } = message as { request: ClientRequest; error: Error };
    onExchange({ kind: 'cut', step: stepOf(request), code: codeOf(error) });
  });
}

/** The service really said that it has no such entry: v2 answers without `ok`, v1 with 204. */
export function hasNoEntry(exchange: Exchange | undefined): boolean {
  if (exchange?.kind !== 'answered' || exchange.step !== 'lookup') return false;
  return (
    exchange.status === 204 || (isSuccess(exchange.status) && exchange.body !== null && exchange.body['ok'] !== true)
  );
}

/** The service's own words about an exchange, one line of at most 200 characters; empty when it had none. */
export function serviceMessage(exchange: Exchange | undefined): string {
  if (exchange?.kind !== 'answered') return '';
  const text = exchange.body?.['message'] ?? exchange.body?.['msg'];
  return typeof text === 'string'
    ? text
        .replace(/[^\x20-\x7e]+/g, ' ')
        .trim()
        .slice(0, 200)
    : '';
}

/** What an exchange that led nowhere was, for a person. */
export function describeExchange(exchange: Exchange | undefined): string {
  if (exchange === undefined) return 'no request reached the cache service';
  if (exchange.kind === 'cut')
    return `the connection to the cache service failed at the ${exchange.step} (${exchange.code})`;
  const message = serviceMessage(exchange);
  const isBlob = exchange.step === 'upload' || exchange.step === 'download';
  if (exchange.kind === 'answered' && !isBlob && isSuccess(exchange.status) && exchange.body === null) {
    return `the cache service's answer to the ${exchange.step} is not JSON`;
  }
  return `the cache service answered ${String(exchange.status)} to the ${exchange.step}${message && `: ${message}`}`;
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

function stepOf(request: ClientRequest): Step {
  const path = request.path.split('?', 1)[0] ?? '';
  if (path.endsWith('/GetCacheEntryDownloadURL') || path.endsWith('/_apis/artifactcache/cache')) return 'lookup';
  if (path.endsWith('/CreateCacheEntry') || path.endsWith('/_apis/artifactcache/caches')) return 'reservation';
  if (path.endsWith('/FinalizeCacheEntryUpload')) return 'finalization';
  return request.method === 'GET' || request.method === 'HEAD' ? 'download' : 'upload';
}

const MAX_BODY_BYTES = 64 * 1024;

type ResponseEnd =
  | { readonly kind: 'complete'; readonly text: string }
  | { readonly kind: 'cut'; readonly code: string };

/** Hears a response without reading it: a `data` listener of our own would start the flow before the library listens. */
function overhear(response: IncomingMessage, onEnd: (end: ResponseEnd) => void): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const emit = response.emit.bind(response) as (event: string | symbol, ...values: unknown[]) => boolean;
  response.emit = (event: string | symbol, ...values: unknown[]): boolean => {
    const [value] = values;
    if (event === 'data' && bytes <= MAX_BODY_BYTES) {
      const chunk = Buffer.from(value as Uint8Array | string);
      bytes += chunk.length;
      chunks.push(chunk);
    }
    if (event === 'end')
      onEnd({ kind: 'complete', text: bytes <= MAX_BODY_BYTES ? Buffer.concat(chunks).toString('utf8') : '' });
    if (event === 'error') onEnd({ kind: 'cut', code: codeOf(value) });
    return emit(event, ...values);
  };
}

function parseObject(text: string): Readonly<Record<string, unknown>> | null {
  const value = tryJson(text);
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null;
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : 'connection closed';
}
