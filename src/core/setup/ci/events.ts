import { isRecord, parseYamlMap, type YamlMap } from './yaml-data.ts';

/** The event of a workflow whose runs check changes; null if they check none. */
export type CheckingEvent = 'pull_request' | 'push';

/** Returns the event on which a workflow checks changes, preferably one for branches other than the main one. */
export function findCheckingEvent(workflow: YamlMap): CheckingEvent | null {
  const events = eventsOf(workflow);
  if (events.has('pull_request') || events.has('merge_group')) return 'pull_request';
  const push = events.get('push');
  if (push === undefined) return null;
  return isRecord(push) && 'tags' in push && !('branches' in push) ? null : 'push';
}

/** Returns true if a workflow runs for pull requests, or for pushes to every branch. */
function checksPullRequests(workflow: YamlMap): boolean {
  const events = eventsOf(workflow);
  const push = events.get('push');
  const isEverywhere = events.has('push') && !(isRecord(push) && Object.keys(push).some((key) => FILTER.test(key)));
  return events.has('pull_request') || isEverywhere;
}

/** Matches filters that exclude pushes to most branches. */
const FILTER = /^(?:branches|tags)/;

/** Returns the events with their filters. */
function eventsOf({ on }: YamlMap): ReadonlyMap<string, unknown> {
  if (typeof on === 'string') return new Map([[on, null]]);
  if (Array.isArray(on)) return new Map(on.map((event) => [String(event), null]));
  return new Map(isRecord(on) ? Object.entries(on) : []);
}

/**
 * Returns the name of a workflow that checks pull requests, by which `workflow_run` refers to it; empty for any other
 * workflow.
 */
export function listPullRequestWorkflows(path: string, text: string): readonly string[] {
  const workflow = parseYamlMap(text);
  if (workflow === null || !checksPullRequests(workflow)) return [];
  const { name } = workflow;
  if (name === undefined || name === null || name === '') return [path];
  // A name with several lines or an expression cannot be copied into a list, so it is left out.
  return typeof name === 'string' && !/\p{Cc}|\$\{\{/u.test(name) ? [name.trim()] : [];
}
