import { join } from 'node:path';
import { codexDialect } from '../../src/agents/codex/events/dialect.ts';
import { copilotDialect } from '../../src/agents/copilot/events/dialect.ts';
import type { Dialect } from '../../src/agents/reading/agent-event.ts';

/** The parameters of one start of a CLI. */
export interface Start {
  /** The address of the scripted model. */
  readonly url: string;
  readonly home: string;
  readonly workFolder: string;
  /** A folder that is kept between starts and shared by all homes. */
  readonly cache: string;
  readonly session: { readonly kind: 'new' | 'resumed'; readonly id: string };
}

/** The package of a real CLI. */
export interface CliPackage {
  readonly name: string;
  readonly package: string;
  readonly version: string;
  readonly megabytes: number;
  /** The program below `node_modules`; a JavaScript file is started by Node. */
  readonly program: string;
}

/** A real CLI that prints its events, and its start without a person: the prompt goes to its standard input. */
export interface Cli extends CliPackage {
  readonly events: Dialect;
  /** True if a new session gets the requested id. */
  readonly takesId: boolean;
  /** True if the model is informed of a failed command. */
  readonly tellsFailure: boolean;
  args(start: Start): readonly string[];
  env(start: Start): Readonly<Record<string, string>>;
  /** Files in its HOME, by path. */
  readonly files: Readonly<Record<string, object>>;
}

/** A key that opens nothing. */
const KEY = 'sk-not-a-key';

const codex: Cli = {
  name: 'codex',
  package: '@openai/codex',
  version: '0.169.0',
  megabytes: 404,
  program: '@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex',
  events: codexDialect,
  takesId: false,
  tellsFailure: true,
  args: ({ url, workFolder, session }) => [
    'exec',
    ...(session.kind === 'resumed' ? ['resume'] : []),
    '--json',
    '--skip-git-repo-check',
    ...['-m', 'gpt-5.5'],
    ...overrides({
      model_provider: 'ralph',
      'model_providers.ralph.name': 'ralph',
      'model_providers.ralph.base_url': `${url}/v1`,
      'model_providers.ralph.wire_api': 'responses',
      'model_providers.ralph.env_key': 'OPENAI_API_KEY',
      'model_providers.ralph.request_max_retries': 1,
      'model_providers.ralph.stream_max_retries': 0,
      sandbox_mode: 'workspace-write',
      'sandbox_workspace_write.writable_roots': [join(workFolder, '.git')],
      'sandbox_workspace_write.network_access': true,
    }),
    ...(session.kind === 'resumed' ? [session.id] : []),
    '-',
  ],
  env: () => ({ OPENAI_API_KEY: KEY }),
  files: {},
};

/** The JSON of a text, number, boolean or list is also valid TOML. */
function overrides(settings: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${JSON.stringify(value)}`]);
}

const copilot: Cli = {
  name: 'copilot',
  package: '@github/copilot',
  version: '1.0.102',
  megabytes: 189,
  program: '@github/copilot-linux-x64/copilot',
  events: copilotDialect,
  takesId: true,
  tellsFailure: true,
  args: ({ home, session }) => [
    ...['--output-format', 'json', '--stream', 'off', '--no-color', '--no-auto-update', '--no-ask-user'],
    ...['--disable-builtin-mcps', '--allow-tool=write', '--allow-tool=shell(git:*)', '--deny-tool=shell(git push)'],
    ...['--usage-output-file', join(home, 'usage.json')],
    `--${session.kind === 'resumed' ? 'resume' : 'session-id'}=${session.id}`,
  ],
  env: ({ url, cache }) => ({
    CI: 'true',
    // The CLI unpacks itself at its first start, 235 MB.
    COPILOT_CACHE_HOME: cache,
    COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
    COPILOT_PROVIDER_TYPE: 'openai',
    COPILOT_PROVIDER_API_KEY: KEY,
    COPILOT_MODEL: 'scripted',
    COPILOT_OFFLINE: 'true',
  }),
  files: {},
};

export const clis: readonly Cli[] = [codex, copilot];

/** Programs that speak the Agent Client Protocol for a CLI, which has a package of its own here. */
export const adapters: readonly CliPackage[] = [
  {
    name: 'codex-acp',
    package: '@agentclientprotocol/codex-acp',
    version: '2.6.0',
    megabytes: 22,
    program: '@agentclientprotocol/codex-acp/dist/index.js',
  },
  {
    name: 'claude-acp',
    package: '@agentclientprotocol/claude-agent-acp',
    version: '0.101.0',
    megabytes: 80,
    program: '@agentclientprotocol/claude-agent-acp/dist/index.js',
  },
];

/** All that are tested; those without events are talked to. */
export const packages: readonly CliPackage[] = [
  ...clis,
  {
    name: 'gemini',
    package: '@google/gemini-cli',
    version: '0.61.0',
    megabytes: 100,
    program: '@google/gemini-cli/bundle/gemini.js',
  },
  {
    name: 'opencode',
    package: 'opencode-ai',
    version: '1.18.33',
    megabytes: 354,
    program: 'opencode-linux-x64-baseline/bin/opencode',
  },
  {
    name: 'qwen',
    package: '@qwen-code/qwen-code',
    version: '0.24.4',
    megabytes: 152,
    program: '@qwen-code/qwen-code/cli-entry.js',
  },
  ...adapters,
];
