import type { Feedback } from '../core/feedback/memory.ts';
import type { Outcome } from '../core/outcome.ts';
import {
  isWithdrawn,
  outcomeAfterWithdrawal,
  unclaimTasks,
  withdrawalWarning,
  withdrawTasks,
} from '../core/people/withdrawal.ts';
import { whyOf } from '../core/refusals/refusal.ts';
import { sentence } from '../core/text/phrase.ts';
import { textOf, UserError } from '../errors.ts';
import { type Cleared, clearHead, type HeadDeps } from '../handover/clear-head.ts';
import type { Work } from '../handover/intake.ts';
import type { LaneStart, PushResult } from '../ports/repository.ts';
import { within } from './answers.ts';
import type { PublishDeps } from './deps.ts';
import { type LaneWithdrawal, lookAtLane, lookAtWork } from './people-now.ts';

/** A look at GitHub may take this part of the time of a step: what is saved and told behind it must have its turn. */
const LOOK_SHARE = 0.25;

function lookWithin({ stepWithinMs }: PublishDeps): number | null {
  return stepWithinMs === null ? null : stepWithinMs * LOOK_SHARE;
}

/** What people took back while the run worked is neither done nor ready, whatever the run says of it. `isAnswered`: false where the look took too long. */
export async function heedPeople(
  deps: PublishDeps,
  work: Work,
): Promise<{ readonly work: Work; readonly lane: LaneWithdrawal | null; readonly isAnswered: boolean }> {
  const { forge, remote, config, log } = deps;
  const looking = { forge, remote, config, debug: log.info };
  const seen = await within(
    lookWithin(deps),
    // A branch without commits is taken away by an earlier try of this very run.
    Promise.all([lookAtWork(looking, work), hasBranchToLose(work) ? lookAtLane(looking, work) : null]),
  ).catch(() => null);
  const [withdrawals, lane] = seen ?? ([[], null] as const);
  const tasks = withdrawTasks(work.tasks, withdrawals);
  const warnings = withdrawals.flatMap(({ task: id, why }) => {
    const task = work.tasks.find((one) => one.id === id);
    return task === undefined ? [] : [withdrawalWarning(task, why)];
  });
  for (const warning of warnings) log.warning(warning);
  const unclaimed = tasks.filter((task) => lane !== null || isWithdrawn(task)).map(({ id }) => id);
  const now = deps.clock.now();
  const state = unclaimTasks(work.state, { before: work.stateBefore, ids: unclaimed, now });
  const outcome = outcomeAfterWithdrawal(work.outcome, tasks, state.tasks);
  return {
    work: {
      ...work,
      tasks,
      state,
      outcome: lane === null ? outcome : outcomeOfLane(outcome, lane),
      warnings: [...work.warnings, ...warnings],
    },
    lane,
    isAnswered: seen !== null,
  };
}

function hasBranchToLose({ hasNewCommits, lane }: Work): boolean {
  return hasNewCommits || lane.start.kind === 'continue' || lane.start.kind === 'reuse';
}

/** A push that found no branch any more has not failed: a person deleted it. */
function outcomeOfLane(outcome: Outcome, { kind, by }: LaneWithdrawal): Outcome {
  const isOwn = outcome.kind === 'cancelled' || outcome.reason === 'configuration';
  if (isOwn || (outcome.kind === 'failed' && kind === 'closed')) return outcome;
  return { kind: 'paused', reason: 'by_person', by };
}

/** `lost`: the newest commits of this run did not reach the remote; `refused`: a rule of the server keeps them out. `remoteHead` is null while the lane has no branch there. */
export interface PublishedBranch {
  readonly kind: 'published' | 'lost' | 'refused';
  readonly remoteHead: string | null;
  readonly outcome: Outcome;
  readonly feedback: Feedback;
}

