import { addIteration } from '../lane/change.ts';
import { hasWorked } from './worked.ts';
import type { LaneState } from '../lane/state.ts';
import type { TaskId } from '../tasks/ids.ts';
import type { JournalEntry } from './journal.ts';

/** The state whose change has one more iteration. `titleOf`: of a task that was finished along with it. */
export function bookEntry(state: LaneState, entry: JournalEntry, titleOf: (id: TaskId) => string): LaneState {
  const { taskId, taskTitle, analysis, evidence, verdict, commit, startedAt, endedAt } = entry;
  const change = addIteration(state.change, {
    taskId,
    title: taskTitle,
    signal: analysis.signal,
    costUsd: analysis.costUsd,
    tokens: analysis.tokens,
    durationMs: Math.max(0, endedAt - startedAt),
    commit,
    agent: hasWorked(entry) ? entry.agent : null,
    verification: evidence.verification.kind,
    overruled: [...verdict.discrepancies, ...verdict.vetoes],
    alsoDone: Object.fromEntries(verdict.alsoDone.map((id) => [id, titleOf(id)])),
  });
  return { ...state, change: { ...change, lines: entry.lines ?? change.lines } };
}
