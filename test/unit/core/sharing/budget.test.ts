import { describe, expect, test } from 'vitest';
import {
  boundPolicy,
  type Budget,
  emptyBudget,
  endReservations,
  parseBudget,
  type Reservation,
  planReservation,
  reserveUsage,
  listOtherReservations,
  seedBudget,
  serializeUsage,
  settleBudget,
  settleRun,
  measureSpent,
  tasksOfOtherLanes,
  sumWindows,
} from '../../../../src/core/sharing/budget.ts';
import type { LedgerDay } from '../../../../src/core/lane/ledger.ts';
import { createInitialState, type LaneState } from '../../../../src/core/lane/state/state.ts';
import { countCallsRemaining, findExhaustedWindow, type Windows } from '../../../../src/core/lane/windows.ts';
import { HOUR, MINUTE, noon, policy as defaults } from '../core-fixtures.ts';

const none: Windows = { hour: null, day: null };
const midnight = Date.parse('2026-11-22T00:00:00Z');
const unused = { calls: 0, tokens: 0, costUsd: 0 };

/** Returns a run's reservation, which ends at one o'clock. */
const reserved = (runTag: string, change: Partial<Reservation> = {}): Reservation => ({
  runTag,
  lane: 'queue',
  runUrl: 'https://github.test/run',
  runId: '42',
  runAttempt: 1,
  expiresAt: noon + HOUR,
  tasks: [],
  ...unused,
  ...change,
});
const budgetOf = (...reservations: readonly Reservation[]): Budget => ({ ...emptyBudget, reservations });
const usedHour = { openedAt: noon - 30 * MINUTE, calls: 7, tokens: 700 };
const usedDay = { openedAt: noon - 3 * HOUR, costUsd: 2 };
const used: Budget = { ...emptyBudget, windows: { hour: usedHour, day: usedDay } };

describe('the windows that a run sees', () => {
  test.each<[string, Budget, number, Windows]>([
    ['nothing used, nothing reserved', emptyBudget, noon, none],
    ['what was used', used, noon, used.windows],
    ['the hour is over', used, noon + 30 * MINUTE, { hour: null, day: usedDay }],
    ['the day is over', used, midnight, none],
    ['a clock that went back ends nothing', used, noon - 48 * HOUR, used.windows],
    [
      'what another run has reserved',
      budgetOf(reserved('b', { calls: 3, tokens: 50, costUsd: 1 })),
      noon,
      { hour: { openedAt: noon, calls: 3, tokens: 50 }, day: { openedAt: noon, costUsd: 1 } },
    ],
    [
      'what the run itself has reserved is free to it',
      budgetOf(reserved('a', { calls: 3, tokens: 50, costUsd: 1 })),
      noon,
      none,
    ],
    [
      'both are added',
      { ...used, reservations: [reserved('b', { calls: 3 }), reserved('c', { calls: 2, costUsd: 0.5 })] },
      noon,
      { hour: { ...usedHour, calls: 12 }, day: { ...usedDay, costUsd: 2.5 } },
    ],
    [
      'a run that never settled counts for an hour after its end',
      budgetOf(reserved('b', { calls: 3 })),
      noon + 2 * HOUR - 1,
      { hour: { openedAt: noon + 2 * HOUR - 1, calls: 3, tokens: 0 }, day: null },
    ],
    ['and no longer', budgetOf(reserved('b', { calls: 3 })), noon + 2 * HOUR, none],
    [
      'its money counts until midnight',
      budgetOf(reserved('b', { costUsd: 1 })),
      midnight - 1,
      { hour: null, day: { openedAt: midnight - 1, costUsd: 1 } },
    ],
    ['and no longer', budgetOf(reserved('b', { costUsd: 1 })), midnight, none],
    [
      'a run over midnight may spend it on either day',
      budgetOf(reserved('b', { costUsd: 1, expiresAt: midnight + MINUTE })),
      midnight + 5 * HOUR,
      { hour: null, day: { openedAt: midnight + 5 * HOUR, costUsd: 1 } },
    ],
  ])('%s', (_, budget, now, expected) => {
    expect(sumWindows(budget, 'a', now)).toEqual(expected);
  });
});

