import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startGitRemote } from '../../../../testbed/git-remote.ts';
import { createInitialState } from '../../../../src/core/lane/state/state.ts';
import { serializeState } from '../../../../src/core/lane/state/serialize-state.ts';
import { reserveUsage } from '../../../../src/core/sharing/budget.ts';
import { claimInSnapshot, finishInSnapshot } from '../../../../src/core/snapshot/changes.ts';
import { parseBudgetIn, emptySnapshot, parseLaneIn, listLanes } from '../../../../src/core/snapshot/snapshot.ts';
import { createSnapshotStore } from '../../../../src/state/snapshot-store.ts';
import { leaseOf } from '../../../unit/core/sharing/lease-fixtures.ts';
import { openState, runGit, TOKEN } from '../git-fixture.ts';

const LANES = 20;

test('20 lanes that claim, reserve, save and settle at once over git all succeed, and the log says what each did', async () => {
  const root = await mkdtemp(join(tmpdir(), 'ralph-contention-'));
  await using server = await startGitRemote({ folder: join(root, 'server'), token: TOKEN });
  const now = Date.now();
  const storeOf = async () =>
    createSnapshotStore({
      place: (await openState(server, root, { timeoutMs: 60_000 })).place,
      copies: null,
      conversations: null,
      now: () => now,
      pace: { random: Math.random, sleep: (ms) => sleep(ms / 4) },
    });
  const work = async (lane: string): Promise<readonly string[]> => {
    const store = await storeOf();
    const lease = leaseOf(lane, { acquiredAt: now });
    const { snapshot } = await store.restore(lane);
    const reservation = {
      ...{ runTag: lane, lane, runUrl: '', runId: lane, runAttempt: 1, expiresAt: now + 3_600_000, tasks: [] },
      ...{ calls: 5, tokens: 0, costUsd: 0 },
    };
    const seen = snapshot ?? emptySnapshot;
    const claimed = await store.update(
      claimInSnapshot({
        lane,
        seen,
        lease,
        now,
        named: [],
        purpose: 'tasks',
        reserve: (budget) => reserveUsage(budget, reservation, now),
      }),
    );
    const before = createInitialState(lane, now);
    const day = { day: new Date(now).toISOString().slice(0, 10), calls: 2, tokens: 0, costUsd: 0, minutes: 0 };
    const after = { ...before, sequence: 1, ledger: [day] };
    const document = serializeState(after);
    const copy = { lane, sequence: 1, document };
    const saved = await store.save(
      { ...copy, transcript: null },
      finishInSnapshot({ ...copy, saver: lease, now, run: { before, after, isPublished: true }, stored: null }),
      lease.runTag,
    );
    return [claimed.kind === 'updated' ? claimed.answer.kind : claimed.kind, saved.kind];
  };
  const lanes = Array.from({ length: LANES }, (_, index) => `issue-${String(index + 1)}`);
  const ends = await Promise.all(lanes.map(work));
  expect(ends).toEqual(lanes.map(() => ['claimed', 'saved']));

  const read = await (await storeOf()).read();
  if (read.kind !== 'snapshot') throw new Error(read.kind);
  expect(listLanes(read.snapshot).toSorted()).toEqual(lanes.toSorted());
  for (const lane of lanes)
    expect(parseLaneIn(read.snapshot, lane)).toMatchObject({ record: { sequence: 1, savedBy: lane, lease: null } });
  expect(parseBudgetIn(read.snapshot, now)).toMatchObject({
    problem: null,
    budget: { reservations: [], windows: { hour: { calls: 2 * LANES } } },
  });
  const log = await runGit(server.repositoryFolder, ['log', '--format=%s', 'refs/ralph/v2/state']);
  expect(log.split('\n')).toHaveLength(2 * LANES);
  expect(log).toMatch(/^issue #7: claimed by run \S+ until /m);
  expect(log).toMatch(/^issue #7: saved as #1 by run /m);
  await runGit(server.repositoryFolder, ['fsck', '--strict']);
  await rm(root, { recursive: true, force: true });
}, 240_000);
