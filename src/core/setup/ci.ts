import { checksPullRequests } from './ci/events.ts';
import { parseYamlMap } from './ci/yaml-data.ts';

/** The name by which GitHub knows a workflow that checks pull requests, as a list of one; empty: it does not check any. `workflow_run` takes names and nothing else. */
export function checkName(path: string, text: string): readonly string[] {
  const workflow = parseYamlMap(text);
  if (workflow === null || !checksPullRequests(workflow)) return [];
  const { name } = workflow;
  if (name === undefined || name === null || name === '') return [path];
  // A name of several lines, or of an expression, is for a person to copy.
  return typeof name === 'string' && !/\p{Cc}|\$\{\{/u.test(name) ? [name.trim()] : [];
}
