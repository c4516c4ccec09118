import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  emptyBudget,
  parseBudget,
  planReservation,
  reserveUsage,
  serializeUsage,
  settleRun,
  sumWindows,
  type Budget,
  type Reservation,
} from '../../../../src/core/sharing/budget.ts';
import { bookCall, bookUsage } from '../../../../src/core/lane/ledger.ts';
import { createInitialState, type LaneState } from '../../../../src/core/lane/state/state.ts';
import { chargeCall, chargeUsage, type Windows } from '../../../../src/core/lane/windows.ts';
import { HOUR, MINUTE, noon, policy as defaults } from '../core-fixtures.ts';
import { runs } from '../../../runs.ts';

const policy = {
  ...defaults,
  maxIterations: 8,
  maxCallsPerHour: 12,
  maxTokensPerHour: 1_000,
  maxCostUsd: 2,
  maxCostUsdPerDay: 3,
};
const LEASE_MS = 50 * MINUTE;

/** The next step; `run` is one of five machines, on which runs follow one another. */
type Step =
  | { readonly kind: 'time'; readonly ms: number }
  | { readonly kind: 'begin' | 'calls' | 'end' | 'crash'; readonly run: number };

const stepsOver = (time: fc.Arbitrary<number>): fc.Arbitrary<readonly Step[]> => {
  const step: fc.Arbitrary<Step> = fc.oneof(
    time.map((ms) => ({ kind: 'time', ms }) as const),
    fc.record({ kind: fc.constantFrom('begin', 'begin', 'calls', 'end', 'crash'), run: fc.nat(4) }),
    fc.record({ kind: fc.constantFrom('calls'), run: fc.nat(4) }),
  );
  return fc.array(step, { minLength: 20, maxLength: 80 });
};

interface Played {
  readonly budget: Budget;
  readonly now: number;
  /** All runs so far. */
  readonly runs: readonly Running[];
}

interface Running {
  readonly reservation: Reservation;
  readonly before: LaneState;
  after: LaneState;
  calls: number;
  /** The time when the run settled, or null while it works or after it was killed. */
  settledAt: number | null;
}

/**
 * Plays runs that use at most their reservation and at most the time of their lease; passes the budget to `check` after
 * each step, and returns the instants of all calls.
 */
function playRuns(steps: readonly Step[], check: (played: Played) => void): readonly number[] {
  let budget = emptyBudget;
  let now = noon;
  const runs: Running[] = [];
  const machines = new Map<number, Running>();
  const calls: number[] = [];
  for (const step of steps) {
    if (step.kind === 'time') now += step.ms;
    else {
      const run = machines.get(step.run);
      if (step.kind === 'begin' && run === undefined) machines.set(step.run, begin(step.run));
      while (
        step.kind === 'calls' &&
        run !== undefined &&
        run.calls < run.reservation.calls &&
        now < run.reservation.expiresAt
      ) {
        call(run, now);
        calls.push(now);
      }
      if (step.kind === 'end' && run !== undefined && now < run.reservation.expiresAt) {
        budget = settleRun(budget, run.reservation.runTag, { ...run, isPublished: true }, now);
        run.settledAt = now;
      }
      // A run that was killed, or that outlived its own end, is never settled.
      if (step.kind === 'end' || step.kind === 'crash') machines.delete(step.run);
    }
    check({ budget, now, runs });
  }
  return calls;

  function begin(machine: number): Running {
    const runTag = `run-${runs.length}`;
    const windows = sumWindows(budget, runTag, now);
    const reservation = planReservation(
      { runTag, lane: `issue-${machine}`, runUrl: '', runId: '', runAttempt: 1, expiresAt: now + LEASE_MS, tasks: [] },
      windows,
      policy,
    );
    budget = reserveUsage(budget, reservation, now);
    const state = { ...createInitialState(reservation.lane, now), windows };
    const run: Running = { reservation, before: state, after: state, calls: 0, settledAt: null };
    runs.push(run);
    return run;
  }
}

/** Makes one more call, which uses its share of the reservation. */
function call(run: Running, now: number): void {
  const { reservation, after } = run;
  const usage = {
    tokens: Math.floor(reservation.tokens / reservation.calls),
    costUsd: reservation.costUsd / reservation.calls,
    durationMs: 0,
  };
  const windows = chargeUsage(chargeCall(after.windows, now), usage, now);
  run.after = { ...after, windows, ledger: bookUsage(bookCall(after.ledger, now, null), usage, now) };
  run.calls += 1;
}

