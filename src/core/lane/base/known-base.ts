import { reconsiderBase, type VerificationSubject } from '../verification.ts';
import type { LaneState } from '../state/state.ts';
import { withAllFailures } from './red-base.ts';

/**
 * Returns the state of a lane that begins on a base on which `verify` fails, as another lane has found: no call is
 * made unless a person asks for one.
 */
export function withKnownRedBase(
  state: LaneState,
  others: readonly LaneState[],
  now: { readonly asked: boolean; readonly subject: VerificationSubject; readonly at: number },
): LaneState {
  const other = others.find(({ redBase }) => redBase?.stage === 'tried' && redBase.commands === now.subject.commands);
  if (other === undefined) return state;
  const { redBase, baseVerification } = reconsiderBase(other, { ...now, verifies: true });
  return { ...state, redBase: redBase === null ? null : withAllFailures(redBase), baseVerification };
}
