/** Events that only people with write permission can cause. */
const OF_WRITERS = new Set(['schedule', 'workflow_dispatch', 'repository_dispatch', 'push']);

/** Tells whether people without write permission can cause events of this name that contain their texts. */
export function isByOutsiders(eventName: string): boolean {
  return !OF_WRITERS.has(eventName);
}
