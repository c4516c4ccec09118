/** Events that nobody without write permission can bring about. */
const OF_WRITERS = new Set(['schedule', 'workflow_dispatch', 'repository_dispatch', 'push']);

/** Whether people without write permission can bring about events of that name, with texts of theirs in them. */
export function isByOutsiders(eventName: string): boolean {
  return !OF_WRITERS.has(eventName);
}
