import type { AgentStep, CommandStep } from '../../../../src/core/pipeline/pipeline.ts';
import type { StepRecord } from '../../../../src/core/pipeline/step-record.ts';

const common = { timeoutMs: null, maxRetries: 0, retryDelayMs: 1000, continueOnError: false, breaker: null };

export function agentStep(name: string, change: Partial<AgentStep> = {}): AgentStep {
  const of = { agent: null, review: null, prompt: null, model: null, allowedTools: null, marker: null } as const;
  return { ...common, ...of, session: 'continue', kind: 'agent', name, ...change };
}

export function commandStep(name: string, change: Partial<CommandStep> = {}): CommandStep {
  return { ...common, kind: 'command', name, command: 'npm run lint', ...change };
}

/** Returns the record of a command that passed. */
export function record(name: string, change: Partial<StepRecord> = {}): StepRecord {
  return {
    name,
    kind: 'command',
    optional: false,
    result: { kind: 'passed' },
    attempts: 1,
    durationMs: 1,
    tail: '',
    changed: false,
    calls: [],
    denials: [],
    allowedTools: null,
    marker: null,
    circuit: null,
    ...change,
  };
}
