import { MINUTE_MS } from '../../core/countdown.ts';
import type { Work } from '../../handover/intake.ts';
import type { Task } from '../../core/tasks/task.ts';
import type { LoopDeps } from '../deps.ts';

/**
 * Interval in ms between two looks while a call runs. A look takes at most three requests, and GITHUB_TOKEN has 1,000
 * an hour.
 */
const LOOK_EVERY_MS = 2 * MINUTE_MS;

/** A watch over withdrawals by people while a call runs. */
export interface PeopleWatch {
  /** Aborted once people have withdrawn the task, or the lane as a whole. */
  readonly signal: AbortSignal;
  end(): void;
}

/**
 * Watches whether people withdraw the task or the lane of a call, so that the call can be ended. Detects nothing in a
 * job that cannot ask.
 */
export function watchPeople({ lookAtPeople }: Pick<LoopDeps, 'lookAtPeople'>, work: Work, task: Task): PeopleWatch {
  const seen = new AbortController();
  let isLooking = false;
  const look = async (): Promise<void> => {
    if (lookAtPeople === null || isLooking) return;
    isLooking = true;
    const { task: taken, lane } = await lookAtPeople(work, task);
    isLooking = false;
    if (taken !== null || lane !== null) seen.abort();
  };
  const timer = setInterval(() => void look(), LOOK_EVERY_MS);
  return {
    signal: seen.signal,
    end: () => {
      clearInterval(timer);
    },
  };
}
