/** Events that only people with write permission can cause. */
const WRITERS_EVENTS = new Set(['schedule', 'workflow_dispatch', 'repository_dispatch', 'push']);

/** Returns true if people without write permission can cause events of this name and so pass texts to the agent. */
export function isByOutsiders(eventName: string): boolean {
  return !WRITERS_EVENTS.has(eventName);
}
