import type { Denial } from '../analysis/analysis.ts';

export const QUESTION_TOOL = 'AskUserQuestion';

/** Shells and wrappers: a rule for one of these would allow any command behind it. */
const SHELLS = new Set([
  'bash',
  'sh',
  'zsh',
  'dash',
  'ksh',
  'fish',
  'eval',
  'exec',
  'sudo',
  'su',
  'xargs',
  'cd',
  'command',
]);

/** Programs whose subcommands differ too much for one rule: `git status` reads, `git push` publishes. */
const WITH_SUBCOMMANDS = new Set([
  ...['git', 'gh', 'glab', 'docker', 'podman', 'kubectl', 'helm'],
  ...['aws', 'az', 'gcloud', 'terraform', 'pulumi', 'systemctl'],
]);
/** Matches options before a subcommand whose value is a separate word. */
const WITH_VALUE = /^(?:-C|-c|-n|-R|-H|--(?:git-dir|work-tree|namespace|context|repo|host|profile|region|project))$/;

/**
 * Returns the smallest `allowed-tools` rules that would allow the refused parts of a call; empty if no rule should, as
 * for a question or a shell.
 */
export function rulesToAllow({ tool, command }: Denial, allowed: readonly string[]): readonly string[] {
  if (tool === QUESTION_TOOL) return [];
  if (command === null) return /^[\w-]{1,60}$/.test(tool) && !allowed.includes(tool) ? [tool] : [];
  if (tool !== 'Bash') return [];
  return [...new Set(splitCommand(command).flatMap((part) => ruleForPart(part, allowed) ?? []))];
}

/**
 * Splits a command into its parts. Quotes keep their content together; other shell syntax is ignored, because the
 * result is only advice for a person.
 */
function splitCommand(command: string): readonly string[] {
  const parts = command.slice(0, 2_000).match(/(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|(?<!&)&(?!&)|[^;|\n&'"])+/g) ?? [];
  return parts.map((part) =>
    part
      .trim()
      .replace(/^(?:[({!]\s*|(?:then|do|else|if|while|until|time)\s+)+/, '')
      .replace(/^(?:\w+=\S*\s+)+(?=\S)/, ''),
  );
}

function ruleForPart(part: string, allowed: readonly string[]): string | null {
  const words = part.split(/\s+/).filter(Boolean);
  const [program = '', next] = words;
  if (!/^[\w./-]{1,60}$/.test(program) || SHELLS.has(program)) return null;
  // `env` alone prints variables; with arguments it runs any program.
  if (program === 'env' && next !== undefined) return null;
  return allowed.some((rule) => covers(rule, part)) ? null : `Bash(${commandOf(words)}:*)`;
}

/**
 * Returns the words that identify a command: `git push` for `git push origin`, `git -C app push` for `git -C app push`.
 */
function commandOf(words: readonly string[]): string {
  const [program = ''] = words;
  if (!WITH_SUBCOMMANDS.has(program)) return program;
  let at = 1;
  while (words[at]?.startsWith('-') === true) at += WITH_VALUE.test(words[at] ?? '') ? 2 : 1;
  const named = words.slice(0, at + 1);
  return named.every((word) => /^[\w.=/@:-]{1,60}$/.test(word)) ? named.join(' ') : program;
}

/** Returns true if a rule such as `Bash`, `Bash(npm:*)`, `Bash(npm *)` or `Bash(npm ci)` allows the command. */
function covers(rule: string, command: string): boolean {
  if (rule === 'Bash') return true;
  const inside = /^Bash\((.*)\)$/s.exec(rule)?.[1];
  if (inside === undefined) return false;
  const prefix = inside.endsWith(':*') ? inside.slice(0, -2) : inside.endsWith(' *') ? inside.slice(0, -2) : null;
  if (inside === '*' || prefix === '') return true;
  return prefix === null ? command === inside : command === prefix || command.startsWith(`${prefix} `);
}
