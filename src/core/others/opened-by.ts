import type { Transition } from '../lane/transitions.ts';

/** Why the transition to an open circuit was made that another Ralph had left. */
export const LEFT_OPEN = 'left open by another Ralph';

/** What opened a circuit: iterations in a row, the one iteration that probed it, or another Ralph that left its own open. */
export type CircuitOpener = 'streak' | 'probe' | 'another-ralph';

/** What opened the lane's circuit last, as its transitions tell; where they do not, a streak. */
export function openedBy(transitions: readonly Omit<Transition, 'at'>[]): CircuitOpener {
  const ofCircuit = transitions.filter(({ subject }) => subject === 'circuit');
  const opening = ofCircuit.findLastIndex(({ to }) => to === 'open');
  if (ofCircuit[opening]?.reason === LEFT_OPEN) return 'another-ralph';
  const before = ofCircuit[opening - 1];
  return before?.from === 'open' && before.to === 'half-open' ? 'probe' : 'streak';
}
