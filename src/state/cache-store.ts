import { constants } from 'node:fs';
import { mkdir, mkdtemp, readFile, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { laneKeyPrefix, sequenceKeyPrefix, sequenceOfKey } from '../core/sharing/cache-keys.ts';
import type { LaneId } from '../core/tasks/ids.ts';
import type { CopyStore, FoundCopy, PartialCopy, RestoredCopy, SavedCopy, Seal, Unavailable } from '../ports/state.ts';
import { type Environment, cacheObstacle, READ_ONLY_EVENT, workerEnvironment } from './cache-environment.ts';
import { type WorkerEnd, callCacheWorker } from './cache-process.ts';
import { type CacheRequest, STATE_FOLDER_NAME } from './cache-protocol.ts';
import { readStateFolder, writeStateFolder } from './state-folder.ts';
import { textOf } from '../errors.ts';

export interface CacheStoreOptions {
  /** Program and arguments that start the cache worker. */
  readonly workerCommand: readonly [string, ...string[]];
  /** A private folder on this machine, the same in main and post. */
  readonly stagingFolder: string;
  /** The run's environment; the worker gets only what the cache library needs of it. */
  readonly environment: Environment;
  readonly runId: string;
  readonly runAttempt: number;
  /** A healthy round trip takes under a second; 8 s leave room for two retries of the library. */
  readonly restoreTimeoutMs: number;
  /** Saving and reading back together. */
  readonly saveTimeoutMs: number;
  readonly now: () => number;
  readonly seal: Pick<Seal, 'sign'>;
  readonly debug: (text: string) => void;
}

/** So that a hanging cache costs a run at most 20 s in all. */
export const cacheTimeouts = { restoreTimeoutMs: 8_000, saveTimeoutMs: 12_000 } as const;

/** The Actions cache as a store of copies: a fresh entry per save, the newest of the lane at restore. */
export function createCacheStore(options: CacheStoreOptions): CopyStore {
  return { restore, save };

  async function restore(lane: LaneId, beyond?: number): Promise<RestoredCopy> {
    return within('restore', async ({ workFolder, ask }): Promise<RestoredCopy> => {
      const find = async (kind: 'lookup' | 'restore') => entryIn(await ask({ kind, key: laneKeyPrefix(lane) }));
      if (beyond !== undefined) {
        const newest = await find('lookup');
        if (newest.kind !== 'entry') return newest;
        const sequence = sequenceOfKey(lane, newest.key);
        if (sequence !== null && sequence <= beyond) return { kind: 'absent' };
      }
      const found = await find('restore');
      if (found.kind !== 'entry') return found;
      const { key } = found;
      const stray = (await readdir(workFolder)).find((name) => name !== STATE_FOLDER_NAME);
      if (stray !== undefined)
        return unavailable(`the cached state ${key} was refused: it contains files outside its folder`);
      const read = await readStateFolder(join(workFolder, STATE_FOLDER_NAME), options.seal.sign);
      if (read.kind === 'refused') return unavailable(`the cached state ${key} was refused: ${read.why}`);
      const { lane: owner, ...copy } = read.copy;
      if (owner !== lane || !key.startsWith(sequenceKeyPrefix(lane, copy.sequence))) {
        return unavailable(
          `the cached state ${key} was refused: it is of ${JSON.stringify(owner)}, number ${String(copy.sequence)}`,
        );
      }
      return { kind: 'found', ...copy };
    }).catch((error: unknown) => unavailable(textOf(error)));
  }

  async function save(copy: PartialCopy): Promise<SavedCopy> {
    return within('save', async ({ workFolder, ask }): Promise<SavedCopy> => {
      await writeStateFolder(join(workFolder, STATE_FOLDER_NAME), copy, options.seal.sign);
      const key = `${sequenceKeyPrefix(copy.lane, copy.sequence)}${options.runId}-${String(options.runAttempt)}-${String(options.now())}`;
      const end = await ask({ kind: 'save', key });
      if (end.kind !== 'answered') return notSaved(end.why);
      if (end.answer.kind === 'saved') return { kind: 'saved', where: 'cache' };
      if (end.answer.kind === 'denied') return notSaved(`${READ_ONLY_EVENT} (the service: ${end.answer.why})`);
      return notSaved('why' in end.answer ? end.answer.why : 'the cache worker gave an unusable answer');
    }).catch((error: unknown) => notSaved(textOf(error)));
  }

  interface Staging {
    readonly workFolder: string;
    readonly ask: (request: CacheRequest) => Promise<WorkerEnd>;
  }

  async function within<Result extends RestoredCopy | SavedCopy>(
    kind: Way,
    body: (staging: Staging) => Promise<Result>,
  ): Promise<Result> {
    const obstacle = cacheObstacle(kind, options.environment) ?? (await hangOf(kind));
    if (obstacle !== null) throw new Error(obstacle);
    await mkdir(options.stagingFolder, { recursive: true });
    const folder = await mkdtemp(join(await realpath(options.stagingFolder), `${kind}-`));
    const workFolder = join(folder, 'work');
    const tempFolder = join(folder, 'temp');
    try {
      await Promise.all([mkdir(workFolder), mkdir(tempFolder)]);
      return await body({ workFolder, ask: (request) => ask(request, { workFolder, tempFolder }) });
    } finally {
      await rm(folder, { recursive: true, force: true, maxRetries: 3 }).catch(() => undefined);
    }
  }

  async function ask(
    request: CacheRequest,
    folders: { readonly workFolder: string; readonly tempFolder: string },
  ): Promise<WorkerEnd> {
    const end = await callCacheWorker({
      command: options.workerCommand,
      request,
      folder: folders.workFolder,
      environment: workerEnvironment(options.environment, folders),
      timeoutMs: request.kind === 'save' ? options.saveTimeoutMs : options.restoreTimeoutMs,
      debug: options.debug,
    });
    if (end.kind === 'hung') await noteHang(request.kind === 'save' ? 'save' : 'restore', end.why);
    return end;
  }

  /** A cache that hung once is not asked the same again, in post neither: each wait would cost the run its limit once more. */
  async function noteHang(kind: Way, why: string): Promise<void> {
    await writeFile(hangFile(kind), why, { flag: 'wx' }).catch(() => undefined);
  }

  /** How it hung before in this run; null: it did not. */
  async function hangOf(kind: Way): Promise<string | null> {
    // A named pipe in its place is not waited for.
    const flag = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    return readFile(hangFile(kind), { encoding: 'utf8', flag }).catch(() => null);
  }

  function hangFile(kind: Way): string {
    return join(options.stagingFolder, `hung-${kind}`);
  }
}

/** A lookup goes the way of a restore. */
type Way = Exclude<CacheRequest['kind'], 'lookup'>;

function entryIn(end: WorkerEnd): { readonly kind: 'entry'; readonly key: string } | Exclude<RestoredCopy, FoundCopy> {
  if (end.kind !== 'answered') return unavailable(end.why);
  if (end.answer.kind === 'no-entry') return { kind: 'absent' };
  return end.answer.kind === 'restored'
    ? { kind: 'entry', key: end.answer.key }
    : unavailable('why' in end.answer ? end.answer.why : 'the cache worker gave an unusable answer');
}

function unavailable(why: string): Unavailable {
  return { kind: 'unavailable', why };
}

function notSaved(why: string): SavedCopy {
  return { kind: 'not-kept', why };
}
