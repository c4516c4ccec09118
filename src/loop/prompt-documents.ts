import { documentsNamed, promptFiles, promptTask } from '../core/open-ended/prompt-task.ts';
import type { Task } from '../core/tasks/task.ts';
import type { LoopDeps } from './deps.ts';

/** The prompt as it is with what the lane's newest commit makes of its documents; null: there is none. */
export async function publishedPrompt({
  config: { promptFile },
  repository,
  sha256,
}: Pick<LoopDeps, 'config' | 'repository' | 'sha256'>): Promise<Task | null> {
  const texts = await repository.publishedTexts(promptFiles(promptFile));
  const named = documentsNamed(texts, promptFile);
  const documents = named.length === 0 ? {} : await repository.publishedTexts(named);
  return promptTask({ ...documents, ...texts }, { promptFile, sha256 });
}
