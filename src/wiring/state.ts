import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CopyStore, Seal, StateStore } from '../ports/state.ts';
import { createSeal, MAX_CLOSED_BYTES, combineSeals } from '../state/seal.ts';
import type { UpdatePace, SnapshotStoreOptions } from '../state/snapshot-store.ts';
import { listLastingKeys } from './agents/providers.ts';
import { systemClock, type ServerTimeouts, type World } from './world.ts';

/** The pauses of a real run before it retries an update that other runs overtook. */
export const realPace: UpdatePace = { random: Math.random, sleep };

/** Opens the git refs for the snapshot and the sessions. */
async function openRefs(
  world: World,
  timeouts: ServerTimeouts | null,
): Promise<Pick<SnapshotStoreOptions, 'place' | 'conversations'>> {
  const [{ createRefSnapshot }, { createRefConversations }] = await Promise.all([
    import('../git/refs/ref-snapshot.ts'),
    import('../git/refs/ref-conversations.ts'),
  ]);
  const { config, environment, runFolder } = world;
  const network = {
    url: world.remoteUrl,
    access: { kind: 'token', token: config.githubToken },
    env: environment,
    now: systemClock.now,
    ...(timeouts === null ? {} : { timeoutMs: timeouts.gitCommandMs }),
  } as const;
  return {
    place: createRefSnapshot({ ...network, workFolder: join(runFolder, 'snapshot') }),
    conversations: createRefConversations({
      ...network,
      workFolder: join(runFolder, 'conversations'),
      maxBytes: MAX_CLOSED_BYTES,
    }),
  };
}

/** Creates the seal that protects stored data with the agents' keys. */
export function openSeal({ environment, config, context }: World): Seal {
  const { owner, repo } = context.repository;
  const repository = `${owner}/${repo}`.toLowerCase();
  const keys = config.handoff.login.kind === 'lasting' ? listLastingKeys(environment, config.agent.order) : [];
  return keys.length === 0
    ? createSeal({ credential: null, repository })
    : combineSeals(keys.map((credential) => createSeal({ credential, repository })));
}

/** Opens the state store that the input asks for. */
export async function openStore(world: World, timeouts: ServerTimeouts | null): Promise<StateStore> {
  const { createSnapshotStore } = await import('../state/snapshot-store.ts');
  const { stateStore } = world.config;
  const isKept = stateStore === 'auto' || stateStore === 'ref';
  const refs = isKept ? await openRefs(world, timeouts) : { place: null, conversations: null };
  const isCopied = stateStore === 'auto' || stateStore === 'cache';
  const copies = isCopied ? { place: 'cache', store: await openCache(world) } : null;
  return createSnapshotStore({ ...refs, copies, now: systemClock.now, pace: realPace });
}

/** Opens the Actions cache; each operation runs in a separate process. */
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
