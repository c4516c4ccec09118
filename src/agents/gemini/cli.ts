import { createHash } from 'node:crypto';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type MappedServers, mapServers, type McpServer } from '../../core/mcp/values.ts';
import { tryJson } from '../../core/text/try-json.ts';
import { createAcpBase } from '../acp/cli.ts';
import type { AgentCli, CliCall, CliPlace, ExportedSession, SessionPlace } from '../cli/cli.ts';
import {
  exportLines,
  foldLines,
  removeAllBut,
  createEmptyExport,
  listPlainFiles,
  hasSessionSize,
  placeFile,
  readPlainFile,
  realPathOfFolder,
} from '../cli/jsonl-session.ts';
import type { TranscriptRedaction } from '../cli/signed-texts.ts';
import { UUID } from '../reading/agent-event.ts';
import { asObject, asString, type JsonObject } from '../reading/json-value.ts';
import { createGeminiProtocol } from './messages/protocol.ts';
import { createKeyAccess } from '../cli/access.ts';
import { findGeminiGap, renderGeminiPolicy } from './tool-rules.ts';
import { geminiAgent } from './agent.ts';

/** The entries of `mcpServers` in settings.json. */
type SettingsServers = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** The folder of all files of the CLI. */
const HOME = '.gemini';

/** The folder of the CLI's projects. */
const FOLDERS = [HOME, 'tmp'];

/** The file in each project's folder that contains the project's path. */
const OWNER = '.project_root';

/** The folder of a project's sessions. */
const CHATS = 'chats';

/** Entries of the CLI's folder that stay between calls. */
const KEPT = ['settings.json', 'tmp', 'projects.json'];

const STANDARD_ADDRESS = 'https://generativelanguage.googleapis.com';

/** Maximum number of project folders: an agent can create any number. */
const MAX_PROJECTS = 100;

const MAX_HEAD_BYTES = 8 * 1024;

/** The parts of one call's command line. */
type GeminiRequest = Pick<CliCall, 'model' | 'extraArgs'> & Pick<CliPlace, 'alsoFolder' | 'inbox'>;

/** Path of the policy file below the inbox. */
const RULES = 'gemini/rules.toml';

const settings = {
  security: {
    auth: { selectedType: 'gemini-api-key', enforcedType: 'gemini-api-key' },
    enablePermanentToolApproval: false,
  },
  general: {
    enableAutoUpdate: false,
    enableAutoUpdateNotification: false,
    // Limit the CLI's own attempts, whose default of ten takes four minutes; the loop itself times a provider that
    // fails.
    maxAttempts: 2,
    retryFetchErrors: false,
    checkpointing: { enabled: false },
    sessionRetention: { enabled: false },
  },
  privacy: { usageStatisticsEnabled: false },
  telemetry: { enabled: false },
  ide: { enabled: false },
  skills: { enabled: false },
  hooksConfig: { enabled: false },
  admin: { extensions: { enabled: false }, mcp: { enabled: false }, skills: { enabled: false } },
  // In a terminal of its own, a command would outlive the CLI.
  tools: { shell: { enableInteractiveShell: false } },
  advanced: { ignoreLocalEnv: true },
};

/**
 * Shared part of the adapter. A command's title is the whole command, never the model's description of it
 * (`getDisplayTitle` in 0.61), and the CLI itself runs commands only in the work tree.
 */
const base = createAcpBase('gemini', {
  commandOf: ({ title }) => asString(title),
  reported: [['auth', /\bAPI_KEY_INVALID\b|\bAPI key not valid\b/]],
});

/** The CLI of Gemini, which speaks the Agent Client Protocol. */
export const geminiCli: AgentCli = {
  ...geminiAgent,
  ...base,
  usesConfigFolder: true,
  accessOf: (given, setting) =>
    createKeyAccess(given, setting, {
      key: 'GEMINI_API_KEY',
      address: 'GOOGLE_GEMINI_BASE_URL',
      standard: STANDARD_ADDRESS,
      protocol: createGeminiProtocol,
    }),
  // Example: `0.61.0`.
  printedVersion: /^(?<version>\d+\.\d+\.\d+\S*)$/,
  sessions: { export: exportGeminiSession, import: importGeminiSession },
  rulesGap: findGeminiGap,
  unmappedServers: (servers) => mapGeminiServers(servers).unmapped,
  prepare: async (call, place) => {
    await resetGeminiHome(place.configFolder, settingsWith(call.servers));
    await prepareChats(place, call.resume);
    return {
      // The model is an argument, and the servers are in the CLI's settings.
      ...(await base.prepare({ ...call, model: null, servers: [], turnLimit: null }, place)),
      args: buildGeminiArguments({ ...call, ...place }),
      environment: buildGeminiEnvironment(call.environment, place.configFolder),
      files: buildGeminiFiles(call),
    };
  },
};

