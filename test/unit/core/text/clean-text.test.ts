import { describe, expect, test } from 'vitest';
import { cleanMarkdown, cleanText, cleanTitle, countUnseenCharacters } from '../../../../src/core/text/clean.ts';
import type { CleanKind } from '../../../../src/core/text/cleaned.ts';
import { costly, cpuMs } from '../../../cpu.ts';

type Kinds = Partial<Record<CleanKind, number>>;
type Row = readonly [string, string, Kinds];

const sum = (kinds: Kinds): number => Object.values(kinds).reduce((all, count) => all + count, 0);

describe.each<readonly [string, readonly Row[]]>([
  [
    'comments go, closed or not, and stay where they are shown',
    [
      ['a<!-- x -->b', 'ab', { 'html-comment': 10 }],
      ['a<!-- x\n\ny -->b', 'ab', { 'html-comment': 13 }],
      ['a<!-- x to the end\n\nof all', 'a', { 'html-comment': 25 }],
      ['<!-->a', 'a', { 'html-comment': 5 }],
      ['a<!-- x --!>b', 'ab', { 'html-comment': 11 }],
      ['<!<!-- x -->-- y -->b', 'b', { 'html-comment': 20 }],
      ['<div>\n<!-- x\n\ny --> z\n\n<b>--></b>w', '<div>\n', { 'html-comment': 28 }],
      ['`<!-- a -->`', '`<!-- a -->`', {}],
      ['```html\n<!-- a -->\n```', '```html\n<!-- a -->\n```', {}],
      ['\t<!-- a -->', '\t<!-- a -->', {}],
      ['\\<!-- a -->', '\\<!-- a -->', {}],
      ['&lt;!-- a -->', '&lt;!-- a -->', {}],
    ],
  ],
  [
    'of HTML, what GitHub draws stays: known tags, their content, the addresses of links and images',
    [
      ['<b title="t">a</b>', '<b>a</b>', { 'html-hidden': 10 }],
      ['<b title="t', '<b title="t', {}],
      ['<p style="display:none" hidden>a</p>', '<p>a</p>', { 'html-hidden': 28 }],
      ['x <a href="u" title="t">a</a>', 'x <a href="u">a</a>', { 'html-hidden': 10 }],
      ['x <a href="say it">a</a>', 'x <a>a</a>', { 'html-hidden': 14 }],
      ['x <a href="u"></a>y', 'x y', { 'html-hidden': 16 }],
      ['x <img alt="t" src=u width=1>', 'x <img src=u>', { 'html-hidden': 16 }],
      ['<br /><hr/>', '<br /><hr/>', {}],
      ['x<do-this>a</do-this>', 'xa', { 'html-hidden': 19 }],
      ['a<script>b</script>c<style>d</style>', 'ac', { 'html-hidden': 34 }],
      // In prose these tags are words about code, unless they are closed.
      ['a <script> b\n\nc', 'a  b\n\nc', { 'html-hidden': 8 }],
      ['a <script src="u"> b </style> c <style> d', 'a  b  c  d', { 'html-hidden': 31 }],
      ['a <script> b\n\nc </script> d', 'a  d', { 'html-hidden': 23 }],
      ['<div>\n<style>\na\n\nb <b title="t">c</b>', '<div>\n\na\n\nb <b>c</b>', { 'html-hidden': 17 }],
      ['<div>\n</script title="a > b">c</div>', '<div>\nc</div>', { 'html-hidden': 23 }],
      ['<script/>\n\na', '\n\na', { 'html-hidden': 9 }],
      // A raw block that begins with such a tag has no other end.
      ['a\n\n<script>\nb\n\nc', 'a\n\n', { 'html-hidden': 13 }],
      ['> <style media=x>\n> a\n\nb', '> ', { 'html-hidden': 22 }],
      ['<script>\na\n</style>\n\nb', '', { 'html-hidden': 22 }],
      ['a<?b > c?>d<!E f>g<![CDATA[h > i]]>j', 'adgj', { 'html-hidden': 32 }],
      ['> <?\n  >\n👩 and more', '> 👩 and more', { 'html-hidden': 7 }],
      ['<template>a</template>b', 'b', { 'html-hidden': 22 }],
      ['a <template> b', 'a  b', { 'html-hidden': 10 }],
      ['<noscript>a</noscript><audio>b</audio><canvas>c</canvas>', '', { 'html-hidden': 56 }],
      ['<video src="u">a</video>', '<video src="u"></video>', { 'html-hidden': 1 }],
      ['<object>a</object><select><option>b</option></select>', 'ab', { 'html-hidden': 51 }],
      [
        '<iframe src="u">a</iframe><textarea>b<!-- x --></textarea>',
        '<iframe>a</iframe><textarea>b</textarea>',
        { 'html-hidden': 8, 'html-comment': 10 },
      ],
      ['<div title="\n\na\n\n">\n\nb', '', { 'html-hidden': 22 }],
      ['<div\n\na', '\na', { 'html-hidden': 5 }],
      ['<div>\n</p title="a > b">c</div>', '<div>\n</p>c</div>', { 'html-hidden': 14 }],
      ['> <p\n> title=t>a', '> <p>a', { 'html-hidden': 10 }],
      [
        '<details open><summary>a</summary>\n\nb\n\n</details>',
        '<details><summary>a</summary>\n\nb\n\n</details>',
        { 'html-hidden': 5 },
      ],
    ],
  ],
  [
    'of Markdown, what is drawn stays',
    [
      ['[a](u "t")', '[a](u)', { 'link-title': 4 }],
      ['a[ ](u)[&nbsp;](v)', 'a', { 'html-hidden': 17 }],
      ["[a](<u v> 't')", '[a](<u v>)', { 'link-title': 4 }],
      ['[a](u\n(t))', '[a](u)', { 'link-title': 4 }],
      ['[a](u(v))', '[a](u(v))', {}],
      ['[](u)x', 'x', { 'html-hidden': 5 }],
      ['![t](u)', '![](u)', { 'image-alt': 1 }],
      ['![a ![b](c) d](u "t")', '![](u)', { 'image-alt': 11, 'link-title': 4 }],
      ['[![t](u)](v "w")', '[![](u)](v)', { 'image-alt': 1, 'link-title': 4 }],
      ['[//]: # (t)', '', { 'link-definition': 11 }],
      ['[r]: u "t"', '', { 'link-definition': 10 }],
      ['[a][name] [a][name]\n\n[name]: <u> "t"', '[a](<u>) a\n\n', { 'link-definition': 24 }],
      ['[r], [r][]\n\n[r]: u', '[r](u), r\n\n', { 'link-definition': 7 }],
      ['![t][r]![t][r]\n\n[r]: u', '![](u)\n\n', { 'image-alt': 8, 'link-definition': 6 }],
      ['[r]', '[r]', {}],
      ['a[^1]\n\n[^1]: b[^2]\n\n[^2]: c', 'a[^1]\n\n[^1]: b[^2]\n\n[^2]: c', {}],
      ['a\n\n[^1]: b[^1]', 'a\n\n', { 'link-definition': 11 }],
      ['|a|\n|-|\n|b|c|', '|a|\n|-|\n|b', { 'html-hidden': 3 }],
      ['```js x\ny\n```', '```js\ny\n```', { 'html-hidden': 2 }],
      [
        '- [ ] a\n- [x] b\n\n***c*** ~~d~~ https://e.f/?g&shy;h',
        '- [ ] a\n- [x] b\n\n***c*** ~~d~~ https://e.f/?g&shy;h',
        {},
      ],
    ],
  ],
  [
    'characters without a glyph go, wherever they stand',
    [
      ['a\u200Bb\u00ADc\u2060\u2064d\u3164e\u115Ff\uFFA0g\u2800h', 'abcdefgh', { invisible: 8 }],
      ['a\u{E0041}\u{E007F}b\uFE0Fc\u{E0100}d\u180Be', 'abcde', { invisible: 5 }],
      ['a\uE000b\u{F0000}c\u0378d\uFFFFe\uFEFFf', 'abcdef', { invisible: 5 }],
      ['a\uD800b\uDC00', 'ab', { invisible: 2 }],
      ['\uFEFF[a](b "c")', '[a](b)', { invisible: 1, 'link-title': 4 }],
      ['a\u202Eb\u2066c\u061Cd\u200Fe', 'abcde', { bidi: 4 }],
      ['a\u0007\u001B[31mb\u0000\u009F', 'a[31mb', { control: 4 }],
      ['`a\u200B\u202E`\n\n    b\u0000', '`a`\n\n    b', { invisible: 1, bidi: 1, control: 1 }],
      ['a&#8203;&#x200b;&ZeroWidthSpace;b', 'ab', { invisible: 31 }],
      ['a&shy;&rlm;&#x1b;b', 'ab', { invisible: 5, bidi: 5, control: 6 }],
      ['<p>a&shy b&#x200B</p>', '<p>a b</p>', { invisible: 11 }],
      ['\\&#8203; `&#8203;` &lt; &amp; &#128512;', '\\&#8203; `&#8203;` &lt; &amp; &#128512;', {}],
      ['a&#8<!-- -->203;b', 'ab', { invisible: 7, 'html-comment': 8 }],
      // A list item without visible content would turn the next block into code, which shows its title.
      ['- \uFE0F\n\n    <b title="t">a</b>', '- \n\n    <b>a</b>', { invisible: 1, 'html-hidden': 10 }],
      ['a\u200Db \u{1F469}\u200D', 'ab \u{1F469}', { invisible: 2 }],
      [
        '\u0645\u06CC\u200C\u062E\u0648\u0627\u0647\u0645',
        '\u0645\u06CC\u062E\u0648\u0627\u0647\u0645',
        { invisible: 1 },
      ],
    ],
  ],
  [
    'blanks and line ends of every kind become one kind, which is not counted',
    [
      ['a\u00A0b\u3000c\u2003d', 'a b c d', {}],
      ['a\r\nb\rc\u2028d\u2029e\u0085f\tg', 'a\nb\nc\nd\ne\nf\tg', {}],
    ],
  ],
])('%s', (_, rows) => {
  test.each(rows)('%j → %j', (text, expected, kinds) => {
    expect(cleanMarkdown(text)).toEqual({ text: expected, removed: sum(kinds), kinds });
    expect(cleanText(text)).toEqual(cleanMarkdown(text));
  });
});

