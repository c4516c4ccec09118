import { compactLearnings, notebookOf } from '../core/prompt/learnings.ts';
import type { FileTask } from '../core/tasks/files/file-task.ts';
import { progressOf } from '../core/tasks/queue.ts';
import type { FileTexts } from '../ports/repository.ts';
import { fileSourcesOf } from './file-tasks.ts';
import type { LoopDeps } from './deps.ts';
import type { Work } from '../handover/work.ts';
import { textOf } from '../errors.ts';
import { sentence } from '../core/text/sentence.ts';

/** A file to write, with its published text (`old`; null: it does not exist). */
interface Rewrite {
  readonly path: string;
  readonly old: string | null;
  readonly text: string;
}

/**
 * Moves done entries of the prd and old notes into their archives, in a last commit of a run that has commits. Reads only the
 * texts of the checked head, since the work tree may have changed. The next run does what a kill or a failure leaves undone.
 */
export async function tidy(deps: LoopDeps, work: Work): Promise<Work> {
  if (!work.hasNewCommits || deps.signal.aborted) return work;
  try {
    const { rewrites, obstacle } = await rewritesOf(deps, work);
    if (obstacle !== null) deps.log.warning(obstacle);
    const warned: Work = obstacle === null ? work : { ...work, warnings: [...work.warnings, obstacle] };
    if (rewrites.length === 0) return warned;
    // All or nothing: if an archive must not be published, say because it repeats a key, the entries moved into it would be lost.
    const { head, withheld } = await deps.repository.commitTexts({
      texts: Object.fromEntries(rewrites.map(({ path, text }) => [path, text])),
      message: 'Archive finished tasks and old notes',
      trailers: { 'Ralph-Run': deps.context.runId },
    });
    return { ...warned, head, withheld: [...work.withheld, ...withheld] };
  } catch (error) {
    deps.log.warning(
      `Finished tasks and old notes stay where they are, because they could not be archived: ${sentence(textOf(error))}`,
    );
    return work;
  }
}

const PRD_PATH = '.ralph/prd.json';

/** The files to write, and the problem that keeps others from being written; null: there is none. */
interface Rewrites {
  readonly rewrites: readonly Rewrite[];
  readonly obstacle: string | null;
}

/** Lists each archive before the file that it takes from, so that an entry is in both for a moment rather than in neither. */
async function rewritesOf(deps: LoopDeps, work: Work): Promise<Rewrites> {
  const { rewrites, obstacle } = await archivedEntries(deps, work);
  return { rewrites: [...rewrites, ...(await compactedNotes(deps, work))], obstacle };
}

async function archivedEntries({ repository }: LoopDeps, { tasks, state }: Work): Promise<Rewrites> {
  if (!fileSourcesOf(tasks).includes('prd')) return { rewrites: [], obstacle: null };
  const [{ archiveObstacle, archivePrd, PRD_ARCHIVE_PATH }, { parsePrd }] = await Promise.all([
    import('../core/tasks/files/prd-archive.ts'),
    import('../core/tasks/files/prd.ts'),
  ]);
  const texts = await repository.publishedTexts([PRD_PATH, PRD_ARCHIVE_PATH]);
  const prd = texts[PRD_PATH] ?? '';
  // File and state must agree: an entry stays that its file calls open, or whose work was not accepted.
  const isDone = ({ task, state: stateInFile }: FileTask): boolean =>
    stateInFile === 'done' && progressOf(state.tasks, task.id).state === 'done';
  const done = parsePrd(PRD_PATH, prd).tasks.filter(isDone);
  const archive = texts[PRD_ARCHIVE_PATH] ?? null;
  const archived = archivePrd({ prd, archive }, new Set(done.map(({ task }) => task.id)));
  if (archived !== null)
    return {
      rewrites: [rewrite(texts, PRD_ARCHIVE_PATH, archived.archive), rewrite(texts, PRD_PATH, archived.prd)],
      obstacle: null,
    };
  const problem = done.length === 0 ? null : archiveObstacle(archive);
  return {
    rewrites: [],
    obstacle:
      problem === null
        ? null
        : [
            [problem.file, problem.line, problem.column].filter((part) => part !== null).join(':'),
            sentence(problem.message),
          ].join(' '),
  };
}

/** Shortens only the lane's own notebook: if two branches shortened the same file, their merges would conflict. */
async function compactedNotes({ repository }: LoopDeps, { lane }: Work): Promise<readonly Rewrite[]> {
  const { path, archive } = notebookOf(lane.id);
  const texts = await repository.publishedTexts([path, archive]);
  const learnings = texts[path];
  const compacted = learnings === undefined ? null : compactLearnings(learnings, texts[archive] ?? '');
  return compacted === null
    ? []
    : [rewrite(texts, archive, compacted.archive), rewrite(texts, path, compacted.learnings)];
}

function rewrite(texts: FileTexts, path: string, text: string): Rewrite {
  return { path, old: texts[path] ?? null, text };
}
