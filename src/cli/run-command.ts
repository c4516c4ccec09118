import { cutText } from '../core/text/phrase.ts';
import { findNearest } from '../core/text/nearest.ts';
import { UserError } from '../errors.ts';
import {
  type CliCommand,
  type CommandEnd,
  COMMAND_LIST,
  type ListedCommand,
  type Terminal,
  UsageError,
} from './command.ts';

/** The version in package.json, which is not part of the bundle. */
const VERSION = '1.0.0';

/** The exit code for each end of a command; 2 means wrong usage. */
const EXIT_CODES: Readonly<Record<CommandEnd, number>> = { done: 0, different: 1, failed: 1, partly: 3 };

/**
 * Runs the command that the arguments name and returns the exit code. `load` is called only if a command is run.
 */
export async function runCommand(
  load: () => Promise<readonly CliCommand[]>,
  args: readonly string[],
  terminal: Terminal,
): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined) {
    terminal.error(help());
    return 2;
  }
  if (name === 'help' && rest.length > 0 && !asksForHelp(rest)) return runCommand(load, [...rest, '--help'], terminal);
  if (name === '--help' || name === '-h' || name === 'help') {
    terminal.out(help());
    return 0;
  }
  if (name === '--version' || name === '-V') {
    terminal.out(`ralph ${VERSION}\n`);
    return 0;
  }
  const isListed = Object.hasOwn(COMMAND_LIST, name);
  const command = isListed ? (await load()).find((candidate) => candidate.name === name) : undefined;
  if (command === undefined) {
    terminal.error(unknownCommand(name));
    return 2;
  }
  if (asksForHelp(rest)) {
    terminal.out(command.help);
    return 0;
  }
  try {
    return EXIT_CODES[await command.run(rest, terminal)];
  } catch (error) {
    if (error instanceof UserError) {
      terminal.error(`ralph ${name}: ${error.message}\n`);
      return 1;
    }
    if (!(error instanceof UsageError)) throw error;
    const hint = error.hint === 'help' ? `See: ralph ${name} --help\n` : '';
    terminal.error(error.problems.map((problem) => `ralph ${name}: ${problem}\n`).join('') + hint);
    return 2;
  }
}

function help(): string {
  const commands: readonly ListedCommand[] = Object.values(COMMAND_LIST);
  const width = Math.max(...commands.map(({ name }) => name.length));
  const rows = (of: ListedCommand['use']): string =>
    commands
      .filter(({ use }) => use === of)
      .map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}\n`)
      .join('');
  return `Usage: ralph COMMAND [ARGUMENTS]

Daily use:
${rows('daily')}
Looking inside:
${rows('inside')}
Help:    ralph help COMMAND, or ralph COMMAND --help
Version: ralph --version, or -V
Exit codes: 0 done, 1 a difference or a failure, 2 wrong arguments, 3 in part.
`;
}

function unknownCommand(name: string): string {
  const names = Object.keys(COMMAND_LIST);
  const near = findNearest(name, names);
  const shown = JSON.stringify(cutText(name, 80));
  return `ralph: unknown command ${shown}.${near === null ? '' : ` Did you mean ${near}?`} Commands: ${names.join(', ')}.\n`;
}

function asksForHelp(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return args.slice(0, end === -1 ? args.length : end).some((arg) => arg === '--help' || arg === '-h');
}

/**
 * Ends the process when its output is no longer read; a reader that stops early, such as `head`, is not a failure. A
 * command that has something to finish receives SIGHUP instead, as if its terminal had closed.
 */
export function endWhenUnread(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', ({ code }: NodeJS.ErrnoException) => {
      // Further writes fail in the same way.
      if (process.emit('SIGHUP', 'SIGHUP')) return;
      process.exit(code === 'EPIPE' ? 0 : 1);
    });
}
