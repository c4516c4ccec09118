import type { Denial } from '../analysis/analysis.ts';

export const QUESTION_TOOL = 'AskUserQuestion';

/** Shells, wrappers and shell keywords: a rule for one of these would allow any command, or none. */
const SHELLS = new Set([
  ...['bash', 'sh', 'zsh', 'dash', 'ksh', 'fish', 'busybox', 'eval', 'exec', 'source', '.', 'command', 'builtin'],
  ...['sudo', 'doas', 'su', 'xargs', 'parallel', 'watch', 'setsid', 'flock', 'strace', 'trap', 'alias', 'export'],
  ...['timeout', 'nice', 'nohup', 'stdbuf'],
  ...['cd', 'for', 'select', 'case', 'in', 'esac', 'fi', 'do', 'done', 'function', 'declare', 'local', 'readonly'],
]);

/** Programs whose subcommands differ too much for one rule: `git status` reads, `git push` publishes. */
const WITH_SUBCOMMANDS = new Set([
  ...['git', 'gh', 'glab', 'docker', 'podman', 'kubectl', 'helm'],
  ...['aws', 'az', 'gcloud', 'terraform', 'pulumi', 'systemctl'],
  ...['npx', 'bunx', 'uvx', 'uv', 'pipx', 'pipenv', 'poetry'],
]);
/** Matches subcommands that run the program named after them. */
const RUNS = /^(?:run|exec|tool)$/;
/** Matches wrappers that agents ignore when they compare a command with a rule. */
const WRAPPED =
  /^(?:(?:time|nohup|stdbuf(?: -\S+)+|nice(?: -n ?-?\d+| -\d+)?|timeout(?: -[ks] \S+| -(?![ks] )\S+)* \d[\w.]*)\s+)+(?=\S)/;
/** Matches a here-document up to its end. */
const HERE_DOCUMENT = /((?<!<)<<-?\s*(['"]?)(\w+)\2[^\n]*)(?:\n[^]*?)??(?:\n[ \t]*\3[ \t]*(?=\n|$)|$)/g;
/** Matches options before a subcommand whose value is a separate word. */
const WITH_VALUE =
  /^(?:-C|-c|-n|-p|-R|-H|--(?:git-dir|work-tree|namespace|context|repo|host|profile|region|project|package|directory|from|with))$/;

/**
 * Returns the smallest `allowed-tools` rules that would allow the refused parts of a call; empty if no rule should
 * allow them, as for a question or a shell.
 */
export function suggestRulesToAllow({ tool, command }: Denial, allowed: readonly string[]): readonly string[] {
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
  const text = command.slice(0, 2_000).replaceAll(HERE_DOCUMENT, '$1');
  const parts = text.match(/(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|(?<!&)&(?!&)|[^;|\n&'"])+/g) ?? [];
  return parts.map((part) =>
    part
      .trim()
      .replace(/^(?:[({!]\s*|(?:then|do|else|if|while|until|time)\s+)+/, '')
      .replace(/^(?:\w+=(?:'[^']*'|"[^"]*"|[^\s(`'"])*\s+)+(?=\S)/, '')
      .replace(WRAPPED, '')
      .replace(/[\s)}]+$/, ''),
  );
}

function ruleForPart(part: string, allowed: readonly string[]): string | null {
  const words = part.split(/\s+/).filter(Boolean);
  const [program = '', next] = words;
  const name = program.replace(/^.*\//, '');
  if (!/^[\w./-]{1,60}$/.test(program) || SHELLS.has(name)) return null;
  // `env` alone prints variables; with arguments it runs any program, so no rule is suggested.
  if (name === 'env' && next !== undefined) return null;
  const command = allowed.some((rule) => covers(rule, part)) ? null : identifyCommand(words, name);
  return command === null ? null : `Bash(${command}:*)`;
}

/**
 * Returns the words that identify a command: `git push` for `git push origin`, `git -C app push` for `git -C app push`,
 * `python -m pytest`; null if they contain special characters.
 */
function identifyCommand(words: readonly string[], name: string): string | null {
  const first = WITH_SUBCOMMANDS.has(name) ? behindOptions(words, 1) : words[1] === '-m' ? 2 : 0;
  const runs = RUNS.test(words[first] ?? '');
  const at = runs ? behindOptions(words, first + 1) : first;
  const named = words.slice(0, at + 1);
  return named.length > (runs ? at : Math.min(at, 1)) && named.every((word) => /^[\w.=/@:-]{1,60}$/.test(word))
    ? named.join(' ')
    : null;
}

function behindOptions(words: readonly string[], from: number): number {
  const option = words[from];
  return option?.startsWith('-') === true ? behindOptions(words, from + (WITH_VALUE.test(option) ? 2 : 1)) : from;
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
