import { z } from 'zod';
import { formatInstant } from '../countdown.ts';
import { type Circuit, type CircuitReason, unreadableCircuit } from '../lane/circuit.ts';
import { type Transition, withTransition } from '../lane/session.ts';
import type { LaneState } from '../lane/state/state.ts';
import { toOneLine } from '../text/phrase.ts';
import { tryJson } from '../text/try-json.ts';

/** The reason recorded when a circuit opens because another Ralph left its own open. */
const LEFT_OPEN = 'left open by another Ralph';

/**
 * The cause of an open circuit: consecutive iterations, a failed probe, or another Ralph that left its own circuit
 * open.
 */
export type CircuitOpener = 'streak' | 'probe' | 'another-ralph';

/** Paths of the circuit file in ralph-claude-code and bmalph, and in their first versions. */
export const LEFT_CIRCUIT_PATHS: readonly string[] = ['.ralph/.circuit_breaker_state', '.circuit_breaker_state'];

/** Maximum size in bytes; other Ralphs write a few hundred. */
export const MAX_LEFT_CIRCUIT_BYTES = 16 * 1024;

/** Another Ralph's circuit file. */
export interface LeftCircuit {
  readonly path: string;
  /** The last 16 KiB of the file at most. */
  readonly text: string;
  /** Hash of `text`. */
  readonly hash: string;
}

const leftSchema = z.object({
  state: z.string(),
  reason: z.unknown().optional(),
  opened_at: z.unknown().optional(),
  last_change: z.unknown().optional(),
});

/**
 * Honours a circuit that another Ralph left open: the lane's own circuit opens as of the same instant, so that it cools
 * down and is probed as usual. Each such file is honoured once; an unreadable file counts as an open circuit that is
 * due for a probe. `warning` is a sentence for people, or null if nothing changes.
 */
export function honourLeftCircuit(
  state: LaneState,
  { path, text, hash }: LeftCircuit,
  now: number,
): { readonly state: LaneState; readonly warning: string | null } {
  if (state.leftCircuit === hash) return { state, warning: null };
  const left = leftSchema.safeParse(tryJson(text.replace(/^\uFEFF/, '')));
  const isOpen = !left.success || left.data.state.trim().toUpperCase() === 'OPEN';
  if (!isOpen) return { state, warning: null };
  const known: LaneState = { ...state, leftCircuit: hash };
  // The lane's own circuit is already open, so it will be probed anyway.
  if (state.circuit.kind === 'open') return { state: known, warning: null };
  if (!left.success)
    return {
      state: withOpenCircuit(known, { ...unreadableCircuit, totalOpens: state.circuit.totalOpens }, now),
      warning: `The circuit that another Ralph left in ${path} cannot be read, so the queue begins with one probe iteration.`,
    };
  const { opened_at: at, last_change: change } = left.data;
  const openedAt = instantOf(at, now) ?? instantOf(change, now) ?? 0;
  const why = typeof left.data.reason === 'string' ? toOneLine(left.data.reason, 200) : '';
  const since = openedAt === 0 ? '' : ` at ${formatInstant(openedAt)}`;
  return {
    state: withOpenCircuit(
      known,
      { kind: 'open', totalOpens: state.circuit.totalOpens, reason: circuitReasonOf(why), openedAt, taskId: null },
      now,
    ),
    warning: `Another Ralph left its circuit open${since} (${path}${why === '' ? '' : `: ${why}`}). It is honoured once: when it has cooled down, the queue begins with one probe iteration.`,
  };
}

function withOpenCircuit(state: LaneState, circuit: Circuit, now: number): LaneState {
  return withTransition(
    { ...state, circuit },
    { at: now, subject: 'circuit', from: 'closed', to: 'open', reason: LEFT_OPEN },
  );
}

/** Returns the instant if it is in the past, otherwise null. */
function instantOf(written: unknown, now: number): number | null {
  const at = typeof written === 'string' ? Date.parse(written) : Number.NaN;
  return Number.isNaN(at) || at < 0 || at > now ? null : at;
}

/** Derives the reason for the open circuit from the words in the file. */
function circuitReasonOf(why: string): CircuitReason {
  if (/permission/i.test(why)) return 'permission_denied';
  if (/same error/i.test(why)) return 'same_error';
  return /output/i.test(why) ? 'output_decline' : 'no_progress';
}

/**
 * Returns the last cause that opened the lane's circuit according to its transitions, or `streak` if they do not
 * contain it.
 */
export function findCircuitOpener(transitions: readonly Omit<Transition, 'at'>[]): CircuitOpener {
  const ofCircuit = transitions.filter(({ subject }) => subject === 'circuit');
  const opening = ofCircuit.findLastIndex(({ to }) => to === 'open');
  if (ofCircuit[opening]?.reason === LEFT_OPEN) return 'another-ralph';
  const before = ofCircuit[opening - 1];
  return before?.from === 'open' && before.to === 'half-open' ? 'probe' : 'streak';
}
