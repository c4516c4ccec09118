import { jobsOf } from '../../config/config.ts';
import type { LaneState } from '../../core/lane/state.ts';
import { needsOfPullRequest } from '../../core/people/notifications.ts';
import type { BranchDeleted } from '../../ports/repository.ts';
import type { GateDeps } from '../deps.ts';
import type { Intake } from '../../handover/intake.ts';
import type { Intent } from '../event/intent.ts';
import { order } from '../../core/snapshot/changes.ts';
import { notKeptOf } from '../command/save-order.ts';
import { restoreLane } from './restore.ts';
import { updated } from './withdraw.ts';
import { hasTaskLabel } from '../work.ts';
import { progressOf } from '../../core/tasks/queue.ts';
import { explainRefusal } from '../../core/refusals/refusal.ts';
import { isStuck } from '../../core/tasks/task.ts';
import { isIssueTask, isLaneId, issueOfId, nameOfLane, nameOfTaskId } from '../../core/tasks/ids.ts';
import { namesOf } from '../../core/text/lists.ts';
import { sentence } from '../../core/text/sentence.ts';
import { UserError } from '../../errors.ts';

type EndIntake = Extract<Intake, { kind: 'end' }>;

type Remains = 'done' | 'unfinished';

/** More names say nothing more. */
const MAX_NAMED = 10;

/** A pull request of ours was closed: merged, the lane's work is over; not merged, the lane rests. */
export async function endLane(
  deps: GateDeps,
  { pullRequest, actor }: Extract<Intent, { kind: 'end-lane' }>,
): Promise<EndIntake> {
  const { number, branch, merged } = pullRequest;
  const name = `Pull request #${String(number)}`;
  const lane = branch.slice(deps.config.branchPrefix.length);
  if (!isLaneId(lane))
    return updated(
      deps,
      `${name} belongs to the branch ${branch}, which is neither the queue's nor an issue's. There is nothing to do.`,
    );
  const over: EndIntake['over'] = { thread: number, needs: needsOfPullRequest(lane), why: 'pull_request_over' };
  if (!merged) {
    const { claimedBy } = await restoreLane({ lane, expected: false, elsewhere: [], deps });
    const now =
      claimedBy === null
        ? ''
        : jobsOf(deps.config) === 'one'
          ? ` A run works on it now (${claimedBy.runUrl}): it ends its call within two minutes, makes no other, and calls nothing of it done.`
          : ` A run works on it now (${claimedBy.runUrl}): its agent cannot be reached while it works; the job that publishes calls nothing of it done.`;
    return {
      ...updated(
        deps,
        `${name} was closed without merging, so work on ${nameOfLane(lane)} is on hold.${now} Reopen it to continue from there, or delete the branch ${branch} to start again.`,
      ),
      over,
    };
  }
  const { state, claimedBy, warnings } = await restoreLane({ lane, expected: false, elsewhere: [], deps });
  const remains = await whatRemains(deps, state);
  // Whoever works on the lane now pushes to its branch.
  const stays = remains === 'done' || (remains === 'unfinished' && claimedBy !== null);
  const deleted = stays ? null : await deps.remote.deleteBranch(pullRequest);
  const isOver = deleted === null || deleted.kind === 'deleted' || deleted.kind === 'gone';
  const problem = isOver && claimedBy === null ? await endSession(deps, state, actor.login) : null;
  const others = await othersWords(deps, branch);
  const end = updated(
    deps,
    `${name} was merged. ${doneWords(state)} ${branchWords(branch, deleted, remains)}${remains === 'unfinished' ? ` ${goesOnWords(state, deleted)}` : ''}${others}`,
  );
  return {
    ...end,
    over,
    notes: {
      ...end.notes,
      warnings: [
        ...warnings,
        ...(deleted?.kind === 'rejected'
          ? [`The branch ${branch} could not be deleted: ${sentence(deleted.why)}`]
          : []),
        ...(deleted?.kind === 'refused' && deleted.refusal.rule !== 'deletion'
          ? [`The branch ${branch} could not be deleted: ${sentence(explainRefusal(deleted.refusal))}`]
          : []),
        ...(problem === null ? [] : [problem]),
      ],
    },
  };
}

