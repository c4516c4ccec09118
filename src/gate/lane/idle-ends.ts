import { describeIgnoredChecks } from '../../core/feedback/checks/checks.ts';
import { describeRemoval } from '../../core/people/withdrawal.ts';
import { issueOfId } from '../../core/tasks/ids.ts';
import { completeSentence, listFirstNames } from '../../core/text/phrase.ts';
import { UserError } from '../../errors.ts';
import { endIntake, type RunNotes, type EndIntake } from '../../handover/intake.ts';
import { saveOrder } from '../command/save-order.ts';
import type { GateDeps } from '../deps.ts';
import type { ReadFeedback } from '../feedback/read.ts';
import { listTasks, type WorkRequest } from '../tasks/sources.ts';
import { type LaneLookup, type LaneRestoration, buildLaneNotes, unreadFeedback } from './kept-lane.ts';
import { type FoundStart, isBranch } from './start.ts';

/** Ends the run because every issue of the queue has its own lane, or was split into sub-issues. */
export function endWorkedElsewhere({ issues }: WorkRequest): EndIntake {
  const named = listFirstNames(issues.map(({ number }) => `#${String(number)}`));
  const end = endIntake({ kind: 'idle', reason: 'no_tasks' });
  if (issues.length === 0) return end;
  return withWarning(
    end,
    `These issues have branches of their own, so the queue does not work on them: ${named}. To continue with one that is not done, comment \`/ralph run\` on it.`,
  );
}

/** Ends the run because a check failed on an earlier commit. Only its result on the newest commit matters. */
export function endOfEarlierCommit({ log }: GateDeps, { branch }: LaneLookup): EndIntake {
  log.info(`Nothing to do: the check did not run on the newest commit of ${branch}.`);
  return endIntake({ kind: 'idle', reason: 'not_for_us' });
}

/** Ends the run on a paused lane, with the tasks that wait there. */
export async function endPaused(
  deps: GateDeps,
  request: WorkRequest,
  { look, restored, by }: LaneRestoration & { readonly by: string },
): Promise<EndIntake> {
  return {
    ...endIntake({ kind: 'paused', reason: 'by_person', by }),
    ...(await listTasks(deps, request, { branches: look.branches, state: restored.state })),
    notes: buildLaneNotes(restored, unreadFeedback),
  };
}

/**
 * Returns the end of a run whose branch a person renamed, which closes its pull request on GitHub; returns null if
 * nobody renamed it. Pauses the lane until a person resumes it, because the work under the new name must not be paid
 * for again. The status comment of the newest issue says so.
 */
export async function endRenamed(
  deps: GateDeps,
  request: WorkRequest,
  { look, restored, found }: LaneRestoration & { readonly found: FoundStart | null },
): Promise<EndIntake | null> {
  const { lastRun, transitions } = restored.state;
  const isResumed = transitions.some(
    ({ subject, to, at }) => subject === 'pause' && to === 'working' && at >= (lastRun?.at ?? 0),
  );
  if (found === null || found.renamedTo === null || isResumed || request.requested === 'by-name') return null;
  const by = describeRemoval(look.branch, found.renamedTo);
  // Ignore a pause that cannot be saved, because the next run detects the renaming again.
  await saveOrder(deps, request.id, { kind: 'pause', by, task: null, from: 'event' }).catch(() => null);
  const end = await endPaused(deps, request, { look, restored, by });
  const { currentTask, tasks } = restored.state;
  const [begun = null] = [currentTask ?? '', ...Object.keys(tasks)].map(issueOfId).filter((issue) => issue !== null);
  return { ...end, answer: { thread: begun, text: { kind: 'status', receipt: null } } };
}

/**
 * Ends a run that has nothing to answer. If the token is not the job's, our own replies start such runs, which must not
 * start a task early.
 */
export function endNothingAsked(
  { purpose }: WorkRequest,
  branch: string,
  { feedback: { checks }, notes }: { readonly feedback: ReadFeedback; readonly notes: RunNotes },
): EndIntake {
  const isOfChecks = purpose.kind === 'answers' && purpose.failedOn !== null;
  const left = isOfChecks && checks !== null ? describeIgnoredChecks(checks) : '';
  const message = left === '' ? `Nothing on the pull request of ${branch} asks for an answer now.` : left;
  return { ...endIntake({ kind: 'idle', reason: 'updated', message }), notes };
}

/** Throws if a check failed but the checks could not be read, because the event then gets no answer. */
export function throwIfUnread({ purpose }: WorkRequest, branch: string, { checks }: ReadFeedback): void {
  if (purpose.kind !== 'answers' || purpose.of !== 'event' || purpose.failedOn === null) return;
  if (checks?.isTemporary !== true || checks.unreadable === null) return;
  throw new UserError(
    'infrastructure',
    `The checks of the pull request of ${branch} could not be read, so the one that failed is not worked on. ${completeSentence(checks.unreadable)} A later run reads them again.`,
  );
}

/** Throws a UserError if the base branch does not exist: deleting it makes GitHub close its pull requests. */
export async function throwIfBaseIsGone({ remote }: Pick<GateDeps, 'remote'>, base: string): Promise<void> {
  if (await isBranch(remote, base)) return;
  throw new UserError(
    'configuration',
    `The base branch \`${base}\` does not exist, and GitHub closes pull requests into a branch that is deleted. Set \`base-branch\` to a branch that exists, which gets a pull request of its own, or restore this one and reopen the pull request.`,
  );
}

/** Returns the end with one more warning. */
export function withWarning(intake: EndIntake, warning: string): EndIntake {
  return { ...intake, notes: { ...intake.notes, warnings: [...intake.notes.warnings, warning] } };
}

/**
 * Ends the run of a person who asks for an issue that was split into sub-issues, or for a proposal for an issue that is
 * already worked on; returns null if neither is the case.
 */
export function endOfSplitOrBegun(
  { requested, purpose, issues }: WorkRequest,
  { remoteHead, kept, branch }: LaneLookup,
  split: ReadonlyMap<number, readonly number[]>,
): EndIntake | null {
  const thread = requested === 'by-name' ? issues[0]?.number : undefined;
  if (thread === undefined) return null;
  const refused = (why: string): EndIntake => ({
    ...endIntake({ kind: 'idle', reason: 'answered' }),
    answer: { thread, text: { kind: 'refusal', why } },
  });
  const made = split.get(thread);
  if (made !== undefined)
    return refused(
      `This issue was split into sub-issues (${listFirstNames(made.map((number) => `#${String(number)}`))}), so it is not a task any longer: Ralph works on those. Close it when they are done.`,
    );
  if (purpose.kind !== 'proposal') return null;
  if (kept.snapshot === null)
    return refused('A proposal is kept on refs/ralph/v2/ until it is approved. Set `state-store: auto` or `ref`.');
  return remoteHead === null
    ? null
    : refused(
        `Ralph is already working on this issue. Merge its pull request, or delete the branch ${branch}, and ask again.`,
      );
}
