import { z } from 'zod';
import type { Analysis } from '../analysis/analysis.ts';
import type { CallFailure } from '../analysis/failure-words.ts';
import { isTooFarAhead } from '../countdown.ts';
import type { Evidence } from '../evidence.ts';
import { hasCalledAgent } from '../pipeline/step-record.ts';
import { type CircuitPolicy, countSchema, type Immutable, instantSchema } from '../policy.ts';
import { storedTaskId, type TaskId } from '../tasks/ids.ts';
import { cutText } from '../text/phrase.ts';

/** Number of iterations in a window. */
export const WINDOW_SIZE = 5;

export const signalsSchema = z.lazy(() =>
  z.object({
    indicators: z.array(z.boolean()).max(WINDOW_SIZE),
    /** Iterations whose EXIT_SIGNAL true was overruled and whose own task was not finished either. */
    vetoed: z.array(z.boolean()).max(WINDOW_SIZE),
    /** Lengths of the final messages, in characters. */
    outputChars: z.array(countSchema).max(WINDOW_SIZE),
    /** Number of consecutive iterations, up to the newest one, that claim that everything is done. */
    doneInARow: countSchema,
    /** Number of consecutive iterations, up to the newest one, with STATUS: BLOCKED. */
    blockedInARow: countSchema,
    /** Number of consecutive iterations, up to the newest one, that only tested. */
    testOnlyInARow: countSchema,
  }),
);

/** Rolling windows over the lane's last five iterations, newest last. */
export type Signals = Immutable<z.infer<typeof signalsSchema>>;

export const noSignals: Signals = {
  indicators: [],
  vetoed: [],
  outputChars: [],
  doneInARow: 0,
  blockedInARow: 0,
  testOnlyInARow: 0,
};

/** One iteration's entry in the rolling windows. */
export interface IterationSignals {
  /** True if the agent claims that everything is done and no evidence contradicts that. */
  readonly indicator: boolean;
  /** True for an indicator without an explicit EXIT_SIGNAL false. */
  readonly done: boolean;
  readonly vetoed: boolean;
  readonly blocked: boolean;
  readonly testOnly: boolean;
  /** Length of the final message in characters; null if none. */
  readonly outputChars: number | null;
}

/** Number of consecutive iterations with declining output and no progress that trip the circuit. */
const DECLINES_TO_TRIP = 2;

const TRACKED_ERRORS = 10;

/** Maximum length of a fingerprint in characters; longer ones are cut. */
export const MAX_FINGERPRINT_CHARS = 400;

/** Maximum length in characters of the description of a failed call. */
const MAX_HOW_CHARS = 100;
/** Maximum length in characters of the agent's own words about a failed call. */
const MAX_FAILURE_CHARS = 400;

/** The reasons for an open circuit. */
export const circuitReasons = [
  'no_progress',
  'same_error',
  'agent_error',
  'permission_denied',
  'output_decline',
  'state_unreadable',
] as const;

export type CircuitReason = (typeof circuitReasons)[number];

const errorStreakSchema = z.object({ fingerprint: z.string().max(MAX_FINGERPRINT_CHARS), count: countSchema });

/** An error and the number of consecutive iterations, up to the newest, that had it. */
type ErrorStreak = Immutable<z.infer<typeof errorStreakSchema>>;

export const circuitSchema = z.lazy(() =>
  z.discriminatedUnion('kind', [
    z.object({
      kind: z.literal('closed'),
      totalOpens: countSchema,
      noProgress: countSchema,
      errorStreaks: z.array(errorStreakSchema).max(TRACKED_ERRORS),
      denials: countSchema,
      decline: countSchema,
      questionHeld: z.boolean(),
      /** Number of consecutive iterations in which the agent failed and nothing changed. */
      agentFailures: countSchema.default(0),
      /** True if the previous task was set aside, so that the next iteration shows whether that task was the cause. */
      probes: z.boolean().default(false),
    }),
    z.object({
      kind: z.literal('open'),
      totalOpens: countSchema,
      reason: z.enum(circuitReasons),
      openedAt: instantSchema,
      /** The task whose iteration opened the circuit; null if unknown. */
      taskId: storedTaskId.nullable().default(null),
      /** The failed call that opened the circuit; absent if no failed call opened it. */
      failure: z
        .object({ how: z.string().max(MAX_HOW_CHARS), words: z.string().max(MAX_FAILURE_CHARS).nullable() })
        .exactOptional(),
    }),
  ]),
);

/**
 * The stored circuit. HALF_OPEN is never stored, because it follows from `noProgress` (diagnosis) or from `openedAt`
 * and the clock (probe). `totalOpens` counts trips over the lane's life.
 */
