import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import type { Folder } from '../core/folder.ts';
import { namesOf } from '../core/text/phrase.ts';
import { UserError } from '../errors.ts';
import type { Commands } from '../ports/agent.ts';
import type { Log } from '../ports/machine.ts';
import type { Room } from '../ports/room.ts';
import { logLine } from './log-line.ts';
import { createTail } from './output-tail.ts';
import { endTree, RUN_TAG_NAME, sendToGroup } from './process-tree.ts';
import { trustedEnvironment, trustedProgram } from './trusted-programs.ts';

/** A program to run, in a process group of its own. It is gone when `runProgram` settles. */
export interface ProgramCall {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment; nothing is inherited. */
  readonly environment: Readonly<Record<string, string>>;
  /** Written to stdin, which is then closed; a stream is written as it comes. null: stdin is a lifeline, silent and open for as long as we live. */
  readonly input: string | Uint8Array | Readable | null;
  readonly timeoutMs: number;
  /** null: nobody cancels it. */
  readonly signal: AbortSignal | null;
  readonly family: Family;
  /** Take what it writes to stdout, stderr and, where there are more of them, to descriptor 3 and so on. */
  readonly outputs: readonly [Receiver, Receiver, ...Receiver[]];
}

/** Takes output as it comes. */
type Receiver = (chunk: Buffer) => void;

/**
 * Which processes are ended with a program. `room`: all that are in it; nothing else may run there. `run`: all that inherit the run tag (it goes into the environment), wherever
 * they moved to, and those that the program leaves behind when it ends by itself. `group`: the program's group and
 * descendants, when it has to be ended; `graceMs` is the time from SIGTERM to SIGKILL. What is left of the group of a
 * program that ended by itself is ended as well, or kept (a person's credential cache) and its output waited for.
 */
export type Family =
  | { readonly kind: 'room'; readonly room: Pick<Room, 'enter' | 'end'>; readonly tree?: string | null }
  | { readonly kind: 'run'; readonly runTag: string }
  | { readonly kind: 'group'; readonly graceMs: number; readonly leftover: 'end' | 'keep' };

export type ProgramEnd =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'signalled'; readonly signal: string }
  | { readonly kind: 'timeout' }
  | { readonly kind: 'cancelled' }
  /** `cause`: what Node threw. */
  | { readonly kind: 'not-started'; readonly why: string; readonly cause: unknown };

/** From SIGTERM to SIGKILL for a run's processes. Claude Code needs up to 1.6 s; a cancelled job has 7 s in all. */
const STOP_GRACE_MS = 3_000;

/** The same for what a program left running when it ended by itself. */
const LEFTOVER_GRACE_MS = 500;

/** A process that escaped may still hold the pipes; its output is not waited for longer. */
const PIPE_WAIT_MS = 1_000;

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Groups of the programs that run: ended with this process, since nobody would wait for them and some hold a token. */
const running = new Set<number>();

/** Where, and with what, a person's own commands run. */
export interface ShellSurroundings {
  /** Absolute path of bash; null: there is none. Throws a UserError when it was changed. */
  readonly bash: () => string | null;
  /** The tree that it runs in. */
  readonly workFolder: string;
  /** Of it, where the commands run. */
  readonly folder: Folder;
  /** Without any key: the commands run code that the agent wrote. */
  readonly environment: Readonly<Record<string, string>>;
  /** Where they run; null: as this user. */
  readonly room: Room | null;
  readonly runTag: string;
}

