/** The variables by which Qwen Code finds its provider. */
export const qwenProvider = {
  variables: /^OPENAI_(API_KEY|BASE_URL|MODEL)$/,
  keys: ['OPENAI_API_KEY'],
  keyForms: [
    {
      variable: 'OPENAI_API_KEY',
      begin: 'sk-',
      what: 'an API key',
      misspelled: ['OPENAI_KEY', 'OPENAI_API_TOKEN', 'DASHSCOPE_API_KEY', 'QWEN_API_KEY', 'QWEN_KEY'],
    },
  ],
  otherSecrets: [],
  switches: [],
  cloudVariables: /^(?!)/,
  cloudKeys: [],
  lastingCloudKeys: [],
} as const;

/** Where it asks when nothing is said. */
export const STANDARD_ADDRESS = 'https://api.openai.com/v1';

/** How commits name it. */
export const CO_AUTHOR = 'Qwen-Coder <qwen-coder@alibabacloud.com>';
