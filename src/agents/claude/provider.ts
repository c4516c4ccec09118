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

/** How commits name it, as its own commits do. */
export const CO_AUTHOR = 'Claude <noreply@anthropic.com>';
