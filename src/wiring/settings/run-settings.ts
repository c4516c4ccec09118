import { z } from 'zod';
import type { Config, RunContext } from '../../config/config.ts';
import { parseHandoff, type ConfigTexts } from '../../config/inputs.ts';
import { readRunSettings, settingsPaths, textsWith, textsWithFound } from '../../config/settings/run-texts.ts';
import { workingFolderOf } from '../../config/fields.ts';
import type { FoundSetting } from '../../core/settings/effective.ts';
import { UserError } from '../../errors.ts';
import type { BaseTexts } from '../../git/checkout/texts.ts';
import { baseMayHave, type BaseOnDisk } from '../../git/checkout/on-disk.ts';
import { openHandoff } from '../handoff.ts';
import type { World } from '../world.ts';
import { readDefaults } from './action-defaults.ts';

type Texts = Readonly<Record<string, string | undefined>>;

/** What a run is set up with: its inputs, then what the environment and the settings file of the base branch say. In a job behind the gate's it is what the gate handed over, so that all of them work with the same. */
export async function configTexts(
  texts: Texts,
  { environment, context, actionFolder }: Pick<World, 'environment' | 'actionFolder'> & { readonly context: Place },
): Promise<ConfigTexts> {
  const handoff = parseHandoff(texts);
  if (handoff !== null && (handoff.phase === 'loop' || handoff.phase === 'publish'))
    return settledTexts(texts, await handedSettings(handoff), actionFolder);
  const base = await readBase(texts, { environment, context });
  const settings = readRunSettings(environment, base.kind === 'texts' ? base.read : null, workingFolderOf(texts));
  return textsWith(texts, settings, await defaultsFor(settings.read.found, actionFolder));
}

/** The same with settings that are known: from the gate's job, or from main's record. */
export async function settledTexts(
  texts: Texts,
  found: readonly FoundSetting[],
  actionFolder: string,
): Promise<ConfigTexts> {
  return textsWithFound(texts, found, await defaultsFor(found, actionFolder));
}

/** What cannot be taken is reported by whoever takes the whole parcel. */
async function handedSettings(handoff: Config['handoff']): Promise<readonly FoundSetting[]> {
  try {
    const { takeIntake } = await import('../../river/jobs/parcels.ts');
    const { handed } = await takeIntake(await openHandoff({ handoff }), handoff);
    return handed.settings;
  } catch (error) {
    if (error instanceof UserError) return [];
    throw error;
  }
}

/** Where the run happens, as far as settings need it. */
type Place = Pick<RunContext, 'event' | 'workspace'>;

const NO_FILES: BaseTexts = { kind: 'texts', read: { texts: {}, unread: {} } };
const eventSchema = z.object({ repository: z.object({ default_branch: z.string().min(1) }) });

async function readBase(
  texts: Texts,
  {
    environment,
    context,
  }: { readonly environment: World['environment']; readonly context: Pick<RunContext, 'event' | 'workspace'> },
): Promise<BaseTexts> {
  const event = eventSchema.safeParse(context.event.payload);
  const baseBranch = event.data?.repository.default_branch ?? null;
  return readSettingsFiles(texts, { folder: context.workspace, baseBranch, env: environment });
}

/** The settings files of the base branch, in the input working-directory. `baseBranch`: the one that counts where no input names one; null: not known. */
export async function readSettingsFiles(
  texts: Texts,
  { folder, baseBranch, env }: Pick<BaseOnDisk, 'folder' | 'baseBranch'> & { readonly env: NodeJS.ProcessEnv },
): Promise<BaseTexts> {
  const named = (texts['base-branch'] ?? '').trim();
  const wanted: BaseOnDisk = {
    folder,
    paths: settingsPaths(workingFolderOf(texts)),
    baseBranch: named === '' ? baseBranch : named,
    branchPrefix: (texts['branch-prefix'] ?? '').trim(),
  };
  // Most repositories have none, and most events ask for nothing: then no code of git is loaded.
  if (!(await baseMayHave(wanted))) return NO_FILES;
  const { readBaseTexts } = await import('../../git/checkout/texts.ts');
  return readBaseTexts({ ...wanted, env });
}

/** Where nothing was found, nobody asks for them. */
async function defaultsFor(
  found: readonly FoundSetting[],
  actionFolder: string,
): Promise<Readonly<Record<string, string>>> {
  return found.length === 0 ? {} : readDefaults(actionFolder);
}
