import type { Config, RunContext } from '../config/config.ts';
import type { StoredRun } from '../core/snapshot/stored-run.ts';
import type { LaneState } from '../core/lane/state/state.ts';
import type { Forge } from '../ports/forge.ts';
import type { Clock, Log, SendWebhook } from '../ports/machine.ts';
import type { Remote } from '../ports/remote.ts';
import type { StateStore, SealedTranscript } from '../ports/state.ts';

/** The publisher's dependencies on the outside world. No code of the repository runs here. */
export interface PublishDeps {
  readonly config: Config;
  readonly context: RunContext;
  readonly forge: Forge;
  readonly remote: Pick<Remote, 'push' | 'sign' | 'deleteBranch' | 'branches'>;
  readonly store: Pick<StateStore, 'lastSeen' | 'read' | 'restore' | 'update' | 'save'>;
  /** The person who asked for this run by name, if any, and the issue or pull request of the request. */
  readonly asked: { readonly by: string | null; readonly thread: number | null };
  /** UUID of this run's process tree, which identifies the run's reservations. */
  readonly runTag: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Returns the text without secrets. */
  readonly redact: (text: string) => string;
  /** Sends messages to the user's webhook; null without a webhook. */
  readonly webhook: SendWebhook | null;
  /** Returns the hash of a text in hex digits. */
  readonly sha256: (text: string) => string;
  /** Returns the stored transcripts of a lane's conversations, or null if none. */
  readonly exportSessions: (state: LaneState) => Promise<SealedTranscript | null>;
  /** Returns the run's journal in its stored form, up to the line with this hash; returns null without that line. */
  readonly packedJournal: (lastHash: string | null) => Promise<string | null>;
  /** Keeps the receipt of a run as a file of the job, if the user wants that. */
  readonly keepReceipt: (run: StoredRun) => Promise<void>;
  /** The reason why the state must not be saved, as a sentence part, or null if it may be saved. */
  readonly unsaved: string | null;
  /** Time limit of each step whose port sets none of its own, in ms; null means no limit. */
  readonly stepWithinMs: number | null;
}
