import { ANTHROPIC_KEY, DIRECT_LOGIN, HOSTS_OF_CLAUDE, type LoadableAgent } from '../manifest.ts';

/** The agent Claude Code. */
export const claudeAgent = {
  title: 'Claude Code',
  source: {
    name: '@anthropic-ai/claude-code',
    version: '2.1.330',
    // The program is the platform's binary (2.1.113 and later), or the script of older versions.
    programs: ({ os, cpu }) => [
      `@anthropic-ai/claude-code-${os}-${cpu}/claude`,
      `@anthropic-ai/claude-code-${os}-${cpu}-musl/claude`,
      '@anthropic-ai/claude-code/cli.js',
    ],
  },
  resume: true,
  tokens: true,
  cost: true,
  denials: true,
  toolRules: 'each',
  turnLimit: true,
  capsCost: true,
  isCounted: true,
  provider: {
    variables:
      /^(ANTHROPIC_(API_KEY|AUTH_TOKEN|BASE_URL|MODEL|CUSTOM_HEADERS|SMALL_FAST_MODEL|DEFAULT_[A-Z]+_MODEL)|CLAUDE_CODE_OAUTH_TOKEN|CLAUDE_CODE_USE_(BEDROCK|VERTEX)|IS_SANDBOX)$/,
    keys: ['ANTHROPIC_API_KEY', 'CLAUDE_CODE_OAUTH_TOKEN', 'ANTHROPIC_AUTH_TOKEN'],
    keyForms: [
      {
        ...ANTHROPIC_KEY,
        begin: 'sk-ant-api',
        what: 'an API key',
        misspelled: ['ANTHROPIC_KEY', 'ANTHROPIC_API_TOKEN', 'ANTHROPIC_APIKEY', 'CLAUDE_API_KEY', 'CLAUDE_KEY'],
      },
      {
        variable: 'CLAUDE_CODE_OAUTH_TOKEN',
        description: 'Token of a Claude subscription by `claude setup-token`, instead of an API key',
        begin: 'sk-ant-oat',
        what: 'an OAuth token',
        misspelled: ['CLAUDE_CODE_TOKEN', 'CLAUDE_OAUTH_TOKEN', 'CLAUDE_TOKEN', 'ANTHROPIC_OAUTH_TOKEN'],
      },
    ],
    otherSecrets: ['ANTHROPIC_CUSTOM_HEADERS'],
    telemetryName: 'anthropic',
    ownLogin: {
      ...{ program: 'claude', folderVariable: 'CLAUDE_CONFIG_DIR', folder: '.claude', file: '.credentials.json' },
      otherwise: 'ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN (`claude setup-token` creates one)',
    },
    switches: ['CLAUDE_CODE_USE_BEDROCK', 'CLAUDE_CODE_USE_VERTEX'],
    cloudVariables:
      /^(AWS_(REGION|DEFAULT_REGION|BEARER_TOKEN_BEDROCK|ACCESS_KEY_ID|SECRET_ACCESS_KEY|SESSION_TOKEN)|ANTHROPIC_(BEDROCK|VERTEX)_BASE_URL|ANTHROPIC_VERTEX_PROJECT_ID|CLOUD_ML_REGION|CLOUDSDK_AUTH_ACCESS_TOKEN|GOOGLE_OAUTH_ACCESS_TOKEN)$/,
    lastingCloudKeys: ['AWS_BEARER_TOKEN_BEDROCK'],
    cloudKeys: [
      'AWS_BEARER_TOKEN_BEDROCK',
      'AWS_ACCESS_KEY_ID',
      'AWS_SECRET_ACCESS_KEY',
      'AWS_SESSION_TOKEN',
      'CLOUDSDK_AUTH_ACCESS_TOKEN',
      'GOOGLE_OAUTH_ACCESS_TOKEN',
    ],
  },
  hosts: HOSTS_OF_CLAUDE,
  directLogin: DIRECT_LOGIN,
  tools: { shell: ['Bash'], question: 'AskUserQuestion' },
  coAuthor: 'Claude <noreply@anthropic.com>',
  adapter: async () => (await import('./cli.ts')).claudeCli,
  output: async () => (await import('./output/reader.ts')).createOutputReader,
} as const satisfies LoadableAgent;
