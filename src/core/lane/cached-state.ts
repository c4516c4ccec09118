import { withoutWords } from '../feedback/memory.ts';
import { hasConversation } from './session.ts';
import { progressOf, withEach } from '../tasks/queue.ts';
import { isBegun } from '../tasks/task.ts';
import type { LaneState } from './state.ts';

/** What of a document counts that stood in a cache, where everybody may write who runs a workflow on the default branch. */
export interface CachedState {
  readonly state: LaneState;
  /** What it held and is not taken, as words for people: `approvals`, `a pause`. */
  readonly dropped: readonly string[];
}

/** The parts of a state that can only cost a run, never let one do more: circuit, usage, sequence, task progress. No consent, nothing that a person said, no conversation, no check. */
export function safeParts(state: LaneState, signed: boolean): CachedState {
  const { state: kept, dropped } = signedParts(state, false);
  return {
    dropped,
    state: {
      ...kept,
      // Of orders that were never obeyed, none may be skipped.
      ordersApplied: signed ? kept.ordersApplied : 0,
      journalHash: null,
      baseCheck: null,
      redBase: null,
      headCheck: null,
      refusedPush: null,
    },
  };
}

/** The state of a lane of which only a cache keeps one. Approvals are asked again; a pause and a conversation count if who has the agent's key wrote them. */
export function signedParts(state: LaneState, signed: boolean): CachedState {
  const known = Object.entries(state.tasks).map(([id, task]) => {
    return [id, { ...task, approval: undefined, retried: signed ? task.retried : undefined }] as const;
  });
  const tasks = Object.fromEntries(known.filter(([, task]) => isBegun(task) || task.retried));
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
      ...(!signed && hasConversation(state) ? ['a conversation'] : []),
    ],
  };
}

/** The state of the place that decides but takes no writes any more, with the safe parts of what a run saved elsewhere since. */
export function withSafeParts(state: LaneState, since: LaneState): LaneState {
  const { circuit, windows, signals, ledger, sequence, savedAt, park, currentTask, lastRun, lastIteration } = since;
  const parts = { circuit, providers: since.providers, windows, signals, ledger, sequence, savedAt };
  const tasks = withEach(since.tasks, Object.keys({ ...state.tasks, ...since.tasks }), (task, id) => {
    const { approval, answer, retried } = progressOf(state.tasks, id);
    return { ...task, approval, answer, retried };
  });
  return { ...state, ...parts, tasks, park, currentTask, lastRun, lastIteration, feedback: since.feedback };
}
