import { randomUUID } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { MappedServers, McpServer } from '../../core/mcp/values.ts';
import type { AgentCli, CliCall, CliPlace, ExportedSession, SessionPlace } from '../cli/cli.ts';
import { judgeStallIn, openDialectReader } from '../cli/dialect-reader.ts';
import {
  exportLines,
  foldLines,
  createEmptyExport,
  hasSessionSize,
  placeFile,
  type SessionForm,
} from '../cli/jsonl-session.ts';
import type { TranscriptRedaction } from '../cli/signed-texts.ts';
import { readClock } from '../reading/capped-bytes.ts';
import { UUID } from '../reading/agent-event.ts';
import { asAmount, asObject, asString, type JsonObject } from '../reading/json-value.ts';
import { copilotDialect } from './events/dialect.ts';
import { kindOfDenialBy } from '../rules/shell-rules.ts';
import { mapCopilotRules } from './tool-rules.ts';
import { copilotAgent } from './agent.ts';
import { createClaudeProtocol, messagesApi } from '../claude/messages/protocol.ts';
import {
  createBrokeredAccess,
  parseHeaderLines,
  type AccessOf,
  resolveVariable,
  selectVariables,
} from '../cli/access.ts';
import { createOpenAiProtocol } from '../openai/protocol.ts';

/**
 * Returns Copilot's access to the user's own provider; with a token for GitHub's service instead, the access is direct.
 */
export const findCopilotAccess: AccessOf = (given, setting) => {
  const keys = selectVariables(given, ['COPILOT_PROVIDER_API_KEY', 'COPILOT_PROVIDER_BEARER_TOKEN']);
  const type = resolveVariable(given, 'COPILOT_PROVIDER_TYPE') || 'openai';
  // No broker: Azure's form of requests is not supported, and without a key there is nothing to hide.
  if (resolveVariable(given, ADDRESS) === '' || type === 'azure' || Object.keys(keys).length === 0)
    return { kind: 'direct', environment: given };
  // The CLI also accepts `\n` as the end of a line.
  const headers = parseHeaderLines(resolveVariable(given, HEADERS), /\n|\\n/);
  const isResponses = resolveVariable(given, 'COPILOT_PROVIDER_WIRE_API') === 'responses';
  const isAnthropic = type === 'anthropic';
  const access = createBrokeredAccess(given, setting, {
    keys,
    address: ADDRESS,
    standard: '',
    withheld: ['COPILOT_PROVIDER_API_KEY', 'COPILOT_PROVIDER_BEARER_TOKEN', HEADERS, 'COPILOT_GITHUB_TOKEN'],
    headers,
    path: isAnthropic ? '' : '/v1',
    // This keeps the CLI from contacting GitHub.
    extraEnvironment: { COPILOT_OFFLINE: 'true' },
    protocol: (way) =>
      isAnthropic
        ? createClaudeProtocol({ ...way, api: messagesApi, headers })
        : createOpenAiProtocol({ ...way, apis: [isResponses ? 'responses' : 'chat'], basePath: '/v1', headers }),
  });
  return access.kind === 'brokered' && type !== 'openai' && !isAnthropic ? WRONG_TYPE : access;
};

const ADDRESS = 'COPILOT_PROVIDER_BASE_URL';
const HEADERS = 'COPILOT_PROVIDER_HEADERS';

const WRONG_TYPE = {
  kind: 'unusable',
  problem: '`COPILOT_PROVIDER_TYPE` is not one of openai, anthropic and azure. Correct it, or leave it out.',
} as const;

/** The session of a call, whose id this program chooses. */
interface Session {
  readonly kind: 'new' | 'resumed';
  /** A UUID. */
  readonly id: string;
}

/** The parts of one call's command line. */
type CopilotRequest = Pick<CliCall, 'model' | 'allowedTools' | 'servers' | 'extraArgs'> &
  Pick<CliPlace, 'alsoFolder'> & { readonly session: Session };

