import { mcpHosts, unreachableHosts } from '../../core/mcp/hosts.ts';
import type { McpServer } from '../../core/mcp/server.ts';
import { variableProblems } from '../../core/mcp/values.ts';
import { localPortsOf } from '../../core/isolation/hosts.ts';
import { namesOf } from '../../core/text/lists.ts';
import { UserError } from '../../errors.ts';
import type { AgentLogin } from './login.ts';
import type { Isolation } from '../isolation/isolation.ts';
import type { World } from '../world.ts';

/** Opens the hosts of an agent's servers to it, and says which it does not get; throws a UserError where a variable that they need is not there. */
export function giveServers(
  { config, variables, log }: Pick<World, 'config' | 'variables' | 'log'>,
  {
    isolation,
    login,
    servers,
    unmapped,
  }: {
    readonly isolation: Pick<Isolation, 'room' | 'allow'>;
    readonly login: Pick<AgentLogin, 'environment'>;
    readonly servers: readonly McpServer[];
    /** See AgentCli. */
    readonly unmapped: readonly string[];
  },
): void {
  const problems = variableProblems(servers, variables, login.environment);
  if (problems.length > 0)
    throw new UserError(
      'configuration',
      `The MCP servers cannot be used, so no call was made:\n${problems.map((problem) => `- ${problem}`).join('\n')}`,
    );
  for (const sentence of unmapped) log.warning(sentence);
  isolation.allow(mcpHosts(servers));
  const closed = isolation.room === null ? [] : unreachableHosts(servers, localPortsOf(config.isolation.hosts));
  if (closed.length > 0)
    log.warning(
      `The isolated agent does not reach the MCP servers at ${namesOf(closed)}: name a port of localhost in \`allowed-hosts\`; hosts of a private network are closed to it.`,
    );
}
