import type { Config } from '../config/config.ts';
import { initialState, parseState, probeState, type LaneId, type LaneState } from '../core/state.ts';
import type { Task, TaskProgress } from '../core/tasks/task.ts';
import type { StateStore } from '../ports.ts';
import { UserError } from '../user-error.ts';

/** A lane's state as this run begins with it. */
export interface RestoredLane {
  readonly state: LaneState;
  readonly sessionFolder: string | null;
  /** One line for people: where the state came from. */
  readonly note: string;
  readonly warnings: readonly string[];
}

/** Restores a lane's state. `expected`: the lane's branch exists, so a missing state is a loss and gets one probe, not a clean slate. */
export async function restoreState(request: { readonly lane: LaneId; readonly expected: boolean; readonly config: Config; readonly store: StateStore; readonly now: number }): Promise<RestoredLane> {
  const { lane, expected, config, store, now } = request;
  if (config.stateStore === 'none') return { state: initialState(lane, now), sessionFolder: null, note: 'not kept (state-store: none)', warnings: [] };

  const restored = await store.restore(lane);
  if (restored.kind === 'found') {
    const parsed = parseState(restored.document, lane);
    switch (parsed.kind) {
      case 'state':
        return { state: parsed.state, sessionFolder: restored.sessionFolder, note: `restored #${String(parsed.state.sequence)} (${restored.origin})`, warnings: parsed.problems };
      case 'newer':
        throw new UserError('configuration', `The state of lane ${lane} was written by a newer version of this action (state version ${String(parsed.version)}). Use that version in \`uses:\`, or delete the cache entries ralph-state-*.`);
      case 'unreadable':
        return lost(lane, now, `unreadable (${restored.origin}): ${parsed.why}`);
    }
  }
  const why = restored.kind === 'absent' ? 'no entry in the cache' : restored.why;
  if (expected) return lost(lane, now, `lost: ${why}`);
  const note = restored.kind === 'absent' ? 'none yet (first run of this lane)' : `none (${why})`;
  return { state: initialState(lane, now), sessionFolder: null, note, warnings: restored.kind === 'absent' ? [] : [`The state could not be restored: ${why}. The lane has no branch yet, so this counts as its first run.`] };
}

function lost(lane: LaneId, now: number, note: string): RestoredLane {
  return { state: probeState(lane, now), sessionFolder: null, note, warnings: [`The lane's branch exists but its state is ${note}. Circuit, limits and session are unknown, so the run begins with one probe iteration.`] };
}

/** Forgets progress that does not hold any more: work that is no longer on a branch, and tasks that a person asked for again by name. */
export function reopenProgress(state: LaneState, now: { readonly tasks: readonly Task[]; readonly workIsLost: boolean; readonly requested: 'by-name' | 'by-queue' }): LaneState {
  const named = new Set(now.requested === 'by-name' ? now.tasks.map((task) => task.id) : []);
  const holds = ([id, progress]: [string, TaskProgress]): boolean => {
    if (now.workIsLost && (progress.state === 'done' || progress.state === 'in-progress')) return false;
    return !(named.has(id) && progress.state !== 'in-progress' && progress.state !== 'todo');
  };
  return { ...state, tasks: Object.fromEntries(Object.entries(state.tasks).filter(holds)) };
}
