import {
  allowsEveryCommand,
  commandRules,
  type RuleCommands,
  type MappedRules,
  mappedRules,
  type NamedCommands,
  parseToolRule,
  type ToolRule,
} from '../rules/shell-rules.ts';

/**
 * Values for `permissions` of the user's settings (Qwen Code, 0.24), used with `--approval-mode default`. Without a
 * person, calls that no rule allows are refused.
 */
export interface QwenPermissions {
  readonly allow: readonly string[];
  readonly deny: readonly string[];
}

/**
 * Returns the rules: its rule language is the same, but without exact commands, and in a job only its own tool names
 * count.
 */
export function qwenRules(rules: readonly string[]): MappedRules<QwenPermissions> {
  const parsed = rules.map(parseToolRule);
  const some = commandRules(parsed).some((rule) => rulesFor(rule).length > 0) && !allowsEveryCommand(parsed);
  const loose = some ? commandRules(parsed).filter(({ commands }) => isLoose(commands)) : [];
  const own = {
    allow: [...new Set([...parsed.flatMap(rulesFor), ...(some ? ['run_shell_command(cd *)'] : [])])],
    deny: some ? CD_OUT : [],
  };
  return mappedRules(parsed, own, {
    without: parsed.filter((rule) => isWithoutCounterpart(rule) || (rule.kind === 'command' && loose.includes(rule))),
    more: [
      // Tested: `npm test $(curl …)` runs under `npm *`, and no rule can prevent it.
      some ? 'run any command inside `$(…)` of an allowed one' : null,
      loose.length === 0 ? null : 'give other arguments to the commands named',
    ],
  });
}

/** Denied ways out of the work tree: `cd` itself is allowed in front of other commands. */
const CD_OUT = ['*..*', '~*', '-*', '* ~*', '* -*'].map((words) => `run_shell_command(cd ${words})`);

function isWithoutCounterpart(rule: ToolRule): boolean {
  if (rule.kind === 'bookkeeping' || rule.kind === 'read') return false;
  return rulesFor(rule).length === 0;
}

function rulesFor(rule: ToolRule): readonly string[] {
  switch (rule.kind) {
    case 'read':
      return rule.text === 'Read' ? ['read_file'] : [];
    case 'edit':
      // Without the path it could write anywhere.
      return ['edit(/**)', 'write_file(/**)'];
    case 'command': {
      if (rule.commands.kind === 'any') return ['run_shell_command'];
      const pattern = patternOf(rule.commands);
      return pattern === null ? [] : [`run_shell_command(${pattern})`];
    }
    case 'web-fetch':
      if (rule.domain === null) return ['web_fetch'];
      return rule.domain.includes('*') ? [] : [`web_fetch(domain:${rule.domain})`];
    case 'web-search':
      return ['web_search'];
    case 'mcp':
      if (rule.tool === null) return [`mcp__${rule.server}`];
      return /^[^*]+[*]?$/.test(rule.tool) ? [`mcp__${rule.server}__${rule.tool}`] : [];
    case 'subagent':
      return ['agent'];
    case 'bookkeeping':
    case 'other':
      return [];
  }
}

/**
 * Returns the pattern, or null if a character would not stand for itself. Parentheses and `:*` are syntax of the rule.
 */
function patternOf({ kind, text }: NamedCommands): string | null {
  if (text.trim() === '' || /[()]|:[*]/.test(text)) return null;
  return kind === 'prefix' ? `${text} *` : text;
}

/**
 * Returns true if the pattern matches more than the rule: its exact commands accept any arguments, and a star after a
 * blank may match nothing, including the blank.
 */
function isLoose(commands: RuleCommands): boolean {
  return commands.kind === 'exact' || (commands.kind === 'glob' && commands.text.includes(' *'));
}
