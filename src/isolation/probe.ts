import { readFile } from 'node:fs/promises';
import { relative, sep } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildGitSettings } from '../core/isolation/environment.ts';
import type { CallNumbers } from '../core/isolation/sandbox/system-calls.ts';
import { attemptNames, type AttemptName, type AttemptResult, type ProbeResults } from '../core/isolation/probe.ts';
import {
  startOfProcess,
  combineAttempts,
  tryToAppend,
  tryToConnect,
  tryToList,
  tryToOpen,
  tryToRead,
  tryToSee,
  tryToSend,
  tryToSignal,
  tryToWriteIn,
} from './probe-attempts.ts';

/** The places and processes that the probe tries from the agent's side. Ports are on 127.0.0.1. */
export interface ProbeRequest {
  readonly actionPid: number;
  /**
   * The action's `startOfProcess('self')`, or null if unknown. A process in the sandbox may have the same id as the
   * action.
   */
  readonly actionStarted: string | null;
  readonly workFolder: string;
  /** The home folder of the sandbox's user. */
  readonly home: string;
  /**
   * Other paths that the sandbox shows on purpose. The folders that lead to them may be visible in the folders below.
   */
  readonly given: readonly string[];
  /** The runner's home folder, or null if the machine has no such folder. */
  readonly runnerHome: string | null;
  readonly runnerTemp: string | null;
  /** The files that GITHUB_ENV, GITHUB_PATH and similar variables name. */
  readonly commandFiles: readonly string[];
  /** A file that the action created in the machine's /tmp. */
  readonly marker: string;
  /** A port on which the action listens and which the sandbox must not reach. */
  readonly otherLoopbackPort: number;
  /**
   * The name of an abstract socket on which the action listens, without the NUL byte, or null if there is no such
   * socket.
   */
  readonly abstractSocket: string | null;
  /** The port of the broker, or null if this run has no broker. */
  readonly brokerPort: number | null;
  readonly proxyPort: number | null;
  /** An address that nobody uses, such as 192.0.2.1. Packets to it leave the machine unless they are stopped. */
  readonly outside: { readonly address: string; readonly port: number };
  /** Sockets of the machine's daemons in folders that the sandbox shows. */
  readonly shownSockets: readonly string[];
  /** The descriptors that `LIST_OPEN_SCRIPT` found, or null if it did not run. */
  readonly openAtStart: string | null;
  /** The command that makes system calls in the sandbox, or null if no program there can. */
  readonly calls: { readonly argv: readonly string[]; readonly numbers: CallNumbers } | null;
  /** The agent's PATH. */
  readonly path: string;
}

/** The variable that lists the descriptors above 2 that were open when the probe started, separated by blanks. */
export const OPEN_AT_START = 'RALPH_OPEN_AT_START';
/**
 * A shell script that runs before the probe and lists the open descriptors in a variable. It opens no descriptor
 * itself.
 */
export const LIST_OPEN_SCRIPT = `open= fd=3
while [ $fd -lt 1024 ]; do [ ! -e /proc/$$/fd/$fd ] || open="$open $fd"; fd=$((fd + 1)); done
export ${OPEN_AT_START}="$open"
exec "$@"`;

/** Runs a program to its end, or kills it after `timeoutMs`, as `collectOutput` does. */
export type RunProbed = (
  call: {
    readonly file: string;
    readonly args: readonly string[];
    readonly cwd: string;
    readonly environment: Readonly<Record<string, string>>;
    readonly input: string;
    readonly timeoutMs: number;
    readonly family: { readonly kind: 'group'; readonly graceMs: number; readonly leftover: 'end' };
  },
  maxBytes: number,
) => Promise<{ readonly end: { readonly kind: string; readonly code?: number } }>;

/** Time in ms after which a try is treated as hanging, once all other tries have ended. */
const HANGS_AFTER_MS = 300;
/**
 * Maximum time in ms for tries that end at once unless the machine is busy. A try that is cut off proves nothing, and
 * the run is then refused.
 */
const MAX_TRY_MS = 4_000;
const MAX_OUTPUT_BYTES = 1024 * 1024;

const ENGINE_SOCKETS = ['/var/run/docker.sock', '/run/docker.sock', '/run/containerd/containerd.sock'];
const DAEMON_SOCKETS = [
  '/run/dbus/system_bus_socket',
  '/run/systemd/private',
  '/run/systemd/resolve/io.systemd.Resolve',
];

/**
 * Tries all that must be impossible or possible in the agent's sandbox, as the agent's user. Takes half a second, or
 * longer on a busy machine; never rejects.
 */
export async function probeSandbox(request: ProbeRequest, run: RunProbed): Promise<ProbeResults> {
  const attempts = attemptsOf(request, run);
  const found: [AttemptName, AttemptResult][] = [];
  const attemptThose = (
    those: (one: Attempt) => boolean,
    others: Promise<unknown> = Promise.resolve(),
  ): Promise<unknown> =>
    Promise.all(
      attemptNames
        .filter((name) => those(attempts[name]))
        .map(async (name) => {
          const result = await bounded(attempts[name], others);
          if (result !== null) found.push([name, result]);
        }),
    );
  // Run tries on files first: they take no time unless this process is busy loading the code that starts programs.
  await attemptThose(({ kind }) => kind === 'file');
  const others = attemptThose(({ kind, late }) => kind !== 'file' && late === null);
  await Promise.all([others, attemptThose(({ late }) => late !== null, others)]);
  return Object.fromEntries(found);
}

