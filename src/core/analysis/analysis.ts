/** What one agent output says, as `ralph analyze --json` prints it. `null` means absent or unreadable throughout. */
export interface Analysis {
  readonly format: 'json' | 'json-array' | 'jsonl' | 'text';
  readonly signal: Signal;
  readonly completionIndicator: boolean;
  /** 0–100; 100 with a status block, phrases count from 60. */
  readonly confidence: number;
  readonly testOnly: boolean;
  readonly noWork: boolean;
  readonly question: boolean;
  readonly agentError: AgentError | null;
  readonly errors: readonly FingerprintedError[];
  readonly denials: readonly Denial[];
  readonly usageLimit: UsageLimit | null;
  readonly sessionId: string | null;
  readonly turns: number | null;
  /** Input, output and cache tokens added up. */
  readonly tokens: number | null;
  /** This process's own cost in US dollars. */
  readonly costUsd: number | null;
}

/** What the agent claims of itself. */
export interface Signal {
  readonly from: 'block' | 'phrases' | 'none';
  readonly status: 'IN_PROGRESS' | 'COMPLETE' | 'BLOCKED' | null;
  /** After inference from STATUS: COMPLETE. */
  readonly exitSignal: boolean | null;
  readonly testsStatus: 'PASSING' | 'FAILING' | 'NOT_RUN' | null;
  readonly workType: 'IMPLEMENTATION' | 'TESTING' | 'DOCUMENTATION' | 'REFACTORING' | null;
  readonly tasksCompleted: number | null;
  readonly filesModified: number | null;
  readonly recommendation: string | null;
  /** Names of fields that were there and could not be read, e.g. `EXIT_SIGNAL`. */
  readonly unreadable: readonly string[];
}

export interface AgentError {
  readonly kind:
    | 'auth'
    | 'billing'
    | 'rate-limit'
    | 'server'
    | 'model'
    | 'prompt-too-long'
    | 'unknown-session'
    | 'max-turns'
    | 'budget'
    | 'other';
  readonly text: string;
}

export interface FingerprintedError {
  readonly text: string;
  readonly fingerprint: string;
}

export interface Denial {
  readonly tool: string;
  readonly command: string | null;
}

export interface UsageLimit {
  readonly window: 'five-hour' | 'weekly' | 'extra' | 'unknown';
  /** ISO instant. */
  readonly resumeAt: string | null;
}
