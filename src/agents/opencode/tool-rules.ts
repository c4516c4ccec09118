import {
  type MappedServers,
  mapServers,
  type McpServer,
  replaceVariables,
  soleVariable,
} from '../../core/mcp/values.ts';
import {
  allowsEveryCommand,
  commandRules,
  type MappedRules,
  mappedRules,
  type NamedCommands,
  parseToolRule,
  READERS,
  type ToolRule,
} from '../rules/shell-rules.ts';

/** Servers in opencode's configuration. */
interface OpencodeServers {
  readonly mcp: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Entries of `permission`, which come after those of other tools because the last match counts. */
  readonly permission: Readonly<Record<string, 'allow' | 'deny'>>;
}

/** Placeholders in its configuration, which opencode replaces in the text itself. */
const REPLACED = /\{(?:env|file):/;

type Action = 'allow' | 'deny';

/**
 * Values for `permission` of the configuration (opencode, 1.18): of the keys and patterns that match, the last counts.
 */
export type OpencodePermission = Readonly<Record<string, Action | Readonly<Record<string, Action>>>>;

/** Returns the rules as permissions. No rule asks: without a person, that would end the turn. */
export function opencodeRules(rules: readonly string[]): MappedRules<OpencodePermission> {
  const parsed = rules.map(parseToolRule);
  const has = (kind: ToolRule['kind']) => parsed.some((rule) => rule.kind === kind);
  const action = (allowed: boolean): Action => (allowed ? 'allow' : 'deny');
  const own = new Map<string, OpencodePermission[string]>([
    ['*', 'deny'],
    ...parsed.flatMap((rule) => (rule.kind === 'mcp' ? serverKeys(rule).map((key) => [key, 'allow'] as const) : [])),
    // Written after the names of servers, which could be chosen to match these.
    ...['read', 'glob', 'grep', 'list', 'todowrite', 'todoread'].map((key) => [key, 'allow'] as const),
    ...['skill', 'lsp', 'question', 'codesearch', 'plan_enter', 'plan_exit', 'doom_loop'].map(
      (key) => [key, 'deny'] as const,
    ),
    ['edit', action(has('edit'))],
    ['bash', bashPermission(parsed)],
    ['webfetch', webPermission(parsed)],
    ['websearch', action(has('web-search'))],
    ['task', action(has('subagent'))],
    ['external_directory', 'deny'],
  ]);
  return mappedRules(parsed, Object.fromEntries(own), { without: parsed.filter(isWithoutCounterpart), more: [] });
}

function isWithoutCounterpart(rule: ToolRule): boolean {
  if (rule.kind === 'command') return rule.commands.kind !== 'any' && commandPatterns(rule.commands).length === 0;
  if (rule.kind === 'web-fetch') return rule.domain !== null && webPatterns(rule.domain).length === 0;
  return rule.kind === 'other' || (rule.kind === 'mcp' && serverKeys(rule).length === 0);
}

/** Returns the keys of a server's tools, `server_tool`, with `_` for every character that a name may not contain. */
function serverKeys({ server, tool }: Extract<ToolRule, { kind: 'mcp' }>): readonly string[] {
  const name = (text: string) => text.replace(/[^\w*-]/g, '_');
  return [`${name(server)}_${name(tool ?? '*')}`];
}

function bashPermission(rules: readonly ToolRule[]): OpencodePermission[string] {
  if (allowsEveryCommand(rules)) return 'allow';
  const patterns = commandRules(rules).flatMap(({ commands }) =>
    commands.kind === 'any' ? [] : commandPatterns(commands),
  );
  if (patterns.length === 0) return 'deny';
  return Object.fromEntries([
    ['*', 'deny'],
    ...READERS.flatMap((name) => [name, `${name} *`]).map((pattern) => [pattern, 'allow'] as const),
    ...LEADING_OUT.map((pattern) => [pattern, 'deny'] as const),
    // The user's own come last: their paths may lead anywhere.
    ...patterns.map((pattern) => [pattern, 'allow'] as const),
  ]);
}

/**
 * Patterns of commands that may read, or write, outside the work tree; a backslash counts as `/` in patterns. `cd` has
 * its own check of paths.
 */
const LEADING_OUT = [
  ...['cd', 'cd -*', 'cd * -*'],
  ...['* /*', '*=/*', '* -?/*', '*~*', '*..*', '*>*', '*<*', '*$*', '*`*'],
  ...['*"*', "*'*", '*{*', '*\t*', '*\n*'],
];

/** Returns the patterns; empty if a character would not stand for itself. */
function commandPatterns({ kind, text }: NamedCommands): readonly string[] {
  if (/[?\\]|^~|^\$HOME|\{(?:env|file):/.test(text) || (kind === 'prefix' && text.trim() === '')) return [];
  return kind === 'prefix' ? [text, `${text} *`] : [text];
}

function webPermission(rules: readonly ToolRule[]): OpencodePermission[string] {
  const domains = rules.flatMap((rule) => (rule.kind === 'web-fetch' ? [rule.domain] : []));
  if (domains.includes(null)) return 'allow';
  const patterns = domains.flatMap((domain) => (domain === null ? [] : webPatterns(domain)));
  if (patterns.length === 0) return 'deny';
  return Object.fromEntries([['*', 'deny'] as const, ...patterns.map((pattern) => [pattern, 'allow'] as const)]);
}

/** Returns the patterns for a domain; a star would also match the path of an address elsewhere. */
function webPatterns(domain: string): readonly string[] {
  return domain.includes('*') ? [] : [`https://${domain}`, `https://${domain}/*`];
}

/**
 * Returns servers for opencode's configuration with the values of `variables` filled in: its own replacement breaks at
 * a quotation mark.
 */
export function opencodeMcpServers(
  servers: readonly McpServer[],
  variables: Readonly<Record<string, string>>,
): MappedServers<OpencodeServers> {
  const { own, unmapped } = mapServers(servers, 'opencode', (server) => {
    // OpenCode names tools by server and tool, with one _ between them.
    if (servers.some(({ name }) => name.startsWith(`${server.name}_`)))
      return { kind: 'unmapped', why: 'takes no server whose name is the beginning of that of another one' };
    const entry = entryOf(server, variables);
    return REPLACED.test(JSON.stringify(entry))
      ? { kind: 'unmapped', why: 'takes no `{env:` and no `{file:` in a text' }
      : { kind: 'mapped', entry: { entry, permission: permissionOf(server) } };
  });
  return {
    own: {
      mcp: Object.fromEntries(own.map(({ name, entry: { entry } }) => [name, entry])),
      permission: Object.fromEntries(own.flatMap(({ entry: { permission } }) => permission)),
    },
    unmapped,
  };
}

function entryOf(server: McpServer, variables: Readonly<Record<string, string>>): Readonly<Record<string, unknown>> {
  const put = (value: string): string => replaceVariables(value, variables);
  const all = (values: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, put(value)]));
  if (server.kind === 'remote')
    return { type: 'remote', enabled: true, oauth: false, url: server.url, headers: all(server.headers) };
  // A server gets the agent's environment: variables in it need not be written down.
  const own = Object.entries(server.env).filter(([name, value]) => soleVariable(value) !== name);
  return {
    type: 'local',
    enabled: true,
    command: [server.command, ...server.args].map(put),
    environment: all(Object.fromEntries(own)),
  };
}

function permissionOf({ name, tools }: McpServer): readonly (readonly [string, 'allow' | 'deny'])[] {
  if (tools.length === 0) return [[`${name}_*`, 'allow']];
  return [
    [`${name}_*`, 'deny'],
    ...tools.map((tool) => [`${name}_${tool.replaceAll(/[^A-Za-z0-9_-]/g, '_')}`, 'allow'] as const),
  ];
}
