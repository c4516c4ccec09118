import { describe, expect, test } from 'vitest';
import { flattenText, toOneLine, toTerminalLine } from '../../../../src/core/text/phrase.ts';

describe('foreign text becomes one line', () => {
  test.each([
    ['plain text stays', 'Fix the *bug* in `a.ts`, 你好', 'Fix the *bug* in `a.ts`, 你好'],
    ['white space of any kind becomes one blank', 'a\r\n\t b\u2028c\u2029d\u00A0e\u3000f', 'a b c d e f'],
    ['also control characters', 'a\u0000\u0007b\u009Fc', 'a b c'],
    ['but not at its ends', ' \n a b \u0000', 'a b'],
    [
      'colours of a terminal go without a trace',
      '\u001B[31mred\u001B[0m, \u001B[1;38;5;9mbold\u001B[m, \u001B[?25lhidden\u001B[2K',
      'red, bold, hidden',
    ],
    ['an escape that is not such a sequence is a control character', 'a\u001B]b', 'a ]b'],
    ['format characters go', 'a\u200Bb\u202Ec\u2066d\u00ADe\u{E0041}f', 'abcdef'],
    ['joiners of emoji stay', '👩\u200D💻', '👩\u200D💻'],
    ['a lone surrogate becomes the replacement character', 'a\uD800b', 'a\uFFFDb'],
    ['nothing', '', ''],
  ])('%s', (_, foreign, expected) => {
    expect(flattenText(foreign)).toBe(expected);
  });
});

test('a long one is cut once it is one line', () => {
  expect(['a\n b\n', 'a\n bc'].map((foreign) => toOneLine(foreign, 3))).toEqual(['a b', 'a…']);
});

test.each([
  ['octo\u001B[2J\u202Ecat\n', 20, 'octo [2J cat'],
  ['octocat', 5, 'octo…'],
])('%j cannot steer a terminal', (foreign, maxChars, line) => {
  expect(toTerminalLine(foreign, maxChars)).toBe(line);
});
