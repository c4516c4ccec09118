import { describe, expect, test } from 'vitest';
import { findPhrases } from '../../../../src/core/analysis/analyze.ts';
import { analyzeAt } from '../../agents/claude/fixtures.ts';

const isComplete = (message: string): boolean => analyzeAt(message).completionIndicator;

test.each<[string, string, number]>([
  ['a completion', 'All tasks complete.', 80],
  ['no work', 'Nothing to do.', 40],
  ['both, which is still less than a status block', 'All tasks complete. Nothing to do.', 95],
  ['a completion of one who is stuck', 'All tasks complete. I am stuck on the release.', 40],
  ['being stuck alone', 'I am stuck.', 0],
  ['a test run', 'Ran the tests.', 0],
])('confidence in %s: %j → %d', (_rule, message, confidence) => {
  expect(analyzeAt(message)).toMatchObject({ signal: { from: 'phrases' }, confidence });
});

describe('a sentence without a negation is understood by itself', () => {
  test.each([
    ['behind another sentence', 'It is not slow. All tasks are complete.'],
    ['behind one in brackets', '(It is not slow.) All tasks are complete.'],
    ['behind one in brackets and quotation marks', '("It is not slow.") All tasks are complete.'],
    ['behind one that ends in an ideographic stop', '没有错误。All tasks are complete。'],
    ['behind an exclamation', 'Not bad! All tasks are complete.'],
    ['behind a blank line', 'Not slow\n\nAll tasks are complete'],
    ['in the next list item', '- It is not slow\n- All tasks are complete'],
    ['in an indented list item', '- It is not slow\n   * All tasks are complete\n  - All tasks are complete'],
    ['in a numbered item', '1. It is not slow\n2. All tasks are complete'],
    ['in an item numbered with brackets', '10) It is not slow\n11) All tasks are complete'],
    ['in the next row of a table', '| not slow |\n| all tasks are complete |'],
    ['behind a heading', '# Not slow\n## All tasks are complete'],
    ['behind its number', '12. Everything done'],
    ['behind its number in a bracket', '12) Everything done'],
    ['behind the marks of its heading', '### Everything done'],
    ['behind indentation', '  - Everything done.'],
    ['over two lines', 'All tasks are\n   complete.'],
    ['with bold words', 'All **tasks** are ***complete***.'],
  ])('%s: %j', (_where, message) => {
    expect(isComplete(message)).toBe(true);
  });
});

describe('a sentence continues', () => {
  test.each([
    ['in the next line', 'It is not so that\nall tasks are complete.'],
    ['behind a stop without a blank', 'It is not v1.2 where all tasks are complete.'],
    ['behind a year at the start of a line', 'It was not in\n2026 that all tasks are complete.'],
  ])('%s: %j', (_where, message) => {
    expect(isComplete(message)).toBe(false);
  });
});

test.each<[string, string, boolean]>([
  ['in its own clause takes it back', 'It is not so that nothing to do was found.', false],
  ['in an earlier clause does not matter', 'It does not fail, no changes were needed.', true],
  ['behind it does not matter', 'Nothing to do, and not a warning.', true],
])('a negation %s: %j', (_rule, message, noWork) => {
  expect(analyzeAt(message).noWork).toBe(noWork);
});

test.each([
  ['I’m stuck.', 'with a typographic apostrophe'],
  ['I can‘t proceed.', 'with a wrong apostrophe'],
  ["I couldn't make progress.", 'with a plain apostrophe'],
  ['The deployment is blocked by the firewall.', 'as blocked'],
])('%j is read as being stuck %s', (message) => {
  expect(analyzeAt(message)).toMatchObject({ signal: { from: 'phrases' }, confidence: 0 });
});

test.each<[string, string, boolean]>([
  ['ends in its mark', 'Do you see /a?b=1 in the log.', false],
  ['may end in a wide mark', 'Should I use tabs？', true],
  ['may end in marks behind its own', 'Should I use *tabs*?!)', true],
  ['with which or what is the last sentence', 'Which of them is meant?\n\n', true],
  ['with which or what does not count before an answer', 'Which of them is meant? The first.', false],
  ['is put to somebody', 'It crashed?', false],
])('a question %s: %j', (_rule, message, expected) => {
  expect(analyzeAt(message).question).toBe(expected);
});

describe('only', () => {
  const phrase = 'All tasks complete.';
  test.each<[string, number, boolean]>([
    ['the last 64 KiB of a message', 64 * 1024 - phrase.length - 1, true],
    ['not what is before them', 64 * 1024 - phrase.length, false],
  ])('%s is read', (_rule, fillers, found) => {
    expect(findPhrases(`${phrase}\n${'x'.repeat(fillers - 1)}.`, []).found).toBe(found);
  });

  test.each<[string, number, boolean]>([
    ['the first 1,000 characters of a sentence', 1_000, true],
    ['not what is behind them', 1_001, false],
  ])('%s count', (_rule, end, expected) => {
    const said = ' all tasks complete';
    expect(isComplete(`${'x'.repeat(end - said.length)}${said}`)).toBe(expected);
  });
});
