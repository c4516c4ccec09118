import { MAX_LEDGER_DAYS, type LedgerDay } from '../lane/ledger.ts';
import { DAY_MS } from '../countdown.ts';

/** Adds the usage of several lanes by day; the last 31 days (UTC), oldest first, without days without usage. */
export function addLedgers(ledgers: readonly (readonly LedgerDay[])[], now: number): readonly LedgerDay[] {
  const first = new Date(now - (MAX_LEDGER_DAYS - 1) * DAY_MS).toISOString().slice(0, 10);
  const days = new Map<string, LedgerDay>();
  for (const entry of ledgers.flat())
    if (entry.day >= first) days.set(entry.day, sumDays(entry.day, [days.get(entry.day), entry]));
  return [...days.values()].filter(isUsed).sort((a, b) => (a.day < b.day ? -1 : 1));
}

/** Returns the sum of days. */
export function sumLedgerDays(days: readonly LedgerDay[]): Omit<LedgerDay, 'day'> {
  const { calls, tokens, costUsd, minutes } = sumDays('', days);
  return { calls, tokens, costUsd, minutes };
}

function sumDays(day: string, entries: readonly (LedgerDay | undefined)[]): LedgerDay {
  const sum = (amount: (entry: LedgerDay) => number): number =>
    entries.reduce((all, entry) => all + (entry === undefined ? 0 : amount(entry)), 0);
  return {
    day,
    calls: sum(({ calls }) => calls),
    tokens: sum(({ tokens }) => tokens),
    costUsd: sum(({ costUsd }) => costUsd),
    minutes: sum(({ minutes }) => minutes),
  };
}

function isUsed({ calls, tokens, costUsd, minutes }: LedgerDay): boolean {
  return calls + tokens + costUsd + minutes > 0;
}
