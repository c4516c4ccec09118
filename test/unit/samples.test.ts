import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { type LaneState, parseState, STATE_VERSION } from '../../src/core/lane/state/state.ts';
import { serializeState, withoutCopies } from '../../src/core/lane/state/serialize-state.ts';
import { parseBudget, serializeUsage } from '../../src/core/sharing/budget.ts';
import { withAnswers } from '../../src/core/sharing/waiting-issues.ts';
import { migrateSnapshot } from '../../src/core/snapshot/migration.ts';
import { hasWorkLeft } from '../../src/core/snapshot/going-on.ts';
import {
  listLaneAnswers,
  parseBudgetIn,
  isSnapshotFile,
  parseLaneIn,
  listLanes,
  parseSnapshot,
  listWaitingIssues,
} from '../../src/core/snapshot/snapshot.ts';
import { listStoredRuns } from '../../src/core/snapshot/stored-run.ts';
import { storedTask } from './core/snapshot/fixtures.ts';
import { parseRecord, serializeRecord } from '../../src/core/sharing/lane-record.ts';
import { readRunRecord, type RunRecord, writeRunRecord } from '../../src/run/run-record.ts';
import { ralph } from './cli/fixture.ts';

// These samples were stored by real runs. Later versions must read them with their original meaning, and write them
// back without loss.

const sample = (name: string): string => fileURLToPath(new URL(`../samples/${name}`, import.meta.url));
const textOf = (name: string): string => readFileSync(sample(name), 'utf8');

function stateIn(document: string | null, lane: string): LaneState {
  const parsed = parseState(document ?? '', lane);
  if (parsed.kind !== 'state' || parsed.problems.length > 0) throw new Error(JSON.stringify(parsed));
  return parsed.state;
}

interface StoredState {
  readonly tasks: Readonly<Record<string, object>>;
  readonly approvals?: Readonly<Record<string, object>>;
  readonly [name: string]: unknown;
}

/**
 * Returns a document from before version 8 as it is read now: consent is in the record of its task, and the former
 * lists are gone.
 */
function today7({ tasks, approvals = {}, unmarked, unverified, answers, retried, ...rest }: StoredState): object {
  expect([unmarked ?? [], unverified ?? [], answers ?? {}, retried ?? []]).toEqual([[], [], {}, []]);
  const ids = Object.keys({ ...tasks, ...approvals });
  const records = ids.map((id) => [id, { ...tasks[id], ...(id in approvals ? { approval: approvals[id] } : {}) }]);
  return { ...rest, tasks: Object.fromEntries(records) as object, version: STATE_VERSION };
}

