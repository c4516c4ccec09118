import type { McpServer } from './server.ts';
import { valueParts } from './values.ts';

/** Servers in the form of one agent. `unmapped`: those that are left out since it cannot take them as they are meant, as sentences. */
export interface MappedServers<Own> {
  readonly own: Own;
  readonly unmapped: readonly string[];
}

/** One server in that form, or why there is none, as a clause that follows the agent's name. */
export type Mapped<Entry> =
  | { readonly kind: 'mapped'; readonly entry: Entry }
  | { readonly kind: 'unmapped'; readonly why: string };

/** Maps each server that can be mapped whole. `agent`: its name, for people. */
export function mapServers<Entry>(
  servers: readonly McpServer[],
  agent: string,
  map: (server: McpServer) => Mapped<Entry>,
): MappedServers<readonly { readonly name: string; readonly entry: Entry }[]> {
  const mapped = servers.map((server) => ({ name: server.name, mapped: map(server) }));
  return {
    own: mapped.flatMap(({ name, mapped: one }) => (one.kind === 'mapped' ? [{ name, entry: one.entry }] : [])),
    unmapped: mapped.flatMap(({ name, mapped: one }) =>
      one.kind === 'unmapped' ? [`The MCP server ${name} is left out: ${agent} ${one.why}.`] : [],
    ),
  };
}

/** The value with its variables in their place; one that is not set and has no default is empty. */
export function resolvedValue(value: string, variables: Readonly<Record<string, string>>): string {
  return (valueParts(value) ?? [])
    .map((part) => {
      if (part.kind === 'text') return part.text;
      return (Object.hasOwn(variables, part.name) ? variables[part.name] : part.fallback) ?? '';
    })
    .join('');
}