describe('the reservation of a run', () => {
  const policy = { ...defaults, maxIterations: 10, maxCallsPerHour: 20, maxTokensPerHour: 1_000, maxCostUsdPerDay: 5 };
  const at = (calls: number, tokens: number, costUsd: number): Windows => ({
    hour: { openedAt: noon, calls, tokens },
    day: { openedAt: noon, costUsd },
  });
  test.each<[string, Windows, Partial<typeof policy>, typeof unused]>([
    ['its iterations, and all tokens and money that are free', none, {}, { calls: 10, tokens: 1_000, costUsd: 5 }],
    ['of the hour what is left', at(15, 900, 4), {}, { calls: 5, tokens: 100, costUsd: 1 }],
    ['nothing of what is used up', at(20, 1_000, 5), {}, unused],
    ['nothing of what is more than used up', at(99, 9_999, 99), {}, unused],
    ['of the money no more than the run may cost', none, { maxCostUsd: 2 }, { calls: 10, tokens: 1_000, costUsd: 2 }],
    ['nor more than is left of the day', at(0, 0, 4), { maxCostUsd: 2 }, { calls: 10, tokens: 1_000, costUsd: 1 }],
    [
      'nothing of what has no limit',
      none,
      { maxTokensPerHour: 0, maxCostUsdPerDay: 0 },
      { calls: 10, tokens: 0, costUsd: 0 },
    ],
  ])('%s', (_, windows, change, expected) => {
    const { runTag, lane, runUrl, runId, runAttempt, expiresAt, tasks } = reserved('a');
    const run = { runTag, lane, runUrl, runId, runAttempt, expiresAt, tasks };
    expect(planReservation(run, windows, { ...policy, ...change })).toEqual(reserved('a', expected));
  });

  test('is in place of what it reserved before', () => {
    expect(
      reserveUsage(budgetOf(reserved('a', { calls: 9 }), reserved('b')), reserved('a', { calls: 1 }), noon)
        .reservations,
    ).toEqual([reserved('b'), reserved('a', { calls: 1 })]);
  });

  test.each<[string, Reservation, number, readonly string[]]>([
    ['may still count in the hour', reserved('gone', { calls: 1 }), noon + 2 * HOUR - 1, ['gone', 'a']],
    ['may still count on its day', reserved('gone', { costUsd: 1 }), midnight - 1, ['gone', 'a']],
    [
      'counts no more, but may be settled by a machine whose clock is behind',
      reserved('gone', { calls: 1, costUsd: 1 }),
      midnight,
      ['gone', 'a'],
    ],
    ['was never settled in two days', reserved('gone', { calls: 1, costUsd: 1 }), noon + 50 * HOUR, ['a']],
  ])('beside a reservation that %s', (_, gone, now, expected) => {
    expect(reserveUsage(budgetOf(gone), reserved('a'), now).reservations.map(({ runTag }) => runTag)).toEqual(expected);
  });
});

describe('settling', () => {
  const spent = { calls: 2, tokens: 30, costUsd: 0.5 };
  const before: Budget = {
    ...used,
    reservations: [reserved('a', { calls: 10, tokens: 300, costUsd: 3 }), reserved('b', { calls: 1 })],
  };

  test('charges what was used and frees the rest', () => {
    expect(settleBudget(before, 'a', spent, noon)).toEqual({
      ...before,
      windows: { hour: { ...usedHour, calls: 9, tokens: 730 }, day: { ...usedDay, costUsd: 2.5 } },
      reservations: [reserved('b', { calls: 1 })],
    });
  });

  test.each<[string, () => Budget, string]>([
    ['a second time', () => settleBudget(before, 'a', spent, noon), 'a'],
    ['what was never reserved', () => before, 'stranger'],
  ])('%s changes nothing', (_, budgetBefore, runTag) => {
    const budget = budgetBefore();
    expect(settleBudget(budget, runTag, spent, noon)).toBe(budget);
  });

  test('after the end of the hour and of the day opens new ones', () => {
    expect(settleBudget(before, 'a', spent, midnight + MINUTE).windows).toEqual({
      hour: { openedAt: midnight + MINUTE, calls: 2, tokens: 30 },
      day: { openedAt: midnight + MINUTE, costUsd: 0.5 },
    });
  });

  test.each<[string, Partial<typeof unused>, Windows]>([
    ['tokens', { tokens: 30 }, { hour: { ...usedHour, tokens: 730 }, day: usedDay }],
    ['money', { costUsd: 0.5 }, { hour: usedHour, day: { ...usedDay, costUsd: 2.5 } }],
    ['calls', { calls: 2 }, { hour: { ...usedHour, calls: 9 }, day: usedDay }],
  ])('charges %s alone', (_, only, windows) => {
    expect(settleBudget(before, 'a', { ...unused, ...only }, noon).windows).toEqual(windows);
  });

  test('for a run that used nothing opens no window', () => {
    expect(settleBudget(budgetOf(reserved('a', { calls: 10 })), 'a', unused, noon)).toEqual(emptyBudget);
  });

  test.each([Number.NaN, -5, Number.NEGATIVE_INFINITY])('%s tokens or dollars give nothing back', (odd) => {
    expect(settleBudget(before, 'a', { calls: 0, tokens: odd, costUsd: odd }, noon).windows).toEqual(used.windows);
  });
});

