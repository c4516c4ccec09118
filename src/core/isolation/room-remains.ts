import { namesOf } from '../text/lists.ts';

/** What could not be removed of a room, as words; `things` names each with what removes it. */
export interface RoomRemains {
  readonly processes: readonly string[];
  readonly things: readonly string[];
}

/** Nothing is left. */
export const NO_REMAINS: RoomRemains = { processes: [], things: [] };

export function isGone({ processes, things }: RoomRemains): boolean {
  return processes.length + things.length === 0;
}

/** For people, what to do included; null: nothing is left. */
export function remainsSentence({ processes, things }: RoomRemains): string | null {
  if (processes.length > 0) return `Processes of the agent are still there: ${namesOf(processes)}. Restart the runner.`;
  if (things.length === 0) return null;
  return `The agent's room could not be removed completely. Remove as root what is left on this machine: ${things.join('; ')}.`;
}
