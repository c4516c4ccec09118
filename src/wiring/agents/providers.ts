import {
  claudeProvider,
  CO_AUTHORS,
  codexProvider,
  copilotProvider,
  geminiProvider,
  opencodeProvider,
  qwenProvider,
} from '../../agents/cli/providers.ts';
import { loginProblems, mergedProvider, providerKey, type Provider } from '../../config/agent-environment.ts';
import type { ChosenAgent } from '../../config/config.ts';
import { AGENT_NAMES, type AgentName } from '../../core/agent-names.ts';

/** The user passes what it needs by `agent-env`. */
const NO_PROVIDER: Provider = mergedProvider([]);

const PROVIDERS: Readonly<Record<AgentName, Provider>> = {
  claude: claudeProvider,
  codex: codexProvider,
  gemini: geminiProvider,
  opencode: opencodeProvider,
  copilot: copilotProvider,
  qwen: qwenProvider,
  command: NO_PROVIDER,
};

/** How commits may name the agents, see Agent. */
export function coAuthorsOf(order: Order): readonly string[] {
  return order.flatMap(({ name }) => CO_AUTHORS[name] ?? []);
}

/** The variables by which an agent's CLI finds its provider. */
export function providerOf(agent: AgentName): Provider {
  return PROVIDERS[agent];
}

/** Those of all agents: what holds a key of any is nobody's to see. */
export const ALL_PROVIDERS: Provider = mergedProvider(AGENT_NAMES.map(providerOf));

type Environment = Readonly<Record<string, string | undefined>>;
type Order = readonly Pick<ChosenAgent, 'name'>[];

/** What stands in the way of a login of any of the agents, as sentences; empty: all can log in. */
export function loginProblemsOf(environment: Environment, order: Order): readonly string[] {
  return [...new Set(order.flatMap(({ name }) => loginProblems(environment, providerOf(name))))];
}

/** What keeps stored things from others: the keys of the agents that have one, each once, in their order. */
export function lastingKeys(environment: Environment, order: Order): readonly string[] {
  return [...new Set(order.flatMap(({ name }) => providerKey(environment, providerOf(name)) ?? []))];
}
