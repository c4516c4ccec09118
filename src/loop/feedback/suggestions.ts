import {
  ALREADY_APPLIED,
  answerForMerged,
  MERGED_BY_ITSELF,
  MERGED_WITHOUT_CALL,
  SUGGESTION_APPLIED,
  answerForWithheld,
} from '../../core/feedback/answered.ts';
import { applySuggestion } from '../../core/feedback/reviews/suggestions.ts';
import { CONFLICT_TASK, type ThreadSubject } from '../../core/feedback/subject.ts';
import { isInFolder, toFolderPath } from '../../core/folder.ts';
import { isKnownRed } from '../../core/lane/verification.ts';
import type { MergeToFinish } from '../../core/prompt/learnings.ts';
import { LEFT_OUT_CLAUSES, parseLeftOutReason } from '../../core/review/left-out.ts';
import type { Task } from '../../core/tasks/task.ts';
import { getProgress } from '../../core/tasks/queue.ts';
import { MAX_SUBJECT_CHARS } from '../../core/text/commit-message.ts';
import { toOneLine, toPlainTitle, completeSentence } from '../../core/text/phrase.ts';
import { getErrorText } from '../../errors.ts';
import type { Work } from '../../handover/intake.ts';
import type { OpenedLane } from '../../ports/repository.ts';
import { writeCommitMessage, addCommitToWork } from '../commits.ts';
import { verifyHere } from '../verification.ts';
import type { LoopDeps, WorkAfterAction } from '../deps.ts';
import { explainForbiddenMerge } from '../pushing.ts';
import { answerWithoutCall, listRegeneratedLockFiles, regenerateLockFiles } from './lock-files.ts';

/**
 * The prepared work tree. `ready` has the merge that is in it, or null. `settled`: the task needs no agent, or the run
 * was cancelled.
 */
type PreparedMerge =
  | { readonly kind: 'ready'; readonly merge: MergeToFinish | null }
  | { readonly kind: 'settled'; readonly work: Work };

/** A thread whose newest comment has a suggested change. */
interface SuggestedChange {
  readonly task: Task;
  readonly on: ThreadSubject;
}

/**
 * Commits suggested changes that fit the newest head, one commit each, before the first call. Leaves those that do not
 * fit, or that are outside of the working directory, to the agent. Answers those that must not be published with the
 * reason.
 */
export async function applySuggestedChanges(deps: LoopDeps, work: Work): Promise<Work> {
  // Apply from the end of a file to its beginning, so that the lines of the remaining changes do not move.
  const spelled = openSuggestions(work).sort((a, b) => b.from - a.from);
  let applied = work;
  for (const one of spelled) {
    if (deps.signal.aborted || deps.ending.aborted) break;
    applied = await applyOne(deps, applied, one).catch((error: unknown) => {
      deps.log.warning(
        `A suggested change of ${one.on.path} was not applied: ${completeSentence(getErrorText(error))}`,
      );
      return applied;
    });
  }
  return applied;
}

function openSuggestions({ tasks, state }: Work): (SuggestedChange & { readonly from: number })[] {
  return tasks.flatMap((task) => {
    const { source } = task;
    if (source.kind !== 'feedback' || source.on.kind !== 'thread' || source.on.suggestion === null) return [];
    const isOpen = task.obstacle === null && getProgress(state.tasks, task.id).state === 'todo';
    return isOpen ? [{ task, on: source.on, from: source.on.suggestion.from }] : [];
  });
}

async function applyOne(deps: LoopDeps, work: Work, { task, on }: SuggestedChange): Promise<Work> {
  const { repository, config, log, files } = deps;
  if (on.suggestion === null || !isInFolder(config.workingDirectory, on.path)) return work;
  const path = toFolderPath(config.workingDirectory, on.path);
  const old = (await repository.publishedTexts([path]))[path];
  if (old === undefined) return work;
  const made = applySuggestion(old, on.suggestion);
  if (made.kind === 'stale') return work;
  if (made.kind === 'there') return answerWithoutCall(deps, work, { id: task.id, own: ALREADY_APPLIED });
  const { text } = made;
  const name = `${toOneLine(on.path, 200)}:${String(on.suggestion.from)}`;
  const { head, withheld } = await repository.commitTexts({
    texts: { [path]: text },
    message: toPlainTitle(`Apply a suggestion by ${on.by} to ${name}`, MAX_SUBJECT_CHARS),
    trailers: { 'Ralph-Run': deps.context.runId, 'Ralph-Task': task.id },
  });
  if (head === work.head) {
    const why = withheld[0]?.why ?? LEFT_OUT_CLAUSES.other;
    log.info(`The suggested change of ${name} was not applied: ${completeSentence(why)}`);
    const refused = { ...work, withheld: [...work.withheld, ...withheld] };
    return answerWithoutCall(deps, refused, { id: task.id, own: answerForWithheld(on.path, parseLeftOutReason(why)) });
  }
  await files.replace({ path, old, text }).catch(() => undefined);
  await repository.snapshot();
  log.info(`applied the suggestion by ${toOneLine(on.by, 60)} to ${name} (${head.slice(0, 7)})`);
  const applied: Work = { ...work, head, hasNewCommits: true };
  return answerWithoutCall(deps, applied, { id: task.id, own: SUGGESTION_APPLIED });
}

/**
 * Merges the base branch into a lane that began on a red base, once the base passes again, because `verify` would still
 * fail on the old base. Leaves a conflict to the task that resolves conflicts. A merge that the server would refuse
 * ends the run.
 */
