/** The agents that can be run; `command` is any program of the user. */
export const AGENT_NAMES = ['claude', 'codex', 'gemini', 'opencode', 'copilot', 'qwen', 'command'] as const;

export type AgentName = (typeof AGENT_NAMES)[number];

/** The agents whose output this program parses. */
export const READ_AGENTS = ['claude', 'codex', 'gemini', 'opencode', 'copilot', 'qwen'] as const;

export type ReadAgent = (typeof READ_AGENTS)[number];

/** The features of an agent's CLI that the loop relies on. */
export interface Capabilities {
  /** Name of the agent for people. */
  readonly title: string;
  /** True if a session can be resumed, also on another machine. */
  readonly resume: boolean;
  readonly tokens: boolean;
  /**
   * True if the CLI reports the cost of a call. Otherwise, calls are limited by their number, by tokens and by the
   * setting `prices`.
   */
  readonly cost: boolean;
  /** True if the CLI reports refused tools; otherwise no denials are counted. */
  readonly denials: boolean;
  /**
   * `each`: rules for single commands apply; `sandbox`: every command runs in a sandbox instead; `none`: the agent has
   * no rules for tools.
   */
  readonly toolRules: 'each' | 'sandbox' | 'none';
  /** True if an option among `agent-args` can limit the number of turns. */
  readonly turnLimit: boolean;
}

/** Capabilities measured on the versions that action.yml pins. */
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
    // A setting could limit the turns, but Ralph controls the settings of this CLI.
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
