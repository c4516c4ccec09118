import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { readCheckoutFile } from '../../cli/command.ts';
import type { WorkflowChange, WorkflowPlan } from '../../cli/inspect/tune.ts';
import type { OtherWorkflow, WorkflowFile } from '../../core/doctor/facts.ts';
import { ACTION_INPUTS } from '../../config/setting-table.ts';
import { isExpression, parseWorkflow, type RalphStep } from '../../core/doctor/workflow.ts';
import { listPullRequestWorkflows } from '../../core/setup/ci/events.ts';
import { hasChanges } from '../../git/home/committed.ts';
import { parseYaml } from '../../yaml/parse.ts';
import { setYamlValues } from '../../yaml/set-values.ts';

const WORKFLOWS = '.github/workflows';
const MAX_WORKFLOWS = 200;

/** Returns the files of the checkout that use the action, and those that are unreadable. */
export async function readWorkflowFiles(top: string): Promise<readonly WorkflowFile[]> {
  const read = (await readWorkflows(top)).map(({ path, file }): WorkflowFile | null => {
    if (file.kind === 'absent') return null;
    if (file.kind === 'refused') return { kind: 'unreadable', path, why: `it ${file.why}.` };
    const parsed = parseYaml(file.text);
    // Leave out an unreadable workflow that does not mention the action.
    if (parsed.kind === 'unreadable')
      return file.text.includes('ralph-action') ? { kind: 'unreadable', path, why: parsed.why } : null;
    const workflow = parseWorkflow(path, parsed.data);
    return workflow === null ? null : { kind: 'workflow', text: file.text, workflow };
  });
  return read.filter((file) => file !== null);
}

/** Returns the workflows of the checkout that do not use the action. */
export async function readOtherWorkflows(top: string): Promise<readonly OtherWorkflow[]> {
  return (await readWorkflows(top)).flatMap(({ path, file }) => {
    const parsed = file.kind === 'text' ? parseYaml(file.text) : null;
    if (file.kind !== 'text' || parsed?.kind !== 'data' || parseWorkflow(path, parsed.data) !== null) return [];
    const named = z.object({ name: z.string() }).safeParse(parsed.data);
    return [
      {
        name: named.success ? named.data.name : path,
        checksPullRequests: listPullRequestWorkflows(path, file.text).length > 0,
      },
    ];
  });
}

/**
 * Plans a change of settings in the workflow of a checkout: in the inputs of its only step with the action, or in its
 * input `settings`. `path` may be null if only one workflow uses the action.
 */
export async function planWorkflow(
  top: string,
  { path, values, env }: WorkflowChange & { readonly env: NodeJS.ProcessEnv },
): Promise<WorkflowPlan> {
  const workflows = (await readWorkflowFiles(top)).flatMap((file) => (file.kind === 'workflow' ? [file.workflow] : []));
  const fitting = workflows.filter((workflow) => path === null || workflow.path === path);
  const [workflow] = fitting;
  const step = workflow?.uses[0];
  const paths = workflows.map((one) => one.path).join(', ');
  if (workflow === undefined || step === undefined)
    return refused(
      workflows.length === 0 ? 'No workflow uses the action.' : `The workflows with the action are ${paths}.`,
    );
  if (fitting.length > 1) return refused(`Several workflows use the action: name one of ${paths} with --workflow.`);
  if (workflow.uses.length > 1)
    return refused(`${workflow.path} uses the action in several places: set the values by hand.`);
  if (await hasChanges(top, { path: workflow.path, env }))
    return refused(`${workflow.path} has changes that are not committed: commit them first.`);
  const file = await readCheckoutFile(top, workflow.path);
  if (file.kind !== 'text') return refused(`${workflow.path} cannot be read.`);
  const after = withSettings(file.text, step, values);
  return after === null
    ? refused(`${workflow.path} is written in a form that only a person can change: set the values by hand.`)
    : { kind: 'planned', path: workflow.path, file, after };
}

/** Sets each value where the step already sets it, otherwise as an input if there is one, otherwise in `settings`. */
function withSettings(text: string, { at, given }: RalphStep, values: WorkflowChange['values']): string | null {
  const isInSettings = (name: string): boolean => new RegExp(`^ *${name} *:`, 'm').test(given['settings'] ?? '');
  const placed = Object.entries(values).map(([name, number]) => {
    const isInput = given[name] !== undefined || (ACTION_INPUTS.includes(name) && !isInSettings(name));
    return { name, number, block: isInput ? null : 'settings' };
  });
  const isKnown = Object.keys(values).every((name) => !isExpression(given[name] ?? ''));
  return isKnown ? setYamlValues(text, [...at, 'with'], placed, 'uses') : null;
}

function refused(why: string): WorkflowPlan {
  return { kind: 'refused', why };
}

type CheckoutFile = Awaited<ReturnType<typeof readCheckoutFile>>;

async function readWorkflows(top: string): Promise<readonly { readonly path: string; readonly file: CheckoutFile }[]> {
  const names = await readdir(join(top, WORKFLOWS)).catch(() => []);
  const paths = names
    .filter((name) => /\.ya?ml$/.test(name))
    .sort()
    .slice(0, MAX_WORKFLOWS)
    .map((name) => `${WORKFLOWS}/${name}`);
  return Promise.all(paths.map(async (path) => ({ path, file: await readCheckoutFile(top, path) })));
}
