import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { readCheckoutFile } from '../../cli/command.ts';
import type { OtherWorkflow, WorkflowFile } from '../../core/doctor/facts.ts';
import { parseWorkflow } from '../../core/doctor/workflow.ts';
import { pullRequestWorkflowNames } from '../../core/setup/ci/events.ts';
import { parseYaml } from '../../yaml/parse.ts';

const WORKFLOWS = '.github/workflows';
const MAX_WORKFLOWS = 200;

/** Returns the files of the checkout that use the action, and those that are unreadable. */
export async function readWorkflowFiles(top: string): Promise<readonly WorkflowFile[]> {
  const read = (await readWorkflows(top)).map(({ path, file }): WorkflowFile | null => {
    if (file.kind === 'absent') return null;
    if (file.kind === 'refused') return { kind: 'unreadable', path, why: `it ${file.why}.` };
    const parsed = parseYaml(file.text);
    // An unreadable workflow that does not mention the action is left out.
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
        checksPullRequests: pullRequestWorkflowNames(path, file.text).length > 0,
      },
    ];
  });
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
