import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { readCheckoutFile } from '../../cli/checkout-file.ts';
import type { WorkflowFile } from '../../core/doctor/facts.ts';
import { parseWorkflow } from '../../core/doctor/workflow.ts';
import { parseYaml } from '../../yaml/parse.ts';

const WORKFLOWS = '.github/workflows';
const MAX_WORKFLOWS = 200;

/** Files of the checkout that use the action, and those of which nobody can say. */
export async function workflowFiles(top: string): Promise<readonly WorkflowFile[]> {
  const names = await readdir(join(top, WORKFLOWS)).catch(() => []);
  const read = names
    .filter((name) => /\.ya?ml$/.test(name))
    .sort()
    .slice(0, MAX_WORKFLOWS)
    .map(async (name): Promise<WorkflowFile | null> => {
      const path = `${WORKFLOWS}/${name}`;
      const file = await readCheckoutFile(top, path);
      if (file.kind === 'absent') return null;
      if (file.kind === 'refused') return { kind: 'unreadable', path, why: `it ${file.why}.` };
      const parsed = parseYaml(file.text);
      // Of other workflows that cannot be read nothing is said.
      if (parsed.kind === 'unreadable')
        return file.text.includes('ralph-action') ? { kind: 'unreadable', path, why: parsed.why } : null;
      const workflow = parseWorkflow(path, parsed.data);
      return workflow === null ? null : { kind: 'workflow', text: file.text, workflow };
    });
  return (await Promise.all(read)).filter((file) => file !== null);
}
