import { accessTo } from '../../config/agent-environment.ts';
import { fromRoot } from '../../core/folder.ts';
import type { McpServer } from '../../core/mcp/server.ts';
import { namesOf } from '../../core/text/lists.ts';
import { UserError } from '../../errors.ts';
import type { GateDeps } from '../deps.ts';

/** Reads the servers of the agent's tools from the input, or from the file of the base branch that it names: never from the lane, which the agent writes. Throws a UserError that names all that is wrong with them. */
export async function readMcpServers({
  config: { agent, workingDirectory },
  repository,
  variables,
  log,
}: Pick<GateDeps, 'variables'> & {
  readonly config: Pick<GateDeps['config'], 'agent' | 'workingDirectory'>;
  readonly repository: Pick<GateDeps['repository'], 'readTexts'>;
  readonly log: Pick<GateDeps['log'], 'info'>;
}): Promise<readonly McpServer[]> {
  const { mcp } = agent;
  if (mcp.kind === 'none') return [];
  const where = mcp.kind === 'inline' ? '`mcp-config`' : fromRoot(workingDirectory, mcp.path);
  const text = mcp.kind === 'inline' ? mcp.text : await textOf(repository, mcp.path, where);
  const { parseMcpServers } = await import('../../core/mcp/parse-servers.ts');
  const parsed = parseMcpServers(text, (name) => accessTo(name, { names: agent.envNames, variables }));
  if (parsed.kind === 'wrong') throw unusable(parsed.problems.map((problem) => `${where}: ${problem}`));
  const { servers } = parsed;
  log.info(
    servers.length === 0
      ? `MCP servers: none in ${where}`
      : `MCP servers from ${where}: ${namesOf(servers.map(({ name }) => name))}`,
  );
  return servers;
}

async function textOf(
  repository: Pick<GateDeps['repository'], 'readTexts'>,
  path: string,
  where: string,
): Promise<string> {
  const { base, unread, links } = await repository.readTexts([path], null);
  const text = base[path];
  if (text !== undefined) return text;
  const why = unread[path] ?? links[path] ?? 'is not on the base branch: commit it there, or correct `mcp-config`';
  throw unusable([`${where} ${why}`]);
}

function unusable(problems: readonly string[]): UserError {
  return new UserError(
    'configuration',
    `The MCP servers cannot be used, so no call was made:\n${problems.map((problem) => `- ${problem}`).join('\n')}`,
  );
}
