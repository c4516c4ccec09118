import { DIRECT_LOGIN, type LoadableAgent, NO_CLOUD_LOGIN } from '../manifest.ts';

/** The agent Gemini CLI. */
export const geminiAgent = {
  title: 'Gemini CLI',
  // The package has one program for all platforms.
  source: { name: '@google/gemini-cli', version: '0.61.0', programs: () => ['@google/gemini-cli/bundle/gemini.js'] },
  resume: true,
  tokens: true,
  cost: false,
  denials: true,
  toolRules: 'each',
  // The CLI limits turns only by a setting, and Ralph writes its settings.
  turnLimit: false,
  capsCost: false,
  isCounted: true,
  provider: {
    ...NO_CLOUD_LOGIN,
    telemetryName: 'gcp.gemini',
    variables: /^(GEMINI_API_KEY|GEMINI_MODEL|GOOGLE_GEMINI_BASE_URL)$/,
    keys: ['GEMINI_API_KEY'],
    keyForms: [
      {
        variable: 'GEMINI_API_KEY',
        description: 'API key of Google AI Studio',
        begin: 'AIza',
        what: 'an API key',
        misspelled: [
          ...['GEMINI_KEY', 'GEMINI_APIKEY', 'GEMINI_API_TOKEN', 'GEMINI_TOKEN'],
          ...['GOOGLE_API_KEY', 'GOOGLE_GEMINI_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY', 'GOOGLE_AI_API_KEY'],
        ],
      },
    ],
  },
  hosts: ['generativelanguage.googleapis.com', '*.generativelanguage.googleapis.com'],
  directLogin: DIRECT_LOGIN,
  // Without a person, Gemini neither offers nor allows its own question tool.
  // The second name of the shell is in journals of earlier versions.
  tools: { shell: ['execute', 'run_shell_command'], question: 'ask_user' },
  coAuthor: 'Gemini CLI <218195315+gemini-cli@users.noreply.github.com>',
  adapter: async () => (await import('./cli.ts')).geminiCli,
  output: null,
} as const satisfies LoadableAgent;
