import { z } from 'zod';
import { circuitReasons } from './lane/circuit.ts';
import { anyInstant, type Immutable } from './policy.ts';
import { MAX_STEP_NAME_CHARS } from './pipeline/step-record.ts';

/** Limits that end at a known instant. */
export const passingLimits = ['calls_per_hour', 'tokens_per_hour', 'cost_per_day', 'usage_limit'] as const;
export type PassingLimit = (typeof passingLimits)[number];

/** The reasons for which a lane waits until a known instant. */
export const parkReasons = [...passingLimits, 'step_circuit'] as const;
export type ParkReason = (typeof parkReasons)[number];

/**
 * The required step whose circuit is open; null if no step of the pipeline may call the agent. Earlier versions stored
 * only null.
 */
export const openStepSchema = z.string().max(MAX_STEP_NAME_CHARS).nullable().default(null);

const message = z.string();

export const outcomeSchema = z.lazy(() =>
  z.union([
    z.object({ kind: z.literal('cancelled'), reason: z.enum(['signal', 'killed']) }),
    z.object({
      kind: z.literal('complete'),
      reason: z.enum(['project_complete', 'completion_signals', 'plan_complete']),
    }),
    z.object({ kind: z.literal('halted'), reason: z.enum(['permission_denied', 'test_saturation', 'safety']) }),
    z.object({
      kind: z.literal('halted'),
      reason: z.literal('circuit_open'),
      circuitReason: z.enum(circuitReasons),
      tripped: z.enum(['this-run', 'earlier']),
      probeAt: z.number(),
    }),
    z.object({ kind: z.literal('blocked'), reason: z.enum(['needs_human', 'base_is_red']) }),
    z.object({
      kind: z.literal('parked'),
      reason: z.enum(passingLimits),
      resumeAt: anyInstant,
      /** The provider's words about a limit that only a person can lift. */
      needsPerson: z.string().exactOptional(),
    }),
    z.object({
      kind: z.literal('parked'),
      reason: z.literal('step_circuit'),
      resumeAt: anyInstant,
      step: openStepSchema,
    }),
    /**
     * `checks`: more checks fail than one run works on. `unverified`: no verification has seen the head, since
     * people pushed or the server refused a file while the run worked.
     */
    z.object({ kind: z.literal('limit'), reason: z.enum(['iterations', 'minutes', 'cost', 'checks', 'unverified']) }),
    z.object({
      kind: z.literal('idle'),
      reason: z.enum(['no_tasks', 'all_done', 'not_for_us', 'answered', 'waiting_for_review']),
    }),
    /** An event changed the tasks; `message` says how. */
    z.object({ kind: z.literal('idle'), reason: z.literal('updated'), message }),
    /** No issue can be a task; `message` says what to do. */
    z.object({ kind: z.literal('idle'), reason: z.literal('no_such_label'), message }),
    z.object({ kind: z.literal('paused'), reason: z.literal('by_person'), by: z.string() }),
    /** People took back everything that the run worked on. */
    z.object({ kind: z.literal('paused'), reason: z.literal('withdrawn') }),
    z.object({ kind: z.literal('refused'), reason: z.enum(['not_allowed', 'another_run']), message }),
    z.object({ kind: z.literal('failed'), reason: z.enum(['configuration', 'infrastructure']), message }),
  ]),
);

/** The reason why a run ended: the closed union of spec §8. Times are instants in ms. */
export type Outcome = Immutable<z.infer<typeof outcomeSchema>>;

/** The limits that are specific to a run. */
export type RunBound = Exclude<Extract<Outcome, { kind: 'limit' }>['reason'], 'checks' | 'unverified'>;

export type OutcomeKind = Outcome['kind'];
export const outcomeKinds: readonly OutcomeKind[] = [
  ...(['cancelled', 'complete', 'halted', 'blocked', 'parked'] as const),
  ...(['limit', 'idle', 'paused', 'refused', 'failed'] as const),
];

/** The kinds of outcomes in the order in which people should see them. */
export const outcomeKindsByTrouble: readonly OutcomeKind[] = [
  ...(['failed', 'halted', 'blocked', 'refused', 'cancelled'] as const),
  ...(['parked', 'limit', 'paused', 'idle', 'complete'] as const),
];

/** The way in which GitHub shows the end of a run. */
export type Conclusion = 'success' | 'failure';

/** Returns true if a run with this outcome hands its pull request to people for review. */
export function isForReview({ kind, reason }: Outcome): boolean {
  return kind === 'complete' || reason === 'waiting_for_review';
}

/**
 * Returns the conclusion that GitHub shows. A run that only met a circuit opened by an earlier run is not a failure.
 */
export function deriveConclusion(outcome: Outcome, failOn: readonly OutcomeKind[]): Conclusion {
  if (outcome.reason === 'circuit_open' && outcome.tripped === 'earlier') return 'success';
  return failOn.includes(outcome.kind) ? 'failure' : 'success';
}
