import type { Config, RunContext } from '../config/config.ts';
import type { LaneState } from '../core/lane/state.ts';
import type { Forge } from '../ports/forge.ts';
import type { Clock, Log } from '../ports/machine.ts';
import type { Remote } from '../ports/repository.ts';
import type { StateStore, Transcript } from '../ports/state.ts';

/** What the publisher needs of the world. No code of the repository runs here. */
export interface PublishDeps {
  readonly config: Config;
  readonly context: RunContext;
  readonly forge: Forge;
  readonly remote: Pick<Remote, 'push' | 'deleteBranch' | 'branches'>;
  readonly store: Pick<StateStore, 'restore' | 'update' | 'save'>;
  /** Who asked for this run by name, if it was a person, and on which issue or pull request. */
  readonly asked: { readonly by: string | null; readonly thread: number | null };
  /** UUID of this run's process tree, by which it finds what it reserved. */
  readonly runTag: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Text → the same text without secrets. */
  readonly redact: (text: string) => string;
  /** The transcripts of a lane's conversations as they are stored; null when there is none. */
  readonly exportSessions: (state: LaneState) => Promise<Transcript | null>;
  /** Why the state must not be saved, as a sentence part; null: it may. */
  readonly unsaved: string | null;
  /** The longest that each step may take whose port sets no limit of its own, in ms; null: as long as it needs. */
  readonly stepWithinMs: number | null;
}
