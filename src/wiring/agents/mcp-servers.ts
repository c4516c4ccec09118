import { mcpHosts, unreachableHosts } from '../../core/mcp/hosts.ts';
import type { MappedServers } from '../../core/mcp/mapping.ts';
import type { McpServer } from '../../core/mcp/server.ts';
import { variableProblems } from '../../core/mcp/values.ts';
import { localPortsOf } from '../../core/isolation/hosts.ts';
import { namesOf } from '../../core/text/lists.ts';
import { UserError } from '../../errors.ts';
import type { AgentLogin } from '../agent-login.ts';
import type { Isolation } from '../isolation/isolation.ts';
import type { World } from '../world.ts';

/** Gives an agent its servers in its own form, and opens their hosts to it; throws a UserError where a variable that they need is not there. */
export function giveServers<Own>(
  { config, variables, log }: Pick<World, 'config' | 'variables' | 'log'>,
  {
    isolation,
    login,
    servers,
    map,
  }: {
    readonly isolation: Pick<Isolation, 'room' | 'allow'>;
    readonly login: Pick<AgentLogin, 'environment'>;
    readonly servers: readonly McpServer[];
    readonly map: (servers: readonly McpServer[]) => MappedServers<Own>;
  },
): Own {
  const problems = variableProblems(servers, variables, login.environment);
  if (problems.length > 0)
    throw new UserError(
      'configuration',
      `The MCP servers cannot be used, so no call was made:\n${problems.map((problem) => `- ${problem}`).join('\n')}`,
    );
  const { own, unmapped } = map(servers);
  for (const sentence of unmapped) log.warning(sentence);
  isolation.allow(mcpHosts(servers));
  const closed = isolation.room === null ? [] : unreachableHosts(servers, localPortsOf(config.isolation.hosts));
  if (closed.length > 0)
    log.warning(
      `The isolated agent does not reach the MCP servers at ${namesOf(closed)}: name a port of localhost in \`allowed-hosts\`; hosts of a private network are closed to it.`,
    );
  return own;
}
