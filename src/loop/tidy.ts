import { compactLearnings, notebookOf } from '../core/prompt/learnings.ts';
import type { FileTask } from '../core/tasks/files/file-task.ts';
import { progressOf } from '../core/tasks/queue.ts';
import type { FileTexts } from '../ports/repository.ts';
import { fileSourcesOf } from './file-tasks.ts';
import type { LoopDeps } from './deps.ts';
import type { Work } from '../handover/work.ts';
import { textOf } from '../errors.ts';
import { sentence } from '../core/text/sentence.ts';

/** A file to write, and what is published of it (null: it is not there). */
interface Rewrite {
  readonly path: string;
  readonly old: string | null;
  readonly text: string;
}

/**
 * At the end of a run that has commits: moves done entries of the prd and old notes into their archives, in a last commit.
 * Made from the texts of the head that was checked, and of nothing else: the work tree may have changed since.
 * Nothing depends on it: what a kill or a failure leaves undone, the next run does.
 */
export async function tidy(deps: LoopDeps, work: Work): Promise<Work> {
  if (!work.hasNewCommits || deps.signal.aborted) return work;
  try {
    const { rewrites, obstacle } = await rewritesOf(deps, work);
    if (obstacle !== null) deps.log.warning(obstacle);
    const warned: Work = obstacle === null ? work : { ...work, warnings: [...work.warnings, obstacle] };
    if (rewrites.length === 0) return warned;
    // All or nothing: an archive that must not be published (it repeats a key, say) would take along what was moved into it.
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

/** What is to be written, and why a part of it cannot be; null: nothing is in the way. */
interface Rewrites {
  readonly rewrites: readonly Rewrite[];
  readonly obstacle: string | null;
}

/** Each archive stands before the file that it takes from: what is in both for a moment is not lost. */
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
  // Both must say so: an entry that its file calls open is not put away, nor one whose work was not accepted.
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

/** A lane's own notebook alone: what two branches shorten conflicts when both are merged. */
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
