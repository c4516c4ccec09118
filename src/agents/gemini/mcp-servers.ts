import { mapServers, type MappedServers } from '../../core/mcp/mapping.ts';
import type { McpServer } from '../../core/mcp/server.ts';

/** The entries of `mcpServers` in settings.json. */
type SettingsServers = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** Servers for the settings of Gemini CLI, which puts its own variables in the place of `${NAME}`. */
export function geminiMcpServers(servers: readonly McpServer[]): MappedServers<SettingsServers> {
  const { own, unmapped } = mapServers(servers, 'Gemini CLI', (server) =>
    // Its rules take what stands before the first _ for the server.
    server.name.includes('_')
      ? { kind: 'unmapped', why: 'takes no `_` in the name of a server: use `-`' }
      : { kind: 'mapped', entry: settingsOf(server) },
  );
  return { own: Object.fromEntries(own.map(({ name, entry }) => [name, entry])), unmapped };
}

/** One entry; `trust`: nobody is there to be asked about a call. */
function settingsOf(server: McpServer): Readonly<Record<string, unknown>> {
  const { tools } = server;
  const common = { ...(tools.length === 0 ? {} : { includeTools: tools }), trust: true };
  if (server.kind === 'command') return { command: server.command, args: server.args, env: server.env, ...common };
  return { [server.transport === 'http' ? 'httpUrl' : 'url']: server.url, headers: server.headers, ...common };
}
