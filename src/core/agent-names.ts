/** The agents whose output can be read. */
export const AGENT_NAMES = ['claude', 'codex', 'gemini', 'opencode', 'copilot', 'qwen'] as const;

export type AgentName = (typeof AGENT_NAMES)[number];
