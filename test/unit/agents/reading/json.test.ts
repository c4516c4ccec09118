import { expect, test } from 'vitest';
import { asAmount, asArray, asObject, asString } from '../../../../src/agents/reading/json-value.ts';

test('JSON of unknown shape is read as what it is, or not at all', () => {
  expect([{}, [], null, 'x', undefined].map(asObject)).toEqual([{}, null, null, null, null]);
  expect([[1], {}, null].map(asArray)).toEqual([[1], [], []]);
  expect(['x', 7, null].map(asString)).toEqual(['x', null, null]);
  expect([0, 0.5, -1, Infinity, NaN, '1', null].map(asAmount)).toEqual([0, 0.5, null, null, null, null, null]);
});
