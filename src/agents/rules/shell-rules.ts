import type { Denial } from '../../core/analysis/analysis.ts';
import type { KindOfDenial } from '../../core/lane/denials.ts';
import { shellParts } from './shell-parts.ts';
import { parseToolRule, type Commands } from './tool-rule.ts';

/** Commands that only read; Claude Code allows them without a rule, inside the work tree, and so rules leave them out. */
export const READERS = ['cd', 'pwd', 'ls', 'cat', 'head', 'tail', 'grep', 'wc', 'echo', 'true'] as const;

/** What an agent's refused calls amount to: `shell` are its names for the tool that runs commands, `question` for the one that asks a person. */
export function createKindOfDenial({
  shell,
  question,
}: {
  readonly shell: readonly string[];
  readonly question: string | null;
}): KindOfDenial {
  return (denial, rules) => {
    if (denial.tool === question) return 'question';
    return shell.includes(denial.tool) && isCompoundOfAllowed(denial, rules) ? 'compound' : 'forbidden';
  };
}

/** The simple commands of a command line that the rules do not allow; null: the line is not plainly understood. */
export function refusedCommands(line: string, rules: readonly string[]): readonly string[] | null {
  const command = shellParts(line);
  if (command.kind === 'opaque') return null;
  return command.parts.filter((part) => !allowed(part, rules));
}

function isCompoundOfAllowed({ command: line }: Denial, rules: readonly string[]): boolean {
  if (line === null) return false;
  const command = shellParts(line);
  const isCompound = command.kind === 'parts' && (command.compound || line.trim().includes('\n'));
  if (command.kind === 'opaque' || !isCompound || command.parts.length === 0) return false;
  return command.parts.every((part) => allowed(part, rules));
}

function allowed(command: string, rules: readonly string[]): boolean {
  return onlyReadsInside(command) || rules.some((rule) => allows(rule, command));
}

function onlyReadsInside(command: string): boolean {
  const [name = '', ...words] = command.replaceAll(/['"]/g, '').split(/\s+/);
  // Agents begin many commands with a `cd` to the work tree's full path, which is not known here.
  if (name === 'cd') return words.length > 0 && !words.some((word) => /^[~-]|(?:^|\/)\.\.(?:\/|$)/.test(word));
  return READERS.some((name) => startsWithWords(command, name)) && !words.some((word) => OUTSIDE.test(word));
}

/** A word that may lead out of the work tree: an absolute path, a home, or a way up; also as the value of an option. */
const OUTSIDE = /^(?:-\w|--[\w-]+=)?[/~]|(?:^|[/=])\.\.(?:\/|$)|^-\w\.\.(?:\/|$)/;

/** Whether an allow rule (`Bash`, `Bash(npm:*)`, `Bash(npm install)`, `Bash(git *)`) covers a simple command. */
function allows(rule: string, command: string): boolean {
  const parsed = parseToolRule(rule);
  return parsed.kind === 'command' && covers(parsed.commands, command);
}

function covers(commands: Commands, command: string): boolean {
  switch (commands.kind) {
    case 'any':
      return true;
    case 'prefix':
      return startsWithWords(command, commands.prefix);
    case 'exact':
      return command === commands.command;
    case 'glob':
      return matchesGlob(command, commands.glob);
  }
}

function startsWithWords(command: string, prefix: string): boolean {
  return command === prefix || command.startsWith(`${prefix} `);
}

/** `*` stands for any text. */
function matchesGlob(text: string, pattern: string): boolean {
  const [first = '', ...others] = pattern.split('*');
  const last = others.pop();
  if (last === undefined) return text === pattern;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const piece of others) {
    const found = text.indexOf(piece, at);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}
