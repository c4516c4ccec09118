import { checksPullRequests } from './ci/events.ts';
import { parseYamlMap } from './ci/yaml-data.ts';

/**
 * Returns the name of a workflow that checks pull requests, as a list of one; empty for any other workflow.
 * `workflow_run` accepts only names.
 */
export function checkName(path: string, text: string): readonly string[] {
  const workflow = parseYamlMap(text);
  if (workflow === null || !checksPullRequests(workflow)) return [];
  const { name } = workflow;
  if (name === undefined || name === null || name === '') return [path];
  // A person must copy a name of several lines or with an expression.
  return typeof name === 'string' && !/\p{Cc}|\$\{\{/u.test(name) ? [name.trim()] : [];
}
