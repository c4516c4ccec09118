import type { LaneId } from '../../core/tasks/ids.ts';
import type { StateStore, Unavailable } from '../../ports/state.ts';

/** A place that keeps lanes' states: `ref` on the remote, `directory` in the checkout. */
export interface StatePlace {
  readonly name: string;
  readonly store: Pick<StateStore, 'read' | 'update'>;
  /** The lanes of which it keeps anything, or that have a branch there. */
  lanes(): Promise<FoundLanes>;
}

/** `trace`: another text whenever a state or a branch there is another one. */
type FoundLanes = { readonly kind: 'lanes'; readonly lanes: readonly LaneId[]; readonly trace: string } | Unavailable;

/** What the state commands have of a checkout: its top folder, its places, at least one but for `ralph status`, and the name of who asks. */
export type OpenedPlaces =
  | { readonly kind: 'open'; readonly folder: string; readonly places: readonly StatePlace[]; readonly person: string }
  /** `folder`: the top of a checkout of which nothing is kept yet, and nothing was named that should be there; null: anything else. */
  | { readonly kind: 'missing'; readonly folder: string | null; readonly why: string };

/** Finds the places of the checkout that holds `folder`; `remote` is the name that was given, null: origin, if there is one. Asks no server. */
export type OpenPlaces = (checkout: {
  readonly folder: string;
  readonly remote: string | null;
}) => Promise<OpenedPlaces>;
