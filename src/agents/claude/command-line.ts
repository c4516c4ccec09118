import type { AgentName } from '../../ports/agent.ts';
import type { CliCall, CliPlace } from '../cli/cli.ts';
import { isSessionId } from './session-files.ts';

/** What the command line of one call is made of. `alsoFolder`: another folder in which it may edit files; null: none. */
type ClaudeRequest = Omit<CliCall, 'environment' | 'servers'> & Pick<CliPlace, 'alsoFolder'>;

/** Tools that make the CLI wait, start itself again, or fetch texts of strangers; each is left alone when the user allows it. */
const NOT_UNASKED = ['ScheduleWakeup', 'CronCreate', 'WebFetch', 'WebSearch'] as const;

/** Command line of Claude Code without a person beside it; the prompt goes to stdin, since one argument holds at most 128 KiB. */
export function claudeArguments({
  model,
  allowedTools,
  extraArgs,
  resume,
  alsoFolder,
  budgetUsd,
}: ClaudeRequest): string[] {
  const disallowed = NOT_UNASKED.filter(
    (tool) => !allowedTools.some((rule) => rule === tool || rule.startsWith(`${tool}(`)),
  );
  return [
    '-p',
    ...['--output-format', 'stream-json', '--verbose'],
    ...['--permission-mode', 'acceptEdits'],
    ...(allowedTools.length > 0 ? ['--allowedTools', allowedTools.join(',')] : []),
    ...(disallowed.length > 0 ? ['--disallowedTools', disallowed.join(',')] : []),
    // Settings, hooks and servers that the repository names would run with the key in their environment.
    ...['--setting-sources', 'user', '--strict-mcp-config'],
    ...['--settings', '{"attribution":{"commit":"","pr":""}}'],
    ...(alsoFolder === null ? [] : ['--add-dir', alsoFolder]),
    ...(model === null ? [] : ['--model', model]),
    // Zero is refused by the CLI.
    ...(budgetUsd !== null && budgetUsd > 0 ? ['--max-budget-usd', Math.max(budgetUsd, 0.0001).toFixed(4)] : []),
    ...(resume !== null && isSessionId(resume) ? ['--resume', resume] : []),
    ...extraArgs,
  ];
}

/** The agent's environment: `given` may change how patient the CLI is, but not where it keeps its files or that it ends when it is done. */
export function claudeEnvironment(
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
    // A background command would keep the process alive for up to 10 minutes after its result; a wake-up would prompt it again.
    CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: '1',
    CLAUDE_CODE_DISABLE_CRON: '1',
  };
}

/** What `--version` prints: `2.1.330 (Claude Code)`, or anything else for another program. */
export function parseName(printed: string): AgentName {
  const [, version, name] = /^(\S+) \(([^)]+)\)$/.exec(printed) ?? [];
  return version === undefined || name === undefined ? { name: printed, version: '' } : { name, version };
}
