import type { IsolationFacts } from '../../core/isolation/probe.ts';
import type { World } from '../world.ts';
import { createNoIsolation, type Isolation } from './isolation.ts';

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
