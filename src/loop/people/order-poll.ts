import { listOpenOrders, type Order } from '../../core/sharing/orders.ts';
import type { LaneState } from '../../core/lane/state/state.ts';
import { parseRecordIn } from '../../core/snapshot/snapshot.ts';
import type { ReadSnapshot } from '../../ports/state.ts';
import type { LoopDeps } from '../deps.ts';
import { getErrorText } from '../../errors.ts';
import { completeSentence } from '../../core/text/phrase.ts';
import { MINUTE_MS } from '../../core/countdown.ts';
import type { Work } from '../../handover/intake.ts';
import type { Task } from '../../core/tasks/task.ts';

/** Maximum time for the store's answer, in ms, because orders must not delay the next iteration for long. */
const LIMIT_MS = 15_000;

/**
 * Creates a function that asks the store between iterations for people's orders. It returns an empty list if nothing is
 * known, never throws, and warns once about a store that does not answer.
 */
export function createOrderPoll(
  deps: Pick<LoopDeps, 'config' | 'store' | 'log' | 'signal'>,
): (state: LaneState) => Promise<readonly Order[]> {
  const { config, store, log, signal } = deps;
  let isWarned = false;
  return async (state) => {
    if (config.stateStore === 'none') return [];
    const answer = await readWithin(store.read(), signal);
    if (answer.kind === 'snapshot')
      return listOpenOrders(state, parseRecordIn(answer.snapshot, state.lane)?.orders ?? []);
    if (answer.kind === 'unavailable' && !isWarned) {
      isWarned = true;
      log.warning(
        `The run cannot find out whether somebody ordered it to stop, so it continues: ${completeSentence(answer.why)} It asks again after each iteration.`,
      );
    }
    return [];
  };
}

/** Returns the store's answer, or a substitute after the time limit; a cancelled run does not wait for it. */
async function readWithin(asked: Promise<ReadSnapshot>, signal: AbortSignal): Promise<ReadSnapshot> {
  const { promise: given, resolve: giveUp } = Promise.withResolvers<ReadSnapshot>();
  const onCancel = (): void => {
    giveUp({ kind: 'none' });
  };
  const timer = setTimeout(() => {
    giveUp({ kind: 'unavailable', why: `the store did not answer within ${String(LIMIT_MS / 1000)} s` });
  }, LIMIT_MS);
  signal.addEventListener('abort', onCancel, { once: true });
  if (signal.aborted) onCancel();
  try {
    return await Promise.race([asked, given]);
  } catch (error) {
    return { kind: 'unavailable', why: getErrorText(error) };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onCancel);
  }
}

/**
 * Interval in ms between two looks while a call runs. A look takes at most three requests, and GITHUB_TOKEN has 1,000
 * an hour.
 */
const LOOK_EVERY_MS = 2 * MINUTE_MS;

/** A watch over withdrawals by people while a call runs. */
interface PeopleWatch {
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
