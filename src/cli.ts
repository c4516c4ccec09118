import { addCommand } from './cli/add.ts';
import { analyzeCommand } from './cli/analyze.ts';
import { cleanCommand } from './cli/clean.ts';
import type { Command, Terminal } from './cli/command.ts';
import { createImportCommand } from './cli/import.ts';
import type { OpenImport } from './cli/import-world.ts';
import { createOrderCommands } from './cli/orders.ts';
import { replayCommand } from './cli/replay.ts';
import { runCommand } from './cli/run-command.ts';
import type { OpenPlaces } from './cli/state-places.ts';
import { createStatusCommand } from './cli/status.ts';
import { tasksCommand } from './cli/tasks.ts';

/** Loaded by the commands that need it: the others start without git. */
const open: OpenPlaces = async (checkout) => (await import('./cli-places.ts')).openPlaces(checkout);

const openImport: OpenImport = async () => (await import('./cli-import.ts')).openImport();

const COMMANDS: readonly Command[] = [
  addCommand,
  analyzeCommand,
  cleanCommand,
  createImportCommand(openImport),
  replayCommand,
  createStatusCommand(open),
  tasksCommand,
  ...createOrderCommands(open),
];

/** The command `ralph`. */
export async function cli(): Promise<void> {
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
  // A reader that has seen enough, such as `head`, is no failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    process.exit(error.code === 'EPIPE' ? 0 : 1);
  });
  process.exitCode = await runCommand(COMMANDS, process.argv.slice(2), terminal);
}
