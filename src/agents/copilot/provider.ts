/** The variables by which GitHub Copilot CLI finds its provider: GitHub's own service, or one of the user's. */
export const copilotProvider = {
  // Copilot would also accept GH_TOKEN and GITHUB_TOKEN, but a job's token does not work for Copilot and opens the repository.
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
  switches: [],
  // No name fits.
  cloudVariables: /^(?!)/,
  lastingCloudKeys: [],
  cloudKeys: [],
} as const;

/** How commits name it. */
export const CO_AUTHOR = 'Copilot <223556219+Copilot@users.noreply.github.com>';
