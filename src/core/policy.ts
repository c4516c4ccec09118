import { z } from 'zod';
import { AGENT_NAMES } from './agent-names.ts';

/** What a schema infers, as data that nobody changes. */
export type Immutable<T> = T extends object ? { readonly [Key in keyof T]: Immutable<T[Key]> } : T;

/** Any instant that a Date can hold: it ends at 8.64e15 ms. */
export const anyInstant = z.number().int().min(0).max(8.64e15);

/** An instant that is stored: what is added to it, such as the hour of a window, must still be one. */
export const instant = z.number().int().min(0).max(8e15);

export const count = z.number().int().min(0);

export const amount = z.number().min(0);

const circuitPolicySchema = z.object({
  noProgress: count,
  sameError: count,
  permissionDenials: count,
  /** Per cent by which output must shrink against the window's median. */
  outputDeclinePercent: z.number(),
  cooldownMs: count,
  autoReset: z.boolean(),
});

/** When the circuit trips, and for how long it stays open. */
export type CircuitPolicy = Immutable<z.infer<typeof circuitPolicySchema>>;

/** What a permission denial does to a run. */
export const denialModes = ['count', 'halt', 'continue'] as const;

/** What a run does at a limit that is over at a known instant: end until then, or wait for it where its own time allows. */
export const limitModes = ['park', 'wait'] as const;

/** How long an agent's conversation is carried on: as long as it can be, within a task, not at all. */
export const sessionModes = ['resume', 'task', 'fresh'] as const;

const agentStepSchema = z.object({
  name: z.string(),
  /** The marker behind which it does not run again; null: it runs in every iteration. */
  marker: z.string().nullable(),
  /** Of its own circuit; null: it has none. */
  resetAfterMs: count.nullable(),
  /** Whether nothing is done while its circuit is open. Journals of before have none: only where no step might run was a run parked. */
  required: z.boolean().default(false),
});

const agentName = z.enum(AGENT_NAMES);

export const policySchema = z.object({
  /** In the order in which they are asked. Journals of before have none. */
  agents: z.tuple([agentName], agentName).default(['claude']),
  maxIterations: count,
  maxRunMs: count,
  /** 0 = none. */
  maxIterationsPerTask: count,
  agentTimeoutMs: count,
  maxCallsPerHour: count,
  /** 0 = none. */
  maxTokensPerHour: count,
  /** Of a run; 0 = none. */
  maxCostUsd: z.number(),
  /** 0 = none. */
  maxCostUsdPerDay: z.number(),
  onPermissionDenied: z.enum(denialModes),
  /** Journals of before have none. */
  onLimit: z.enum(limitModes).default('park'),
  /** For how long it may wait for limits beside its `maxRunMs`; 0: all waiting is time of the run, as in a job, whose own time limit goes on. Journals of before have none. */
  maxWaitMs: count.default(0),
  circuit: circuitPolicySchema,
  /** How an iteration counts in which the agent failed and nothing changed: as any idle one, or as the agent's failure. Journals of before it was told apart have none. */
  agentFailures: z.enum(['idle', 'apart']).default('idle'),
  /** Done signals in a row that complete a run (§8 order 4). */
  completionSignals: count,
  /** Test-only iterations in a row that halt a run (§8 order 6). */
  testOnlyIterations: count,
  session: z.enum(sessionModes),
  sessionExpiryMs: count,
  /** Of the queue's pull request; 0 = no limit. Journals of before have none. */
  maxTasksPerPr: count.default(0),
  /** Changed lines without generated and lock files; 0 = no limit. */
  maxLinesPerPr: count.default(0),
  /** Agent calls that one iteration can make at most; more than one only with a pipeline. Journals of before have none. */
  callsPerIteration: count.default(1),
  /** The pipeline's steps that may call the agent; empty without a pipeline. Journals of before have none. */
  agentSteps: z.array(agentStepSchema).default([]),
  /** Its required steps that call no agent and have a circuit of their own. Journals of before have none. */
  otherSteps: z.array(z.object({ name: z.string(), resetAfterMs: count })).default([]),
  /** Agent calls of the run, where what it reserved allows fewer than its iterations could make; 0 = no limit of its own. */
  maxCalls: count.default(0),
  /** Whether verify commands are configured. */
  verifies: z.boolean(),
  /** The agent's allow rules, in its own form; they decide what a refused call amounts to. */
  allowedTools: z.array(z.string()),
});

/** The bounds of a run and of a lane. Every number comes from an input; 0 means "no limit" only where its line says so. */
export type Policy = Immutable<z.infer<typeof policySchema>>;

/** The user's policy with what its pipeline makes of it, which no reservation changes. */
export function withPipelineOf(
  policy: Policy,
  { callsPerIteration, agentSteps, otherSteps, maxIterationsPerTask }: Policy,
): Policy {
  return { ...policy, callsPerIteration, agentSteps, otherSteps, maxIterationsPerTask };
}

/** The policy of a run that has waited for so long: its time ends later by what of the wait is beside it. */
export function afterWait(policy: Policy, waitedMs: number): Policy {
  const besideMs = Math.min(Math.max(0, waitedMs), policy.maxWaitMs);
  return { ...policy, maxRunMs: policy.maxRunMs + besideMs, maxWaitMs: policy.maxWaitMs - besideMs };
}

/** Agent calls that a run can make at most. */
export function allowedCalls({
  maxIterations,
  callsPerIteration,
  maxCalls,
}: Pick<Policy, 'maxIterations' | 'callsPerIteration' | 'maxCalls'>): number {
  const most = maxIterations * callsPerIteration;
  return maxCalls > 0 ? Math.min(maxCalls, most) : most;
}
