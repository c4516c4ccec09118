import { fromRoot, type Folder } from '../folder.ts';
import { isAnybodys, PIPELINE_FILES } from '../pipeline/pipeline.ts';
import { promptPlaces, SETUP_PROMPT_PATH } from '../prompt/places.ts';
import { PRD_ARCHIVE_PATH, taskFilePaths } from '../tasks/files/file-task.ts';
import { fileSources } from '../tasks/task-sources.ts';

/** Where task files may be, from the root; `*` stands for any part of a name. */
export function taskFilesIn(folder: Folder): readonly string[] {
  return [...fileSources.flatMap((source) => taskFilePaths[source]), PRD_ARCHIVE_PATH].map((path) =>
    fromRoot(folder, path),
  );
}

/** Files of tasks, prompts and pipelines, which a run takes from the last commit alone; paths from the root, with `*` for any part of a name. What other tools have under the same name is not among them. `there`: names in the folder, as far as `ROOT_LOOP` lists them. */
export function committedFilesIn(
  folder: Folder,
  { promptFile, there }: { readonly promptFile: string; readonly there: readonly string[] },
): readonly string[] {
  const others = [
    ...promptPlaces(promptFile, there),
    SETUP_PROMPT_PATH,
    ...PIPELINE_FILES.filter((path) => !isAnybodys(path)),
  ];
  return [...taskFilesIn(folder), ...others.map((path) => fromRoot(folder, path))];
}
