import { describe, expect, test } from 'vitest';
import { analyzeAt, block } from '../../agents/claude/fixtures.ts';

type Said = Partial<ReturnType<typeof analyzeAt>['signal']>;

describe('a summary continues', () => {
  test.each<[string, string[], Said]>([
    ['over an indented line', ['SUMMARY: one', '  two'], { summary: 'one two' }],
    [
      'over an unmarked line',
      ['SUMMARY: one', 'two: all of it, at 10:30'],
      { summary: 'one two: all of it, at 10:30' },
    ],
    ['over a blank line', ['SUMMARY: one', '', 'two'], { summary: 'one two' }],
    ['over "Note: …", which is prose', ['SUMMARY: one', 'Note: two'], { summary: 'one Note: two' }],
    ['over capitals that stand deeper', ['SUMMARY: one', '  TODO: two'], { summary: 'one TODO: two' }],
    ['from the next line', ['SUMMARY:', '  one', '  two'], { summary: 'one two' }],
    ['from the next line, as in YAML', ['SUMMARY: >-', '  one', '  two'], { summary: 'one two' }],
    [
      'up to the next field',
      ['SUMMARY: one', '  two', 'QUESTION: three?', 'four'],
      { summary: 'one two', asks: 'three?' },
    ],
    ['up to a field that is indented', ['SUMMARY: one', '  status: BLOCKED'], { summary: 'one', status: 'BLOCKED' }],
    ['up to a field that is not known', ['SUMMARY: one', 'PRIORITY: 3', 'four'], { summary: 'one' }],
    ['not over code and quotes', ['SUMMARY: one', '```', 'two', '```', '> three', '', 'four'], { summary: 'one four' }],
    ['alone: a question ends with its line', ['QUESTION: one?', '  two'], { asks: 'one?' }],
    ['alone: a recommendation ends with its line', ['RECOMMENDATION: one', '  two'], { recommendation: 'one' }],
  ])('%s', (_rule, lines, said) => {
    expect(analyzeAt(block('EXIT_SIGNAL: false', ...lines)).signal).toMatchObject({
      from: 'block',
      exitSignal: false,
      unreadable: [],
      ...said,
    });
  });
});

describe('a summary and a question', () => {
  test.each<[string, string[], Said]>([
    [
      'are taken whole',
      ['SUMMARY: it\'s ok: "ship" # 1', 'QUESTION: **A** or # B?'],
      { summary: 'it\'s ok: "ship" # 1', asks: '**A** or # B?' },
    ],
    ['may be absent', ['STATUS: BLOCKED'], { summary: null, asks: null, unreadable: [] }],
    [
      'that are empty are unreadable',
      ['SUMMARY:', 'QUESTION:'],
      { summary: null, asks: null, unreadable: ['SUMMARY', 'QUESTION'] },
    ],
    [
      'may be there twice with one value',
      ['SUMMARY: a', 'QUESTION: b', 'SUMMARY: a', 'QUESTION: b'],
      { summary: 'a', asks: 'b', unreadable: [] },
    ],
    [
      'twice with two values are unreadable',
      ['SUMMARY: a', 'SUMMARY: b', 'QUESTION: c', 'QUESTION: d'],
      { summary: null, asks: null, unreadable: ['SUMMARY', 'QUESTION'] },
    ],
    [
      'as they are in the template do not count',
      ['SUMMARY: <one to three sentences>', 'QUESTION: <only with BLOCKED>'],
      { summary: null, asks: null, unreadable: [] },
    ],
    ['are read whatever the status is', ['STATUS: IN_PROGRESS', 'QUESTION: why?'], { asks: 'why?' }],
    [
      'are cut at 2,000 characters',
      [`SUMMARY: ${'a'.repeat(1_500)}`, 'b'.repeat(1_500), `QUESTION: ${'c'.repeat(2_001)}`],
      { summary: `${'a'.repeat(1_500)} ${'b'.repeat(498)}…`, asks: `${'c'.repeat(1_999)}…` },
    ],
  ])('%s', (_rule, lines, said) => {
    expect(analyzeAt(block('EXIT_SIGNAL: false', ...lines)).signal).toMatchObject(said);
  });
});

describe('without an end marker', () => {
  test.each<[string, string, Said]>([
    [
      'a summary continues over the lines below it',
      'SUMMARY: one\ntwo\nEXIT_SIGNAL: false',
      { summary: 'one two', exitSignal: false },
    ],
    ['indented ones also below a blank line', 'SUMMARY: one\n\n  two', { summary: 'one two' }],
    [
      'prose below a blank line ends the block',
      'SUMMARY: one\n\nThat is all.\nEXIT_SIGNAL: true',
      { summary: 'one', exitSignal: null },
    ],
    ['a fence ends the block', 'SUMMARY: one\n```\ntwo\n```\nEXIT_SIGNAL: true', { summary: 'one', exitSignal: null }],
  ])('%s', (_rule, fields, said) => {
    expect(analyzeAt(`---RALPH_STATUS---\n${fields}`).signal).toMatchObject({ from: 'block', ...said });
  });
});

test('in the YAML-like form a summary continues over what is indented deeper', () => {
  const message = 'RALPH_STATUS:\n  SUMMARY: |\n    one\n    STATUS: two\n  QUESTION: three?\n    four\nfive';
  expect(analyzeAt(message).signal).toMatchObject({ summary: 'one STATUS: two', asks: 'three?', status: null });
});

test.each<[string, string[], boolean | null]>([
  ['speaks of it', ['STATUS: COMPLETE', 'SUMMARY: handles the exit signal of the child'], true],
  ['continues with what may be the field', ['STATUS: COMPLETE', 'SUMMARY: done', 'EXIT--SIGNAL, false'], null],
  ['continues with what contradicts it', ['EXIT_SIGNAL: true', 'SUMMARY: done', '  so EXIT-SIGNAL: false'], null],
])('EXIT_SIGNAL beside a summary that %s', (_rule, lines, exitSignal) => {
  expect(analyzeAt(block(...lines)).signal.exitSignal).toBe(exitSignal);
});
