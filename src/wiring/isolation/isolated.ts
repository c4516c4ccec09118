import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { IsolationFacts } from '../../core/isolation/probe.ts';
import { NO_REMAINS, type SandboxRemains } from '../../core/isolation/sandbox-record.ts';
import type { World } from '../world.ts';
import { createNoIsolation, type Isolation, RESERVATIONS, listSandboxFolders } from './isolation.ts';

/** An isolation that is created once, at its first use. */
export interface LazyIsolation {
  readonly open: () => Promise<Isolation>;
  /** Returns the measured facts, or null if nothing has been measured. */
  readonly facts: () => IsolationFacts | null;
  /** Removes the isolation; does nothing if none was created. */
  readonly close: () => Promise<string | null>;
}

/** Creates the isolation of a run that works on the lane; it is set up when it is first opened. */
export function createRunIsolation(world: World): LazyIsolation {
  let made: Promise<Isolation> | null = null;
  let isolation: Isolation | null = null;
  return {
    open: () =>
      (made ??= import('./isolate.ts').then(async ({ createIsolation }) => (isolation = await createIsolation(world)))),
    facts: () => isolation?.facts() ?? null,
    close: async () =>
      made === null
        ? null
        : made.then(
            (opened) => opened.close(),
            () => null,
          ),
  };
}

/** The isolation of a run that runs no code of the lane. */
export const nothingToIsolate: LazyIsolation = {
  open: () => Promise.resolve(createNoIsolation({ why: null, caches: null })),
  facts: () => null,
  close: () => Promise.resolve(null),
};

/**
 * Removes the sandboxes that dead runs of this user left on this machine, with their users, processes and mounts. Cheap
 * if none, so every run calls it. Never throws.
 */
export async function removeDeadSandboxes(environment: World['environment']): Promise<void> {
  try {
    // Earlier versions called a sandbox a room.
    const isSandboxFolder = (name: string): boolean => /^ralph-(?:sandbox|room)-/.test(name);
    const filled = listSandboxFolders(environment).filter(
      (path) => existsSync(path) && readdirSync(path).some(isSandboxFolder),
    );
    if (filled.length === 0) return;
    const [{ removeAbandoned }, { findRoot }] = await Promise.all([
      import('../../isolation/namespaces/remove.ts'),
      import('../../isolation/namespaces/root.ts'),
    ]);
    for (const agentSandboxes of filled)
      await removeAbandoned(() => findRoot(environment), { places: { agentSandboxes, reservations: RESERVATIONS } });
  } catch {
    // Ignore a failure, because the next run tries again.
  }
}

/** Ends every process with the run tag. */
export async function endAgent(runTag: string): Promise<void> {
  const { endTagged } = await import('../../processes/process-tree.ts');
  await endTagged(runTag);
}

/**
 * Ends all processes in a run's sandboxes (`auto` may have tried several) and removes them, also after main was killed.
 * Returns the remains.
 */
export async function removeRunSandboxes(
  { runFolder }: Pick<World, 'runFolder'>,
  environment: World['environment'],
): Promise<SandboxRemains> {
  const tried = await Promise.allSettled([removeWithoutRoot(runFolder), removeWithRoot(runFolder, environment)]);
  const failed = tried.find((one) => one.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  const remains = tried.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  return {
    processes: remains.flatMap(({ processes }) => processes),
    leftovers: remains.flatMap(({ leftovers }) => leftovers),
  };
}

async function removeWithoutRoot(runFolder: string): Promise<SandboxRemains> {
  if (!existsSync(join(runFolder, 'sandbox.json'))) return NO_REMAINS;
  const { removeRootlessSandbox } = await import('../../isolation/rootless/remove.ts');
  return { processes: await removeRootlessSandbox(runFolder), leftovers: [] };
}

async function removeWithRoot(runFolder: string, environment: World['environment']): Promise<SandboxRemains> {
  if (!['sandbox-record.json', 'room.json'].some((name) => existsSync(join(runFolder, name)))) return NO_REMAINS;
  const [{ removeAgentSandbox }, { buildSandboxPlaces: agentSandboxPlaces }] = await Promise.all([
    import('../../isolation/namespaces/remove.ts'),
    import('./sandbox-place.ts'),
  ]);
  return removeAgentSandbox(runFolder, { environment, places: agentSandboxPlaces(environment) });
}
