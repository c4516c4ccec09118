import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { fromRoot, type Folder } from '../core/folder.ts';
import { UserError } from '../errors.ts';
import type { Log } from '../ports/machine.ts';
import { readWorkspaceFile } from './workspace-files.ts';

/** A prompt file may be so long; the CLI takes 10 MB on stdin, task and context included. */
const MAX_PROMPT_BYTES = 1024 * 1024;

interface PromptPlaces {
  readonly workspace: string;
  /** Input working-directory. */
  readonly folder: Folder;
  /** Input prompt-file: a path in it. */
  readonly promptFile: string;
  /** Folder of the action: its templates/ hold the built-in prompt. */
  readonly actionFolder: string;
}

/** The user's prompt, or the built-in one. A pipe in its place is not waited for. Throws a UserError where there is none at all. */
export async function readPrompt(
  { workspace, folder, promptFile, actionFolder }: PromptPlaces,
  log: Pick<Log, 'info' | 'warning'>,
): Promise<string> {
  for (const path of [promptFile, 'PROMPT.md'].map((name) => fromRoot(folder, name))) {
    const text = await readWorkspaceFile(workspace, path, MAX_PROMPT_BYTES);
    if (text !== null && text.trim() !== '') {
      log.info(`prompt: ${path}`);
      return text;
    }
    if (text === null && (await lstat(join(workspace, path)).catch(() => null)) !== null)
      log.warning(`${path} is not used as the prompt: it is not a readable file of the checkout.`);
  }
  const builtIn = await readWorkspaceFile(actionFolder, 'templates/PROMPT.md', MAX_PROMPT_BYTES);
  if (builtIn === null)
    throw new UserError(
      'infrastructure',
      `The built-in prompt cannot be read: ${join(actionFolder, 'templates', 'PROMPT.md')} is missing, or it is not a file. Run the action from a fresh copy.`,
    );
  log.info(`prompt: built-in (no text in ${fromRoot(folder, promptFile)})`);
  return builtIn;
}
