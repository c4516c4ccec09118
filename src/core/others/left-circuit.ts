import { z } from 'zod';
import { oneLine } from '../text/one-line.ts';
import { tryJson } from '../text/try-json.ts';
import { formatInstant } from '../time.ts';
import { unreadableCircuit, type Circuit, type CircuitReason } from '../lane/circuit.ts';
import { LEFT_OPEN } from './opened-by.ts';
import type { LaneState } from '../lane/state.ts';
import { withTransition } from '../lane/transitions.ts';

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
