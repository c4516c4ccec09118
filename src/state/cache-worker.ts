import { writeSync } from 'node:fs';
import type * as ActionsCache from '@actions/cache';
import {
  type CacheAnswer,
  type CacheRequest,
  type WorkerLine,
  ANSWER_DESCRIPTOR,
  STATE_FOLDER_NAME,
} from './cache-protocol.ts';
import { type Exchange, describeExchange, hasNoEntry, serviceMessage, watchTraffic } from './cache-traffic.ts';
import { textOf } from '../errors.ts';

/** The worker process from start to exit. `argument` is a CacheRequest as JSON; stdin is its lifeline to the action. */
export async function cacheWorkerProcess(argument: string): Promise<never> {
  process.stdin.on('end', endWithDescendants).resume();
  const send = (line: WorkerLine): void => {
    writeSync(ANSWER_DESCRIPTOR, `${JSON.stringify(line)}\n`);
  };
  const answer = await runCacheWorker(JSON.parse(argument) as CacheRequest, (exchange) => {
    send({ kind: 'seen', what: describeExchange(exchange) });
  });
  send({ kind: 'answer', answer });
  // A hung socket of the library would keep the process alive.
  process.exit(0);
}

/** Looks up, restores into or saves from `./ralph-state` by @actions/cache; never throws for what the service did. */
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
    return { kind: 'failed', why: textOf(error) };
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

/** The action is gone, so nobody is left to end a hung tar or this process. */
function endWithDescendants(): void {
  try {
    process.kill(-process.pid, 'SIGKILL');
  } catch {
    process.exit(1);
  }
}
