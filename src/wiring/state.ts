import { join } from 'node:path';
import { jobsOf } from '../config/config.ts';
import type { RefCells } from '../git/refs/ref-cells.ts';
import { leaseMs, type Lease } from '../core/sharing/lease.ts';
import type { BlobStore, BudgetStore, CellStore, CopyStore, Seal, StateStore } from '../ports/state.ts';
import { createSeal, MAX_CLOSED_BYTES, sealWith } from '../state/seal.ts';
import { lastingKeys } from './agents/providers.ts';
import { systemClock, type Patience, type World } from './world.ts';

/** Git refs: the lanes' cells, and their transcripts. */
export interface Refs {
  readonly cells: CellStore;
  readonly carry: RefCells['carry'];
  readonly blobs: BlobStore;
}

export async function openRefs(world: World, patience: Patience | null): Promise<Refs> {
  const [{ createRefCells }, { createRefBlobs }, { batchReads }] = await Promise.all([
    import('../git/refs/ref-cells.ts'),
    import('../git/refs/ref-blobs.ts'),
    import('../state/batched-cells.ts'),
  ]);
  const { config, environment, runFolder } = world;
  const network = {
    url: world.remoteUrl,
    access: { kind: 'token', token: config.githubToken },
    env: environment,
    now: systemClock.now,
    ...(patience === null ? {} : { timeoutMs: patience.gitCommandMs }),
  } as const;
  const cells = createRefCells({ ...network, workFolder: join(runFolder, 'cells') });
  return {
    cells: batchReads(cells),
    carry: cells.carry,
    blobs: createRefBlobs({ ...network, workFolder: join(runFolder, 'blobs'), maxBytes: MAX_CLOSED_BYTES }),
  };
}

/** The agents' keys as what keeps stored things from others. */
export function openSeal({ environment, config, context }: World): Seal {
  const { owner, repo } = context.repository;
  const repository = `${owner}/${repo}`.toLowerCase();
  const keys = lastingKeys(environment, config.agent.order);
  return keys.length === 0
    ? createSeal({ credential: null, repository })
    : sealWith(keys.map((credential) => createSeal({ credential, repository })));
}

/** The state store that the input asks for; `refs` is null where the cache alone keeps it. */
export async function openStore(world: World, refs: Refs | null): Promise<StateStore> {
  const [{ createLayeredStore }, { createGuardedStore }] = await Promise.all([
    import('../state/layered-store.ts'),
    import('../state/guarded-store.ts'),
  ]);
  const guarded =
    refs === null ? null : createGuardedStore({ ...refs, lease: () => leaseOf(world), now: systemClock.now });
  const copies = world.config.stateStore === 'ref' ? null : { place: 'cache', store: await openCache(world) };
  return createLayeredStore({ guarded, copies, blobs: refs?.blobs ?? null, now: systemClock.now });
}

export async function openBudget(cells: CellStore): Promise<BudgetStore> {
  const { createBudgetStore } = await import('../state/budget-store.ts');
  return createBudgetStore(cells, systemClock.now);
}

function leaseOf({ config, context, runTag }: World): Lease {
  return {
    runTag,
    runId: context.runId,
    runAttempt: context.runAttempt,
    runUrl: context.runUrl,
    acquiredAt: systemClock.now(),
    durationMs: leaseMs(config.policy.maxRunMs, jobsOf(config)),
  };
}

/** The Actions cache, each operation in a process of its own. */
async function openCache(world: World): Promise<CopyStore> {
  const { cacheTimeouts, createCacheStore } = await import('../state/cache-store.ts');
  return createCacheStore({
    ...cacheTimeouts,
    workerCommand: [process.execPath, join(world.actionFolder, 'dist', 'cache-worker.js')],
    stagingFolder: join(world.runFolder, 'state'),
    environment: world.environment,
    runId: world.context.runId,
    runAttempt: world.context.runAttempt,
    now: systemClock.now,
    seal: openSeal(world),
    debug: world.debug,
  });
}
