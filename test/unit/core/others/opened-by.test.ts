import { expect, test } from 'vitest';
import { honourLeftCircuit, findCircuitOpener } from '../../../../src/core/others/left-circuit.ts';
import { createInitialState } from '../../../../src/core/lane/state/state.ts';
import { HOUR, idle, noon, play, playAgain, progress } from '../core-fixtures.ts';

const left = { path: '.ralph/.circuit_breaker_state', text: '{"state":"OPEN"}', hash: 'h' };
const { state: honoured } = honourLeftCircuit(createInitialState('queue', noon), left, noon);
const next = { gapMs: 2 * HOUR };

test('what opened a circuit last', () => {
  const streak = play([idle, idle, idle]);
  const probed = playAgain(streak, [idle], next);
  const again = playAgain(playAgain(streak, [progress()], next), [idle, idle, idle], next);
  const probeOfLeft = play([idle], { state: honoured, now: noon + HOUR });
  const ends = { streak, probed, again, probeOfLeft };
  for (const { state } of Object.values(ends)) expect(state.circuit.kind).toBe('open');
  expect(
    Object.fromEntries(Object.entries(ends).map(([name, { state }]) => [name, findCircuitOpener(state.transitions)])),
  ).toEqual({ streak: 'streak', probed: 'probe', again: 'streak', probeOfLeft: 'probe' });
  expect(findCircuitOpener(honoured.transitions)).toBe('another-ralph');
  expect(findCircuitOpener([])).toBe('streak');
});
