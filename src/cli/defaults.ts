import { defaultOf } from '../config/setting-table.ts';

export const DEFAULT_SOURCES = defaultOf('task-sources');
export const DEFAULT_OPTIONAL_SECTIONS = defaultOf('optional-sections');
export const DEFAULT_PROMPT_FILE = defaultOf('prompt-file');
export const DEFAULT_BRANCH_PREFIX = defaultOf('branch-prefix');
export const DEFAULT_TASK_LABEL = defaultOf('task-label');
export const DEFAULT_COOLDOWN_MINUTES = Number(defaultOf('circuit-cooldown-minutes'));
export const DEFAULT_AGENT_STALL_MINUTES = Number(defaultOf('agent-stall-minutes'));
