import { basename, join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import type { Folder } from '../core/folder.ts';
import { listFirstNames } from '../core/text/phrase.ts';
import { UserError } from '../errors.ts';
import type { CommandRunner } from '../ports/agent.ts';
import type { Log } from '../ports/machine.ts';
import type { AgentSandbox } from '../ports/agent-sandbox.ts';
import { withNamedWait } from '../ports/waits.ts';
import { createOutputTail, toLogLine } from './output-tail.ts';
import { endTree, hasStartedProgram, RUN_TAG_NAME, signalGroup } from './process-tree.ts';
import { buildTrustedEnvironment, findTrustedProgram } from './trusted-programs.ts';

/** A program to run, in a process group of its own. The group is gone when `runProgram` settles. */
export interface ProgramCall {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment; nothing is inherited. */
  readonly environment: Readonly<Record<string, string>>;
  /**
   * The text for stdin, which is then closed; a stream is written as it arrives. Null makes stdin a lifeline, which is
   * silent and open as long as this process lives.
   */
  readonly input: string | Uint8Array | Readable | null;
  /** Asks the program to end by itself within FAREWELL_MS, before it is ended. */
  readonly farewell?: (() => Promise<unknown>) | null;
  readonly timeoutMs: number;
  /** Cancels the program when it aborts; null if nobody can cancel the program. */
  readonly signal: AbortSignal | null;
  readonly family: ProcessFamily;
  /** Receivers of stdout, stderr and, if there are more, of descriptor 3 and so on. */
  readonly outputs: readonly [Receiver, Receiver, ...Receiver[]];
}

/**
 * Keeps `bash -c` from reading `~/.bashrc`: if stdin is a socket, as Node's pipes are, bash without this variable
 * behaves like a remote login.
 */
const UNDER_A_SHELL = { SHLVL: '1' };

/** A function that receives output as it arrives. */
type Receiver = (chunk: Buffer) => void;

/**
 * The processes that are ended with a program. `sandbox`: all processes in the sandbox, where no others may run. `run`:
 * all processes that inherit the run tag (which is added to the environment), in any session, including those that a
 * program leaves behind when it ends by itself. `group`: the program's group and descendants if the program must be
 * ended, with `graceMs` from SIGTERM to SIGKILL. The remaining group of a program that ended by itself is ended as
 * well, or is kept (a user's credential cache) and its output awaited.
 */
export type ProcessFamily =
  | {
      readonly kind: 'sandbox';
      readonly agentSandbox: Pick<AgentSandbox, 'enter' | 'end'>;
      readonly tree?: string | null;
    }
  | { readonly kind: 'run'; readonly runTag: string }
  | { readonly kind: 'group'; readonly graceMs: number; readonly leftover: 'end' | 'keep' };

export type ProgramEnd =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'signalled'; readonly signal: string }
  | { readonly kind: 'timeout' }
  | { readonly kind: 'cancelled' }
  /** `cause` is the error that Node threw. */
  | { readonly kind: 'not-started'; readonly why: string; readonly cause: unknown };

/**
 * Time from SIGTERM to SIGKILL for a run's processes. Claude Code needs up to 1.6 s; a cancelled job has 7 s in total.
 */
const STOP_GRACE_MS = 3_000;

/** Time for a program to end by itself when it is asked to. With STOP_GRACE_MS, it fits into a cancelled job's end. */
const FAREWELL_MS = 1_500;

/** Time from SIGTERM to SIGKILL for processes that a program left running when it ended by itself. */
const LEFTOVER_GRACE_MS = 500;

/** Maximum wait for the end of the output, because a process that escaped may still hold the pipes. */
const PIPE_WAIT_MS = 1_000;

const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * The groups of running programs. They are ended with this process, because nobody would wait for them and some have a
 * token.
 */
const running = new Set<number>();

/** The shell, folders, environment and sandbox of a user's own commands. */
export interface ShellSurroundings {
  /** Returns the absolute path of bash, or null if bash is missing. Throws a UserError if the file was changed. */
  readonly bash: () => string | null;
  /** The tree in which the commands run. */
  readonly workFolder: string;
  /** The folder in that tree in which the commands run. */
  readonly folder: Folder;
  /** The environment without any key, because the commands run code that the agent wrote. */
  readonly environment: Readonly<Record<string, string>>;
  /** The sandbox in which the commands run, or null if they run as this user. */
  readonly agentSandbox: AgentSandbox | null;
  readonly runTag: string;
}

