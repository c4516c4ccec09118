import { fromRoot, type Folder } from '../../core/folder.ts';
import { taskFilePaths } from '../../core/tasks/files/file-task.ts';
import { fileSources } from '../../core/tasks/task-sources.ts';
import { namesOf } from '../../core/text/lists.ts';
import type { PersonCheckout } from '../../git/home/person-checkout.ts';

/** What of a person's files the run does not see, as sentences. `folder`: the one that the run works for. */
export function uncommittedWords(
  { uncommitted }: Pick<PersonCheckout, 'uncommitted'>,
  folder: Folder,
): readonly string[] {
  const isOurs = (path: string): boolean =>
    /(?:^|\/)\.ralph\/(?:state|logs|status\.json|progress\.json)(?:\/|$)/.test(path);
  const others = uncommitted.filter((path) => !isOurs(path));
  if (others.length === 0) return [];
  const lists = [...fileSources.flatMap((source) => taskFilePaths[source]), '.ralph/'];
  const ofTasks = others.filter((path) => lists.some((list) => fromRoot(folder, list) === path));
  return [
    `What is not committed is not part of the run, and stays as it is: ${namesOf(others)}.`,
    ...(ofTasks.length === 0
      ? []
      : [`The run reads its tasks from the last commit: commit ${namesOf(ofTasks)} first.`]),
  ];
}
