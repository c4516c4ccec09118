import type { Terminal } from '../cli/command.ts';
import { endWhenUnread, runCommand } from '../cli/run-command.ts';

/** Runs the command `ralph`; `packageRoot` is the folder of action.yml and templates/. */
export async function runCli(packageRoot: URL): Promise<void> {
  const terminal: Terminal = {
    stdin: process.stdin,
    out: (text) => {
      process.stdout.write(text);
    },
    error: (text) => {
      process.stderr.write(text);
    },
    now: () => Date.now(),
  };
  endWhenUnread();
  process.exitCode = await runCommand(
    async () => (await import('./commands.ts')).commandsOf(packageRoot),
    process.argv.slice(2),
    terminal,
  );
}
