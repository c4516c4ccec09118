import { mkdir, mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { formatLaneKeyPrefix, formatSequenceKeyPrefix, sequenceOfKey } from '../core/sharing/cache-keys.ts';
import type { LaneId } from '../core/tasks/ids.ts';
import { cutText } from '../core/text/phrase.ts';
import { tryJson } from '../core/text/try-json.ts';
import { getErrorText } from '../errors.ts';
import type { CopyStore, FoundCopy, PartialCopy, RestoredCopy, SavedCopy, Seal, Unavailable } from '../ports/state.ts';
import { describeEnd, runProgram } from '../processes/run-program.ts';
import {
  type CacheAnswer,
  findCacheObstacle,
  type CacheRequest,
  type Environment,
  READ_ONLY_EVENT,
  STATE_FOLDER_NAME,
  buildWorkerEnvironment,
  type WorkerLine,
} from './cache-environment.ts';
import { readStateFolder, writeStateFolder } from './state-folder.ts';
import { usePlainFile } from '../files/plain-file.ts';

interface WorkerCall {
  /** The program and the arguments that start the worker; the request is added as the last argument. */
  readonly command: readonly [string, ...string[]];
  readonly request: CacheRequest;
  /** The worker's directory. */
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Receives the lines that the library and its programs print. */
  readonly debug: (line: string) => void;
}

type WorkerEnd =
  | { readonly kind: 'answered'; readonly answer: CacheAnswer }
  | { readonly kind: 'hung'; readonly why: string }
  | { readonly kind: 'broken'; readonly why: string };

/** The steps and the answer that a worker has reported so far. */
interface WorkerReport {
  seen: string;
  answer: CacheAnswer | null;
  lastError: string;
}

/** Matches lines of a Node crash that do not contain the error. */
const STACK_NOISE = /^(\s.*|Node\.js v.*|)$/;

export interface CacheStoreOptions {
  /** The program and the arguments that start the cache worker. */
  readonly workerCommand: readonly [string, ...string[]];
  /** A private folder on this machine, the same in main and post. */
  readonly stagingFolder: string;
  /** The run's environment; the worker gets only the variables that the cache library needs. */
  readonly environment: Environment;
  readonly runId: string;
  readonly runAttempt: number;
  /**
   * Time limit for a restore: a healthy round trip takes under a second, and 8 s leave room for two retries of the
   * library.
   */
  readonly restoreTimeoutMs: number;
  /** Time limit for saving and reading back together. */
  readonly saveTimeoutMs: number;
  readonly now: () => number;
  readonly seal: Pick<Seal, 'sign'>;
  readonly debug: (text: string) => void;
}

/** Time limits with which a hanging cache costs a run at most 20 s in total. */
export const cacheTimeouts = { restoreTimeoutMs: 8_000, saveTimeoutMs: 12_000 } as const;

/**
 * Creates a store of copies in the Actions cache: each save makes a new entry, and a restore takes the lane's newest
 * entry.
 */
export function createCacheStore(options: CacheStoreOptions): CopyStore {
  return { restore, save };

  async function restore(lane: LaneId, beyond?: number): Promise<RestoredCopy> {
    return within('restore', async ({ workFolder, ask }): Promise<RestoredCopy> => {
      const find = async (kind: 'lookup' | 'restore') => entryIn(await ask({ kind, key: formatLaneKeyPrefix(lane) }));
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
      if (owner !== lane || !key.startsWith(formatSequenceKeyPrefix(lane, copy.sequence))) {
        return unavailable(
          `the cached state ${key} was refused: it belongs to ${JSON.stringify(owner)}, number ${String(copy.sequence)}`,
        );
      }
      return { kind: 'found', ...copy };
    }).catch((error: unknown) => unavailable(getErrorText(error)));
  }

  async function save(copy: PartialCopy): Promise<SavedCopy> {
    return within('save', async ({ workFolder, ask }): Promise<SavedCopy> => {
      await writeStateFolder(join(workFolder, STATE_FOLDER_NAME), copy, options.seal.sign);
      const key = `${formatSequenceKeyPrefix(copy.lane, copy.sequence)}${options.runId}-${String(options.runAttempt)}-${String(options.now())}`;
      const end = await ask({ kind: 'save', key });
      if (end.kind !== 'answered') return notSaved(end.why);
      if (end.answer.kind === 'saved') return { kind: 'saved', where: 'cache' };
      if (end.answer.kind === 'denied') return notSaved(`${READ_ONLY_EVENT} (the service: ${end.answer.why})`);
      return notSaved('why' in end.answer ? end.answer.why : 'the cache worker gave an unusable answer');
    }).catch((error: unknown) => notSaved(getErrorText(error)));
  }

  interface Staging {
    readonly workFolder: string;
    readonly ask: (request: CacheRequest) => Promise<WorkerEnd>;
  }

  async function within<Result extends RestoredCopy | SavedCopy>(
    kind: Way,
    body: (staging: Staging) => Promise<Result>,
  ): Promise<Result> {
    const obstacle = findCacheObstacle(kind, options.environment) ?? (await hangOf(kind));
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
      environment: buildWorkerEnvironment(options.environment, folders),
      timeoutMs: request.kind === 'save' ? options.saveTimeoutMs : options.restoreTimeoutMs,
      debug: options.debug,
    });
    if (end.kind === 'hung') await noteHang(request.kind === 'save' ? 'save' : 'restore', end.why);
    return end;
  }

  /**
   * Records that the cache hung, so that neither main nor post repeats the request: each attempt would cost the run the
   * whole time limit again.
   */
  async function noteHang(kind: Way, why: string): Promise<void> {
    await writeFile(hangFile(kind), why, { flag: 'wx' }).catch(() => undefined);
  }

  /** Returns the description of a hang of the cache earlier in this run, or null. */
  async function hangOf(kind: Way): Promise<string | null> {
    return usePlainFile(hangFile(kind), (file) => file.readFile('utf8')).catch(() => null);
  }

  function hangFile(kind: Way): string {
    return join(options.stagingFolder, `hung-${kind}`);
  }
}

