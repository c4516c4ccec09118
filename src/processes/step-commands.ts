import type { Commands } from '../ports/agent.ts';
import type { Log } from '../ports/machine.ts';
import { logLine } from './log-line.ts';
import { runShellCommand, type ShellSurroundings } from './shell-command.ts';

/** Lines of a failed command that are shown in the log. */
const SHOWN_LINES = 20;

/** Runs commands of a pipeline, and tools that make lock files, in the work tree. */
export function createStepCommands(options: ShellSurroundings & { readonly log: Log }): Commands {
  return {
    run: async ({ folder, ...call }) => {
      // As `sh -c` of the Ralphs that have steps: there a `grep` that finds nothing ends nothing.
      const run = await runShellCommand(folder === null ? options : { ...options, folder }, {
        ...call,
        what: folder === null ? 'command of the pipeline' : 'command',
        shell: 'plain',
      });
      if (run.end.kind !== 'exited' || run.end.code !== 0)
        for (const line of run.tail.split('\n').slice(-SHOWN_LINES)) options.log.info(`  ${logLine(line, 300)}`);
      return run;
    },
  };
}
