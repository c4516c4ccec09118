import type { IsolationFacts } from '../../core/isolation/probe.ts';
import type { World } from '../world.ts';
import { notIsolated, type Isolation } from './isolation.ts';

/** An isolation that is made at its first use, and once. */
export interface Isolated {
  readonly open: () => Promise<Isolation>;
  /** null: nothing has been measured. */
  readonly facts: () => IsolationFacts | null;
  /** Does nothing where none was made. */
  readonly close: () => Promise<string | null>;
}

/** For a run that works. */
export function isolatedRun(world: World): Isolated {
  let made: Promise<Isolation> | null = null;
  let isolation: Isolation | null = null;
  return {
    open: () => (made ??= import('./isolate.ts').then(async ({ isolate }) => (isolation = await isolate(world)))),
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

/** For what runs nothing of the lane. */
export const nothingToIsolate: Isolated = {
  open: () => Promise.resolve(notIsolated(null)),
  facts: () => null,
  close: () => Promise.resolve(null),
};
