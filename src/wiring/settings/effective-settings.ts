import { answerSettings } from '../../config/settings/effective-settings.ts';
import { SETTINGS_PATHS } from '../../config/settings/run-texts.ts';
import type { WorkflowFile } from '../../core/doctor/facts.ts';
import type { AnsweredSettings } from '../../core/settings/effective.ts';
import { readBaseTexts } from '../../git/checkout/base-texts.ts';
import { DEFAULT_BRANCH_PREFIX } from '../../cli/defaults.ts';
import { readDefaults } from './action-defaults.ts';

/** The settings of each workflow that uses the action, as its runs would have them: those of its first step, which is that of the gate's job where there are three. `folder`: the checkout; its settings file counts as it is committed. */
export async function effectiveSettingsOf(
  files: readonly WorkflowFile[],
  {
    folder,
    actionFolder,
    env,
  }: { readonly folder: string; readonly actionFolder: string; readonly env: NodeJS.ProcessEnv },
): Promise<readonly AnsweredSettings[]> {
  const workflows = files.flatMap((file) => (file.kind === 'workflow' ? [file.workflow] : []));
  if (workflows.length === 0) return [];
  const [defaults, base] = await Promise.all([
    readDefaults(actionFolder),
    readBaseTexts({ folder, paths: SETTINGS_PATHS, baseBranch: null, branchPrefix: DEFAULT_BRANCH_PREFIX, env }),
  ]);
  return workflows.flatMap(({ path, uses: [step] }) =>
    step === undefined
      ? []
      : [
          answerSettings({
            workflow: path,
            inputs: step.inputs,
            environment: step.environment,
            files: base.kind === 'texts' ? base.read : null,
            defaults,
          }),
        ],
  );
}
