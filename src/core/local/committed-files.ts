import { type Folder, toRootPath } from '../folder.ts';
import { isSharedFileName, PIPELINE_FILES } from '../pipeline/pipeline.ts';
import { listPromptPlaces, SETUP_PROMPT_PATH } from '../prompt/places.ts';
import { PRD_ARCHIVE_PATH, taskFilePaths } from '../tasks/files/form/root-plan.ts';
import { fileSources } from '../tasks/ids.ts';

interface LogFile {
  readonly name: string;
  readonly bytes: number;
}

/** Returns the paths where task files may be, relative to the root; `*` matches any part of a name. */
export function listTaskFiles(folder: Folder): readonly string[] {
  return [...fileSources.flatMap((source) => taskFilePaths[source]), PRD_ARCHIVE_PATH].map((path) =>
    toRootPath(folder, path),
  );
}

/**
 * Returns the paths of task files, prompts and pipelines that a run reads only from the last commit. Files under shared
 * names that belong to other tools are left out. Paths are relative to the root, and `*` stands for any part of a name.
 * `there` lists the existing files of `ROOT_LOOP` in the folder.
 */
export function listCommittedFiles(
  folder: Folder,
  { promptFile, there }: { readonly promptFile: string; readonly there: readonly string[] },
): readonly string[] {
  const others = [
    ...listPromptPlaces(promptFile, there),
    SETUP_PROMPT_PATH,
    ...PIPELINE_FILES.filter((path) => !isSharedFileName(path)),
  ];
  return [...listTaskFiles(folder), ...others.map((path) => toRootPath(folder, path))];
}

/**
 * Returns the files to delete so that at most `most` files and `mostBytes` bytes remain. Files sort by name from oldest
 * to newest. The newest file always remains.
 */
export function selectFilesToDelete(
  files: readonly LogFile[],
  { most, mostBytes }: { readonly most: number; readonly mostBytes: number },
): readonly string[] {
  let bytes = 0;
  return files
    .toSorted((a, b) => (a.name < b.name ? 1 : -1))
    .filter((file, index) => {
      bytes += file.bytes;
      return index > 0 && (index >= most || bytes > mostBytes);
    })
    .map(({ name }) => name);
}
