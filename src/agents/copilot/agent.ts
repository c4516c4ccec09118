import { HOSTS_OF_OPENAI, type LoadableAgent, NO_CLOUD_LOGIN } from '../manifest.ts';

/** The agent GitHub Copilot CLI, with GitHub's service or the user's own provider. */
export const copilotAgent = {
  title: 'GitHub Copilot CLI',
  source: {
    name: '@github/copilot',
    version: '1.0.102',
    // The program is the platform's binary, or the script that looks for it.
    programs: ({ os, cpu }) => [`@github/copilot-${os}-${cpu}/copilot`, '@github/copilot/npm-loader.js'],
  },
  resume: true,
  tokens: true,
  cost: false,
  denials: true,
  toolRules: 'each',
  turnLimit: false,
  capsCost: false,
  // GitHub's own service chooses models by itself, and its requests bypass the broker.
  isCounted: false,
  provider: {
    ...NO_CLOUD_LOGIN,
    // GH_TOKEN and GITHUB_TOKEN, which the CLI would accept, are left out: a job's token does not work for Copilot, and
    // opens the repository.
    variables:
      /^COPILOT_(GITHUB_TOKEN|GH_HOST|MODEL|CACHE_HOME|PROVIDER_(BASE_URL|TYPE|API_KEY|BEARER_TOKEN|WIRE_API|AZURE_API_VERSION|MODEL_ID|WIRE_MODEL|MAX_PROMPT_TOKENS|MAX_OUTPUT_TOKENS|HEADERS))$/,
    keys: ['COPILOT_GITHUB_TOKEN', 'COPILOT_PROVIDER_API_KEY', 'COPILOT_PROVIDER_BEARER_TOKEN'],
    keyForms: [
      {
        variable: 'COPILOT_GITHUB_TOKEN',
        description: 'Fine-grained token with the permission "Copilot Requests"',
        begin: 'github_pat_',
        what: 'a token of GitHub',
        misspelled: ['COPILOT_TOKEN', 'GITHUB_COPILOT_TOKEN', 'COPILOT_API_KEY', 'COPILOT_PAT', 'COPILOT_KEY'],
      },
    ],
    otherSecrets: ['COPILOT_PROVIDER_HEADERS'],
  },
  hosts: [...HOSTS_OF_OPENAI, '*.githubcopilot.com'],
  directLogin:
    "GitHub's own Copilot service cannot be reached by an isolated agent, which would hold your token. Set `isolation: none`, or give it a model of your own with `COPILOT_PROVIDER_BASE_URL` and `COPILOT_PROVIDER_API_KEY`.",
  tools: { shell: ['bash', 'powershell'], question: 'ask_user' },
  coAuthor: 'Copilot <223556219+Copilot@users.noreply.github.com>',
  adapter: async () => (await import('./cli.ts')).copilotCli,
  output: async () => (await import('./events/dialect.ts')).copilotDialect,
} as const satisfies LoadableAgent;
