import { findLoginProblems, mergeProviders, findProviderKey } from '../../config/agent-environment.ts';
import type { ConfiguredAgent } from '../../config/config.ts';
import { type AgentName, AGENTS, listKeyVariables } from '../../core/agent-names.ts';
import { LOGIN_INPUTS, describeSeveralLogins } from '../../core/agents/login-term.ts';

/** Returns the co-author lines that commits may have for the agents. */
export function listCoAuthors(order: Order): readonly string[] {
  return order.flatMap(({ name }) => AGENTS[name].coAuthor ?? []);
}

/** The variables of all agents, because the key of any agent must never be shown. */
export const ALL_PROVIDERS = mergeProviders(Object.values(AGENTS).map(({ provider }) => provider));

type Environment = Readonly<Record<string, string | undefined>>;
type Order = readonly Pick<ConfiguredAgent, 'name'>[];

/** Returns the reasons why an agent of the order cannot log in, as sentences; empty if all can. */
export function listLoginProblems(environment: Environment, order: Order): readonly string[] {
  return [...new Set(order.flatMap(({ name }) => findLoginProblems(environment, AGENTS[name].provider)))];
}

/**
 * Returns a sentence for each agent with several logins that no other agent of the order uses. Two keys of one provider
 * are reported only in a job that itself logs in (`logsIn`).
 */
export function describeAmbiguousLogins(environment: Environment, order: Order, logsIn: boolean): readonly string[] {
  return order.flatMap(({ name }) => {
    const others = order.flatMap((one) => (one.name === name ? [] : listKeyVariables(one.name)));
    const clouds = AGENTS[name].provider.switches.filter((variable) => environment[variable] === '1');
    const given = listKeyVariables(name).filter(
      (key) => !others.includes(key) && (environment[key] ?? '').trim() !== '',
    );
    const named = (variables: readonly string[]) =>
      variables.map((variable) => (logsIn ? LOGIN_INPUTS.get(variable) : undefined) ?? variable);
    if (clouds.length === 0) return logsIn ? (describeSeveralLogins(named(given)) ?? []) : [];
    return describeSeveralLogins([...named(clouds), ...given]) ?? [];
  });
}

/** Returns the reasons why agents cannot log in, by their names. */
export function findProblemsByAgent(
  environment: Environment,
  order: Order,
): Readonly<Partial<Record<AgentName, readonly string[]>>> {
  return Object.fromEntries(order.map((one) => [one.name, listLoginProblems(environment, [one])]));
}

/** Returns the keys that protect stored data: those of the agents that have one, each once, in their order. */
export function listLastingKeys(environment: Environment, order: Order): readonly string[] {
  return [...new Set(order.flatMap(({ name }) => findProviderKey(environment, AGENTS[name].provider) ?? []))];
}
