import { existsSync, readdirSync } from 'node:fs';
import type { IsolationFacts } from '../../core/isolation/probe.ts';
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
