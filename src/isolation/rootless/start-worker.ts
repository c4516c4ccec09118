import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { oneLine } from '../../core/text/one-line.ts';
import { tryJson } from '../../core/text/try-json.ts';
import { describeEnd, runProgram } from '../../processes/run-program.ts';
import type { RoomOptions } from '../room/options.ts';
import { SYSTEM_PATH, Unavailable } from '../room/root.ts';
import { WORKER_TAG } from './end.ts';
import type { WorkerAnswer, WorkerRequest } from './sandbox-worker.ts';

/** The process that keeps a room's bridges. */
export interface SandboxWorker {
  /** Starts, in the room, the script that its variable RALPH_LAUNCH names. */
  readonly argv: readonly [string, ...string[]];
  readonly isLost: () => boolean;
  /** Asks it to end, and waits for that a little. */
  readonly close: () => Promise<void>;
}

const START_MS = 20_000;
const STOP_MS = 1_000;

/**
 * Starts the library in a process of its own: without keys, in an empty folder, since it protects the one that it is
 * started in, and without the run's tag, since it stays when a program ends. It ends with us. Throws Unavailable.
 */
export async function startWorker(
  request: WorkerRequest,
  { worker, id }: Pick<RoomOptions, 'worker'> & { readonly id: string },
): Promise<SandboxWorker> {
  const answered = Promise.withResolvers<WorkerAnswer>();
  const input = new PassThrough();
  const { bridges, temporary, home } = request.folders;
  let isOver = false;
  let said = '';
  let complaint = '';
  const over = runProgram({
    file: worker.file,
    args: [...worker.args, 'sandbox'],
    cwd: bridges,
    environment: {
      ...{ LC_ALL: 'C', PATH: SYSTEM_PATH, HOME: home, [WORKER_TAG]: id },
      // The sockets of the bridges lie in the one, and the other is what the library names to programs.
      ...{ TMPDIR: bridges, CLAUDE_CODE_TMPDIR: temporary },
    },
    input,
    timeoutMs: Number.MAX_SAFE_INTEGER,
    signal: null,
    family: { kind: 'group', graceMs: STOP_MS, leftover: 'end' },
    outputs: [
      (chunk) => {
        said += chunk.toString();
        const answer = said.endsWith('\n') ? tryJson(said) : undefined;
        if (answer !== undefined) answered.resolve(answer as WorkerAnswer);
      },
      (chunk) => {
        complaint = (complaint + chunk.toString()).slice(-2_000);
      },
    ],
  }).then((end) => {
    isOver = true;
    const words = oneLine(complaint.trim().split('\n').at(-1) ?? '', 200);
    answered.resolve({ kind: 'failed', why: words === '' ? `its program ${describeEnd(end)}` : words });
  });
  const late = setTimeout(() => {
    answered.resolve({ kind: 'failed', why: `the sandbox did not start within ${String(START_MS / 1_000)} s` });
  }, START_MS);
  input.write(`${JSON.stringify(request)}\n`);
  const answer = await answered.promise;
  clearTimeout(late);
  const close = async (): Promise<void> => {
    input.end();
    await Promise.race([over, sleep(STOP_MS, undefined, { ref: false })]);
  };
  const [file, ...args] = answer.kind === 'ready' ? answer.argv : [];
  if (answer.kind === 'ready' && file !== undefined) return { argv: [file, ...args], isLost: () => isOver, close };
  input.end();
  throw new Unavailable(answer.kind === 'failed' ? oneLine(answer.why, 300) : 'the sandbox gave no command');
}
