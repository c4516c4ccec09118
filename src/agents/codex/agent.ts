import { DIRECT_LOGIN, HOSTS_OF_OPENAI, type LoadableAgent, NO_CLOUD_LOGIN, OPENAI_KEY } from '../manifest.ts';

/** The agent Codex of OpenAI, which also works with another provider that speaks the Responses API. */
export const codexAgent = {
  title: 'Codex',
  source: {
    name: '@openai/codex',
    version: '0.169.0',
    // The program is the platform's binary, or the script that looks for it.
    programs: ({ os, cpu }) => [
      `@openai/codex-${os}-${cpu}/vendor/${tripleOf(os, cpu)}/bin/codex`,
      '@openai/codex/bin/codex.js',
    ],
  },
  resume: true,
  tokens: true,
  cost: false,
  denials: false,
  toolRules: 'sandbox',
  turnLimit: false,
  capsCost: false,
  isCounted: true,
  provider: {
    ...NO_CLOUD_LOGIN,
    telemetryName: 'openai',
    variables: /^(OPENAI_(API_KEY|BASE_URL|ORGANIZATION|PROJECT)|CODEX_API_KEY)$/,
    keys: ['OPENAI_API_KEY', 'CODEX_API_KEY'],
    keyForms: [
      {
        ...OPENAI_KEY,
        begin: 'sk-proj-',
        what: 'an API key',
        misspelled: ['OPENAI_KEY', 'OPENAI_API_TOKEN', 'OPENAI_APIKEY', 'OPENAI_TOKEN', 'CODEX_KEY', 'OPEN_AI_API_KEY'],
      },
    ],
  },
  hosts: HOSTS_OF_OPENAI,
  directLogin: DIRECT_LOGIN,
  // This name finds the events of commands; the CLI does not report denials.
  tools: { shell: ['command_execution'], question: null },
  coAuthor: 'Codex <noreply@openai.com>',
  adapter: async () => (await import('./cli.ts')).codexCli,
  output: async () => (await import('./events/dialect.ts')).codexDialect,
} as const satisfies LoadableAgent;

/** Returns the platform's name in the package's builds. */
function tripleOf(os: string, cpu: string): string {
  const machine = cpu === 'arm64' ? 'aarch64' : 'x86_64';
  return os === 'darwin' ? `${machine}-apple-darwin` : `${machine}-unknown-linux-musl`;
}
