import { rm } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { allowsWebSearch } from '../../core/agents/fresh-call.ts';
import { completeSentence } from '../../core/text/phrase.ts';
import { UserError } from '../../errors.ts';
import { describeCollected } from '../../processes/collect-output.ts';
import {
  type AgentCli,
  type CliCall,
  type CliPlace,
  type ExportedSession,
  type SessionPlace,
  TEMPORARY_FOLDER,
} from '../cli/cli.ts';
import { judgeStallIn, openDialectReader } from '../cli/dialect-reader.ts';
import {
  exportLines,
  foldLines,
  removeAllBut,
  createEmptyExport,
  listPlainFiles,
  hasSessionSize,
  placeFile,
  type SessionForm,
} from '../cli/jsonl-session.ts';
import type { TranscriptRedaction } from '../cli/signed-texts.ts';
import { UUID } from '../reading/agent-event.ts';
import { asAmount, asObject, type JsonObject } from '../reading/json-value.ts';
import { kindOfDenialBy } from '../rules/shell-rules.ts';
import { codexDialect } from './events/dialect.ts';
import { OPENAI_ADDRESS, createOpenAiProtocol } from '../openai/protocol.ts';
import { mapCodexServers, type CodexSandbox, mapCodexRules } from './tool-rules.ts';
import { codexAgent } from './agent.ts';
import { createBrokeredAccess, type AccessOf, resolveVariable, selectVariables } from '../cli/access.ts';

/** The parts of one call's command line. */
type CodexRequest = Omit<CliCall, 'budgetUsd'> &
  Pick<CliPlace, 'configFolder' | 'alsoFolder'> & {
    /** The limits of the agent's commands; null if only the process's surroundings limit them. */
    readonly sandbox: CodexSandbox | null;
  };

/** Arguments with which the CLI tries its own sandbox. */
const SANDBOX_PROBE: readonly string[] = [
  'sandbox',
  ...overrides({ sandbox_mode: 'workspace-write' }),
  ...['--', 'true'],
];

/** Features that need a person at a terminal, or that contact servers unasked. */
const DISABLED_FEATURES = [
  ...['apps', 'plugins', 'remote_plugin', 'hooks', 'tool_suggest', 'skill_mcp_dependency_install', 'memories', 'goals'],
  ...['browser_use', 'browser_use_external', 'in_app_browser', 'computer_use', 'image_generation', 'multi_agent'],
  // The broker could not read compressed requests.
  'enable_request_compression',
  // Without a network the CLI would retry forever.
  'unbounded_connection_retries',
];

type Settings = Readonly<Record<string, string | number | boolean | readonly string[]>>;

const SESSIONS = 'sessions';

/** The folder of imported sessions; its date is arbitrary. */
const IMPORTED = [SESSIONS, '2026', '01', '01'];

const IMPORTED_AT = '2026-01-01T00-00-00';

/** Maximum number of day folders: a run creates one or two, and an agent may create any number. */
const MAX_DAYS = 400;

const form: SessionForm = {
  isMessage: ({ type }) => type === 'response_item',
  // Each prompt begins a turn.
  isPrompt: (entry) => entry['type'] === 'event_msg' && asObject(entry['payload'])?.['type'] === 'task_started',
  // The first line names the session.
  needsFirst: true,
};

/** Problems of Codex's sandbox on this machine, by config folder: each run has its own and probes once. */
const probes = new Map<string, Promise<string | null>>();

/** Returns Codex's access to OpenAI, or to another provider of the Responses API. */
export const findCodexAccess: AccessOf = (given, setting) => {
  const key = resolveVariable(given, 'OPENAI_API_KEY') || resolveVariable(given, 'CODEX_API_KEY');
  if (key === '') return { kind: 'direct', environment: given };
  const account = Object.entries(selectVariables(given, Object.keys(ACCOUNT)));
  const headers = Object.fromEntries(account.map(([name, value]) => [ACCOUNT[name] ?? '', value]));
  return createBrokeredAccess(given, setting, {
    keys: { OPENAI_API_KEY: key },
    address: 'OPENAI_BASE_URL',
    standard: OPENAI_ADDRESS,
    withheld: ['CODEX_API_KEY', ...Object.keys(ACCOUNT)],
    path: '/v1',
    protocol: (way) => createOpenAiProtocol({ ...way, apis: ['responses'], basePath: '/v1', headers }),
  });
};

