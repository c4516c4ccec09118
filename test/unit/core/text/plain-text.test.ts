import { describe, expect, test } from 'vitest';
import { breakReferences, cap, flatten, plainTitle, ZERO_WIDTH_SPACE } from '../../../../src/core/text/plain-text.ts';

/** Zero-width spaces made visible. */
const visible = (text: string): string => text.replaceAll('\u200B', '·');

test('references are broken by the zero-width space', () => {
  expect(ZERO_WIDTH_SPACE).toBe('\u200B');
});

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
    ['an escape that is no such sequence is a control character', 'a\u001B]b', 'a ]b'],
    ['format characters go', 'a\u200Bb\u202Ec\u2066d\u00ADe\u{E0041}f', 'abcdef'],
    ['joiners of emoji stay', '👩\u200D💻', '👩\u200D💻'],
    ['a lone surrogate becomes the replacement character', 'a\uD800b', 'a\uFFFDb'],
    ['nothing', '', ''],
  ])('%s', (_, foreign, expected) => {
    expect(flatten(foreign)).toBe(expected);
  });
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
    expect(cap(line, maxChars)).toBe(expected);
  });
});

describe('what GitHub would take for a reference is broken', () => {
  test.each([
    ['@octocat and @acme/team', '@·octocat and @·acme/team'],
    ['someone@example.test', 'someone@·example.test'],
    ['#12 and acme/shop#7', '#·12 and acme/shop#·7'],
    ['GH-12 and gh-7', 'GH-·12 and gh-·7'],
    ['https://example.test, ftp://example.test', 'https:·//example.test, ftp:·//example.test'],
    ['www.example.test and WWW.example.test', 'www·.example.test and WWW·.example.test'],
  ])('%j → %j', (line, expected) => {
    expect(visible(breakReferences(line))).toBe(expected);
  });

  test.each(['# Heading, C#, #tag', 'gh-pages', 'wwwhat', 'a: b // c', ''])('%j is none', (line) => {
    expect(breakReferences(line)).toBe(line);
  });
});

test('a plain title is flattened, cut, and its references are broken beyond the limit', () => {
  expect(visible(plainTitle(' Fix\n#12 for @octocat ', 13))).toBe('Fix #·12 for…');
  expect(visible(plainTitle('Fix #12', 7))).toBe('Fix #·12');
});
