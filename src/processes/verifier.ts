import { join } from 'node:path';
import { MINUTE_MS } from '../core/countdown.ts';
import type { Verification } from '../core/evidence.ts';
import type { Verifier, VerifyCall } from '../ports/agent.ts';
import type { Log } from '../ports/machine.ts';
import type { CleanSurroundings } from './clean-surroundings.ts';
import { listFirstNames } from '../core/text/phrase.ts';
import { toLogLine } from './output-tail.ts';
import { describeEnd, runShellCommand, type ShellEnd, type ShellSurroundings, TAIL_BYTES } from './run-program.ts';

interface VerifierOptions extends ShellSurroundings {
  /** The user's own commands, from the action's inputs; bash runs each like a workflow step. */
  readonly commands: readonly string[];
  /** The surroundings that are used in place of `environment` in a clean clone. */
  readonly clean: CleanSurroundings;
  readonly log: Log;
  readonly now: () => number;
}

/** Creates a verifier that runs the verify commands and ends the processes that they start in the background. */
export function createVerifier(all: VerifierOptions): Verifier {
  return {
    verify: async ({ folder, from, ...call }) => {
      const commands = all.commands.slice(from);
      const options = { ...all, commands };
      if (options.commands.length === 0) return { kind: 'not-run' };
      if (folder === null) return await runCommands(options, call);
      const { environment, hidden, remove } = await options.clean.prepareFor(folder);
      if (hidden.length > 0)
        options.log.warning(
          `In the clean clone, verify runs without the files that were added or changed in the folders above since the run began, because build tools read settings there: ${toLogLine(listFirstNames(hidden), 1000)}.`,
        );
      try {
        return await runCommands({ ...options, workFolder: folder, environment }, call);
      } finally {
        await remove();
      }
    },
  };
}

async function runCommands(options: VerifierOptions, { timeoutMs, signal, onReport }: Bounds): Promise<Verification> {
  const startedAt = options.now();
  const elapsed = (): number => options.now() - startedAt;
  const outputs: Printed[] = [];
  const report = async (): Promise<void> => {
    if (onReport === null) return;
    const written = await junitFiles(options, { minutes: Math.ceil(elapsed() / MINUTE_MS) + 1, signal });
    const all = [...outputs, written];
    const text = all.map(({ tail }) => tail).join('\n');
    onReport(
      text.replaceAll(`${seenAt(options)}/`, ''),
      all.every(({ isWhole }) => isWhole),
    );
  };
  for (const command of options.commands) {
    const bounds = { timeoutMs: Math.max(0, timeoutMs - elapsed()), signal };
    const tailBytes = onReport === null ? TAIL_BYTES : REPORT_BYTES;
    const call = { command, what: 'verify command', shell: 'strict', tailBytes, ...bounds } as const;
    const { end, ...output } = await runShellCommand(options, call);
    const tail = output.tail.slice(-TAIL_BYTES);
    outputs.push(output);
    // Report no result: the end of the job cut the command short.
    if (end.kind === 'cancelled') return { kind: 'not-run' };
    if (end.kind !== 'exited' || end.code !== 0) {
      const failed = failure(command, end, { tail, durationMs: elapsed(), log: options.log });
      if (end.kind !== 'timeout') await report();
      return failed;
    }
    options.log.info(`verify passed: ${toLogLine(command, 200)}`, 'good');
  }
  const passed: Verification = { kind: 'passed', durationMs: elapsed() };
  await report();
  return passed;
}

type Bounds = Pick<VerifyCall, 'timeoutMs' | 'signal' | 'onReport'>;

/** The end of an output; `isWhole` is false if there was more. */
interface Printed {
  readonly tail: string;
  readonly isWhole: boolean;
}

/** Maximum size of the end of each command's output, and of the JUnit files, from which a report is read. */
const REPORT_BYTES = 2 * 1024 * 1024;

/** Maximum time for finding JUnit files, in ms. */
const REPORT_MS = 20_000;

/** Returns the JUnit files that git does not know and that were written in the last minutes. */
async function junitFiles(
  options: VerifierOptions,
  { minutes, signal }: { readonly minutes: number; readonly signal: AbortSignal },
): Promise<Printed> {
  const isJunit = `-type f -name '*.xml' -size -2048k -mmin -${String(minutes)} -exec grep -l --null '<testcase' {} +`;
  const command = `find . -name node_modules -prune -o -name .git -prune -o ${isJunit} 2>/dev/null |
while IFS= read -r -d '' file; do
  git --literal-pathspecs ls-files --error-unmatch -- "$file" >/dev/null 2>&1 || cat -- "$file"
done`;
  const call = { command, what: 'search for JUnit files', shell: 'plain', timeoutMs: REPORT_MS, signal } as const;
  const { end, tail, isWhole } = await runShellCommand(options, { ...call, tailBytes: REPORT_BYTES });
  return { tail, isWhole: isWhole && end.kind === 'exited' };
}

function seenAt({ agentSandbox, workFolder, folder }: VerifierOptions): string {
  return join(agentSandbox?.seenAt(workFolder) ?? workFolder, folder);
}

function failure(
  command: string,
  end: ShellEnd,
  { tail, durationMs, log }: { readonly tail: string; readonly durationMs: number; readonly log: Log },
): Verification {
  log.info(`verify failed: ${toLogLine(command, 200)} ${describeEnd(end)}`, 'bad');
  for (const line of tail.split('\n').slice(-20)) log.info(`  ${toLogLine(line, 300)}`);
  return {
    kind: 'failed',
    command,
    code: end.kind === 'exited' ? end.code : null,
    tail: end.kind === 'timeout' ? `${tail}\n(took too long)`.trim() : tail,
    durationMs,
  };
}
