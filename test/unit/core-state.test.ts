import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hintCodes } from '../../src/core/hints.ts';
import { closedCircuit, initialState, maxStateBytes, noted, parseState, probeState, serializeState, type LaneState, type Transition } from '../../src/core/state.ts';
import { callsRemaining, usedUp } from '../../src/core/windows.ts';
import { noon, play, policy, progress, said } from './core-fixtures.ts';

const lane = 'queue';
const state: LaneState = { ...play([progress(), {}]).state, sequence: 7 };

/** The stored document with one part replaced (undefined: taken out). */
function tampered(change: Record<string, unknown>): string {
  return JSON.stringify({ ...(JSON.parse(serializeState(state)) as Record<string, unknown>), ...change });
}

test('what is stored is read back', () => {
  expect(parseState(serializeState(state), lane)).toEqual({ kind: 'state', state, problems: [] });
});

describe('a circuit that cannot be read', () => {
  test.each([[''], [{}], [null], [undefined], ['garbage'], [{ kind: 'closed' }], [{ ...closedCircuit(0), noProgress: -1 }], [{ kind: 'half-open' }], [[]]])('%j is reported, and one probe decides', (circuit) => {
    const parsed = parseState(tampered({ circuit }), lane);
    expect(parsed).toMatchObject({ kind: 'state', problems: [expect.stringContaining('circuit')], state: { circuit: { kind: 'open', reason: 'state_unreadable' } } });
    const { state: restored } = parsed as { state: LaneState };
    expect(play([], { state: restored }).step).toMatchObject({ kind: 'iterate', circuit: { kind: 'half-open', of: 'probe' } });
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
    const parsed = parseState(tampered({ windows: { hour, day: null } }), lane);
    expect(parsed).toMatchObject({ kind: 'state', problems: [expect.stringContaining('hour')] });
    const { windows } = (parsed as { state: LaneState }).state;
    expect(callsRemaining(windows, policy, openedAt)).toBe(0);
    expect(usedUp(windows, policy, openedAt)).toEqual({ reason: 'calls_per_hour', resumeAt: openedAt + 3_600_000 });
    expect(usedUp(windows, policy, openedAt + 3_600_000)).toBeNull();
  });

  test.each([[null], [undefined], ['x'], [{}]])('windows %j', (windows) => {
    const parsed = parseState(tampered({ windows }), lane) as { state: LaneState; problems: readonly string[] };
    expect(parsed.problems).toHaveLength(2);
    expect(said(play([], { state: parsed.state, now: savedAt }).step)).toBe('parked (calls_per_hour)');
    expect(usedUp(parsed.state.windows, { ...policy, maxCallsPerHour: 1e16, maxCostUsdPerDay: 5 }, savedAt)?.reason).toBe('cost_per_day');
  });
});

test.each<[string, string]>([
  ['nothing', ''],
  ['null', 'null'],
  ['a list', '[]'],
  ['half a document', serializeState(state).slice(0, 200)],
  ['tasks of another form', tampered({ tasks: { 'issue-1': 'done' } })],
  ['a task in an unknown state', tampered({ tasks: { 'issue-1': { state: 'won', attempts: 0, startedTree: null, doneCommit: null } } })],
  ['a sequence that is no number', tampered({ sequence: '7' })],
  ['an instant beyond the calendar', tampered({ savedAt: 9e15 })],
  ['another lane', tampered({ lane: 'issue-9' })],
  ['version 0', tampered({ version: 0 })],
  ['more than 64 KiB', tampered({ padding: 'x'.repeat(maxStateBytes) })],
])('%s is unreadable', (_, document) => {
  expect(parseState(document, lane)).toMatchObject({ kind: 'unreadable', why: expect.any(String) as string });
});

test('a newer version is left alone', () => {
  expect(parseState(tampered({ version: 2, tasks: 'in another form' }), lane)).toEqual({ kind: 'newer', version: 2 });
});

test('a state that should be there and is not begins with one probe', () => {
  expect(play([{}], { state: probeState(lane, noon) }).step).toMatchObject({ kind: 'stop', outcome: { reason: 'circuit_open', tripped: 'this-run' } });
  expect(play([progress()], { state: probeState(lane, noon) }).step.kind).toBe('iterate');
  expect(parseState(serializeState(probeState(lane, noon)), lane).kind).toBe('state');
});