export async function mergeRepairedBase(deps: LoopDeps, work: Work, opened: OpenedLane): Promise<WorkAfterAction> {
  const { repository, log, context } = deps;
  const { lane, state, tasks } = work;
  if (state.redBase?.stage !== 'repaired') return { work, end: null };
  const repaired: Work = { ...work, state: { ...state, redBase: null } };
  if (opened.fork === opened.base) return { work: repaired, end: null };
  if (tasks.some(({ id }) => id === CONFLICT_TASK)) return { work, end: null };
  const forbidden = await explainForbiddenMerge(deps, work, opened.base);
  if (forbidden !== null) return { work, end: { kind: 'failed', reason: 'configuration', message: forbidden } };
  const before = await repository.snapshot();
  const begun = await repository.beginMerge();
  if (begun.kind === 'up-to-date') return { work: repaired, end: null };
  if (begun.conflicts.length > 0 || begun.lockFiles.length > 0) {
    await repository.abandonMerge();
    log.warning(
      `${lane.baseBranch} passes verify again, but cannot be merged into ${lane.branch} without conflicts. Resolve them on the pull request, or wait for the next run, which does.`,
    );
    return { work, end: null };
  }
  const committed = await repository.commit({
    before,
    after: await repository.snapshot(),
    message: `Merge ${toPlainTitle(lane.baseBranch, 60)}, where verify passes again`,
    trailers: { 'Ralph-Run': context.runId, 'Ralph-Task': CONFLICT_TASK },
  });
  const merged = addCommitToWork(work, committed);
  if (committed.merge !== 'made') return { work: merged, end: null };
  log.info(`merged ${lane.baseBranch}, where verify passes again (${committed.head.slice(0, 7)})`);
  return { work: { ...merged, state: repaired.state }, end: null };
}

/**
 * Merges the base branch into the work tree if that is the task, and finishes the merge if tools can. For any other
 * task, removes an unfinished merge.
 */
export async function prepareMerge(deps: LoopDeps, work: Work, task: Task): Promise<PreparedMerge> {
  const { repository, log } = deps;
  const { id } = task;
  if (id !== CONFLICT_TASK) {
    await repository.abandonMerge();
    return { kind: 'ready', merge: null };
  }
  const begun = await repository.beginMerge();
  if (begun.kind === 'up-to-date') {
    // A merge that fails verify still needs the agent, so the task is not settled.
    if (isRed(work)) return { kind: 'ready', merge: null };
    return { kind: 'settled', work: answerWithoutCall(deps, work, { id, own: answerForMerged(work.lane.baseBranch) }) };
  }
  const { conflicts, lockFiles } = begun;
  const many = conflicts.length + lockFiles.length;
  log.info(`merging ${work.lane.baseBranch}: ${String(many)} ${many === 1 ? 'file conflicts' : 'files conflict'}`);
  const ofLoop = listRegeneratedLockFiles(deps, lockFiles).map(({ path }) => path);
  const merge = { conflicts, lockFiles, regeneratedByLoop: ofLoop, regenerated: [], verification: null };
  if (conflicts.length > 0 || (lockFiles.length > 0 && ofLoop.length === 0)) return { kind: 'ready', merge };
  const last = work.journal.at(-1);
  // The lock files were already regenerated after the agent's last call, so do not run the tools again.
  return last?.taskId === CONFLICT_TASK
    ? { kind: 'ready', merge: { ...merge, regenerated: last.evidence.lockFiles ?? [] } }
    : mergeWithoutCall(deps, work, { task, merge });
}

function isRed({ state, head }: Work): boolean {
  const last = state.lastIteration;
  return isKnownRed(state, head) || (last?.taskId === CONFLICT_TASK && last.verification === 'failed');
}

/**
 * Finishes a merge in which only lock files conflict, if any, by regenerating them and committing, unless a lock file
 * cannot be regenerated or `verify` fails.
 */
async function mergeWithoutCall(
  deps: LoopDeps,
  work: Work,
  { task, merge }: { readonly task: Task; readonly merge: MergeToFinish },
): Promise<PreparedMerge> {
  const { repository, config, log, signal } = deps;
  const isCancelled = (): boolean => signal.aborted;
  const before = await repository.snapshot();
  const regenerated = await regenerateLockFiles(deps, work);
  if (isCancelled()) return { kind: 'settled', work };
  const isMade = regenerated.filter(({ result }) => result === 'made').length === merge.lockFiles.length;
  if (!isMade) return { kind: 'ready', merge: { ...merge, regenerated } };
  const after = await repository.snapshot();
  const verification = config.policy.verifies ? (await verifyHere(deps, work)).verification : null;
  if (isCancelled()) return { kind: 'settled', work };
  if (verification !== null && verification.kind !== 'passed')
    return { kind: 'ready', merge: { ...merge, regenerated, verification } };
  const committed = await repository.commit({
    before,
    after,
    message: writeCommitMessage(deps, work, { task, summary: null }),
    trailers: { 'Ralph-Run': deps.context.runId, 'Ralph-Task': task.id },
  });
  const done = addCommitToWork(work, committed);
  if (committed.merge !== 'made') return { kind: 'ready', merge: { ...merge, regenerated } };
  log.info(`merged ${work.lane.baseBranch} without a call (${committed.head.slice(0, 7)})`);
  const answer =
    regenerated.length === 0 ? { own: MERGED_BY_ITSELF } : { own: MERGED_WITHOUT_CALL, lockFiles: regenerated };
  return { kind: 'settled', work: answerWithoutCall(deps, done, { id: task.id, ...answer }) };
}
