import { loadableAgents } from '../agents/all.ts';
import type { AgentManifest } from './agents/manifest.ts';

export type AgentName = keyof typeof loadableAgents;

/** The facts about each agent. Only wiring/ loads the agents' code. */
export const AGENTS: Readonly<Record<AgentName, AgentManifest>> = loadableAgents;

/** The agents that can be run; the default is the first. */
export const AGENT_NAMES = Object.keys(loadableAgents) as [AgentName, ...AgentName[]];

export const DEFAULT_AGENT = AGENT_NAMES[0];

/** The agents that have a value for the fact. */
type AgentWith<Fact extends 'output' | 'source'> = {
  [Name in AgentName]: (typeof loadableAgents)[Name][Fact] extends null ? never : Name;
}[AgentName];

/** An agent whose output this program can also parse outside of a run. */
export type ReadAgent = AgentWith<'output'>;

export const READ_AGENTS = agentsWith('output');

/** An agent that is installed from its package. */
export type PackagedAgent = AgentWith<'source'>;

export const PACKAGED_AGENTS = agentsWith('source');

/** The environment variables of all keys that have an input. */
export const KEY_VARIABLES: readonly string[] = [...new Set(AGENT_NAMES.flatMap((name) => listKeyVariables(name)))];

/** Inputs with the key of an agent's provider. Each is another way to set the environment variable of the same name. */
export const KEY_INPUTS: readonly string[] = KEY_VARIABLES.map(nameKeyInput);

/** Returns the environment variables of an agent's keys that have an input, the usual one first. */
export function listKeyVariables(name: AgentName): readonly string[] {
  return AGENTS[name].provider.keyForms.map(({ variable }) => variable);
}

/** Returns the input of a variable: `ANTHROPIC_API_KEY` → `anthropic-api-key`. */
export function nameKeyInput(variable: string): string {
  return variable.toLowerCase().replaceAll('_', '-');
}

function agentsWith<Fact extends 'output' | 'source'>(fact: Fact): readonly AgentWith<Fact>[] {
  return AGENT_NAMES.filter((name): name is AgentWith<Fact> => loadableAgents[name][fact] !== null);
}
