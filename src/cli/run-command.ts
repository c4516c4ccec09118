import { nearest } from '../core/text/nearest.ts';
import { VERSION } from './version.ts';
import { UsageError, type Command, type Terminal } from './command.ts';
import { cut } from '../core/text/cut.ts';

/** Runs what the arguments ask for, and returns the exit code: 0 done, 1 different or failed, 2 usage. */
export async function runCommand(
  commands: readonly Command[],
  args: readonly string[],
  terminal: Terminal,
): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined) {
    terminal.error(helpOf(commands));
    return 2;
  }
  if (name === 'help' && rest.length > 0 && !asksForHelp(rest))
    return runCommand(commands, [...rest, '--help'], terminal);
  if (name === '--help' || name === '-h' || name === 'help') {
    terminal.out(helpOf(commands));
    return 0;
  }
  if (name === '--version' || name === '-V') {
    terminal.out(`ralph ${VERSION}\n`);
    return 0;
  }
  const command = commands.find((candidate) => candidate.name === name);
  if (command === undefined) {
    terminal.error(unknownCommand(commands, name));
    return 2;
  }
  if (asksForHelp(rest)) {
    terminal.out(command.help);
    return 0;
  }
  try {
    return (await command.run(rest, terminal)) === 'done' ? 0 : 1;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const hint = error.hint === 'help' ? `See: ralph ${name} --help\n` : '';
    terminal.error(error.problems.map((problem) => `ralph ${name}: ${problem}\n`).join('') + hint);
    return 2;
  }
}

function helpOf(commands: readonly Command[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length));
  const rows = (of: Command['use']): string =>
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
Exit codes: 0 done, 1 a difference or a failure, 2 wrong arguments.
`;
}

function unknownCommand(commands: readonly Command[], name: string): string {
  const names = commands.map((command) => command.name);
  const near = nearest(name, names);
  const shown = JSON.stringify(cut(name, 80));
  return `ralph: there is no command ${shown}.${near === null ? '' : ` Did you mean ${near}?`} Commands: ${names.join(', ')}.\n`;
}

function asksForHelp(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return args.slice(0, end === -1 ? args.length : end).some((arg) => arg === '--help' || arg === '-h');
}