/** Headers by variable that select the paying account, for keys that serve several. */
const ACCOUNT: Readonly<Record<string, string>> = {
  OPENAI_ORGANIZATION: 'openai-organization',
  OPENAI_PROJECT: 'openai-project',
};

/** The CLI of OpenAI's Codex: `codex exec --json`. */
export const codexCli: AgentCli = {
  ...codexAgent,
  usesConfigFolder: true,
  accessOf: findCodexAccess,
  // Example: `codex-cli 0.169.0`.
  printedVersion: /^codex-cli (?<version>\S+)$/,
  printsRetries: true,
  kindOfDenial: kindOfDenialBy('codex'),
  sessions: { export: exportCodexSession, import: importCodexSession },
  rulesGap: (allowedTools) => mapCodexRules(allowedTools, { gitFolder: '.git' }),
  unmappedServers: (servers) => mapCodexServers(servers).unmapped,
  prepare: async (call, place) => {
    await resetCodexHome(place.configFolder);
    const environment = buildCodexEnvironment(call.environment, place.configFolder);
    const sandbox = await chooseCodexSandbox(call, environment, place);
    // Subtract the earlier tokens, because Codex prints the total usage of the session.
    const tokensBefore = call.resume === null ? 0 : await tokensOfCodexSession(place.configFolder, call.resume);
    return {
      args: buildCodexArguments({ ...call, ...place, sandbox }),
      environment,
      files: {},
      openReader: (listener) => openDialectReader(codexDialect, listener, tokensBefore),
      complete: (transcript) => Promise.resolve(tokensBefore === null ? { ...transcript, tokens: null } : transcript),
    };
  },
  judgeStall: judgeStallIn(codexDialect),
};

/**
 * Returns the sandbox of a call by its rules; null if Codex cannot have one here and the agent's sandbox around it is
 * the limit. Throws a UserError if the agent's sandbox is not a sufficient limit either.
 */
export async function chooseCodexSandbox(
  { allowedTools }: Pick<CliCall, 'allowedTools'>,
  environment: CliCall['environment'],
  place: Omit<CliPlace, 'inbox'>,
): Promise<CodexSandbox | null> {
  const { configFolder, workFolder, alsoFolder, isolated, run } = place;
  const { own } = mapCodexRules(allowedTools, { gitFolder: join(alsoFolder ?? workFolder, '.git') });
  const problem = await (probes.get(configFolder) ?? remember(configFolder, probe(environment, run)));
  if (problem === null) return own;
  if (isolated && own.mode === 'workspace-write') return null;
  throw new UserError('configuration', problemText(problem, isolated));
}

function remember(configFolder: string, probing: Promise<string | null>): Promise<string | null> {
  probes.set(configFolder, probing);
  return probing;
}

async function probe(environment: CliCall['environment'], run: CliPlace['run']): Promise<string | null> {
  const { end, stderr } = await run(SANDBOX_PROBE, environment);
  // Treat `cancelled` as success: a dry run only shows the call and does not run the probe.
  if (end.kind === 'cancelled' || (end.kind === 'exited' && end.code === 0)) return null;
  return `it ${completeSentence(describeCollected(end))} ${stderr.toString().trim().slice(-300)}`.trim();
}

function problemText(problem: string, isolated: boolean): string {
  const what = `Codex cannot limit its commands on this machine: its sandbox does not start (${problem}).`;
  return isolated
    ? `${what} If the agent may only read, the action's isolation cannot replace that sandbox. Run \`sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0\` in a step before this one, or allow the agent to edit files.`
    : `${what} Run \`sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0\` in a step before this one, or set \`isolation: user\`, which limits the agent instead.`;
}

