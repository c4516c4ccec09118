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

/** A merge that lies in the work tree; null: none does. `settled`: nothing of it is left for the agent, or the run was cancelled. */
type Laid =
  | { readonly kind: 'ready'; readonly merge: MergeToFinish | null }
  | { readonly kind: 'settled'; readonly work: Work };

/** Lays the merge of the base branch in the work tree where that is the task, and finishes it where tools can; takes one away that is not finished where the task is another. */
export async function layMerge(deps: LoopDeps, work: Work, task: Task): Promise<Laid> {
  const { repository, log } = deps;
  const { id } = task;
  if (id !== CONFLICT_TASK) {
    await repository.abandonMerge();
    return { kind: 'ready', merge: null };
  }
  const begun = await repository.beginMerge();
  if (begun.kind === 'up-to-date') {
    // What was merged and does not pass is not settled.
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
  // Behind the agent's last call they were tried already.
  return last?.taskId === CONFLICT_TASK
    ? { kind: 'ready', merge: { ...merge, remade: last.evidence.lockFiles ?? [] } }
    : mergeWithoutCall(deps, work, { task, merge });
}

function isRed({ state, head }: Work): boolean {
  const last = state.lastIteration;
  return isKnownRed(state, head) || (last?.taskId === CONFLICT_TASK && last.verification === 'failed');
}

/** Where nothing but lock files conflicts: makes them again and commits the merge, unless one of them cannot be made or `verify` fails. */
async function mergeWithoutCall(
  deps: LoopDeps,
  work: Work,
  { task, merge }: { readonly task: Task; readonly merge: MergeToFinish },
): Promise<Laid> {
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