/** Tools with untrusted texts: skills of the repository, other sessions, pages of the CLI's maker. */
const NOT_OFFERED = ['skill', 'session_store_sql', 'fetch_copilot_cli_documentation'];

/**
 * Ralph's settings for the CLI. Without them, the CLI would add its own co-author line to commits that have Ralph's
 * line.
 */
const SETTINGS = { includeCoAuthoredBy: false, memory: false, disableAllHooks: true } as const;

/** Name of the cache folder. */
const CACHE = 'cache';

const SESSIONS = 'session-state';

const EVENTS = 'events.jsonl';

const form: SessionForm = {
  isMessage: ({ type }) => type === 'user.message' || type === 'assistant.message',
  isPrompt: ({ type }) => type === 'user.message',
  // The first line names the session.
  needsFirst: true,
};

/** The CLI of GitHub Copilot: JSON lines on stdout. */
export const copilotCli: AgentCli = {
  ...copilotAgent,
  usesConfigFolder: true,
  accessOf: findCopilotAccess,
  // Example: `GitHub Copilot CLI 1.0.102.`.
  printedVersion: /^GitHub Copilot CLI (?<version>\S+?)\.?$/,
  printsRetries: true,
  kindOfDenial: kindOfDenialBy('copilot'),
  sessions: { export: exportCopilotSession, import: importCopilotSession },
  rulesGap: mapCopilotRules,
  unmappedServers: (servers) => mapCopilotServers(servers).unmapped,
  prepare: async (call, place) => {
    const session = chooseSession(call.resume);
    const environment = buildCopilotEnvironment(call.environment, place.configFolder);
    await resetCopilotSettings(place.configFolder);
    let startedAt = 0;
    return {
      args: buildCopilotArguments({ ...call, ...place, session }),
      environment,
      files: {},
      openReader: (listener) => {
        startedAt = readClock(listener.now);
        return openDialectReader(copilotDialect, listener, null);
      },
      // Only the CLI's last line names the session, and no line reports usage.
      complete: async (transcript) => ({
        ...transcript,
        sessionId: transcript.sessionId ?? (transcript.format === 'jsonl' ? session.id : null),
        tokens: await countTokensSince(place.configFolder, session.id, startedAt),
      }),
    };
  },
  judgeStall: judgeStallIn(copilotDialect),
};

function chooseSession(resume: string | null): Session {
  return resume !== null && UUID.test(resume) ? { kind: 'resumed', id: resume } : { kind: 'new', id: randomUUID() };
}

/** Exports the session's events, which are all that `--resume` needs (1.0.102). See `exportLines`. */
async function exportCopilotSession(
  { configFolder }: SessionPlace,
  { id, ...hiding }: { readonly id: string } & TranscriptRedaction,
): Promise<ExportedSession> {
  if (!UUID.test(id)) return createEmptyExport('its id is not a UUID');
  return exportLines(eventsOf(configFolder, id), hiding, form);
}

/** Stores events where `--resume <id>` finds them. Returns false if they are not a session's or the id is not valid. */
async function importCopilotSession(
  { configFolder }: SessionPlace,
  { id, content }: { readonly id: string; readonly content: Uint8Array },
): Promise<boolean> {
  if (!UUID.test(id) || !hasSessionSize(content)) return false;
  // Remove the session's folder first, because the CLI would also read other files next to the events.
  await rm(join(configFolder, SESSIONS, id), { recursive: true, force: true });
  await placeFile(configFolder, [SESSIONS, id], { name: EVENTS, content });
  return true;
}

/** Returns the tokens that a session has used since an instant, or null if they are unknown. */
export function countTokensSince(configFolder: string, id: string, since: number): Promise<number | null> {
  return foldLines<number | null>(eventsOf(configFolder, id), null, (sum, entry) => {
    const used = usedIn(entry, since);
    return used === null ? sum : (sum ?? 0) + used;
  });
}

/**
 * Removes files that an agent may have put among the CLI's settings for its next start. A missing folder stays missing.
 */
