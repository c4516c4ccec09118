import { readCheckoutFile } from '../../cli/command.ts';
import { warnOfJobCaches } from '../../core/doctor/cache-findings.ts';
import { parseWorkflow } from '../../core/doctor/workflow.ts';
import { parseYaml } from '../../yaml/parse.ts';
import type { World } from '../world.ts';

/**
 * Warns of steps that may store something of the agent in a cache, as this job's workflow in the checkout says. Returns
 * the warning, or null if none.
 */
export async function warnOfCacheSteps(
  { environment, context, log }: Pick<World, 'environment' | 'context' | 'log'>,
  level: string,
): Promise<string | null> {
  const path = context.workflowPath;
  if (path === null) return null;
  const file = await readCheckoutFile(context.workspace, path);
  const parsed = file.kind === 'text' ? parseYaml(file.text) : null;
  const workflow = parsed?.kind === 'data' ? parseWorkflow(path, parsed.data) : null;
  const job = { job: environment.GITHUB_JOB ?? '', isIsolated: level !== 'none' };
  const warning = workflow === null ? null : warnOfJobCaches(workflow.uses, job);
  if (warning !== null) log.warning(warning);
  return warning;
}
