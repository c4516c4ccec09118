import { z } from 'zod';
import { formatInstant } from '../countdown.ts';
import { type Circuit, type CircuitReason, unreadableCircuit } from '../lane/circuit.ts';
import { type Transition, withTransition } from '../lane/session.ts';
import type { LaneState } from '../lane/state.ts';
import { oneLine } from '../text/phrase.ts';
import { tryJson } from '../text/try-json.ts';

/** Why the transition to an open circuit was made that another Ralph had left. */
const LEFT_OPEN = 'left open by another Ralph';

/** What opened a circuit: iterations in a row, the one iteration that probed it, or another Ralph that left its own open. */
export type CircuitOpener = 'streak' | 'probe' | 'another-ralph';

/** Where ralph-claude-code and bmalph keep their circuit, and where the first versions did. */
export const LEFT_CIRCUIT_PATHS: readonly string[] = ['.ralph/.circuit_breaker_state', '.circuit_breaker_state'];

/** They write a few hundred bytes. */
export const MAX_LEFT_CIRCUIT_BYTES = 16 * 1024;

/** The file in which another Ralph keeps its circuit; `text`: at most its last 16 KiB; `hash`: of the text. */
export interface LeftCircuit {
  readonly path: string;
  readonly text: string;
  readonly hash: string;
}

const leftSchema = z.object({
  state: z.string(),
  reason: z.unknown().optional(),
  opened_at: z.unknown().optional(),
  last_change: z.unknown().optional(),
});

/**
 * A circuit that another Ralph left open is honoured once: the lane's own is open as if it had opened there and then, so that
 * it cools down and is probed like any other. What cannot be read counts as open for one probe. `warning`: a sentence for
 * people; null: there is nothing to honour, or it was honoured before.
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
  // What is open here already is probed before anything else as it is.
  if (state.circuit.kind === 'open') return { state: known, warning: null };
  if (!left.success)
    return {
      state: opened(known, { ...unreadableCircuit, totalOpens: state.circuit.totalOpens }, now),
      warning: `The circuit that another Ralph left in ${path} cannot be read, so the queue begins with one probe iteration.`,
    };
  const { opened_at: at, last_change: change } = left.data;
  const openedAt = instantOf(at, now) ?? instantOf(change, now) ?? 0;
  const why = typeof left.data.reason === 'string' ? oneLine(left.data.reason, 200) : '';
  const since = openedAt === 0 ? '' : ` at ${formatInstant(openedAt)}`;
  return {
    state: opened(
      known,
      { kind: 'open', totalOpens: state.circuit.totalOpens, reason: reasonOf(why), openedAt, taskId: null },
      now,
    ),
    warning: `Another Ralph left its circuit open${since} (${path}${why === '' ? '' : `: ${why}`}). It is honoured once: when it has cooled down, the queue begins with one probe iteration.`,
  };
}

function opened(state: LaneState, circuit: Circuit, now: number): LaneState {
  return withTransition(
    { ...state, circuit },
    { at: now, subject: 'circuit', from: 'closed', to: 'open', reason: LEFT_OPEN },
  );
}

/** null: it is not an instant of the past. */
function instantOf(written: unknown, now: number): number | null {
  const at = typeof written === 'string' ? Date.parse(written) : Number.NaN;
  return Number.isNaN(at) || at < 0 || at > now ? null : at;
}

/** By the words of their reasons. */
function reasonOf(why: string): CircuitReason {
  if (/permission/i.test(why)) return 'permission_denied';
  if (/same error/i.test(why)) return 'same_error';
  return /output/i.test(why) ? 'output_decline' : 'no_progress';
}

/** What opened the lane's circuit last, as its transitions tell; where they do not, a streak. */
export function openedBy(transitions: readonly Omit<Transition, 'at'>[]): CircuitOpener {
  const ofCircuit = transitions.filter(({ subject }) => subject === 'circuit');
  const opening = ofCircuit.findLastIndex(({ to }) => to === 'open');
  if (ofCircuit[opening]?.reason === LEFT_OPEN) return 'another-ralph';
  const before = ofCircuit[opening - 1];
  return before?.from === 'open' && before.to === 'half-open' ? 'probe' : 'streak';
}
