import { PRD_ARCHIVE_PATH, taskFilePaths, type FileTask } from '../core/tasks/files/file-task.ts';
import { isFileSource, type FileSource } from '../core/tasks/task-sources.ts';
import type { Task } from '../core/tasks/task.ts';
import type { LoopDeps } from './deps.ts';

/** The kinds of files that list tasks of the lane. Empty for a lane of issues: a plan that its agent keeps lists none of its tasks. */
export function fileSourcesOf(tasks: readonly Task[]): readonly FileSource[] {
  return [...new Set(tasks.map(({ source }) => source.kind))].filter(isFileSource);
}

/** Returns the items of the task files in the work tree as they are now, followed by those of the archive. */
export async function readFileTasks(
  { files, config }: Pick<LoopDeps, 'files' | 'config'>,
  laneTasks: readonly Task[],
): Promise<readonly FileTask[]> {
  const sources = fileSourcesOf(laneTasks);
  if (sources.length === 0) return [];
  // Loaded here, since a run that ends in the gate needs no parsers.
  const { parseTaskFilesAndArchive } = await import('../core/tasks/files/files.ts');
  const archivePaths = sources.includes('prd') ? [PRD_ARCHIVE_PATH] : [];
  return parseTaskFilesAndArchive(
    await files.read([...sources.flatMap((source) => taskFilePaths[source]), ...archivePaths]),
    sources,
    config.optionalSections,
  ).tasks;
}
