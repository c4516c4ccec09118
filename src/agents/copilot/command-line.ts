import { join } from 'node:path';
import type { AgentName } from '../../ports/agent.ts';
import type { CliCall, CliPlace } from '../cli/cli.ts';
import { copilotMcpServers } from './mcp-servers.ts';
import { mapRules } from './tool-rules.ts';

/** The conversation of a call: its id is ours from the beginning. */
export interface Session {
  readonly kind: 'new' | 'resumed';
  /** A UUID. */
  readonly id: string;
}

/** What the command line of one call is made of. */
type CopilotRequest = Pick<CliCall, 'model' | 'allowedTools' | 'servers' | 'extraArgs'> &
  Pick<CliPlace, 'alsoFolder'> & { readonly session: Session };

/** Texts of strangers: skills of the repository, conversations that are not this one, pages of the CLI's maker. */
const NOT_OFFERED = ['skill', 'session_store_sql', 'fetch_copilot_cli_documentation'];

/** Command line of GitHub Copilot CLI without a person beside it; the prompt goes to stdin. */
export function copilotArguments({
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
    // The repository's are texts of strangers.
    '--no-custom-instructions',
    `--excluded-tools=${NOT_OFFERED.join(',')}`,
    ...mapRules(allowedTools).own,
    ...copilotMcpServers(servers).own,
    '--secret-env-vars=COPILOT_GITHUB_TOKEN,COPILOT_PROVIDER_API_KEY,COPILOT_PROVIDER_BEARER_TOKEN',
    ...(alsoFolder === null ? [] : [`--add-dir=${alsoFolder}`]),
    ...(model === null ? [] : [`--model=${model}`]),
    `--${session.kind === 'new' ? 'session-id' : 'resume'}=${session.id}`,
    ...extraArgs,
  ];
}

/** What is wanted of the CLI's settings. Its own line of thanks in commits would stand beside ours. */
export const SETTINGS = { includeCoAuthoredBy: false, memory: false, disableAllHooks: true } as const;

/** The environment of the CLI; nothing that is given moves its files, allows it more, or has it look for a newer version. */
export function copilotEnvironment(given: CliCall['environment'], configFolder: string): Record<string, string> {
  return {
    // Where it unpacks itself: what another run left there would be run.
    COPILOT_CACHE_HOME: join(configFolder, CACHE),
    ...given,
    COPILOT_HOME: configFolder,
    COPILOT_ALLOW_ALL: 'false',
    COPILOT_AUTO_UPDATE: 'false',
    CI: 'true',
  };
}

/** Name of that folder. */
export const CACHE = 'cache';

/** What `--version` prints: `GitHub Copilot CLI 1.0.102.`, or anything else for another program. */
export function parseName(printed: string): AgentName {
  const version = /^GitHub Copilot CLI (\S+?)\.?$/.exec(printed)?.[1];
  return version === undefined ? { name: printed, version: '' } : { name: 'GitHub Copilot CLI', version };
}
