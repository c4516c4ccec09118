import { withKnownRedBase } from '../../core/lane/base/known-base.ts';
import type { LaneState } from '../../core/lane/state/state.ts';
import { buildVerificationSubject, reconsiderBase } from '../../core/lane/verification.ts';
import { listLanesOnRedBase, type Snapshot } from '../../core/snapshot/snapshot.ts';
import { getProgress } from '../../core/tasks/queue.ts';
import { isSettled, type Task } from '../../core/tasks/task.ts';
import type { IntakeLane } from '../../handover/intake.ts';
import type { GateDeps } from '../deps.ts';
import type { WorkRequest } from '../tasks/sources.ts';

/**
 * Returns the lane's state with what is known now about a base on which `verify` fails. A lane that begins on the base,
 * or into which the base is merged because it conflicts, also knows it from the other lanes.
 */
export async function reconsiderRedBase(
  deps: GateDeps,
  {
    request: { asked: isOrdered, purpose },
    lane,
    tasks,
    snapshot,
  }: {
    readonly request: Pick<WorkRequest, 'asked' | 'purpose'>;
    readonly lane: IntakeLane;
    readonly tasks: readonly Task[];
    readonly snapshot: Snapshot | null;
  },
  state: LaneState,
): Promise<LaneState> {
  const { verify, policy } = deps.config;
  const { redBase } = state;
  const asked = isOrdered || (purpose.kind === 'answers' && purpose.of === 'person');
  const isMerged = tasks.some(
    ({ id, source }) =>
      source.kind === 'feedback' && source.on.kind === 'conflict' && !isSettled(getProgress(state.tasks, id)),
  );
  const begins = redBase === null && (lane.start.kind !== 'continue' || isMerged) && policy.verifies;
  const others = begins && snapshot !== null ? listLanesOnRedBase(snapshot, lane.id) : [];
  if (redBase === null && others.length === 0) return state;
  const isHeld = redBase?.stage === 'tried' && !asked && policy.verifies;
  const tip = isHeld || begins ? (await deps.remote.branches(lane.baseBranch))[lane.baseBranch] : undefined;
  const subject = buildVerificationSubject(verify, { commit: tip ?? '', sha256: deps.sha256 });
  const now = { asked, subject, at: deps.clock.now() };
  return begins ? withKnownRedBase(state, others, now) : reconsiderBase(state, { ...now, verifies: policy.verifies });
}
