import { AGENT_NAMES, AGENTS } from '../agent-names.ts';
import type { Denial } from '../analysis/analysis.ts';

const TOOLS = AGENT_NAMES.map((name) => AGENTS[name].tools);

/** The tools with which the agents run commands, and those with which they ask people. */
const SHELL_TOOLS: ReadonlySet<string> = new Set(TOOLS.flatMap(({ shell }) => shell));
const QUESTION_TOOLS: ReadonlySet<string> = new Set(TOOLS.flatMap(({ question }) => question ?? []));

/** Matches the agents' own names of tools that a rule names differently. */
const OWN_NAMES: readonly (readonly [RegExp, string])[] = [
  [/^(?:edit|create|delete|move|write)(?:_file)?$/, 'Edit'],
  [/^(?:web_?)?fetch$/, 'WebFetch'],
];

/** Shells and wrappers: a rule for one of these would allow any command. */
const SHELLS = new Set([
  ...['bash', 'sh', 'zsh', 'dash', 'ksh', 'fish', 'busybox', 'eval', 'exec', 'source', '.', 'command', 'builtin'],
  ...['sudo', 'doas', 'su', 'xargs', 'parallel', 'watch', 'setsid', 'flock', 'strace', 'trap', 'alias'],
  ...['timeout', 'nice', 'nohup', 'stdbuf', 'time', 'ash', 'csh', 'tcsh', 'pwsh', 'powershell', 'cmd', 'coproc'],
  ...['ionice', 'taskset', 'chrt', 'prlimit', 'unshare', 'nsenter', 'chroot', 'setpriv', 'runuser', 'pkexec', 'sg'],
  ...['ssh', 'script', 'expect', 'unbuffer', 'entr', 'at', 'batch', 'crontab', 'systemd-run', 'bwrap', 'firejail'],
  ...['gdb', 'ltrace', 'perf', 'valgrind', 'fakeroot', 'nix-shell', 'direnv', 'dotenv', 'cross-env'],
]);

/** Options with which programs that search run any command, or delete or write files. */
const ACTIONS: Readonly<Record<string, RegExp>> = {
  find: /^-(?:exec|ok|delete|fprint|fls)/,
  fd: /^(?:-[xX]|--exec)/,
  fdfind: /^(?:-[xX]|--exec)/,
  rg: /^--pre(?:=|$)/,
};

