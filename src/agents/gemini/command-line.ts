import { join } from 'node:path';
import type { AgentName } from '../../ports/agent.ts';
import type { CliCall, CliPlace } from '../cli/cli.ts';
import { UUID } from '../reading/session-id.ts';
import { geminiMcpServers } from './mcp-servers.ts';
import { mapRules } from './tool-rules.ts';

/** What the command line of one call is made of. */
type GeminiRequest = Pick<CliCall, 'model' | 'extraArgs' | 'resume'> & Pick<CliPlace, 'alsoFolder' | 'inbox'>;

/** Below the inbox. */
const RULES = 'gemini/rules.toml';

/** Command line of Gemini CLI without a person beside it; the prompt goes to stdin. */
export function geminiArguments({ model, extraArgs, resume, alsoFolder, inbox }: GeminiRequest): string[] {
  return [
    ...['--output-format', 'stream-json'],
    // Each in one argument: these take lists, and what follows would be read as more of it.
    `--policy=${join(inbox, RULES)}`,
    ...(alsoFolder === null ? [] : [`--include-directories=${alsoFolder}`]),
    ...['--approval-mode', 'default'],
    // In a fresh home it does not start otherwise. Settings of the repository are read before this counts, and so never.
    '--skip-trust',
    ...(model === null ? [] : ['--model', model]),
    ...(resume !== null && UUID.test(resume) ? ['--resume', resume] : []),
    ...extraArgs,
  ];
}

/** The agent's environment: `given` does not change where it keeps its files, what it obeys, or where its key goes. */
export function geminiEnvironment(
  given: Readonly<Record<string, string>>,
  configFolder: string,
): Record<string, string> {
  return {
    // A file `.env` of the repository would be asked next.
    GOOGLE_GEMINI_BASE_URL: 'https://generativelanguage.googleapis.com',
    NO_COLOR: '1',
    // Whatever is set of its own could widen what it obeys.
    ...Object.fromEntries(Object.entries(given).filter(([name]) => !name.startsWith('GEMINI_CLI_'))),
    GEMINI_CLI_HOME: configFolder,
    // Else it starts itself again, and a kill of the first process leaves the second one at work.
    GEMINI_CLI_NO_RELAUNCH: 'true',
    // `true` would start servers that the repository names.
    GEMINI_CLI_TRUST_WORKSPACE: '',
  };
}

/** Files that a call needs, by their path below the inbox. */
export function geminiFiles({ allowedTools }: Pick<CliCall, 'allowedTools'>): Record<string, string> {
  return { [RULES]: mapRules(allowedTools).own };
}

/** What `--version` prints: `0.61.0`, or anything else for another program. */
export function parseName(printed: string): AgentName {
  return /^\d+\.\d+\.\d+\S*$/.test(printed) ? { name: 'Gemini CLI', version: printed } : { name: printed, version: '' };
}

/** The user's settings, with the servers of its tools: those of the machine count only in folders that belong to root. */
export function settingsWith(servers: CliCall['servers']): object {
  const mcpServers = geminiMcpServers(servers).own;
  const { admin } = settings;
  return { ...settings, mcpServers, admin: { ...admin, mcp: { enabled: Object.keys(mcpServers).length > 0 } } };
}

const settings = {
  security: {
    auth: { selectedType: 'gemini-api-key', enforcedType: 'gemini-api-key' },
    enablePermanentToolApproval: false,
  },
  general: {
    enableAutoUpdate: false,
    enableAutoUpdateNotification: false,
    // Its own ten tries take four minutes; the loop has a clock of its own for a provider that fails.
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
  // In a terminal of its own a command would outlive more than it does.
  tools: { shell: { enableInteractiveShell: false } },
  advanced: { ignoreLocalEnv: true },
};
