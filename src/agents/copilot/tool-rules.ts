import {
  allowsEveryCommand,
  selectCommandRules,
  type RuleCommands,
  type MappedRules,
  mapSharedRules,
  parseToolRule,
  type ToolRule,
} from '../rules/shell-rules.ts';

/**
 * Returns the rules as flags (Copilot CLI, 1.0.102). Without rules, the CLI reads inside the work tree and runs
 * commands that only read there.
 */
export function mapCopilotRules(rules: readonly string[]): MappedRules<readonly string[]> {
  const parsed = rules.map(parseToolRule);
  const has = (kind: ToolRule['kind']) => parsed.some((rule) => rule.kind === kind);
  const loose = allowsEveryCommand(parsed)
    ? []
    : selectCommandRules(parsed).filter(({ commands }) => isLoose(commands));
  const patterns = new Set(parsed.flatMap(patternsFor));
  const fetches = has('web-fetch');
  // Allow addresses in `curl` commands, which need their own permission. It would also apply to the fetch tool, which
  // is hidden then.
  const curls = !fetches && (patterns.has('shell') || [...patterns].some((pattern) => CURL.test(pattern)));
  const hidden = [
    ...(fetches ? [] : ['web_fetch']),
    ...(has('web-search') ? [] : ['web_search']),
    ...(has('subagent') ? [] : ['task']),
  ];
  const own = [
    ...[...patterns, ...(curls ? ['url'] : [])].map((pattern) => `--allow-tool=${pattern}`),
    `--excluded-tools=${hidden.join(',')}`,
  ].filter((flag) => flag !== '--excluded-tools=');
  const stems = [...new Set(loose.flatMap(({ commands }) => stemOf(commands) ?? []))];
  return mapSharedRules(parsed, own, {
    without: parsed.filter((rule) => isWithoutCounterpart(rule) || (rule.kind === 'command' && loose.includes(rule))),
    more: [loose.length === 0 ? null : `run ${stems.map((stem) => `\`${stem}\``).join(', ')} with any arguments`],
  });
}

const CURL = /^shell\((?:curl|wget):\*\)$/;

function isWithoutCounterpart(rule: ToolRule): boolean {
  if (rule.kind === 'command') return rule.commands.kind !== 'any' && stemOf(rule.commands) === null;
  return (
    rule.kind === 'other' || ((rule.kind === 'mcp' || rule.kind === 'web-fetch') && patternsFor(rule).length === 0)
  );
}

function patternsFor(rule: ToolRule): readonly string[] {
  switch (rule.kind) {
    case 'edit':
      return ['write'];
    case 'command': {
      if (rule.commands.kind === 'any') return ['shell'];
      const stem = stemOf(rule.commands);
      return stem === null ? [] : [`shell(${stem}:*)`];
    }
    case 'web-fetch':
      if (rule.domain === null) return ['url'];
      return /^(?:[*][.])?[\w.-]+$/.test(rule.domain) ? [`url(https://${rule.domain})`] : [];
    case 'mcp':
      if (KINDS.has(rule.server.toLowerCase()) || rule.tool?.includes('*') === true) return [];
      return [rule.tool === null ? rule.server : `${rule.server}(${rule.tool})`];
    case 'read':
    case 'web-search':
    case 'subagent':
    case 'bookkeeping':
    case 'other':
      return [];
  }
}

/** Names of kinds in a pattern; a server with one of these names would be confused with the kind. */
const KINDS: ReadonlySet<string> = new Set(['shell', 'write', 'read', 'url', 'memory']);

/**
 * Returns the part of a command that the CLI matches: its name, for some programs with the first word after it. Returns
 * null if these are not plain words, because a flag can contain no others.
 */
function stemOf(commands: RuleCommands): string | null {
  const [name, first] = leadingWordsOf(commands);
  if (name === undefined) return null;
  if (first === undefined || first.startsWith('-') || !WITH_SUBCOMMANDS.has(name)) return name;
  return `${name} ${first}`;
}

/** Returns the whole words, at most two, that every matching command begins with; empty if one is not plain. */
function leadingWordsOf(commands: RuleCommands): readonly string[] {
  if (commands.kind === 'any') return [];
  const { text } = commands;
  const whole = commands.kind === 'glob' ? text.slice(0, text.indexOf('*')).replace(/\S*$/, '') : text;
  const words = whole.trim().split(/\s+/).slice(0, 2);
  return words.every((word) => /^[\w./@+-]+$/.test(word)) ? words : [];
}

/** Returns true if the stem is less specific than the rule, so that it matches more commands. */
function isLoose(commands: RuleCommands): boolean {
  if (commands.kind === 'any') return false;
  const stem = stemOf(commands);
  return stem !== null && !(commands.kind === 'prefix' && commands.text === stem);
}

/** Programs whose subcommand is part of the name, as tested; of other programs, only the name is matched. */
const WITH_SUBCOMMANDS: ReadonlySet<string> = new Set([
  ...['git', 'gh', 'npm', 'npx', 'pnpm', 'yarn', 'go', 'cargo', 'poetry'],
  ...['pip', 'dotnet', 'mvn', 'composer', 'bundle', 'mix'],
]);
