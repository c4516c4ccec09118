import { loginProblems, mergeProviders, providerKey } from '../../config/agent-environment.ts';
import type { ConfiguredAgent } from '../../config/config.ts';
import { AGENTS } from '../../core/agent-names.ts';

/** Returns the co-author lines that commits may have for the agents, see Agent. */
export function coAuthorsOf(order: Order): readonly string[] {
  return order.flatMap(({ name }) => AGENTS[name].coAuthor ?? []);
}

/** The variables of all agents: one with any agent's key must never be shown. */
export const ALL_PROVIDERS = mergeProviders(Object.values(AGENTS).map(({ provider }) => provider));

type Environment = Readonly<Record<string, string | undefined>>;
type Order = readonly Pick<ConfiguredAgent, 'name'>[];

/** Returns what prevents a login of any of the agents, as sentences; empty if all can log in. */
export function loginProblemsOf(environment: Environment, order: Order): readonly string[] {
  return [...new Set(order.flatMap(({ name }) => loginProblems(environment, AGENTS[name].provider)))];
}

/** Returns the keys that protect stored data: those of the agents that have one, each once, in their order. */
export function lastingKeys(environment: Environment, order: Order): readonly string[] {
  return [...new Set(order.flatMap(({ name }) => providerKey(environment, AGENTS[name].provider) ?? []))];
}
