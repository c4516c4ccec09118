import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { paintMarks, wrapText } from '../../../../src/cli/terminal-text.ts';

describe('wrapText breaks lines at words', () => {
  test.each([
    ['a line that fits', 'one two three', 'one two three'],
    ['a sentence', 'one two three four five', 'one two three four\nfive'],
    ['an indented sentence', '    one two three four', '    one two three\n    four'],
    ['behind a mark', '✗ one two three four five', '✗ one two three four\n  five'],
    ['behind a name', '  pause:  by ann, since noon', '  pause:  by ann,\n          since noon'],
    ['a column that leaves no room', 'a long first column  and text', 'a long first column\nand text'],
    [
      'a word that is too long stays whole',
      'see https://example.com/a/b/c/d now',
      'see\nhttps://example.com/a/b/c/d\nnow',
    ],
    ['wide characters count twice', '長い長い長い 長い長い長い', '長い長い長い\n長い長い長い'],
    ['commands to paste stay whole', '      git log -p main..ralph/queue', '      git log -p main..ralph/queue'],
    ['each line for itself', 'one\n\ntwo\n', 'one\n\ntwo\n'],
  ])('%s', (_, text, wrapped) => {
    expect(wrapText(text, 20)).toBe(wrapped);
  });

  test('colours have no width', () => {
    expect(stripVTControlCharacters(wrapText('\u001B[1;32mone two three four\u001B[0m', 18))).toBe(
      'one two three four',
    );
  });
});

test('paintMarks colours the marks, and nothing else', () => {
  const text = '✗ No ✓ here\n    ✗ nor here\n✗ 1 problem, ⚠ 5 not checked';
  const painted = paintMarks(text);

  expect(stripVTControlCharacters(painted)).toBe(text);
  expect(
    painted.split('\n').map((line) => line.split('\u001B[31m').length + line.split('\u001B[33m').length - 2),
  ).toEqual([1, 0, 2]);
});
