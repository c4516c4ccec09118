import { join } from 'node:path';
import type { AgentName } from '../../ports/agent.ts';
import type { CliCall } from '../cli/cli.ts';
import { GATEWAY_PATH } from './provider.ts';
import { opencodeMcpServers } from './mcp-servers.ts';
import { mapRules } from './tool-rules.ts';

type Variables = Readonly<Record<string, string>>;

/** Command line of OpenCode without a person beside it; the prompt goes to stdin. */
export function opencodeArguments({
  model,
  extraArgs,
  resume,
  environment,
}: Pick<CliCall, 'model' | 'extraArgs' | 'resume' | 'environment'>): string[] {
  return [
    'run',
    ...['--format', 'json'],
    // No plugins but its own.
    '--pure',
    // Nothing but this says that a try has failed, and why.
    ...['--print-logs', '--log-level', 'ERROR'],
    // Else it asks a model for one.
    ...['--title', 'ralph-action'],
    ...(model === null ? [] : ['--model', namedModel(model, providerOf(environment))]),
    ...(resume !== null && isSessionId(resume) ? ['--session', resume] : []),
    ...extraArgs,
  ];
}

/** The agent's environment: `given` does not change where it keeps its files, what it obeys, or where its key goes. */
export function opencodeEnvironment(
  {
    environment: given,
    model,
    allowedTools,
    servers,
  }: Pick<CliCall, 'environment' | 'model' | 'allowedTools' | 'servers'>,
  configFolder: string,
): Record<string, string> {
  const { mcp, permission } = opencodeMcpServers(servers, given).own;
  const flags = NEVER.map((name): [string, string] => [`OPENCODE_DISABLE_${name}`, '1']);
  return {
    NO_COLOR: '1',
    // Whatever is set of its own would be read beside ours, an empty folder as the work folder.
    ...Object.fromEntries(Object.entries(given).filter(([name]) => !name.startsWith('OPENCODE_'))),
    ...Object.fromEntries(flags),
    ...foldersIn(configFolder),
    OPENCODE_CONFIG_DIR: join(configFolder, ...OWN_FOLDER),
    OPENCODE_CONFIG_CONTENT: JSON.stringify({
      autoupdate: false,
      share: 'disabled',
      snapshot: false,
      mcp,
      permission: permissionsWith(mapRules(allowedTools).own, permission),
      ...providerSettings(providerOf(given), model),
    }),
  };
}

/** The last one that matches counts: those of servers come behind all others, also where a rule of the user's has the same name. */
function permissionsWith(rules: Readonly<Record<string, unknown>>, ofServers: Variables): object {
  const others = Object.entries(rules).filter(([name]) => !Object.hasOwn(ofServers, name));
  return { ...Object.fromEntries(others), ...ofServers };
}

/** Its folder for settings, below the config folder: made anew for each call. */
export const OWN_FOLDER = ['config', 'own'] as const;

/** An id comes out of an agent's output or stored state; only one of its own form may become part of a path or an argument. */
export function isSessionId(id: string): boolean {
  return /^ses_[A-Za-z0-9]{26}$/.test(id);
}

/** What `--version` prints: `1.18.33`, or anything else for another program. */
export function parseName(printed: string): AgentName {
  return /^\d+\.\d+\.\d+\S*$/.test(printed) ? { name: 'OpenCode', version: printed } : { name: printed, version: '' };
}

/** What it would load of the repository, or fetch; compaction asks again and again where a conversation is too long. */
const NEVER = [
  ...['PROJECT_CONFIG', 'CLAUDE_CODE', 'EXTERNAL_SKILLS', 'AUTOUPDATE', 'MODELS_FETCH', 'LSP_DOWNLOAD'],
  ...['DEFAULT_PLUGINS', 'AUTOCOMPACT'],
];

function foldersIn(configFolder: string): Variables {
  return {
    XDG_DATA_HOME: join(configFolder, 'data'),
    XDG_CONFIG_HOME: join(configFolder, 'config'),
    XDG_STATE_HOME: join(configFolder, 'state'),
    XDG_CACHE_HOME: join(configFolder, 'cache'),
  };
}

/** `id`: as OpenCode names it. */
interface Provider {
  readonly id: string;
  readonly key: string;
  readonly address: string;
  /** The code that speaks with it, where its id does not tell; null: it does. */
  readonly npm: string | null;
}

/** null: no key says which. */
function providerOf(environment: Variables): Provider | null {
  const of = (prefix: string) => ({
    key: environment[`${prefix}_API_KEY`] ?? '',
    address: environment[`${prefix}_BASE_URL`] ?? '',
  });
  const [anthropic, openai] = [of('ANTHROPIC'), of('OPENAI')];
  if (anthropic.key !== '') return { id: 'anthropic', ...anthropic, npm: null };
  if (openai.key === '') return null;
  // With the id of OpenAI it would speak as OpenAI does, whatever code is named.
  return openai.address.endsWith(GATEWAY_PATH)
    ? { id: 'gateway', ...openai, npm: '@ai-sdk/openai-compatible' }
    : { id: 'openai', ...openai, npm: null };
}

/** With the name of its provider, which is left out where there is but one. */
function namedModel(model: string, provider: Provider | null): string {
  return provider === null || model.startsWith(`${provider.id}/`) ? model : `${provider.id}/${model}`;
}

/** One provider, and no other: it has some of its own that ask for no key. */
function providerSettings(provider: Provider | null, model: string | null): object {
  if (provider === null) return {};
  const { id, key, address, npm } = provider;
  const named = model === null ? null : namedModel(model, provider);
  return {
    enabled_providers: [id],
    ...(named === null ? {} : { model: named, small_model: named }),
    provider: {
      [id]: {
        ...(npm === null ? {} : { npm, name: id }),
        options: { baseURL: address, apiKey: key },
        // One that it does not know is none to it; what it knows of others stays.
        ...(named === null ? {} : { models: { [named.slice(id.length + 1)]: {} } }),
      },
    },
  };
}
