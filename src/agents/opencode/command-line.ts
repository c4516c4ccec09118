import { join } from 'node:path';
import type { AgentName } from '../../ports/agent.ts';
import type { CliCall } from '../cli/cli.ts';
import { GATEWAY_PATH } from './provider.ts';
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
  { environment: given, model, allowedTools }: Pick<CliCall, 'environment' | 'model' | 'allowedTools'>,
  configFolder: string,
): Record<string, string> {
  const flags = NEVER.map((name): [string, string] => [`OPENCODE_DISABLE_${name}`, '1']);
  return {
    NO_COLOR: '1',
    ...given,
    ...Object.fromEntries(flags),
    ...foldersIn(configFolder),
    OPENCODE_CONFIG_CONTENT: JSON.stringify({
      autoupdate: false,
      share: 'disabled',
      snapshot: false,
      permission: mapRules(allowedTools).own,
      ...providerSettings(given, model),
    }),
    // They would be read beside it.
    OPENCODE_CONFIG: '',
    OPENCODE_CONFIG_DIR: '',
    OPENCODE_PERMISSION: '',
  };
}

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

type ProviderName = 'anthropic' | 'openai';

/** null: no key says which. */
function providerOf(environment: Variables): ProviderName | null {
  if ((environment['ANTHROPIC_API_KEY'] ?? '') !== '') return 'anthropic';
  return (environment['OPENAI_API_KEY'] ?? '') === '' ? null : 'openai';
}

/** With the name of its provider, which is left out where there is but one. */
function namedModel(model: string, provider: ProviderName | null): string {
  return provider === null || model.startsWith(`${provider}/`) ? model : `${provider}/${model}`;
}

/** One provider, and no other: it has some of its own that ask for no key. */
function providerSettings(environment: Variables, model: string | null): object {
  const provider = providerOf(environment);
  if (provider === null) return {};
  const prefix = provider === 'anthropic' ? 'ANTHROPIC' : 'OPENAI';
  const address = environment[`${prefix}_BASE_URL`] ?? '';
  const isGateway = address.endsWith(GATEWAY_PATH);
  const named = model === null ? null : namedModel(model, provider);
  return {
    enabled_providers: [provider],
    ...(named === null ? {} : { model: named, small_model: named }),
    provider: {
      [provider]: {
        ...(isGateway ? { npm: '@ai-sdk/openai-compatible' } : {}),
        options: { baseURL: address, apiKey: environment[`${prefix}_API_KEY`] },
        // One that it does not know is none to it; what it knows of others stays.
        ...(named === null ? {} : { models: { [named.slice(provider.length + 1)]: {} } }),
      },
    },
  };
}
