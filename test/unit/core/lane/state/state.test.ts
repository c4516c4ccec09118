import { describe, expect, test } from 'vitest';
import { noChange, EMPTY_SHARE } from '../../../../../src/core/lane/change.ts';
import { createClosedCircuit } from '../../../../../src/core/lane/circuit.ts';
import {
  type LaneState,
  MAX_STATE_BYTES,
  parseState,
  parseStateAt,
  createProbeState,
  STATE_VERSION,
} from '../../../../../src/core/lane/state/state.ts';
import { serializeState } from '../../../../../src/core/lane/state/serialize-state.ts';
import type { TaskProgress } from '../../../../../src/core/tasks/task.ts';
import { withTransition, type Transition } from '../../../../../src/core/lane/session.ts';
import { countCallsRemaining, findExhaustedWindow } from '../../../../../src/core/lane/windows.ts';
import { HOUR, MINUTE, noon, play, policy, progress, describeStep } from '../../core-fixtures.ts';

const LANE = 'queue';
const state: LaneState = { ...play([progress(), {}]).state, sequence: 7 };

/** Returns the stored document with one part replaced (undefined removes it). */
function tampered(change: Record<string, unknown>): string {
  return JSON.stringify({ ...(JSON.parse(serializeState(state)) as Record<string, unknown>), ...change });
}

test('what is stored is read back', () => {
  expect(parseState(serializeState(state), LANE)).toEqual({ kind: 'state', state, problems: [] });
});

describe('a circuit that cannot be read', () => {
  test.each([
    [''],
    [{}],
    [null],
    [undefined],
    ['garbage'],
    [{ kind: 'closed' }],
    [{ ...createClosedCircuit(0), noProgress: -1 }],
    [{ kind: 'half-open' }],
    [[]],
  ])('%j is reported, and one probe decides', (circuit) => {
    const parsed = parseState(tampered({ circuit }), LANE);
    expect(parsed).toMatchObject({
      kind: 'state',
      problems: [expect.stringContaining('circuit')],
      state: { circuit: { kind: 'open', reason: 'state_unreadable' } },
    });
    const { state: restored } = parsed as { state: LaneState };
    expect(play([], { state: restored }).step).toMatchObject({
      kind: 'iterate',
      circuit: { kind: 'half-open', of: 'probe' },
    });
    expect(play([{}], { state: restored }).step).toMatchObject({ kind: 'stop', outcome: { reason: 'circuit_open' } });
  });
});

describe('a counter that cannot be read counts as used up until its window ends', () => {
  const savedAt = state.savedAt;
  test.each([
    ['empty', { openedAt: noon, calls: '', tokens: 0 }, noon],
    ['abc', { openedAt: noon, calls: 'abc', tokens: 0 }, noon],
    ['-5', { openedAt: noon, calls: -5, tokens: 0 }, noon],
    ['two lines', { openedAt: noon, calls: '1\n2', tokens: 0 }, noon],
    ['half a call', { openedAt: noon, calls: 0.5, tokens: 0 }, noon],
    ['no start', { calls: 3, tokens: 0 }, savedAt],
    ['garbage', 'x', savedAt],
    ['gone', undefined, savedAt],
  ])('%s', (_, hour, openedAt) => {
    const parsed = parseState(tampered({ windows: { hour, day: null } }), LANE);
    expect(parsed).toMatchObject({ kind: 'state', problems: [expect.stringContaining('hour')] });
    const { windows } = (parsed as { state: LaneState }).state;
    expect(countCallsRemaining(windows, policy, openedAt)).toBe(0);
    expect(findExhaustedWindow(windows, policy, openedAt)).toEqual({
      reason: 'calls_per_hour',
      resumeAt: openedAt + 3_600_000,
    });
    expect(findExhaustedWindow(windows, policy, openedAt + 3_600_000)).toBeNull();
  });

  test.each([[null], [undefined], ['x'], [{}]])('windows %j', (windows) => {
    const parsed = parseState(tampered({ windows }), LANE) as { state: LaneState; problems: readonly string[] };
    expect(parsed.problems).toEqual([expect.stringContaining('hour window'), expect.stringContaining('day window')]);
    expect(describeStep(play([], { state: parsed.state, now: savedAt }).step)).toBe('parked (calls_per_hour)');
    expect(
      findExhaustedWindow(parsed.state.windows, { ...policy, maxCallsPerHour: 1e16, maxCostUsdPerDay: 5 }, savedAt)
        ?.reason,
    ).toBe('cost_per_day');
  });
});

