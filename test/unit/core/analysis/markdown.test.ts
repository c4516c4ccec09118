import { describe, expect, test } from 'vitest';
import { closesFence, findOpeningFence, markLines, extractProse } from '../../../../src/core/analysis/markdown-code.ts';

describe('a line opens a fence', () => {
  test.each<[string, string, string | null]>([
    ['of three backticks', '```', '```'],
    ['of three tildes', '~~~', '~~~'],
    ['of as many as there are', '`````', '`````'],
    ['with the name of a language', '```ts', '```'],
    ['behind any blanks', '      ```', '```'],
    ['in a list item', '- ```', '```'],
    ['in a numbered item', '12.  ~~~', '~~~'],
    ['in an item numbered with a bracket', '1) ```', '```'],
    ['not of two', '``', null],
    ['not behind words', 'see ```', null],
    ['not behind a bullet without blank', '-```', null],
    ['not of backticks with others behind: that is a span', '```code``` and', null],
    ['of tildes with backticks behind', '~~~ `x`', '~~~'],
    ['not of a number of ten digits', '1234567890. ```', null],
  ])('%s: %j', (_rule, line, fence) => {
    expect(findOpeningFence(line)).toBe(fence);
  });
});

describe('a fence is closed', () => {
  test.each<[string, string, string, boolean]>([
    ['by as many marks', '```', '```', true],
    ['by more marks', '```', '````', true],
    ['not by fewer marks', '````', '```', false],
    ['not by other marks', '```', '~~~', false],
    ['between blanks', '```', '  ```  ', true],
    ['not with words behind', '```', '``` ts', false],
    ['not by a mix of marks', '```', '```~', false],
  ])('%s', (_rule, fence, line, expected) => {
    expect(closesFence(line, fence)).toBe(expected);
  });
});

test.each<[string, string, string]>([
  ['a fence with its marks', 'a\n```\nb\n```\nc', 'prose fence fence fence prose'],
  ['an unclosed fence to the end', 'a\n~~~\nb\n\nc', 'prose fence fence fence fence'],
  ['a quote', 'a\n> b\n  >c\nd > e', 'prose quote quote prose'],
  ['a quotation mark in a fence as code', '```\n> a\n```', 'fence fence fence'],
  ['a quoted fence as a quote', '> ```\na', 'quote prose'],
  ['lines however they end', 'a\r\nb\rc\n\nd', 'prose prose prose prose prose'],
])('lines are marked: %s', (_rule, text, marks) => {
  expect(
    markLines(text)
      .map(({ within }) => within)
      .join(' '),
  ).toBe(marks);
});

describe('of prose', () => {
  test.each<[string, string, string]>([
    ['a code span is blanked out', 'a `b` c', 'a `…` c'],
    ['every code span is blanked out', '`a` b ``c`` d', '`…` b `…` d'],
    ['a span is closed by as many backticks', 'a `` b ` c `` d', 'a `…` d'],
    ['a stray backtick stays', 'a ` b', 'a ` b'],
    ['a stray run before a span stays', 'a `` b `c` d', 'a `` b `…` d'],
    ['a stray backtick behind a span stays', 'a `b` c ` d', 'a `…` c ` d'],
    ['a span may go over lines', 'a `b\nc` d', 'a `…` d'],
    ['a span ends with its paragraph', 'a ` b\n\nc ` d', 'a ` b\n\nc ` d'],
    ['a span ends at a line of blanks', 'a ` b\n \t\nc ` d', 'a ` b\n\nc ` d'],
    ['a fence leaves a gap', 'a\n```\nb\n```\nc', 'a\n\nc'],
    ['a quote leaves a gap', 'a\n> b\nc', 'a\n\nc'],
  ])('%s', (_rule, text, prose) => {
    // The size of a gap does not matter.
    expect(extractProse(markLines(text), 'prose').replace(/\n{2,}/g, '\n\n')).toBe(prose);
  });

  test('quotes may be kept, which fences never are', () => {
    expect(extractProse(markLines('> a `b`\n```\nc'), 'prose-and-quotes').trim()).toBe('> a `…`');
  });
});
