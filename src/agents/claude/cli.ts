import { join } from 'node:path';
import { renderSpokenText } from '../../core/analysis/spoken-text.ts';
import type { McpServer } from '../../core/mcp/values.ts';
import { toLogLine } from '../../processes/output-tail.ts';
import type { CallEvent } from '../cli/stall-watch.ts';
import type {
  AgentCli,
  CallListener,
  CallReader,
  CliCall,
  CliPlace,
  ExportedSession,
  SessionPlace,
} from '../cli/cli.ts';
import { exportLines, createEmptyExport, hasSessionSize, placeFile, realPathOfFolder } from '../cli/jsonl-session.ts';
import type { TranscriptRedaction } from '../cli/signed-texts.ts';
import { UUID } from '../reading/agent-event.ts';
import { asArray, asObject, type JsonObject } from '../reading/json-value.ts';
import { kindOfDenialBy, type MappedRules } from '../rules/shell-rules.ts';
import { classifyClaudeFailure, failureOfMissingResult, findClaudeLimit } from './events/failure.ts';
import type { StreamEvent } from './events/collector.ts';
import { createOutputReader } from './output/reader.ts';
import { buildProjectSlug, buildTrialUrl, tryKey } from './try-key.ts';
import { findClaudeAccess } from './access.ts';
import { claudeAgent } from './agent.ts';

/** The parts of one call's command line. `alsoFolder` is another folder in which the CLI may edit files, or null. */
type ClaudeRequest = Omit<CliCall, 'environment' | 'servers'> & Pick<CliPlace, 'alsoFolder'>;

/**
 * Tools that are disabled unless the user's rules allow them, because they make the CLI wait, start itself again, or
 * fetch untrusted texts.
 */
const OPT_IN_TOOLS = ['ScheduleWakeup', 'CronCreate', 'WebFetch', 'WebSearch'] as const;

/** Maximum length in characters of an event's line in the log. */
const MAX_LINE = 300;

/** Matches the name of an error, such as `rate_limit`. */
const NAME = /^\w{1,40}$/;

/** The CLI of Claude Code, with stream-json on stdout. */
export const claudeCli: AgentCli = {
  ...claudeAgent,
  keyTrial: { variable: 'ANTHROPIC_API_KEY', address: 'ANTHROPIC_BASE_URL', urlAt: buildTrialUrl, tryAt: tryKey },
  usesConfigFolder: false,
  accessOf: findClaudeAccess,
  // Example: `2.1.330 (Claude Code)`.
  printedVersion: /^(?<version>\S+) \((?<name>[^)]+)\)$/,
  printsRetries: true,
  kindOfDenial: kindOfDenialBy('claude'),
  sessions: { export: exportClaudeSession, import: importClaudeSession },
  rulesGap: mapClaudeRules,
  unmappedServers: () => [],
  prepare: ({ environment, servers, extraArgs, ...call }, { alsoFolder, configFolder }) =>
    Promise.resolve({
      args: buildClaudeArguments({ ...call, extraArgs: [...mapClaudeServers(servers), ...extraArgs], alsoFolder }),
      environment: buildClaudeEnvironment(environment, configFolder),
      files: {},
      openReader: openStreamReader,
      complete: (transcript) => Promise.resolve(transcript),
    }),
  judgeStall: ({ text, status, cause, now }) => {
    const failure = { text, subtype: null, error: cause, apiError: null, terminalReason: null, status };
    return { agentError: classifyClaudeFailure(failure), usageLimit: findClaudeLimit(failure, null, now) };
  },
};

function openStreamReader({ now, hear }: CallListener): CallReader {
  const reader = createOutputReader({
    now,
    onEvent: (event) => {
      hear(convertStreamEvent(event));
    },
  });
  return {
    push: reader.push,
    pushError: () => undefined,
    conversation: null,
    end: ({ succeeded }) => {
      const transcript = reader.end();
      return succeeded ? { ...transcript, agentError: failureOfMissingResult(transcript) } : transcript;
    },
  };
}

/** Returns the rules unchanged: they are in the CLI's own language. */
export function mapClaudeRules(rules: readonly string[]): MappedRules<readonly string[]> {
  return { own: rules, unmapped: [], allowsMore: null };
}

/**
 * Returns servers as arguments of Claude Code, which replaces `${NAME}` with its own variable, so that its command line
 * contains no values.
 */
export function mapClaudeServers(servers: readonly McpServer[]): readonly string[] {
  if (servers.length === 0) return [];
  const mcpServers = Object.fromEntries(servers.map((server) => [server.name, entryOf(server)]));
  // Pass one argument: the option accepts several values and would take every following word.
  return [`--mcp-config=${JSON.stringify({ mcpServers })}`];
}

function entryOf(server: McpServer): Readonly<Record<string, unknown>> {
  if (server.kind === 'remote') return { type: server.transport, url: server.url, headers: server.headers };
  return { type: 'stdio', command: server.command, args: server.args, env: server.env };
}

/** Converts a stream event to a call event, with a log line for people who follow the job. */
export function convertStreamEvent(event: StreamEvent): CallEvent {
  if (event.kind === 'servers' || event.kind === 'tasks') return { ...event, line: '' };
  const line = toLogLine(describe(event), MAX_LINE);
  if (event.kind === 'result') return { kind: 'result', line };
  if (event.kind !== 'retry') return { kind: 'work', line };
  const { status, error, delayMs } = event;
  const cause = error !== null && NAME.test(error) ? error : null;
  return { kind: 'retry', line, retry: { status, cause, waitMs: delayMs } };
}

