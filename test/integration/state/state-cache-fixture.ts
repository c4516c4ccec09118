import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { inject, vi } from 'vitest';
import type { CopyStore, PartialCopy, SealedTranscript } from '../../../src/ports/state.ts';
import { type CacheService, type CacheStep, startCacheService } from '../../../testbed/cache-service.ts';
import { createSeal } from '../../../src/state/seal.ts';
import { type CacheStoreOptions, createCacheStore } from '../../../src/state/cache-store.ts';

/** The unmodified cache library in its real child process. */
export const workerCommand = [process.execPath, join(inject('programs'), 'cache-worker.mjs')] as const;

/** The agent's key, which signs saved copies. */
export const KEY = 'sk-ant-of-the-state-tests';

/** Long enough for the worker's start on a busy machine; an immediate failure does not use it up. */
export const PATIENT_MS = 20_000;

/**
 * Limit for failures that the library itself retries for half a minute: long enough for its first attempt on a busy
 * machine.
 */
export const RETRIED_MS = 10_000;

/** Limit for calls that hang; see `toItsLimit`. */
export const SHORT_MS = 3_000;

/**
 * Runs a call that takes at most SHORT_MS, and lets that time pass as soon as `isThere`, since a busy machine would not
 * get that far within it. Not usable beside other tests, because their time would pass as well.
 */
export async function toItsLimit<Result>(act: () => Promise<Result>, isThere: () => boolean): Promise<Result> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const acting = act();
    const over = acting.then(
      () => true,
      () => true,
    );
    while (!isThere() && !(await Promise.race([over, pause(20, false)])));
    vi.advanceTimersByTime(SHORT_MS);
    return await acting;
  } finally {
    vi.useRealTimers();
  }
}

/** True if the service got a request for this step. */
export function isAsked({ requests }: CacheService, step: CacheStep): boolean {
  return requests.some((request) => request.step === step);
}

export interface CacheFixture extends AsyncDisposable {
  readonly service: CacheService;
  readonly folder: string;
  /** Returns the store of a new machine, with its own staging folder and a later clock. */
  store(change?: Partial<CacheStoreOptions>): CopyStore;
  readonly debugLines: string[];
}

export async function cacheFixture(options: Parameters<typeof startCacheService>[0] = {}): Promise<CacheFixture> {
  const service = await startCacheService(options);
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'ralph-state-test-')));
  const debugLines: string[] = [];
  let machines = 0;
  return {
    service,
    folder,
    debugLines,
    store(change = {}) {
      machines += 1;
      const startedAt = Date.UTC(2026, 10, 21) + machines;
      return createCacheStore({
        workerCommand,
        stagingFolder: join(folder, `machine-${String(machines)}`),
        environment: runEnvironment(service),
        runId: '4711',
        runAttempt: 1,
        restoreTimeoutMs: PATIENT_MS,
        saveTimeoutMs: PATIENT_MS,
        now: () => startedAt,
        seal: createSeal({ credential: KEY, repository: 'octo/app' }),
        debug: (text) => debugLines.push(text),
        ...change,
      });
    },
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export function runEnvironment(
  service: CacheService,
  change: Record<string, string | undefined> = {},
): Record<string, string | undefined> {
  return { PATH: process.env['PATH'], ...service.env, ...change };
}

/** Returns a copy to save. */
export function copyOf(
  lane: string,
  sequence: number,
  document: string | null,
  transcript: SealedTranscript | null = null,
): PartialCopy {
  return { lane, sequence, document, transcript };
}
