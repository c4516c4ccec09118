import type { Terminal } from '../cli/command.ts';
import { endWhenUnread, runCommand } from '../cli/run-command.ts';
import { hasColours, paintMarks, wrapText } from '../cli/terminal-text.ts';

/** Commands whose output is somebody's text, which keeps its lines. */
const VERBATIM: readonly string[] = ['init', 'clean'];

/** Runs the command `ralph`; `packageRoot` is the folder of action.yml and templates/. */
export async function runCli(packageRoot: URL): Promise<void> {
  const args = process.argv.slice(2);
  const keepsLines = VERBATIM.includes(args[0] ?? '') || args.includes('--json');
  const paints = hasColours(process.env) && !keepsLines;
  const shown = (text: string, { isTTY, columns }: NodeJS.WriteStream): string => {
    if (!isTTY || keepsLines) return text;
    const wrapped = columns > 0 ? wrapText(text, columns) : text;
    return paints ? paintMarks(wrapped) : wrapped;
  };
  const terminal: Terminal = {
    stdin: process.stdin,
    out: (text) => {
      process.stdout.write(shown(text, process.stdout));
    },
    error: (text) => {
      process.stderr.write(shown(text, process.stderr));
    },
    now: () => Date.now(),
  };
  endWhenUnread();
  process.exitCode = await runCommand(
    async () => (await import('./commands.ts')).commandsOf(packageRoot),
    args,
    terminal,
  );
}
