import { join } from 'node:path';
import type { AgentName } from '../../ports/agent.ts';
import type { CliCall, CliPlace } from '../cli/cli.ts';
import { UUID } from '../reading/session-id.ts';
import { STANDARD_ADDRESS } from './provider.ts';
import { mapRules } from './tool-rules.ts';

/** Below the inbox: what the CLI takes as the settings of the machine, which win over all others. */
const SETTINGS = 'qwen/settings.json';

/** Command line of Qwen Code without a person beside it; the prompt goes to stdin. */
export function qwenArguments({
  model,
  extraArgs,
  resume,
  alsoFolder,
}: Pick<CliCall, 'model' | 'extraArgs' | 'resume'> & Pick<CliPlace, 'alsoFolder'>): string[] {
  return [
    ...['--output-format', 'stream-json'],
    // Takes a list: what follows would be read as more of it.
    ...(alsoFolder === null ? [] : [`--include-directories=${alsoFolder}`]),
    ...['--auth-type', 'openai'],
    // What no rule allows is refused.
    ...['--approval-mode', 'default'],
    ...(model === null ? [] : ['--model', model]),
    ...(resume !== null && UUID.test(resume) ? ['--resume', resume] : []),
    ...extraArgs,
  ];
}

/** The agent's environment: `given` does not change where it keeps its files, what it obeys, or where its key goes. */
export function qwenEnvironment(
  given: Readonly<Record<string, string>>,
  { configFolder, inbox }: Pick<CliPlace, 'configFolder' | 'inbox'>,
): Record<string, string> {
  return {
    // A file `.env` of the repository would be asked next.
    OPENAI_BASE_URL: STANDARD_ADDRESS,
    NO_COLOR: '1',
    // Whatever is set of its own could widen what it obeys, or make it wait for a provider for hours.
    ...Object.fromEntries(Object.entries(given).filter(([name]) => !name.startsWith('QWEN_'))),
    QWEN_HOME: configFolder,
    QWEN_CODE_SYSTEM_SETTINGS_PATH: join(inbox, SETTINGS),
    QWEN_CODE_SYSTEM_DEFAULTS_PATH: join(inbox, 'qwen/no-defaults.json'),
    // Else it starts itself again, and a signal to the first process leaves the others at work.
    QWEN_CODE_NO_RELAUNCH: 'true',
  };
}

/** Files that a call needs, by their path below the inbox. */
export function qwenFiles({ allowedTools }: Pick<CliCall, 'allowedTools'>): Record<string, string> {
  const { allow, deny } = mapRules(allowedTools).own;
  const permissions = { allow, deny: [...deny, ...NOT_UNASKED] };
  return { [SETTINGS]: JSON.stringify({ ...settings, permissions }) };
}

/** What `--version` prints: `0.24.4`, or anything else for another program. */
export function parseName(printed: string): AgentName {
  return /^\d+\.\d+\.\d+\S*$/.test(printed) ? { name: 'Qwen Code', version: printed } : { name: printed, version: '' };
}

/** Tools that make the CLI wait, start itself again, or work in another folder, and the one that brings what the repository has of instructions. */
const NOT_UNASKED = ['cron_create', 'loop_wakeup', 'enter_worktree', 'exit_worktree', 'skill'];

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
  // Its own tries take minutes; the loop has a clock of its own for a provider that fails.
  model: { generationConfig: { maxRetries: 1 } },
  // Instructions of the repository are the prompt's to name; no repository can hold a file with this one.
  context: { fileName: '.git/no-instructions' },
  memory: { enableManagedAutoMemory: false, enableManagedAutoDream: false, enableTeamMemory: false },
  security: { folderTrust: { enabled: true } },
  skills: { disabledLevels: ['project', 'user', 'extension', 'bundled'] },
  disableAllHooks: true,
  experimental: { cron: false },
};
