import type { McpServer } from './server.ts';

/** Rules of `allowed-tools` by which the tools of servers may be used. */
export function serverRules(servers: readonly McpServer[]): readonly string[] {
  return servers.flatMap(({ name, tools }) =>
    tools.length === 0
      ? [`mcp__${name}`]
      : tools.map((tool) => `mcp__${name}__${tool.replaceAll(/[^A-Za-z0-9_-]/g, '_')}`),
  );
}