/** Exports the rollout, which is all that `resume` needs (0.169). See `exportLines`. */
async function exportCodexSession(
  { configFolder }: SessionPlace,
  { id, ...hiding }: { readonly id: string } & TranscriptRedaction,
): Promise<ExportedSession> {
  if (!UUID.test(id)) return createEmptyExport('its id is not a UUID');
  const path = (await rolloutsOf(configFolder, id)).at(-1);
  return path === undefined
    ? createEmptyExport('it is missing, empty or not a plain file')
    : exportLines(join(configFolder, ...path), hiding, form);
}

/** Stores a rollout where `resume <id>` finds it. Returns false if the text is not a rollout or the id is not valid. */
async function importCodexSession(
  { configFolder }: SessionPlace,
  { id, content }: { readonly id: string; readonly content: Uint8Array },
): Promise<boolean> {
  if (!UUID.test(id) || !hasSessionSize(content)) return false;
  // Remove other rollouts of the session, which Codex could find instead of this one.
  for (const path of await rolloutsOf(configFolder, id)) await rm(join(configFolder, ...path), { force: true });
  await placeFile(configFolder, IMPORTED, { name: `rollout-${IMPORTED_AT}-${id}.jsonl`, content });
  return true;
}

/**
 * Removes everything but sessions from the CLI's folder: instructions, variables and skills that an earlier call left
 * there would apply to this one.
 */
export async function resetCodexHome(configFolder: string): Promise<void> {
  await removeAllBut(configFolder, [SESSIONS]);
}

/** Returns the tokens that a session has used so far, or null if they are unknown. */
export async function tokensOfCodexSession(configFolder: string, id: string): Promise<number | null> {
  if (!UUID.test(id)) return null;
  const path = (await rolloutsOf(configFolder, id).catch(() => [])).at(-1);
  return path === undefined
    ? null
    : foldLines<number | null>(join(configFolder, ...path), null, (last, entry) => totalIn(entry) ?? last);
}

/** Returns the files `sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`, the newest last. */
async function rolloutsOf(configFolder: string, id: string): Promise<readonly (readonly string[])[]> {
  let folders: readonly (readonly string[])[] = [[SESSIONS]];
  for (const digits of [/^\d{4}$/, /^\d\d$/, /^\d\d$/]) {
    const inner = await below(configFolder, folders, 'folder');
    folders = inner.filter((path) => digits.test(path.at(-1) ?? '')).slice(-MAX_DAYS);
  }
  const files = await below(configFolder, folders, 'file');
  return files.filter((path) => {
    const name = path.at(-1) ?? '';
    return name.startsWith('rollout-') && name.endsWith(`-${id}.jsonl`);
  });
}

async function below(
  root: string,
  folders: readonly (readonly string[])[],
  kind: 'file' | 'folder',
): Promise<readonly (readonly string[])[]> {
  const found = await Promise.all(
    folders.map(async (folder) => (await listPlainFiles(join(root, ...folder), kind)).map((name) => [...folder, name])),
  );
  return found.flat();
}

function totalIn({ type, payload }: JsonObject): number | null {
  const event = asObject(payload);
  if (type !== 'event_msg' || event?.['type'] !== 'token_count') return null;
  const total = asObject(asObject(event['info'])?.['total_token_usage']);
  const input = asAmount(total?.['input_tokens']);
  const output = asAmount(total?.['output_tokens']);
  return input === null && output === null ? null : (input ?? 0) + (output ?? 0);
}