interface Attempt {
  readonly kind: 'file' | 'connection' | 'program';
  /** The result if the try takes too long, or null if that proves nothing. */
  readonly late: AttemptResult | null;
  readonly run: (signal: AbortSignal) => AttemptResult | null | Promise<AttemptResult | null>;
}

interface ProgramAttempt extends Pick<Attempt, 'late'> {
  readonly environment: Readonly<Record<string, string>>;
}

const PLAIN: ProgramAttempt = { late: null, environment: {} };

function attemptsOf(request: ProbeRequest, run: RunProbed): Readonly<Record<AttemptName, Attempt>> {
  const { actionPid, workFolder, home, outside, path } = request;
  const ofAction = (tryIt: () => AttemptResult | Promise<AttemptResult>): Attempt =>
    file(() => (isAnotherProcess(request) ? 'closed' : tryIt()));
  const program = (file: string, args: readonly string[], { late, environment }: ProgramAttempt): Attempt => ({
    kind: 'program',
    late,
    run: async () => {
      const { end } = await run(
        {
          ...{ file, args, cwd: workFolder, environment: { PATH: path, HOME: home, ...environment }, input: '' },
          timeoutMs: MAX_TRY_MS,
          family: { kind: 'group', graceMs: 0, leftover: 'end' },
        },
        MAX_OUTPUT_BYTES,
      );
      if (end.kind === 'timeout') return late;
      return end.kind === 'exited' && end.code === 0 ? 'open' : 'closed';
    },
  });
  const port = (number: number | null): Attempt =>
    connection((signal) => (number === null ? 'absent' : tryToConnect({ host: '127.0.0.1', port: number }, signal)));

  const takes = (words: (numbers: CallNumbers) => readonly (readonly (string | number)[])[]): Attempt => ({
    kind: 'program',
    late: null,
    run: async (signal) => {
      const [file, ...args] = request.calls?.argv ?? [];
      if (file === undefined || request.calls === null) return null;
      const attempts = words(request.calls.numbers).map((call) => program(file, [...args, ...call.map(String)], PLAIN));
      const results = await Promise.all(attempts.map(async ({ run: tryIt }) => await tryIt(signal)));
      return results.includes('open') ? 'open' : results.includes(null) ? null : 'closed';
    },
  });

  return {
    "read the action's environment": ofAction(() => tryToRead(`/proc/${String(actionPid)}/environ`)),
    "read the action's memory map": ofAction(() => tryToRead(`/proc/${String(actionPid)}/maps`)),
    "read the action's memory": ofAction(() => tryToOpen(`/proc/${String(actionPid)}/mem`)),
    "list the action's open files": ofAction(() => tryToList(`/proc/${String(actionPid)}/fd`, NOTHING)),
    'signal the action': ofAction(() => tryToSignal(actionPid)),
    "read the action's command line": ofAction(() => tryToRead(`/proc/${String(actionPid)}/cmdline`)),
    'become root with sudo': program('sudo', ['-n', 'true'], PLAIN),
    // `su` waits before it refuses. /bin/sh replaces root's own shell, which reads root's files.
    'become root with su': program('su', ['-s', '/bin/sh', '-c', 'true'], { ...PLAIN, late: 'closed' }),
    'make a user namespace': program('unshare', ['-Ur', 'true'], PLAIN),
    "list the runner's home": file(() => tryToFind(request.runnerHome, request)),
    "list the runner's temporary folder": file(() => tryToFind(request.runnerTemp, request)),
    "use the runner's file commands": file(() =>
      combineAttempts(request.commandFiles.flatMap((file) => [tryToOpen(file), tryToAppend(file)])),
    ),
    'write to /usr/local/bin': file(() => tryToWriteIn('/usr/local/bin')),
    'write to /opt': file(() => tryToWriteIn('/opt')),
    'write to /opt/hostedtoolcache': file(() => tryToWriteIn('/opt/hostedtoolcache')),
    'write to /usr/share': file(() => tryToWriteIn('/usr/share')),
    'write to /etc': file(() => tryToWriteIn('/etc')),
    'use Docker': sockets(ENGINE_SOCKETS),
    'use system daemons such as D-Bus': sockets(DAEMON_SOCKETS),
    "see the machine's /tmp": file(() => tryToSee(request.marker)),
    // A connection that waits has left the machine, because nobody answers at this address.
    'connect to other machines directly': {
      ...connection((signal) => tryToConnect({ host: outside.address, port: outside.port }, signal)),
      late: 'open',
    },
    'send UDP to other machines': connection((signal) => tryToSend({ ...outside, signal })),
    'connect to other local ports': port(request.otherLoopbackPort),
    "connect to the machine's abstract sockets": connection((signal) =>
      request.abstractSocket === null ? 'absent' : tryToConnect({ path: `\0${request.abstractSocket}` }, signal),
    ),
    "use the kernel's keys": takes(({ addKey, requestKey, keyctl }) => [
      [addKey, 'user', 'ralph-probe', 'x', 1, PROCESS_KEYRING],
      [requestKey, 'user', 'ralph-probe', 0, 0],
      [keyctl, GET_KEYRING_ID, SESSION_KEYRING, 0],
    ]),
    'make sockets that no network namespace holds': takes(({ socket, ioUringSetup }) => [
      [socket, AF_VSOCK, SOCK_STREAM, 0],
      [ioUringSetup, 1, 0],
    ]),
    'use files that were open when it was started': file(() => {
      const { openAtStart } = request;
      return openAtStart === null ? null : openAtStart === '' ? 'closed' : 'open';
    }),
    'use sockets of daemons in folders that are shown': sockets(request.shownSockets),
    'use rights of groups': file(groups),
    'gain rights by set-uid programs': file(() => ownStatus(/^NoNewPrivs:\s*1$/m)),
    // Ignore the bounding set, which is harmless if no program can gain capabilities: in a user namespace, it is full
    // and cannot be emptied.
    'use capabilities': file(() =>
      ownStatus(
        /^CapInh:\s*0+\nCapPrm:\s*0+\nCapEff:\s*0+\n(?:CapBnd:\s*0+$|CapBnd:.*\nCapAmb:\s*0+\nNoNewPrivs:\s*1$)/m,
      ),
    ),
    'write to the work tree': file(() => tryToWriteIn(workFolder)),
    // Check a single file, so that a large tree takes no longer. Other git settings are off, so that none of them makes
    // git work.
    'use git in the work tree': program(
      'git',
      ['-c', 'core.fsmonitor=false', 'status', '--porcelain', '--untracked-files=no', '--', '.gitignore'],
      {
        ...PLAIN,
        environment: {
          ...{ GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null', GIT_OPTIONAL_LOCKS: '0' },
          ...buildGitSettings({}),
        },
      },
    ),
    'write to its home': file(() => tryToWriteIn(home)),
    'write to /tmp': file(() => tryToWriteIn('/tmp')),
    'reach the broker': port(request.brokerPort),
    'reach the proxy': port(request.proxyPort),
  };
}

/** Numbers from the kernel's headers. */
const [PROCESS_KEYRING, SESSION_KEYRING, GET_KEYRING_ID] = [-2, -3, 0];
const [AF_VSOCK, SOCK_STREAM] = [40, 1];

const NOTHING: ReadonlySet<string> = new Set();

function file(run: Attempt['run']): Attempt {
  return { kind: 'file', late: null, run };
}

function connection(run: Attempt['run']): Attempt {
  return { kind: 'connection', late: null, run };
}

function sockets(paths: readonly string[]): Attempt {
  return connection((signal) => combineAttempts(paths.map((path) => tryToConnect({ path }, signal))));
}

/**
 * Returns true if the action's process id belongs to another process now. A process that cannot be seen may be the
 * action; a process with another start time is not.
 */
function isAnotherProcess({ actionPid, actionStarted }: ProbeRequest): boolean {
  const started = startOfProcess(actionPid);
  return started !== null && actionStarted !== null && started !== actionStarted;
}

/** Returns `open` if a folder contains more than the ways to the paths that the sandbox shows on purpose. */
function tryToFind(
  folder: string | null,
  { workFolder, home, given }: ProbeRequest,
): AttemptResult | Promise<AttemptResult> {
  if (folder === null) return 'absent';
  const ways = [workFolder, home, ...given].map((path) => relative(folder, path).split(sep)[0] ?? '');
  return tryToList(folder, new Set(ways));
}

/** Returns `closed` if the process has no group but that of the sandbox's user. */
function groups(): AttemptResult {
  const own = process.getgid?.();
  return process.getgroups?.().every((group) => group === own) === true ? 'closed' : 'open';
}

/** Returns `closed` if the kernel's status of this process matches `closed`. */
async function ownStatus(closed: RegExp): Promise<AttemptResult> {
  return closed.test(await readFile('/proc/self/status', 'latin1')) ? 'closed' : 'open';
}

/**
 * Runs a try with a time limit; returns null if nothing is proven. The duration of `others` shows how slow the machine
 * is now.
 */
async function bounded({ late, run }: Attempt, others: Promise<unknown>): Promise<AttemptResult | null> {
  const over = new AbortController();
  const tooLate = Promise.all([afterAll(late === null ? MAX_TRY_MS : HANGS_AFTER_MS, over.signal), others]).then(
    () => late,
    () => null,
  );
  try {
    return await Promise.race([run(over.signal), tooLate]);
  } catch {
    return null;
  } finally {
    over.abort();
  }
}

/** Waits in several steps, because a process that was suspended has not handled the events of that time yet. */
async function afterAll(ms: number, signal: AbortSignal): Promise<void> {
  const steps = 3;
  for (let step = 0; step < steps; step += 1) await sleep(ms / steps, undefined, { signal });
}
