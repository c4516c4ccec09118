import type { Verification } from '../../evidence.ts';
import { checkOf, isCheckOf, type CheckSubject } from '../check.ts';
import { failsAsBase, redBaseOf } from './red-base.ts';
import type { LaneState } from '../state.ts';

/**
 * The state after `verify` ran on the base. A base that fails in the way that an iteration could not cure holds back the
 * next call as well; one that passes again is to be merged first.
 */
export function recordBaseCheck(state: LaneState, subject: CheckSubject, verification: Verification): LaneState {
  const before = state.redBase;
  const found = redBaseOf(subject, verification);
  const baseCheck = checkOf(subject, verification);
  const checked: LaneState = { ...state, baseCheck };
  if (baseCheck === null) return checked;
  if (found === null) return { ...checked, redBase: before === null ? null : { ...before, stage: 'repaired' } };
  const isSame =
    before?.stage === 'recheck' && before.commands === subject.commands && failsAsBase(before, verification);
  return { ...checked, redBase: { ...found, stage: isSame ? 'tried' : 'found' } };
}

/** True if the base check of this subject is known and needs no run of `verify`. States of earlier versions do not say how a red base failed. */
export function isBaseKnown({ baseCheck, redBase }: LaneState, subject: CheckSubject): boolean {
  if (!isCheckOf(baseCheck, subject)) return false;
  return baseCheck?.kind === 'passed' || (redBase !== null && redBase.stage !== 'recheck');
}

/** The state in which an iteration has tried to cure the red base in vain: no further call is made. */
export function holdForBase(state: LaneState): LaneState {
  return state.redBase === null ? state : { ...state, redBase: { ...state.redBase, stage: 'tried' } };
}

/** The state of a lane that waits for its base, at the start of a run: a person who asks gets one more try, and a base or `verify` that changed is checked again. */
export function reconsiderBase(
  state: LaneState,
  now: { readonly asked: boolean; readonly subject: CheckSubject; readonly verifies: boolean },
): LaneState {
  const { redBase } = state;
  if (redBase === null) return state;
  if (!now.verifies) return { ...state, redBase: null };
  if (redBase.stage !== 'tried') return state;
  if (now.asked) return { ...state, redBase: { ...redBase, stage: 'found' } };
  const isSame = redBase.commit === now.subject.commit && redBase.commands === now.subject.commands;
  return isSame ? state : { ...state, redBase: { ...redBase, stage: 'recheck' } };
}
