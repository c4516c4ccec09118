import { describe, expect, test } from 'vitest';
import { unreadableCircuit, viewCircuit } from '../../../../src/core/lane/circuit.ts';
import { honourLeftCircuit } from '../../../../src/core/others/left-circuit.ts';
import { createInitialState, type LaneState } from '../../../../src/core/lane/state/state.ts';
import { HOUR, MINUTE, noon, policy } from '../core-fixtures.ts';

const PATH = '.ralph/.circuit_breaker_state';
const HASH = 'ab'.repeat(32);
const state = createInitialState('queue', noon);
const iso = (at: number): string => new Date(at).toISOString();
const honour = (text: string, of: LaneState = state): ReturnType<typeof honourLeftCircuit> =>
  honourLeftCircuit(of, { path: PATH, text, hash: HASH }, noon);
const file = (change: object): string =>
  JSON.stringify({ state: 'OPEN', reason: 'No progress detected in 3 consecutive loops', total_opens: 1, ...change });

describe('a circuit that another Ralph left open', () => {
  test.each<[string, object, string, number]>([
    ['no progress', { opened_at: iso(noon - HOUR) }, 'no_progress', noon - HOUR],
    [
      'same error',
      { opened_at: iso(noon - 1), reason: 'Same error repeated in 5 consecutive loops' },
      'same_error',
      noon - 1,
    ],
    [
      'permission denied, by an earlier version without opened_at',
      { last_change: '2026-11-20T10:00:00+00:00', reason: 'Permission denied in 2 consecutive loops' },
      'permission_denied',
      Date.parse('2026-11-20T10:00:00Z'),
    ],
    ['output decline', { opened_at: iso(noon), reason: 'Output declined by 80%' }, 'output_decline', noon],
    ['other words and no instant', { state: ' open ', reason: 7 }, 'no_progress', 0],
    [
      'an instant to come, which would keep it open for as long as anybody likes',
      { opened_at: iso(noon + HOUR) },
      'no_progress',
      0,
    ],
    ['no instant at all', { opened_at: 'yesterday', last_change: 5 }, 'no_progress', 0],
  ])('is open here as it was there: %s', (_, change, reason, openedAt) => {
    const { state: after, warning } = honour(file(change));
    expect(after.circuit).toEqual({ kind: 'open', totalOpens: 0, reason, openedAt, taskId: null });
    expect(after.leftCircuit).toBe(HASH);
    expect(after.transitions).toMatchObject([{ subject: 'circuit', to: 'open', reason: 'left open by another Ralph' }]);
    expect(warning).toContain('Another Ralph left its circuit open');
  });

  test('says when and why, in one line without anything that a reader does not see', () => {
    const { warning } = honour(
      file({ opened_at: iso(noon - 10 * MINUTE), reason: 'No\nprogress\u202E ' + 'x'.repeat(500) }),
    );
    expect(warning).toMatch(
      /^Another Ralph left its circuit open at 2026-\d\d-\d\d \d\d:\d\d UTC \(\.ralph\/\.circuit_breaker_state: No progress.{0,220}\)\. It is honoured once/,
    );
    expect(warning).not.toMatch(/[\n\u202E]/);
  });

  test('cools down and is probed once like any other', () => {
    const { circuit } = honour(file({ opened_at: iso(noon - 10 * MINUTE) })).state;
    const { cooldownMs } = policy.circuit;
    expect(viewCircuit(circuit, policy.circuit, noon)).toEqual({
      kind: 'open',
      probeAt: noon - 10 * MINUTE + cooldownMs,
    });
    expect(viewCircuit(circuit, policy.circuit, noon + cooldownMs)).toEqual({ kind: 'half-open', of: 'probe' });
  });

  test('is honoured once; what is left open later is another one', () => {
    const once = honour(file({})).state;
    const closed: LaneState = { ...once, circuit: state.circuit };
    expect(honour(file({}), closed)).toEqual({ state: closed, warning: null });
    const later = honourLeftCircuit(closed, { path: PATH, text: file({}), hash: 'cd'.repeat(32) }, noon);
    expect(later.state.circuit.kind).toBe('open');
  });

  test('changes nothing where the circuit is open already', () => {
    const open: LaneState = { ...state, circuit: unreadableCircuit };
    expect(honour(file({}), open)).toEqual({ state: { ...open, leftCircuit: HASH }, warning: null });
  });
});

test.each(['CLOSED', 'HALF_OPEN', 'closed', ''])('one that is %j is not open', (word) => {
  expect(honour(file({ state: word }))).toEqual({ state, warning: null });
});

test.each<[string, string]>([
  ['no JSON', '{"state": "OP'],
  ['nothing', ''],
  ['a list', '["OPEN"]'],
  ['a number for a state', '{"state": 3}'],
  ['the end of something long', `${'x'.repeat(16_000)}"}`],
])('one that cannot be read is probed once: %s', (_, text) => {
  const { state: after, warning } = honour(text);
  expect(viewCircuit(after.circuit, policy.circuit, noon)).toEqual({ kind: 'half-open', of: 'probe' });
  expect(warning).toBe(
    'The circuit that another Ralph left in .ralph/.circuit_breaker_state cannot be read, so the queue begins with one probe iteration.',
  );
  expect(honour(text, { ...after, circuit: state.circuit }).warning).toBeNull();
});
