import { join } from 'node:path';
import { leaseMs, type Lease } from '../core/sharing/lease.ts';
import type { BudgetStore, CellStore, CopyStore, StateStore } from '../ports/state.ts';
import { remoteUrl, systemClock, type Patience, type World } from './world.ts';

/** The lanes' cells on a git ref. */
export async function openCells(world: World, patience: Patience | null): Promise<CellStore> {
  const { createRefCells } = await import('../git/refs/ref-cells.ts');
  const { config, context, environment, runFolder } = world;
  return createRefCells({
    url: remoteUrl(context),
    access: { kind: 'token', token: config.githubToken },
    workFolder: join(runFolder, 'cells'),
    env: environment,
    now: systemClock.now,
    ...(patience === null ? {} : { timeoutMs: patience.gitCommandMs }),
  });
}

/** The state store that the input asks for; `cells` is null where the cache alone keeps it. */
export async function openStore(world: World, cells: CellStore | null): Promise<StateStore> {
  const [{ createLayeredStore }, { createGuardedStore }] = await Promise.all([
    import('../state/layered-store.ts'),
    import('../state/guarded-store.ts'),
  ]);
  const guarded =
    cells === null ? null : createGuardedStore({ cells, lease: () => leaseOf(world), now: systemClock.now });
  const copies = world.config.stateStore === 'ref' ? null : { place: 'cache', store: await openCache(world) };
  return createLayeredStore({ guarded, copies, now: systemClock.now });
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
    durationMs: leaseMs(config.policy.maxRunMs),
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
    log: { warning: world.log.warning, debug: world.debug },
  });
}
