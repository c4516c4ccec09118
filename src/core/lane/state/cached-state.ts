import { withoutWords } from '../../feedback/memory.ts';
import { hasAnySession } from '../session.ts';
import { progressOf, withChangedTasks } from '../../tasks/queue.ts';
import { isTaskBegun } from '../../tasks/task.ts';
import type { LaneState } from './state.ts';

/**
 * The trusted parts of a cached document. Trust is limited, because every workflow on the default branch can write the
 * cache.
 */
export interface CachedState {
  readonly state: LaneState;
  /** The untrusted parts, in words for people: `approvals`, `a pause`. */
  readonly dropped: readonly string[];
}

/**
 * Returns the parts of a state that can only restrict a run: circuit, usage, sequence, task progress. Approvals,
 * people's requests, sessions and verifications are left out.
 */
export function selectRestrictiveParts(state: LaneState, signed: boolean): CachedState {
  const { state: kept, dropped } = selectSignedParts(state, false);
  return {
    dropped,
    state: {
      ...kept,
      // An unsigned count of obeyed orders is not trusted, because it could skip orders that were never obeyed.
      ordersApplied: signed ? kept.ordersApplied : 0,
      journalHash: null,
      baseVerification: null,
      redBase: null,
      headVerification: null,
      refusedPush: null,
    },
  };
}

/**
 * Returns the trusted state of a lane that exists only in a cache. Approvals are looked up again; a pause and a session
 * are kept only if they were signed with the agent's key.
 */
export function selectSignedParts(state: LaneState, signed: boolean): CachedState {
  const known = Object.entries(state.tasks).map(([id, task]) => {
    return [id, { ...task, approval: undefined, retried: signed ? task.retried : undefined }] as const;
  });
  const tasks = Object.fromEntries(known.filter(([, task]) => isTaskBegun(task) || task.retried));
  const asked: LaneState = { ...state, tasks };
  return {
    state: signed
      ? asked
      : {
          ...asked,
          pause: null,
          session: null,
          resting: {},
          transcript: null,
          retriesAll: false,
          leftCircuit: null,
          feedback: withoutWords(state.feedback),
        },
    dropped: [
      ...(Object.values(state.tasks).some(({ approval }) => approval !== undefined) ? ['approvals'] : []),
      ...(!signed && state.pause !== null ? ['a pause'] : []),
      ...(!signed && hasAnySession(state) ? ['a conversation'] : []),
    ],
  };
}

/**
 * Returns the state of the authoritative store with the safe parts of a state that a run saved elsewhere, after that
 * store stopped accepting writes.
 */
export function withSafeParts(state: LaneState, since: LaneState): LaneState {
  const { circuit, windows, signals, ledger, sequence, savedAt, park, currentTask, lastRun, lastIteration } = since;
  const parts = { circuit, providers: since.providers, windows, signals, ledger, sequence, savedAt };
  const tasks = withChangedTasks(since.tasks, Object.keys({ ...state.tasks, ...since.tasks }), (task, id) => {
    const { approval, answer, retried } = progressOf(state.tasks, id);
    return { ...task, approval, answer, retried };
  });
  return { ...state, ...parts, tasks, park, currentTask, lastRun, lastIteration, feedback: since.feedback };
}
