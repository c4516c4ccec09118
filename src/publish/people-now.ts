import { isWithdrawn, withdrawalOf, type Withdrawal, type WithdrawalKind } from '../core/people/withdrawal.ts';
import { progressOf } from '../core/tasks/queue.ts';
import { isFinished, issueOfTask, nameOfTask, type Task } from '../core/tasks/task.ts';
import type { Work } from '../handover/intake.ts';
import type { Forge } from '../ports/forge.ts';
import type { Remote } from '../ports/repository.ts';

/** More issues than this are not looked at again: each is a request. */
const MAX_ISSUES = 20;

/** What it takes to see what people did. */
interface Looking {
  readonly forge: Pick<Forge, 'issue' | 'pullRequestOf'>;
  readonly remote: Pick<Remote, 'branches'>;
  readonly config: { readonly taskLabel: string };
  readonly debug: (text: string) => void;
}

/** How people took back the lane as a whole. `by` completes "stopped by …". */
export interface LaneWithdrawal {
  readonly kind: 'closed' | 'deleted';
  readonly by: string;
}

/** Returns how a person took the task's issue back since the run began, or null: it is wanted, or nobody knows. One request, none for a task that is no issue. Never throws. */
export async function lookAtTask(looking: Looking, task: Task): Promise<WithdrawalKind | null> {
  const number = issueOfTask(task);
  if (number === null) return null;
  try {
    return withdrawalOf(await looking.forge.issue(number), looking.config.taskLabel);
  } catch (error) {
    looking.debug(`Nobody knows whether ${nameOfTask(task)} is wanted still: ${String(error)}`);
    return null;
  }
}

/** Returns how a person closed the lane's pull request or deleted its branch while the run works, or null: nobody did, or nobody knows. At most two requests. Never throws. */
export async function lookAtLane(
  { forge, remote, debug }: Looking,
  { lane: { branch, pullRequest: known }, remoteHead }: Pick<Work, 'lane' | 'remoteHead'>,
): Promise<LaneWithdrawal | null> {
  try {
    const isGone = remoteHead !== null && (await remote.branches(branch))[branch] === undefined;
    if (!isGone && known === null) return null;
    const newest = await forge.pullRequestOf(branch);
    const own = newest !== null && newest.number === known?.number ? newest : null;
    // GitHub itself deletes the branch of what was merged.
    if (own?.state === 'merged') return null;
    if (isGone) return { kind: 'deleted', by: `the deletion of branch ${branch}` };
    return own?.state === 'closed'
      ? { kind: 'closed', by: `pull request #${String(own.number)}, closed without merging` }
      : null;
  } catch (error) {
    debug(`Nobody knows whether the pull request of ${branch} is open still: ${String(error)}`);
    return null;
  }
}

/** The tasks that this run worked on or calls done and that people took back meanwhile, beside those that are known to be. */
export async function lookAtWork(
  looking: Looking,
  { tasks, journal, state, stateBefore }: Pick<Work, 'tasks' | 'journal' | 'state' | 'stateBefore'>,
): Promise<readonly Withdrawal[]> {
  const isOfRun = ({ id }: Task): boolean =>
    journal.some(({ taskId }) => taskId === id) ||
    (isFinished(progressOf(state.tasks, id)) && progressOf(stateBefore.tasks, id).state !== 'done');
  const looked = tasks.filter((task) => issueOfTask(task) !== null && !isWithdrawn(task) && isOfRun(task));
  const found = await Promise.all(
    looked.slice(0, MAX_ISSUES).map(async (task) => ({ task: task.id, why: await lookAtTask(looking, task) })),
  );
  return found.flatMap(({ task, why }) => (why === null ? [] : [{ task, why }]));
}
