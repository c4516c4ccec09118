import { join } from 'node:path';
import { answerSettings, type GivenTexts, selectOwnTexts, listSettingsPaths } from '../../config/settings/run-texts.ts';
import { parseWorkingFolder } from '../../config/fields.ts';
import type { Folder } from '../../core/folder.ts';
import type { WorkflowFile } from '../../core/doctor/facts.ts';
import { isExpression, type RalphStep } from '../../core/doctor/workflow.ts';
import type { ReportedSettings } from '../../core/settings/effective.ts';
import { readBaseTexts, type BaseTexts } from '../../git/checkout/texts.ts';
import { DEFAULT_BRANCH_PREFIX } from '../../cli/defaults.ts';
import { readSettingsInput } from './run-settings.ts';
import type { LastRun } from '../../cli/monitor/terminal-world.ts';
import { readLastRun } from '../../home/own-folder.ts';
import { createGenerationFiles } from '../../state/generation-files.ts';
import { hasGit } from '../../git/git.ts';
import { findCheckout } from '../../git/home/person-checkout.ts';
import { readWorkflowFiles } from '../doctor/workflow-files.ts';

/**
 * Returns the settings of runs of a person's checkout: those of its workflows or, if none uses the action, those of
 * `ralph run`, which the person's environment configures.
 */
export async function readSettingsInForce(
  files: readonly WorkflowFile[],
  where: Parameters<typeof readEffectiveSettings>[1],
): Promise<readonly ReportedSettings[]> {
  if (files.some(({ kind }) => kind === 'workflow')) return readEffectiveSettings(files, where);
  // The next run most likely works in the folder of the last one, so use that.
  const last = await findLastRun(where.folder);
  return [await settingsAtHome(last?.folder ?? '', where)];
}

/**
 * Returns the settings of runs whose tasks are in a folder: those of the first workflow that works there (for the top,
 * of the first workflow at all), otherwise those of `ralph run`. `within` is the folder, relative to the top.
 */
export async function readSettingsWithin(
  within: Folder,
  files: readonly WorkflowFile[],
  where: Parameters<typeof readEffectiveSettings>[1],
): Promise<ReportedSettings> {
  const worksThere = ({ workflow: { uses } }: Extract<WorkflowFile, { kind: 'workflow' }>): boolean =>
    parseWorkingFolder(uses[0]?.inputs ?? {}) === within;
  const workflows = files.filter((file) => file.kind === 'workflow');
  const chosen = workflows.find(worksThere) ?? (within === '' ? workflows[0] : undefined);
  const [answered] = chosen === undefined ? [] : await readEffectiveSettings([chosen], where);
  return answered ?? settingsAtHome(within, where);
}

async function settingsAtHome(
  within: Folder,
  { folder, env }: Parameters<typeof readEffectiveSettings>[1],
): Promise<ReportedSettings> {
  const environment = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, value ?? '']));
  const files = await settingsTexts({ folder, within, env });
  const inputs: Readonly<Record<string, string>> = within === '' ? {} : { 'working-directory': within };
  return answerSettings({ workflow: 'ralph run', given: await readSettingsInput(inputs), environment, files });
}

/**
 * Returns the settings that runs of each workflow with the action would have. These are the settings of its first step,
 * which is the gate's if there are three jobs. `folder` is the checkout, whose committed settings file is used.
 */
export async function readEffectiveSettings(
  files: readonly WorkflowFile[],
  { folder, env }: { readonly folder: string; readonly env: NodeJS.ProcessEnv },
): Promise<readonly ReportedSettings[]> {
  const workflows = files.flatMap((file) => (file.kind === 'workflow' ? [file.workflow] : []));
  if (workflows.length === 0) return [];
  const known = new Map<Folder, SettingsTexts>();
  const answers: ReportedSettings[] = [];
  for (const { path, uses } of workflows) {
    const [step] = uses;
    if (step === undefined) continue;
    const { environment } = step;
    const given = await givenBy(step);
    const within = parseWorkingFolder(selectOwnTexts(given));
    const files = known.has(within) ? (known.get(within) ?? null) : await settingsTexts({ folder, within, env });
    known.set(within, files);
    answers.push(answerSettings({ workflow: path, given, environment, files }));
  }
  return answers;
}

/** Returns the texts of a step's inputs; an input `settings` that is an expression is treated as unknown. */
async function givenBy({ inputs }: RalphStep): Promise<GivenTexts> {
  const texts = Object.fromEntries(Object.entries(inputs).map(([name, text]) => [name.toLowerCase(), text]));
  const { settings = '', ...others } = texts;
  return readSettingsInput(isExpression(settings) ? others : texts);
}

type SettingsTexts = Extract<BaseTexts, { kind: 'texts' }>['read'] | null;

/** Returns the committed settings files of a folder of the repository, or null if they are unknown. */
async function settingsTexts(place: {
  readonly folder: string;
  readonly within: Folder;
  readonly env: NodeJS.ProcessEnv;
}): Promise<SettingsTexts> {
  const { folder, within, env } = place;
  const paths = listSettingsPaths(within);
  const base = await readBaseTexts({ folder, paths, baseBranch: null, branchPrefix: DEFAULT_BRANCH_PREFIX, env });
  return base.kind === 'unknown' ? null : base.read;
}

/** Returns the last `ralph run` of the checkout with this top folder, or null if none. */
export function findLastRun(top: string): Promise<LastRun | null> {
  return readLastRun(createGenerationFiles({ folder: join(top, '.ralph', 'state'), now: () => Date.now() }));
}

/** Returns the settings of runs whose tasks are in a folder, inside or outside of a checkout. */
export async function settingsOfFolder(folder: string, env: NodeJS.ProcessEnv): Promise<ReportedSettings> {
  // Only committed settings are used, so none are read without git.
  if (!hasGit(env)) return { workflow: 'ralph run', settings: [], problems: [] };
  const { top, within } = await findCheckout(folder, env).catch(() => ({ top: folder, within: '' }));
  return readSettingsWithin(within, await readWorkflowFiles(top), { folder: top, env });
}