/** Matches a command that a rule can name exactly, because no character of it has a meaning in a rule. */
const EXACT = /^[\w.=/@,+'" -]{1,120}$/;

/** Words of the shell itself, which need no rule. */
const SHELL_WORDS = new Set([
  ...['cd', 'for', 'select', 'case', 'in', 'esac', 'fi', 'do', 'done', 'function', 'declare', 'local', 'readonly'],
  'export',
]);

/** Programs whose subcommands differ too much for one rule: `git status` reads, `git push` publishes. */
const WITH_SUBCOMMANDS = new Set([
  ...['git', 'gh', 'glab', 'docker', 'podman', 'kubectl', 'helm'],
  ...['aws', 'az', 'gcloud', 'terraform', 'pulumi', 'systemctl'],
  ...['npx', 'bunx', 'uvx', 'uv', 'mise', 'asdf', 'pipx', 'pipenv', 'poetry'],
]);
/** Matches subcommands that run the program named after them. */
const RUNS = /^(?:run|exec|tool)$/;
/** Matches wrappers that agents ignore when they compare a command with a rule. */
const WRAPPED =
  /^(?:(?:time(?: -p)?|nohup|stdbuf(?: -\S+)+|nice(?: -n ?-?\d+| -\d+)?|timeout(?: -[ks] \S+| -(?![ks] )\S+)* \d[\w.]*)\s+)+(?=\S)/;
/** Matches a here-document up to its end. */
const HERE_DOCUMENT = /((?<!<)<<-?\s*(['"]?)(\w+)\2[^\n]*)(?:\n[^]*?)??(?:\n[ \t]*\3[ \t]*(?=\n|$)|$)/g;
/** Matches options before a subcommand whose value is a separate word. */
const WITH_VALUE =
  /^(?:-C|-c|-n|-p|-R|-H|--(?:git-dir|work-tree|namespace|context|repo|host|profile|region|project|package|directory|from|with))$/;

/**
 * Returns the smallest `allowed-tools` rules that would allow a refused call; empty if no rules should or can allow all
 * of it, as for a question or a shell.
 */
export function suggestRulesToAllow({ tool, command }: Denial, allowed: readonly string[]): readonly string[] {
  if (isQuestionDenial({ tool })) return [];
  if (command === null) {
    const rule = OWN_NAMES.find(([name]) => name.test(tool))?.[1] ?? tool;
    return /^(?:[A-Z]|mcp__)[\w-]{1,60}$/.test(rule) && !allowed.includes(rule) ? [rule] : [];
  }
  if (!SHELL_TOOLS.has(tool)) return [];
  const rules = splitCommand(command).map((part) => rulesForPart(part, allowed));
  return rules.includes(null) ? [] : [...new Set(rules.flatMap((some) => some ?? []))];
}

/** Returns true if the agent was denied a question to a person. */
export function isQuestionDenial({ tool }: Pick<Denial, 'tool'>): boolean {
  return QUESTION_TOOLS.has(tool);
}

/** Matches an innermost substitution, whose commands run as well, and text in single quotes, which has none. */
const SUBSTITUTION = /'[^']*'|\$\(\([^()]*\)\)|(?:\$|[<>])\(([^()]*)\)|(?<!\\)`([^`]*)`/g;

/** Matches quoted text, which has no comment, and a comment. */
const COMMENT = /'[^']*'|"(?:\\.|[^"\\])*"|(?<=^|[\s;|&(])#[^\n]*/g;

/** Maximum depth of substitutions. */
const MAX_DEPTH = 4;

/** The text that stands for a substitution. A rule never contains it. */
const SUBSTITUTED = '$_';

/**
 * Splits a command into its parts, with those of its substitutions last. Quotes keep their content together; other
 * shell syntax is ignored, because the result is only advice for a person.
 */
function splitCommand(command: string): readonly string[] {
  const inner: string[] = [];
  let text = command
    .slice(0, 2_000)
    .replaceAll(/\\\n\s*/g, ' ')
    .replaceAll(HERE_DOCUMENT, '$1')
    .replaceAll(COMMENT, (found) => (found.startsWith('#') ? '' : found));
  for (let depth = 0; depth < MAX_DEPTH; depth += 1)
    text = text.replaceAll(SUBSTITUTION, (whole, ofDollar?: string, ofTick?: string) => {
      if (whole.startsWith("'")) return whole;
      inner.push(ofDollar ?? ofTick ?? '');
      return SUBSTITUTED;
    });
  return [text, ...inner].flatMap(splitSimpleCommand);
}

function splitSimpleCommand(text: string): readonly string[] {
  const parts = text.match(/(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|(?<=[<>])&|&(?=>)|[^;|\n&'"])+/g) ?? [];
  return parts.map((part) =>
    part
      .trim()
      .replace(/^(?:[({!]\s*|(?:then|do|else|if|while|until|time(?: -p)?)\s+)+/, '')
      .replace(/^(?:\w+=(?:'[^']*'|"[^"]*"|[^\s(`'"])*\s+)+(?=\S)/, '')
      .replace(WRAPPED, '')
      .replace(/[\s)}]+$/, ''),
  );
}

/**
 * Returns the rule that a part of a command lacks, as a list of at most one; null if no rule should or can allow it.
 */
function rulesForPart(part: string, allowed: readonly string[]): readonly string[] | null {
  const words = part.split(/\s+/).filter(Boolean);
  const [program = '', next] = words;
  const name = program.replace(/^.*\//, '');
  // The output of a command or a variable names the program, which no rule can.
  if (/^(?:["']?\$|-)/.test(program) || SHELLS.has(name)) return null;
  if (!/^[\w./-]{1,60}$/.test(program) || SHELL_WORDS.has(name)) return [];
  // `env` alone prints variables; with arguments it runs any program, so no rule is suggested.
  if (name === 'env' && next !== undefined) return null;
  const actions = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined;
  if (actions !== undefined && words.some((word) => actions.test(word))) return null;
  if (allowed.some((rule) => covers(rule, part))) return [];
  // A prefix or a star would allow these options as well, so only the exact command remains.
  if (actions !== undefined) return EXACT.test(part) ? [`Bash(${part})`] : null;
  const command = identifyCommand(words, name);
  return command === null ? null : [`Bash(${command}:*)`];
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
