/** The variables by which Gemini CLI finds its provider. */
export const geminiProvider = {
  variables: /^(GEMINI_API_KEY|GEMINI_MODEL|GOOGLE_GEMINI_BASE_URL)$/,
  keys: ['GEMINI_API_KEY'],
  keyForms: [
    {
      variable: 'GEMINI_API_KEY',
      begin: 'AIza',
      what: 'an API key',
      misspelled: [
        ...['GEMINI_KEY', 'GEMINI_APIKEY', 'GEMINI_API_TOKEN', 'GEMINI_TOKEN'],
        ...['GOOGLE_API_KEY', 'GOOGLE_GEMINI_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY', 'GOOGLE_AI_API_KEY'],
      ],
    },
  ],
  otherSecrets: [],
  switches: [],
  cloudVariables: /^(?!)/,
  cloudKeys: [],
  lastingCloudKeys: [],
} as const;

/** How commits name it. */
export const CO_AUTHOR = 'Gemini CLI <218195315+gemini-cli@users.noreply.github.com>';