export type Circuit = Immutable<z.infer<typeof circuitSchema>>;

type Closed = Circuit & { readonly kind: 'closed' };

/** Returns a circuit without any history except its number of trips. */
export function createClosedCircuit(totalOpens: number): Closed {
  return {
    kind: 'closed',
    totalOpens,
    noProgress: 0,
    errorStreaks: [],
    denials: 0,
    decline: 0,
    questionHeld: false,
    agentFailures: 0,
    probes: false,
  };
}

/**
 * Returns the circuit after the task that was about to open it was set aside: the next iteration decides. If one
 * question was already forgiven, no second one is.
 */
export function createProbingCircuit({ totalOpens, questionHeld }: Closed): Closed {
  return { ...createClosedCircuit(totalOpens), questionHeld, probes: true };
}

/** The circuit for an unreadable state. It opened so long ago that exactly one probe is due. */
export const unreadableCircuit: Circuit = {
  kind: 'open',
  totalOpens: 0,
  reason: 'state_unreadable',
  openedAt: 0,
  taskId: null,
};

/**
 * The circuit as seen at one instant. `diagnosis`: one more idle iteration may trip it; `probe`: one iteration decides.
 */
export type CircuitView =
  | { readonly kind: 'closed' }
  | { readonly kind: 'half-open'; readonly of: 'diagnosis' | 'probe' }
  | { readonly kind: 'open'; readonly probeAt: number };

export const circuitWords = ['closed', 'half-open', 'open'] as const satisfies readonly CircuitView['kind'][];

/** The facts about one iteration that the circuit needs. */
export interface CircuitFacts {
  readonly progress: boolean;
  /**
   * True if the iteration's end does not count for or against the agent: a usage limit, the run's deadline, a cancel, a
   * wrong key.
   */
  readonly neutral: boolean;
  /** The agent's failure if nothing changed, which points to the environment rather than the task; otherwise null. */
  readonly failure: CallFailure | null;
  readonly questionOnly: boolean;
  readonly fingerprints: readonly string[];
  readonly countedDenials: number;
  readonly output: 'declined' | 'normal' | 'unmeasured';
  /** The task; null if it is unknown. */
  readonly taskId: TaskId | null;
  /** True if the task was set aside and then had another turn, so that one more idle iteration on it is not counted. */
  readonly returned: boolean;
}

/**
 * Returns the circuit as seen at `now`. An `openedAt` in the future (because the clock was set back) leaves the circuit
 * open, unless it is implausibly far ahead.
 */
export function viewCircuit(circuit: Circuit, policy: CircuitPolicy, now: number): CircuitView {
  if (circuit.kind === 'closed') {
    if (circuit.probes) return { kind: 'half-open', of: 'probe' };
    return circuit.noProgress >= Math.max(1, policy.noProgress - 1)
      ? { kind: 'half-open', of: 'diagnosis' }
      : { kind: 'closed' };
  }
  if (policy.autoReset && circuit.reason !== 'state_unreadable') return { kind: 'closed' };
  const probeAt = circuit.openedAt + policy.cooldownMs;
  return probeAt <= now || isTooFarAhead(circuit.openedAt, now)
    ? { kind: 'half-open', of: 'probe' }
    : { kind: 'open', probeAt };
}

/**
 * Returns the circuit after an iteration. An iteration on an open circuit counts as its probe, whatever the clock says
 * now.
 */
export function recordInCircuit(circuit: Circuit, facts: CircuitFacts, policy: CircuitPolicy, now: number): Circuit {
  if (facts.neutral && !facts.progress) return circuit;
  if (circuit.kind === 'open') {
    return facts.progress
      ? createClosedCircuit(circuit.totalOpens)
      : openCircuit(circuit, reasonOfProbe(facts), facts, now);
  }
  const next = countIteration(circuit, facts);
  const reason = tripReason(next, policy);
  if (reason !== null) return openCircuit(next, reason, facts, now);
  const recovered = facts.progress && viewCircuit(circuit, policy, now).kind === 'half-open';
  return recovered ? createClosedCircuit(circuit.totalOpens) : next;
}

function reasonOfProbe({ countedDenials, failure }: CircuitFacts): CircuitReason {
  if (countedDenials > 0) return 'permission_denied';
  return failure === null ? 'no_progress' : 'agent_error';
}

/** Returns the circuit closed by a person or `circuit-auto-reset`. */
export function closeCircuit(circuit: Circuit): Circuit {
  return createClosedCircuit(circuit.totalOpens);
}

