import type { PrdMark } from '../core/tasks/files/prd-marks.ts';
import { taskFilePaths } from '../core/tasks/files/file-task.ts';
import type { TaskId } from '../core/tasks/ids.ts';
import { firstNames } from '../core/text/lists.ts';
import { sentence } from '../core/text/sentence.ts';
import { textOf } from '../errors.ts';
import type { Work } from '../handover/work.ts';
import type { OpenedLane } from '../ports/repository.ts';
import { fileSourcesOf } from './file-tasks.ts';
import type { LoopDeps } from './deps.ts';

/** Maximum number of entries named in a commit's subject. */
const MAX_NAMED = 3;

/**
 * Writes the progress of prd entries back into the file, in a commit after the iteration's, so that the branch is right whether
 * or not the agent did it. Reads only the texts of the branch. A mark alone begins no branch, since there is nothing to review.
 * The next iteration does what a kill or a failure leaves undone.
 */
export async function markEntries(deps: LoopDeps, work: Work, opened: OpenedLane): Promise<Work> {
  const { repository, signal, log } = deps;
  const hasBranch = work.hasNewCommits || opened.ahead > 0;
  if (!hasBranch || signal.aborted || !fileSourcesOf(work.tasks).includes('prd')) return work;
  try {
    const [{ markPrd, marksOf }, { fileOfSource }] = await Promise.all([
      import('../core/tasks/files/prd-marks.ts'),
      import('../core/tasks/files/files.ts'),
    ]);
    const texts = await repository.publishedTexts(taskFilePaths.prd);
    const path = fileOfSource(Object.keys(texts), 'prd');
    const old = path === undefined ? undefined : texts[path];
    if (path === undefined || old === undefined) return work;
    const made = markPrd(old, marksOf(work.tasks, work.state.tasks));
    if (made === null) return work;
    const { head, withheld } = await repository.commitTexts({
      texts: { [path]: made.text },
      message: subjectOf(made.marked),
      trailers: { 'Ralph-Run': deps.context.runId },
    });
    const marked: Work = { ...work, head, withheld: [...work.withheld, ...withheld] };
    if (head === work.head) return marked;
    // If the agent left the file in another form, the next iteration commits that, and the entries are marked again.
    await deps.files.replace({ path, old, text: made.text }).catch(() => undefined);
    // The changes that a later verification makes are measured against this snapshot.
    await repository.snapshot();
    const done = new Set([...made.marked].filter(([, mark]) => mark === 'done').map(([id]) => id));
    const unmarked = work.state.unmarked.filter((id) => !done.has(id));
    return { ...marked, hasNewCommits: true, state: { ...work.state, unmarked } };
  } catch (error) {
    log.warning(`The states of the prd's entries were not written back: ${sentence(textOf(error))}`);
    return work;
  }
}

/** `Mark US-1 as failed, US-2 and 3 more as done`: no entry can choose these words. */
function subjectOf(marked: ReadonlyMap<TaskId, PrdMark>): string {
  const words = { 'in-progress': 'in progress', failed: 'failed', done: 'done' } as const;
  const parts = (['done', 'failed', 'in-progress'] as const).flatMap((mark) => {
    const ids = [...marked].filter(([, given]) => given === mark).map(([id]) => id);
    return ids.length === 0 ? [] : [`${firstNames(ids, MAX_NAMED)} as ${words[mark]}`];
  });
  return `Mark ${parts.join('; ')}`;
}
