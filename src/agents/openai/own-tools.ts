import { asObject } from '../reading/json.ts';

/** Tools that the agent's CLI runs itself, or that only hold such ones; what they hold is looked at as well. */
const OWN = new Set<unknown>(['function', 'custom', 'local_shell', 'apply_patch', 'namespace']);
const WEB_SEARCH = /^web_search(?:_preview)?(?:_\d{4}_\d{2}_\d{2})?$/;

/** Models that search on their own, by what OpenAI and OpenRouter call them. */
const SEARCHING = /-search-(?:preview|api)|deep-research|:online/i;

/** What is wrong with a tool, in words; null: the agent's CLI runs it, or it is a search that the user allows. */
export function toolProblem(tool: unknown, mayWebSearch: boolean): string | null {
  const given = asObject(tool);
  const type = given?.['type'];
  if (OWN.has(type)) return null;
  // Both are run by whoever the request says.
  if (type === 'tool_search' && given?.['execution'] === 'client') return null;
  if (type === 'shell' && asObject(given?.['environment'])?.['type'] === 'local') return null;
  if (mayWebSearch && typeof type === 'string' && WEB_SEARCH.test(type)) return null;
  return `the tool ${describeValue(type)} of the provider's servers`;
}

export function searchesByItself(model: unknown): boolean {
  return typeof model === 'string' && SEARCHING.test(model);
}

/** A value of the agent's, as words for the log. */
export function describeValue(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 60));
  return value === undefined || value === null ? 'without a type' : 'of an unknown form';
}
