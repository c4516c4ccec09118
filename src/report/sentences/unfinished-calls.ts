import type { Spent } from '../../core/sharing/budget.ts';
import { count, formatCost, formatTokens } from '../format.ts';

/** Says what calls used whose iteration did not come to its end; empty: they used nothing that is known. */
export function unfinishedCallsLine({ calls, tokens, costUsd }: Spent): readonly string[] {
  if (calls === 0 || (tokens === 0 && costUsd === 0)) return [];
  const [made, its] = calls === 1 ? ['was made in an iteration that', 'it used'] : ['were made in iterations that', 'they used'];
  const cost = costUsd > 0 ? `${formatCost(costUsd)} and ` : '';
  return [
    `${count(calls, 'agent call')} ${made} did not finish. What ${its} (${cost}${formatTokens(tokens)} tokens) counts.`,
  ];
}
