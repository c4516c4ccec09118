/** The agents whose output can be read. */
export const AGENT_NAMES = ['claude', 'codex', 'opencode', 'gemini', 'copilot'] as const;

export type AgentName = (typeof AGENT_NAMES)[number];
