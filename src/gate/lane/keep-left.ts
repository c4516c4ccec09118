import { honourLeftCircuit } from '../../core/others/left-circuit.ts';
import { initialState, serializeState, type LaneState } from '../../core/lane/state.ts';
import { leaseOf } from '../../config/config.ts';
import { amend } from '../../core/snapshot/changes.ts';
import { emptySnapshot } from '../../core/snapshot/snapshot.ts';
import type { Intake, Lane } from '../../handover/intake.ts';
import type { GateDeps } from '../deps.ts';
import type { KeptLane } from './restore.ts';

/**
 * What another Ralph left open, and ended this run, is in the lane's state from now on, so that whoever asks how the lane
 * stands sees it. Where the store cannot keep two runs apart, or another run has the lane, the next run reads the file again.
 */
export async function keepLeftCircuit(
  { store, clock, ...run }: Pick<GateDeps, 'store' | 'clock' | 'config' | 'context' | 'runTag'>,
  { lane, outcome }: Pick<Extract<Intake, { kind: 'end' }>, 'lane' | 'outcome'>,
  kept: KeptLane,
): Promise<void> {
  const isHeld = outcome.kind === 'halted' && outcome.reason === 'circuit_open';
  if (!isHeld || lane === null || kept.left === null) return;
  const now = clock.now();
  const stored = storedState(kept, lane, now);
  const { state, warning } =
    stored === null ? { state: null, warning: null } : honourLeftCircuit(stored, kept.left, now);
  // Honoured before.
  if (state === null || warning === null) return;
  await store.update(
    amend({
      lane: lane.id,
      seen: kept.snapshot ?? emptySnapshot,
      document: (sequence) => serializeState({ ...state, sequence, savedAt: now }),
      holder: leaseOf(run, now),
      now,
      why: 'a circuit that another Ralph left open',
    }),
  );
}

/** Without what this run decided by: people's orders, and other lanes' usage. A state that was lost is not replaced. */
function storedState({ restored }: KeptLane, { id, start }: Lane, now: number): LaneState | null {
  if (restored?.kind === 'found') return restored.state;
  return restored?.kind === 'absent' && start.kind === 'fresh' ? initialState(id, now) : null;
}
