import { alreadyMerged, MERGED_WITHOUT_CALL } from '../../core/feedback/answer-words.ts';
import { isKnownRed } from '../../core/lane/check.ts';
import { CONFLICT_TASK } from '../../core/feedback/subject.ts';
import type { MergeToFinish } from '../../core/prompt/feedback.ts';
import type { Task } from '../../core/tasks/task.ts';
import type { Work } from '../../handover/work.ts';
import { verifyHere } from '../clean-check.ts';
import { commitMessageOf, withCommit } from '../commit.ts';
import type { LoopDeps } from '../deps.ts';
import { answerWithoutCall } from './answering.ts';
import { madeByLoop, remakeLockFiles } from './lock-files.ts';

/** How the work tree is prepared. `ready`: with the merge that lies in it, or none (null). `settled`: the agent has nothing to do for it, or the run was cancelled. */
type PreparedMerge =
  | { readonly kind: 'ready'; readonly merge: MergeToFinish | null }
  | { readonly kind: 'settled'; readonly work: Work };

/** Merges the base branch into the work tree if that is the task, and finishes the merge if tools can. For any other task, takes an unfinished merge away. */
export async function prepareMerge(deps: LoopDeps, work: Work, task: Task): Promise<PreparedMerge> {
  const { repository, log } = deps;
  const { id } = task;
  if (id !== CONFLICT_TASK) {
    await repository.abandonMerge();
    return { kind: 'ready', merge: null };
  }
  const begun = await repository.beginMerge();
  if (begun.kind === 'up-to-date') {
    // A merge that fails verify still needs the agent.
    if (isRed(work)) return { kind: 'ready', merge: null };
    return { kind: 'settled', work: answerWithoutCall(deps, work, { id, own: alreadyMerged(work.lane.baseBranch) }) };
  }
  const { conflicts, lockFiles } = begun;
  const many = conflicts.length + lockFiles.length;
  log.info(`merging ${work.lane.baseBranch}: ${String(many)} ${many === 1 ? 'file conflicts' : 'files conflict'}`);
  const ofLoop = madeByLoop(deps, lockFiles).map(({ path }) => path);
  const merge = { conflicts, lockFiles, madeByLoop: ofLoop, remade: [], verification: null };
  if (conflicts.length > 0 || ofLoop.length === 0) return { kind: 'ready', merge };
  const last = work.journal.at(-1);
  // They were made again after the agent's last call already.
  return last?.taskId === CONFLICT_TASK
    ? { kind: 'ready', merge: { ...merge, remade: last.evidence.lockFiles ?? [] } }
    : mergeWithoutCall(deps, work, { task, merge });
}

function isRed({ state, head }: Work): boolean {
  const last = state.lastIteration;
  return isKnownRed(state, head) || (last?.taskId === CONFLICT_TASK && last.verification === 'failed');
}

/** Finishes a merge in which only lock files conflict: makes them again and commits it, unless a lock file cannot be made or `verify` fails. */
async function mergeWithoutCall(
  deps: LoopDeps,
  work: Work,
  { task, merge }: { readonly task: Task; readonly merge: MergeToFinish },
): Promise<PreparedMerge> {
  const { repository, config, log, signal } = deps;
  const isCancelled = (): boolean => signal.aborted;
  const before = await repository.snapshot();
  const remade = await remakeLockFiles(deps, work);
  if (isCancelled()) return { kind: 'settled', work };
  const isMade = remade.filter(({ result }) => result === 'made').length === merge.lockFiles.length;
  if (!isMade) return { kind: 'ready', merge: { ...merge, remade } };
  const after = await repository.snapshot();
  const verification = config.policy.verifies ? await verifyHere(deps, work) : null;
  if (isCancelled()) return { kind: 'settled', work };
  if (verification !== null && verification.kind !== 'passed')
    return { kind: 'ready', merge: { ...merge, remade, verification } };
  const committed = await repository.commit({
    before,
    after,
    message: commitMessageOf(deps, work, { task, summary: null }),
    trailers: { 'Ralph-Run': deps.context.runId, 'Ralph-Task': task.id },
  });
  const done = withCommit(work, committed);
  if (committed.merge !== 'made') return { kind: 'ready', merge: { ...merge, remade } };
  log.info(`merged ${work.lane.baseBranch} without a call (${committed.head.slice(0, 7)})`);
  const answer = { id: task.id, own: MERGED_WITHOUT_CALL, lockFiles: remade };
  return { kind: 'settled', work: answerWithoutCall(deps, done, answer) };
}
