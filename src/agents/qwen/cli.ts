import { join } from 'node:path';
import { mapServers, type McpServer } from '../../core/mcp/values.ts';
import { mapTexts } from '../../core/text/redact.ts';
import { tryJson } from '../../core/text/try-json.ts';
import { createAcpBase } from '../acp/cli.ts';
import { buildProjectSlug } from '../claude/try-key.ts';
import type { AgentCli, CliCall, CliPlace, ExportedSession, SessionPlace } from '../cli/cli.ts';
import {
  exportLines,
  removeAllBut,
  createEmptyExport,
  listPlainFiles,
  hasSessionSize,
  placeFile,
  realPathOfFolder,
} from '../cli/jsonl-session.ts';
import type { TranscriptRedaction } from '../cli/signed-texts.ts';
import { UUID } from '../reading/agent-event.ts';
import { asObject, asString, type JsonObject } from '../reading/json-value.ts';
import { createOpenAiProtocol, OPENAI_ADDRESS } from '../openai/protocol.ts';
import { createKeyAccess } from '../cli/access.ts';
import { parseToolRule, textsOfRules } from '../rules/shell-rules.ts';
import { qwenAgent } from './agent.ts';

const PROJECTS = 'projects';

const CHATS = 'chats';

/** Path below the inbox of the file that the CLI reads as the machine's settings, which win over all others. */
const SETTINGS = 'qwen/settings.json';

/** The option that limits the turns; the CLI itself ignores it in the protocol. */
const TURN_LIMIT = /(?:^| )--max-session-turns[ =](\d+)(?= |$)/;

/**
 * Tools that are always disabled: they make the CLI wait, start itself again, work in another folder or after the end
 * of the call, or load the repository's instructions.
 */
const DENIED_TOOLS = ['cron_create', 'loop_wakeup', 'enter_worktree', 'exit_worktree', 'agent', 'skill'];

/** Tools for which the CLI must always ask; otherwise it would run read-only commands without asking. */
const ASKED_TOOLS = ['run_shell_command', 'read_file', 'list_directory', 'glob', 'grep_search'];

const settings = {
  general: {
    enableAutoUpdate: false,
    gitCoAuthor: { commit: false, pr: false },
    checkpointing: { enabled: false },
    showSessionRecap: false,
  },
  privacy: { usageStatisticsEnabled: false },
  telemetry: { enabled: false },
  ide: { enabled: false },
  ui: { enableFollowupSuggestions: false },
  // Limit the CLI's own retries, which take minutes; the loop itself times a provider that fails.
  model: { generationConfig: { maxRetries: 1 } },
  // The CLI must not load the repository's instructions, so the file name is one that no repository can contain.
  context: { fileName: '.git/no-instructions' },
  memory: { enableManagedAutoMemory: false, enableManagedAutoDream: false, enableTeamMemory: false },
  security: { folderTrust: { enabled: true } },
  skills: { disabledLevels: ['project', 'user', 'extension', 'bundled'] },
  disableAllHooks: true,
  experimental: { cron: false },
  permissions: { ask: ASKED_TOOLS, deny: DENIED_TOOLS },
};

const base = createAcpBase('qwen');

/** The CLI of Qwen Code, which speaks the Agent Client Protocol. */
export const qwenCli: AgentCli = {
  ...qwenAgent,
  ...base,
  usesConfigFolder: true,
  accessOf: (given, setting) =>
    createKeyAccess(given, setting, {
      key: 'OPENAI_API_KEY',
      address: 'OPENAI_BASE_URL',
      standard: OPENAI_ADDRESS,
      path: '/v1',
      protocol: (way) => createOpenAiProtocol({ ...way, apis: ['chat'], basePath: '/v1', headers: {} }),
    }),
  // Example: `0.24.4`.
  printedVersion: /^(?<version>\d+\.\d+\.\d+\S*)$/,
  sessions: { export: exportQwenSession, import: importQwenSession },
  rulesGap: (rules) => ({
    unmapped: textsOfRules(rules.map(parseToolRule).filter(({ kind }) => kind === 'subagent')),
    allowsMore: null,
  }),
  unmappedServers: explainUnmappedServers,
  prepare: async (call, place) => {
    await resetQwenHome(place);
    const turnLimit = Number(TURN_LIMIT.exec(call.extraArgs.join(' '))?.[1]) || null;
    return {
      // The model is an argument.
      ...(await base.prepare({ ...call, model: null, servers: [], turnLimit }, place)),
      args: buildQwenArguments({ ...call, ...place }),
      environment: buildQwenEnvironment(call.environment, place),
      files: { [SETTINGS]: JSON.stringify(settings) },
    };
  },
};

/**
 * Returns the reason, as sentences, why Qwen Code (0.24) gets none of the servers: the CLI starts no server, not even
 * one that Ralph passes, unless it trusts the repository's settings.
 */
