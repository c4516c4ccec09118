import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { kindOfDenialBy } from '../../../../src/agents/rules/shell-rules.ts';
import { changePolicy } from '../../../../src/config/agent-inputs.ts';
import { type Journal, parseJournal } from '../../../../src/core/journal/parse-journal.ts';
import type { Policy } from '../../../../src/core/policy.ts';
import {
  type LimitEffect,
  effectOfLimits,
  type ReplayLimit,
  recommendValues,
  selectReplayableRuns,
  replayWithValue,
  tuneLimit,
} from '../../../../src/core/tuning/tuning.ts';
import { runs as cases } from '../../../runs.ts';
import { HOUR, idle, MINUTE, noon, policy, progress, task, type Play, type Start } from '../core-fixtures.ts';
import { anyPlay, record } from '../journal/journal-fixtures.ts';

const kindsOf = (): ReturnType<typeof kindOfDenialBy> => kindOfDenialBy('claude');

const costs = (costUsd: number | null): Play['output'] => ({ costUsd });
const finishes: Play = { output: { costUsd: 2, signal: { status: 'COMPLETE', exitSignal: false, tasksCompleted: 1 } } };
const stuck: Play = { ...idle, output: costs(1) };

function journalOf(script: readonly Play[], start: Start = {}): Journal {
  const parsed = parseJournal(record(script, { policy: { ...policy, maxIterationsPerTask: 0 }, ...start }).text);
  if (parsed.kind !== 'journal') throw new Error(JSON.stringify(parsed.problems));
  return parsed.journal;
}

function effectOn(journals: readonly Journal[], limit: ReplayLimit, value: number): LimitEffect {
  return effectOfLimits(selectReplayableRuns(journals, kindsOf), (now) => limit.change(now, value));
}

const noProgress: ReplayLimit = {
  name: 'circuit-no-progress',
  of: ({ circuit }) => circuit.noProgress,
  change: (now, value) => changePolicy(now, { circuit: { noProgress: value } }),
  isWhole: true,
};
const plain = (field: 'maxIterations' | 'maxIterationsPerTask' | 'maxCostUsd' | 'maxCallsPerHour'): ReplayLimit => ({
  name: field,
  of: (now) => now[field],
  change: (now, value) => changePolicy(now, { [field]: value }),
  isWhole: field !== 'maxCostUsd',
});

const nothing = { iterations: 0, costUsd: 0, unpriced: 0 };
const spent = (iterations: number, costUsd: number | null, unpriced = 0): object => ({ iterations, costUsd, unpriced });
const title = (number: number): object => ({ id: `issue-${String(number)}`, title: `Title ${String(number)}` });