interface ShellCall {
  readonly command: string;
  /** What a command is called in an error: `verify command`. */
  readonly what: string;
  /** `strict`: the first that fails ends it, in a pipe as well; `plain`: its last one's exit code counts. */
  readonly shell: 'strict' | 'plain';
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export type ShellEnd = Exclude<ProgramEnd, { kind: 'not-started' }>;

/** How much of the output goes into the evidence. */
const TAIL_BYTES = 4 * 1024;

/** Lines of a failed command that are shown in the log. */
const SHOWN_LINES = 20;

/** From the cancel signal to the end of a process that does not obey it; main gives up by itself before. */
const OBEY_SECONDS = 15;

/**
 * Its input is a lifeline: it ends with the process that holds the other end, and while it does not, that process lives and
 * its id is nobody else's. A stopped process is woken before it is cancelled.
 */
const SCRIPT = `
read -r -t "$1" line
[ $? -gt 128 ] || exit 0
kill -CONT "$2"
kill -INT "$2"
read -r -t "$3" line
[ $? -gt 128 ] || exit 0
kill -KILL "$2"
`;

/** Runs commands of a pipeline, and tools that make lock files, in the work tree. */
export function createStepCommands(options: ShellSurroundings & { readonly log: Log }): Commands {
  return {
    run: async ({ folder, ...call }) => {
      // As `sh -c` of the Ralphs that have steps: there a `grep` that finds nothing ends nothing.
      const run = await runShellCommand(folder === null ? options : { ...options, folder }, {
        ...call,
        what: folder === null ? 'command of the pipeline' : 'command',
        shell: 'plain',
      });
      if (run.end.kind !== 'exited' || run.end.code !== 0)
        for (const line of run.tail.split('\n').slice(-SHOWN_LINES)) options.log.info(`  ${logLine(line, 300)}`);
      return run;
    },
  };
}

/** Runs a command by bash; what it starts in the background is ended with it. Throws a UserError where bash cannot be started. */
export async function runShellCommand(
  { bash, workFolder, folder, environment, room, runTag }: ShellSurroundings,
  { command, what, shell, ...bounds }: ShellCall,
): Promise<{ readonly end: ShellEnd; readonly tail: string }> {
  const output = createTail(TAIL_BYTES);
  const file = bash();
  const cwd = join(room?.seenAt(workFolder) ?? workFolder, folder);
  const problem = `The ${what} "${logLine(command, 200)}" cannot be run`;
  if (file === null)
    throw new UserError('infrastructure', `${problem}: bash was not found on PATH. Install it on the runner.`);
  const end = await runProgram({
    file,
    args: ['--noprofile', '--norc', ...(shell === 'strict' ? ['-e', '-o', 'pipefail'] : []), '-c', command],
    cwd,
    environment,
    input: '',
    ...bounds,
    family: familyOf({ room, runTag, tree: workFolder }),
    outputs: [output.push, output.push],
  });
  if (end.kind === 'not-started')
    throw new UserError('infrastructure', `${problem}: bash cannot be started in ${cwd}.`, { cause: end.cause });
  return { end, tail: stripVTControlCharacters(output.text()) };
}

process.on('exit', () => {
  for (const group of running) sendToGroup(group, 'SIGKILL');
});

/** Which processes are ended with a program that runs the lane's code. */
export function familyOf({
  room,
  runTag,
  tree = null,
}: {
  readonly room: Room | null;
  readonly runTag: string;
  /** See RoomProgram. */
  readonly tree?: string | null;
}): Family {
  return room === null ? { kind: 'run', runTag } : { kind: 'room', room, tree };
}

/** Runs a program and bounds it in time; rejects with a UserError when the room that it is for is lost, and never else. */
export async function runProgram(call: ProgramCall): Promise<ProgramEnd> {
  // Loaded at the first program: a run that ends before one need not wait for it.
  const { execa } = await import('execa');
  if (call.signal?.aborted === true) return { kind: 'cancelled' };
  const { family } = call;
  const started = family.kind === 'room' ? await family.room.enter({ ...call, tree: family.tree ?? null }) : call;
  const child = execa(started.file, started.args, {
    cwd: started.cwd,
    env: family.kind === 'run' ? { ...call.environment, [RUN_TAG_NAME]: family.runTag } : started.environment,
    extendEnv: false,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', ...call.outputs.slice(2).map(() => 'pipe' as const)],
    encoding: 'buffer',
    buffer: false,
    reject: false,
  });
  const group = child.pid;
  if (group === undefined) {
    const { originalMessage, cause } = await child;
    return { kind: 'not-started', why: originalMessage ?? 'unknown reason', cause };
  }

  running.add(group);
  const ended = endAt(child, 'exit');
  const closed = endAt(child, 'close');
  call.outputs.forEach((take, index) => child.stdio[index + 1]?.on('data', take));
  // A program that ends without reading its input (EPIPE) is judged by its end, not by this.
  child.stdin.on('error', () => undefined);
  if (call.input instanceof Readable) call.input.pipe(child.stdin);
  else if (call.input !== null) child.stdin.end(call.input);

  // Not execa's own limits: they end the one process, and leave behind what it started.
  const stop = stopOf(call);
  try {
    // What git still writes through a child of its own is waited for; what others left behind is ended.
    const isKept = family.kind === 'group' && family.leftover === 'keep';
    const end = await Promise.race([isKept ? closed : ended, stop.reached]);
    const isStopped = end.kind === 'timeout' || end.kind === 'cancelled';
    if (isKept && !isStopped) return end;
    if (family.kind === 'group' && !isStopped) {
      await Promise.race([closed, sleep(LEFTOVER_GRACE_MS, undefined, { ref: false })]);
      sendToGroup(group, 'SIGKILL');
      return end;
    }
    if (family.kind === 'room') noneLeft(await family.room.end(isStopped ? STOP_GRACE_MS : LEFTOVER_GRACE_MS));
    else if (family.kind === 'run')
      await endTree({ runTag: family.runTag, group }, isStopped ? STOP_GRACE_MS : LEFTOVER_GRACE_MS);
    else await endTree({ runTag: null, group }, family.graceMs);
    await Promise.race([closed, sleep(PIPE_WAIT_MS, undefined, { ref: false })]);
    return end;
  } finally {
    stop.forget();
    running.delete(group);
    for (const stream of child.stdio) stream.destroy();
  }
}

/** What runs in the room next would run beside them, as the same user. */
function noneLeft(left: readonly string[]): void {
  if (left.length > 0)
    throw new UserError(
      'infrastructure',
      `Processes of the agent cannot be ended: ${namesOf(left)}. What was finished before is published. Restart the runner.`,
    );
}

/** Continues a sentence whose subject is the program. */
export function describeEnd(end: ProgramEnd): string {
  switch (end.kind) {
    case 'exited':
      return `ended with exit code ${end.code}`;
    case 'signalled':
      return `was ended by ${end.signal}`;
    case 'timeout':
      return 'took too long';
    case 'cancelled':
      return 'was cancelled';
    case 'not-started':
      return `cannot be started: ${end.why}`;
  }
}

function endAt(child: NodeJS.EventEmitter, event: 'exit' | 'close'): Promise<ProgramEnd> {
  return new Promise((resolve) => {
    child.once(event, (code: number | null, signal: NodeJS.Signals | null) => {
      resolve(code === null ? { kind: 'signalled', signal: signal ?? 'unknown' } : { kind: 'exited', code });
    });
  });
}

function stopOf({ timeoutMs, signal }: ProgramCall): {
  readonly reached: Promise<ProgramEnd>;
  readonly forget: () => void;
} {
  let forget = (): void => undefined;
  const reached = new Promise<ProgramEnd>((resolve) => {
    const cancel = (): void => {
      resolve({ kind: 'cancelled' });
    };
    const timer = setTimeout(
      () => {
        resolve({ kind: 'timeout' });
      },
      Math.min(timeoutMs, LONGEST_TIMER_MS),
    );
    signal?.addEventListener('abort', cancel, { once: true });
    forget = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', cancel);
    };
  });
  return { reached, forget };
}

/**
 * Starts a process that cancels this one after `afterMs` as the runner would, and ends it when that does not help:
 * nothing in a process that was stopped, or waits in a system call, can do so. Ends with this process, also when it is killed.
 */
export function startWatchdog(
  environment: Readonly<Record<string, string | undefined>>,
  { afterMs, obeySeconds = OBEY_SECONDS }: { readonly afterMs: number; readonly obeySeconds?: number },
): void {
  const seconds = String(Math.max(1, Math.ceil(afterMs / 1000)));
  void runProgram({
    // The plain shell of small images knows `read -t` as well.
    file: trustedProgram('bash', environment) ?? 'sh',
    args: ['-c', SCRIPT, 'watchdog', seconds, String(process.pid), String(obeySeconds)],
    cwd: '/',
    environment: trustedEnvironment(environment),
    input: null,
    timeoutMs: Number.MAX_SAFE_INTEGER,
    signal: null,
    family: { kind: 'group', graceMs: 0, leftover: 'end' },
    outputs: [() => undefined, () => undefined],
  });
}