describe('usage that the clock of a machine booked in the future, as a run at noon sees it', () => {
  const years = noon + 10 * 365 * 24 * HOUR;
  const at = (hourAt: number, dayAt: number): LaneState => ({
    ...state,
    windows: { hour: { openedAt: hourAt, calls: 100, tokens: 9 }, day: { openedAt: dayAt, costUsd: 5 } },
  });
  test.each<[string, LaneState, LaneState]>([
    ['ten years ahead', at(years, years), at(noon, noon)],
    ['26 hours and a millisecond ahead', at(noon + 26 * HOUR + 1, noon + 26 * HOUR + 1), at(noon, noon)],
    ['the hour alone', at(years, noon - HOUR), at(noon, noon - HOUR)],
    ['the day alone', at(noon - MINUTE, years), at(noon - MINUTE, noon)],
  ])('%s: counts from now on, and is reported', (_, stored, expected) => {
    expect(parseStateAt(serializeState(stored), LANE, noon)).toEqual({
      kind: 'state',
      state: expected,
      problems: [expect.stringContaining('in the future')],
    });
    expect(describeStep(play([], { state: expected, now: noon + HOUR }).step)).toBe(
      describeStep(play([], { state: at(0, 0), now: noon + HOUR }).step),
    );
  });

  test.each<[string, LaneState]>([
    ['26 hours ahead: the clock that is wrong may be this one', at(noon + 26 * HOUR, noon + 26 * HOUR)],
    ['not ahead', at(noon, noon)],
    ['none', { ...state, windows: { hour: null, day: null } }],
  ])('%s: stays as it is', (_, stored) => {
    expect(parseStateAt(serializeState(stored), LANE, noon)).toEqual({ kind: 'state', state: stored, problems: [] });
  });

  test.each<[string, string, string]>([
    ['a document that cannot be read', '', 'unreadable'],
    ['one of a newer version', tampered({ version: STATE_VERSION + 1 }), 'newer'],
  ])('%s is answered as usual', (_, document, kind) => {
    expect(parseStateAt(document, LANE, noon).kind).toBe(kind);
  });
});

test.each<[string, string]>([
  ['nothing', ''],
  ['null', 'null'],
  ['a list', '[]'],
  ['half a document', serializeState(state).slice(0, 200)],
  ['tasks of another form', tampered({ tasks: { 'issue-1': 'done' } })],
  [
    'a task in an unknown state',
    tampered({
      tasks: {
        'issue-1': { state: 'won', attempts: 0, startedTree: null, doneCommit: null, reason: null, setAside: null },
      },
    }),
  ],
  ['a sequence that is not a number', tampered({ sequence: '7' })],
  ['an instant beyond the calendar', tampered({ savedAt: 9e15 })],
  ['another lane', tampered({ lane: 'issue-9' })],
  ['version 0', tampered({ version: 0 })],
  ['more than 64 KiB', tampered({ padding: 'x'.repeat(MAX_STATE_BYTES) })],
])('%s is unreadable', (_, document) => {
  expect(parseState(document, LANE)).toMatchObject({ kind: 'unreadable', why: expect.any(String) as string });
});

test.each<[string, string, string]>([
  ['too long', 'x'.repeat(MAX_STATE_BYTES + 1), 'it is longer than 65536 bytes'],
  ['no JSON', '{', 'it is not a JSON object with `version` and `lane`'],
  ['from another lane', tampered({ lane: 'issue-9' }), 'it belongs to another branch'],
  [
    'wrong in a nested field',
    tampered({ signals: { ...state.signals, doneInARow: -1 } }),
    'signals.doneInARow does not match the schema',
  ],
])('it says why a document is unreadable: %s', (_, document, why) => {
  expect(parseState(document, LANE)).toEqual({ kind: 'unreadable', why });
});

