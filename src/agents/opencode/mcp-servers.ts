import { mapServers, resolvedValue, type MappedServers } from '../../core/mcp/mapping.ts';
import type { McpServer } from '../../core/mcp/server.ts';
import { soleVariable } from '../../core/mcp/values.ts';

/** What opencode's configuration is given of servers. */
interface OpencodeServers {
  readonly mcp: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Entries of `permission`, behind those of other tools: the last one that matches counts. */
  readonly permission: Readonly<Record<string, 'allow' | 'deny'>>;
}

/** In its configuration opencode replaces these, in the text itself, by what they name. */
const REPLACED = /\{(?:env|file):/;

/** Servers for opencode's configuration, with `variables` in their place: its own way to put them in breaks at a quotation mark. */
export function opencodeMcpServers(
  servers: readonly McpServer[],
  variables: Readonly<Record<string, string>>,
): MappedServers<OpencodeServers> {
  const { own, unmapped } = mapServers(servers, 'opencode', (server) => {
    // It names tools by server and tool, with one _ between them.
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
  const put = (value: string): string => resolvedValue(value, variables);
  const all = (values: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, put(value)]));
  if (server.kind === 'remote')
    return { type: 'remote', enabled: true, oauth: false, url: server.url, headers: all(server.headers) };
  // A server gets the agent's environment: what it has already need not be written down.
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
