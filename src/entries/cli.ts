import type { Terminal } from '../cli/command.ts';
import { endWhenUnread, runCommand } from '../cli/run-command.ts';
import { hasColours, paintMarks, wrapText } from '../cli/terminal-text.ts';
import { showWaits } from '../cli/waiting-line.ts';
import { findOldestWait } from '../ports/waits.ts';

/** Commands whose output contains other people's text and is printed unchanged: neither wrapped nor coloured. */
const VERBATIM: readonly string[] = ['init', 'clean'];

/** Options with which the monitor prints once and draws no screen. */
const PRINTING: readonly string[] = ['--once', '--json'];

/** Runs the command `ralph`; `packageRoot` is the folder of action.yml and templates/. */
export async function runCli(packageRoot: URL): Promise<void> {
  const args = process.argv.slice(2);
  const keepsLines = VERBATIM.includes(args[0] ?? '') || args.includes('--json');
  const paints = hasColours(process.env) && !keepsLines;
  const shown = (text: string, { isTTY, columns }: NodeJS.WriteStream): string => {
    if (!isTTY) return text;
    const wrapped = columns > 0 ? wrapText(text, columns) : text;
    return paints ? paintMarks(wrapped) : wrapped;
  };
  const redraws = process.stderr.isTTY && process.env['TERM'] !== 'dumb' && (process.env['CI'] ?? '') === '';
  const drawsScreen =
    args[0] === 'monitor' && process.stdout.isTTY && !PRINTING.some((option) => args.includes(option));
  const waiting = drawsScreen
    ? null
    : showWaits({
        write: (text) => process.stderr.write(text),
        // The questions of init draw on the terminal themselves, so no other line may be redrawn there.
        columns: () => (redraws && args[0] !== 'init' ? process.stderr.columns : null),
        now: () => performance.now(),
        wait: findOldestWait,
      });
  process.once('exit', () => waiting?.stop());
  const terminal: Terminal = {
    stdin: process.stdin,
    out: (text) => {
      waiting?.makeWay(text);
      process.stdout.write(keepsLines ? text : shown(text, process.stdout));
    },
    error: (text) => {
      waiting?.makeWay(text);
      process.stderr.write(shown(text, process.stderr));
    },
    now: () => Date.now(),
  };
  endWhenUnread();
  process.exitCode = await runCommand(
    async () => (await import('./commands.ts')).createCommands(packageRoot),
    args,
    terminal,
  );
}
