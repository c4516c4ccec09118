import { describe, expect, test } from 'vitest';
import { capText, cutText, cutLines } from '../../../../src/core/text/phrase.ts';

test.each([
  ['abc', 3, 'abc'],
  ['abcd', 3, 'abc'],
  ['ab🚧', 4, 'ab🚧'],
  ['ab🚧', 3, 'ab'],
])('%j cut to %i is %j', (text, maxChars, kept) => {
  expect(cutText(text, maxChars)).toBe(kept);
});

test('a text is cut to a length that includes the ellipsis', () => {
  expect(['abc', 'abcd'].map((text) => capText(text, 3))).toEqual(['abc', 'ab…']);
});

test('the ellipsis does not follow half a character', () => {
  expect(capText('a🚧bcd', 3)).toBe('a…');
});

describe('a long line is cut, and says so', () => {
  test.each<[string, string, number, string]>([
    ['a line that fits stays', 'abcde', 5, 'abcde'],
    ['one character more, and it is cut within the limit', 'abcdef', 5, 'abcd…'],
    ['not after a blank', 'abc def', 5, 'abc…'],
    ['leading blanks stay', '  abcdef', 5, '  ab…'],
    ['not within a code point', 'abc🚀def', 5, 'abc…'],
    ['after a whole one', 'ab🚀def', 5, 'ab🚀…'],
    ['a replacement character within it stays', 'a\uFFFDbcdef', 5, 'a\uFFFDbc…'],
  ])('%s', (_, line, maxChars, expected) => {
    expect(capText(line, maxChars)).toBe(expected);
  });
});

test.each([
  ['a\nb\r\nc\rd', 'a\nb\r\nc'],
  ['a\nb\nc\n', 'a\nb\nc'],
  ['a\nb\nc', 'a\nb\nc'],
  ['', ''],
])('of %j the first three lines are %j', (text, kept) => {
  expect(cutLines(text, 3)).toBe(kept);
});
