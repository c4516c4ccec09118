import { z } from 'zod';
import { AGENT_NAMES, type AgentName } from '../agent-names.ts';
import { MINUTE_MS, DAY_MS } from '../countdown.ts';
import { amountSchema, anyInstant, countSchema, type Immutable } from '../policy.ts';

const knownAmount = z.number().nonnegative().nullable();

export const callUsageSchema = z.object({
  startedAt: anyInstant,
  endedAt: anyInstant,
  tokens: knownAmount,
  /** Output tokens, which `tokens` includes; missing in earlier journals. */
  outputTokens: knownAmount.optional(),
  costUsd: knownAmount,
});

/** One agent call: the instants at which it was charged and ended, and its usage. Unknown amounts are null. */
export type CallUsage = Immutable<z.infer<typeof callUsageSchema>>;

/** The usage of a call, measured when it ended. Unknown amounts are 0. */
export interface Usage {
  readonly tokens: number;
  readonly costUsd: number;
  readonly durationMs: number;
}

export const MAX_LEDGER_DAYS = 31;

export const ledgerDaySchema = z.object({
  /** `2026-11-21`, UTC. */
  day: z.string().regex(/^\d{4}-\d{2}-\d{2}$/),
  calls: countSchema,
  /** Calls of each agent; absent if only one could be called that day. */
  agents: z.partialRecord(z.enum(AGENT_NAMES), countSchema).exactOptional(),
  tokens: countSchema,
  costUsd: amountSchema,
  minutes: amountSchema,
});

/** The usage of a lane on one day. */
export type LedgerDay = Immutable<z.infer<typeof ledgerDaySchema>>;

/** Returns the average cost of the ledger's calls in US dollars; null if none. */
export function computeAverageCost(ledger: readonly LedgerDay[]): number | null {
  const calls = ledger.reduce((sum, day) => sum + day.calls, 0);
  return calls === 0 ? null : ledger.reduce((sum, day) => sum + day.costUsd, 0) / calls;
}

/** Returns the ledger with one more call on the day of `now`. `agent` is null if the policy has only one agent. */
export function bookCall(ledger: readonly LedgerDay[], now: number, agent: AgentName | null): readonly LedgerDay[] {
  return withChangedDay(ledger, now, (day) => ({
    ...day,
    calls: day.calls + 1,
    ...(agent === null ? {} : { agents: { ...day.agents, [agent]: (day.agents?.[agent] ?? 0) + 1 } }),
  }));
}

/** Returns the ledger with the usage of a call, on the day of `now`. */
export function bookUsage(ledger: readonly LedgerDay[], usage: Usage, now: number): readonly LedgerDay[] {
  const { tokens, costUsd, durationMs } = boundUsage(usage);
  return withChangedDay(ledger, now, (day) => ({
    ...day,
    tokens: day.tokens + tokens,
    costUsd: day.costUsd + costUsd,
    minutes: day.minutes + durationMs / MINUTE_MS,
  }));
}

function withChangedDay(
  ledger: readonly LedgerDay[],
  now: number,
  change: (day: LedgerDay) => LedgerDay,
): readonly LedgerDay[] {
  const name = new Date(now).toISOString().slice(0, 10);
  const day = ledger.find((entry) => entry.day === name) ?? { day: name, calls: 0, tokens: 0, costUsd: 0, minutes: 0 };
  return [...ledger.filter((entry) => entry.day !== name), change(day)]
    .sort((a, b) => (a.day < b.day ? -1 : 1))
    .slice(-MAX_LEDGER_DAYS);
}

/**
 * Bounds amounts from the agent's output: a negative amount must not reduce the usage, and a huge one must not make the
 * state unreadable.
 */
export function boundUsage({ tokens, costUsd, durationMs }: Usage): Usage {
  return {
    tokens: Math.ceil(boundedAmount(tokens)),
    costUsd: boundedAmount(costUsd),
    durationMs: boundedAmount(durationMs),
  };
}

function boundedAmount(value: number): number {
  return value > 0 ? Math.min(value, 1e12) : 0;
}

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
