import { readFileSync } from 'node:fs';
import { collectOutput, describeCollected } from '../../processes/collect-output.ts';
import { trustedProgram } from '../../processes/trusted-programs.ts';
import { oneLine } from '../../core/text/phrase.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Why something cannot be had here, as a clause: `sudo asks for a password`. */
export class Unavailable extends Error {}

/** Programs that are run as root. */
export interface Root {
  /** User and group to whom everything is given back. */
  readonly owner: { readonly uid: number; readonly gid: number };
  /** Absolute path of a program of the system: what sudo looks through may have folders that everybody can write. Throws Unavailable. */
  program(name: string): string;
  /** What to start so that `argv` runs as root, in an environment of its own. Programs behind the first are named by `program`. */
  command(argv: readonly [string, ...string[]]): { readonly file: string; readonly args: readonly string[] };
  /** Runs a shell script as root, for a time, and returns what it prints; throws Unavailable with its last words. */
  run(script: string, args: readonly string[], how?: Partial<ScriptRun>): Promise<string>;
}

interface ScriptRun {
  /** A program before it that leads somewhere else. */
  readonly way: readonly string[];
  readonly timeoutMs: number;
}

/** Where the programs of a system are; folders that a runner's image leaves open to everybody are not among them. */
export const SYSTEM_PATH = '/usr/sbin:/usr/bin:/sbin:/bin';
/** A machine under load takes its time, and a run must not hang on this. */
const SCRIPT_MS = 30_000;
const SUDO_MS = 5_000;
/** What runs as root ends by itself, before we would end a sudo that we may not: its programs would go on. */
const EARLIER_MS = 1_000;
const MAX_OUTPUT_BYTES = 1024 * 1024;

/** Root itself, or a sudo that asks for no password; throws Unavailable where there is neither. */
export async function findRoot(environment: Environment): Promise<Root> {
  if (process.platform !== 'linux') throw new Unavailable(`this works on Linux only, and this is ${process.platform}`);
  const [uid = 0, gid = 0] = [process.getuid?.(), process.getgid?.()];
  const surroundings = { ...environment, PATH: SYSTEM_PATH };
  const prefix = uid === 0 ? [] : [found('sudo', surroundings), '-n', '--'];
  const command: Root['command'] = (argv) => {
    const [first, ...rest] = argv;
    const [file = '', ...args] = [...prefix, first.startsWith('/') ? first : found(first, surroundings), ...rest];
    return { file, args };
  };
  if (uid !== 0) {
    await runAs(command(['true']), SUDO_MS);
    // Whoever cannot see the processes of another user cannot say that none is left.
    if (!canSeeOthers()) throw new Unavailable("/proc hides other users' processes (hidepid)");
  }
  const program = (name: string): string => found(name, surroundings);
  return {
    owner: { uid, gid },
    program,
    command,
    run: (script, args, { way = [], timeoutMs = SCRIPT_MS } = {}) => {
      const timeout = trustedProgram('timeout', surroundings);
      const bound = timeout === null ? [] : [timeout, '-s', 'KILL', String((timeoutMs - EARLIER_MS) / 1000)];
      const [file = 'sh', ...rest] = [...bound, ...way, program('sh'), '-c', withPath(script), 'ralph', ...args];
      return runAs(command([file, ...rest]), timeoutMs);
    },
  };
}

/** A script that finds the programs of the system, whatever sudo sets. */
export function withPath(script: string): string {
  return `PATH=${SYSTEM_PATH}; export PATH\n${script}`;
}

function canSeeOthers(): boolean {
  try {
    return readFileSync('/proc/1/status', 'utf8') !== '';
  } catch {
    return false;
  }
}

/** Absolute path of a program of the system. */
function found(name: string, environment: Environment): string {
  const path = trustedProgram(name, environment);
  if (path === null) throw new Unavailable(`\`${name}\` is not installed`);
  return path;
}

async function runAs({ file, args }: ReturnType<Root['command']>, timeoutMs: number): Promise<string> {
  const { end, stdout, stderr } = await collectOutput(
    {
      file,
      args,
      cwd: '/',
      environment: { LC_ALL: 'C', PATH: SYSTEM_PATH },
      input: '',
      timeoutMs,
      family: { kind: 'group', graceMs: 0, leftover: 'end' },
    },
    MAX_OUTPUT_BYTES,
  );
  if (end.kind === 'exited' && end.code === 0) return stdout.toString();
  const words = stderr.toString().trim().split('\n').at(-1) ?? '';
  throw new Unavailable(words === '' ? `a program ${describeCollected(end)}` : oneLine(words, 200));
}
