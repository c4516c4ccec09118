import type { McpServer } from '../../core/mcp/server.ts';

/** Servers as arguments of Claude Code, which puts its own variables in the place of `${NAME}`: no value of one is on its command line. */
export function claudeMcpServers(servers: readonly McpServer[]): readonly string[] {
  if (servers.length === 0) return [];
  const mcpServers = Object.fromEntries(servers.map((server) => [server.name, entryOf(server)]));
  // One argument: the option takes every word behind it.
  return [`--mcp-config=${JSON.stringify({ mcpServers })}`];
}

function entryOf(server: McpServer): Readonly<Record<string, unknown>> {
  if (server.kind === 'remote') return { type: server.transport, url: server.url, headers: server.headers };
  return { type: 'stdio', command: server.command, args: server.args, env: server.env };
}
