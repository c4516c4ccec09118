import { describe, expect, test } from 'vitest';
import { breakReferences, toPlainTitle, ZERO_WIDTH_SPACE } from '../../../../src/core/text/phrase.ts';

/** Makes zero-width spaces visible. */
const visible = (text: string): string => text.replaceAll('\u200B', '·');

test('references are broken by the zero-width space', () => {
  expect(ZERO_WIDTH_SPACE).toBe('\u200B');
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

  test.each(['# Heading, C#, #tag', 'gh-pages', 'wwwhat', 'a: b // c', ''])('%j stays as it is', (line) => {
    expect(breakReferences(line)).toBe(line);
  });
});

test('a plain title is flattened, cut, and its references are broken beyond the limit', () => {
  expect(visible(toPlainTitle(' Fix\n#12 for @octocat ', 13))).toBe('Fix #·12 for…');
  expect(visible(toPlainTitle('Fix #12', 7))).toBe('Fix #·12');
});