describe("a lane's record", () => {
  test.each<[string, string, object, object]>([
    [
      'lane-record-v1.json',
      'queue',
      { version: 3, sequence: 1, savedBy: '41b58008-2b40-4db8-9168-211c518ce9db' },
      { currentTask: 'issue-1', lastRun: { outcome: 'limit', reason: 'iterations' } },
    ],
    [
      'lane-record-v2.json',
      'queue',
      { version: 3, sequence: 1, savedBy: '27a2fd26-3fe5-47d7-aeef-9c50ca7b08a8' },
      { currentTask: 'issue-1', tasks: { 'issue-2': { state: 'done', attempts: 2 } } },
    ],
    [
      'lane-record-v2-orders.json',
      'queue',
      { sequence: 1, lease: null },
      {
        circuit: { kind: 'open', totalOpens: 1, reason: 'no_progress', openedAt: 1795345956238, taskId: null },
        session: null,
      },
    ],
    [
      'lane-record-v2-parked.json',
      'issue-1',
      { sequence: 1, lease: null, orders: [] },
      { park: { reason: 'usage_limit', resumeAt: 1795353170000, taskId: 'issue-1' }, circuit: { kind: 'closed' } },
    ],
  ])('%s: the record and the document in it', (name, lane, record, state) => {
    const parsed = parseRecord(textOf(name), lane);
    if (parsed.kind !== 'record') throw new Error(JSON.stringify(parsed));
    expect(parsed.record).toMatchObject({ lane, ...record });
    expect(stateIn(parsed.record.document, lane)).toMatchObject({ lane, version: STATE_VERSION, ...state });
  });

  test.each([
    ['lane-record-v2.json', 'queue'],
    ['lane-record-v2-orders.json', 'queue'],
    ['lane-record-v2-parked.json', 'issue-1'],
  ])('%s is written in the version of today, without loss', (name, lane) => {
    const parsed = parseRecord(textOf(name), lane);
    if (parsed.kind !== 'record') throw new Error(JSON.stringify(parsed));
    const { document } = parsed.record;
    const { document: text, ...stored } = JSON.parse(textOf(name)) as { readonly document: string };
    const today = { version: 3, state: JSON.parse(text) as unknown, goesOn: null, restsAt: null, looked: null };
    expect(JSON.parse(serializeRecord(parsed.record))).toEqual({ ...stored, ...today });
    const read = stateIn(document, lane);
    expect(read).toMatchObject(today7(JSON.parse(document ?? '') as StoredState));
    expect(stateIn(serializeState(read), lane)).toEqual(read);
  });

  test('the lease of a run at work is kept, field by field', () => {
    const parsed = parseRecord(textOf('lane-record-v2.json'), 'queue');
    if (parsed.kind !== 'record') throw new Error(JSON.stringify(parsed));
    expect((JSON.parse(serializeRecord(parsed.record)) as { lease: unknown }).lease).toEqual({
      mark: '211aed1d-a7ee-4be3-8c64-5c8071397b21',
      runId: '1005',
      runAttempt: 1,
      runUrl: 'https://github.com/acme/shop/actions/runs/1005',
      acquiredAt: 1795345928723,
      durationMs: 3_600_000,
    });
  });

  test.each<[string, readonly object[]]>([
    [
      'lane-record-v1.json',
      [
        { number: 1795346079207, kind: 'pause', by: 'octo', from: 'comment', at: 1795346079207, task: null, run: null },
        {
          number: 1795346084311,
          kind: 'resume',
          by: 'octo',
          from: 'comment',
          at: 1795346084311,
          task: null,
          run: null,
        },
      ],
    ],
    [
      'lane-record-v2.json',
      [
        { kind: 'pause', task: null, run: '1002' },
        { kind: 'resume', task: null, run: '1004' },
      ],
    ],
    [
      'lane-record-v2-orders.json',
      [
        { kind: 'retry', task: 'issue-1', run: '1002' },
        { kind: 'stop', task: null, run: '1003' },
      ],
    ],
  ])('%s: the orders', (name, orders) => {
    expect(parseRecord(textOf(name), 'queue')).toMatchObject({ record: { orders } });
  });
});

test('lane-record-v3.json: a task that the head failed after, and one that is worked on', () => {
  const parsed = parseRecord(textOf('lane-record-v3.json'), 'queue');
  if (parsed.kind !== 'record') throw new Error(JSON.stringify(parsed));
  const { tasks } = stateIn(parsed.record.document, 'queue');
  expect(tasks).toMatchObject({
    'issue-1': { state: 'in-progress', unproven: true, approval: { by: 'owner' } },
    'issue-2': { state: 'in-progress', approval: { by: 'owner' } },
  });
  expect(tasks['issue-2']?.unproven).toBeUndefined();
});

test('state-v3.json: read without loss, and written in the version of today', () => {
  const stored = JSON.parse(textOf('state-v3.json')) as StoredState;
  const state = stateIn(textOf('state-v3.json'), 'queue');
  expect(state).toMatchObject(today7(stored));
  expect(state).toMatchObject({ ordersApplied: 1795345923066, windows: { hour: { calls: 4 } } });
  expect(stateIn(serializeState(state), 'queue')).toEqual(state);
});

test('budget-v1.json: what is used, and what a run has reserved', () => {
  const text = textOf('budget-v1.json');
  const parsed = parseBudget(text, 1795345930000);
  if (parsed.kind !== 'budget') throw new Error(JSON.stringify(parsed));
  expect(parsed.problem).toBe(null);
  expect(parsed.budget).toMatchObject({
    windows: { hour: { openedAt: 1795345907835, calls: 3, tokens: 4500 }, day: { costUsd: 0.03 } },
    reservations: [{ lane: 'queue', expiresAt: 1795349529048, tasks: ['issue-1'], calls: 10, tokens: 0, costUsd: 0 }],
  });
  expect(JSON.parse(serializeUsage(parsed.budget))).toMatchObject(JSON.parse(text) as object);
});