describe('settling a run, whose own state tells when its first call was', () => {
  const before = createInitialState('queue', noon);
  /** Returns the state after this many calls, the first of them at five past twelve. */
  const after = (calls: number): LaneState => ({
    ...before,
    windows: { hour: calls === 0 ? null : { openedAt: noon + 5 * MINUTE, calls, tokens: 0 }, day: null },
    ledger: [{ day: '2026-11-21', calls, tokens: 0, costUsd: 0, minutes: 0 }],
  });
  const inHour = (openedAt: number, calls: number): Budget => ({
    ...emptyBudget,
    windows: { hour: { openedAt, calls, tokens: 0 }, day: null },
    reservations: [reserved('a', { calls: 10 })],
  });
  test.each<[string, Budget, number, number, Windows['hour']]>([
    [
      'opens the hour at its first call',
      budgetOf(reserved('a', { calls: 10 })),
      3,
      noon + 20 * MINUTE,
      { openedAt: noon + 5 * MINUTE, calls: 3, tokens: 0 },
    ],
    [
      'adds to the hour that was open at its first call',
      inHour(noon - 30 * MINUTE, 7),
      3,
      noon + 20 * MINUTE,
      { openedAt: noon - 30 * MINUTE, calls: 10, tokens: 0 },
    ],
    [
      'adds to the hour that another run has opened since',
      inHour(noon + 10 * MINUTE, 7),
      3,
      noon + 20 * MINUTE,
      { openedAt: noon + 10 * MINUTE, calls: 10, tokens: 0 },
    ],
    [
      'opens a new hour when the old one was over at its first call',
      inHour(noon - 55 * MINUTE, 7),
      3,
      noon + 20 * MINUTE,
      { openedAt: noon + 5 * MINUTE, calls: 3, tokens: 0 },
    ],
    [
      'counts from now on when the hour of its first call is over',
      budgetOf(reserved('a', { calls: 10 })),
      3,
      noon + 65 * MINUTE,
      { openedAt: noon + 65 * MINUTE, calls: 3, tokens: 0 },
    ],
    ['opens none without a call', budgetOf(reserved('a', { calls: 10 })), 0, noon + 20 * MINUTE, null],
  ])('%s', (_, budget, calls, now, expected) => {
    const settled = settleRun(budget, 'a', { before, after: after(calls), isPublished: true }, now);
    expect(settled).toMatchObject({ windows: { hour: expected }, reservations: [] });
    expect(settleRun(settled, 'a', { before, after: after(calls), isPublished: true }, now)).toBe(settled);
  });
});

describe('a budget for a lane that knows what it used', () => {
  test.each<[string, Budget, boolean]>([
    ['begins with that without a budget', emptyBudget, true],
    ['keeps the hour that it knows', { ...emptyBudget, windows: { hour: usedHour, day: null } }, false],
    ['keeps the day that it knows', { ...emptyBudget, windows: { hour: null, day: usedDay } }, false],
    ['keeps what is reserved', budgetOf(reserved('b', { calls: 3 })), false],
  ])('%s', (_, budget, begins) => {
    const windows: Windows = { hour: { ...usedHour, calls: 1 }, day: { ...usedDay, costUsd: 1 } };
    expect(seedBudget(budget, windows)).toEqual(begins ? { ...budget, windows } : budget);
  });
});

describe('the runs that still hold what they reserved', () => {
  test.each<[string, Reservation, number, boolean]>([
    ['another one', reserved('b'), noon, true],
    ['until its end', reserved('b'), noon + HOUR, false],
    ['not this one', reserved('a'), noon, false],
  ])('%s', (_, reservation, now, holds) => {
    expect(listOtherReservations(budgetOf(reservation), 'a', now)).toEqual(holds ? [reservation] : []);
  });
});