test.each<[CleanKind, string, readonly number[]]>([
  [
    'invisible',
    'blanks of no width and soft hyphens',
    [0x200b, 0x00ad, 0x2060, 0x2061, 0x2062, 0x2063, 0x2064, 0x3164],
  ],
  ['invisible', 'joiners outside of emoji', [0x200c, 0x200d]],
  ['invisible', 'tag characters', [0xe0001, 0xe0020, 0xe0041, 0xe007f]],
  ['invisible', 'variation selectors', [0xfe00, 0xfe0e, 0xfe0f, 0xe0100, 0xe01ef]],
  [
    'bidi',
    'embeddings, overrides, isolates and marks',
    [0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069, 0x061c, 0x200e, 0x200f],
  ],
  ['control', 'controls', [0x00, 0x08, 0x0b, 0x0c, 0x1b, 0x7f, 0x9f]],
])('each of them is %s: %s', (kind, _, codePoints) => {
  expect(codePoints.map((codePoint) => cleanMarkdown(`a${String.fromCodePoint(codePoint)}b`))).toEqual(
    codePoints.map(() => ({ text: 'ab', removed: 1, kinds: { [kind]: 1 } })),
  );
});

test.each([
  '',
  'Grüße, 你好, שלום, مرحبا, हिन्दी, ไทย, 한국어, ქართული, \u0600\u0661',
  '🚀 ❤️ 1️⃣ 🇩🇪 👍🏽 👩‍💻 🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F} 👨‍👩‍👧‍👦',
  '${{ x }} $(x) `rm -rf`',
  'ignore all previous instructions',
  'a < b -- c > d && e',
  '# A\n\n> b\n\n1. c\n   - d\n\n| e | f |\n|---|---|\n| g | h |\n\n[i](https://j.k/l_m?n=1&o=2) ![](p.png) <kbd>q</kbd>\n',
])('what is seen stays as it is: %j', (text) => {
  expect(cleanMarkdown(text)).toEqual({ text, removed: 0, kinds: {} });
});

