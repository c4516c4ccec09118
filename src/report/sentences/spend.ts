import type { LedgerDay } from '../../core/lane/ledger.ts';
import { totalOf } from '../../core/sharing/spend.ts';
import { MINUTE_MS } from '../../core/time.ts';
import { count, formatCost, formatDuration, formatTokens } from '../format.ts';
import { knownCost } from './unknown-cost.ts';

const BAR_CELLS = 24;

/** What was used in the last 31 days, in one line: cost, calls, tokens and time. */
export function spendSummary(days: readonly LedgerDay[]): string {
  if (days.length === 0) return 'nothing';
  const { calls, tokens, costUsd, minutes } = totalOf(days);
  return [
    ...knownCost({ tokens, costUsd }),
    count(calls, 'call'),
    `${formatTokens(tokens)} tokens`,
    `${formatDuration(minutes * MINUTE_MS)} of agent time`,
  ].join(', ');
}

/** A line with a bar for each day: of its cost, or of its calls where nothing has a price. The longest bar is the greatest day. */
export function spendBars(days: readonly LedgerDay[]): readonly string[] {
  const hasPrices = days.some(({ costUsd }) => costUsd > 0);
  const amountOf = ({ costUsd, calls }: LedgerDay): number => (hasPrices ? costUsd : calls);
  const greatest = Math.max(...days.map(amountOf), 0);
  const costs = days.map(({ costUsd }) => formatCost(costUsd));
  const width = Math.max(...costs.map(({ length }) => length), 0);
  return days.map((day, index) => {
    const amount = amountOf(day);
    // What is not nothing is seen.
    const cells = amount === 0 ? 0 : Math.max(1, Math.round((amount / greatest) * BAR_CELLS));
    return `${day.day}  ${'█'.repeat(cells).padEnd(BAR_CELLS)}  ${(costs[index] ?? '').padStart(width)}  ${count(day.calls, 'call')}`;
  });
}