test('a document of exactly 64 KiB is read', () => {
  const document = serializeState(state);
  expect(parseState(document + ' '.repeat(MAX_STATE_BYTES - document.length), LANE).kind).toBe('state');
});

test('a newer version is left alone', () => {
  expect(parseState(tampered({ version: STATE_VERSION + 1, tasks: 'in another form' }), LANE)).toEqual({
    kind: 'newer',
    version: STATE_VERSION + 1,
  });
});

test('a state that should be there and is not begins with one probe', () => {
  expect(play([{}], { state: createProbeState(LANE, noon) }).step).toMatchObject({
    kind: 'stop',
    outcome: { reason: 'circuit_open', tripped: 'this-run' },
  });
  expect(play([progress()], { state: createProbeState(LANE, noon) }).step.kind).toBe('iterate');
  expect(parseState(serializeState(createProbeState(LANE, noon)), LANE).kind).toBe('state');
  expect(createProbeState(LANE, noon).transitions).toEqual([
    { at: noon, subject: 'state', from: 'unreadable', to: 'initial', reason: 'state_unreadable' },
  ]);
});

describe('the document stays within 64 KiB', () => {
  const transition: Transition = {
    at: noon,
    subject: 'task',
    from: 'x'.repeat(200),
    to: 'y'.repeat(200),
    reason: 'ß'.repeat(500),
  };

  test('transitions are capped at 50, reasons at 200 characters', () => {
    const long = Array.from({ length: 120 }, (_, at) => at).reduce<LaneState>(
      (next, at) => withTransition(next, { ...transition, at: noon + at }),
      state,
    );
    expect(long.transitions).toHaveLength(50);
    expect(long.transitions.at(-1)).toMatchObject({ at: noon + 119, reason: 'ß'.repeat(200) });
    expect(parseState(serializeState(long), LANE).kind).toBe('state');
  });

  test.each([100, 400, 2_000])('%i tasks', (count) => {
    const tasks = Object.fromEntries(
      Array.from({ length: count }, (_, index) => [
        `issue-${String(index)}`,
        {
          state: 'done' as const,
          attempts: 1,
          startedTree: 'a'.repeat(40),
          doneCommit: 'b'.repeat(40),
          reason: null,
          setAside: null,
        },
      ]),
    );
    const document = serializeState({
      ...state,
      tasks,
      transitions: Array.from({ length: 80 }, () => ({ ...transition, reason: 'r' })),
    });
    expect(new TextEncoder().encode(document).length).toBeLessThanOrEqual(MAX_STATE_BYTES);
    const parsed = parseState(document, LANE);
    expect(parsed.kind).toBe('state');
    // The newest tasks are kept, so that completed work is not repeated.
    expect((parsed as { state: LaneState }).state.tasks[`issue-${String(count - 1)}`]?.state).toBe('done');
  });

  const day = (index: number) => ({ day: `2026-11-${String(index)}`, calls: 1, tokens: 0, costUsd: 0, minutes: 0 });
  const many = (count: number, from: TaskProgress): LaneState['tasks'] =>
    Object.fromEntries(
      Array.from({ length: count }, (_, index) => [`${from.state}-${String(from.attempts)}-${String(index)}`, from]),
    );
  const todo: TaskProgress = {
    state: 'todo',
    attempts: 0,
    startedTree: 'a'.repeat(40),
    doneCommit: null,
    reason: null,
    setAside: null,
  };
  const done: TaskProgress = {
    state: 'done',
    attempts: 1,
    startedTree: 'a'.repeat(40),
    doneCommit: 'b'.repeat(40),
    reason: null,
    setAside: null,
  };
  const kept = (large: LaneState): LaneState => {
    const parsed = parseState(serializeState(large), 'queue');
    if (parsed.kind !== 'state') throw new Error(JSON.stringify(parsed));
    return parsed.state;
  };

  test('the ledger keeps 31 days', () => {
    expect(kept({ ...state, ledger: Array.from({ length: 40 }, (_, index) => day(index + 10)) }).ledger.at(0)).toEqual(
      day(19),
    );
  });

  test('a document that fits loses nothing', () => {
    const large: LaneState = {
      ...state,
      transitions: Array.from({ length: 50 }, () => transition).map((one) => ({ ...one, reason: 'r' })),
      ledger: [day(10), day(11), day(12)],
    };
    expect(kept(large)).toEqual(large);
  });

  test('then history goes first: ten transitions and two days stay', () => {
    const history = Array.from({ length: 50 }, (_, index) => ({ ...transition, at: noon + index, reason: 'r' }));
    const pruned = kept({
      ...state,
      transitions: history,
      ledger: [day(10), day(11), day(12)],
      tasks: many(590, todo),
    });
    expect(pruned.transitions).toEqual(history.slice(-10));
    expect(pruned.ledger).toEqual([day(11), day(12)]);
    expect(Object.keys(pruned.tasks)).toHaveLength(590);
  });

  test('then tasks that were never worked on', () => {
    const worked = { ...many(5, { ...todo, attempts: 1 }), ...many(5, { ...todo, state: 'failed', attempts: 0 }) };
    expect(kept({ ...state, tasks: { ...many(900, todo), ...worked } }).tasks).toEqual(worked);
  });

  test('then the commits of the tasks, and where finished ones started from', () => {
    const { tasks } = kept({ ...state, tasks: { ...many(500, done), ...many(5, { ...done, state: 'in-progress' }) } });
    expect(tasks['done-1-0']).toEqual({ ...done, startedTree: null, doneCommit: null, reason: null, setAside: null });
    expect(tasks['in-progress-1-0']).toEqual({
      ...done,
      state: 'in-progress',
      doneCommit: null,
      reason: null,
      setAside: null,
    });
  });

  const asked = Array.from({ length: 60 }, (_, index) => ({
    kind: 'blocked' as const,
    about: `issue-${String(index)}`,
    thread: 1,
    comment: index + 1,
    at: noon,
  }));
  const failed: TaskProgress = { ...done, state: 'failed', doneCommit: null };

  test('then words of older tasks, and the length of the others; nobody is notified again for that', () => {
    const words = 'w'.repeat(500);
    const share = {
      ...EMPTY_SHARE,
      summary: words,
      question: words,
      recommendation: null,
      commits: Array.from({ length: 10 }, (_, index) => String(index).repeat(40)),
      commitCount: 10,
    };
    const shares = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`issue-${String(index)}`, share]));
    const pruned = kept({
      ...state,
      tasks: many(280, failed),
      change: { ...noChange, tasks: shares },
      notified: asked,
    });
    expect(Object.keys(pruned.change.tasks)).toEqual(Object.keys(shares).slice(-20));
    expect(pruned.change.tasks['issue-29']).toEqual({
      ...share,
      summary: `${'w'.repeat(99)}…`,
      question: `${'w'.repeat(99)}…`,
      commits: share.commits.slice(-3),
    });
    expect(pruned.notified).toEqual(asked);
    expect(Object.keys(pruned.tasks)).toHaveLength(280);
  });

  test('at last the oldest of everything; files that are left out are counted', () => {
    const leftOut = Array.from({ length: 25 }, (_, index) => ({
      path: `${String(index)}.yml`,
      why: 'it is protected',
    }));
    const pruned = kept({
      ...state,
      tasks: many(900, failed),
      notified: asked,
      change: { ...noChange, leftOut, leftOutMore: 7 },
    });
    expect(Object.keys(pruned.tasks)).toEqual(Object.keys(many(900, failed)).slice(-150));
    expect(pruned.notified).toEqual(asked.slice(-50));
    expect(pruned.change).toMatchObject({ leftOut: leftOut.slice(0, 10), leftOutMore: 22 });
  });
});
