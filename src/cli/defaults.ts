import { getDefault } from '../config/setting-table.ts';

export const DEFAULT_SOURCES = getDefault('task-sources');
export const DEFAULT_OPTIONAL_SECTIONS = getDefault('optional-sections');
export const DEFAULT_PROMPT_FILE = getDefault('prompt-file');
export const DEFAULT_BRANCH_PREFIX = getDefault('branch-prefix');
export const DEFAULT_TASK_LABEL = getDefault('task-label');
export const DEFAULT_COOLDOWN_MINUTES = Number(getDefault('circuit-cooldown-minutes'));
export const DEFAULT_AGENT_STALL_MINUTES = Number(getDefault('agent-stall-minutes'));
