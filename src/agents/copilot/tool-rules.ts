import {
  allowsEveryCommand,
  commandRules,
  type Commands,
  type MappedRules,
  mappedRules,
  parseToolRule,
  type ToolRule,
} from '../rules/shell-rules.ts';

/** Rules as flags (Copilot CLI, 1.0.102). It reads inside the work tree, and runs commands that only read there, without any. */
export function copilotRules(rules: readonly string[]): MappedRules<readonly string[]> {
  const parsed = rules.map(parseToolRule);
  const has = (kind: ToolRule['kind']) => parsed.some((rule) => rule.kind === kind);
  const loose = allowsEveryCommand(parsed) ? [] : commandRules(parsed).filter(({ commands }) => isLoose(commands));
  const patterns = new Set(parsed.flatMap(patternsFor));
  const fetches = has('web-fetch');
  // An address in a `curl` command needs leave of its own, which would be the tool's as well.
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
  return mappedRules(parsed, own, {
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

/** A server of such a name would be taken for what the name means in a pattern. */
const KINDS: ReadonlySet<string> = new Set(['shell', 'write', 'read', 'url', 'memory']);

/** What the CLI matches of a command: its name, for some programs with the first word behind it; null: no plain words, which a flag could not hold. */
function stemOf(commands: Commands): string | null {
  const [name, first] = wordsOf(commands);
  if (name === undefined) return null;
  if (first === undefined || first.startsWith('-') || !WITH_SUBCOMMANDS.has(name)) return name;
  return `${name} ${first}`;
}

/** Whole words that every command begins with that is meant, at most two; none where one is not plain. */
function wordsOf(commands: Commands): readonly string[] {
  if (commands.kind === 'any') return [];
  const { text } = commands;
  const whole = commands.kind === 'glob' ? text.slice(0, text.indexOf('*')).replace(/\S*$/, '') : text;
  const words = whole.trim().split(/\s+/).slice(0, 2);
  return words.every((word) => /^[\w./@+-]+$/.test(word)) ? words : [];
}

/** Whether the stem says less than the rule: then more commands begin with it. */
function isLoose(commands: Commands): boolean {
  if (commands.kind === 'any') return false;
  const stem = stemOf(commands);
  return stem !== null && !(commands.kind === 'prefix' && commands.text === stem);
}

/** Programs whose subcommand is a part of the name, as tried; of others only the name counts. */
const WITH_SUBCOMMANDS: ReadonlySet<string> = new Set([
  ...['git', 'gh', 'npm', 'npx', 'pnpm', 'yarn', 'go', 'cargo', 'poetry'],
  ...['pip', 'dotnet', 'mvn', 'composer', 'bundle', 'mix'],
]);
