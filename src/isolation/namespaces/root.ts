import { readFileSync } from 'node:fs';
import { collectOutput, describeCollected } from '../../processes/collect-output.ts';
import { findTrustedProgram } from '../../processes/trusted-programs.ts';
import { toOneLine } from '../../core/text/phrase.ts';
import { withNamedWait } from '../../ports/waits.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Thrown if this machine cannot isolate the agent. The message is a clause, such as `sudo asks for a password`. */
export class IsolationUnavailable extends Error {}

/** The ability to run programs as root. */
export interface RootAccess {
  /** The user and the group that get all files back. */
  readonly owner: { readonly uid: number; readonly gid: number };
  /**
   * Returns the absolute path of a system program, because sudo may search folders that everybody can write. Throws
   * IsolationUnavailable.
   */
  program(name: string): string;
  /**
   * Returns the command that runs `argv` as root, in an environment of its own. Programs after the first need paths
   * from `program`.
   */
  command(argv: readonly [string, ...string[]]): { readonly file: string; readonly args: readonly string[] };
  /**
   * Runs a shell script as root with a time limit and returns its output; throws IsolationUnavailable with its last
   * line of stderr.
   */
  run(script: string, args: readonly string[], how?: Partial<ScriptRun>): Promise<string>;
}

interface ScriptRun {
  /** A command, put before the script, that runs it elsewhere, such as in a namespace. */
  readonly way: readonly string[];
  readonly timeoutMs: number;
}

/** The folders of the system's programs, without folders that a runner's image leaves writable for everybody. */
export const SYSTEM_PATH = '/usr/sbin:/usr/bin:/sbin:/bin';
/** Maximum time for a script: a busy machine is slow, but a run must not hang. */
const SCRIPT_MS = 30_000;
const SUDO_MS = 5_000;
/**
 * Time by which a program of root is ended earlier, by its own `timeout`: this user may not end sudo, and ending sudo
 * would leave its programs running.
 */
const EARLIER_MS = 1_000;
const MAX_OUTPUT_BYTES = 1024 * 1024;

/**
 * Returns root access by this process or by a sudo that asks for no password; throws IsolationUnavailable if there is
 * no such access.
 */
export async function findRoot(environment: Environment): Promise<RootAccess> {
  if (process.platform !== 'linux')
    throw new IsolationUnavailable(`this works only on Linux, and this machine runs ${process.platform}`);
  const [uid = 0, gid = 0] = [process.getuid?.(), process.getgid?.()];
  const surroundings = { ...environment, PATH: SYSTEM_PATH };
  const prefix = uid === 0 ? [] : [findSystemProgram('sudo', surroundings), '-n', '--'];
  const command: RootAccess['command'] = (argv) => {
    const [first, ...rest] = argv;
    const [file = '', ...args] = [
      ...prefix,
      first.startsWith('/') ? first : findSystemProgram(first, surroundings),
      ...rest,
    ];
    return { file, args };
  };
  if (uid !== 0) {
    await runAs(command(['true']), SUDO_MS);
    // Require that /proc shows the processes of others, because otherwise nothing verifies that no process is left.
    if (!canSeeOthers()) throw new IsolationUnavailable("/proc hides other users' processes (hidepid)");
  }
  const program = (name: string): string => findSystemProgram(name, surroundings);
  return {
    owner: { uid, gid },
    program,
    command,
    run: (script, args, { way = [], timeoutMs = SCRIPT_MS } = {}) => {
      const timeout = findTrustedProgram('timeout', surroundings);
      const bound = timeout === null ? [] : [timeout, '-s', 'KILL', String((timeoutMs - EARLIER_MS) / 1000)];
      const [file = 'sh', ...rest] = [...bound, ...way, program('sh'), '-c', withSystemPath(script), 'ralph', ...args];
      return runAs(command([file, ...rest]), timeoutMs);
    },
  };
}

/** Returns a script that finds the system's programs, regardless of the PATH that sudo sets. */
export function withSystemPath(script: string): string {
  return `PATH=${SYSTEM_PATH}; export PATH\n${script}`;
}

function canSeeOthers(): boolean {
  try {
    return readFileSync('/proc/1/status', 'utf8') !== '';
  } catch {
    return false;
  }
}

/** Returns the absolute path of a system program; throws IsolationUnavailable if it is missing. */
function findSystemProgram(name: string, environment: Environment): string {
  const path = findTrustedProgram(name, environment);
  if (path === null) throw new IsolationUnavailable(`\`${name}\` is not installed`);
  return path;
}

async function runAs({ file, args }: ReturnType<RootAccess['command']>, timeoutMs: number): Promise<string> {
  const call: Parameters<typeof collectOutput>[0] = {
    file,
    args,
    cwd: '/',
    environment: { LC_ALL: 'C', PATH: SYSTEM_PATH },
    input: '',
    timeoutMs,
    family: { kind: 'group', graceMs: 0, leftover: 'end' },
  };
  const { end, stdout, stderr } = await withNamedWait("the agent's sandbox", () =>
    collectOutput(call, MAX_OUTPUT_BYTES),
  );
  if (end.kind === 'exited' && end.code === 0) return stdout.toString();
  const words = stderr.toString().trim().split('\n').at(-1) ?? '';
  throw new IsolationUnavailable(words === '' ? `a program ${describeCollected(end)}` : toOneLine(words, 200));
}
