import { extname } from 'node:path';
import { UserError } from '../errors.ts';
import { collectOutput, describeCollected, type CollectedOutput } from './collect-output.ts';
import { familyOf, type ProgramEnd } from './run-program.ts';
import type { Room } from '../ports/room.ts';
import { MINUTE_MS } from '../core/time.ts';
import { cut } from '../core/text/cut.ts';
import { sentence } from '../core/text/sentence.ts';

/** How a program is started: `file` with `args` before the caller's own. */
export interface Program {
  readonly file: string;
  readonly args: readonly string[];
}

/** Where and with what a program of a run's agent is run. */
interface Surroundings {
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  /** null: it runs as this user. */
  readonly room: Room | null;
  /** See RoomProgram. */
  readonly tree?: string | null;
  readonly runTag: string;
}

/** The first start of a 380 MB binary reads it from a cold disk. */
const VERSION_MS = MINUTE_MS;
/** Even npm's most talkative log is a small part of it. */
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

/** A script is run by this very Node, so that it does not matter which Node is on the PATH. */
export function programAt(path: string): Program {
  return ['.js', '.mjs', '.cjs', '.ts', '.mts'].includes(extname(path))
    ? { file: process.execPath, args: [path] }
    : { file: path, args: [] };
}

/** First line that the program prints for `--version`, capped; throws UserError when it cannot be started or fails. */
export async function versionOf({ file, args }: Program, surroundings: Surroundings): Promise<string> {
  const program = { file, args: [...args, '--version'] };
  const { end, stdout, stderr } = await runAlone(program, { ...surroundings, timeoutMs: VERSION_MS });
  if (end.kind === 'not-started') throw cannotStart(file, end);
  if (end.kind === 'exited' && end.code === 0) return cut(stdout.toString().trim().split('\n')[0] ?? '', 100);
  const name = [file, ...program.args].join(' ');
  throw new UserError(
    'infrastructure',
    `The agent does not answer "${name}": it ${sentence(describeCollected(end))} ${stderr.toString().trim().slice(-300)}`.trim(),
  );
}

/** Runs a program to its end without input; never rejects. */
export function runAlone(
  program: Program,
  { room, tree = null, runTag, ...surroundings }: Surroundings & { readonly timeoutMs: number },
): Promise<CollectedOutput> {
  return collectOutput(
    { ...program, ...surroundings, input: '', family: familyOf({ room, tree, runTag }) },
    MAX_OUTPUT_BYTES,
  );
}

/** The error for an agent that the system would not start. */
export function cannotStart(file: string, { why, cause }: Extract<ProgramEnd, { kind: 'not-started' }>): UserError {
  return new UserError(
    'configuration',
    `The agent ${file} cannot be started: ${sentence(why)} Set agent-path to an executable file, or leave it empty to have Claude Code installed.`,
    { cause },
  );
}