test.each<[string, readonly object[]]>([
  ['budget-v1-circuits.json', [{ lane: 'issue-7', task: 'issue-7', at: 1795345914249, attempts: 1, isAsked: false }]],
  [
    'budget-v1-waiting.json',
    [
      { lane: 'issue-1', task: 'issue-1', attempts: 1, isAsked: false },
      { lane: 'queue', task: 'issue-7', attempts: 4, isAsked: false },
    ],
  ],
])('%s: what waits for a person or a probe, wherever it goes', (name, expected) => {
  const snapshot = migrateSnapshot(new Map([['budget', textOf(name)]]), 1795345930000);
  expect(parseBudgetIn(snapshot, 1795345930000)).toMatchObject({ problem: null, budget: { reservations: [] } });
  expect(listWaitingIssues(snapshot)).toMatchObject(expected);
});

test('snapshot-v1.json: each lane, what waits, and which lanes continue', () => {
  const snapshot = parseSnapshot(textOf('snapshot-v1.json'));
  const at = { runTag: 'new', runId: '9', runAttempt: 1, now: 1795266000000, allowed: [] };
  expect(listLanes(snapshot).toSorted()).toEqual(['issue-3', 'issue-4', 'queue']);
  expect(listWaitingIssues(snapshot)).toMatchObject([
    { lane: 'issue-3', task: 'issue-3', attempts: 3, isAsked: false },
  ]);
  // The copies in the issue's file are what its lane's state says.
  const { version, approval, progress, ...copy } = JSON.parse(snapshot.get('issues/3.json') ?? '') as {
    readonly [name: string]: object;
  };
  expect(listLaneAnswers(snapshot)).toMatchObject([{ ...copy, progress: { ...progress, approval } }]);
  expect(version).toBe(1);
  expect(['issue-3', 'issue-4', 'queue'].map((lane) => hasWorkLeft(snapshot, lane, at))).toEqual([true, true, false]);
  for (const lane of listLanes(snapshot)) {
    const parsed = parseLaneIn(snapshot, lane);
    if (parsed.kind !== 'record') throw new Error(JSON.stringify(parsed));
    const { tasks } = stateIn(parsed.record.document, lane);
    expect(Object.values(tasks).map(({ approval }) => approval?.by)).toEqual(Object.keys(tasks).map(() => 'owner'));
  }
});

test('snapshot-v1-copies.json: the copy of an answer in another lane gives way to the state of its own lane', () => {
  const snapshot = parseSnapshot(textOf('snapshot-v1-copies.json'));
  const answers = listLaneAnswers(snapshot);
  expect(answers).toMatchObject([{ lane: 'queue', task: 'issue-1', progress: { state: 'failed', attempts: 1 } }]);
  const parsed = parseLaneIn(snapshot, 'issue-1');
  if (parsed.kind !== 'record') throw new Error(JSON.stringify(parsed));
  const state = stateIn(parsed.record.document, 'issue-1');
  expect(state.tasks['issue-1']).toMatchObject({ state: 'failed', answer: { lane: 'queue' } });
  expect(withAnswers(state, answers, []).tasks['issue-1']).toMatchObject({
    state: 'failed',
    answer: { lane: 'queue' },
  });
  expect(withoutCopies(state).tasks['issue-1']).toMatchObject({ state: 'todo', attempts: 0 });
  expect(withAnswers(withoutCopies(state), answers, [])).toEqual(withAnswers(state, answers, []));
});

test('stored-run-v1.json: a run without what later versions record, and with its journal', () => {
  const [run] = listStoredRuns(new Map([['runs/1.1.issue-1.json', textOf('stored-run-v1.json')]]));
  expect(run).toEqual({
    ...(JSON.parse(textOf('stored-run-v1.json')) as object),
    unpriced: null,
    version: 2,
    tasks: [storedTask({ title: 'Title 1' })],
    ...{ branch: null, baseBranch: null, model: null, isolation: null, requests: null, journalHash: null },
  });
  expect(run?.journal).toMatch(/^H4sI/);
});

