import {
  type MappedServers,
  mapServers,
  type McpServer,
  replaceVariables,
  findSoleVariable,
} from '../../core/mcp/values.ts';
import type { RulesGap } from '../../core/agents/rules-verdict.ts';
import { parseToolRule, selectOutsideReads, textsOfRules, type ToolRule } from '../rules/shell-rules.ts';

/** Servers in opencode's configuration. */
interface OpencodeServers {
  readonly mcp: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Entries of `permission`, which come after those of other tools because the last match applies. */
  readonly permission: Readonly<Record<string, Action>>;
}

/** Placeholders that OpenCode replaces in the text of its configuration. */
const REPLACED = /\{(?:env|file):/;

type Action = 'allow' | 'ask' | 'deny';

/** Returns the rules that OpenCode cannot follow: a subagent's calls, or reading outside the repository. */
export function findOpencodeGap(rules: readonly string[]): RulesGap {
  const parsed = rules.map(parseToolRule);
  const without = parsed.filter(({ kind }) => kind === 'subagent' || kind === 'other');
  return { unmapped: textsOfRules([...without, ...selectOutsideReads(parsed)]), allowsMore: null };
}

/**
 * Returns the values for `permission` of the configuration (OpenCode, 1.18); of the keys that match a tool, the last
 * applies. For `ask`, this program decides by the rules; tools that no rule can allow are not offered to the model.
 */
export function mapOpencodePermissions(
  rules: readonly string[],
  ofServers: Readonly<Record<string, Action>>,
): Readonly<Record<string, Action>> {
  const parsed = rules.map(parseToolRule);
  const when = (kind: ToolRule['kind'], then: Action): Action =>
    parsed.some((rule) => rule.kind === kind) ? then : 'deny';
  return {
    '*': 'deny',
    // A server could be named so that its keys match other tools, so those tools' entries come later and apply.
    ...ofServers,
    ...Object.fromEntries(
      ['read', 'glob', 'grep', 'list', 'todowrite', 'todoread'].map((key) => [key, 'allow' as const]),
    ),
    edit: when('edit', 'ask'),
    bash: when('command', 'ask'),
    webfetch: when('web-fetch', 'ask'),
    // Never ask about a web search: its request names no address and would look like a search in files.
    websearch: when('web-search', 'allow'),
    // Always refused when asked, because the request does not name the action in the outside folder.
    external_directory: 'ask',
  };
}

/**
 * Returns servers for opencode's configuration with the values of `variables` filled in: its own replacement breaks at
 * a quotation mark.
 */
export function mapOpencodeServers(
  servers: readonly McpServer[],
  variables: Readonly<Record<string, string>>,
): MappedServers<OpencodeServers> {
  const { own, unmapped } = mapServers(servers, 'opencode', (server) => {
    // Refuse ambiguous names: OpenCode names tools by server and tool, with one _ between them.
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
  // A server gets the agent's environment, so a variable that it contains need not be repeated.
  const own = Object.entries(server.env).filter(([name, value]) => findSoleVariable(value) !== name);
  return {
    type: 'local',
    enabled: true,
    command: [server.command, ...server.args].map(put),
    environment: all(Object.fromEntries(own)),
  };
}

function permissionOf({ name, tools }: McpServer): readonly (readonly [string, Action])[] {
  if (tools.length === 0) return [[`${name}_*`, 'allow']];
  return [
    [`${name}_*`, 'deny'],
    ...tools.map((tool) => [`${name}_${tool.replaceAll(/[^A-Za-z0-9_*-]/g, '_')}`, 'allow'] as const),
  ];
}
