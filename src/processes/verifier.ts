import type { Verification } from '../core/evidence.ts';
import type { Verifier, VerifyCall } from '../ports/agent.ts';
import type { Log } from '../ports/machine.ts';
import type { CleanSurroundings } from './clean-surroundings.ts';
import { namesOf } from '../core/text/phrase.ts';
import { logLine } from './log-line.ts';
import { describeEnd, runShellCommand, type ShellEnd, type ShellSurroundings } from './run-program.ts';

interface VerifierOptions extends ShellSurroundings {
  /** The user's own commands, from the action's inputs; bash runs each like a workflow step. */
  readonly commands: readonly string[];
  /** The surroundings that replace `environment` in a clean clone. */
  readonly clean: CleanSurroundings;
  readonly log: Log;
  readonly now: () => number;
}

/** Creates a verifier that runs the verify commands and ends what they start in the background. */
export function createVerifier(options: VerifierOptions): Verifier {
  return {
    verify: async ({ folder, timeoutMs, signal }) => {
      if (options.commands.length === 0) return { kind: 'not-run' };
      if (folder === null) return await runCommands(options, { timeoutMs, signal });
      const { environment, hidden, remove } = await options.clean.lay(folder);
      if (hidden.length > 0)
        options.log.warning(
          `verify runs in the clean clone without what was added or changed in folders above it since the run began, where build tools look for their settings: ${logLine(namesOf(hidden), 1000)}.`,
        );
      try {
        return await runCommands({ ...options, workFolder: folder, environment }, { timeoutMs, signal });
      } finally {
        await remove();
      }
    },
  };
}

async function runCommands(options: VerifierOptions, { timeoutMs, signal }: Bounds): Promise<Verification> {
  const startedAt = options.now();
  const elapsed = (): number => options.now() - startedAt;
  for (const command of options.commands) {
    const bounds = { timeoutMs: Math.max(0, timeoutMs - elapsed()), signal };
    const { end, tail } = await runShellCommand(options, {
      command,
      what: 'verify command',
      shell: 'strict',
      ...bounds,
    });
    // The command neither passed nor failed: the end of the job cut it short.
    if (end.kind === 'cancelled') return { kind: 'not-run' };
    if (end.kind !== 'exited' || end.code !== 0)
      return failure(command, end, { tail, durationMs: elapsed(), log: options.log });
    options.log.info(`verify passed: ${logLine(command, 200)}`, 'good');
  }
  return { kind: 'passed', durationMs: elapsed() };
}

type Bounds = Pick<VerifyCall, 'timeoutMs' | 'signal'>;

function failure(
  command: string,
  end: ShellEnd,
  { tail, durationMs, log }: { readonly tail: string; readonly durationMs: number; readonly log: Log },
): Verification {
  log.info(`verify failed: ${logLine(command, 200)} ${describeEnd(end)}`, 'bad');
  for (const line of tail.split('\n').slice(-20)) log.info(`  ${logLine(line, 300)}`);
  return {
    kind: 'failed',
    command,
    code: end.kind === 'exited' ? end.code : null,
    tail: end.kind === 'timeout' ? `${tail}\n(took too long)`.trim() : tail,
    durationMs,
  };
}
