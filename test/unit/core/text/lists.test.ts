import { expect, test } from 'vitest';
import {
  renderMore,
  capLines,
  joinNames,
  formatMoreLine,
  listFirstNames,
  joinCountedNames,
} from '../../../../src/core/text/phrase.ts';

const names = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => String(index));

test.each([
  [0, ''],
  [1, '0'],
  [10, '0, 1, 2, 3, 4, 5, 6, 7, 8, 9'],
  [12, '0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more'],
])('a sentence names the first ten of %i', (count, text) => {
  expect(listFirstNames(names(count))).toBe(text);
});

test('a sentence names the number of items that it is given', () => {
  expect([2, 3].map((count) => joinNames(names(count), 2))).toEqual(['0, 1', '0, 1 and 1 more']);
});

test('names may be some of a number that is known', () => {
  expect([2, 7].map((count) => joinCountedNames(['a', 'b'], count))).toEqual(['a, b', 'a, b and 5 more']);
});

test('a list that was cut says how many are left out', () => {
  expect([-1, 0, 1].map(renderMore)).toEqual(['', '', ' and 1 more']);
  expect([-1, 0, 1].map(formatMoreLine)).toEqual([[], [], ['… and 1 more']]);
  expect([2, 3].map((count) => capLines(names(count), 2))).toEqual([
    ['0', '1'],
    ['0', '1', '… and 1 more'],
  ]);
});
