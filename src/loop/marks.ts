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

/** A commit's subject names so many entries. */
const MAX_NAMED = 3;

/**
 * Writes back how far the lane got with the entries of its prd, in a commit of its own behind the iteration's: what the branch
 * says of them is true whether or not the agent thought of it. Made from the texts of the branch and of nothing else.
 * A mark alone begins no branch: there is nothing to review. What a kill or a failure leaves undone, the next iteration does.
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
    // One that the agent left otherwise is its own affair: the next iteration commits it, and it is marked again.
    await deps.files.replace({ path, old, text: made.text }).catch(() => undefined);
    // What a verification leaves behind is measured against this.
    await repository.snapshot();
    const done = new Set([...made.marked].filter(([, mark]) => mark === 'done').map(([id]) => id));
    const unmarked = work.state.unmarked.filter((id) => !done.has(id));
    return { ...marked, hasNewCommits: true, state: { ...work.state, unmarked } };
  } catch (error) {
    log.warning(`The states of the prd's entries were not written back: ${sentence(textOf(error))}`);
    return work;
  }
}

/** `Mark US-1 as failed, US-2 and 3 more as done`: words that no entry can choose. */
function subjectOf(marked: ReadonlyMap<TaskId, PrdMark>): string {
  const words = { 'in-progress': 'in progress', failed: 'failed', done: 'done' } as const;
  const parts = (['done', 'failed', 'in-progress'] as const).flatMap((mark) => {
    const ids = [...marked].filter(([, given]) => given === mark).map(([id]) => id);
    return ids.length === 0 ? [] : [`${firstNames(ids, MAX_NAMED)} as ${words[mark]}`];
  });
  return `Mark ${parts.join('; ')}`;
}