describe('what earlier versions kept in texts of their own is one snapshot', () => {
  const now = 1795345930000;
  const lanes = [
    ['lane-record-v1.json', 'queue'],
    ['lane-record-v2.json', 'queue'],
    ['lane-record-v2-orders.json', 'queue'],
    ['lane-record-v2-parked.json', 'issue-1'],
  ] as const;
  const budgets = ['budget-v1.json', 'budget-v1-circuits.json', 'budget-v1-waiting.json'] as const;

  test.each(lanes.flatMap(([name, lane]) => budgets.map((budget) => [name, lane, budget] as const)))(
    '%s of %s, and %s',
    (name, lane, budget) => {
      const snapshot = migrateSnapshot(
        new Map([
          [lane, textOf(name)],
          ['budget', textOf(budget)],
        ]),
        now,
      );
      expect(parseLaneIn(snapshot, lane)).toEqual(parseRecord(textOf(name), lane));
      expect(parseBudgetIn(snapshot, now)).toEqual(parseBudget(textOf(budget), now));
      expect(listWaitingIssues(snapshot)).toHaveLength({ [budgets[0]]: 0, [budgets[1]]: 1, [budgets[2]]: 2 }[budget]);
      expect([...snapshot.keys()].filter((path) => !isSnapshotFile(path))).toEqual([]);
    },
  );

  test('a state of each version in a record', () => {
    for (const version of [1, 2, 3, 4, 5, 6, 7, 8]) {
      const document = textOf(`state-v${String(version)}.json`);
      const { lane } = JSON.parse(document) as { readonly lane: string };
      const record = { version: 2, lane, sequence: 7, document, savedBy: 'old', lease: null, orders: [] };
      const parsed = parseLaneIn(migrateSnapshot(new Map([[lane, JSON.stringify(record)]]), now), lane);
      if (parsed.kind !== 'record') throw new Error(JSON.stringify(parsed));
      expect(stateIn(parsed.record.document, lane)).toEqual(stateIn(document, lane));
    }
  });

  test('the lanes themselves say which lanes continue, and whose pull request was looked after', () => {
    const budget = { ...(JSON.parse(textOf('budget-v1-waiting.json')) as object), unfinished: ['issue-3'] };
    const more = { ...budget, unanswered: ['issue-4'], looked: [{ lane: 'issue-3', seen: 'a b', at: now }] };
    const snapshot = migrateSnapshot(new Map([['budget', JSON.stringify(more)]]), now);
    expect(listWaitingIssues(snapshot)).toHaveLength(2);
    expect(parseLaneIn(snapshot, 'issue-3')).toMatchObject({
      record: { goesOn: 'unfinished', looked: { seen: 'a b', at: now }, document: null },
    });
    expect(parseLaneIn(snapshot, 'issue-4')).toMatchObject({ record: { goesOn: 'unanswered' } });
  });

  test('what cannot be read, or is of a newer version, stays as it is', () => {
    const snapshot = migrateSnapshot(
      new Map([
        ['queue', 'garbage'],
        ['issue-1', '{"version":9}'],
        ['budget', '{"version":2}'],
      ]),
      now,
    );
    expect(parseLaneIn(snapshot, 'queue').kind).toBe('unreadable');
    expect(parseLaneIn(snapshot, 'issue-1')).toEqual({ kind: 'newer', version: 9 });
    expect(parseBudgetIn(snapshot, now)).toEqual({ kind: 'newer', version: 2 });
  });
});

const KEY = Buffer.alloc(32, 'k');

describe("a run's record, from main to post", () => {
  function recordIn(name: string): RunRecord | null {
    const folder = mkdtempSync(join(tmpdir(), 'ralph-record-'));
    try {
      writeRunRecord(folder, JSON.parse(readFileSync(sample(name), 'utf8')) as RunRecord, KEY);
      return readRunRecord(folder, KEY);
    } finally {
      rmSync(folder, { recursive: true });
    }
  }

  test.each<[string, object, object]>([
    [
      'run-record-work.json',
      { stage: 'work', startedAt: 1795345926438 },
      { tasks: [{ id: 'issue-2' }, { id: 'issue-1' }], outcome: { kind: 'cancelled', reason: 'killed' } },
    ],
    [
      'run-record-ended.json',
      { stage: 'ended', startedAt: 1795345902462 },
      { journal: [{ taskId: 'issue-2' }, { taskId: 'issue-2' }, { taskId: 'issue-1' }], outcome: { kind: 'limit' } },
    ],
  ])('%s', (name, record, work) => {
    expect(recordIn(name)).toMatchObject({ version: 2, ...record, work: { lane: { id: 'queue' }, ...work } });
  });
});

