import { z } from 'zod';
import type { Config, RunContext } from '../../config/config.ts';
import { describeMisplaced, parseHandoff, type ConfigTexts, withoutUnknownInputs } from '../../config/inputs.ts';
import {
  type GivenTexts,
  selectOwnTexts,
  parseRunSettings,
  listSettingsPaths,
  mergeConfigTexts,
  mergeFoundTexts,
} from '../../config/settings/run-texts.ts';
import {
  NO_SETTINGS_MAPPING,
  type SettingsMapping,
  parseSettingsMapping,
  ORGANISATION_FILE,
  parseOrganisationSettings,
} from '../../config/settings/settings-input.ts';
import { parseRepositoryName, parseWorkingFolder } from '../../config/fields.ts';
import { getDefault } from '../../config/setting-table.ts';
import type { FoundSetting } from '../../core/settings/effective.ts';
import { UserError } from '../../errors.ts';
import type { BaseTexts } from '../../git/checkout/texts.ts';
import { baseMayHave, type BaseOnDisk } from '../../git/checkout/on-disk.ts';
import { openHandoff } from '../handoff.ts';
import { formatUserAgent } from '../../runner/run-context.ts';
import type { World } from '../world.ts';

type Texts = Readonly<Record<string, string | undefined>>;

/**
 * Returns the texts that configure a run: its inputs, then its input `settings`, the environment and the settings file
 * of the base branch. A job after the gate's uses the settings that the gate handed over, so that all jobs agree.
 */
export async function readConfigTexts(
  texts: Texts,
  { environment, context }: Pick<World, 'environment'> & { readonly context: Place },
): Promise<ConfigTexts> {
  const given = await readSettingsInput(withoutUnknownInputs(texts));
  if (handoffBehindGate(texts) !== null) return readSettledTexts(texts, null);
  const own = selectOwnTexts(given);
  const base = await readBase(own, { environment, context });
  const settings = parseRunSettings(environment, base.kind === 'texts' ? base.read : null, parseWorkingFolder(own));
  const settled = mergeConfigTexts(given, settings, await readOrganisation(own, { environment, context }));
  return { ...settled, problems: [...describeMisplaced(texts), ...settled.problems] };
}

/**
 * Works like `readConfigTexts`, but with settings that are already known: those of main's record or, if `recorded` is
 * null, those that the gate's job handed over.
 */
export async function readSettledTexts(texts: Texts, recorded: readonly FoundSetting[] | null): Promise<ConfigTexts> {
  const handoff = handoffBehindGate(texts);
  const found = recorded ?? (handoff === null ? [] : await handedSettings(handoff));
  const settled = mergeFoundTexts(await readSettingsInput(withoutUnknownInputs(texts)), found);
  return { ...settled, problems: [...describeMisplaced(texts), ...settled.problems] };
}

/** Reads the input `settings` of a step. Loads a parser only if a step has this input, which most steps lack. */
export async function readSettingsInput(inputs: Texts): Promise<GivenTexts> {
  const { settings = '' } = inputs;
  if (settings.trim() === '') return { inputs, named: NO_SETTINGS_MAPPING };
  const { parseYamlTexts } = await import('../../yaml/parse.ts');
  return { inputs, named: parseSettingsMapping(settings, parseYamlTexts) };
}

/** Returns the hand-over of a job that gets its settings from the gate's job, or null for any other job. */
function handoffBehindGate(texts: Texts): Config['handoff'] | null {
  const handoff = parseHandoff(texts);
  return handoff === null || handoff.phase === 'all' || handoff.phase === 'gate' ? null : handoff;
}

/**
 * Reads the settings that the gate handed over. A parcel that cannot be read is reported where the whole parcel is
 * received.
 */
async function handedSettings(handoff: Config['handoff']): Promise<readonly FoundSetting[]> {
  try {
    const { takeIntake } = await import('../../run/jobs/parcels.ts');
    const { handed } = await takeIntake(await openHandoff({ handoff }, null), handoff);
    return handed.settings;
  } catch (error) {
    if (error instanceof UserError) return [];
    throw error;
  }
}

/** Reads the settings of the repository that `settings-from` names, with one request; most runs name none. */
async function readOrganisation(
  texts: Texts,
  { environment, context }: Pick<World, 'environment'> & { readonly context: Pick<RunContext, 'apiUrl'> },
): Promise<SettingsMapping> {
  const name = (texts['settings-from'] ?? '').trim();
  const repository = parseRepositoryName(name);
  // A text that does not name a repository is reported with the other inputs, so ignore it here.
  if (repository === null) return NO_SETTINGS_MAPPING;
  const [{ readRepositoryFile }, { parseYamlTexts }] = await Promise.all([
    import('../../github/repository-file.ts'),
    import('../../yaml/parse.ts'),
  ]);
  const file = await readRepositoryFile(
    {
      token: texts['github-token'] ?? '',
      tokenFrom: 'input',
      apiUrl: context.apiUrl,
      repository,
      userAgent: formatUserAgent(environment),
      // Ignore messages, because the run has no log before its settings are known.
      log: { info: ignored, warning: ignored, error: ignored, group: (_, body) => body() },
      now: Date.now,
    },
    ORGANISATION_FILE,
  );
  return parseOrganisationSettings(name, file, parseYamlTexts);
}

function ignored(): undefined {
  return undefined;
}

/** The place of the run, as far as settings need it. */
type Place = Pick<RunContext, 'event' | 'workspace' | 'apiUrl'>;

const NO_FILES: BaseTexts = { kind: 'texts', read: { texts: {}, unread: {} } };

async function readBase(
  texts: Texts,
  {
    environment,
    context,
  }: { readonly environment: World['environment']; readonly context: Pick<RunContext, 'event' | 'workspace'> },
): Promise<BaseTexts> {
  const repository = z.object({ default_branch: z.string().min(1) });
  const event = z.object({ repository }).safeParse(context.event.payload, { jitless: true });
  const baseBranch = event.data?.repository.default_branch ?? null;
  return readSettingsFiles(texts, { folder: context.workspace, baseBranch, env: environment });
}

/**
 * Reads the settings files of the base branch in the folder of the input working-directory. `baseBranch` is used if no
 * input names a base branch; it is null if unknown.
 */
export async function readSettingsFiles(
  texts: Texts,
  { folder, baseBranch, env }: Pick<BaseOnDisk, 'folder' | 'baseBranch'> & { readonly env: NodeJS.ProcessEnv },
): Promise<BaseTexts> {
  const named = (texts['base-branch'] ?? '').trim();
  const wanted: BaseOnDisk = {
    folder,
    paths: listSettingsPaths(parseWorkingFolder(texts)),
    baseBranch: named === '' ? baseBranch : named,
    branchPrefix: (texts['branch-prefix'] ?? getDefault('branch-prefix')).trim(),
  };
  // Most repositories have no settings file, and most events ask for nothing, so load no git code then.
  if (!(await baseMayHave(wanted))) return NO_FILES;
  const { readBaseTexts } = await import('../../git/checkout/texts.ts');
  return readBaseTexts({ ...wanted, env });
}
