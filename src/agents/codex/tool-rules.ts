import {
  type CommandServer,
  type MappedServer,
  type MappedServers,
  mapServers,
  type McpServer,
  type RemoteServer,
  findSoleVariable,
  findVariablesIn,
} from '../../core/mcp/values.ts';
import {
  allowsEveryCommand,
  selectCommandRules,
  type MappedRules,
  describeMoreEdits,
  describeAllowedMore,
  parseToolRule,
  selectOutsideReads,
  findRefusedCommands,
  textsOfRules,
  type ToolRule,
} from '../rules/shell-rules.ts';

/**
 * The limits of Codex, 0.169, which has no rules for commands or tools: a sandbox of the operating system limits
 * everything that it runs.
 */
export interface CodexSandbox {
  readonly mode: 'read-only' | 'workspace-write';
  /** The value of `sandbox_workspace_write.network_access`. */
  readonly networkAccess: boolean;
  /** The value of `sandbox_workspace_write.writable_roots`: folders outside the work tree. */
  readonly writableRoots: readonly string[];
}

/** Returns the sandbox that the rules require. `gitFolder` contains git's own files, such as `/repo/.git`. */
export function mapCodexRules(
  rules: readonly string[],
  { gitFolder }: { readonly gitFolder: string },
): MappedRules<CodexSandbox> {
  const parsed = rules.map(parseToolRule);
  const commands = selectCommandRules(parsed).length > 0;
  const edits = parsed.some(({ kind }) => kind === 'edit');
  return {
    own: {
      mode: commands || edits ? 'workspace-write' : 'read-only',
      networkAccess: commands,
      // Include git's own folder if the rules allow commits: the sandbox would keep it read-only.
      writableRoots: WRITES_TO_GIT.some((line) => findRefusedCommands(line, rules)?.length === 0) ? [gitFolder] : [],
    },
    unmapped: textsOfRules([...parsed.filter(isWithoutCounterpart), ...selectOutsideReads(parsed)]),
    allowsMore: describeAllowedMore([
      allowsEveryCommand(parsed) || !(commands || edits)
        ? null
        : `run every command inside its sandbox, ${commands ? 'with' : 'without'} the network`,
      commands ? null : describeMoreEdits(parsed),
    ]),
  };
}

const WRITES_TO_GIT = ['git add -A', 'git commit -m x', 'git commit'];

function isWithoutCounterpart(rule: ToolRule): boolean {
  switch (rule.kind) {
    case 'command':
      return rule.commands.kind !== 'any';
    case 'edit':
      return rule.path !== null;
    case 'read':
    case 'bookkeeping':
    case 'web-search':
    // Skip rules for servers, which the servers' entries in Codex's settings apply.
    case 'mcp':
      return false;
    case 'web-fetch':
    case 'subagent':
    case 'other':
      return true;
  }
}

/** Returns servers as `-c` overrides of Codex, which does not replace variables in texts but passes them on by name. */
export function mapCodexServers(servers: readonly McpServer[]): MappedServers<readonly string[]> {
  const { own, unmapped } = mapServers(servers, 'Codex', (server) =>
    server.kind === 'command' ? commandOf(server) : remoteOf(server),
  );
  return { own: own.flatMap(({ name, entry }) => ['-c', `mcp_servers.${name}=${entry}`]), unmapped };
}

function commandOf({ command, args, env, tools }: CommandServer): MappedServer<string> {
  if ([command, ...args].some((value) => findVariablesIn(value).length > 0))
    return { kind: 'unmapped', why: 'takes variables in `env` and in headers only' };
  const entries = Object.entries(env);
  const byName = entries.filter(([name, value]) => findSoleVariable(value) === name).map(([name]) => name);
  const literal = entries.filter(([name]) => !byName.includes(name));
  if (literal.some(([, value]) => findVariablesIn(value).length > 0))
    return { kind: 'unmapped', why: 'hands variables on under their own names and without defaults only' };
  return mapped({
    command: tomlText(command),
    args: tomlList(args),
    env: tomlTable(literal),
    env_vars: tomlList(byName),
    ...common(tools),
  });
}

function remoteOf({ transport, url, headers, tools }: RemoteServer): MappedServer<string> {
  if (transport === 'sse') return { kind: 'unmapped', why: 'speaks to servers of type http, not sse' };
  const literal: [string, string][] = [];
  const byName: [string, string][] = [];
  let bearer: string | null = null;
  for (const [name, value] of Object.entries(headers)) {
    const [, token = ''] = /^Bearer (\$\{\w+\})$/.exec(value) ?? [];
    const ofBearer = name.toLowerCase() === 'authorization' ? findSoleVariable(token) : null;
    const variable = findSoleVariable(value);
    if (ofBearer !== null) bearer = ofBearer;
    else if (variable !== null) byName.push([name, variable]);
    else if (findVariablesIn(value).length === 0) literal.push([name, value]);
    else return { kind: 'unmapped', why: 'takes a header that is a variable or a text, or `Bearer ${NAME}`' };
  }
  return mapped({
    url: tomlText(url),
    http_headers: tomlTable(literal),
    env_http_headers: tomlTable(byName),
    ...(bearer === null ? {} : { bearer_token_env_var: tomlText(bearer) }),
    ...common(tools),
  });
}

/** Returns the common settings: nobody is there to approve a call. */
function common(tools: readonly string[]): Readonly<Record<string, string>> {
  return {
    ...(tools.length === 0 ? {} : { enabled_tools: tomlList(tools) }),
    default_tools_approval_mode: tomlText('approve'),
  };
}

function mapped(fields: Readonly<Record<string, string>>): MappedServer<string> {
  const written = Object.entries(fields).map(([name, value]) => `${name}=${value}`);
  return { kind: 'mapped', entry: `{${written.join(',')}}` };
}

/** Returns a basic string of TOML: its escapes are those of JSON, plus the one character that JSON leaves unescaped. */
function tomlText(text: string): string {
  return JSON.stringify(text).replaceAll('\u007f', '\\u007f');
}

function tomlList(texts: readonly string[]): string {
  return `[${texts.map(tomlText).join(',')}]`;
}

function tomlTable(entries: readonly (readonly [string, string])[]): string {
  return `{${entries.map(([name, value]) => `${tomlText(name)}=${tomlText(value)}`).join(',')}}`;
}
