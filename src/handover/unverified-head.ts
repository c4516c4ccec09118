import type { ObjectId } from '../core/evidence.ts';
import { createRunSoFar, decideNextStep } from '../core/lane/decide.ts';
import { reopenDoneSince } from '../core/lane/verification.ts';
import type { Policy } from '../core/policy.ts';
import { isPlanComplete } from '../core/tasks/queue.ts';
import type { Work } from './intake.ts';

/** The dependencies of judging a head that this job cannot verify. */
interface UnverifiedDeps {
  readonly config: { readonly policy: Policy };
  readonly clock: { now(): number };
}

/**
 * Returns the work at a head that differs from the loop's, in a job that cannot verify it. Tasks that this run finished
 * wait until the next run verifies the head, without a call, and the run is not complete.
 */
export function judgeUnverifiedHead(work: Work, { config: { policy }, clock }: UnverifiedDeps): Work {
  const now = clock.now();
  const { tasks, outcome } = work;
  const state = policy.verifies ? reopenDoneSince(work.state, work.stateBefore, now) : work.state;
  const left = { ...work, cleanVerification: null, state };
  if (outcome.kind !== 'complete' || (!policy.verifies && isPlanComplete(tasks, state.tasks))) return left;
  const step = decideNextStep({ state, tasks, run: createRunSoFar(state, now), policy, now });
  const isBlocked = step.kind === 'stop' && step.outcome.kind === 'blocked';
  return { ...left, outcome: isBlocked ? step.outcome : { kind: 'limit', reason: 'unverified' } };
}

/** Returns the work at a merge with commits that people pushed in the meantime, in a job that cannot verify it. */
export function judgeUnverifiedMerge(work: Work, head: ObjectId, deps: UnverifiedDeps): Work {
  if (!deps.config.policy.verifies) return { ...work, head, cleanVerification: null };
  const merged = judgeUnverifiedHead({ ...work, head }, deps);
  // An outcome that the push has changed says so itself.
  if (merged.outcome !== work.outcome) return merged;
  const warning = `Somebody pushed to ${work.lane.branch} while this run worked, and its commits are merged with theirs. The next run verifies the result.`;
  return { ...merged, warnings: [...work.warnings, warning] };
}
