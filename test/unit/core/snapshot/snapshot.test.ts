import { describe, expect, test } from 'vitest';
import { emptyBudget, type Budget } from '../../../../src/core/sharing/budget.ts';
import { createLaneRecord } from '../../../../src/core/sharing/lane-record.ts';
import {
  parseBudgetIn,
  emptySnapshot,
  isSnapshotFile,
  parseLaneIn,
  listLanes,
  listExaminedPulls,
  parseSnapshot,
  parseRecordIn,
  serializeSnapshot,
  unreadableSnapshot,
  listWaitingIssues,
  withBudget,
  withLane,
  withRecord,
  withWaiting,
  type Snapshot,
} from '../../../../src/core/snapshot/snapshot.ts';
import { HOUR, noon } from '../core-fixtures.ts';

const waits = (issue: number, at = noon) =>
  ({ lane: 'queue', task: `issue-${String(issue)}`, at, attempts: 1, isAsked: false }) as const;
const full: Budget = {
  ...emptyBudget,
  windows: { hour: { openedAt: noon, calls: 3, tokens: 4 }, day: { openedAt: noon, costUsd: 1.5 } },
};
const waiting = [waits(7, noon - 1), waits(12)];
const looked = { seen: 'a b', at: noon };
const kept = withLane(withWaiting(withBudget(emptySnapshot, full, noon), waiting), 'issue-3', (record) => ({
  ...record,
  looked,
}));

test.each([
  ['lanes/queue.json', true],
  ['lanes/issue-12.json', true],
  ['issues/12.json', true],
  ['usage.json', true],
  ['runs/8812093911-2.json', true],
  ['issues/0.json', false],
  ['issues/12/x.json', false],
  ['lanes/../usage.json', false],
  ['.gitattributes', false],
  ['README.md', false],
])('%s is a file of a snapshot: %s', (path, expected) => {
  expect(isSnapshotFile(path)).toBe(expected);
});

describe('the data that all lanes share', () => {
  test('has a file for each issue, and is read back as it was', () => {
    expect([...kept.keys()].toSorted()).toEqual([
      'issues/12.json',
      'issues/7.json',
      'lanes/issue-3.json',
      'usage.json',
    ]);
    expect(parseBudgetIn(kept, noon)).toEqual({ kind: 'budget', budget: full, problem: null });
    expect(listWaitingIssues(kept)).toEqual(waiting);
    expect(listExaminedPulls(kept)).toEqual([{ lane: 'issue-3', ...looked }]);
  });

  test('changes only the files of what changed', () => {
    const next = withWaiting(kept, [waits(7, noon - 1)]);
    expect(next.has('issues/12.json')).toBe(false);
    const same = [...next].filter(([path, text]) => kept.get(path) === text).map(([path]) => path);
    expect(same.toSorted()).toEqual(['issues/7.json', 'lanes/issue-3.json', 'usage.json']);
  });

  test.each<[string, Snapshot]>([
    ['nothing', emptySnapshot],
    ['all of it', kept],
  ])('that is as it was is the very same snapshot: %s', (_, snapshot) => {
    const known = parseBudgetIn(snapshot, noon);
    if (known.kind !== 'budget') throw new Error(known.kind);
    expect(withBudget(snapshot, known.budget, noon)).toBe(snapshot);
    expect(withWaiting(snapshot, listWaitingIssues(snapshot))).toBe(snapshot);
    expect(withLane(snapshot, 'queue', (record) => record)).toBe(snapshot);
  });

  test('leaves what a newer version wrote', () => {
    const newer = new Map([...kept, ['usage.json', '{"version":2}'], ['lanes/issue-3.json', '{"version":9}']]);
    expect(withBudget(newer, emptyBudget, noon)).toBe(newer);
    expect(withLane(newer, 'issue-3', (record) => ({ ...record, looked: null }))).toBe(newer);
    expect(listExaminedPulls(newer)).toEqual([]);
  });

  test('is not what lies under the name of another issue, or cannot be read', () => {
    const odd = new Map([...kept, ['issues/13.json', kept.get('issues/12.json') ?? ''], ['issues/7.json', 'garbage']]);
    expect(listWaitingIssues(odd)).toEqual([waits(12)]);
  });

  test('that cannot be read counts as used up from now on, and is written so', () => {
    const broken = new Map([...kept, ['usage.json', 'garbage']]);
    const found = parseBudgetIn(broken, noon);
    if (found.kind !== 'budget') throw new Error(found.kind);
    expect(found.problem).toContain('cannot be read');
    const written = withBudget(broken, found.budget, noon);
    expect(parseBudgetIn(written, noon + HOUR)).toEqual({ kind: 'budget', budget: found.budget, problem: null });
  });
});

describe('a lane', () => {
  test('without a file has an empty record; one that cannot be read begins again; one of a newer version has none', () => {
    expect(parseLaneIn(emptySnapshot, 'queue')).toEqual({ kind: 'record', record: createLaneRecord('queue') });
    expect(parseRecordIn(new Map([['lanes/queue.json', 'garbage']]), 'queue')).toEqual(createLaneRecord('queue'));
    expect(parseRecordIn(new Map([['lanes/queue.json', '{"version":9}']]), 'queue')).toBeNull();
  });

  test('is one by its name alone', () => {
    const odd = new Map([...withRecord(emptySnapshot, createLaneRecord('queue')), ['lanes/other.json', '{}']]);
    expect(listLanes(odd)).toEqual(['queue']);
  });
});

test('a snapshot as one text is read back; of what cannot be read the counters count as used up', () => {
  expect(parseSnapshot(serializeSnapshot(kept))).toEqual(kept);
  expect(parseSnapshot('{"version":1,"files":{"etc/passwd":"x"}}')).toEqual(emptySnapshot);
  for (const text of ['', 'null', '{"version":2,"files":{}}', '{"version":1,"files":{"usage.json":7}}'])
    expect(parseSnapshot(text)).toBe(unreadableSnapshot);
  expect(parseBudgetIn(unreadableSnapshot, noon)).toMatchObject({ problem: expect.stringContaining('cannot be read') });
});