describe('a stricter limit', () => {
  test.each<[string, readonly Journal[], ReplayLimit, number, object]>([
    [
      'saves what was spent after the end that it would have made',
      [journalOf([progress(), stuck, stuck, stuck])],
      noProgress,
      2,
      { runs: 1, saved: spent(1, 1), lost: [], later: nothing },
    ],
    [
      'loses the tasks that were finished then',
      [journalOf([stuck, stuck, progress(finishes)])],
      noProgress,
      2,
      { runs: 1, saved: spent(1, 2), lost: [title(1)], later: nothing },
    ],
    [
      'saves an unknown amount where no cost is known',
      [journalOf([stuck, stuck, { ...idle, output: costs(null) }])],
      noProgress,
      2,
      { saved: spent(1, null, 1), lost: [] },
    ],
    [
      'saves at least the known costs',
      [journalOf([stuck, { ...idle, output: costs(null) }, stuck])],
      noProgress,
      1,
      { saved: spent(2, 1, 1), lost: [] },
    ],
    [
      'leaves the work on a task that a later run finished to that run',
      [
        journalOf([stuck, stuck, progress({ output: costs(1) })]),
        journalOf([progress(finishes)], { now: noon + HOUR }),
      ],
      noProgress,
      2,
      { runs: 1, saved: nothing, lost: [], later: spent(1, 1) },
    ],
    [
      'loses nothing that a later run finished again',
      [journalOf([stuck, stuck, progress(finishes)]), journalOf([progress(finishes)], { now: noon + HOUR })],
      noProgress,
      2,
      { saved: nothing, lost: [], later: spent(1, 2) },
    ],
    [
      'saves idle iterations, also on a task that is still open',
      [journalOf([progress(), stuck, stuck, stuck])],
      noProgress,
      1,
      { saved: spent(2, 2), lost: [], later: nothing },
    ],
    [
      'leaves progress on a task that is still open to the run that finishes it',
      [journalOf([stuck, stuck, progress({ output: costs(1) })])],
      noProgress,
      2,
      { saved: nothing, lost: [], later: spent(1, 1) },
    ],
    [
      'loses a task that it gives up while there is progress, whatever later runs did',
      [
        journalOf([progress(), progress({ output: costs(1) })]),
        journalOf([progress(), progress(finishes)], { now: noon + HOUR }),
      ],
      plain('maxIterationsPerTask'),
      1,
      { runs: 2, saved: spent(2, 3), lost: [title(1), title(1)], later: nothing },
    ],
    [
      'saves everything on a task that was given up in the end',
      [journalOf([progress(), progress({ output: costs(1) })], { policy: { ...policy, maxIterationsPerTask: 2 } })],
      plain('maxIterationsPerTask'),
      1,
      { runs: 1, saved: spent(1, 1), lost: [], later: nothing },
    ],
    [
      'of a run only leaves its work to the next one',
      [journalOf([progress(), progress({ output: costs(1) }), progress(finishes)])],
      plain('maxIterations'),
      1,
      { runs: 1, saved: nothing, lost: [], later: spent(2, 3) },
    ],
    [
      'of an hour only leaves its work to the next one',
      [journalOf([progress(), progress(finishes)])],
      plain('maxCallsPerHour'),
      1,
      { runs: 1, saved: nothing, lost: [], later: spent(1, 2) },
    ],
    [
      'of money only leaves its work to the next one',
      [journalOf([progress({ output: costs(3) }), progress(finishes)])],
      plain('maxCostUsd'),
      2.5,
      { runs: 1, saved: nothing, later: spent(1, 2) },
    ],
    [
      'for each task saves the iterations on it, and continues with the next task',
      [
        journalOf([progress(), progress({ output: costs(1) }), progress(finishes), progress(finishes)], {
          tasks: [task(1), task(2)],
        }),
      ],
      plain('maxIterationsPerTask'),
      2,
      { runs: 1, saved: spent(1, 2), lost: [title(1)], undecided: 0 },
    ],
    [
      'that sets a task aside saves its other idle iterations',
      [journalOf([stuck, stuck, stuck, progress(finishes)], { tasks: [task(1), task(2)] })],
      noProgress,
      2,
      { runs: 1, saved: spent(1, 1), lost: [], undecided: 0 },
    ],
    [
      'changes nothing where it would not have been reached',
      [journalOf([progress(), progress(finishes)])],
      noProgress,
      1,
      { runs: 0, saved: nothing, lost: [], later: nothing, undecided: 0 },
    ],
  ])('%s', (_, runs, limit, value, expected) => {
    expect(effectOn(runs, limit, value)).toMatchObject(expected);
  });

  test('counts for a run only where it is stricter than what the run had', () => {
    const strict = journalOf([stuck, stuck], { policy: changePolicy(policy, { circuit: { noProgress: 2 } }) });
    const usual = journalOf([stuck, stuck, stuck]);
    const [least] = tuneLimit(selectReplayableRuns([strict, usual], kindsOf), noProgress, 3).tried;
    expect(least).toMatchObject({ value: 2, effect: { runs: 1, saved: spent(1, 1), undecided: 0 } });
  });

  test('loses the completion of a run whose agent claimed it, since no iteration finishes a prompt', () => {
    const claims: Play = { output: { costUsd: 1, signal: { status: 'COMPLETE', exitSignal: true } } };
    const prompt = task(1, { id: 'prompt-0123456789ab', optional: true });
    const run = journalOf([stuck, stuck, progress(claims), progress(claims)], { tasks: [prompt] });
    expect(run.end?.outcome.kind).toBe('complete');
    const { saved, lost } = effectOn([run], noProgress, 2);
    expect({ saved, lost }).toEqual({ saved: spent(2, 2), lost: [{ id: prompt.id, title: 'Title 1' }] });
  });
});

describe('a looser limit', () => {
  const tripped = journalOf([stuck, stuck, stuck]);
  const finished = journalOf([progress(finishes)]);

  test('is not replayed beyond the recorded end: the runs that it held back are counted', () => {
    const { heldBack, tried } = replayWithValue(selectReplayableRuns([tripped, finished], kindsOf), noProgress, 5);
    expect(heldBack).toBe(1);
    expect(tried).toMatchObject([{ value: 5, effect: { runs: 1, saved: nothing, undecided: 1 } }]);
  });

  test.each<[string, ReplayLimit, readonly Play[], Partial<Policy>]>([
    ['iterations of a run', plain('maxIterations'), [progress(), progress()], { maxIterations: 2 }],
    ['iterations of a task', plain('maxIterationsPerTask'), [progress(), progress()], { maxIterationsPerTask: 2 }],
    ['money of a run', plain('maxCostUsd'), [progress({ output: costs(3) })], { maxCostUsd: 2 }],
    ['calls of an hour', plain('maxCallsPerHour'), [progress()], { maxCallsPerHour: 1 }],
  ])('%s', (_, limit, script, own) => {
    const run = journalOf(script, { policy: { ...policy, ...own } });
    expect(tuneLimit(selectReplayableRuns([run, finished], kindsOf), limit, limit.of(run.start.policy)).heldBack).toBe(
      1,
    );
  });
});

