import {
  ANTHROPIC_KEY,
  DIRECT_LOGIN,
  HOSTS_OF_CLAUDE,
  HOSTS_OF_OPENAI,
  type LoadableAgent,
  NO_CLOUD_LOGIN,
  OPENAI_KEY,
} from '../manifest.ts';

/** The agent OpenCode. */
export const opencodeAgent = {
  title: 'OpenCode',
  source: {
    name: 'opencode-ai',
    version: '1.18.33',
    // Use the baseline build, which runs on every processor, and not the launcher, which package scripts would have to
    // make.
    programs: ({ os, cpu }) => [
      `opencode-${os}-${cpu}-baseline/bin/opencode`,
      `opencode-${os}-${cpu}/bin/opencode`,
      `opencode-${os}-${cpu}-baseline-musl/bin/opencode`,
      `opencode-${os}-${cpu}-musl/bin/opencode`,
    ],
  },
  resume: true,
  tokens: true,
  cost: true,
  denials: true,
  toolRules: 'each',
  turnLimit: false,
  capsCost: false,
  isCounted: true,
  provider: {
    ...NO_CLOUD_LOGIN,
    variables: /^(ANTHROPIC_(API_KEY|BASE_URL)|OPENAI_(API_KEY|BASE_URL))$/,
    keys: ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY'],
    keyForms: [
      {
        ...ANTHROPIC_KEY,
        begin: 'sk-ant-api',
        what: 'an API key of Anthropic',
        misspelled: ['ANTHROPIC_KEY', 'ANTHROPIC_API_TOKEN', 'ANTHROPIC_APIKEY', 'CLAUDE_API_KEY'],
      },
      {
        ...OPENAI_KEY,
        begin: 'sk-proj-',
        what: 'an API key of OpenAI',
        misspelled: ['OPENAI_KEY', 'OPENAI_API_TOKEN', 'OPENAI_APIKEY', 'OPENAI_TOKEN'],
      },
    ],
  },
  hosts: [...HOSTS_OF_OPENAI, ...HOSTS_OF_CLAUDE],
  directLogin: DIRECT_LOGIN,
  // The second name of the shell is in journals of earlier versions.
  tools: { shell: ['execute', 'bash'], question: 'question' },
  coAuthor: 'opencode <noreply@opencode.ai>',
  adapter: async () => (await import('./cli.ts')).opencodeCli,
  output: null,
} as const satisfies LoadableAgent;