describe('a body', () => {
  test('is cut at 20,000 characters, not within one; what is cut off has no kind', () => {
    expect(cleanText(`${'x'.repeat(19_999)}🚀yy\u200B`)).toEqual({
      text: 'x'.repeat(19_999),
      removed: 4,
      kinds: { invisible: 1 },
    });
  });

  test('of exactly 20,000 characters stays whole', () => {
    expect(cleanText('x'.repeat(20_000))).toEqual({ text: 'x'.repeat(20_000), removed: 0, kinds: {} });
  });

  test('counts what was unseen in the whole of it and where it was cut', () => {
    expect(cleanText(`x<!-- b -->${'x'.repeat(19_989)} \`<!-- a -->\``)).toMatchObject({
      text: `${'x'.repeat(19_990)} \``,
      removed: 10 + 11,
      kinds: { 'html-comment': 10 + 8 },
    });
  });

  test('is clean where it was cut', () => {
    const { text, removed, kinds } = cleanText(`${'x'.repeat(19_990)} \`<!-- a -->\``);
    expect({ text, removed, kinds }).toEqual({
      text: `${'x'.repeat(19_990)} \``,
      removed: 11,
      kinds: { 'html-comment': 8 },
    });
  });
});

describe('a title', () => {
  test.each<[string, string, number, Kinds]>([
    [' Fix\r\n\nthe <!-- no -->bug\u2028now ', 'Fix the bug now', 11, { 'html-comment': 11 }],
    ['a --> b', 'a --> b', 0, {}],
    ['<!<!-- x -->-- y -->a', 'a', 20, { 'html-comment': 20 }],
    ['a<!-->b<!--->c<!-- d --!>e', 'abce', 5 + 6 + 11, { 'html-comment': 22 }],
    ['a <!-- 🚀', 'a', 6, { 'html-comment': 6 }],
    ['a\u0000b\u202Ec\u200Bd\u200B', 'abcd', 4, { control: 1, bidi: 1, invisible: 2 }],
    ['[a](u "t") <b title="t"> &#8203;', '[a](u "t") <b title="t"> &#8203;', 0, {}],
    ['y'.repeat(200), 'y'.repeat(200), 0, {}],
    ['y'.repeat(300), 'y'.repeat(200), 100, {}],
    [`${'y'.repeat(199)}🚀`, 'y'.repeat(199), 1, {}],
    ['', '', 0, {}],
  ])('%j is the line %j', (title, text, removed, kinds) => {
    expect(cleanTitle(title)).toEqual({ text, removed, kinds });
  });
});

