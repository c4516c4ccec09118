import type { Denial } from '../../../core/analysis/analysis.ts';
import type { DenialKind } from '../../../core/lane/denials.ts';
import { isQuestion } from './denials.ts';
import { shellParts } from './shell-parts.ts';

/** Commands that only read; the CLI allows them without a rule, inside the work tree. */
const readOnly = ['cd', 'pwd', 'ls', 'cat', 'head', 'tail', 'grep', 'wc', 'echo', 'true'];

/** What a refused call amounts to under the CLI's allow rules. */
export function kindOfDenial(denial: Denial, rules: readonly string[]): DenialKind {
  if (isQuestion(denial)) return 'question';
  return isCompoundOfAllowed(denial, rules) ? 'compound' : 'forbidden';
}

/** The simple commands of a command line that the CLI does not run without asking; null: the line is not plainly understood. */
export function refusedCommands(line: string, rules: readonly string[]): readonly string[] | null {
  const command = shellParts(line);
  if (command.kind === 'opaque') return null;
  return command.parts.filter((part) => !onlyReadsInside(part) && !rules.some((rule) => allows(rule, part)));
}

function isCompoundOfAllowed(denial: Denial, rules: readonly string[]): boolean {
  if (denial.tool !== 'Bash' || denial.command === null) return false;
  const command = shellParts(denial.command);
  const isCompound = command.kind === 'parts' && (command.compound || denial.command.trim().includes('\n'));
  if (command.kind === 'opaque' || !isCompound || command.parts.length === 0) return false;
  return command.parts.every((part) => onlyReadsInside(part) || rules.some((rule) => allows(rule, part)));
}

function onlyReadsInside(command: string): boolean {
  const [name = '', ...words] = command.replaceAll(/['"]/g, '').split(/\s+/);
  // Agents begin many commands with a `cd` to the work tree's full path, which is not known here.
  if (name === 'cd') return words.length > 0 && !words.some((word) => /^[~-]|(?:^|\/)\.\.(?:\/|$)/.test(word));
  return readOnly.some((name) => startsWithWords(command, name)) && !words.some((word) => OUTSIDE.test(word));
}

/** A word that may lead out of the work tree: an absolute path, a home, or a way up; also as the value of an option. */
const OUTSIDE = /^(?:-\w|--[\w-]+=)?[/~]|(?:^|[/=])\.\.(?:\/|$)|^-\w\.\.(?:\/|$)/;

/** Whether an allow rule of the CLI (`Bash`, `Bash(npm:*)`, `Bash(npm install)`, `Bash(git *)`) covers a simple command. */
function allows(rule: string, command: string): boolean {
  const text = rule.trim();
  if (text === 'Bash') return true;
  const pattern = /^Bash\((.+)\)$/s.exec(text)?.[1]?.trim();
  if (pattern === undefined) return false;
  const prefix = /^([^*]*?)(?::\*| \*)$/.exec(pattern)?.[1];
  if (prefix !== undefined) return startsWithWords(command, prefix);
  return matchesGlob(command, pattern);
}

function startsWithWords(command: string, prefix: string): boolean {
  return command === prefix || command.startsWith(`${prefix} `);
}

/** `*` stands for any text; without one the texts must be equal. */
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
