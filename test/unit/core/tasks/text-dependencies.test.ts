import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { dependenciesOfText } from '../../../../src/core/tasks/text-dependencies.ts';
import { runs } from '../../../runs.ts';
import { costly, cpuMs } from '../../../cpu.ts';

const issues = (text: string): readonly number[] => dependenciesOfText(text, 'octo/shop').issues;

test.each<[string, readonly number[]]>([
  ['depends on #12', [12]],
  ['Depends on: #1', [1]],
  ['Depends-on: #1', [1]],
  ['DEPENDS ON #1', [1]],
  ['These two depend on #1.', [1]],
  ['blocked by #3, #4 and #5.', [3, 4, 5]],
  ['Blocked by #3 & #4 / #5', [3, 4]],
  ['depends on issue #3, PR #4 or GH-5', [3, 4, 5]],
  ['depends on #3 (the parser), and on #4', [3, 4]],
  ['depends on #3,\n#4', [3, 4]],
  ['depends on #3\n#4 is another matter', [3]],
  ['depends on #3. See #4.', [3]],
  ['**Depends on** _#3_, **#4**', [3, 4]],
  ['depends on octo/shop#3 and Octo/Shop#4', [3, 4]],
  [
    'depends on https://github.com/octo/shop/issues/3 and http://ghe.example:8443/octo/shop/pull/4#issuecomment-5',
    [3, 4],
  ],
  [
    'depends on [the parser](https://github.com/octo/shop/issues/3) and [#4](https://github.com/octo/shop/issues/4)',
    [3, 4],
  ],
  ['depends on #3 and depends on #3', [3]],
  ['| task | why |\n|---|---|\n| a | depends on #3 |', [3]],
])('%j waits for %j', (text, expected) => {
  expect(issues(text)).toEqual(expected);
});

test.each([
  'See #12',
  'Blocks #12',
  'unblocked by #12',
  'no longer depends on #12',
  'does not depend on #12',
  "isn't blocked by #12",
  'is not yet blocked by #12',
  'depends on #0',
  'depends on #012',
  'depends on #12a',
  'depends on 12',
  'depends on the work in #12',
  'It depends. On #12 we said',
  '`depends on #12`',
  '```\ndepends on #12\n```',
  '    depends on #12',
  '~~~\ndepends on #12',
  '> depends on #12',
  '<!-- depends on #12 -->',
  'text <!-- depends on #12 --> text',
  '<div>\ndepends on #12\n</div>',
  '~~depends on #12~~',
])('%j waits for nothing', (text) => {
  expect(dependenciesOfText(text, 'octo/shop')).toEqual({ issues: [], elsewhere: [], names: [] });
});

describe('lists', () => {
  test.each<[string, string, readonly number[]]>([
    [
      'open boxes that begin with an issue',
      '- [ ] #1\n- [ ] #2 the parser\n* [ ] https://github.com/octo/shop/issues/3\n- [~] octo/shop#4',
      [1, 2, 3, 4],
    ],
    ['not ticked ones', '- [x] #1\n- [X] #2', []],
    ['not boxes that mention one', '- [ ] close #1', []],
    ['not plain items', '- #1\n- #2', []],
    ['plain items below a keyword', 'Depends on:\n- #1\n- #2 and #3 (later)', [1, 2, 3]],
    ['plain items below such an item', '- Blocked by\n  - #1\n  - #2', [1, 2]],
    [
      'plain items and text below such a heading',
      '## Dependencies\n\n- #1\n\n## Blocked by:\n\n#2, #3\n\n## Other\n\n- #4\n\n#5',
      [1, 2, 3],
    ],
    ['ticked ones below a keyword are done', 'Blocked by:\n- [x] #1\n- [ ] #2', [2]],
  ])('%s', (_, text, expected) => {
    expect(issues(text)).toEqual(expected);
    expect(issues(text.replaceAll('\n', '\r\n'))).toEqual(expected);
  });
});

test('other repositories stand apart', () => {
  expect(
    dependenciesOfText('depends on other/repo#4, #5 and https://github.com/octo/cart/issues/6', 'octo/shop'),
  ).toMatchObject({ issues: [5], elsewhere: ['other/repo#4', 'octo/cart#6'] });
  expect(dependenciesOfText('depends on octo/shop#4, #5', null)).toMatchObject({
    issues: [5],
    elsewhere: ['octo/shop#4'],
  });
});

test('names of tasks of a list stand apart', () => {
  expect(dependenciesOfText('depends on T3, #4, US-001 and Task 2.1; blocked by b2b', 'octo/shop')).toEqual({
    issues: [4],
    elsewhere: [],
    names: ['T3', 'US-001', 'Task 2.1'],
  });
});

costly.each([
  ['headings with a line under them', 'a\n=\n'],
  ['quotes that end', '>\n\n'],
  ['lists that end', '- a\n  - b\n'],
])('30,000 characters that a parser takes seconds for are read without their markers: %s', (_, text) => {
  const cost = cpuMs(() => {
    expect(issues(`depends on #12\n\n${text.repeat(30_000 / text.length)}`)).toEqual([12]);
  });
  expect(cost).toBeLessThan(4_000);
});

costly('40 texts of 60,000 characters that look like boxes are looked at in no time', () => {
  const text = `${'[a]'.repeat(21_000)} #1 x [ ] blocke`;
  const cost = cpuMs(() => {
    for (let count = 0; count < 40; count += 1) expect(issues(text)).toEqual([]);
  });
  expect(cost).toBeLessThan(4_000);
});

test('any text is answered with numbers that it holds', () => {
  const piece = fc.constantFrom(
    'depends on ',
    'blocked by',
    '#12',
    ' and ',
    ', ',
    '- [ ] ',
    '\n',
    '`',
    '>',
    '<!--',
    '-->',
    '[',
    '](',
    ')',
    '*',
    '_',
    '~~',
    'T1',
    'https://github.com/o/r/issues/',
    '7',
    ':',
    '\0',
    '\u202e',
  );
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join('')),
      (text) => {
        // Without the emphasis marks, the digits on both sides look like one number.
        const seen = text.replaceAll(/[*_~`\0\u202e]/g, '');
        for (const number of issues(text)) expect(seen).toContain(String(number));
      },
    ),
    { numRuns: runs(300) },
  );
});
