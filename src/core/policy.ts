/** The bounds of a run and of a lane. Every number comes from an input; 0 means "no limit" only where its line says so. */
export interface Policy {
  readonly maxIterations: number;
  readonly maxRunMs: number;
  /** 0 = none. */
  readonly maxIterationsPerTask: number;
  readonly agentTimeoutMs: number;
  readonly maxCallsPerHour: number;
  /** 0 = none. */
  readonly maxTokensPerHour: number;
  /** Of a run; 0 = none. */
  readonly maxCostUsd: number;
  /** 0 = none. */
  readonly maxCostUsdPerDay: number;
  readonly onPermissionDenied: 'count' | 'halt' | 'continue';
  readonly circuit: CircuitPolicy;
  /** Done signals in a row that complete a run (§8 order 4). */
  readonly completionSignals: number;
  /** Test-only iterations in a row that halt a run (§8 order 6). */
  readonly testOnlyIterations: number;
  readonly session: 'resume' | 'fresh' | 'task';
  readonly sessionExpiryMs: number;
  /** Whether verify commands are configured. */
  readonly verifies: boolean;
  /** The CLI's allow rules, e.g. `Bash(npm:*)`; needed to tell a denied compound of allowed parts from a real denial. */
  readonly allowedTools: readonly string[];
}

/** When the circuit trips, and for how long it stays open. */
export interface CircuitPolicy {
  readonly noProgress: number;
  readonly sameError: number;
  readonly permissionDenials: number;
  /** Per cent by which output must shrink against the window's median. */
  readonly outputDeclinePercent: number;
  readonly cooldownMs: number;
  readonly autoReset: boolean;
}
