import { subscribe } from 'node:diagnostics_channel';
import { writeSync } from 'node:fs';
import type { ClientRequest, IncomingMessage } from 'node:http';
import type * as ActionsCache from '@actions/cache';
import { tryJson } from '../core/text/try-json.ts';
import { getErrorText } from '../errors.ts';
import {
  ANSWER_DESCRIPTOR,
  type CacheAnswer,
  type CacheRequest,
  STATE_FOLDER_NAME,
  type WorkerLine,
} from './cache-environment.ts';

/** The cache service's answer to one HTTP request of the library, or how the connection ended. */
type Exchange =
  /** The status has arrived, but the body has not; the library leaves some bodies unread. */
  | { readonly kind: 'begun'; readonly step: Step; readonly status: number }
  | {
      readonly kind: 'answered';
      readonly step: Step;
      readonly status: number;
      readonly body: Readonly<Record<string, unknown>> | null;
    }
  | { readonly kind: 'cut'; readonly step: Step; readonly code: string };

type Step = 'lookup' | 'reservation' | 'finalization' | 'upload' | 'download';

const MAX_BODY_BYTES = 64 * 1024;

type ResponseEnd =
  | { readonly kind: 'complete'; readonly text: string }
  | { readonly kind: 'cut'; readonly code: string };

/**
 * Runs the worker process from start to exit. `argument` is a CacheRequest as JSON; stdin is the lifeline to the
 * action.
 */
export async function startCacheWorker(argument: string): Promise<never> {
  process.stdin.on('end', endWithDescendants).resume();
  const send = (line: WorkerLine): void => {
    writeSync(ANSWER_DESCRIPTOR, `${JSON.stringify(line)}\n`);
  };
  const answer = await runCacheWorker(JSON.parse(argument) as CacheRequest, (exchange) => {
    send({ kind: 'seen', what: describeExchange(exchange) });
  });
  send({ kind: 'answer', answer });
  // Exit explicitly, because a hung socket of the library would keep the process alive.
  process.exit(0);
}

/** Looks up, restores or saves `./ralph-state` with @actions/cache; never throws because of the service's answers. */
async function runCacheWorker(request: CacheRequest, onExchange: (exchange: Exchange) => void): Promise<CacheAnswer> {
  const exchanges: Exchange[] = [];
  watchTraffic((exchange) => {
    exchanges.push(exchange);
    onExchange(exchange);
  });
  try {
    const cache = await import('@actions/cache');
    return request.kind === 'save'
      ? await save(cache, request.key, exchanges)
      : await restore(cache, request, exchanges);
  } catch (error) {
    return { kind: 'failed', why: getErrorText(error) };
  }
}

async function restore(
  cache: typeof ActionsCache,
  { key: prefix, kind }: CacheRequest,
  exchanges: readonly Exchange[],
): Promise<CacheAnswer> {
  const key = await cache.restoreCache([STATE_FOLDER_NAME], prefix, [prefix], { lookupOnly: kind === 'lookup' });
  if (key !== undefined) return { kind: 'restored', key };
  const last = exchanges.at(-1);
  if (hasNoEntry(last)) return { kind: 'no-entry' };
  if (serviceMessage(last).startsWith(cache.CACHE_READ_DENIED_PREFIX))
    return { kind: 'denied', why: serviceMessage(last) };
  const wasDownloaded = last?.kind === 'answered' && last.step === 'download' && last.status === 200;
  return { kind: 'failed', why: wasDownloaded ? 'the downloaded archive cannot be unpacked' : describeExchange(last) };
}

async function save(cache: typeof ActionsCache, key: string, exchanges: readonly Exchange[]): Promise<CacheAnswer> {
  const id = await cache.saveCache([STATE_FOLDER_NAME], key);
  const last = exchanges.at(-1);
  if (id === -1) {
    const message = serviceMessage(last);
    return message.startsWith(cache.CACHE_WRITE_DENIED_PREFIX)
      ? { kind: 'denied', why: message }
      : { kind: 'failed', why: describeExchange(last) };
  }
  const found = await cache.restoreCache([STATE_FOLDER_NAME], key, [], { lookupOnly: true });
  if (found === key) return { kind: 'saved' };
  return { kind: 'failed', why: `it was uploaded but cannot be read back (${describeExchange(exchanges.at(-1))})` };
}

/** Ends this process and its descendants when the action is gone, because nothing else would end a hung tar. */
function endWithDescendants(): void {
  try {
    process.kill(-process.pid, 'SIGKILL');
  } catch {
    process.exit(1);
  }
}

/**
 * Reports each step of every HTTP exchange of this process. The library hides its errors and returns the same for a
 * missing key and for a failing service; only the service's answer distinguishes the two.
 */
function watchTraffic(onExchange: (exchange: Exchange) => void): void {
  subscribe('http.client.response.finish', (message) => {
    const { request, response } = message as { request: ClientRequest; response: IncomingMessage };
    const step = stepOf(request);
    const status = response.statusCode ?? 0;
    onExchange({ kind: 'begun', step, status });
    overhear(response, (end) => {
      onExchange(
        end.kind === 'cut'
          ? { kind: 'cut', step, code: end.code }
          : { kind: 'answered', step, status, body: parseMessageObject(end.text) },
      );
    });
  });
  subscribe('http.client.request.error', (message) => {
    const { request, error } = message as { request: ClientRequest; error: Error };
    onExchange({ kind: 'cut', step: stepOf(request), code: cacheErrorCode(error) });
  });
}

/** Returns true if the service answered that it has no such entry: v2 answers without `ok`, v1 with 204. */
function hasNoEntry(exchange: Exchange | undefined): boolean {
  if (exchange?.kind !== 'answered' || exchange.step !== 'lookup') return false;
  return (
    exchange.status === 204 || (isSuccess(exchange.status) && exchange.body !== null && exchange.body['ok'] !== true)
  );
}

/** Returns the message in the service's answer, as one line of at most 200 characters, or an empty string. */
function serviceMessage(exchange: Exchange | undefined): string {
  if (exchange?.kind !== 'answered') return '';
  const text = exchange.body?.['message'] ?? exchange.body?.['msg'];
  return typeof text === 'string'
    ? text
        .replace(/[^\x20-\x7e]+/g, ' ')
        .trim()
        .slice(0, 200)
    : '';
}

/** Describes an exchange that failed, for people. */
function describeExchange(exchange: Exchange | undefined): string {
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

/** Captures a response without reading it: a `data` listener here would start the flow before the library listens. */
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
    if (event === 'error') onEnd({ kind: 'cut', code: cacheErrorCode(value) });
    return emit(event, ...values);
  };
}

function parseMessageObject(text: string): Readonly<Record<string, unknown>> | null {
  const value = tryJson(text);
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null;
}

function cacheErrorCode(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : 'connection closed';
}
