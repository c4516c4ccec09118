import type { Config, RunContext } from '../config/config.ts';
import type { LaneId } from '../core/lane/state.ts';
import type { Forge } from '../ports/forge.ts';
import type { Log } from '../ports/machine.ts';
import type { Remote, Repository } from '../ports/repository.ts';
import type { Holder } from './lane/claim.ts';

/** What the gate needs of the world. */
export interface GateRun extends Holder {
  readonly config: Config;
  readonly context: RunContext;
  readonly forge: Forge;
  readonly repository: Repository;
  readonly remote: Remote;
  readonly log: Log;
  /** Told before a lane is claimed: whoever ends this run from then on must let it go. */
  readonly claiming: (lane: LaneId) => void;
}
