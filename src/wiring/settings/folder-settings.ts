import type { AnsweredSettings } from '../../core/settings/effective.ts';
import { createGit, hasGit } from '../../git/git.ts';
import { workflowFiles } from '../doctor/workflow-files.ts';
import { settingsWithin } from './effective-settings.ts';

/** What runs work with whose tasks are in a folder, which may be one of a checkout or of none. */
export async function settingsOfFolder(
  folder: string,
  { actionFolder, env }: { readonly actionFolder: string; readonly env: NodeJS.ProcessEnv },
): Promise<AnsweredSettings> {
  // Settings count as they are committed.
  if (!hasGit(env)) return { workflow: 'ralph run', settings: [], problems: [] };
  const git = createGit({ folder, env, configuration: 'own' });
  const answer = await git.answer(['rev-parse', '--show-toplevel', '--show-prefix']).catch(() => null);
  const [top = folder, prefix = ''] = answer?.exitCode === 0 ? answer.stdout.toString().split('\n') : [];
  const within = prefix.replace(/\/$/, '');
  return settingsWithin(within, await workflowFiles(top), { folder: top, actionFolder, env });
}
