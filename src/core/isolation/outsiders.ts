import { z } from 'zod';

/** Events that only people with write permission can cause. */
const WRITERS_EVENTS = new Set(['schedule', 'workflow_dispatch', 'repository_dispatch', 'push']);

/** The payload of a merge, which takes write permission. */
const merge = z.object({ action: z.literal('closed'), pull_request: z.object({ merged: z.literal(true) }) });

/** Returns true if people without write permission can cause such an event and so pass texts to the agent. */
export function isByOutsiders({ name, payload }: { readonly name: string; readonly payload: unknown }): boolean {
  const isMerge = name === 'pull_request' && merge.safeParse(payload).success;
  return !WRITERS_EVENTS.has(name) && !isMerge;
}
