import { PROGRESS_PLACES } from '../core/prompt/places.ts';
import { type FileTask, PRD_ARCHIVE_PATH, taskFilePaths } from '../core/tasks/files/form/root-plan.ts';
import type { PrdMark } from '../core/tasks/files/prd-marks.ts';
import { type FileSource, isFileSource, type TaskId } from '../core/tasks/ids.ts';
import type { Task } from '../core/tasks/task.ts';
import { withChangedTasks } from '../core/tasks/queue.ts';
import { joinNames, completeSentence } from '../core/text/phrase.ts';
import { getErrorText } from '../errors.ts';
import type { Work } from '../handover/intake.ts';
import type { FileTexts, OpenedLane } from '../ports/repository.ts';
import type { LoopDeps } from './deps.ts';

/** Files that are neither content nor tasks, as they were before a call. */
interface SetAsideFiles {
  /** Logs in which an agent keeps what it learns. */
  readonly notes: FileTexts;
  /** Markers that existed before the call, whose author and time are unknown. */
  readonly standing: readonly string[];
}

/** Maximum number of entries named in a commit's subject. */
const MAX_NAMED = 3;

/**
 * Writes the progress of prd entries back into the file, in a commit after the iteration's, so that the branch is right
 * whether or not the agent did it. Reads only texts of the branch. Marks nothing on a branch without commits, because
 * there is nothing to review. After a kill or a failure, the next iteration does this.
 */
export async function markEntries(deps: LoopDeps, work: Work, opened: OpenedLane): Promise<Work> {
  const { repository, signal, log } = deps;
  const hasBranch = work.hasNewCommits || opened.ahead > 0;
  if (!hasBranch || signal.aborted || !listFileSources(work.tasks).includes('prd')) return work;
  try {
    const [{ markPrd, buildPrdMarks }, { fileOfSource }] = await Promise.all([
      import('../core/tasks/files/prd-marks.ts'),
      import('../core/tasks/files/files.ts'),
    ]);
    const texts = await repository.publishedTexts(taskFilePaths.prd);
    const path = fileOfSource(Object.keys(texts), 'prd');
    const old = path === undefined ? undefined : texts[path];
    if (path === undefined || old === undefined) return work;
    const made = markPrd(old, buildPrdMarks(work.tasks, work.state.tasks));
    if (made === null) return work;
    const { head, withheld } = await repository.commitTexts({
      texts: { [path]: made.text },
      message: subjectOfMarks(made.marked),
      trailers: { 'Ralph-Run': deps.context.runId },
    });
    const marked: Work = { ...work, head, withheld: [...work.withheld, ...withheld] };
    if (head === work.head) return marked;
    // If the agent has changed the file, keep its version. The next iteration commits it and marks the entries again.
    await deps.files.replace({ path, old, text: made.text }).catch(() => undefined);
    // Take a snapshot, because the changes that a later verification makes are measured against it.
    await repository.snapshot();
    const done = [...made.marked].filter(([, mark]) => mark === 'done').map(([id]) => id);
    const tasks = withChangedTasks(work.state.tasks, done, (progress) => ({ ...progress, unmarked: undefined }));
    return { ...marked, hasNewCommits: true, state: { ...work.state, tasks } };
  } catch (error) {
    log.warning(`The states of the prd's entries were not written back: ${completeSentence(getErrorText(error))}`);
    return work;
  }
}

/** Renders `Mark US-1 as failed, US-2 and 3 more as done`, in words that no entry can choose. */
function subjectOfMarks(marked: ReadonlyMap<TaskId, PrdMark>): string {
  const words = { 'in-progress': 'in progress', failed: 'failed', done: 'done' } as const;
  const parts = (['done', 'failed', 'in-progress'] as const).flatMap((mark) => {
    const ids = [...marked].filter(([, given]) => given === mark).map(([id]) => id);
    return ids.length === 0 ? [] : [`${joinNames(ids, MAX_NAMED)} as ${words[mark]}`];
  });
  return `Mark ${parts.join('; ')}`;
}

/**
 * Returns the kinds of files that list tasks of the lane. Empty for an issue lane, because a plan kept by its agent
 * does not list its tasks.
 */
export function listFileSources(tasks: readonly Task[]): readonly FileSource[] {
  return [...new Set(tasks.map(({ source }) => source.kind))].filter(isFileSource);
}

/** Returns the items of the task files in the work tree as they are now, followed by those of the archive. */
export async function readFileTasks(
  { files, config }: Pick<LoopDeps, 'files' | 'config'>,
  laneTasks: readonly Task[],
): Promise<readonly FileTask[]> {
  const sources = listFileSources(laneTasks);
  if (sources.length === 0) return [];
  // Load the parsers only here, because a run that ends in the gate does not need them.
  const { parseTaskFilesAndArchive } = await import('../core/tasks/files/files.ts');
  const archivePaths = sources.includes('prd') ? [PRD_ARCHIVE_PATH] : [];
  return parseTaskFilesAndArchive(
    await files.read([...sources.flatMap((source) => taskFilePaths[source]), ...archivePaths]),
    sources,
    config.optionalSections,
  ).tasks;
}

/** Reads all files that are set aside. */
export async function readSetAsideFiles({ files, prompt }: Pick<LoopDeps, 'files' | 'prompt'>): Promise<SetAsideFiles> {
  const texts = Object.entries(await files.read([...prompt.signals.markers, ...PROGRESS_PLACES]));
  return {
    notes: Object.fromEntries(texts.filter(([path]) => PROGRESS_PLACES.includes(path))),
    standing: texts.map(([path]) => path).filter((path) => prompt.signals.markers.includes(path)),
  };
}

/**
 * Removes the marker file with which the agent reported in this call that everything is done, so that the marker is
 * valid for one call only. Returns its path, or null if the agent made none.
 */
export async function takeDoneMarker(
  { files, prompt, log, redact }: Pick<LoopDeps, 'files' | 'prompt' | 'log' | 'redact'>,
  { standing }: SetAsideFiles,
): Promise<string | null> {
  const made = Object.keys(await files.read(prompt.signals.markers)).filter((path) => !standing.includes(path));
  for (const path of made)
    await files.remove(path).catch(() => {
      log.warning(`${redact(path)} says that everything is done and cannot be removed, so it counts only once.`);
    });
  return made[0] ?? null;
}
