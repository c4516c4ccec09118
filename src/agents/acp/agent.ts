import { type LoadableAgent, OWN_PROGRAM } from '../manifest.ts';

/** The agent `acp`: any program that speaks the Agent Client Protocol. */
export const acpAgent = {
  ...OWN_PROGRAM,
  title: 'Your agent',
  resume: true,
  tokens: false,
  cost: false,
  denials: true,
  toolRules: 'each',
  turnLimit: false,
  tools: { shell: ['execute'], question: null },
  adapter: async () => (await import('./cli.ts')).createAcpCli(),
  output: null,
} as const satisfies LoadableAgent;
