/** Defaults of action.yml, which is not at hand where the command line runs; a test compares them. */

export const DEFAULT_SOURCES = 'issues,plan,prd';
export const DEFAULT_BRANCH_PREFIX = 'ralph/';
export const DEFAULT_TASK_LABEL = 'ralph';
export const DEFAULT_COOLDOWN_MINUTES = 30;
