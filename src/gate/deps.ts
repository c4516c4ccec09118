import type { Config, RunContext } from '../config/config.ts';
import type { LeftCircuit } from '../core/others/left-circuit.ts';
import type { LaneId } from '../core/tasks/ids.ts';
import type { Examine } from '../ports/examiner.ts';
import type { Forge } from '../ports/forge.ts';
import type { FoundStart } from './lane/start.ts';
import type { Clock, Log } from '../ports/machine.ts';
import type { Remote, Repository } from '../ports/repository.ts';
import type { StateStore } from '../ports/state.ts';

/** What the gate needs of the world. */
export interface GateDeps {
  readonly config: Config;
  readonly context: RunContext;
  readonly forge: Forge;
  readonly repository: Pick<Repository, 'missing' | 'problems' | 'readTexts' | 'namesOf' | 'namesAtRoot' | 'openLane'>;
  readonly remote: Pick<Remote, 'branches' | 'pushObstacle' | 'deleteBranch'>;
  /** Where a lane's branch begins this time. `lastHead`: what was published of it last; null: nothing. */
  readonly findStart: (lane: {
    readonly branch: string;
    readonly remoteHead: string | null;
    readonly lastHead: string | null;
  }) => Promise<FoundStart>;
  readonly store: StateStore;
  readonly examine: Examine;
  readonly clock: Clock;
  readonly log: Log;
  /** Reads the circuit that another Ralph left in the checkout as the job made it; null: there is none. */
  readonly readLeftCircuit: () => Promise<Omit<LeftCircuit, 'hash'> | null>;
  /** Text → the same text without secrets. */
  readonly redact: (text: string) => string;
  /** Text → its hash, in hex digits. */
  readonly sha256: (text: string) => string;
  /** Environment variables that a pipeline may name. */
  readonly variables: Readonly<Record<string, string>>;
  /** UUID of this run's process tree. */
  readonly runTag: string;
  /** Called before a lane is claimed: whoever ends this run from then on must give it back. */
  readonly claiming: (lane: LaneId) => void;
}
