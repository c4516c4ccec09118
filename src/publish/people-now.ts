import { hasLabel } from '../core/people/labels.ts';
import {
  describeRemoval,
  isWithdrawn,
  findRenamedBranch,
  findWithdrawal,
  type Withdrawal,
  type WithdrawalKind,
} from '../core/people/withdrawal.ts';
import { getProgress } from '../core/tasks/queue.ts';
import { isFinished, issueOfTask, nameOfTask, type Task } from '../core/tasks/task.ts';
import type { Work } from '../handover/intake.ts';
import type { Forge } from '../ports/forge.ts';
import type { Remote } from '../ports/remote.ts';

/** Maximum number of issues that are looked at again, because each costs a request. */
const MAX_ISSUES = 20;

/** The dependencies of detecting withdrawals. */
interface Looking {
  readonly forge: Pick<Forge, 'issue' | 'pullRequestOf'>;
  readonly remote: Pick<Remote, 'branches'>;
  readonly config: { readonly taskLabel: string };
  readonly debug: (text: string) => void;
}

/** The withdrawal of a whole lane by a person. `by` completes "stopped by …". */
export interface LaneWithdrawal {
  readonly kind: 'closed' | 'deleted' | 'renamed';
  readonly by: string;
}

/**
 * Returns how a person withdrew the task's issue since the run began, or null if the issue is still wanted or the
 * answer is unknown. Takes one request, or none for a task without an issue. Never throws.
 */
export async function lookAtTask(looking: Looking, task: Task): Promise<WithdrawalKind | null> {
  const { source } = task;
  const { taskLabel } = looking.config;
  if (source.kind !== 'issue') return null;
  try {
    return findWithdrawal(
      await looking.forge.issue(source.number),
      hasLabel(source.labels, taskLabel) ? taskLabel : null,
    );
  } catch (error) {
    looking.debug(`It is unknown whether ${nameOfTask(task)} is still wanted: ${String(error)}`);
    return null;
  }
}

/**
 * Returns how a person closed the lane's pull request or removed its branch while the run works, or null if nobody did
 * or the answer is unknown. Takes at most three requests. Never throws.
 */
export async function lookAtLane(
  { forge, remote, debug }: Looking,
  { lane: { branch, baseBranch, pullRequest: known }, remoteHead }: Pick<Work, 'lane' | 'remoteHead'>,
): Promise<LaneWithdrawal | null> {
  try {
    const isGone = remoteHead !== null && (await remote.branches(branch))[branch] === undefined;
    if (!isGone && known === null) return null;
    const newest = await forge.pullRequestOf(branch);
    const own = newest !== null && newest.number === known?.number ? newest : null;
    // GitHub itself deletes the branch of a merged pull request, so that is not a withdrawal.
    if (own?.state === 'merged') return null;
    if (isGone) {
      // Renaming a branch closes its pull request, so look for a new name.
      const newName =
        own?.state === 'closed' ? findRenamedBranch(remoteHead, await remote.branches(''), baseBranch) : null;
      return { kind: newName === null ? 'deleted' : 'renamed', by: describeRemoval(branch, newName) };
    }
    return own?.state === 'closed'
      ? { kind: 'closed', by: `pull request #${String(own.number)}, closed without merging` }
      : null;
  } catch (error) {
    debug(`It is unknown whether the pull request of ${branch} is still open: ${String(error)}`);
    return null;
  }
}

/**
 * Returns the tasks that this run worked on or marked as done and that people withdrew in the meantime, except those
 * already known.
 */
export async function findWithdrawnTasks(
  looking: Looking,
  { tasks, journal, state, stateBefore }: Pick<Work, 'tasks' | 'journal' | 'state' | 'stateBefore'>,
): Promise<readonly Withdrawal[]> {
  const isOfRun = ({ id }: Task): boolean =>
    journal.some(({ taskId }) => taskId === id) ||
    (isFinished(getProgress(state.tasks, id)) && getProgress(stateBefore.tasks, id).state !== 'done');
  const looked = tasks.filter((task) => issueOfTask(task) !== null && !isWithdrawn(task) && isOfRun(task));
  const found = await Promise.all(
    looked.slice(0, MAX_ISSUES).map(async (task) => ({ task: task.id, why: await lookAtTask(looking, task) })),
  );
  return found.flatMap(({ task, why }) => (why === null ? [] : [{ task, why }]));
}
