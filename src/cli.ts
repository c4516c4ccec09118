import { analyzeCommand } from './cli/analyze.ts';
import type { Command, Terminal } from './cli/command.ts';
import { replayCommand } from './cli/replay.ts';
import { runCommand } from './cli/run-command.ts';

const COMMANDS: readonly Command[] = [analyzeCommand, replayCommand];

/** The command `ralph`. */
export async function cli(): Promise<void> {
  const terminal: Terminal = {
    stdin: process.stdin,
    out: (text) => { process.stdout.write(text); },
    error: (text) => { process.stderr.write(text); },
    now: () => Date.now(),
  };
  // A reader that has seen enough, such as `head`, is no failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => { process.exit(error.code === 'EPIPE' ? 0 : 1); });
  process.exitCode = await runCommand(COMMANDS, process.argv.slice(2), terminal);
}