/** Returns the command line of Gemini CLI for unattended use. */
export function buildGeminiArguments({ model, extraArgs, alsoFolder, inbox }: GeminiRequest): string[] {
  return [
    '--acp',
    // Pass each option as one argument, because these options take lists and would take the following words as well.
    `--policy=${join(inbox, RULES)}`,
    ...(alsoFolder === null ? [] : [`--include-directories=${alsoFolder}`]),
    ...['--approval-mode', 'default'],
    // The CLI does not start in a fresh home without this flag. Settings of the repository are read before the flag
    // takes effect, and so never apply.
    '--skip-trust',
    ...(model === null ? [] : ['--model', model]),
    ...extraArgs,
  ];
}

/**
 * Returns the agent's environment. `given` cannot change the location of its files, its rules, or the server that gets
 * its key.
 */
export function buildGeminiEnvironment(
  given: Readonly<Record<string, string>>,
  configFolder: string,
): Record<string, string> {
  return {
    // Always set, because the CLI would take a missing address from the repository's `.env`.
    GOOGLE_GEMINI_BASE_URL: STANDARD_ADDRESS,
    NO_COLOR: '1',
    // Drop Gemini CLI's own variables, which could widen its permissions.
    ...Object.fromEntries(Object.entries(given).filter(([name]) => !name.startsWith('GEMINI_CLI_'))),
    GEMINI_CLI_HOME: configFolder,
    // Without this, Gemini CLI starts itself again, and killing the first process leaves the second one running.
    GEMINI_CLI_NO_RELAUNCH: 'true',
    // `true` would start servers that the repository names.
    GEMINI_CLI_TRUST_WORKSPACE: '',
  };
}

/** Returns the files that a call needs, by their path below the inbox. */
export function buildGeminiFiles({ allowedTools }: Pick<CliCall, 'allowedTools'>): Record<string, string> {
  return { [RULES]: renderGeminiPolicy(allowedTools) };
}

/**
 * Returns Ralph's settings with the MCP servers. They are user-level settings, because machine-wide ones apply only in
 * root's folders.
 */
function settingsWith(servers: CliCall['servers']): object {
  const mcpServers = mapGeminiServers(servers).own;
  const { admin } = settings;
  return { ...settings, mcpServers, admin: { ...admin, mcp: { enabled: Object.keys(mcpServers).length > 0 } } };
}

/** Exports a transcript with its secrets hidden. Later lines change earlier ones, so a long one cannot be shortened. */
async function exportGeminiSession(
  place: SessionPlace,
  { id, ...hiding }: { readonly id: string } & TranscriptRedaction,
): Promise<ExportedSession> {
  if (!UUID.test(id)) return createEmptyExport('its id is not a UUID');
  const folder = join(place.configFolder, ...FOLDERS, await projectFolder(place), CHATS);
  let left = createEmptyExport('it is missing, empty or not a plain file');
  for (const path of await chatsOf(folder, id)) {
    const exported = await exportLines(path, hiding, { isMessage, isPrompt: null });
    if (exported.kind === 'exported') return exported;
    left = exported;
  }
  return left;
}

/**
 * Removes a session's files without messages, and renames its newest file as an imported one. A CLI that resumes a
 * session writes into the file that it found and also begins a newer one without messages, which the next start would
 * choose. The newer one is named by the minute: in the same minute, both would be one file, without messages.
 */
export async function prepareChats(place: SessionPlace, id: string | null): Promise<void> {
  if (id === null || !UUID.test(id)) return;
  const folder = join(place.configFolder, ...FOLDERS, await projectFolder(place), CHATS);
  const kept: string[] = [];
  for (const path of await chatsOf(folder, id))
    if (await foldLines(path, true, (isEmpty, entry) => isEmpty && !isMessage(entry))) await rm(path, { force: true });
    else kept.push(path);
  const [newest] = kept;
  const name = join(folder, importedName(id));
  if (newest === undefined || newest === name) return;
  await rm(name, { recursive: true, force: true });
  await rename(newest, name);
}

/**
 * Stores a transcript where `--resume <id>` finds it. Returns false if it is empty or too large, or the id is not
 * valid.
 */
