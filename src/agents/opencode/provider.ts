/** The variables by which OpenCode finds its provider. */
export const opencodeProvider = {
  variables: /^(ANTHROPIC_(API_KEY|BASE_URL)|OPENAI_(API_KEY|BASE_URL))$/,
  keys: ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY'],
  keyForms: [
    {
      variable: 'ANTHROPIC_API_KEY',
      begin: 'sk-ant-api',
      what: 'an API key of Anthropic',
      misspelled: ['ANTHROPIC_KEY', 'ANTHROPIC_API_TOKEN', 'ANTHROPIC_APIKEY', 'CLAUDE_API_KEY'],
    },
    {
      variable: 'OPENAI_API_KEY',
      begin: 'sk-proj-',
      what: 'an API key of OpenAI',
      misspelled: ['OPENAI_KEY', 'OPENAI_API_TOKEN', 'OPENAI_APIKEY', 'OPENAI_TOKEN'],
    },
  ],
  otherSecrets: [],
  switches: [],
  cloudVariables: /^(?!)/,
  cloudKeys: [],
  lastingCloudKeys: [],
} as const;

/** How commits name it. */
export const CO_AUTHOR = 'opencode <noreply@opencode.ai>';

/** Behind the broker's address: whose API is spoken, a provider's own or what all that speak like OpenAI have. */
export const OWN_PATH = '/v1';
export const GATEWAY_PATH = '/chat/v1';
