import { mapServers } from '../../core/mcp/mapping.ts';
import type { McpServer } from '../../core/mcp/server.ts';

/** Why Qwen Code (0.24) gets none of the servers, as sentences: it starts none, not even ours, unless it obeys the repository's settings. */
export function unmappedServers(servers: readonly McpServer[]): readonly string[] {
  const none = {
    kind: 'unmapped',
    why: "starts servers only where it obeys the repository's settings as well",
  } as const;
  return mapServers(servers, 'Qwen Code', () => none).unmapped;
}
