import type { AgentManifest } from '../core/agents/manifest.ts';
import type { TranscriptReader } from '../core/analysis/analysis.ts';
import type { AgentCli } from './cli/cli.ts';
import type { Dialect } from './reading/agent-event.ts';

/** An agent's facts, and the ways to load its code, which happens only when it is used. */
export interface LoadableAgent extends AgentManifest {
  readonly adapter: () => Promise<AgentCli>;
  /** Loads the dialect of the agent's output or a reader for it; null if only the adapter can read the output. */
  readonly output: (() => Promise<Dialect | OpenOwnReader>) | null;
}

type OpenOwnReader = (options: { readonly now: number; readonly onEvent: null }) => TranscriptReader;

/** The variables of a provider without a cloud login: an empty list, and a pattern that matches no name. */
export const NO_CLOUD_LOGIN = {
  ...{ telemetryName: null, otherSecrets: [], ownLogin: null, switches: [], lastingCloudKeys: [], cloudKeys: [] },
  cloudVariables: /^(?!)/,
} as const;

/** The facts of a user's own program. Only the user knows what it needs, and passes it in `agent-env`. */
export const OWN_PROGRAM = {
  source: null,
  provider: { ...NO_CLOUD_LOGIN, variables: /^(?!)/, keys: [], keyForms: [] },
  hosts: [],
  capsCost: false,
  isCounted: false,
  directLogin: null,
  coAuthor: null,
} as const;

export const DIRECT_LOGIN =
  "The agent's login is a profile, a role or a file of this machine, which an isolated agent cannot use. Pass keys as environment variables (the documentation of your cloud's login action says how), or set `isolation: none`.";

export const ANTHROPIC_KEY = { variable: 'ANTHROPIC_API_KEY', description: 'API key of the Claude Console' } as const;

export const OPENAI_KEY = { variable: 'OPENAI_API_KEY', description: 'API key of OpenAI' } as const;

/** Hosts of Anthropic, Amazon Bedrock and Google Vertex AI. */
export const HOSTS_OF_CLAUDE: readonly string[] = [
  ...['anthropic.com', '*.anthropic.com', 'claude.ai', '*.claude.ai', 'claude.com', '*.claude.com'],
  // Each AWS region has its own hosts in several forms (AWS's list of endpoints): FIPS, IPv6, China, and the Messages
  // API.
  ...['bedrock-runtime', 'bedrock-runtime-fips', 'bedrock-mantle'].flatMap((service) =>
    ['amazonaws.com', 'amazonaws.com.cn', 'api.aws', 'api.amazonwebservices.com.cn'].map(
      (domain) => `${service}.*.${domain}`,
    ),
  ),
  // Vertex AI has a global host, hosts of single regions, and hosts of several regions.
  ...['aiplatform.googleapis.com', '*-aiplatform.googleapis.com', 'aiplatform.*.rep.googleapis.com'],
  ...['aiplatform.mtls.googleapis.com', '*-aiplatform.mtls.googleapis.com', 'aiplatform.*.rep.mtls.googleapis.com'],
];

export const HOSTS_OF_OPENAI: readonly string[] = ['openai.com', '*.openai.com', 'chatgpt.com', '*.chatgpt.com'];
