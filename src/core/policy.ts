import { z } from 'zod';
import { AGENT_NAMES, DEFAULT_AGENT } from './agent-names.ts';

/** The inferred type of a schema, deeply read-only. */
export type Immutable<T> = T extends object ? { readonly [Key in keyof T]: Immutable<T[Key]> } : T;

/** Any instant that a Date can represent, at most 8.64e15 ms. */
export const anyInstant = z.number().int().min(0).max(8.64e15);

/** An instant that is stored. Its lower maximum keeps sums valid, such as the end of an hourly window. */
export const instantSchema = z.number().int().min(0).max(8e15);

export const countSchema = z.number().int().min(0);

export const amountSchema = z.number().min(0);

const circuitPolicySchema = z.lazy(() =>
  z.object({
    noProgress: countSchema,
    sameError: countSchema,
    permissionDenials: countSchema,
    /** Percentage by which output must shrink against the window's median. */
    outputDeclinePercent: z.number(),
    cooldownMs: countSchema,
    autoReset: z.boolean(),
  }),
);

/** The thresholds that trip the circuit, and the time that it stays open. */
export type CircuitPolicy = Immutable<z.infer<typeof circuitPolicySchema>>;

/** The effects of a permission denial on a run. */
export const denialModes = ['count', 'halt', 'continue'] as const;

/**
 * The reactions to a limit that ends at a known instant: end the run until then, or wait if the run's own time allows.
 */
export const limitModes = ['park', 'wait'] as const;

/** The lifetime of an agent's session: as long as possible, one task, or one call. */
export const sessionModes = ['resume', 'task', 'fresh'] as const;

const agentName = z.enum(AGENT_NAMES);

const agentStepSchema = z.lazy(() =>
  z.object({
    name: z.string(),
    /** The marker that keeps the step from running again once it exists; null if the step runs in every iteration. */
    marker: z.string().nullable(),
    /** Cooldown of the step's own circuit, in ms; null if the step has no circuit. */
    resetAfterMs: countSchema.nullable(),
    /**
     * True if no task can be done while the step's circuit is open. Earlier journals lack it; their runs were parked
     * only if no step could run.
     */
    required: z.boolean().default(false),
    /** The step's own agent; null for the agent of the iteration. Earlier journals lack it. */
    agent: agentName.nullable().default(null),
  }),
);

export const policySchema = z.lazy(() =>
  z.object({
    /** Agents in the order in which they are called. Earlier journals lack it. */
    agents: z.tuple([agentName], agentName).default([DEFAULT_AGENT]),
    maxIterations: countSchema,
    maxRunMs: countSchema,
    /** Maximum number of iterations on a task; 0 = no limit. */
    maxIterationsPerTask: countSchema,
    agentTimeoutMs: countSchema,
    maxCallsPerHour: countSchema,
    /** Maximum number of tokens per hour; 0 = no limit. */
    maxTokensPerHour: countSchema,
    /** Maximum cost of a run in US dollars; 0 = no limit. */
    maxCostUsd: z.number(),
    /** Maximum cost per day in US dollars; 0 = no limit. */
    maxCostUsdPerDay: z.number(),
    onPermissionDenied: z.enum(denialModes),
    /** Earlier journals lack it. */
    onLimit: z.enum(limitModes).default('park'),
    /**
     * Maximum time of waiting for limits in addition to `maxRunMs`, in ms. 0: all waiting counts as time of the run, as
     * in a job, whose own time limit continues. Earlier journals lack it.
     */
    maxWaitMs: countSchema.default(0),
    circuit: circuitPolicySchema,
    /**
     * The treatment of an iteration in which the agent failed without changes. `idle`: it counts as idle; `apart`: it
     * counts as an agent failure. Earlier journals lack it.
     */
    agentFailures: z.enum(['idle', 'apart']).default('idle'),
    /** Done signals in a row that complete a run (§8 order 4). */
    completionSignals: countSchema,
    /** Test-only iterations in a row that halt a run (§8 order 6). */
    testOnlyIterations: countSchema,
    session: z.enum(sessionModes),
    sessionExpiryMs: countSchema,
    /** Maximum tasks in the queue's pull request; 0 = no limit. Earlier journals lack it. */
    maxTasksPerPr: countSchema.default(0),
    /** Maximum changed lines without generated and lock files; 0 = no limit. */
    maxLinesPerPr: countSchema.default(0),
    /** Maximum agent calls of one iteration; only a pipeline allows more than one. Earlier journals lack it. */
    callsPerIteration: countSchema.default(1),
    /** The pipeline's steps that may call the agent; empty without a pipeline. Earlier journals lack it. */
    agentSteps: z.array(agentStepSchema).default([]),
    /** The pipeline's required steps that call no agent and have a circuit of their own. Earlier journals lack it. */
    otherSteps: z.array(z.object({ name: z.string(), resetAfterMs: countSchema })).default([]),
    /**
     * Maximum agent calls of the run, if its reservation allows fewer than its iterations could make; 0 = no such
     * limit.
     */
    maxCalls: countSchema.default(0),
    /** True if verify commands are configured. */
    verifies: z.boolean(),
    /** The agent's allow rules in its own form, by which refused calls are judged. */
    allowedTools: z.array(z.string()),
  }),
);

/**
 * The limits of a run and of a lane. Every number comes from an input; 0 means "no limit" only where the field says so.
 */
export type Policy = Immutable<z.infer<typeof policySchema>>;

/**
 * Returns the user's policy with the pipeline's fields from a run's policy, whose other limits are cut to what the run
 * reserved.
 */
export function applyPipelinePolicy(
  policy: Policy,
  { callsPerIteration, agentSteps, otherSteps, maxIterationsPerTask }: Policy,
): Policy {
  return { ...policy, callsPerIteration, agentSteps, otherSteps, maxIterationsPerTask };
}

/** Returns the policy of a run after a wait: its time ends later by the part of the wait that `maxWaitMs` covers. */
export function extendPolicyByWait(policy: Policy, waitedMs: number): Policy {
  const besideMs = Math.min(Math.max(0, waitedMs), policy.maxWaitMs);
  return { ...policy, maxRunMs: policy.maxRunMs + besideMs, maxWaitMs: policy.maxWaitMs - besideMs };
}

/** Returns the maximum number of agent calls of a run. */
export function countMaxCalls(policy: Pick<Policy, 'maxIterations' | 'callsPerIteration' | 'maxCalls'>): number {
  const { maxIterations, callsPerIteration, maxCalls } = policy;
  const most = maxIterations * callsPerIteration;
  return maxCalls > 0 ? Math.min(maxCalls, most) : most;
}

/** Tolerance in US dollars, because sums of floating-point numbers are rounded. */
const ROUNDING_USD = 1e-9;

/** Returns true if a cost has reached a limit in US dollars; 0 means that there is no limit. */
export function isCostReached(costUsd: number, limitUsd: number): boolean {
  return limitUsd > 0 && costUsd >= limitUsd - ROUNDING_USD;
}
