import { subjectOfLane, withKnownNeeds } from '../../people/notifications.ts';
import { reconsiderBase, type VerificationSubject } from '../verification.ts';
import type { LaneState } from '../state/state.ts';
import { withAllFailures } from './red-base.ts';

/**
 * Returns the state of a lane that begins on a base on which `verify` fails, as another lane has found: no call is
 * made unless a person asks for one. Without a call, people who were notified there are not notified again.
 */
export function withKnownRedBase(
  state: LaneState,
  others: readonly LaneState[],
  now: { readonly asked: boolean; readonly subject: VerificationSubject; readonly at: number },
): LaneState {
  const other = others.find(({ redBase }) => redBase?.stage === 'tried' && redBase.commands === now.subject.commands);
  if (other === undefined) return state;
  const { redBase, baseVerification } = reconsiderBase(other, { ...now, verifies: true });
  const known = { ...state, redBase: redBase === null ? null : withAllFailures(redBase), baseVerification };
  const isTold = redBase?.stage === 'tried' && other.notified.some(({ kind }) => kind === 'base_is_red');
  return withKnownNeeds(known, isTold ? [{ kind: 'base_is_red', about: subjectOfLane(state.lane) }] : [], now.at);
}
