import type { Config } from '../../config/config.ts';
import { isDashboardText } from '../../core/dashboard/boxes.ts';
import { hasLabel } from '../../core/people/labels.ts';
import { ISSUES_SWITCHED_OFF, NOT_PERMITTED, UserError } from '../../errors.ts';
import type { Forge, Issue } from '../../ports/forge.ts';
import type { GateDeps } from '../deps.ts';

type Asking = Pick<GateDeps, 'config' | 'forge'>;

const searches = new WeakMap<Forge, Promise<readonly Issue[]>>();

/**
 * Returns the open issues that `issue-query` finds, with one search per run; empty if the search cannot make any issue
 * a task. The index may still contain an issue that was just closed, so the issue's state is read as well.
 */
export async function issuesOfQuery({ config, forge }: Asking): Promise<readonly Issue[]> {
  const { issueQuery: query, taskSources } = config;
  if (query === null || query.demands.length === 0 || !taskSources.includes('issues')) return [];
  const known = searches.get(forge) ?? search(forge, query.text);
  searches.set(forge, known);
  // Do not keep a failed search, so that the next call asks again.
  known.catch(() => searches.delete(forge));
  return known;
}

async function search(forge: Forge, text: string): Promise<readonly Issue[]> {
  const found = await forge.searchIssues(text);
  const states = await forge.statesOf(found.map(({ number }) => number));
  return found.filter(({ number, body }) => states.get(number) === 'open' && !isDashboardText(body));
}

/** Returns true if a person made the issue a task, with the task label or a property that `issue-query` finds. */
export async function isTaskIssue(
  deps: Asking,
  { labels, number }: Pick<Issue, 'labels' | 'number'>,
): Promise<boolean> {
  if (hasLabel(labels, deps.config.taskLabel)) return true;
  return (await issuesOfQuery(deps)).some((found) => found.number === number);
}

/** Returns why an issue is not a task, as a verb phrase. */
export function explainNoTask({ taskLabel, issueQuery }: Pick<Config, 'taskLabel' | 'issueQuery'>): string {
  const byQuery = issueQuery === null ? '' : ', and `issue-query` does not find it (new issues take some minutes)';
  return `does not have the label "${taskLabel}"${byQuery}`;
}

/** Returns the issues that the queue works on; empty if `task-sources`, the repository or the token excludes them. */
export async function listQueuedIssues(deps: Pick<GateDeps, 'config' | 'forge' | 'log'>): Promise<readonly Issue[]> {
  const listed = await listTaskIssues(deps);
  return listed.kind === 'listed' ? listed.issues : [];
}

export type ListedIssues =
  | { readonly kind: 'listed'; readonly issues: readonly Issue[] }
  /** Issues are switched off, or the token lacks the permission to read them. */
  | { readonly kind: 'closed'; readonly error: UserError };

/** Lists the issues with the task label and those that `issue-query` finds, each once. */
export async function listTaskIssues({
  config,
  forge,
  log,
}: Pick<GateDeps, 'config' | 'forge' | 'log'>): Promise<ListedIssues> {
  if (!config.taskSources.includes('issues')) return { kind: 'listed', issues: [] };
  if (config.issueQuery?.demands.length === 0)
    log.warning(
      '`issue-query` makes no issue a task: it must name `author:`, `assignee:`, `label:`, `milestone:`, `type:` or `project:`, without `-`, OR, NOT and parentheses.',
    );
  let labelled: readonly Issue[];
  try {
    labelled = await forge.openIssuesWithLabel(config.taskLabel);
  } catch (error) {
    if (!(error instanceof UserError) || ![ISSUES_SWITCHED_OFF, NOT_PERMITTED].includes(error.reason ?? ''))
      throw error;
    log.warning(error.message);
    return { kind: 'closed', error };
  }
  const numbers = new Set(labelled.map(({ number }) => number));
  const found = (await issuesOfQuery({ config, forge })).filter(({ number }) => !numbers.has(number));
  return { kind: 'listed', issues: [...labelled.filter(({ body }) => !isDashboardText(body)), ...found] };
}
