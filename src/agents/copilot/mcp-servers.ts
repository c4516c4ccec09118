import type { MappedServers } from '../../core/mcp/mapping.ts';
import type { McpServer } from '../../core/mcp/server.ts';

/** Servers as arguments of GitHub Copilot CLI, which puts its own variables in the place of `${NAME}`: no value of one is on its command line. */
export function copilotMcpServers(servers: readonly McpServer[]): MappedServers<readonly string[]> {
  if (servers.length === 0) return { own: [], unmapped: [] };
  const mcpServers = Object.fromEntries(servers.map((server) => [server.name, entryOf(server)]));
  return {
    own: [
      ...['--additional-mcp-config', JSON.stringify({ mcpServers })],
      // Of those tools that `tools` lets through.
      ...servers.map(({ name }) => `--allow-tool=${name}`),
    ],
    unmapped: [],
  };
}

function entryOf(server: McpServer): Readonly<Record<string, unknown>> {
  const tools = server.tools.length === 0 ? ['*'] : server.tools;
  if (server.kind === 'remote') return { type: server.transport, url: server.url, headers: server.headers, tools };
  return { type: 'local', command: server.command, args: server.args, env: server.env, tools };
}
