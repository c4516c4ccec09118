import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createLaneRecord } from '../../../src/core/sharing/lane-record.ts';
import { emptySnapshot, parseLaneIn, withRecord } from '../../../src/core/snapshot/snapshot.ts';
import type { NamedTexts } from '../../../src/ports/state.ts';
import { createDirectorySnapshot } from '../../../src/state/directory-snapshot.ts';
import { claimRun, readNextRunNumber, releaseRun } from '../../../src/home/own-folder.ts';
import { createCheckoutFiles } from '../../../src/wiring/home/checkout-state.ts';
import { openPlaces } from '../../../src/wiring/lane-places.ts';
import { leaseOf } from '../core/sharing/lease-fixtures.ts';

/** Creates a checkout in which run 3 of this process holds the queue. */
async function heldCheckout() {
  const folder = await mkdtemp(join(tmpdir(), 'ralph-claim-'));
  execFileSync('git', ['init', '--quiet'], { cwd: folder });
  const files = createCheckoutFiles(folder);
  const lease = leaseOf('tag', { runId: 'local', runAttempt: 3, acquiredAt: Date.now() });
  const from = { kind: 'snapshot', head: null, snapshot: emptySnapshot } as const;
  const snapshot = withRecord(emptySnapshot, { ...createLaneRecord('queue'), lease });
  await createDirectorySnapshot(files, Date.now).write({ from, snapshot, message: 'claimed' });
  const of = { runTag: 'tag', folder: '', startedAt: 0, runFolderOf: () => '/nowhere' };
  await put(files, { ...deadClaim, number: 2 });
  const { claim } = await claimRun(files, of);
  return {
    files,
    claim,
    lease: async () => {
      const opened = await openPlaces({ folder, remote: null });
      if (opened.kind === 'missing') throw new Error(opened.why);
      const read = await opened.places[0]?.store.read();
      const parsed = read?.kind === 'snapshot' ? parseLaneIn(read.snapshot, 'queue') : null;
      return parsed?.kind === 'record' ? parsed.record.lease : 'unknown';
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

async function put(files: NamedTexts, claim: object): Promise<void> {
  const found = await files.read('run');
  await files.write('run', found.kind === 'found' ? found.head : null, JSON.stringify(claim));
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
    // No number after the lease's is in use.
    expect(await readNextRunNumber(held.files)).toBe(1);
  });

  test('is free once it was killed', async () => {
    await using held = await heldCheckout();
    await put(held.files, deadClaim);
    expect(await held.lease()).toBeNull();
    expect(await readNextRunNumber(held.files)).toBe(4);
  });

  test('is free once it has ended', async () => {
    await using held = await heldCheckout();
    await releaseRun(held.files, held.claim);
    expect(await held.lease()).toBeNull();
    expect(await readNextRunNumber(held.files)).toBe(4);
  });
});
