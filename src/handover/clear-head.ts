import { holdOf, joinHolds, type Hold, type Standing } from '../core/feedback/pull-request-now.ts';
import type { Feedback } from '../core/feedback/memory.ts';
import { isFeedback } from '../core/feedback/subject.ts';
import { isForReview } from '../core/outcome.ts';
import { sentence } from '../core/text/phrase.ts';
import type { Forge } from '../ports/forge.ts';
import type { Log } from '../ports/machine.ts';
import type { Work } from './intake.ts';

/** What it takes to look at a head before a push, and to free it. `draft`: whether unfinished pull requests are drafts. */
export interface HeadDeps {
  readonly forge: Pick<Forge, 'headNow' | 'freeHead' | 'makeDraft'>;
  readonly config: { readonly draft: boolean };
  readonly clock: { readonly now: () => number };
  readonly log: Log;
}

/** Whether commits may be pushed now. `feedback`: the memory that knows what they overtake. `why`: a sentence. */
export type Cleared =
  | { readonly kind: 'clear'; readonly feedback: Feedback }
  | { readonly kind: 'unknown'; readonly why: string }
  | { readonly kind: 'held'; readonly why: string };

/**
 * Looks at the lane's pull request right before a push, since people approve and arm while an agent works. What holds the
 * head is ended first: no commit reaches a head that people approved, or that is about to be merged. A pull request that is
 * ready becomes a draft again before unfinished new work reaches it. One request; none where there is no pull request.
 */
export async function clearHead(deps: HeadDeps, work: Work): Promise<Cleared> {
  const { lane, state } = work;
  const { feedback } = state;
  if (lane.pullRequest === null) return { kind: 'clear', feedback };
  const { number } = lane.pullRequest;
  let standing: Standing | null;
  try {
    standing = await deps.forge.headNow(lane.branch);
  } catch (error) {
    // What was a draft as the run began cannot be merged behind its back, unless somebody was very fast.
    if (lane.pullRequest.draft) return { kind: 'clear', feedback };
    return { kind: 'unknown', why: messageOf(error) };
  }
  if (standing === null) return { kind: 'clear', feedback };
  const hold = holdOf(standing);
  if (hold !== null) return free(deps, work, { standing, hold });
  const { approvedBy } = standing;
  // Nobody can merge a draft by mistake, but the approvers have not seen what comes now.
  if (standing.isDraft && approvedBy.length > 0)
    return {
      kind: 'clear',
      feedback: overtake(feedback, { approvedBy, autoMerge: false, queued: false }, deps.clock.now()),
    };
  if (deps.config.draft && !standing.isDraft && hasNewWork(work) && !isForReview(work.outcome))
    await tryToMakeDraft(deps, number);
  return { kind: 'clear', feedback };
}

/** The memory once newer commits take the place of what people had decided of; its `at`: when auto-merge was ended last. */
export function overtake(feedback: Feedback, hold: Hold, now: number): Feedback {
  const { overtaken: known } = feedback;
  const isArmed = hold.autoMerge || hold.queued;
  return { ...feedback, overtaken: { ...joinHolds(known, hold), at: isArmed ? now : (known?.at ?? now) } };
}

async function free(
  { forge, clock, log }: HeadDeps,
  { lane, state }: Work,
  { standing, hold }: { readonly standing: Standing; readonly hold: Hold },
): Promise<Cleared> {
  const number = lane.pullRequest?.number ?? 0;
  try {
    await forge.freeHead(number, standing);
  } catch (error) {
    return { kind: 'held', why: messageOf(error) };
  }
  log.warning(
    `Pull request #${String(number)} was approved or set to be merged while this run worked. It is a draft again, and auto-merge is off, so that the new commits are reviewed.`,
  );
  return { kind: 'clear', feedback: overtake(state.feedback, hold, clock.now()) };
}

function hasNewWork({ journal }: Work): boolean {
  return journal.some(({ taskId, commit }) => commit !== null && !isFeedback(taskId));
}

async function tryToMakeDraft({ forge, log }: HeadDeps, number: number): Promise<void> {
  try {
    await forge.makeDraft(number);
  } catch (error) {
    log.warning(
      `Pull request #${String(number)} has unfinished work and could not be made a draft again: ${sentence(messageOf(error))}`,
    );
  }
}

/** Whatever went wrong: onto a head that could not be looked at, or freed, nothing is pushed. */
function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
