import { createGlob } from '../text/glob.ts';

/** A server of the Model Context Protocol whose tools the agent gets. */
export type McpServer = CommandServer | RemoteServer;

interface Named {
  readonly name: string;
  /** Tools that the agent may use; empty for all. */
  readonly tools: readonly string[];
}

/**
 * A program that communicates over its standard input and output. Its values may name variables, see `parseValueParts`.
 */
export interface CommandServer extends Named {
  readonly kind: 'command';
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** A server at an address. */
export interface RemoteServer extends Named {
  readonly kind: 'remote';
  readonly transport: 'http' | 'sse';
  /** The address, which names no variables. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The value of the input `mcp-config`. */
export type McpAsked =
  | { readonly kind: 'none' }
  /** `text` is the configuration itself. */
  | { readonly kind: 'inline'; readonly text: string }
  /** `path` is a file of the base branch, relative to the working directory. */
  | { readonly kind: 'file'; readonly path: string };

/** A part of a value. `fallback` replaces a variable that is not set; null if none. */
type ValuePart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'variable'; readonly name: string; readonly fallback: string | null };

/** Matches a variable, or a `$` that only some agents interpret as a variable. */
const REFERENCE = /\$\{([A-Za-z_]\w*)(?::-((?:(?!:-)[^${}])*))?\}|\$(?=[\w{])/g;

/** Splits a value with `${NAME}` and `${NAME:-default}` into parts; returns null if it has any other `$` form. */
export function parseValueParts(value: string): readonly ValuePart[] | null {
  const parts: ValuePart[] = [];
  let end = 0;
  for (const { 0: whole, 1: name, 2: fallback, index } of value.matchAll(REFERENCE)) {
    if (name === undefined) return null;
    if (index > end) parts.push({ kind: 'text', text: value.slice(end, index) });
    parts.push({ kind: 'variable', name, fallback: fallback ?? null });
    end = index + whole.length;
  }
  return end < value.length ? [...parts, { kind: 'text', text: value.slice(end) }] : parts;
}

/** Returns the variables that a value names. */
export function findVariablesIn(value: string): readonly Extract<ValuePart, { readonly kind: 'variable' }>[] {
  return (parseValueParts(value) ?? []).flatMap((part) => (part.kind === 'variable' ? [part] : []));
}

/** Returns the name of the variable if the whole value is one variable without a default; otherwise null. */
export function findSoleVariable(value: string): string | null {
  const [first, ...others] = parseValueParts(value) ?? [];
  return first?.kind === 'variable' && first.fallback === null && others.length === 0 ? first.name : null;
}

/** Returns all values of a server that may name variables. */
export function listServerValues(server: McpServer): readonly string[] {
  return server.kind === 'command'
    ? [server.command, ...server.args, ...Object.values(server.env)]
    : Object.values(server.headers);
}

/**
 * Returns sentences about variables that prevent servers from starting. `shown` are the variables that servers may get;
 * `others` belong to the agent, such as its keys.
 */
export function describeVariableProblems(
  servers: readonly McpServer[],
  shown: Readonly<Record<string, string>>,
  others: Readonly<Record<string, string>>,
): readonly string[] {
  const problems = servers.flatMap((server) =>
    listServerValues(server)
      .flatMap(findVariablesIn)
      .filter(({ name }) => !Object.hasOwn(shown, name))
      .flatMap(({ name, fallback }) => {
        if (Object.hasOwn(others, name))
          return [
            `The server ${server.name} names \`${name}\`, which belongs to the agent's login, so no server may get it.`,
          ];
        return fallback === null
          ? [
              `The server ${server.name} names \`${name}\`, which is not set in this job. Set it in the step's \`env\`, or give a default: \`\${${name}:-default}\`.`,
            ]
          : [];
      }),
  );
  return [...new Set(problems)];
}

/** Servers in one agent's form. */
export interface MappedServers<Own> {
  readonly own: Own;
  /** Sentences about servers that are left out because the agent cannot represent them. */
  readonly unmapped: readonly string[];
}

/** One server in an agent's form, or the reason why it cannot be mapped, as a clause that follows the agent's name. */
export type MappedServer<Entry> =
  | { readonly kind: 'mapped'; readonly entry: Entry }
  | { readonly kind: 'unmapped'; readonly why: string };

/** Maps each server that can be mapped completely. `agent` is the agent's name for people. */
export function mapServers<Entry>(
  servers: readonly McpServer[],
  agent: string,
  map: (server: McpServer) => MappedServer<Entry>,
): MappedServers<readonly { readonly name: string; readonly entry: Entry }[]> {
  const mapped = servers.map((server) => ({ name: server.name, mapped: map(server) }));
  return {
    own: mapped.flatMap(({ name, mapped: one }) => (one.kind === 'mapped' ? [{ name, entry: one.entry }] : [])),
    unmapped: mapped.flatMap(({ name, mapped: one }) =>
      one.kind === 'unmapped' ? [`The MCP server ${name} is left out: ${agent} ${one.why}.`] : [],
    ),
  };
}

/** Replaces the variables of a value. A variable that is neither set nor has a default becomes empty. */
export function replaceVariables(value: string, variables: Readonly<Record<string, string>>): string {
  return (parseValueParts(value) ?? [])
    .map((part) => {
      if (part.kind === 'text') return part.text;
      return (Object.hasOwn(variables, part.name) ? variables[part.name] : part.fallback) ?? '';
    })
    .join('');
}

/** Returns the rules of `allowed-tools` that allow the tools of servers. */
export function buildMcpToolRules(servers: readonly McpServer[]): readonly string[] {
  return servers.flatMap(({ name, tools }) =>
    tools.length === 0
      ? [`mcp__${name}`]
      : tools.map((tool) => `mcp__${name}__${tool.replaceAll(/[^A-Za-z0-9_-]/g, '_')}`),
  );
}

/**
 * Returns the servers with only the tools that the rules allow, because some agents allow every tool that a server
 * lists. Tool names may contain stars, unless the server lists its tools.
 */
export function selectAllowedServers(servers: readonly McpServer[], rules: readonly string[]): readonly McpServer[] {
  return servers.flatMap((server) => {
    const begin = `mcp__${server.name}`;
    if (rules.some((rule) => rule === begin || rule === `${begin}__*`)) return [server];
    const named = rules.filter((rule) => rule.startsWith(`${begin}__`));
    const isAllowedTool = (tool: string): boolean =>
      buildMcpToolRules([{ ...server, tools: [tool] }]).some((name) => named.some((rule) => createGlob(rule)(name)));
    const tools =
      server.tools.length === 0
        ? named.map((rule) => rule.slice(begin.length + 2))
        : server.tools.filter(isAllowedTool);
    return tools.length === 0 ? [] : [{ ...server, tools }];
  });
}
