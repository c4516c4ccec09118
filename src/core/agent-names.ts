/** The agents that can be run; `command`: any program of the user's. */
export const AGENT_NAMES = ['claude', 'codex', 'gemini', 'opencode', 'copilot', 'qwen', 'command'] as const;

export type AgentName = (typeof AGENT_NAMES)[number];

/** Those whose output has a form of its own. */
export const READ_AGENTS = ['claude', 'codex', 'gemini', 'opencode', 'copilot', 'qwen'] as const;

export type ReadAgent = (typeof READ_AGENTS)[number];

/** What an agent's CLI offers, which the loop relies on. */
export interface Capabilities {
  /** As people know it. */
  readonly title: string;
  /** A conversation can be continued, on another machine too. */
  readonly resume: boolean;
  readonly tokens: boolean;
  /** It tells what a call cost; without it, a call is bounded by calls, by tokens and by what `prices` says. */
  readonly cost: boolean;
  /** It reports which tools were refused; without it none are counted. */
  readonly denials: boolean;
  /** What becomes of rules for single commands. */
  readonly toolRules: 'each' | 'sandbox' | 'none';
  /** The number of its turns can be limited, by an option among `agent-args`. */
  readonly turnLimit: boolean;
}

/** Measured on the versions that action.yml pins. */
export const CAPABILITIES: Readonly<Record<AgentName, Capabilities>> = {
  claude: {
    ...{ title: 'Claude Code', resume: true, tokens: true, cost: true },
    ...{ denials: true, toolRules: 'each', turnLimit: true },
  },
  codex: {
    ...{ title: 'Codex', resume: true, tokens: true, cost: false },
    ...{ denials: false, toolRules: 'sandbox', turnLimit: false },
  },
  gemini: {
    ...{ title: 'Gemini CLI', resume: true, tokens: true, cost: false },
    // A setting of it could, and its settings are ours.
    ...{ denials: true, toolRules: 'each', turnLimit: false },
  },
  opencode: {
    ...{ title: 'OpenCode', resume: true, tokens: true, cost: true },
    ...{ denials: true, toolRules: 'each', turnLimit: false },
  },
  copilot: {
    ...{ title: 'GitHub Copilot CLI', resume: true, tokens: true, cost: false },
    ...{ denials: true, toolRules: 'each', turnLimit: false },
  },
  qwen: {
    ...{ title: 'Qwen Code', resume: true, tokens: true, cost: false },
    ...{ denials: true, toolRules: 'each', turnLimit: true },
  },
  command: {
    ...{ title: 'Your command', resume: false, tokens: false, cost: false },
    ...{ denials: false, toolRules: 'none', turnLimit: false },
  },
};
