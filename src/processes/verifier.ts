import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { Folder } from '../core/folder.ts';
import type { Verification } from '../core/evidence.ts';
import type { Verifier, VerifyCall } from '../ports/agent.ts';
import type { Log } from '../ports/machine.ts';
import type { Room } from '../ports/room.ts';
import { UserError } from '../errors.ts';
import type { CleanSurroundings } from './clean-surroundings.ts';
import { namesOf } from '../core/text/lists.ts';
import { logLine } from './log-line.ts';
import { createTail } from './output-tail.ts';
import { describeEnd, familyOf, runProgram, type ProgramEnd } from './run-program.ts';

interface VerifierOptions {
  /** The user's own, from the action's inputs; bash runs each as it runs a workflow step. */
  readonly commands: readonly string[];
  /** Absolute path of bash; null: there is none. Throws a UserError when it was changed. */
  readonly bash: () => string | null;
  /** The checkout. */
  readonly workFolder: string;
  /** Of it, and of a clean clone, where the commands run. */
  readonly folder: Folder;
  /** Without any key: the commands run code that the agent wrote. */
  readonly environment: Readonly<Record<string, string>>;
  /** What takes the place of `environment` in a clean clone. */
  readonly clean: CleanSurroundings;
  /** Where they run; null: as this user. */
  readonly room: Room | null;
  readonly runTag: string;
  readonly log: Log;
  readonly now: () => number;
}

/** How much of the output goes into the evidence. */
const TAIL_BYTES = 4 * 1024;

/** Runs the verify commands; what they start in the background is ended with them. */
export function createVerifier(options: VerifierOptions): Verifier {
  return {
    verify: async ({ folder, timeoutMs, signal }) => {
      if (options.commands.length === 0) return { kind: 'not-run' };
      if (folder === null) return await runCommands({ ...options, insteadOf: null }, { timeoutMs, signal });
      const { environment, hidden, remove } = await options.clean.lay(folder);
      if (hidden.length > 0)
        options.log.warning(
          `verify runs in the clean clone without what was added or changed in folders above it since the run began, where build tools look for their settings: ${logLine(namesOf(hidden), 1000)}.`,
        );
      try {
        const { workFolder: insteadOf } = options;
        return await runCommands({ ...options, workFolder: folder, environment, insteadOf }, { timeoutMs, signal });
      } finally {
        await remove();
      }
    },
  };
}

/** What the commands run with; `insteadOf`: the work tree, whose paths mean the clone where the room can do that. */
type Surroundings = VerifierOptions & { readonly insteadOf: string | null };

async function runCommands(options: Surroundings, { timeoutMs, signal }: Bounds): Promise<Verification> {
  const startedAt = options.now();
  const elapsed = (): number => options.now() - startedAt;
  for (const command of options.commands) {
    const bounds = { timeoutMs: Math.max(0, timeoutMs - elapsed()), signal };
    const { end, tail } = await runCommand(command, options, bounds);
    // Neither passed nor failed: nothing is known of what was cut short by the job's end.
    if (end.kind === 'cancelled') return { kind: 'not-run' };
    if (end.kind !== 'exited' || end.code !== 0)
      return failure(command, end, { tail, durationMs: elapsed(), log: options.log });
    options.log.info(`verify passed: ${logLine(command, 200)}`);
  }
  return { kind: 'passed', durationMs: elapsed() };
}

type Bounds = Pick<VerifyCall, 'timeoutMs' | 'signal'>;

async function runCommand(
  command: string,
  { bash, workFolder, folder, environment, room, runTag, insteadOf }: Surroundings,
  bounds: Bounds,
): Promise<{ readonly end: ProgramEnd; readonly tail: string }> {
  const output = createTail(TAIL_BYTES);
  const file = bash();
  if (file === null)
    throw new UserError(
      'infrastructure',
      `The verify command "${logLine(command, 200)}" cannot be run: bash was not found on PATH. Install it on the runner.`,
    );
  const end = await runProgram({
    file,
    args: ['--noprofile', '--norc', '-e', '-o', 'pipefail', '-c', command],
    cwd: join(workFolder, folder),
    environment,
    input: '',
    ...bounds,
    family: familyOf({ room, runTag, insteadOf }),
    outputs: [output.push, output.push],
  });
  if (end.kind === 'not-started')
    throw new UserError(
      'infrastructure',
      `The verify command "${logLine(command, 200)}" cannot be run: bash cannot be started in ${join(workFolder, folder)}.`,
      { cause: end.cause },
    );
  return { end, tail: stripVTControlCharacters(output.text()) };
}

function failure(
  command: string,
  end: ProgramEnd,
  { tail, durationMs, log }: { readonly tail: string; readonly durationMs: number; readonly log: Log },
): Verification {
  log.info(`verify failed: ${logLine(command, 200)} ${describeEnd(end)}`);
  for (const line of tail.split('\n').slice(-20)) log.info(`  ${logLine(line, 300)}`);
  return {
    kind: 'failed',
    command,
    code: end.kind === 'exited' ? end.code : null,
    tail: end.kind === 'timeout' ? `${tail}\n(took too long)`.trim() : tail,
    durationMs,
  };
}