export function explainUnmappedServers(servers: readonly McpServer[]): readonly string[] {
  const none = {
    kind: 'unmapped',
    why: "starts servers only where it obeys the repository's settings as well",
  } as const;
  return mapServers(servers, 'Qwen Code', () => none).unmapped;
}

/** Returns the command line of Qwen Code. */
export function buildQwenArguments({
  model,
  extraArgs,
  alsoFolder,
}: Pick<CliCall, 'model' | 'extraArgs'> & Pick<CliPlace, 'alsoFolder'>): string[] {
  return [
    '--acp',
    // Pass the option as one argument, because it takes a list and would take the following words as well.
    ...(alsoFolder === null ? [] : [`--include-directories=${alsoFolder}`]),
    ...['--auth-type', 'openai'],
    // In this mode, Qwen Code asks for every call that may change something.
    ...['--approval-mode', 'default'],
    ...(model === null ? [] : ['--model', model]),
    ...extraArgs,
  ];
}

/**
 * Returns the agent's environment. `given` cannot change the location of its files, its rules, or the server that gets
 * its key.
 */
export function buildQwenEnvironment(
  given: Readonly<Record<string, string>>,
  { configFolder, inbox }: Pick<CliPlace, 'configFolder' | 'inbox'>,
): Record<string, string> {
  return {
    // Always set, because the CLI would take a missing address from the repository's `.env`.
    OPENAI_BASE_URL: OPENAI_ADDRESS,
    NO_COLOR: '1',
    // Drop Qwen Code's own variables, which could widen its permissions, or make it wait for a provider for hours.
    ...Object.fromEntries(Object.entries(given).filter(([name]) => !name.startsWith('QWEN_'))),
    QWEN_HOME: configFolder,
    QWEN_CODE_SYSTEM_SETTINGS_PATH: join(inbox, SETTINGS),
    QWEN_CODE_SYSTEM_DEFAULTS_PATH: join(inbox, 'qwen/no-defaults.json'),
    // Without this, Qwen Code starts itself again, and a signal to the first process leaves the others running.
    QWEN_CODE_NO_RELAUNCH: 'true',
  };
}

/**
 * Exports a transcript with its secrets hidden. Each line names the one before it, so a long one cannot be shortened.
 */
async function exportQwenSession(
  place: SessionPlace,
  { id, ...hiding }: { readonly id: string } & TranscriptRedaction,
): Promise<ExportedSession> {
  if (!UUID.test(id)) return createEmptyExport('its id is not a UUID');
  return exportLines(await transcriptPath(place, id), hiding, { isMessage, isPrompt: null });
}

/**
 * Stores a transcript where `--resume <id>` finds it. Returns false if it is empty or too large, or the id is not
 * valid.
 */
async function importQwenSession(
  place: SessionPlace,
  { id, content }: { readonly id: string; readonly content: Uint8Array },
): Promise<boolean> {
  if (!UUID.test(id) || !hasSessionSize(content)) return false;
  const folder = await realPathOfFolder(place.workFolder);
  const text = movedTo(folder, Buffer.from(content).toString('utf8'));
  if (text === null || !hasSessionSize(Buffer.from(text))) return false;
  await placeFile(place.configFolder, foldersFor(folder), { name: `${id}.jsonl`, content: text });
  return true;
}

/**
 * Removes everything but sessions from the CLI's folder: settings, skills and extensions from an earlier call would
 * apply to this one.
 */
export async function resetQwenHome({ configFolder }: SessionPlace): Promise<void> {
  await removeAllBut(configFolder, [PROJECTS]);
  // Keep only the sessions of each project: the CLI's memory of it is removed.
  for (const project of await listPlainFiles(join(configFolder, PROJECTS), 'folder'))
    await removeAllBut(join(configFolder, PROJECTS, project), [CHATS]);
}

async function transcriptPath({ configFolder, workFolder }: SessionPlace, id: string): Promise<string> {
  return join(configFolder, ...foldersFor(await realPathOfFolder(workFolder)), `${id}.jsonl`);
}

function foldersFor(workFolder: string): readonly string[] {
  return [PROJECTS, buildProjectSlug(workFolder), CHATS];
}

/** Returns the session with `folder` as the folder in its lines; otherwise the CLI would not find the session. */
function movedTo(folder: string, text: string): string | null {
  try {
    const lines = text.split('\n').map((line) => {
      const entry = asObject(tryJson(line));
      const from = asString(entry?.['cwd']);
      if (entry === null || from === null || from === folder || !/^\/./.test(from)) return line;
      return JSON.stringify(mapTexts(entry, (value) => value.replaceAll(from, folder)));
    });
    return lines.join('\n');
  } catch (error) {
    // Refuse lines that are nested too deeply for this program, because an agent may write such lines.
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function isMessage({ type }: JsonObject): boolean {
  return type === 'user' || type === 'assistant';
}
