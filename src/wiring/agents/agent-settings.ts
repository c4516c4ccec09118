import type { AccessSetting } from '../../agents/cli/access.ts';
import { loadableAgents } from '../../agents/all.ts';
import { type AgentName, AGENTS } from '../../core/agent-names.ts';
import type { AgentManifest } from '../../core/agents/manifest.ts';
import { judgeRules, type RulesVerdict } from '../../core/agents/rules-verdict.ts';
import { listLocalPorts } from '../../core/isolation/hosts.ts';
import { listMcpHosts, listUnreachableHosts } from '../../core/mcp/parse-servers.ts';
import { type McpServer, describeVariableProblems } from '../../core/mcp/values.ts';
import type { AgentStep, Pipeline } from '../../core/pipeline/pipeline.ts';
import { listFirstNames } from '../../core/text/phrase.ts';
import { UserError } from '../../errors.ts';
import { createProxiedFetch } from '../../github/proxied-fetch.ts';
import type { BrokerOptions, PlacedBroker } from '../../isolation/broker.ts';
import type { Agent, AgentCall, AgentRun } from '../../ports/agent.ts';
import type { Isolation } from '../isolation/isolation.ts';
import type { World } from '../world.ts';

/** The agent's environment, and the holder of the keys that were in it; the holder is null if they stay there. */
export interface AgentLogin {
  readonly environment: Readonly<Record<string, string>>;
  readonly broker: PlacedBroker | null;
  /**
   * Returns true if the price of a model is known, so that a limit in dollars can be enforced; null if nothing counts
   * its requests.
   */
  readonly hasPrice: ((model: string) => boolean) | null;
}

/**
 * Allows an agent to reach the hosts of its MCP servers, and reports servers that it does not get. Throws a UserError
 * if a variable that they need is missing.
 */
export function openServerHosts(
  { config, variables, log }: Pick<World, 'config' | 'variables' | 'log'>,
  options: {
    readonly isolation: Pick<Isolation, 'agentSandbox' | 'allow'>;
    readonly login: Pick<AgentLogin, 'environment'>;
    readonly servers: readonly McpServer[];
    /** Rules that the CLI's options cannot express, as in AgentCli. */
    readonly unmapped: readonly string[];
  },
): void {
  const { isolation, login, servers, unmapped } = options;
  const problems = describeVariableProblems(servers, variables, login.environment);
  if (problems.length > 0)
    throw new UserError(
      'configuration',
      `The MCP servers cannot be used, so no call was made:\n${problems.map((problem) => `- ${problem}`).join('\n')}`,
    );
  for (const sentence of unmapped) log.warning(sentence);
  isolation.allow(listMcpHosts(servers));
  const closed =
    isolation.agentSandbox === null ? [] : listUnreachableHosts(servers, listLocalPorts(config.isolation.hosts));
  if (closed.length > 0)
    log.warning(
      `The isolated agent cannot reach the MCP servers at ${listFirstNames(closed)}. Name a port of localhost in \`allowed-hosts\`; hosts of a private network stay closed.`,
    );
}

/** Restricts an agent to its declared capabilities: never requests any others, and ignores them in its output. */
export function restrictToCapabilities(
  agent: Agent,
  { resume, denials }: Pick<AgentManifest, 'resume' | 'denials'>,
): Agent {
  return {
    ...agent,
    call: async (call: AgentCall): Promise<AgentRun> => {
      const run = await agent.call(resume ? call : { ...call, resume: null });
      const { analysis } = run;
      return {
        ...run,
        analysis: {
          ...analysis,
          sessionId: resume ? analysis.sessionId : null,
          denials: denials ? analysis.denials : [],
        },
      };
    },
  };
}

/**
 * Creates the login of an agent: a broker with its keys if one can be put in front of its provider, and the environment
 * without them. Throws UserError for an invalid address.
 */
export async function createAgentLogin(
  agent: AgentName,
  given: Readonly<Record<string, string>>,
  { listen, ...setting }: AccessSetting & Pick<BrokerOptions, 'listen'>,
): Promise<AgentLogin> {
  const cli = await loadableAgents[agent].adapter();
  const access = cli.accessOf(given, setting);
  if (access.kind === 'unusable') throw new UserError('configuration', access.problem);
  if (access.kind === 'direct') return { environment: access.environment, broker: null, hasPrice: null };
  const [{ createBroker }, { createDirectSend, createFetchSend }] = await Promise.all([
    import('../../isolation/broker.ts'),
    import('../../isolation/provider-connection.ts'),
  ]);
  const { provider, signWith, environment, ...rest } = access;
  const broker = createBroker({
    ...rest,
    provider,
    sign: signWith === null ? null : (await import('../../isolation/aws-signature.ts')).createAwsSigner(signWith),
    listen,
    connect: async () => {
      const throughProxy = await createProxiedFetch(provider);
      return throughProxy === null ? createDirectSend() : createFetchSend(throughProxy);
    },
  });
  return { environment, broker, hasPrice: rest.protocol.hasPrice };
}

/**
 * Reports differences between an agent's own rules and `allowed-tools`. Throws a UserError if the agent could do more
 * and nothing else would limit it.
 */
export async function checkRules(
  { config, log }: Pick<World, 'config' | 'log'>,
  name: AgentName,
  { level }: Pick<Isolation, 'level'>,
): Promise<void> {
  const verdict = (await verdictsOf(name, level))(config.policy.allowedTools);
  if (verdict.kind === 'refused') throw new UserError('configuration', verdict.text);
  if (verdict.kind === 'warned') log.warning(verdict.text);
}

/**
 * Checks the tool rules of pipeline steps in the same way as `allowed-tools`, without repeating reports about the
 * latter.
 */
export async function checkStepRules(
  { config, log }: Pick<World, 'config' | 'log'>,
  name: AgentName,
  { level, pipeline }: Pick<Isolation, 'level'> & { readonly pipeline: Pick<Pipeline, 'steps'> | null },
): Promise<void> {
  const isInOrder = config.agent.order.some((one) => one.name === name);
  const steps = (pipeline?.steps ?? [])
    .filter(hasOwnRules)
    .filter(({ agent }) => (agent === null ? isInOrder : agent === name));
  if (steps.length === 0) return;
  const judge = await verdictsOf(name, level);
  const known = judge(config.policy.allowedTools);
  for (const step of steps) {
    const verdict = judge(step.allowedTools);
    if (verdict.kind === 'fine') continue;
    const text = `Step ${step.name} has rules of its own. ${verdict.text}`;
    if (verdict.kind === 'refused') throw new UserError('configuration', text);
    if (known.kind === 'fine' || known.text !== verdict.text) log.warning(text);
  }
}

function hasOwnRules(
  step: Pipeline['steps'][number],
): step is AgentStep & { readonly allowedTools: readonly string[] } {
  return step.kind === 'agent' && step.allowedTools !== null;
}

async function verdictsOf(
  name: AgentName,
  level: Isolation['level'],
): Promise<(allowedTools: readonly string[]) => RulesVerdict> {
  const cli = await loadableAgents[name].adapter();
  return (allowedTools) => judgeRules(AGENTS[name].title, cli.rulesGap(allowedTools), level);
}
