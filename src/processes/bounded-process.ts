import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { endTree, MARK_NAME } from './process-tree.ts';

/** A child that is gone, with all it started, when `runBounded` settles. */
export interface BoundedProcess {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment; nothing is inherited. */
  readonly environment: Readonly<Record<string, string>>;
  /** Goes into the environment as RALPH_MARK; the tree is recognised by it. */
  readonly mark: string;
  /** Written to stdin, which is then closed. */
  readonly input: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly onStdout: (chunk: Uint8Array) => void;
  readonly onStderr: (chunk: Uint8Array) => void;
}

export type ProcessEnd =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'signalled'; readonly signal: string }
  | { readonly kind: 'timeout' }
  | { readonly kind: 'cancelled' };

/** After a timeout or an abort: from SIGTERM to SIGKILL. Claude Code needs up to 1.6 s; a cancelled job has 7 s in all. */
const STOP_GRACE_MS = 3_000;
/** The same for what a process left running when it ended by itself. */
const LEFTOVER_GRACE_MS = 500;
/** A process that took the mark off may still hold the pipes; its output is not waited for longer. */
const PIPE_WAIT_MS = 1_000;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Runs a program in its own process group and bounds it in time. Rejects only when it cannot be started. */
export async function runBounded(bounded: BoundedProcess): Promise<ProcessEnd> {
  if (bounded.signal.aborted) return { kind: 'cancelled' };
  const child = spawn(bounded.file, bounded.args, {
    cwd: bounded.cwd,
    env: { ...bounded.environment, [MARK_NAME]: bounded.mark },
    detached: true,
    stdio: 'pipe',
  });
  const ended = new Promise<ProcessEnd>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      resolve(code === null ? { kind: 'signalled', signal: signal ?? 'unknown' } : { kind: 'exited', code });
    });
  });
  const closed = new Promise<void>((resolve) =>
    child.once('close', () => {
      resolve();
    }),
  );
  child.stdout.on('data', bounded.onStdout);
  child.stderr.on('data', bounded.onStderr);
  // A child that ends without reading its input (EPIPE) is judged by its end, not by this.
  child.stdin.on('error', () => undefined);
  child.stdin.end(bounded.input);

  const stop = stopOf(bounded);
  try {
    const end = await Promise.race([ended, stop.reached]);
    const graceMs = end.kind === 'timeout' || end.kind === 'cancelled' ? STOP_GRACE_MS : LEFTOVER_GRACE_MS;
    await endTree({ mark: bounded.mark, group: child.pid ?? null }, graceMs);
    await Promise.race([closed, sleep(PIPE_WAIT_MS, undefined, { ref: false })]);
    return end;
  } finally {
    stop.forget();
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
  }
}

function stopOf({ timeoutMs, signal }: BoundedProcess): {
  readonly reached: Promise<ProcessEnd>;
  readonly forget: () => void;
} {
  let forget = (): void => undefined;
  const reached = new Promise<ProcessEnd>((resolve) => {
    const cancel = (): void => {
      resolve({ kind: 'cancelled' });
    };
    const timer = setTimeout(
      () => {
        resolve({ kind: 'timeout' });
      },
      Math.min(timeoutMs, LONGEST_TIMER_MS),
    );
    signal.addEventListener('abort', cancel, { once: true });
    forget = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', cancel);
    };
  });
  return { reached, forget };
}
