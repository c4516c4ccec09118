import { allowsWebSearch } from '../../core/agents/fresh-call.ts';
import {
  type AccessOf,
  type AwsKeys,
  parseHeaderLines,
  createUnusableAccess,
  bypassProxyForLoopback,
  selectSecrets,
  normalizeServerAddress,
  resolveVariable,
  selectVariables,
  type AgentVariables,
  withoutVariables,
} from '../cli/access.ts';
import { claudeAgent } from './agent.ts';
import { bedrockApi, createClaudeProtocol, messagesApi, createVertexApi } from './messages/protocol.ts';

/** The agent's access to its model: through the broker, which holds the keys, or direct. */
type Login =
  | BrokeredLogin
  | { readonly kind: 'direct'; readonly environment: AgentVariables }
  | { readonly kind: 'unusable'; readonly problem: string };

interface BrokeredLogin {
  readonly kind: 'brokered';
  readonly api: Api;
  /** The provider's address, without a slash at the end. */
  readonly provider: string;
  /** Each key by the name of the variable that gets a placeholder instead. */
  readonly keys: AgentVariables;
  /** Headers for every request. */
  readonly headers: AgentVariables;
  /** The agent's environment, without keys. */
  readonly environment: AgentVariables;
}

/** The kind of API. */
export type Api =
  | { readonly kind: 'anthropic' }
  | { readonly kind: 'bedrock'; readonly signing: AwsKeys | null }
  /** `models` is the path of the models of one project in one location. */
  | { readonly kind: 'vertex'; readonly models: string };

const PROVIDER = 'https://api.anthropic.com';

const ADDRESSES = {
  anthropic: 'ANTHROPIC_BASE_URL',
  bedrock: 'ANTHROPIC_BEDROCK_BASE_URL',
  vertex: 'ANTHROPIC_VERTEX_BASE_URL',
} as const;

const HEADERS = 'ANTHROPIC_CUSTOM_HEADERS';

const BEDROCK_KEY = 'AWS_BEARER_TOKEN_BEDROCK';

/** Returns Claude Code's access to Anthropic, a gateway, Amazon Bedrock or Google Vertex AI. */
export const findClaudeAccess: AccessOf = (given, { allowedTools, prices }) => {
  const login = withholdClaudeKeys(given);
  if (login.kind !== 'brokered') return login;
  const { api, environment, provider, keys, headers } = login;
  const signWith = api.kind === 'bedrock' ? api.signing : null;
  const signing = [signWith?.secretAccessKey ?? '', signWith?.sessionToken ?? ''];
  return {
    kind: 'brokered',
    protocol: createClaudeProtocol({
      api: api.kind === 'bedrock' ? bedrockApi : api.kind === 'vertex' ? createVertexApi(api.models) : messagesApi,
      headers,
      mayWebSearch: allowsWebSearch(allowedTools),
      prices,
    }),
    provider,
    keys,
    secrets: selectSecrets([...Object.values(keys), ...Object.values(headers), ...signing]),
    environment,
    environmentFor: (at) => buildBrokerEnvironment(login, at),
    signWith,
  };
};

/** Removes the keys from the agent's environment. A cloud login that is a file or the machine's own stays. */
export function withholdClaudeKeys(environment: AgentVariables): Login {
  if (environment['CLAUDE_CODE_USE_BEDROCK'] === '1') return bedrockLogin(environment);
  if (environment['CLAUDE_CODE_USE_VERTEX'] === '1') return vertexLogin(environment);
  const keys = selectVariables(environment, claudeAgent.provider.keys);
  return Object.keys(keys).length === 0
    ? { kind: 'direct', environment }
    : brokered(environment, { api: { kind: 'anthropic' }, keys, standard: PROVIDER });
}