describe('a journal is replayed with the same decisions', () => {
  test.each<[string, string]>([
    [
      'journal-limit.jsonl',
      `Journal of queue, started 2026-11-22T11:11:45.801Z, 3 iterations.
    1  issue-2: Add a product · progress, circuit closed
    2  issue-2: Add a product · progress, task done, circuit closed
    3  issue-1: Add a farewell · progress, circuit closed
End: limit (iterations)

4 decisions repeated: no difference.`,
    ],
    [
      'journal-complete.jsonl',
      `Journal of queue, started 2026-11-22T11:12:17.037Z, 1 iteration.
    1  issue-1: Add a farewell · progress, task done, circuit closed
End: complete (plan_complete)

2 decisions repeated: no difference.`,
    ],
    [
      'journal-cancelled.jsonl',
      `Journal of queue, started 2026-11-22T11:12:08.722Z, 1 iteration.
    1  issue-1: Add a farewell · no progress, circuit closed
End: cancelled (signal)

2 decisions repeated: no difference.`,
    ],
    [
      'journal-killed.jsonl',
      `Journal of queue, started 2026-11-22T11:12:25.680Z, 1 iteration.
    1  issue-1: Count · progress, circuit closed
The journal has no end: the run was killed, failed, or still continues.

1 decision repeated: no difference.`,
    ],
    [
      'journal-halted.jsonl',
      `Journal of queue, started 2026-11-22T11:12:33.030Z, 3 iterations.
    1  issue-1: Greet · no progress, circuit closed
    2  issue-1: Greet · no progress, circuit half-open
    3  issue-1: Greet · no progress, circuit open
End: halted (circuit_open, no_progress)

4 decisions repeated: no difference.`,
    ],
    [
      'journal-parked.jsonl',
      `Journal of issue-1, started 2026-11-22T11:12:53.271Z, 2 iterations.
    1  issue-1: Greet · progress, circuit closed
    2  issue-1: Greet · no progress, circuit closed
End: parked (usage_limit, until 2026-11-22T13:12:50.000Z)

3 decisions repeated: no difference.`,
    ],
    [
      'journal-plan.jsonl',
      `Journal of queue, started 2026-11-22T11:13:34.188Z, 4 iterations.
    1  plan-031e9b6d6b95: Greet · progress, task done, circuit closed
    2  plan-435c835ae7a3: Farewell · progress, task done, circuit closed
    3  plan-e2d1546e66df: Greet in German · progress, circuit closed
    4  plan-e2d1546e66df: Greet in German · progress, task done, circuit closed
End: complete (plan_complete)

5 decisions repeated: no difference.`,
    ],
    // This sample is from before tasks could be in files.
    [
      'journal-before-found.jsonl',
      `Journal of queue, started 2026-11-22T11:14:25.768Z, 3 iterations.
    1  issue-2: Add a product · progress, circuit closed
    2  issue-2: Add a product · progress, task done, circuit closed
    3  issue-1: Add a farewell · progress, circuit closed
End: limit (iterations)

4 decisions repeated: no difference.`,
    ],
    // This sample was played on the core that still knew Claude's tools and rules.
    [
      'journal-denials.jsonl',
      `Journal of queue, started 2026-11-21T12:00:00.000Z, 5 iterations.
    1  issue-1: Title 1 · no progress, only a question, circuit closed
    2  issue-1: Title 1 · progress, circuit closed
    3  issue-1: Title 1 · no progress, circuit closed
    4  issue-1: Title 1 · no progress, denied, circuit half-open
    5  issue-1: Title 1 · no progress, denied, circuit open
End: halted (circuit_open, permission_denied)

6 decisions repeated: no difference.`,
    ],
  ])('%s', async (name, replayed) => {
    const { code, out } = await ralph(['replay', sample(name)]);
    const unchained =
      /\nAn earlier version wrote this journal: its lines carry no hashes\. Hash of the last line: [0-9a-f]{64}/;
    expect(out).toMatch(unchained);
    expect({ code, out: out.replace(unchained, '').trimEnd() }).toEqual({ code: 0, out: replayed });
  });
});
