import {
  claudeProvider,
  CO_AUTHORS,
  codexProvider,
  copilotProvider,
  geminiProvider,
  opencodeProvider,
  qwenProvider,
} from '../../agents/cli/providers.ts';
import { loginProblems, mergeProviders, providerKey, type ProviderVariables } from '../../config/agent-environment.ts';
import type { ConfiguredAgent } from '../../config/config.ts';
import { AGENT_NAMES, type AgentName } from '../../core/agent-names.ts';

/** The user passes what it needs by `agent-env`. */
const NO_PROVIDER: ProviderVariables = mergeProviders([]);

const PROVIDERS: Readonly<Record<AgentName, ProviderVariables>> = {
  claude: claudeProvider,
  codex: codexProvider,
  gemini: geminiProvider,
  opencode: opencodeProvider,
  copilot: copilotProvider,
  qwen: qwenProvider,
  command: NO_PROVIDER,
};

/** Returns the co-author lines that commits may have for the agents, see Agent. */
export function coAuthorsOf(order: Order): readonly string[] {
  return order.flatMap(({ name }) => CO_AUTHORS[name] ?? []);
}

/** Returns the variables by which an agent's CLI finds its provider. */
export function providerOf(agent: AgentName): ProviderVariables {
  return PROVIDERS[agent];
}

/** The variables of all agents: one with any agent's key must never be shown. */
export const ALL_PROVIDERS: ProviderVariables = mergeProviders(AGENT_NAMES.map(providerOf));

type Environment = Readonly<Record<string, string | undefined>>;
type Order = readonly Pick<ConfiguredAgent, 'name'>[];

/** Returns what prevents a login of any of the agents, as sentences; empty if all can log in. */
export function loginProblemsOf(environment: Environment, order: Order): readonly string[] {
  return [...new Set(order.flatMap(({ name }) => loginProblems(environment, providerOf(name))))];
}

/** Returns the same sentences for each of the agents, by its name. */
export function loginProblemsByAgent(
  environment: Environment,
  order: Order,
): Readonly<Partial<Record<AgentName, readonly string[]>>> {
  return Object.fromEntries(order.map((one) => [one.name, loginProblemsOf(environment, [one])]));
}

/** Returns the keys that protect stored data: those of the agents that have one, each once, in their order. */
export function lastingKeys(environment: Environment, order: Order): readonly string[] {
  return [...new Set(order.flatMap(({ name }) => providerKey(environment, providerOf(name)) ?? []))];
}
