import {
  allowsEveryCommand,
  type RuleCommands,
  type MappedRules,
  mappedRules,
  type NamedCommands,
  parseToolRule,
  READERS,
  type ToolRule,
} from '../rules/shell-rules.ts';

/**
 * Returns the rules as the text of a policy file for `--policy` (Gemini CLI, 0.61), used with `--approval-mode
 * default`.
 */
export function geminiRules(rules: readonly string[]): MappedRules<string> {
  const parsed = rules.map(parseToolRule);
  const entries = parsed.map((rule) => ({ rule, lines: linesFor(rule) }));
  const hasCommands = entries.some(({ rule, lines }) => rule.kind === 'command' && lines.length > 0);
  const own = [
    ...[...ALWAYS, ...entries.flatMap(({ lines }) => lines)].map((line) => entry(line, 500)),
    ...(hasCommands && !allowsEveryCommand(parsed)
      ? [entry(`${SHELL}\ncommandRegex = ${quoted(READING)}\nallowRedirection = true`, 400)]
      : []),
    '[[rule]]\ntoolName = "*"\ndecision = "deny"\npriority = 1\n',
  ].join('\n');
  const without = entries
    .filter(({ rule, lines }) => rule.kind !== 'bookkeeping' && rule.kind !== 'read' && lines.length === 0)
    .map(({ rule }) => rule);
  return mappedRules(parsed, own, { without, more: [] });
}

const SHELL = 'toolName = "run_shell_command"';

/**
 * Tools that are always allowed: reading inside the work tree, to which the CLI itself restricts them, and tools
 * without effect outside.
 */
const ALWAYS = [
  'toolName = ["read_file", "read_many_files", "list_directory", "glob", "grep_search", "search_file_content"]',
  'toolName = ["write_todos", "update_topic", "complete_task"]',
];

function entry(lines: string, priority: number): string {
  return `[[rule]]\n${lines}\ndecision = "allow"\npriority = ${String(priority)}\n`;
}

/**
 * Returns a rule's conditions on tools and arguments, one per entry of the policy; empty if the policy cannot express
 * it.
 */
function linesFor(rule: ToolRule): readonly string[] {
  switch (rule.kind) {
    case 'edit':
      return ['toolName = ["write_file", "replace"]'];
    case 'command':
      return commandLines(rule.commands);
    case 'web-fetch':
      // The tool's prompt is free text: no rule can find the addresses in it.
      return rule.domain === null ? ['toolName = "web_fetch"'] : [];
    case 'web-search':
      return ['toolName = "google_web_search"'];
    case 'mcp':
      return rule.tool?.includes('*') === true
        ? []
        : [`mcpName = ${quoted(rule.server)}\ntoolName = ${quoted(rule.tool ?? '*')}`];
    case 'subagent':
      return ['toolName = "invoke_agent"'];
    case 'read':
    case 'bookkeeping':
    case 'other':
      return [];
  }
}

/** Returns the conditions on commands. The engine matches the whole command line and then each simple command in it. */
function commandLines(commands: RuleCommands): readonly string[] {
  // A command may write anywhere in any case; without this, `npm test 2>&1` would be refused.
  const redirection = 'allowRedirection = true';
  if (commands.kind === 'any') return [`${SHELL}\n${redirection}`];
  const regex = regexOf(commands);
  const usable = regex !== null && regex.length <= MAX_REGEX_CHARS;
  return usable ? [`${SHELL}\ncommandRegex = ${quoted(regex)}\n${redirection}`] : [];
}

/** Maximum length of an expression: the engine drops a rule with a longer one. */
const MAX_REGEX_CHARS = 2_000;
/** The end of the command in the arguments as the engine writes them: no text can contain this character. */
const END = '"\\u0000';
const ANY = '[^\\u0000]*';
/** The end of the command, or an operator after it, behind which the engine matches the next command by itself. */
const END_OR_OPERATOR = `(?:${END}| ?(?:&&|[|][|]|;|[|]|\\\\n))`;

/**
 * Returns an expression, because `commandPrefix` would also match `git add"x"`, which a shell reads as another word.
 */
function regexOf({ kind, text }: NamedCommands): string | null {
  if (kind === 'glob') return `${text.split('*').map(literal).join(ANY)}${END}`;
  if (kind === 'exact') return `${literal(text)}${endOf(text)}`;
  return text.trim() === '' ? null : `${literal(text)}(?: |${endOf(text)})`;
}

/** Returns the expression for the end of the text: an operator ends it only if no quote is open. */
function endOf(text: string): string {
  return /^[\w ./:=@%+,-]+$/.test(text) ? END_OR_OPERATOR : END;
}

/** Characters that a shell does not interpret. */
const PLAIN = '\\w./:=@%+,-';
/**
 * Commands that read inside the work tree: none of their words leads out of it. `cd` may name the work tree by its full
 * path.
 */
const READING = `(?:${[
  `cd (?![${PLAIN}]*[.][.])[\\w./][${PLAIN}]*`,
  `(?![ ${PLAIN}]*(?:[.][.]|[ =]/| -\\w/))(?:${READERS.filter((name) => name !== 'cd').join('|')})(?:| [ ${PLAIN}]*)`,
].join('|')})${END_OR_OPERATOR}`;

/** Returns a regular expression for a text in the JSON of the arguments. */
function literal(text: string): string {
  return JSON.stringify(text)
    .slice(1, -1)
    .replace(/[\\^$.*+?()[\]{}|"]/g, '\\$&');
}

/** Returns a basic string of TOML, which supports every escape that JSON writes. */
function quoted(text: string): string {
  return JSON.stringify(text).replaceAll('\u007F', '\\u007F');
}
