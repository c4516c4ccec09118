import { expect, test } from 'vitest';
import { capped, cut } from '../../../../src/core/text/cut.ts';

test.each([
  ['abc', 3, 'abc'],
  ['abcd', 3, 'abc'],
  ['ab🚧', 4, 'ab🚧'],
  ['ab🚧', 3, 'ab'],
])('%j cut to %i is %j', (text, maxChars, kept) => {
  expect(cut(text, maxChars)).toBe(kept);
});

test('a text is cut to a length that includes the ellipsis', () => {
  expect(['abc', 'abcd'].map((text) => capped(text, 3))).toEqual(['abc', 'ab…']);
});

test('the ellipsis does not follow half a character', () => {
  expect(capped('a🚧bcd', 3)).toBe('a…');
});