describe('a stored budget', () => {
  const full: Budget = { ...used, reservations: [reserved('a', { calls: 10, tokens: 300, costUsd: 3.5 })] };
  const stored = (change: object): string =>
    JSON.stringify({ ...(JSON.parse(serializeUsage(full)) as object), ...change });

  test.each([
    ['unused', emptyBudget],
    ['in use', full],
  ])('%s is read back', (_, budget) => {
    expect(parseBudget(serializeUsage(budget), noon)).toEqual({ kind: 'budget', budget, problem: null });
  });

  test.each<[string, string]>([
    ['nothing', ''],
    ['half of it', serializeUsage(full).slice(0, 90)],
    ['null', 'null'],
    ['no version', stored({ version: undefined })],
    ['a counter below zero', stored({ windows: { hour: { openedAt: noon, calls: -5, tokens: 0 }, day: null } })],
    ['a window without its start', stored({ windows: { hour: { calls: 1, tokens: 0 }, day: null } })],
    ['a reservation of less than nothing', serializeUsage(budgetOf(reserved('a', { calls: -1 })))],
    ['a megabyte', stored({ padding: 'x'.repeat(1024 * 1024) })],
  ])('%s cannot be read: this hour and this day are used up, and no longer', (_, text) => {
    const parsed = parseBudget(text, noon);
    if (parsed.kind !== 'budget') throw new Error(JSON.stringify(parsed));
    expect(parsed.problem).toContain('cannot be read');
    const seen = (now: number) =>
      findExhaustedWindow(
        sumWindows(parsed.budget, 'a', now),
        { ...defaults, maxTokensPerHour: 1e9, maxCostUsdPerDay: 1e9 },
        now,
      )?.reason;
    expect(countCallsRemaining(sumWindows(parsed.budget, 'a', noon), defaults, noon)).toBe(0);
    expect([seen(noon), seen(noon + HOUR), seen(midnight)]).toEqual(['cost_per_day', 'cost_per_day', undefined]);
    expect(countCallsRemaining(sumWindows(parsed.budget, 'a', noon + HOUR), defaults, noon + HOUR)).toBe(
      defaults.maxCallsPerHour,
    );
    expect(parseBudget(serializeUsage(parsed.budget), noon)).toEqual({
      kind: 'budget',
      budget: parsed.budget,
      problem: null,
    });
  });

  describe('of a machine whose clock is ahead', () => {
    const years = noon + 10 * 365 * 24 * HOUR;
    const at = (hourAt: number, dayAt: number, ...reservations: readonly Reservation[]): Budget => ({
      version: 1,
      windows: { hour: { openedAt: hourAt, calls: 100, tokens: 9 }, day: { openedAt: dayAt, costUsd: 5 } },
      reservations,
    });
    const live = reserved('live', { expiresAt: noon + 146 * HOUR, calls: 1 });
    test.each<[string, Budget, Budget]>([
      ['by ten years: counts from now on, all that was used', at(years, years), at(noon, noon)],
      ['by 26 hours and a millisecond', at(noon + 26 * HOUR + 1, noon + 26 * HOUR + 1), at(noon, noon)],
      ['in its hour alone: the day stays', at(years, noon - HOUR), at(noon, noon - HOUR)],
      ['in its day alone: the hour stays', at(noon - MINUTE, years), at(noon - MINUTE, noon)],
      [
        'and whose run was never settled: its reservation ends now, and one of the longest job stays',
        budgetOf(reserved('gone', { expiresAt: years, calls: 7 }), live),
        budgetOf(reserved('gone', { expiresAt: noon, calls: 7 }), live),
      ],
    ])('%s', (_, stored, expected) => {
      const parsed = parseBudget(serializeUsage(stored), noon);
      expect(parsed).toEqual({ kind: 'budget', budget: expected, problem: expect.stringContaining('in the future') });
      expect(parseBudget(serializeUsage(expected), noon + MINUTE)).toEqual({
        kind: 'budget',
        budget: expected,
        problem: null,
      });
    });

    test.each<[string, Budget]>([
      ['by 26 hours', at(noon + 26 * HOUR, noon + 26 * HOUR)],
      ['for the length of the longest job and 26 hours', budgetOf(live)],
      ['not at all', at(noon, noon)],
    ])('%s stays as it is: the clock that is wrong may be this one', (_, stored) => {
      expect(parseBudget(serializeUsage(stored), noon)).toEqual({ kind: 'budget', budget: stored, problem: null });
    });
  });

  test.each<[string, Budget]>([
    ['a window', { ...emptyBudget, windows: { hour: { openedAt: 8.64e15, calls: 1, tokens: 0 }, day: null } }],
    ['a reservation', budgetOf(reserved('a', { expiresAt: 8.64e15 }))],
  ])('with %s at the end of the calendar cannot be read', (_, stored) => {
    expect(parseBudget(serializeUsage(stored), noon)).toMatchObject({
      problem: expect.stringContaining('cannot be read'),
    });
  });

  test('of a newer version is recognized', () => {
    expect(parseBudget('{"version":2,"windows":"in another form"}', noon)).toEqual({ kind: 'newer', version: 2 });
  });

  test('with as many reservations as are kept can be read again', () => {
    const many = Array.from({ length: 130 }, (_, index) =>
      reserved(`${index}-${'m'.repeat(36)}`, {
        lane: `issue-${index}`,
        runUrl: `https://github.com/${'o'.repeat(39)}/${'r'.repeat(100)}/actions/runs/12345678901`,
        runId: '12345678901',
      }),
    );
    const budget = many.reduce((next, reservation) => reserveUsage(next, reservation, noon), emptyBudget);
    expect(parseBudget(serializeUsage(budget), noon)).toEqual({ kind: 'budget', budget, problem: null });
  });
});

