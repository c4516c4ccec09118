import { noFeedback } from '../../../src/core/feedback/memory.ts';
import type { OpenPlaces, StatePlace } from '../../../src/cli/lane/read-lane.ts';
import { emptyBudget, type Budget } from '../../../src/core/sharing/budget.ts';
import { createLaneRecord, serializeRecord, type LaneRecord } from '../../../src/core/sharing/lane-record.ts';
import type { Lease } from '../../../src/core/sharing/lease.ts';
import { createInitialState, type LaneState } from '../../../src/core/lane/state/state.ts';
import { serializeState } from '../../../src/core/lane/state/serialize-state.ts';
import { emptySnapshot, parseLaneIn, listLanes, withBudget } from '../../../src/core/snapshot/snapshot.ts';
import { createSnapshotStore } from '../../../src/state/snapshot-store.ts';
import { createMemoryPlace, createShared, withFaults, type FaultyPlace } from '../../loop/stage/snapshot-place.ts';
import { noon } from '../core/core-fixtures.ts';

export const MINUTE = 60_000;

export const lease: Lease = {
  runTag: 'm',
  runId: '98',
  runAttempt: 1,
  runUrl: 'https://github.com/acme/shop/actions/runs/98',
  acquiredAt: noon - 10 * MINUTE,
  durationMs: 60 * MINUTE,
};

/** A state in which names of people and reasons contain terminal control sequences. */
export const richState: LaneState = {
  ...createInitialState('queue', noon - 60 * MINUTE),
  sequence: 41,
  circuit: { kind: 'open', totalOpens: 2, reason: 'no_progress', openedAt: noon - 20 * MINUTE, taskId: null },
  session: { id: 's-1', startedAt: noon - 90 * MINUTE, lastUsedAt: noon - 30 * MINUTE, taskId: 'issue-13' },
  tasks: {
    'issue-12': { state: 'done', attempts: 1, startedTree: null, doneCommit: null, reason: null, setAside: null },
    'issue-13': {
      state: 'in-progress',
      attempts: 2,
      startedTree: null,
      doneCommit: null,
      reason: null,
      setAside: null,
    },
  },
  currentTask: 'issue-13',
  feedback: {
    ...noFeedback,
    items: {
      'thread-9': { kind: 'thread', title: 'ann on src/a.ts:3', url: null, rounds: 0, asked: '9', answer: null },
    },
  },
  park: { reason: 'usage_limit', resumeAt: noon + 42 * MINUTE, taskId: null, branchHead: null },
  pause: { by: 'octo\u001b[2Jcat\u202e', at: noon - 5 * MINUTE },
  transitions: Array.from({ length: 12 }, (_, index) => ({
    at: noon - (20 - index) * MINUTE,
    subject: 'pause' as const,
    from: 'working',
    to: 'paused',
    reason: `by person-${String(index)} (comment)`,
  })),
  lastRun: {
    outcome: 'parked',
    reason: 'usage_limit',
    at: noon - 60 * MINUTE,
    published: { head: 'a'.repeat(40), pullRequest: { number: 7, url: 'https://github.com/acme/shop/pull/7' } },
  },
};

export const richBudget: Budget = {
  ...emptyBudget,
  windows: {
    hour: { openedAt: noon - 30 * MINUTE, calls: 12, tokens: 34_500 },
    day: { openedAt: noon - 30 * MINUTE, costUsd: 3.2 },
  },
  reservations: [
    {
      runTag: 'm',
      lane: 'queue',
      runUrl: lease.runUrl,
      runId: '98',
      runAttempt: 1,
      expiresAt: noon + 50 * MINUTE,
      tasks: [],
      calls: 10,
      tokens: 0,
      costUsd: 5,
    },
    {
      runTag: 'old',
      lane: 'issue-1',
      runUrl: '',
      runId: '',
      runAttempt: 1,
      expiresAt: noon - 48 * 60 * MINUTE,
      tasks: [],
      calls: 10,
      tokens: 0,
      costUsd: 5,
    },
  ],
};

/** A place in memory, with its possible faults. */
export interface Place {
  readonly place: FaultyPlace;
  readonly at: StatePlace;
  /** Writes the file of the queue or another lane. */
  put(text: string, lane?: string): void;
  /** Writes any file. */
  write(path: string, text: string): void;
  damageBudget(): void;
  /** Returns the queue's record. */
  record(): LaneRecord;
}

export function createPlace(name: 'ref' | 'directory', budget = emptyBudget): Place {
  const shared = createShared(withBudget(emptySnapshot, budget, noon));
  const place = withFaults({ ...createMemoryPlace(shared), name });
  const pace = { random: () => 0, sleep: () => Promise.resolve() };
  const store = createSnapshotStore({ place, copies: null, conversations: null, now: () => noon, pace });
  const write = (path: string, text: string): void => {
    shared.snapshot = new Map([...shared.snapshot, [path, text]]);
    shared.messages.push('by hand');
    shared.head = `by-hand-${String(shared.messages.length)}`;
  };
  return {
    place,
    at: {
      name,
      store,
      lanes: () =>
        Promise.resolve(
          place.outage === null
            ? { kind: 'lanes', lanes: listLanes(shared.snapshot), trace: shared.head ?? '' }
            : { kind: 'unavailable', why: place.outage },
        ),
    },
    write,
    put: (text, lane = 'queue') => {
      write(`lanes/${lane}.json`, text);
    },
    damageBudget: () => {
      write('usage.json', 'nonsense');
    },
    record: () => {
      const parsed = parseLaneIn(shared.snapshot, 'queue');
      if (parsed.kind !== 'record') throw new Error(`no record: ${JSON.stringify(parsed)}`);
      return parsed.record;
    },
  };
}

/** Creates a place with a lane. */
export function placeWith(
  state: LaneState,
  change: Partial<LaneRecord> = {},
  budget = emptyBudget,
  name: 'ref' | 'directory' = 'ref',
): Place {
  const place = createPlace(name, budget);
  place.put(
    serializeRecord({
      ...createLaneRecord('queue'),
      sequence: state.sequence,
      document: serializeState(state),
      ...change,
    }),
  );
  return place;
}

export function at(...places: readonly Place[]): OpenPlaces {
  return () =>
    Promise.resolve({
      kind: 'open',
      folder: import.meta.dirname,
      places: places.map((place) => place.at),
      person: 'Ann Other',
    });
}
