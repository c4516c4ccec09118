import { allowProviderProbes } from '../../agents/providers.ts';
import { resetRounds } from '../../feedback/rounds.ts';
import { allowStepProbes } from '../../pipeline/step-record.ts';
import type { Policy } from '../../policy.ts';
import type { TaskId } from '../../tasks/ids.ts';
import { resetProgress, getProgress } from '../../tasks/queue.ts';
import type { TaskProgress } from '../../tasks/task.ts';
import { closeCircuit, viewCircuit } from '../circuit.ts';
import { withTransition } from '../session.ts';
import type { LaneState } from '../state/state.ts';

/**
 * Returns the state after a person ordered the circuit to be closed; circuits of steps become ready for a probe.
 * `reason` names the person.
 */
export function resetCircuit(state: LaneState, reason: string, now: number): LaneState {
  return withTransition(
    { ...state, circuit: closeCircuit(state.circuit), steps: { ...state.steps, circuits: {} } },
    { at: now, subject: 'circuit', from: state.circuit.kind, to: 'closed', reason },
  );
}

/**
 * Returns the state after a person asked to probe an open circuit before its cooldown ends. `limits` is true if the
 * person may have raised the provider's limits as well.
 */
export function probeNow(
  known: LaneState,
  { policy, limits, now }: { readonly policy: Policy; readonly limits: boolean; readonly now: number },
): LaneState {
  const providers = allowProviderProbes(known.providers, { limits, now });
  const state = { ...known, steps: allowStepProbes(known.steps), providers };
  const { circuit } = state;
  if (circuit.kind !== 'open' || viewCircuit(circuit, policy.circuit, now).kind !== 'open') return state;
  return { ...state, circuit: { ...circuit, openedAt: Math.max(0, now - policy.circuit.cooldownMs) } };
}

/**
 * Returns the state after a person ordered a retry: a failed or blocked task gets all its attempts again. `reason`
 * names the person.
 */
export function retryTask(state: LaneState, taskId: TaskId, reason: string, now: number): LaneState {
  const retried = { ...state, feedback: resetRounds(state.feedback, taskId) };
  return withTask(retried, taskId, resetProgress(getProgress(state.tasks, taskId)), { reason, now });
}

/**
 * Returns the state after the cooldown: the circuit is closed if the policy allows it, otherwise a probe is recorded.
 */
export function probeOrCloseCircuit(state: LaneState, policy: Policy, now: number): LaneState {
  if (state.circuit.kind === 'closed') return state;
  const circuitNow = viewCircuit(state.circuit, policy.circuit, now);
  if (circuitNow.kind === 'closed') {
    return withTransition(
      { ...state, circuit: closeCircuit(state.circuit) },
      { at: now, subject: 'circuit', from: 'open', to: 'closed', reason: 'auto_reset' },
    );
  }
  return withTransition(state, {
    at: now,
    subject: 'circuit',
    from: 'open',
    to: 'half-open',
    reason: state.circuit.reason === 'state_unreadable' ? 'state_unreadable' : 'cooled_down',
  });
}

/** Returns the state with the new progress of this task and a transition that records the change. */
export function withTask(
  state: LaneState,
  id: TaskId,
  task: TaskProgress,
  change: { readonly reason: string; readonly now: number },
): LaneState {
  const from = getProgress(state.tasks, id).state;
  const next = { ...state, tasks: { ...state.tasks, [id]: task } };
  if (from === task.state) return next;
  return withTransition(next, {
    at: change.now,
    subject: 'task',
    from: `${id} ${from}`,
    to: task.state,
    reason: change.reason,
  });
}