/**
 * How the issue of an own lane stands while it is open and labelled; null: it is neither, or the lane is the queue.
 * By its branch the queue knows that an issue is worked elsewhere: one that is done (a merge into another base branch closes
 * no issue), or of which nothing is known, would begin again without it; one that is not done is to be gone on with.
 */
async function whatRemains(deps: GateDeps, { lane, tasks }: LaneState): Promise<Remains | null> {
  const number = issueOfId(lane);
  const issue = number === null ? null : await deps.forge.issue(number);
  if (issue === null || issue.state === 'closed' || !hasTaskLabel(deps, issue)) return null;
  const progress = Object.hasOwn(tasks, lane) ? tasks[lane] : undefined;
  return progress === undefined || progress.state === 'done' ? 'done' : 'unfinished';
}

/** What becomes of the other open pull requests, which may conflict with what was merged. */
async function othersWords({ forge, config }: GateDeps, merged: string): Promise<string> {
  if (!config.answers.checks) return '';
  const open = await forge.waitingPullRequests(config.branchPrefix).catch((error: unknown) => {
    if (!(error instanceof UserError)) throw error;
    return [];
  });
  const names = open.filter(({ branch }) => branch !== merged).map(({ number }) => `#${String(number)}`);
  return names.length === 0
    ? ''
    : ` The next run looks at the other open pull requests (${namesOf(names)}) and merges the base branch into those that conflict with it now.`;
}

/** The conversation was about what is merged now. Returns what went wrong, as a sentence. */
async function endSession(
  { store, config, context, clock }: GateDeps,
  { lane, session }: LaneState,
  by: string,
): Promise<string | null> {
  // Copies take no orders.
  if (session === null || config.stateStore === 'none' || config.stateStore === 'cache') return null;
  const now = clock.now();
  const given = { kind: 'reset-session', task: null, by, from: 'event', run: context.runId, at: now } as const;
  const ordered = notKeptOf(await store.update(order(lane, given, { now, change: (budget) => budget })));
  return ordered !== null
    ? `The agent's conversation about ${nameOfLane(lane)} could not be ended: ${sentence(ordered)} Comment \`/ralph reset session\` to end it.`
    : null;
}

function doneWords({ tasks }: LaneState): string {
  const done = Object.keys(tasks).filter((id) => tasks[id]?.state === 'done');
  const issues = done.filter(isIssueTask).map(nameOfTaskId);
  const others = done.length - Math.min(issues.length, MAX_NAMED);
  const names = [
    ...issues.slice(0, MAX_NAMED),
    ...(others === 0
      ? []
      : [`${String(others)} ${issues.length === 0 ? '' : 'more '}${others === 1 ? 'task' : 'tasks'}`]),
  ];
  return names.length === 0 ? 'No task on its branch is done.' : `Done on its branch: ${names.join(', ')}.`;
}

/** Who takes up an issue that was not finished. */
function goesOnWords({ lane, tasks }: LaneState, deleted: BranchDeleted | null): string {
  const name = nameOfTaskId(lane);
  if (isStuck(progressOf(tasks, lane)))
    return `${name} still waits for a person: comment \`/ralph retry\` on it to continue.`;
  const isOfQueue = deleted?.kind === 'deleted' || deleted?.kind === 'gone';
  return isOfQueue
    ? `The queue continues with ${name}, from what was merged.`
    : `${name} is not done: comment \`/ralph run\` on it to continue.`;
}

function branchWords(branch: string, deleted: BranchDeleted | null, remains: Remains | null): string {
  if (deleted === null && remains === 'unfinished') return `The branch ${branch} stays: a run works on it now.`;
  if (deleted === null)
    return `The branch ${branch} stays while its issue is open and labelled, or the queue would start the issue again.`;
  switch (deleted.kind) {
    case 'deleted':
      return `The branch ${branch} was deleted.`;
    case 'gone':
      return `The branch ${branch} was already deleted.`;
    case 'moved':
      return `The branch ${branch} stays: it holds commits that were not merged.`;
    case 'rejected':
      return `The branch ${branch} stays.`;
    case 'refused':
      if (deleted.refusal.rule !== 'deletion') return `The branch ${branch} stays.`;
      return `The branch ${branch} stays, since the repository does not let it be deleted: the next work begins on it from the base.`;
  }
}