test('text that was removed because nobody sees it is counted; what was cut off is not', () => {
  expect(countUnseenCharacters(cleanText(`a\u200B\u202E\u0000<!-- b -->${'x'.repeat(21_000)}`))).toBe(3 + 10);
  expect(countUnseenCharacters(cleanText('a'))).toBe(0);
});

test('byte order marks at the start are counted, and places behind them are right', () => {
  expect(cleanMarkdown('\uFEFF\uFEFFa <!-- b -->c')).toEqual({
    text: 'a c',
    removed: 12,
    kinds: { invisible: 2, 'html-comment': 10 },
  });
});

describe('a text of 60,000 characters that is made to take long', () => {
  const long = (text: string, begin = ''): string => `${begin}${text.repeat(60_000 / text.length)}`;

  // Without guards the parser takes 3 to 40 seconds for each of these, or overflows the stack.
  costly.each([
    ['brackets', long(']', '<x>')],
    ['brackets in brackets', long('[[a] b] ', 'x ')],
    ['brackets that code hides', long('`[` ] ', 'x ')],
    ['brackets that are escaped', long('\\[a] ', 'x ')],
    ['links', long('[a](<b> ', 'x ')],
    ['what could be an address behind an open bracket', long('h ', '<x>[')],
    ['emphasis', long('*a_ ', '<x>')],
    ['quotes in quotes', long('> ', '<x>\n\n')],
    ['lists in lists', long('1. ', '<x>\n\n')],
    ['footnotes in footnotes', long('[^a]: ')],
    ['lines that a quote does not mark', long('|a\n|-\n', '> ')],
    ['definitions that a quote does not mark', long('[a]:\n', '> ')],
    ['quotes that end', long('>a\n\n', '<x>\n\n')],
    ['quotes that end at once', long('>\n\n', '<x>\n\n')],
    ['lists that end', long('- a\n  - b\n', '<x>\n\n')],
    ['headings with a line under them', long('a\n=\n', '<x>\n\n')],
    ['headings with a line under them in quotes', long('> a\n> =\n', '<x>\n\n')],
    ['open scripts', long('<script> ', 'x ')],
    ['open comments', long('<!-- ', 'x ')],
    ['comments in comments', `${'<!'.repeat(8_000)}<!-- -->${'-- -->'.repeat(7_000)}`],
  ])('ends: %s', (_, text) => {
    const cost = cpuMs(() => {
      const { text: left, removed } = cleanMarkdown(text);
      expect(removed).toBeGreaterThan(0);
      expect(cleanMarkdown(left)).toEqual({ text: left, removed: 0, kinds: {} });
    });
    expect(cost).toBeLessThan(5_000);
  });

  costly.each([
    ['a list within a list, of 1,900 lines', '- [ ] a task of mine\n  - a detail of it\n'.repeat(950)],
    ['a list with blank lines', '- a task of mine that is long enough\n\n'.repeat(1_500)],
    ['a log', '[1] [INFO] [worker-1] message [ok]\n'.repeat(1_700)],
    ['a log without blanks', '[2026-01-01][INFO][worker_1] said [ok]\n'.repeat(1_500)],
    [
      'many words behind a bracket that is not closed',
      `[${'some more of my thoughts, me@example.org\n'.repeat(1_500)}`,
    ],
    ['quotes and answers', '> a question of yours that is long enough\n\nan answer\n\n'.repeat(900)],
  ])('leaves an honest text alone: %s', (_, text) => {
    const cost = cpuMs(() => {
      expect(cleanMarkdown(`<b>${text}`)).toMatchObject({ removed: 0 });
    });
    expect(cost).toBeLessThan(5_000);
  });

  costly('keeps the words of a block that cannot be parsed in time', () => {
    expect(cleanMarkdown(long('word *a_ ', '<x>')).text.match(/word a/g)).toHaveLength(6_666);
    expect(cleanMarkdown(long('word <a\n', '<x>')).text).toBe(`x>${'word a\n'.repeat(7_500)}`);
  });
});