function countIteration(circuit: Closed, facts: CircuitFacts): Closed {
  // The first question since the last progress is forgiven, because the next prompt says that nobody can answer.
  if (facts.questionOnly && !circuit.questionHeld) return { ...circuit, questionHeld: true };
  const isIdle = !facts.progress && facts.failure === null && !(facts.returned && !circuit.probes);
  return {
    ...circuit,
    noProgress: facts.progress ? 0 : circuit.noProgress + (isIdle ? 1 : 0),
    agentFailures: facts.failure === null ? 0 : circuit.agentFailures + 1,
    // An error in an iteration with progress starts no streak.
    errorStreaks: facts.progress ? [] : continueStreaks(circuit.errorStreaks, facts.fingerprints),
    denials: facts.countedDenials > 0 ? circuit.denials + 1 : 0,
    decline: declinesInARow(circuit.decline, facts),
    questionHeld: circuit.questionHeld && !facts.progress,
  };
}

function continueStreaks(streaks: readonly ErrorStreak[], fingerprints: readonly string[]): readonly ErrorStreak[] {
  const before = new Map(streaks.map(({ fingerprint, count }) => [fingerprint, count]));
  return [...new Set(fingerprints)]
    .map((fingerprint) => ({ fingerprint, count: (before.get(fingerprint) ?? 0) + 1 }))
    .sort((a, b) => b.count - a.count)
    .slice(0, TRACKED_ERRORS);
}

function declinesInARow(streak: number, facts: CircuitFacts): number {
  if (facts.progress || facts.output === 'normal') return 0;
  return facts.output === 'declined' ? streak + 1 : streak;
}

function tripReason(circuit: Closed, policy: CircuitPolicy): CircuitReason | null {
  if (circuit.denials >= policy.permissionDenials) return 'permission_denied';
  // Agent failures have the same limit as idle iterations, so no setting of their own is needed.
  if (circuit.agentFailures >= policy.noProgress) return 'agent_error';
  if (circuit.errorStreaks.some(({ count }) => count >= policy.sameError)) return 'same_error';
  if (circuit.noProgress >= policy.noProgress) return 'no_progress';
  if (circuit.decline >= DECLINES_TO_TRIP) return 'output_decline';
  return circuit.probes && circuit.noProgress > 0 ? 'no_progress' : null;
}

function openCircuit(
  { totalOpens }: Circuit,
  reason: CircuitReason,
  { taskId, failure }: CircuitFacts,
  now: number,
): Circuit {
  const opened = { kind: 'open', totalOpens: totalOpens + 1, reason, openedAt: now, taskId } as const;
  return failure === null || reason !== 'agent_error' ? opened : { ...opened, failure: capFailure(failure) };
}

function capFailure({ how, words }: CallFailure): CallFailure {
  return { how: cutText(how, MAX_HOW_CHARS), words: words === null ? null : cutText(words, MAX_FAILURE_CHARS) };
}

/** Returns the windows and streaks after one more iteration. */
export function recordSignals(signals: Signals, iteration: IterationSignals): Signals {
  return {
    indicators: [...signals.indicators, iteration.indicator].slice(-WINDOW_SIZE),
    vetoed: [...signals.vetoed, iteration.vetoed].slice(-WINDOW_SIZE),
    outputChars:
      iteration.outputChars === null
        ? signals.outputChars
        : [...signals.outputChars, iteration.outputChars].slice(-WINDOW_SIZE),
    doneInARow: iteration.done ? signals.doneInARow + 1 : 0,
    blockedInARow: iteration.blocked ? signals.blockedInARow + 1 : 0,
    testOnlyInARow: iteration.testOnly ? signals.testOnlyInARow + 1 : 0,
  };
}

/** Returns true if the agent ended its call itself, without an error. */
export function hasAgentAnswered({
  analysis,
  evidence: { end, steps },
}: {
  readonly analysis: Pick<Analysis, 'agentError'>;
  readonly evidence: Pick<Evidence, 'end' | 'steps'>;
}): boolean {
  return end.kind === 'exited' && end.code === 0 && analysis.agentError === null && hasCalledAgent(steps);
}

/** Returns true if `chars` is less than (100 − `percent`) % of the median of the preceding window. */
export function hasOutputDeclined(signals: Signals, chars: number, percent: number): boolean {
  const median = medianOf(signals.outputChars);
  return median !== null && chars * 100 < median * (100 - percent);
}

/** Returns the number of true flags in a window. */
export function countTrue(window: readonly boolean[]): number {
  return window.filter(Boolean).length;
}

function medianOf(values: readonly number[]): number | null {
  const sorted = [...values].sort((a, b) => a - b);
  const high = sorted[Math.floor(sorted.length / 2)];
  const low = sorted[Math.floor((sorted.length - 1) / 2)];
  return high === undefined || low === undefined ? null : (high + low) / 2;
}
