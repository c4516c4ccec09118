import { allowsWebSearch } from '../../core/agents/web-search.ts';
import { isAbsolute, join, relative, resolve } from 'node:path';
import type { AgentName } from '../../ports/agent.ts';
import { TEMPORARY_FOLDER, type CliCall, type CliPlace } from '../cli/cli.ts';
import { UUID } from '../reading/session-id.ts';
import { codexMcpServers } from './mcp-servers.ts';
import { STANDARD_ADDRESS } from './provider.ts';
import type { CodexSandbox } from './tool-rules.ts';

/** What the command line of one call is made of. */
type CodexRequest = Omit<CliCall, 'budgetUsd'> &
  Pick<CliPlace, 'configFolder' | 'alsoFolder'> & {
    /** What bounds the agent's commands; null: only what is around the process. */
    readonly sandbox: CodexSandbox | null;
  };

/** Command line of Codex without a person beside it; the prompt goes to stdin. */
export function codexArguments(request: CodexRequest): string[] {
  const { model, servers, extraArgs, resume } = request;
  // For anything but a UUID it would begin a new session without a word.
  const session = resume !== null && UUID.test(resume) ? resume : null;
  return [
    'exec',
    ...(session === null ? [] : ['resume']),
    '--json',
    '--skip-git-repo-check',
    // What the agent wrote into the CLI's folder in an earlier call.
    ...['--ignore-user-config', '--ignore-rules'],
    ...(model === null ? [] : [`--model=${model}`]),
    ...overrides(settingsOf(request)),
    ...codexMcpServers(servers).own,
    ...extraArgs,
    ...(session === null ? [] : [session]),
    '-',
  ];
}

/** Arguments by which the CLI tries its own sandbox. */
export const SANDBOX_PROBE: readonly string[] = [
  'sandbox',
  ...overrides({ sandbox_mode: 'workspace-write' }),
  ...['--', 'true'],
];

/** What belongs to a person at a terminal, or reaches out to servers by itself. */
const FEATURES_OFF = [
  ...['apps', 'plugins', 'remote_plugin', 'hooks', 'tool_suggest', 'skill_mcp_dependency_install', 'memories', 'goals'],
  ...['browser_use', 'browser_use_external', 'in_app_browser', 'computer_use', 'image_generation', 'multi_agent'],
  // The broker reads what is sent.
  'enable_request_compression',
  // Without a network it would try for ever.
  'unbounded_connection_retries',
];

type Settings = Readonly<Record<string, string | number | boolean | readonly string[]>>;

function settingsOf({ environment, allowedTools, sandbox, ...place }: CodexRequest): Settings {
  return {
    // The built-in one tries another kind of connection first, and its retries cannot be set.
    model_provider: 'ralph',
    'model_providers.ralph.name': 'ralph',
    'model_providers.ralph.base_url': environment['OPENAI_BASE_URL'] || STANDARD_ADDRESS,
    'model_providers.ralph.wire_api': 'responses',
    'model_providers.ralph.env_key': 'OPENAI_API_KEY',
    'model_providers.ralph.request_max_retries': 1,
    'model_providers.ralph.stream_max_retries': 2,
    approval_policy: 'never',
    sandbox_mode: sandbox?.mode ?? 'danger-full-access',
    ...(sandbox?.mode === 'workspace-write' ? workspaceSettings(sandbox, environment, place) : {}),
    ...shellVariables(environment, place.configFolder),
    web_search: allowsWebSearch(allowedTools) ? 'live' : 'disabled',
    // The repository's instructions and skills are texts of strangers.
    project_doc_max_bytes: 0,
    'skills.include_instructions': false,
    'analytics.enabled': false,
    check_for_update_on_startup: false,
    ...Object.fromEntries(FEATURES_OFF.map((name) => [`features.${name}`, false])),
  };
}

/** What its commands may do beside writing in the work folder and the temporary ones. */
function workspaceSettings(
  { writableRoots, networkAccess }: CodexSandbox,
  environment: CliCall['environment'],
  { configFolder, alsoFolder }: Pick<CliPlace, 'configFolder' | 'alsoFolder'>,
): Settings {
  const folders = [alsoFolder, ...writableRoots, hiddenTemporary(environment, configFolder)];
  return {
    'sandbox_workspace_write.writable_roots': folders.filter((folder) => folder !== null),
    'sandbox_workspace_write.network_access': networkAccess,
  };
}

/** What the process itself must have otherwise, its commands get back. */
function shellVariables(environment: CliCall['environment'], configFolder: string): Settings {
  const temporary = hiddenTemporary(environment, configFolder);
  const zone = environment['TZ'] ?? '';
  return {
    ...(temporary === null ? {} : { 'shell_environment_policy.set.TMPDIR': temporary }),
    ...(zone === '' ? {} : { 'shell_environment_policy.set.TZ': zone }),
  };
}

/** JSON of a text, a number, a truth or a list of texts is TOML as well. */
function overrides(settings: Settings): readonly string[] {
  return Object.entries(settings).flatMap(([name, value]) => [
    '-c',
    // But for one character that JSON leaves alone.
    `${name}=${JSON.stringify(value).replaceAll('\u007f', '\\u007f')}`,
  ]);
}

/** The environment of the CLI; nothing that is given moves its files or the clock by which it names a reset. */
export function codexEnvironment(given: CliCall['environment'], configFolder: string): Record<string, string> {
  return {
    NO_COLOR: '1',
    ...given,
    CODEX_HOME: configFolder,
    TZ: 'UTC',
    ...(hiddenTemporary(given, configFolder) === null ? {} : { TMPDIR: join(configFolder, TEMPORARY_FOLDER) }),
  };
}

/** The temporary folder where the CLI must not know it: with its own folder below it, it runs no command at all. null: it may. */
function hiddenTemporary(environment: CliCall['environment'], configFolder: string): string | null {
  const temporary = resolve('/', environment['TMPDIR'] || '/tmp');
  const way = relative(temporary, configFolder);
  return way === '' || (way !== '..' && !way.startsWith('../') && !isAbsolute(way)) ? temporary : null;
}

/** What `--version` prints: `codex-cli 0.169.0`, or anything else for another program. */
export function parseName(printed: string): AgentName {
  const version = /^codex-cli (\S+)$/.exec(printed)?.[1];
  return version === undefined ? { name: printed, version: '' } : { name: 'Codex', version };
}