describe('the usage of a lane between two of its states', () => {
  const day = (name: string, change: Partial<LedgerDay> = {}): LedgerDay => ({
    day: name,
    calls: 0,
    tokens: 0,
    costUsd: 0,
    minutes: 0,
    ...change,
  });
  const stateWith = (...ledger: readonly LedgerDay[]): LaneState => ({ ...createInitialState('queue', noon), ledger });
  const first = day('2026-11-20', { calls: 5, tokens: 50, costUsd: 1 });
  test.each<[string, LaneState, LaneState, typeof unused]>([
    ['nothing', stateWith(first), stateWith(first), unused],
    ['the first calls of a lane', stateWith(), stateWith(first), { calls: 5, tokens: 50, costUsd: 1 }],
    [
      'more of the same day',
      stateWith(first),
      stateWith({ ...first, calls: 7, tokens: 80, costUsd: 1.5 }),
      { calls: 2, tokens: 30, costUsd: 0.5 },
    ],
    [
      'over midnight',
      stateWith(first),
      stateWith({ ...first, calls: 6 }, day('2026-11-21', { calls: 2, tokens: 9 })),
      { calls: 3, tokens: 9, costUsd: 0 },
    ],
    [
      'a call that never came back is a call',
      stateWith(first),
      stateWith({ ...first, calls: 6 }),
      { calls: 1, tokens: 0, costUsd: 0 },
    ],
    [
      'a day that the ledger dropped meanwhile does not count back',
      stateWith(first),
      stateWith(day('2026-12-21', { calls: 2 })),
      { calls: 2, tokens: 0, costUsd: 0 },
    ],
    ['never less than nothing', stateWith(first), stateWith({ ...first, calls: 1 }), unused],
  ])('%s', (_, before, after, expected) => {
    expect(measureSpent(before, after)).toEqual(expected);
  });
});

describe('a later attempt of a run', () => {
  const dead = reserved('a', { calls: 3, tasks: ['issue-1'] });
  const attempt = { runId: '42', runAttempt: 2 };

  test('holds nobody off by what the vanished one had, and what that reserved counts as used', () => {
    const budget = endReservations(budgetOf(dead), [attempt], noon);
    expect([...tasksOfOtherLanes(budget, 'issue-9', noon)]).toEqual([]);
    expect(listOtherReservations(budget, 'b', noon)).toEqual([]);
    expect(sumWindows(budget, 'b', noon).hour).toMatchObject({ calls: 3 });
    expect(sumWindows(budget, 'b', noon + HOUR).hour).toBeNull();
  });

  test('leaves what other runs hold beside it', () => {
    const other = reserved('b', { runId: '43' });
    expect(endReservations(budgetOf(dead, other), [attempt], noon).reservations).toEqual([
      { ...dead, expiresAt: noon },
      other,
    ]);
  });

  test.each<[string, Reservation, Parameters<typeof endReservations>[1][number]]>([
    ['of another run', { ...dead, runId: '43' }, attempt],
    ['of the same attempt: another job of it', { ...dead, runAttempt: 2 }, attempt],
    ['of a later attempt', { ...dead, runAttempt: 3 }, attempt],
    ['of an earlier version, which did not say of which run', { ...dead, runId: '' }, { runId: '', runAttempt: 2 }],
    ['that is over anyhow', { ...dead, expiresAt: noon }, attempt],
  ])('leaves a reservation %s', (_, reservation, holder) => {
    const budget = budgetOf(reservation);
    expect(endReservations(budget, [holder], noon)).toBe(budget);
  });
});

