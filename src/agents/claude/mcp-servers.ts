import type { MappedServers } from '../../core/mcp/mapping.ts';
import type { McpServer } from '../../core/mcp/server.ts';

/** What the CLI is given of servers. */
interface ClaudeServers {
  /** For its command line, where the agent cannot change them. */
  readonly args: readonly string[];
  /** Allow rules of their tools. */
  readonly rules: readonly string[];
}

/** Servers for Claude Code, which puts its own variables in the place of `${NAME}`: no value of one is on its command line. */
export function claudeMcpServers(servers: readonly McpServer[]): MappedServers<ClaudeServers> {
  if (servers.length === 0) return { own: { args: [], rules: [] }, unmapped: [] };
  const mcpServers = Object.fromEntries(servers.map((server) => [server.name, entryOf(server)]));
  return {
    // One argument: the option takes every word behind it.
    own: { args: [`--mcp-config=${JSON.stringify({ mcpServers })}`], rules: servers.flatMap(rulesOf) },
    unmapped: [],
  };
}

function entryOf(server: McpServer): Readonly<Record<string, unknown>> {
  if (server.kind === 'remote') return { type: server.transport, url: server.url, headers: server.headers };
  return { type: 'stdio', command: server.command, args: server.args, env: server.env };
}

/** As the CLI names tools. */
function rulesOf({ name, tools }: McpServer): readonly string[] {
  return tools.length === 0
    ? [`mcp__${name}`]
    : tools.map((tool) => `mcp__${name}__${tool.replaceAll(/[^A-Za-z0-9_-]/g, '_')}`);
}
