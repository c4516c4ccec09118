import { withoutUnverified } from '../core/lane/check.ts';
import { serializeState, type LaneState } from '../core/lane/state.ts';
import type { Policy } from '../core/policy.ts';
import { mapTexts } from '../core/text/redact.ts';
import type { Work } from './work.ts';

/** A lane's state as it is stored, at whatever moment of a run. `transcript` is the one that is stored beside it. */
export function documentOf(
  state: LaneState,
  { transcript, redact }: { readonly transcript: LaneState['transcript']; readonly redact: (text: string) => string },
): string {
  // Text by text: a secret that is also a word of the form must not destroy the whole.
  return serializeState({ ...mapTexts(state, redact), transcript });
}

/** The stored transcripts that are still those of a conversation of the state; null: they are of none. */
export function transcriptBefore(before: LaneState, state: LaneState): LaneState['transcript'] {
  const known = new Set(idsOf(before));
  return idsOf(state).some((id) => known.has(id)) ? before.transcript : null;
}

function idsOf({ session, resting }: LaneState): readonly string[] {
  return [session, ...Object.values(resting)].flatMap((one) => one?.id ?? []);
}

/** The work's state as others may build on it: the loop checks what it finished in a clean clone before it ends, and until then nothing of it is done. */
export function verifiedState(work: Work, policy: Policy, now: number): LaneState {
  const { stateBefore: before, state: after, head, headVerification } = work;
  if (!policy.verifies) return after;
  const checked = headVerification === null ? [head] : [head, headVerification.commit];
  return withoutUnverified({ before, after, checked }, now);
}