function usedAndReserved({ budget, now }: Played): {
  readonly calls: number;
  readonly tokens: number;
  readonly costUsd: number;
} {
  const { hour: inHour, day }: Windows = sumWindows(budget, 'a new run', now);
  return { calls: inHour?.calls ?? 0, tokens: inHour?.tokens ?? 0, costUsd: day?.costUsd ?? 0 };
}

const forward = fc.integer({ min: 0, max: 25 * MINUTE });
const alsoBack = fc.oneof(forward, fc.integer({ min: -90 * MINUTE, max: 0 }), fc.constant(13 * HOUR));

test('used and reserved amounts never exceed a limit and are never negative, whatever runs do', () => {
  fc.assert(
    fc.property(stepsOver(forward), (steps) => {
      playRuns(steps, (played) => {
        const { calls, tokens, costUsd } = usedAndReserved(played);
        expect(calls).toBeLessThanOrEqual(policy.maxCallsPerHour);
        expect(tokens).toBeLessThanOrEqual(policy.maxTokensPerHour);
        expect(costUsd).toBeLessThanOrEqual(policy.maxCostUsdPerDay + 1e-9);
        for (const reservation of played.budget.reservations)
          expect(Math.min(reservation.calls, reservation.tokens, reservation.costUsd)).toBeGreaterThanOrEqual(0);
      });
    }),
    { numRuns: runs(200) },
  );
});

test('a clock that is set back, by however much, grants nothing', () => {
  fc.assert(
    fc.property(stepsOver(alsoBack), fc.integer({ min: 0, max: 48 * HOUR }), (steps, back) => {
      playRuns(steps, (played) => {
        const [now, earlier] = [usedAndReserved(played), usedAndReserved({ ...played, now: played.now - back })];
        expect(earlier.calls).toBeGreaterThanOrEqual(now.calls);
        expect(earlier.tokens).toBeGreaterThanOrEqual(now.tokens);
        expect(earlier.costUsd).toBeGreaterThanOrEqual(now.costUsd);
      });
    }),
    { numRuns: runs(200) },
  );
});

test('all that was granted and may still be used in an hour, or was used in it, is never more than the limit', () => {
  fc.assert(
    fc.property(stepsOver(forward), (steps) => {
      playRuns(steps, ({ budget, now, runs }) => {
        const { hour: opened } = budget.windows;
        const unsettled = runs
          .filter(({ settledAt, reservation }) => settledAt === null && now < reservation.expiresAt + HOUR)
          .map(({ reservation }) => reservation.calls);
        const settled =
          opened === null || now >= opened.openedAt + HOUR
            ? []
            : runs
                .filter(({ settledAt }) => settledAt !== null && settledAt >= opened.openedAt)
                .map(({ calls }) => calls);
        expect([...unsettled, ...settled].reduce((sum, calls) => sum + calls, 0)).toBeLessThanOrEqual(
          policy.maxCallsPerHour,
        );
      });
    }),
    { numRuns: runs(200) },
  );
});

test('no sixty minutes, wherever they are laid, have more calls than the two hours that they touch', () => {
  fc.assert(
    fc.property(stepsOver(forward), (steps) => {
      const calls = playRuns(steps, () => undefined);
      for (const from of calls)
        expect(calls.filter((at) => from <= at && at < from + HOUR).length).toBeLessThanOrEqual(
          2 * policy.maxCallsPerHour,
        );
    }),
    { numRuns: runs(200) },
  );
});

test('any resulting budget can be stored and read again', () => {
  fc.assert(
    fc.property(stepsOver(alsoBack), (steps) => {
      playRuns(steps, ({ budget, now }) => {
        expect(parseBudget(serializeUsage(budget), now)).toEqual({ kind: 'budget', budget, problem: null });
      });
    }),
    { numRuns: runs(50) },
  );
});

test('no text makes parseBudget throw', () => {
  const text = serializeUsage(
    reserveUsage(
      emptyBudget,
      {
        runTag: 'a',
        lane: 'queue',
        runUrl: '',
        runId: '',
        runAttempt: 1,
        expiresAt: noon,
        tasks: [],
        calls: 1,
        tokens: 2,
        costUsd: 3,
      },
      noon,
    ),
  );
  const broken = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.json(),
    fc
      .tuple(fc.nat(text.length), fc.string({ maxLength: 5 }))
      .map(([at, noise]) => text.slice(0, at) + noise + text.slice(at + noise.length)),
  );
  fc.assert(
    fc.property(broken, (any) => {
      expect(['budget', 'newer']).toContain(parseBudget(any, noon).kind);
    }),
    { numRuns: runs(100) },
  );
});
