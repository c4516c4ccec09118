import { extname } from 'node:path';
import { textOf, UserError } from '../errors.ts';
import { runBounded } from './bounded-process.ts';
import type { ProcessEnd } from './bounded-process.ts';
import { createTail } from './output-tail.ts';

/** How a program is started: `file` with `args` before the caller's own. */
export interface Program {
  readonly file: string;
  readonly args: readonly string[];
}

/** Where and with what a short-lived program runs. */
export interface Surroundings {
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly mark: string;
}

/** `stdout` and `stderr` are the last 8 KiB of each. */
export interface FinishedProgram {
  readonly end: ProcessEnd;
  readonly stdout: string;
  readonly stderr: string;
}

/** The first start of a 380 MB binary reads it from a cold disk. */
const VERSION_MS = 60_000;
const NEVER = new AbortController().signal;

/** A script is run by this very Node, so that it does not matter which Node is on the PATH. */
export function programAt(path: string): Program {
  return ['.js', '.mjs', '.cjs', '.ts', '.mts'].includes(extname(path))
    ? { file: process.execPath, args: [path] }
    : { file: path, args: [] };
}

/** First line that the program prints for `--version`, capped; throws UserError when it cannot be started or fails. */
export async function versionOf(program: Program, surroundings: Surroundings): Promise<string> {
  const { end, stdout, stderr } = await runProgram(
    { ...program, args: [...program.args, '--version'] },
    { ...surroundings, timeoutMs: VERSION_MS },
  ).catch((cause: unknown) => {
    throw cannotStart(program, cause);
  });
  if (end.kind === 'exited' && end.code === 0) return (stdout.trim().split('\n')[0] ?? '').slice(0, 100);
  const name = [program.file, ...program.args].join(' ');
  throw new UserError(
    'infrastructure',
    `The agent does not answer to "${name} --version": it ${describeEnd(end)}. ${stderr.trim().slice(-300)}`.trim(),
  );
}

/** Runs a program to its end without input; rejects only when it cannot be started. */
export async function runProgram(
  program: Program,
  { timeoutMs, ...surroundings }: Surroundings & { readonly timeoutMs: number },
): Promise<FinishedProgram> {
  const stdout = createTail(8 * 1024);
  const stderr = createTail(8 * 1024);
  const end = await runBounded({
    ...program,
    ...surroundings,
    timeoutMs,
    input: '',
    signal: NEVER,
    onStdout: stdout.push,
    onStderr: stderr.push,
  });
  return { end, stdout: stdout.text(), stderr: stderr.text() };
}

/** The error for an agent that the system would not start. */
export function cannotStart(program: Program, cause: unknown): UserError {
  const reason = textOf(cause);
  return new UserError(
    'configuration',
    `The agent ${program.file} cannot be started: ${reason}. Set agent-path to an executable file, or leave it empty to have Claude Code installed.`,
    { cause },
  );
}

/** Continues a sentence whose subject is the program. */
export function describeEnd(end: ProcessEnd): string {
  if (end.kind === 'exited') return `ended with exit code ${end.code}`;
  if (end.kind === 'signalled') return `was ended by ${end.signal}`;
  return end.kind === 'timeout' ? 'took too long' : 'was cancelled';
}
