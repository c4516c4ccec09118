import type { FeedbackItem } from './memory.ts';

/**
 * True if nothing more is done about it until a person pushes or has it tried again. What people and CI ask is counted
 * by itself, what bots ask on the pull request as a whole: a bot opens new threads for every push. `maxRounds` 0: no limit.
 */
export function isOutOfRounds(
  { rounds, botRound }: Pick<FeedbackItem, 'rounds' | 'botRound'>,
  maxRounds: number,
): boolean {
  if (maxRounds === 0) return false;
  return botRound === undefined ? rounds >= maxRounds : botRound > maxRounds;
}
