/** Defaults of action.yml, which is not at hand where the command line runs; a test compares them. */

export const DEFAULT_SOURCES = 'issues,plan,prd';
export const DEFAULT_OPTIONAL_SECTIONS = 'Optional,Future,Nice to have';
export const DEFAULT_PROMPT_FILE = '.ralph/PROMPT.md';
export const DEFAULT_BRANCH_PREFIX = 'ralph/';
export const DEFAULT_TASK_LABEL = 'ralph';
export const DEFAULT_COOLDOWN_MINUTES = 30;
export const DEFAULT_STATE_STORE = 'auto';
export const DEFAULT_NOTIFY = 'auto';
export const DEFAULT_ANSWER_REVIEWS = 'true';
export const DEFAULT_ANSWER_CHECKS = 'true';
export const DEFAULT_AGENT_VERSION =
  'claude=2.1.330, codex=0.169.0, gemini=0.61.0, opencode=1.18.33, copilot=1.0.102, qwen=0.24.4';
export const DEFAULT_ALLOWED_TOOLS =
  'Read,Edit,Write,Glob,Grep,Bash(git add:*),Bash(git commit:*),Bash(git diff:*),Bash(git log:*),Bash(git status:*),Bash(npm:*),Bash(pytest:*)';
export const DEFAULT_MAX_COST_USD = '5';
export const DEFAULT_MAX_COST_USD_PER_DAY = '20';
export const DEFAULT_MAX_MINUTES = '50';
export const DEFAULT_AGENT_STALL_MINUTES = 3;
