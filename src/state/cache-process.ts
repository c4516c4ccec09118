import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { type CacheAnswer, type CacheRequest, type WorkerLine, answerDescriptor } from './cache-protocol.ts';

export interface WorkerCall {
  /** Program and arguments that start the worker; the request is added as the last argument. */
  readonly command: readonly [string, ...string[]];
  readonly request: CacheRequest;
  /** Becomes the worker's directory. */
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Receives what the library and its programs print. */
  readonly debug: (line: string) => void;
}

export type WorkerEnd =
  | { readonly kind: 'answered'; readonly answer: CacheAnswer }
  | { readonly kind: 'hung'; readonly why: string }
  | { readonly kind: 'broken'; readonly why: string };

/** Runs one worker; when this settles, its whole process group is gone. Never rejects. */
export function callCacheWorker(call: WorkerCall): Promise<WorkerEnd> {
  const [program, ...prefix] = call.command;
  const { promise, resolve } = Promise.withResolvers<WorkerEnd>();
  const worker = spawn(program, [...prefix, JSON.stringify(call.request)], {
    cwd: call.folder,
    env: call.environment,
    // Its own group: a hung tar or zstd of the library is killed with it.
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
  });

  let seen = 'the service has not answered at all';
  let end: WorkerEnd | null = null;
  let lastError = '';
  const timer = setTimeout(() => {
    end ??= { kind: 'hung', why: `no result within ${String(call.timeoutMs / 1000)} s; last: ${seen}` };
    killGroup(worker);
  }, call.timeoutMs);

  onLines(worker.stdio[answerDescriptor] as Readable, (text) => {
    const line = parseLine(text);
    if (line?.kind === 'seen') seen = line.what;
    if (line?.kind === 'answer') end ??= { kind: 'answered', answer: line.answer };
  });
  onLines(worker.stdout, (line) => {
    forward(line, call.debug);
  });
  onLines(worker.stderr, (line) => {
    if (!stackNoise.test(line)) lastError = line;
    forward(line, call.debug);
  });
  worker.once('error', (error) => {
    end ??= { kind: 'broken', why: `the cache worker cannot be started: ${error.message}` };
    if (worker.pid === undefined) finish();
  });
  // A pipe that the worker left open must not delay the answer for ever, hence a second limit after its exit.
  worker.once('exit', () => {
    clearTimeout(timer);
    setTimeout(finish, 500).unref();
  });
  worker.once('close', (code, signal) => {
    end ??= {
      kind: 'broken',
      why: `the cache worker ended (${signal ?? `exit code ${String(code)}`}) without an answer${lastError && `: ${lastError.slice(0, 200)}`}`,
    };
    finish();
  });
  return promise;

  function finish(): void {
    clearTimeout(timer);
    resolve(end ?? { kind: 'broken', why: 'the cache worker ended without an answer' });
  }
}

/** Lines of a Node crash that do not say what was wrong. */
const stackNoise = /^(\s.*|Node\.js v.*|)$/;

function killGroup(worker: ChildProcess): void {
  if (worker.pid === undefined) return;
  try {
    process.kill(-worker.pid, 'SIGKILL');
  } catch {
    // It ended in this very moment.
  }
}

function onLines(stream: Readable | null, onLine: (line: string) => void): void {
  if (stream !== null) createInterface({ input: stream, crlfDelay: Infinity }).on('line', onLine);
}

/** Warnings lose their command form, other commands are dropped: they carry signed addresses. */
function forward(line: string, debug: (line: string) => void): void {
  const text = line.replace(/^::(?:warning|error)[^:]*::/, '').replaceAll('%0A', ' ');
  if (text !== '' && !text.startsWith('::')) debug(`cache: ${text.replace(/(https?:\/\/[^\s?]+)\?\S+/g, '$1?…')}`);
}

function parseLine(text: string): WorkerLine | null {
  try {
    return JSON.parse(text) as WorkerLine;
  } catch {
    return null;
  }
}
