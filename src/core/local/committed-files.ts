import { type Folder, fromRoot } from '../folder.ts';
import { isAnybodys, PIPELINE_FILES } from '../pipeline/pipeline.ts';
import { promptPlaces, SETUP_PROMPT_PATH } from '../prompt/places.ts';
import { PRD_ARCHIVE_PATH, taskFilePaths } from '../tasks/files/form/root-plan.ts';
import { fileSources } from '../tasks/ids.ts';

/** A file of the logs. */
interface LogFile {
  readonly name: string;
  readonly bytes: number;
}

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

/** The files to delete so that no more than `most` are left, and no more than `mostBytes`; their names sort by age, oldest first. The newest stays. */
export function overflowing(
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