/** Returns the command line of Codex for unattended use; the prompt goes to stdin. */
export function buildCodexArguments(request: CodexRequest): string[] {
  const { model, servers, extraArgs, resume } = request;
  // Resume only with a UUID: for any other id, Codex would silently begin a new session.
  const session = resume !== null && UUID.test(resume) ? resume : null;
  return [
    'exec',
    ...(session === null ? [] : ['resume']),
    '--json',
    '--skip-git-repo-check',
    // These flags ignore files that the agent may have written into the CLI's folder in an earlier call.
    ...['--ignore-user-config', '--ignore-rules'],
    ...(model === null ? [] : [`--model=${model}`]),
    ...overrides(settingsOf(request)),
    ...mapCodexServers(servers).own,
    ...extraArgs,
    ...(session === null ? [] : [session]),
    '-',
  ];
}

function settingsOf({ environment, allowedTools, sandbox, ...place }: CodexRequest): Settings {
  return {
    // Do not use the built-in provider, which tries another kind of connection first and whose retries cannot be set.
    model_provider: 'ralph',
    'model_providers.ralph.name': 'ralph',
    'model_providers.ralph.base_url': environment['OPENAI_BASE_URL'] || OPENAI_ADDRESS,
    'model_providers.ralph.wire_api': 'responses',
    'model_providers.ralph.env_key': 'OPENAI_API_KEY',
    'model_providers.ralph.request_max_retries': 1,
    'model_providers.ralph.stream_max_retries': 2,
    approval_policy: 'never',
    sandbox_mode: sandbox?.mode ?? 'danger-full-access',
    ...(sandbox?.mode === 'workspace-write' ? workspaceSettings(sandbox, environment, place) : {}),
    ...shellVariables(environment, place.configFolder),
    web_search: allowsWebSearch(allowedTools) ? 'live' : 'disabled',
    // Exclude the repository's instructions and skills, which are untrusted texts.
    project_doc_max_bytes: 0,
    'skills.include_instructions': false,
    'analytics.enabled': false,
    check_for_update_on_startup: false,
    ...Object.fromEntries(DISABLED_FEATURES.map((name) => [`features.${name}`, false])),
  };
}

/** Returns the settings for writing outside the work folder and the temporary folders, and for the network. */
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

/**
 * Returns settings that give the CLI's commands the original values of the variables that are changed for the CLI
 * itself.
 */
function shellVariables(environment: CliCall['environment'], configFolder: string): Settings {
  const temporary = hiddenTemporary(environment, configFolder);
  const zone = environment['TZ'] ?? '';
  return {
    ...(temporary === null ? {} : { 'shell_environment_policy.set.TMPDIR': temporary }),
    ...(zone === '' ? {} : { 'shell_environment_policy.set.TZ': zone }),
  };
}

/** Returns the settings as arguments: JSON of a text, a number, a boolean or a list of texts is TOML as well. */
function overrides(settings: Settings): readonly string[] {
  return Object.entries(settings).flatMap(([name, value]) => [
    '-c',
    // Escape the one character that TOML forbids and JSON leaves as it is.
    `${name}=${JSON.stringify(value).replaceAll('\u007f', '\\u007f')}`,
  ]);
}

/** Returns the environment of the CLI; `given` can change neither the location of its files nor its time zone. */
export function buildCodexEnvironment(given: CliCall['environment'], configFolder: string): Record<string, string> {
  return {
    NO_COLOR: '1',
    ...given,
    CODEX_HOME: configFolder,
    TZ: 'UTC',
    ...(hiddenTemporary(given, configFolder) === null ? {} : { TMPDIR: join(configFolder, TEMPORARY_FOLDER) }),
  };
}

/**
 * Returns the temporary folder if it must be hidden from the CLI, otherwise null. The CLI runs no command at all if its
 * own folder is below the temporary one.
 */
function hiddenTemporary(environment: CliCall['environment'], configFolder: string): string | null {
  const temporary = resolve('/', environment['TMPDIR'] || '/tmp');
  const way = relative(temporary, configFolder);
  return way === '' || (way !== '..' && !way.startsWith('../') && !isAbsolute(way)) ? temporary : null;
}