test('a reservation of an earlier version, which does not say of which run, is read', () => {
  const text = serializeUsage(budgetOf(reserved('a'))).replace(/ *"run(Id|Attempt)": .*\n/g, '');
  expect(text).not.toMatch(/runId|runAttempt/);
  expect(parseBudget(text, noon)).toMatchObject({ budget: { reservations: [{ runId: '', runAttempt: 1 }] } });
});

describe('no two runs work on one task', () => {
  const elsewhere = (budget: Budget, now = noon): readonly string[] => [
    ...tasksOfOtherLanes(budget, 'issue-9', now).keys(),
  ];

  test.each<[string, Budget, number, readonly string[]]>([
    [
      'what others may be working on',
      budgetOf(
        reserved('b', { tasks: ['issue-1', 'issue-2'] }),
        reserved('c', { lane: 'issue-3', tasks: ['issue-3'] }),
      ),
      noon,
      ['issue-1', 'issue-2', 'issue-3'],
    ],
    [
      'not what a run of the same lane has reserved',
      budgetOf(reserved('b', { lane: 'issue-9', tasks: ['issue-9'] })),
      noon,
      [],
    ],
    ['until the end of the other run', budgetOf(reserved('b', { tasks: ['issue-1'] })), noon + HOUR - 1, ['issue-1']],
    ['and no longer, though its calls still count', budgetOf(reserved('b', { tasks: ['issue-1'] })), noon + HOUR, []],
  ])('%s', (_, budget, now, expected) => {
    expect(elsewhere(budget, now)).toEqual(expected);
  });

  test('of two that name it, the one that ends last counts', () => {
    const sooner = reserved('b', { tasks: ['issue-1'], expiresAt: noon + MINUTE });
    const later = reserved('c', { tasks: ['issue-1'], expiresAt: noon + HOUR });
    const until = new Map([['issue-1', noon + HOUR]]);
    expect(tasksOfOtherLanes(budgetOf(sooner, later), 'issue-9', noon)).toEqual(until);
    expect(tasksOfOtherLanes(budgetOf(later, sooner), 'issue-9', noon)).toEqual(until);
  });

  test('a reservation names at most 100', () => {
    const tasks = Array.from({ length: 101 }, (_, index) => `issue-${String(index)}`);
    expect(planReservation({ ...reserved('a'), tasks }, none, defaults).tasks).toEqual(tasks.slice(0, 100));
  });
});

describe('a run is bound by what it reserved', () => {
  test.each<
    [string, Partial<typeof defaults>, { readonly calls: number; readonly costUsd: number }, Partial<typeof defaults>]
  >([
    ['fewer calls than iterations', { maxIterations: 10 }, { calls: 3, costUsd: 0 }, { maxIterations: 3 }],
    ['more calls than iterations', { maxIterations: 2 }, { calls: 3, costUsd: 0 }, { maxIterations: 2 }],
    [
      'money of the day, without a limit of its own',
      { maxCostUsd: 0, maxCostUsdPerDay: 5 },
      { calls: 10, costUsd: 4 },
      { maxCostUsd: 4 },
    ],
    [
      'money of the day, below its own limit',
      { maxCostUsd: 3, maxCostUsdPerDay: 5 },
      { calls: 10, costUsd: 1 },
      { maxCostUsd: 1 },
    ],
    [
      'its own limit, below the money of the day',
      { maxCostUsd: 1, maxCostUsdPerDay: 5 },
      { calls: 10, costUsd: 4 },
      { maxCostUsd: 1 },
    ],
    [
      'no limit of the day: its own stays',
      { maxCostUsd: 3, maxCostUsdPerDay: 0 },
      { calls: 10, costUsd: 0 },
      { maxCostUsd: 3 },
    ],
  ])('%s', (_, change, own, expected) => {
    expect(boundPolicy({ ...defaults, ...change }, own)).toMatchObject(expected);
  });
});