export async function publishBranch(deps: PublishDeps, work: Work, isAnswered: boolean): Promise<PublishedBranch> {
  const { lane, hasNewCommits, head, base, remoteHead, outcome } = work;
  const { feedback } = work.state;
  if (!hasNewCommits) return { kind: 'published', remoteHead: await withoutEmptyBranch(deps, work), outcome, feedback };
  const cleared: Cleared =
    head === remoteHead ? { kind: 'clear', feedback } : await clearHead(inTime(deps, isAnswered), work);
  if (cleared.kind !== 'clear') return lostBranch(deps, work, { kind: 'unreachable', why: cleared.why });
  // The loop has pushed what it could: from there on the branch is this run's.
  const start: LaneStart = remoteHead === null ? lane.start : { kind: 'continue', remoteHead };
  const pushed = await within(
    deps.stepWithinMs,
    deps.remote.push({ branch: lane.branch, commit: head, since: remoteHead ?? base, start }),
  ).catch(rejectedBy);
  if (pushed.kind === 'pushed') {
    // The loop said so of what it pushed itself.
    if (head !== remoteHead) deps.log.info(`pushed ${head.slice(0, 7)} to ${lane.branch}`);
    return { kind: 'published', remoteHead: head, outcome, feedback: cleared.feedback };
  }
  return lostBranch(deps, work, pushed);
}

/** What clearing a head needs, with each request in its time. Who did not answer a moment ago is not waited for again. */
function inTime(deps: PublishDeps, isAnswered: boolean): HeadDeps {
  const { config, clock, log, forge, stepWithinMs } = deps;
  const silent = (): Promise<never> => Promise.reject(new UserError('infrastructure', 'GitHub does not answer'));
  return {
    config,
    clock,
    log,
    forge: {
      headNow: isAnswered ? (branch) => within(lookWithin(deps), forge.headNow(branch)) : silent,
      freeHead: (number, standing) => within(stepWithinMs, forge.freeHead(number, standing)),
      makeDraft: (number) => within(stepWithinMs, forge.makeDraft(number)),
    },
  };
}

async function lostBranch(
  deps: PublishDeps,
  work: Work,
  result: Exclude<PushResult, { kind: 'pushed' }>,
): Promise<PublishedBranch> {
  const { lane, base, remoteHead, state, outcome } = work;
  const message = `The commits of this run could not be pushed to ${lane.branch}: ${sentence(whyOf(result))}`;
  deps.log.error(message);
  const left = remoteHead === base ? await withoutEmptyBranch(deps, work) : remoteHead;
  const kind = result.kind === 'refused' ? 'refused' : 'lost';
  // The loop has said it already, and people are notified of its words.
  const isKnown = kind === 'refused' && outcome.kind === 'failed' && outcome.reason === 'configuration';
  // What the server minds of the content is left out by the next run, which does the work again.
  const isByRule = result.kind === 'refused' && result.refusal.kind !== 'content';
  const reason = isByRule ? 'configuration' : 'infrastructure';
  const end: Outcome = isKnown ? outcome : { kind: 'failed', reason, message };
  return { kind, remoteHead: left, outcome: end, feedback: state.feedback };
}

/** A branch that was made for work that did not come is taken away again. */
async function withoutEmptyBranch(
  { remote, stepWithinMs }: PublishDeps,
  { lane, base, remoteHead }: Work,
): Promise<string | null> {
  if (lane.start.kind === 'continue' || lane.start.kind === 'reuse' || remoteHead === null) return remoteHead;
  const deleted = await within(stepWithinMs, remote.deleteBranch({ branch: lane.branch, head: base })).catch(
    rejectedBy,
  );
  return deleted.kind === 'deleted' || deleted.kind === 'gone' ? null : remoteHead;
}

/** A remote that cannot be reached has taken nothing either. */
function rejectedBy(error: unknown): Extract<PushResult, { kind: 'rejected' }> {
  return { kind: 'rejected', why: textOf(error) };
}
