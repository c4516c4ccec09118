import { documentsNamed, promptFiles, promptTask } from '../../core/open-ended/prompt-task.ts';
import { taskFromRoot } from '../../core/folder.ts';
import type { Task } from '../../core/tasks/task.ts';
import type { GateDeps } from '../deps.ts';

/** The user's prompt as a task, from the checkout as the job made it; null: the checkout has none. */
export async function findPrompt({
  config: { promptFile, workingDirectory },
  repository,
  sha256,
}: Pick<GateDeps, 'config' | 'repository' | 'sha256'>): Promise<Task | null> {
  const { base } = await repository.readTexts(promptFiles(promptFile), null);
  const named = documentsNamed(base, promptFile);
  const documents = named.length === 0 ? {} : (await repository.readTexts(named, null)).base;
  const task = promptTask({ ...documents, ...base }, { promptFile, sha256 });
  return task === null ? null : taskFromRoot(workingDirectory, task);
}
