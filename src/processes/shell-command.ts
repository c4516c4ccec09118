import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { Folder } from '../core/folder.ts';
import type { Room } from '../ports/room.ts';
import { UserError } from '../errors.ts';
import { logLine } from './log-line.ts';
import { createTail } from './output-tail.ts';
import { familyOf, runProgram, type ProgramEnd } from './run-program.ts';

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
