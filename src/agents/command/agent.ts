import { type LoadableAgent, OWN_PROGRAM } from '../manifest.ts';

/** The agent `command`: a program that the user supplies, which reads a prompt and prints an answer. */
export const commandAgent = {
  ...OWN_PROGRAM,
  title: 'Your command',
  resume: false,
  tokens: false,
  cost: false,
  denials: false,
  toolRules: 'none',
  turnLimit: false,
  // The program reports no refused calls.
  tools: { shell: [], question: null },
  adapter: async () => (await import('./cli.ts')).commandCli,
  output: null,
} as const satisfies LoadableAgent;
