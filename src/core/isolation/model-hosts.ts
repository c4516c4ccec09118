/** Hosts of the providers that the agent can be used with, in the form of `EgressRules.never`: Anthropic, Amazon Bedrock and Google Vertex AI. */
export const MODEL_HOSTS: readonly string[] = [
  ...['anthropic.com', '*.anthropic.com', 'claude.ai', '*.claude.ai', 'claude.com', '*.claude.com'],
  // Each region has its own, in several forms (AWS's list of endpoints): FIPS, IPv6, China, and that of the Messages API.
  ...['bedrock-runtime', 'bedrock-runtime-fips', 'bedrock-mantle'].flatMap((service) =>
    ['amazonaws.com', 'amazonaws.com.cn', 'api.aws', 'api.amazonwebservices.com.cn'].map(
      (domain) => `${service}.*.${domain}`,
    ),
  ),
  // The global one, those of regions, and those of several regions.
  ...['aiplatform.googleapis.com', '*-aiplatform.googleapis.com', 'aiplatform.*.rep.googleapis.com'],
  ...['aiplatform.mtls.googleapis.com', '*-aiplatform.mtls.googleapis.com', 'aiplatform.*.rep.mtls.googleapis.com'],
];
