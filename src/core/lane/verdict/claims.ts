import type { Analysis } from '../../analysis/analysis.ts';
import type { Evidence } from '../../evidence.ts';
import { hasAgentChangedContent } from '../../pipeline/step-record.ts';
import { getProgress } from '../../tasks/queue.ts';
import type { QueuedTask } from '../../tasks/task.ts';
import type { ClassifiedDenial } from '../denials.ts';
import type { LaneState } from '../state/state.ts';

export interface IterationFacts {
  readonly task: QueuedTask;
  /** All tasks of the lane, including the current one. */
  readonly tasks: readonly QueuedTask[];
  readonly analysis: Analysis;
  readonly denials: readonly ClassifiedDenial[];
  readonly evidence: Evidence;
  readonly startedAt: number;
}

/**
 * Returns true if the iteration's task is claimed to be done: by its mark if its file lists it, otherwise by the status
 * block.
 */
export function claimsTask({
  analysis,
  evidence: { checklist },
}: Pick<IterationFacts, 'analysis' | 'evidence'>): boolean {
  return checklist === null || checklist.current === null ? claimsDone(analysis) : checklist.current === 'done';
}

/** Returns true if the task's row in its file is marked as done. */
export function isTaskMarkedDone({ evidence: { checklist } }: Pick<IterationFacts, 'evidence'>): boolean {
  return checklist?.current === 'done';
}

/** Returns true if the task's row was already marked before the iteration. */
export function wasMarkedBefore({ evidence: { checklist } }: Pick<IterationFacts, 'evidence'>): boolean {
  return checklist?.current === 'done' && checklist.wasMarked;
}

/** Returns true if the status block claims that the task is done. */
export function claimsDone({ signal }: Analysis): boolean {
  return (signal.tasksCompleted ?? 0) >= 1 || signal.status === 'COMPLETE' || signal.exitSignal === true;
}

/** Returns true if the agent claims that everything is done. */
export function claimsEverything({ analysis: { signal, completionIndicator }, evidence }: Claiming): boolean {
  return signal.exitSignal === true || (completionIndicator && signal.exitSignal !== false) || isMarkedDone();

  /**
   * Returns true if a marker file claims that everything is done. A status block overrules it, because it may be from
   * an earlier iteration.
   */
  function isMarkedDone(): boolean {
    return evidence.doneMarker !== null && signal.from !== 'block';
  }
}

interface Claiming {
  readonly analysis: Pick<Analysis, 'signal' | 'completionIndicator'>;
  readonly evidence: Pick<Evidence, 'doneMarker'>;
}

/** Returns true if the content has changed since the task was begun. */
export function hasChangedSinceStart(state: LaneState, { task, evidence }: IterationFacts): boolean {
  const started = getProgress(state.tasks, task.id).startedTree ?? evidence.before.tree;
  // If the agent has changed nothing so far, changes by commands are not the task's work.
  return evidence.after.tree !== started && (started !== evidence.before.tree || hasChangedContent(evidence));
}

/** Returns true if a merge was made, even one that leaves the content unchanged. */
export function hasMergedBase({ merge, steps }: Evidence): boolean {
  return merge === 'made' && hasAgentChangedContent(steps);
}

/** Returns true if the iteration's agent changed content and the content still differs at the iteration's end. */
export function hasChangedContent({ before, after, steps }: Evidence): boolean {
  return before.tree !== after.tree && hasAgentChangedContent(steps);
}