async function importGeminiSession(
  place: SessionPlace,
  { id, content }: { readonly id: string; readonly content: Uint8Array },
): Promise<boolean> {
  if (!UUID.test(id) || !hasSessionSize(content)) return false;
  const folder = [...FOLDERS, await projectFolder(place)];
  await placeFile(place.configFolder, folder, { name: OWNER, content: await realPathOfFolder(place.workFolder) });
  await placeFile(place.configFolder, [...folder, CHATS], { name: importedName(id), content });
  // Remove other files of the session: of two files, the CLI chooses the one with the newer date in it.
  const chats = join(place.configFolder, ...folder, CHATS);
  const others = (await listPlainFiles(chats, 'any')).filter(
    (name) => mayBelongTo(id, name) && !name.startsWith('session-imported-'),
  );
  await Promise.all(others.map((name) => rm(join(chats, name), { recursive: true, force: true })));
  return true;
}

/**
 * Removes everything but sessions and Ralph's settings from the CLI's folder: rules, hooks or servers from an earlier
 * call would apply to this one.
 */
export async function resetGeminiHome(configFolder: string, settings: object): Promise<void> {
  await placeFile(configFolder, [HOME], { name: 'settings.json', content: JSON.stringify(settings) });
  await removeAllBut(join(configFolder, HOME), KEPT);
  // Keep only the sessions of each project: the CLI's own programs and its memory of projects are removed.
  const projects = join(configFolder, ...FOLDERS);
  for (const name of await listPlainFiles(projects, 'any')) await removeAllBut(join(projects, name), [OWNER, CHATS]);
}

/**
 * Returns the name of the project's folder: of the one whose file names the project, otherwise a new name. The CLI,
 * too, looks for such a file before it chooses a name.
 */
async function projectFolder({ configFolder, workFolder }: SessionPlace): Promise<string> {
  const owner = await realPathOfFolder(workFolder);
  const root = join(configFolder, ...FOLDERS);
  const names = (await listPlainFiles(root, 'folder')).slice(0, MAX_PROJECTS);
  for (const name of names) if ((await readFileHead(join(root, name, OWNER)))?.trim() === owner) return name;
  return `ralph-${createHash('sha256').update(owner).digest('hex').slice(0, 16)}`;
}

/** Returns the paths of a session's files, the newest first. */
async function chatsOf(folder: string, id: string): Promise<readonly string[]> {
  const names = (await listPlainFiles(folder, 'file')).filter(
    (name) => mayBelongTo(id, name) && name.endsWith('.jsonl'),
  );
  const ids = await Promise.all(names.map((name) => sessionIdIn(join(folder, name))));
  return names
    .filter((_, at) => ids[at] === id)
    .map((name) => join(folder, name))
    .reverse();
}

/** Returns true if a file may belong to this session: its name contains only the first eight characters of the id. */
function mayBelongTo(id: string, name: string): boolean {
  return (
    name.startsWith('session-') && (name.endsWith(`-${shortId(id)}.jsonl`) || name.endsWith(`-${shortId(id)}.json`))
  );
}

/** Returns the name of an imported session's file. */
function importedName(id: string): string {
  return `session-imported-${shortId(id)}.jsonl`;
}

function shortId(id: string): string {
  return id.slice(0, 8);
}

/** Returns the session id in the first line. */
async function sessionIdIn(path: string): Promise<unknown> {
  const [line = ''] = ((await readFileHead(path)) ?? '').split('\n');
  return asObject(tryJson(line))?.['sessionId'];
}

/** Returns the beginning of a file. */
async function readFileHead(path: string): Promise<string | null> {
  return readPlainFile(path, async (file, size) => {
    const buffer = Buffer.alloc(Math.min(size, MAX_HEAD_BYTES));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    return buffer.toString('utf8', 0, bytesRead);
  });
}

function isMessage({ type }: JsonObject): boolean {
  return type === 'user' || type === 'gemini';
}

/** Returns servers for the settings of Gemini CLI, which replaces `${NAME}` with its own variable. */
export function mapGeminiServers(servers: readonly McpServer[]): MappedServers<SettingsServers> {
  const { own, unmapped } = mapServers(servers, 'Gemini CLI', (server) =>
    // Refuse names with an underscore, because the CLI's rules take the text before the first _ as the server's name.
    server.name.includes('_')
      ? { kind: 'unmapped', why: 'takes no `_` in the name of a server: use `-`' }
      : { kind: 'mapped', entry: settingsOf(server) },
  );
  return { own: Object.fromEntries(own.map(({ name, entry }) => [name, entry])), unmapped };
}

/** Returns a server's entry; `trust` is set because nobody is there to approve a call. */
function settingsOf(server: McpServer): Readonly<Record<string, unknown>> {
  const { tools } = server;
  const common = { ...(tools.length === 0 ? {} : { includeTools: tools }), trust: true };
  if (server.kind === 'command') return { command: server.command, args: server.args, env: server.env, ...common };
  return { [server.transport === 'http' ? 'httpUrl' : 'url']: server.url, headers: server.headers, ...common };
}
