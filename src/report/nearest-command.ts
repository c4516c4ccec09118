import { nearest } from '../core/nearest.ts';

/** Commands that are offered today. */
export const COMMANDS = {
  run: 'work on this issue now (on a pull request: on its lane)',
  status: 'say how the lane stands; makes no agent call',
} as const;

export type OfferedCommand = keyof typeof COMMANDS;

/** The offered command that `word` was most likely meant to be; null when none is near. */
export function nearestCommand(word: string): OfferedCommand | null {
  return nearest(word, Object.keys(COMMANDS) as OfferedCommand[]);
}