/** The kind of a request; a lookup is treated as a restore. */
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

/** Runs one worker; when this settles, its whole process group is gone. Never rejects. */
async function callCacheWorker(call: WorkerCall): Promise<WorkerEnd> {
  const [file, ...args] = call.command;
  const report: WorkerReport = { seen: 'the service has not answered at all', answer: null, lastError: '' };
  const end = await runProgram({
    file,
    args: [...args, JSON.stringify(call.request)],
    cwd: call.folder,
    environment: call.environment,
    // A lifeline: a worker that outlives the action ends itself.
    input: null,
    timeoutMs: call.timeoutMs,
    signal: null,
    // End the worker at once, together with a hung tar or zstd of the library.
    family: { kind: 'group', graceMs: 0, leftover: 'end' },
    outputs: [
      byLine((line) => {
        forward(line, call.debug);
      }),
      byLine((line) => {
        if (!STACK_NOISE.test(line)) report.lastError = line;
        forward(line, call.debug);
      }),
      // The third receiver gets the output of descriptor `ANSWER_DESCRIPTOR`.
      byLine((text) => {
        const line = (tryJson(text) as WorkerLine | undefined) ?? null;
        if (line?.kind === 'seen') report.seen = line.what;
        if (line?.kind === 'answer') report.answer ??= line.answer;
      }),
    ],
  });
  if (report.answer !== null) return { kind: 'answered', answer: report.answer };
  if (end.kind === 'timeout')
    return { kind: 'hung', why: `no result within ${String(call.timeoutMs / 1000)} s; last: ${report.seen}` };
  if (end.kind === 'not-started') return { kind: 'broken', why: `the cache worker ${describeEnd(end)}` };
  const how =
    end.kind === 'exited' ? `exit code ${String(end.code)}` : end.kind === 'signalled' ? end.signal : end.kind;
  const cause = report.lastError && `: ${cutText(report.lastError, 200)}`;
  return { kind: 'broken', why: `the cache worker ended (${how}) without an answer${cause}` };
}

/**
 * Creates a function that takes chunks and passes on whole lines; the worker and the library end each of their lines.
 */
function byLine(onLine: (line: string) => void): (chunk: Buffer) => void {
  const decoder = new TextDecoder();
  let rest = '';
  return (chunk) => {
    const lines = `${rest}${decoder.decode(chunk, { stream: true })}`.split(/\r?\n/);
    rest = lines.pop() ?? '';
    lines.forEach(onLine);
  };
}

/**
 * Logs a line: a warning without its command form, an address without its query. Other commands are dropped, because
 * they carry signed addresses.
 */
function forward(line: string, debug: (line: string) => void): void {
  const text = line.replace(/^::(?:warning|error)[^:]*::/, '').replaceAll('%0A', ' ');
  if (text !== '' && !text.startsWith('::')) debug(`cache: ${text.replace(/(https?:\/\/[^\s?]+)\?\S+/g, '$1?…')}`);
}
