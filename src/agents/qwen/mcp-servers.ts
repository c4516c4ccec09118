import { mapServers, type MappedServers } from '../../core/mcp/mapping.ts';
import type { McpServer } from '../../core/mcp/server.ts';
import { valuesOf, variablesIn } from '../../core/mcp/values.ts';
import { settingsOf, type SettingsServers } from '../gemini/mcp-servers.ts';

/** Servers for the settings of Qwen Code, a fork of Gemini CLI whose variables have no defaults. */
export function qwenMcpServers(servers: readonly McpServer[]): MappedServers<SettingsServers> {
  const { own, unmapped } = mapServers(servers, 'Qwen Code', (server) =>
    valuesOf(server)
      .flatMap(variablesIn)
      .some(({ fallback }) => fallback !== null)
      ? { kind: 'unmapped', why: 'knows no default of a variable: write ${NAME}' }
      : { kind: 'mapped', entry: settingsOf(server) },
  );
  return { own: Object.fromEntries(own.map(({ name, entry }) => [name, entry])), unmapped };
}
