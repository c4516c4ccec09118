/** Address of OpenAI's API. */
export const OPENAI_ADDRESS = 'https://api.openai.com/v1';

/**
 * The paths after the broker's address in OpenCode: a provider's own API, and the API that all OpenAI-compatible
 * servers have.
 */
export const OWN_PATH = '/v1';
export const GATEWAY_PATH = '/chat/v1';

/** Variables of a provider without a cloud login. No name matches. */
const PLAIN = {
  ...{ otherSecrets: [], switches: [], lastingCloudKeys: [], cloudKeys: [] },
  cloudVariables: /^(?!)/,
} as const;

/** The variables by which Claude Code finds its provider. */
export const claudeProvider = {
  variables:
    /^(ANTHROPIC_(API_KEY|AUTH_TOKEN|BASE_URL|MODEL|CUSTOM_HEADERS|SMALL_FAST_MODEL|DEFAULT_[A-Z]+_MODEL)|CLAUDE_CODE_OAUTH_TOKEN|CLAUDE_CODE_USE_(BEDROCK|VERTEX)|IS_SANDBOX)$/,
  keys: ['ANTHROPIC_API_KEY', 'CLAUDE_CODE_OAUTH_TOKEN', 'ANTHROPIC_AUTH_TOKEN'],
  keyForms: [
    {
      variable: 'ANTHROPIC_API_KEY',
      begin: 'sk-ant-api',
      what: 'an API key',
      misspelled: ['ANTHROPIC_KEY', 'ANTHROPIC_API_TOKEN', 'ANTHROPIC_APIKEY', 'CLAUDE_API_KEY', 'CLAUDE_KEY'],
    },
    {
      variable: 'CLAUDE_CODE_OAUTH_TOKEN',
      begin: 'sk-ant-oat',
      what: 'an OAuth token',
      misspelled: ['CLAUDE_CODE_TOKEN', 'CLAUDE_OAUTH_TOKEN', 'CLAUDE_TOKEN', 'ANTHROPIC_OAUTH_TOKEN'],
    },
  ],
  otherSecrets: ['ANTHROPIC_CUSTOM_HEADERS'],
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
} as const;

/** The variables by which Codex finds its provider: OpenAI, or another that speaks the Responses API. */
export const codexProvider = {
  ...PLAIN,
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
} as const;

/** The variables by which Gemini CLI finds its provider. */
export const geminiProvider = {
  ...PLAIN,
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
} as const;

/** The variables by which OpenCode finds its provider. */
export const opencodeProvider = {
  ...PLAIN,
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
} as const;

/** The variables by which GitHub Copilot CLI finds its provider: GitHub's own service, or one of the user's. */
export const copilotProvider = {
  ...PLAIN,
  // GH_TOKEN and GITHUB_TOKEN, which the CLI would accept, are left out: a job's token does not work for Copilot, and
  // opens the repository.
  variables:
    /^COPILOT_(GITHUB_TOKEN|GH_HOST|MODEL|CACHE_HOME|PROVIDER_(BASE_URL|TYPE|API_KEY|BEARER_TOKEN|WIRE_API|AZURE_API_VERSION|MODEL_ID|WIRE_MODEL|MAX_PROMPT_TOKENS|MAX_OUTPUT_TOKENS|HEADERS))$/,
  keys: ['COPILOT_GITHUB_TOKEN', 'COPILOT_PROVIDER_API_KEY', 'COPILOT_PROVIDER_BEARER_TOKEN'],
  keyForms: [
    {
      variable: 'COPILOT_GITHUB_TOKEN',
      begin: 'github_pat_',
      what: 'a token of GitHub',
      misspelled: ['COPILOT_TOKEN', 'GITHUB_COPILOT_TOKEN', 'COPILOT_API_KEY', 'COPILOT_PAT', 'COPILOT_KEY'],
    },
  ],
  otherSecrets: ['COPILOT_PROVIDER_HEADERS'],
} as const;

/** The variables by which Qwen Code finds its provider. */
export const qwenProvider = {
  ...PLAIN,
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
} as const;

/** The co-author lines of the agents, as in their own commits; null for a user's program, which has no name. */
export const CO_AUTHORS = {
  claude: 'Claude <noreply@anthropic.com>',
  codex: 'Codex <noreply@openai.com>',
  gemini: 'Gemini CLI <218195315+gemini-cli@users.noreply.github.com>',
  opencode: 'opencode <noreply@opencode.ai>',
  copilot: 'Copilot <223556219+Copilot@users.noreply.github.com>',
  qwen: 'Qwen-Coder <qwen-coder@alibabacloud.com>',
  command: null,
} as const;
