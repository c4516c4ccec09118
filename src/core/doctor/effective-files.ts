import type { AnsweredSettings } from '../settings/effective.ts';
import type { WorkflowFile } from './facts.ts';

/** The workflow files with what their runs work with in the place of inputs that nobody gave: the checks look at what counts. Settings with problems, which are reported themselves, change nothing. */
export function withEffectiveInputs(
  files: readonly WorkflowFile[],
  answered: readonly AnsweredSettings[],
): readonly WorkflowFile[] {
  return files.map((file) => {
    if (file.kind !== 'workflow') return file;
    const { workflow } = file;
    const of = answered.find(({ workflow: path }) => path === workflow.path);
    if (of === undefined || of.problems.length > 0) return file;
    const found = of.settings
      .filter(({ origin }) => origin === 'file' || origin === 'environment')
      .map(({ input, text }) => [input, text] as const);
    const uses = workflow.uses.map((step) => ({ ...step, inputs: { ...step.inputs, ...Object.fromEntries(found) } }));
    return { ...file, workflow: { ...workflow, uses } };
  });
}