function describe(event: StreamEvent): string {
  switch (event.kind) {
    case 'text':
      return `${event.nested ? 'subagent: ' : ''}${renderSpokenText(event.text)}`;
    case 'tool-use':
      return `${event.nested ? 'subagent: ' : ''}→ ${event.name} ${event.input}`;
    case 'tool-result':
      return event.failed ? '← failed' : '';
    case 'denied':
      return `denied: ${event.tool}`;
    case 'unshown':
    case 'servers':
    case 'tasks':
      return '';
    case 'retry':
      return `the API answered ${event.status ?? 'with an error'}: try ${event.attempt} of ${event.maxRetries}`;
    case 'result':
      return event.failed
        ? `agent failed: ${event.text}`
        : `agent done${event.turns === null ? '' : ` after ${event.turns} ${event.turns === 1 ? 'turn' : 'turns'}`}`;
  }
}

/**
 * Returns the command line of Claude Code for unattended use; the prompt goes to stdin, since one argument is limited
 * to 128 KiB.
 */
export function buildClaudeArguments({
  model,
  allowedTools,
  extraArgs,
  resume,
  alsoFolder,
  budgetUsd,
}: ClaudeRequest): string[] {
  const disallowed = OPT_IN_TOOLS.filter(
    (tool) => !allowedTools.some((rule) => rule === tool || rule.startsWith(`${tool}(`)),
  );
  return [
    '-p',
    ...['--output-format', 'stream-json', '--verbose'],
    ...['--permission-mode', 'acceptEdits'],
    ...(allowedTools.length > 0 ? ['--allowedTools', allowedTools.join(',')] : []),
    ...(disallowed.length > 0 ? ['--disallowedTools', disallowed.join(',')] : []),
    // Exclude the repository's settings, hooks and servers, which would run with the key in their environment.
    ...['--setting-sources', 'user', '--strict-mcp-config'],
    ...['--settings', '{"attribution":{"commit":"","pr":""}}'],
    ...(alsoFolder === null ? [] : ['--add-dir', alsoFolder]),
    ...(model === null ? [] : ['--model', model]),
    // Pass at least 0.0001, because the CLI rejects zero.
    ...(budgetUsd !== null && budgetUsd > 0 ? ['--max-budget-usd', Math.max(budgetUsd, 0.0001).toFixed(4)] : []),
    ...(resume !== null && isClaudeSession(resume) ? ['--resume', resume] : []),
    ...extraArgs,
  ];
}

/**
 * Returns the agent's environment. `given` can change the CLI's timeouts, but not the location of its files, and cannot
 * keep the CLI running after it is done.
 */
export function buildClaudeEnvironment(
  given: Readonly<Record<string, string>>,
  configFolder: string,
): Record<string, string> {
  return {
    CLAUDE_CODE_MAX_RETRIES: '3',
    API_TIMEOUT_MS: '120000',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_TELEMETRY: '1',
    ...given,
    CLAUDE_CONFIG_DIR: configFolder,
    DISABLE_AUTOUPDATER: '1',
    // The CLI would read the `@/some/file` of a task without checking the rules.
    CLAUDE_CODE_DISABLE_FILE_MENTIONS: '1',
    // A background command would keep the process alive for up to 10 minutes after its result, and a wake-up would
    // start it again.
    CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: '1',
    CLAUDE_CODE_DISABLE_CRON: '1',
  };
}

/**
 * Exports a transcript with its secrets hidden. A long one begins at a later prompt, which `--resume` accepts as the
 * beginning (2.1.197 and 2.1.330): each line but the first names its parent, and the CLI treats one with a missing
 * parent as the first. Files of subagents and of long tool results are left out: the session is complete without them,
 * and refers to them only by paths of this run.
 */
async function exportClaudeSession(
  folders: SessionPlace,
  { id, ...hiding }: { readonly id: string } & TranscriptRedaction,
): Promise<ExportedSession> {
  if (!isClaudeSession(id)) return createEmptyExport('its id is not a UUID');
  const path = join(folders.configFolder, ...(await transcriptFolders(folders)), `${id}.jsonl`);
  return exportLines(path, hiding, { isMessage, isPrompt });
}

/**
 * Puts a transcript where `--resume <id>` finds it; returns false if it is empty or too large, or if the id is not
 * valid.
 */
async function importClaudeSession(
  folders: SessionPlace,
  { id, content }: { readonly id: string; readonly content: Uint8Array },
): Promise<boolean> {
  if (!isClaudeSession(id) || !hasSessionSize(content)) return false;
  await placeFile(folders.configFolder, await transcriptFolders(folders), { name: `${id}.jsonl`, content });
  return true;
}

/**
 * Returns true if an id is a UUID: ids come from an agent's output or stored state, and only a UUID may become part of
 * a path or an argument.
 */
export function isClaudeSession(id: string): boolean {
  return UUID.test(id);
}

async function transcriptFolders({ workFolder }: SessionPlace): Promise<readonly string[]> {
  return ['projects', buildProjectSlug(await realPathOfFolder(workFolder))];
}

function isMessage({ type }: JsonObject): boolean {
  return type === 'user' || type === 'assistant';
}

/**
 * Returns true if an entry is one of Ralph's prompts. A tool's result is also a user turn, but a transcript cannot
 * begin with one: the API rejects a result without its call.
 */
function isPrompt({ type, isSidechain, isMeta, message }: JsonObject): boolean {
  if (type !== 'user' || isSidechain === true || isMeta === true) return false;
  const content = asObject(message)?.['content'];
  if (typeof content === 'string') return true;
  const blocks = asArray(content);
  return blocks.length > 0 && blocks.every((block) => asObject(block)?.['type'] === 'text');
}
