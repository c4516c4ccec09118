import type { ReportedSettings } from '../../core/settings/effective.ts';
import { hasGit } from '../../git/git.ts';
import { findCheckout } from '../../git/home/person-checkout.ts';
import { readWorkflowFiles } from '../doctor/workflow-files.ts';
import { readSettingsWithin } from './effective-settings.ts';

/** Returns the settings of runs whose tasks are in a folder, inside or outside of a checkout. */
export async function settingsOfFolder(folder: string, env: NodeJS.ProcessEnv): Promise<ReportedSettings> {
  // Only committed settings are used, so none are read without git.
  if (!hasGit(env)) return { workflow: 'ralph run', settings: [], problems: [] };
  const { top, within } = await findCheckout(folder, env).catch(() => ({ top: folder, within: '' }));
  return readSettingsWithin(within, await readWorkflowFiles(top), { folder: top, env });
}
