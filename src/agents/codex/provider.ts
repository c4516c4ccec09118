/** The variables by which Codex finds its provider: OpenAI, or another that speaks the Responses API. */
export const codexProvider = {
  variables: /^(OPENAI_(API_KEY|BASE_URL|ORGANIZATION|PROJECT)|CODEX_API_KEY)$/,
  keys: ['OPENAI_API_KEY', 'CODEX_API_KEY'],
  keyForms: [
    {
      variable: 'OPENAI_API_KEY',
      begin: 'sk-proj-',
      what: 'an API key',
      misspelled: ['OPENAI_KEY', 'OPENAI_API_TOKEN', 'OPENAI_APIKEY', 'OPENAI_TOKEN', 'CODEX_KEY', 'OPEN_AI_API_KEY'],
    },
  ],
  otherSecrets: [],
  switches: [],
  // No name fits.
  cloudVariables: /^(?!)/,
  lastingCloudKeys: [],
  cloudKeys: [],
} as const;

/** How commits name it. */
export const CO_AUTHOR = 'Codex <noreply@openai.com>';

/** Its API's address where the environment names none. */
export const STANDARD_ADDRESS = 'https://api.openai.com/v1';
