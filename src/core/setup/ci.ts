import { checksPullRequests } from './ci/events.ts';
import { parseYamlMap } from './ci/yaml-data.ts';

/**
 * Returns the name of a workflow that checks pull requests, by which `workflow_run` refers to it; empty for any other
 * workflow.
 */
export function pullRequestWorkflowNames(path: string, text: string): readonly string[] {
  const workflow = parseYamlMap(text);
  if (workflow === null || !checksPullRequests(workflow)) return [];
  const { name } = workflow;
  if (name === undefined || name === null || name === '') return [path];
  // A name with several lines or an expression cannot be copied into a list.
  return typeof name === 'string' && !/\p{Cc}|\$\{\{/u.test(name) ? [name.trim()] : [];
}
