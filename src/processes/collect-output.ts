import { extname } from 'node:path';
import { MINUTE_MS } from '../core/countdown.ts';
import { cutText, completeSentence } from '../core/text/phrase.ts';
import { UserError } from '../errors.ts';
import type { AgentSandbox } from '../ports/agent-sandbox.ts';
import { withNamedWait } from '../ports/waits.ts';
import { describeEnd, describeFamily, type ProgramCall, type ProgramEnd, runProgram } from './run-program.ts';

/** The end of a program whose whole output is collected. */
export type CollectedEnd = ProgramEnd | { readonly kind: 'too-much-output'; readonly maxBytes: number };

/** The collected output, which is complete unless `end` is `too-much-output`; then it is cut. */
export interface CollectedOutput {
  readonly end: CollectedEnd;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

/**
 * Runs a program and collects its output; ends a program that prints more than `maxBytes` to either output. Without
 * `signal` the program cannot be cancelled. Never rejects.
 */
export async function collectOutput(
  call: Omit<ProgramCall, 'signal' | 'outputs'> & Partial<Pick<ProgramCall, 'signal'>>,
  maxBytes: number,
): Promise<CollectedOutput> {
  const overflow = new AbortController();
  const [stdout, stderr] = [collector(maxBytes, overflow), collector(maxBytes, overflow)];
  const signal = AbortSignal.any([overflow.signal, ...(call.signal == null ? [] : [call.signal])]);
  const end = await runProgram({ ...call, signal, outputs: [stdout.take, stderr.take] });
  return {
    end: overflow.signal.aborted ? { kind: 'too-much-output', maxBytes } : end,
    stdout: Buffer.concat(stdout.chunks),
    stderr: Buffer.concat(stderr.chunks),
  };
}

/** Describes an end with words that continue a sentence about the program. */
export function describeCollected(end: CollectedEnd): string {
  return end.kind === 'too-much-output' ? `printed more than ${end.maxBytes / 1024 / 1024} MiB` : describeEnd(end);
}

function collector(maxBytes: number, overflow: AbortController): { chunks: Buffer[]; take: (chunk: Buffer) => void } {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const take = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes > maxBytes) overflow.abort();
    else chunks.push(chunk);
  };
  return { chunks, take };
}

/** The start of a command: `file`, and `args` that come before the caller's own arguments. */
export interface LaunchCommand {
  readonly file: string;
  readonly args: readonly string[];
}

/** The folder, the environment and the sandbox in which a program of a run's agent runs. */
interface Surroundings {
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  /** The sandbox in which the program runs, or null if it runs as this user. */
  readonly agentSandbox: AgentSandbox | null;
  /** See SandboxProgram. */
  readonly tree?: string | null;
  readonly runTag: string;
}

/** Maximum time for `--version`: the first start of a 380 MB binary reads it from a cold disk. */
const VERSION_MS = MINUTE_MS;

/** Maximum size of the output; even npm's most verbose log is a small part of it. */
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

/** Returns the command that starts a file. A script is run by the Node that runs this program, regardless of PATH. */
export function createLaunchCommand(path: string): LaunchCommand {
  return ['.js', '.mjs', '.cjs', '.ts', '.mts'].includes(extname(path))
    ? { file: process.execPath, args: [path] }
    : { file: path, args: [] };
}

/**
 * Returns the first line that the program prints for `--version`, at most 100 characters; throws a UserError if the
 * program cannot be started or fails.
 */
export async function readProgramVersion({ file, args }: LaunchCommand, surroundings: Surroundings): Promise<string> {
  const program = { file, args: [...args, '--version'] };
  const { end, stdout, stderr } = await withNamedWait('the agent to name its version', () =>
    runWithoutInput(program, { ...surroundings, timeoutMs: VERSION_MS }),
  );
  if (end.kind === 'not-started') throw createStartError(file, end);
  if (end.kind === 'exited' && end.code === 0) return cutText(stdout.toString().trim().split('\n')[0] ?? '', 100);
  const name = [file, ...program.args].join(' ');
  throw new UserError(
    'infrastructure',
    `The agent does not answer "${name}": it ${completeSentence(describeCollected(end))} ${stderr.toString().trim().slice(-300)}`.trim(),
  );
}

/** Runs a program to its end without input; never rejects. */
export function runWithoutInput(
  program: LaunchCommand,
  { agentSandbox, tree = null, runTag, ...surroundings }: Surroundings & { readonly timeoutMs: number },
): Promise<CollectedOutput> {
  return collectOutput(
    { ...program, ...surroundings, input: '', family: describeFamily({ agentSandbox, tree, runTag }) },
    MAX_OUTPUT_BYTES,
  );
}

/** Returns the error for an agent that the system could not start. */
export function createStartError(
  file: string,
  { why, cause }: Extract<ProgramEnd, { kind: 'not-started' }>,
): UserError {
  return new UserError(
    'configuration',
    `The agent ${file} cannot be started: ${completeSentence(why)} Set agent-path to an executable file, or leave it empty to have the agent's CLI installed.`,
    { cause },
  );
}
