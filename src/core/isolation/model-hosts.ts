import type { AgentName } from '../agent-names.ts';

/** Hosts of the providers that agents can be used with, in the form of `EgressRules.never`. A command of the user's reaches its model by itself. */
export function modelHostsOf(agents: readonly AgentName[]): readonly string[] {
  return [...new Set(agents.flatMap((agent) => HOSTS[agent]))];
}

/** Anthropic, Amazon Bedrock and Google Vertex AI. */
const OF_CLAUDE: readonly string[] = [
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

const OF_OPENAI: readonly string[] = ['openai.com', '*.openai.com', 'chatgpt.com', '*.chatgpt.com'];

const HOSTS: Readonly<Record<AgentName, readonly string[]>> = {
  claude: OF_CLAUDE,
  codex: OF_OPENAI,
  gemini: ['generativelanguage.googleapis.com', '*.generativelanguage.googleapis.com'],
  opencode: [...OF_OPENAI, ...OF_CLAUDE],
  copilot: [...OF_OPENAI, '*.githubcopilot.com'],
  qwen: [...OF_OPENAI, 'dashscope.aliyuncs.com', '*.aliyuncs.com'],
  command: [],
};
