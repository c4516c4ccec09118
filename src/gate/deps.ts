import type { Config, RunContext } from '../config/config.ts';
import type { LaneId } from '../core/tasks/ids.ts';
import type { Forge } from '../ports/forge.ts';
import type { Log } from '../ports/machine.ts';
import type { Remote, Repository } from '../ports/repository.ts';
import type { Holder } from './lane/claim.ts';

/** What the gate needs of the world. */
export interface GateDeps extends Holder {
  readonly config: Config;
  readonly context: RunContext;
  readonly forge: Forge;
  readonly repository: Pick<Repository, 'problems' | 'readTexts' | 'openLane'>;
  readonly remote: Pick<Remote, 'branches' | 'pushObstacle' | 'deleteMerged'>;
  readonly log: Log;
  /** Called before a lane is claimed: whoever ends this run from then on must give it back. */
  readonly claiming: (lane: LaneId) => void;
}