export async function resetCopilotSettings(configFolder: string): Promise<void> {
  const names = await readdir(configFolder).catch(() => null);
  if (names === null) return;
  for (const name of names)
    if (name !== SESSIONS && name !== CACHE) await rm(join(configFolder, name), { recursive: true, force: true });
  await placeFile(configFolder, [], { name: 'settings.json', content: JSON.stringify(SETTINGS) });
}

function eventsOf(configFolder: string, id: string): string {
  return join(configFolder, SESSIONS, id, EVENTS);
}

/** Returns the tokens of an entry; those of the cache are part of the input. */
function usedIn({ type, timestamp, data }: JsonObject, since: number): number | null {
  if (type !== 'session.usage_record' || !(Date.parse(asString(timestamp) ?? '') >= since)) return null;
  const usage = asObject(asObject(data)?.['usage']);
  const input = asAmount(usage?.['inputTokens']);
  const output = asAmount(usage?.['outputTokens']);
  return input === null && output === null ? null : (input ?? 0) + (output ?? 0);
}

/** Returns the command line of GitHub Copilot CLI for unattended use; the prompt goes to stdin. */
export function buildCopilotArguments({
  model,
  allowedTools,
  servers,
  extraArgs,
  alsoFolder,
  session,
}: CopilotRequest): string[] {
  return [
    ...['--output-format', 'json', '--stream', 'off', '--no-color', '--log-level', 'error'],
    ...['--no-auto-update', '--no-ask-user', '--no-bash-env', '--no-remote', '--no-remote-export'],
    ...['--disable-client-telemetry', '--disable-builtin-mcps'],
    // The repository's instructions are untrusted texts.
    '--no-custom-instructions',
    `--excluded-tools=${NOT_OFFERED.join(',')}`,
    ...mapCopilotRules(allowedTools).own,
    ...mapCopilotServers(servers).own,
    '--secret-env-vars=COPILOT_GITHUB_TOKEN,COPILOT_PROVIDER_API_KEY,COPILOT_PROVIDER_BEARER_TOKEN',
    ...(alsoFolder === null ? [] : [`--add-dir=${alsoFolder}`]),
    ...(model === null ? [] : [`--model=${model}`]),
    `--${session.kind === 'new' ? 'session-id' : 'resume'}=${session.id}`,
    ...extraArgs,
  ];
}

/**
 * Returns the environment of the CLI; given variables cannot move its files, permit more, or make it look for a newer
 * version.
 */
export function buildCopilotEnvironment(given: CliCall['environment'], configFolder: string): Record<string, string> {
  return {
    // The folder into which the CLI unpacks itself: it would run files that another run left there.
    COPILOT_CACHE_HOME: join(configFolder, CACHE),
    ...given,
    COPILOT_HOME: configFolder,
    COPILOT_ALLOW_ALL: 'false',
    COPILOT_AUTO_UPDATE: 'false',
    CI: 'true',
  };
}

/**
 * Returns servers as arguments of GitHub Copilot CLI, which replaces `${NAME}` with its own variable, so that its
 * command line contains no values.
 */
export function mapCopilotServers(servers: readonly McpServer[]): MappedServers<readonly string[]> {
  if (servers.length === 0) return { own: [], unmapped: [] };
  const mcpServers = Object.fromEntries(servers.map((server) => [server.name, entryOf(server)]));
  return {
    own: [
      ...['--additional-mcp-config', JSON.stringify({ mcpServers })],
      // The flag applies only to the tools that `tools` lets through.
      ...servers.map(({ name }) => `--allow-tool=${name}`),
    ],
    unmapped: [],
  };
}

function entryOf(server: McpServer): Readonly<Record<string, unknown>> {
  const tools = server.tools.length === 0 ? ['*'] : server.tools;
  if (server.kind === 'remote') return { type: server.transport, url: server.url, headers: server.headers, tools };
  return { type: 'local', command: server.command, args: server.args, env: server.env, tools };
}