interface ShellCall {
  readonly command: string;
  /** The name of the command in an error, such as `verify command`. */
  readonly what: string;
  /**
   * `strict` stops at the first command that fails, even in a pipe; `plain` returns the exit code of the last command.
   */
  readonly shell: 'strict' | 'plain';
  /** Number of bytes that are returned from the end of the output; by default TAIL_BYTES. */
  readonly tailBytes?: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export type ShellEnd = Exclude<ProgramEnd, { kind: 'not-started' }>;

/** Size of the end of the output that goes into the evidence. */
export const TAIL_BYTES = 4 * 1024;

/** Number of lines of a failed command's output that are shown in the log. */
const SHOWN_LINES = 20;

/** Time from the cancel signal to SIGKILL for a process that does not end. main gives up by itself earlier. */
const OBEY_SECONDS = 15;

/**
 * The watchdog's script. Its input is a lifeline: the script ends with the process at the other end, and until then
 * that process lives and its id is not reused. A stopped process is woken before it is cancelled.
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

/** Creates the runner of pipeline commands, and of tools that make lock files, in the work tree. */
export function createStepCommands(options: ShellSurroundings & { readonly log: Log }): CommandRunner {
  return {
    run: async ({ folder, ...call }) => {
      // Do not stop at a failing command: other Ralphs run steps with `sh -c`, where a `grep` that finds nothing does
      // not end the step.
      const { end, tail } = await runShellCommand(folder === null ? options : { ...options, folder }, {
        ...call,
        what: folder === null ? 'command of the pipeline' : 'command',
        shell: 'plain',
      });
      if (end.kind !== 'exited' || end.code !== 0)
        for (const line of tail.split('\n').slice(-SHOWN_LINES)) options.log.info(`  ${toLogLine(line, 300)}`);
      return { end, tail };
    },
  };
}

/**
 * Runs a command with bash and ends the processes that it starts in the background. Throws a UserError if bash cannot
 * be started.
 */
export async function runShellCommand(
  { bash, workFolder, folder, environment, agentSandbox, runTag }: ShellSurroundings,
  { command, what, shell, tailBytes = TAIL_BYTES, ...bounds }: ShellCall,
): Promise<{ readonly end: ShellEnd; readonly tail: string; readonly isWhole: boolean }> {
  const output = createOutputTail(tailBytes);
  const file = bash();
  const cwd = join(agentSandbox?.seenAt(workFolder) ?? workFolder, folder);
  const problem = `The ${what} "${toLogLine(command, 200)}" cannot be run`;
  if (file === null)
    throw new UserError('infrastructure', `${problem}: bash was not found on PATH. Install it on the runner.`);
  // Join both outputs in one pipe, because lines of two pipes would be read in another order than they are written in.
  const joined = `exec 2>&1; ${command}`;
  const program = {
    file,
    args: ['--noprofile', '--norc', ...(shell === 'strict' ? ['-e', '-o', 'pipefail'] : []), '-c', joined],
    cwd,
    environment,
    input: '',
    ...bounds,
    family: describeFamily({ agentSandbox, runTag, tree: workFolder }),
    outputs: [output.push, output.push],
  } as const;
  const end = await withNamedWait(`the ${what}`, () => runProgram(program));
  if (end.kind === 'not-started')
    throw new UserError('infrastructure', `${problem}: bash cannot be started in ${cwd}.`, { cause: end.cause });
  return { end, tail: stripVTControlCharacters(output.text()), isWhole: output.isWhole() };
}

process.on('exit', () => {
  for (const group of running) signalGroup(group, 'SIGKILL');
});

/** Returns the processes that are ended with a program that runs the lane's code. */
export function describeFamily(program: {
  readonly agentSandbox: AgentSandbox | null;
  readonly runTag: string;
  /** See SandboxProgram. */
  readonly tree?: string | null;
}): ProcessFamily {
  const { agentSandbox, runTag, tree = null } = program;
  return agentSandbox === null ? { kind: 'run', runTag } : { kind: 'sandbox', agentSandbox, tree };
}

/**
 * Runs a program with a time limit. Rejects only with a UserError, if the program's sandbox is lost or processes in it
 * cannot be ended.
 */
export function runProgram(call: ProgramCall): Promise<ProgramEnd> {
  // Show no wait for a program without a time limit, because it runs in parallel with this process.
  if (call.timeoutMs >= MAX_TIMER_MS) return runInGroup(call);
  return withNamedWait(basename(call.file), () => runInGroup(call));
}

async function runInGroup(call: ProgramCall): Promise<ProgramEnd> {
  // Load execa at the first program, so that a run that ends earlier need not wait for it.
  const { execa } = await import('execa');
  if (call.signal?.aborted === true) return { kind: 'cancelled' };
  const { family } = call;
  const environment = { ...UNDER_A_SHELL, ...call.environment };
  const started =
    family.kind === 'sandbox'
      ? await family.agentSandbox.enter({ ...call, environment, tree: family.tree ?? null })
      : { ...call, environment };
  const child = execa(started.file, started.args, {
    cwd: started.cwd,
    env: family.kind === 'run' ? { ...environment, [RUN_TAG_NAME]: family.runTag } : started.environment,
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
  if (!hasStartedProgram(group)) {
    // Start again if Ctrl-C ended the child before its program began: until then the child is in the terminal's process
    // group.
    const end = await ended;
    if (end.kind === 'signalled' && end.signal === 'SIGINT') {
      running.delete(group);
      return runInGroup(call);
    }
  }
  call.outputs.forEach((take, index) => child.stdio[index + 1]?.on('data', take));
  // Ignore EPIPE: a program that ends without reading its input is judged by its end.
  child.stdin.on('error', () => undefined);
  if (call.input instanceof Readable) call.input.pipe(child.stdin);
  else if (call.input !== null) child.stdin.end(call.input);

  // Do not use execa's own limits, which end only one process and leave its children behind.
  const stop = stopOf(call);
  try {
    // Wait for the output of git's children; the processes that other programs leave behind are ended.
    const isKept = family.kind === 'group' && family.leftover === 'keep';
    const end = await Promise.race([isKept ? closed : ended, stop.reached]);
    const isStopped = end.kind === 'timeout' || end.kind === 'cancelled';
    if (isStopped && call.farewell)
      await Promise.race([call.farewell(), ended, sleep(FAREWELL_MS, undefined, { ref: false })]);
    if (isKept && !isStopped) return end;
    if (family.kind === 'group' && !isStopped) {
      await Promise.race([closed, sleep(LEFTOVER_GRACE_MS, undefined, { ref: false })]);
      signalGroup(group, 'SIGKILL');
      return end;
    }
    if (family.kind === 'sandbox')
      assertNoneLeft(await family.agentSandbox.end(isStopped ? STOP_GRACE_MS : LEFTOVER_GRACE_MS));
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

/**
 * Throws a UserError if processes are left, because the next program in the sandbox would run next to them as the same
 * user.
 */
function assertNoneLeft(left: readonly string[]): void {
  if (left.length > 0)
    throw new UserError(
      'infrastructure',
      `Processes of the agent cannot be ended: ${listFirstNames(left)}. Work finished before that is published. Restart the runner.`,
    );
}

/** Describes an end with words that continue a sentence about the program. */
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
      Math.min(timeoutMs, MAX_TIMER_MS),
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
 * Starts a process that cancels this one after `afterMs` as the runner would, and kills it if it does not end, because
 * a process that is stopped or waits in a system call cannot end itself. The watchdog ends with this process, even if
 * this process is killed.
 */
export function startWatchdog(
  environment: Readonly<Record<string, string | undefined>>,
  { afterMs, obeySeconds = OBEY_SECONDS }: { readonly afterMs: number; readonly obeySeconds?: number },
): void {
  const seconds = String(Math.max(1, Math.ceil(afterMs / 1000)));
  void runProgram({
    // The plain shell of small images is sufficient, because it also supports `read -t`.
    file: findTrustedProgram('bash', environment) ?? 'sh',
    args: ['-c', SCRIPT, 'watchdog', seconds, String(process.pid), String(obeySeconds)],
    cwd: '/',
    environment: buildTrustedEnvironment(environment),
    input: null,
    timeoutMs: Number.MAX_SAFE_INTEGER,
    signal: null,
    family: { kind: 'group', graceMs: 0, leftover: 'end' },
    outputs: [() => undefined, () => undefined],
  });
}
