import { describe, expect, test } from 'vitest';
import {
  emptySnapshot,
  isSnapshotFile,
  parseSnapshot,
  serializeSnapshot,
} from '../../../../src/core/snapshot/snapshot.ts';
import { MAX_RUNS, listStoredRuns, type StoredRun, withRun } from '../../../../src/core/snapshot/stored-run.ts';
import { MINUTE, noon } from '../core-fixtures.ts';
import { storedRun } from './fixtures.ts';

const run = (number: number, own: Partial<StoredRun> = {}): StoredRun =>
  storedRun({ runId: String(number), endedAt: noon + number * MINUTE, ...own });
const all = (runs: readonly StoredRun[]) => runs.reduce(withRun, emptySnapshot);

describe('the runs that a repository remembers', () => {
  test('are files of the snapshot, newest first, and survive being stored', () => {
    const snapshot = all([run(1), run(3), run(2)]);
    expect([...snapshot.keys()].every(isSnapshotFile)).toBe(true);
    expect(listStoredRuns(parseSnapshot(serializeSnapshot(snapshot)))).toEqual([run(3), run(2), run(1)]);
  });

  test('are one each for a run, an attempt and a lane, however often it is published', () => {
    const again = run(1, { costUsd: 1 });
    expect(listStoredRuns(all([run(1), again, run(1, { lane: 'issue-7' }), run(1, { runAttempt: 2 })]))).toHaveLength(
      3,
    );
    expect(listStoredRuns(all([run(1), again]))).toEqual([again]);
  });

  test('lose the oldest journals first, then the oldest runs', () => {
    const journal = 'x'.repeat(48 * 1024);
    const kept = listStoredRuns(all(Array.from({ length: MAX_RUNS + 5 }, (_, index) => run(index + 1, { journal }))));
    expect(kept).toHaveLength(MAX_RUNS);
    expect(kept[0]?.runId).toBe(String(MAX_RUNS + 5));
    expect(kept.filter((one) => one.journal !== null)).toEqual(kept.slice(0, 8));
  });

  test('keep no journal that is too large alone', () => {
    expect(listStoredRuns(all([run(1, { journal: 'x'.repeat(48 * 1024 + 1) })]))).toEqual([run(1)]);
  });

  test.each([
    ['another version', { version: 3 }],
    ['an invalid cost', { costUsd: -1 }],
    ['the name of another run', { runId: '99' }],
  ])('leave out a file with %s', (_, own) => {
    const [[path]] = [...all([run(1)])] as [[string, string]];
    expect(listStoredRuns(new Map([[path, JSON.stringify({ ...run(1), ...own })]]))).toEqual([]);
  });

  test('have no file for an id that GitHub cannot have given', () => {
    expect(all([run(1, { runId: '../../x' })])).toBe(emptySnapshot);
  });
});
