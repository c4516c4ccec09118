import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { emptyRecord, serializeRecord } from '../../../src/core/sharing/lane-record.ts';
import { claimRun, nextNumber, releaseRun } from '../../../src/home/run-claim.ts';
import { checkoutCells } from '../../../src/wiring/home/checkout-state.ts';
import { openPlaces } from '../../../src/wiring/lane-places.ts';
import { leaseOf } from '../core/sharing/lease-fixtures.ts';
import { put } from '../state/cell-fixtures.ts';

/** A checkout whose queue is held by run 3 of this process. */
async function heldCheckout() {
  const folder = await mkdtemp(join(tmpdir(), 'ralph-claim-'));
  execFileSync('git', ['init', '--quiet'], { cwd: folder });
  const cells = checkoutCells(folder);
  const lease = leaseOf('tag', { runId: 'local', runAttempt: 3, acquiredAt: Date.now() });
  await put(cells, 'queue', serializeRecord({ ...emptyRecord('queue'), lease }));
  const of = { runTag: 'tag', folder: '', startedAt: 0, runFolderOf: () => '/nowhere' };
  await put(cells, 'run', JSON.stringify({ ...deadClaim, number: 2 }));
  const { claim } = await claimRun(cells, of);
  return {
    cells,
    claim,
    lease: async () => {
      const opened = await openPlaces({ folder, remote: null });
      if (opened.kind === 'missing') throw new Error(opened.why);
      const restored = await opened.places[0]?.store.restore('queue');
      return restored !== undefined && 'lease' in restored ? restored.lease : 'unknown';
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

const { pid } = spawnSync('true');
const deadClaim = {
  ...{ version: 1, number: 3, pid, birth: null, host: hostname(), runTag: 'tag', runFolder: '/nowhere', folder: '' },
  ...{ startedAt: 0, isOver: false },
};

describe('what the last run of a checkout holds, for somebody who only looks', () => {
  test('is held while it lives', async () => {
    await using held = await heldCheckout();
    expect(held.claim.number).toBe(3);
    expect(await held.lease()).toMatchObject({ runTag: 'tag' });
    // Not a later one than that of the lease.
    expect(await nextNumber(held.cells)).toBe(1);
  });

  test('is free once it was killed', async () => {
    await using held = await heldCheckout();
    await put(held.cells, 'run', JSON.stringify(deadClaim));
    expect(await held.lease()).toBeNull();
    expect(await nextNumber(held.cells)).toBe(4);
  });

  test('is free once it has ended', async () => {
    await using held = await heldCheckout();
    await releaseRun(held.cells, held.claim);
    expect(await held.lease()).toBeNull();
    expect(await nextNumber(held.cells)).toBe(4);
  });
});