describe('the document stays within 64 KiB', () => {
  const transition: Transition = { at: noon, subject: 'task', from: 'x'.repeat(200), to: 'y'.repeat(200), reason: 'ß'.repeat(500) };

  test('transitions are capped at 50, reasons at 200 characters', () => {
    const long = Array.from({ length: 120 }, (_, at) => at).reduce<LaneState>((next, at) => noted(next, { ...transition, at: noon + at }), state);
    expect(long.transitions).toHaveLength(50);
    expect(long.transitions.at(-1)).toMatchObject({ at: noon + 119, reason: 'ß'.repeat(200) });
    expect(parseState(serializeState(long), lane).kind).toBe('state');
  });

  test.each([100, 400, 2_000])('%i tasks', (count) => {
    const tasks = Object.fromEntries(Array.from({ length: count }, (_, index) => [`issue-${String(index)}`, { state: 'done' as const, attempts: 1, startedTree: 'a'.repeat(40), doneCommit: 'b'.repeat(40) }]));
    const document = serializeState({ ...state, tasks, transitions: Array.from({ length: 80 }, () => ({ ...transition, reason: 'r' })) });
    expect(new TextEncoder().encode(document).length).toBeLessThanOrEqual(maxStateBytes);
    const parsed = parseState(document, lane);
    expect(parsed.kind).toBe('state');
    // The newest are kept: what is done is not done again.
    expect((parsed as { state: LaneState }).state.tasks[`issue-${String(count - 1)}`]?.state).toBe('done');
  });
});

const instant = fc.integer({ min: 0, max: 8.64e15 });
const count = fc.nat();
const amount = fc.double({ min: 0, max: 1e9, noNaN: true }).map((value) => value + 0);
const text = fc.string({ maxLength: 30 });
const id = fc.integer({ min: 1, max: 99 }).map((number) => `issue-${String(number)}`);
const head = fc.string({ maxLength: 40 });
const objectId = fc.option(head);
const reason = fc.constantFrom('calls_per_hour' as const, 'usage_limit' as const);

const anyState: fc.Arbitrary<LaneState> = fc.record({
  version: fc.constant(1 as const),
  lane: fc.constant(lane),
  sequence: count,
  savedAt: instant,
  circuit: fc.oneof(
    fc.record({ kind: fc.constant('closed' as const), totalOpens: count, noProgress: count, errorStreaks: fc.array(fc.record({ fingerprint: text, count }), { maxLength: 10 }), denials: count, decline: count, questionHeld: fc.boolean() }),
    fc.record({ kind: fc.constant('open' as const), totalOpens: count, reason: fc.constantFrom('no_progress' as const, 'same_error' as const, 'state_unreadable' as const), openedAt: instant }),
  ),
  windows: fc.record({ hour: fc.option(fc.record({ openedAt: instant, calls: count, tokens: count })), day: fc.option(fc.record({ openedAt: instant, costUsd: amount })) }),
  signals: fc.record({ indicators: fc.array(fc.boolean(), { maxLength: 5 }), vetoed: fc.array(fc.boolean(), { maxLength: 5 }), outputChars: fc.array(count, { maxLength: 5 }), doneInARow: count, blockedInARow: count, testOnlyInARow: count }),
  session: fc.option(fc.record({ id: fc.uuid(), startedAt: instant, lastUsedAt: instant, taskId: fc.option(id) })),
  tasks: fc.dictionary(id, fc.record({ state: fc.constantFrom('todo' as const, 'in-progress' as const, 'done' as const, 'failed' as const, 'blocked' as const), attempts: count, startedTree: objectId, doneCommit: objectId }), { noNullPrototype: true }),
  currentTask: fc.option(id),
  park: fc.option(fc.record({ reason, resumeAt: instant, taskId: fc.option(id), branchHead: objectId })),
  pause: fc.option(fc.record({ by: text, at: instant })),
  ledger: fc.array(fc.record({ day: fc.constant('2026-11-21'), calls: count, tokens: count, costUsd: amount, minutes: amount }), { maxLength: 31 }),
  transitions: fc.array(fc.record({ at: instant, subject: fc.constantFrom('circuit' as const, 'task' as const), from: text, to: text, reason: text }), { maxLength: 50 }),
  lastRun: fc.option(fc.record({ outcome: fc.constantFrom('complete' as const, 'limit' as const), reason: text, at: instant, published: fc.option(fc.record({ head, pullRequest: fc.option(fc.record({ number: fc.integer({ min: 1, max: 1_000_000 }), url: fc.webUrl().filter((url) => url.length <= 500) })) })) })),
  lastIteration: fc.option(fc.record({ taskId: fc.option(id), progress: fc.boolean(), fileCount: count, tree: fc.string({ maxLength: 40 }), verification: fc.constantFrom('not-run' as const, 'passed' as const, 'failed' as const), hints: fc.uniqueArray(fc.constantFrom(...hintCodes)) })),
});

test('parse(serialize(s)) = s', () => {
  fc.assert(
    fc.property(anyState, (any) => {
      expect(parseState(serializeState(any), lane)).toEqual({ kind: 'state', state: any, problems: [] });
    }),
  );
});

test('no string makes parseState throw', () => {
  const document = serializeState(state);
  const broken = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.json(),
    fc.tuple(fc.nat(document.length), fc.string({ maxLength: 5 })).map(([at, noise]) => document.slice(0, at) + noise + document.slice(at + noise.length)),
    fc.tuple(fc.constantFrom(...Object.keys(initialState(lane, noon))), fc.jsonValue()).map(([key, value]) => tampered({ [key]: value })),
  );
  fc.assert(
    fc.property(broken, (text) => {
      expect(['state', 'unreadable', 'newer']).toContain(parseState(text, lane).kind);
    }),
    { numRuns: 500 },
  );
});