function bedrockLogin(environment: AgentVariables): Login {
  const key = resolveVariable(environment, BEDROCK_KEY);
  const [accessKeyId, secretAccessKey] = [
    resolveVariable(environment, 'AWS_ACCESS_KEY_ID'),
    resolveVariable(environment, 'AWS_SECRET_ACCESS_KEY'),
  ];
  const isSigned = key === '' && accessKeyId !== '' && secretAccessKey !== '';
  if (key === '' && !isSigned) return { kind: 'direct', environment };
  // The default is the CLI's own, so the broker and the CLI use the same region.
  const region =
    resolveVariable(environment, 'AWS_REGION') || resolveVariable(environment, 'AWS_DEFAULT_REGION') || 'us-east-1';
  if (!/^[a-z]{2,}(?:-[a-z]+)+-\d{1,2}$/.test(region))
    return { kind: 'unusable', problem: '`AWS_REGION` is not a region of AWS such as eu-west-1. Correct it.' };
  const sessionToken = resolveVariable(environment, 'AWS_SESSION_TOKEN');
  return brokered(environment, {
    api: { kind: 'bedrock', signing: isSigned ? { region, accessKeyId, secretAccessKey, sessionToken } : null },
    keys: { [BEDROCK_KEY]: key },
    standard: `https://bedrock-runtime.${region}.amazonaws.com`,
  });
}

function vertexLogin(environment: AgentVariables): Login {
  const token =
    resolveVariable(environment, 'CLOUDSDK_AUTH_ACCESS_TOKEN') ||
    resolveVariable(environment, 'GOOGLE_OAUTH_ACCESS_TOKEN');
  if (token === '') return { kind: 'direct', environment };
  const project = resolveVariable(environment, 'ANTHROPIC_VERTEX_PROJECT_ID');
  const region = resolveVariable(environment, 'CLOUD_ML_REGION');
  if (!/^[a-z0-9][\w.:-]*$/.test(project) || !/^[a-z0-9-]+$/.test(region))
    return {
      kind: 'unusable',
      problem:
        'Vertex AI needs `ANTHROPIC_VERTEX_PROJECT_ID` and `CLOUD_ML_REGION`, and one of them is missing or not a name. Add both to the `env` of the step.',
    };
  return brokered(environment, {
    api: { kind: 'vertex', models: `/projects/${project}/locations/${region}/publishers/anthropic/models/` },
    keys: { [HEADERS]: token },
    standard: `https://${vertexHost(region)}/v1`,
  });
}

function vertexHost(region: string): string {
  if (region === 'global') return 'aiplatform.googleapis.com';
  return region === 'us' || region === 'eu'
    ? `aiplatform.${region}.rep.googleapis.com`
    : `${region}-aiplatform.googleapis.com`;
}

/** Returns the login through the broker. `standard` is the address if the environment does not set one. */
function brokered(
  environment: AgentVariables,
  { api, keys, standard }: Pick<BrokeredLogin, 'api' | 'keys'> & { readonly standard: string },
): Login {
  const name = ADDRESSES[api.kind];
  const provider = normalizeServerAddress(resolveVariable(environment, name) || standard);
  if (provider === null) return createUnusableAccess(name);
  const taken: readonly string[] = [
    ...claudeAgent.provider.keys,
    ...claudeAgent.provider.cloudKeys,
    ...Object.values(ADDRESSES),
    HEADERS,
  ];
  return {
    kind: 'brokered',
    api,
    provider,
    keys,
    headers: parseHeaderLines(environment[HEADERS] ?? '', /\n/),
    environment: withoutVariables(environment, taken),
  };
}

/**
 * Returns the variables that lead the agent's CLI to the broker. Requests to this machine bypass the network's proxy.
 */
export function buildBrokerEnvironment(
  { api, environment }: Pick<BrokeredLogin, 'api' | 'environment'>,
  { address, placeholders }: { readonly address: string; readonly placeholders: AgentVariables },
): Record<string, string> {
  return { ...credentials(api, placeholders), [ADDRESSES[api.kind]]: address, ...bypassProxyForLoopback(environment) };
}

function credentials(api: Api, placeholders: AgentVariables): AgentVariables {
  switch (api.kind) {
    case 'anthropic':
      return placeholders;
    case 'bedrock':
      // Without this, the CLI first asks whether each model exists.
      return { ...placeholders, CLAUDE_CODE_SKIP_BEDROCK_AUTH: '1' };
    case 'vertex':
      return { [HEADERS]: `Authorization: Bearer ${placeholders[HEADERS] ?? ''}`, CLAUDE_CODE_SKIP_VERTEX_AUTH: '1' };
  }
}
