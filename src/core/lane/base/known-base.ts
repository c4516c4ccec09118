import { subjectOfLane, withKnownNeeds } from '../../people/notifications.ts';
import { reconsiderBase, type VerificationSubject } from '../verification.ts';
import type { LaneState } from '../state/state.ts';

/**
 * Returns the state of a lane that begins on a base on which `verify` fails, as another lane has found. People know it
 * from there, so that they are not notified again, and no call is made unless a person asks for one.
 */
export function withKnownRedBase(
  state: LaneState,
  others: readonly LaneState[],
  now: { readonly asked: boolean; readonly subject: VerificationSubject; readonly at: number },
): LaneState {
  const other = others.find(({ redBase }) => redBase?.stage === 'tried' && redBase.commands === now.subject.commands);
  if (other === undefined) return state;
  const { redBase, baseVerification } = reconsiderBase(other, { ...now, verifies: true });
  const known = { ...state, redBase, baseVerification };
  const isNotified = other.notified.some(({ kind }) => kind === 'base_is_red');
  const need = { kind: 'base_is_red', about: subjectOfLane(state.lane) } as const;
  return withKnownNeeds(known, isNotified ? [need] : [], now.at);
}