describe('recommended', () => {
  const wasteful = (at: number): Journal => journalOf([progress(), stuck, stuck, stuck], { now: noon + at * HOUR });
  const recovering = journalOf([stuck, stuck, progress(finishes)], { now: noon + 9 * HOUR });
  const recommended = (journals: readonly Journal[]): number | null => {
    const replays = selectReplayableRuns(journals, kindsOf);
    return recommendValues(replays, [tuneLimit(replays, noProgress, 3)])[0]?.value ?? null;
  };

  test.each<[string, readonly Journal[], number | null]>([
    ['is what saved most and lost nothing', [0, 1, 2, 3, 4].map(wasteful), 1],
    ['is nothing after fewer than five runs', [0, 1, 2, 3].map(wasteful), null],
    ['is nothing that lost a task', [...[0, 1, 2, 3].map(wasteful), recovering], null],
  ])('%s', (_, runs, expected) => {
    expect(recommended(runs)).toBe(expected);
  });

  test('is what loses nothing together with the others', () => {
    const recovered = journalOf([stuck, progress(finishes)], { tasks: [task(2)], now: noon });
    const replays = selectReplayableRuns([recovered, ...[1, 2, 3, 4].map(wasteful)], kindsOf);
    // One step down is harmless, two are not.
    const stepDown = (name: string): ReplayLimit => ({
      ...noProgress,
      name,
      change: (now) => changePolicy(now, { circuit: { noProgress: now.circuit.noProgress - 1 } }),
    });
    const tried = ['one', 'other'].map((name) => replayWithValue(replays, stepDown(name), 0));
    for (const alone of tried) expect(recommendValues(replays, [alone])).toHaveLength(1);
    expect(recommendValues(replays, tried).map(({ limit }) => limit.name)).toEqual(['one']);
  });

  test('is nothing that saved only what has no known cost', () => {
    const mute = { ...idle, output: costs(null) };
    expect(
      recommended([0, 1, 2, 3, 4].map((at) => journalOf([mute, mute, mute], { now: noon + at * HOUR }))),
    ).toBeNull();
  });
});

test('a journal that this version decides differently is not replayed', () => {
  const journal = journalOf([stuck, stuck, stuck]);
  const end = journal.end === null ? null : { ...journal.end, outcome: { kind: 'idle', reason: 'no_tasks' } as const };
  expect(selectReplayableRuns([journal, { ...journal, end }], kindsOf).journals).toEqual([journal]);
});

test('the recorded limits save nothing and lose nothing, whatever agent and clock did', () => {
  fc.assert(
    fc.property(fc.array(anyPlay, { maxLength: 12 }), fc.boolean(), (script, verifies) => {
      const tasks = [task(1), task(2, { dependsOn: ['issue-1'] }), task(3, { optional: true })];
      const run = journalOf(script, { tasks, policy: { ...policy, verifies, maxRunMs: 100 * HOUR } });
      expect(effectOfLimits(selectReplayableRuns([run], kindsOf), (now) => now)).toEqual({
        ...{ runs: 0, saved: nothing, lost: [], later: nothing, undecided: 0 },
      });
    }),
    { numRuns: cases(200) },
  );
});

test('whatever is stricter, no more is saved, left and lost than there was', () => {
  const limits = [noProgress, plain('maxIterations'), plain('maxIterationsPerTask'), plain('maxCallsPerHour')];
  fc.assert(
    fc.property(
      fc.array(anyPlay, { maxLength: 12 }),
      fc.constantFrom(...limits),
      fc.integer({ min: 1, max: 8 }),
      (script, limit, value) => {
        const run = journalOf(script, { tasks: [task(1), task(2)], policy: { ...policy, maxRunMs: 900 * MINUTE } });
        const { saved, later, lost } = effectOn([run], limit, value);
        expect(saved.iterations + later.iterations).toBeLessThanOrEqual(run.entries.length);
        expect(lost.length === 0 || saved.iterations > 0).toBe(true);
      },
    ),
    { numRuns: cases(200) },
  );
});
