import fc from 'fast-check';
import { micromark } from 'micromark';
import { gfm, gfmHtml } from 'micromark-extension-gfm';
import { describe, expect, test } from 'vitest';
import {
  renderCode,
  renderCodeElement,
  renderFence,
  renderLink,
  renderProse,
  renderProseLines,
  renderText,
} from '../../../src/report/markdown.ts';
import { breakReferences, hasSkipWords, toOneLine, toPlainTitle } from '../../../src/core/text/phrase.ts';
import { runs } from '../../runs.ts';

/** Makes the zero-width space that breaks references visible. */
const visible = (markdown: string) => markdown.replaceAll('\u200B', '·');

describe('text: foreign text renders as the text it is', () => {
  test.each([
    ['a mention pings nobody', 'thanks @octocat', 'thanks @·octocat'],
    ['a team mention pings nobody', '@acme/devs look', '@·acme/devs look'],
    ['an issue reference links nothing', 'see #12', 'see #·12'],
    ['a foreign issue is not referenced', 'see acme/shop#3', 'see acme/shop#·3'],
    ['a closing keyword closes nothing', 'Fixes #12, closes GH-13', 'Fixes #·12, closes GH-·13'],
    ['an address does not link', 'fixes https://github.com/a/b/issues/3', 'fixes https:·//github.com/a/b/issues/3'],
    ['a www address does not link', 'www.example.com', 'www·.example.com'],
    ['a comment cannot open', 'a <!-- b -->', 'a &lt;!-- b --&gt;'],
    ['a tag is not a tag', '<img src=x>', '&lt;img src=x>'],
    ['an entity stays as typed', '&#64;octocat', '&#·64;octocat'],
    ['an entity in hexadecimal digits stays as typed', '&#x40;octocat', '&amp;#x40;octocat'],
    ['a named entity stays as typed', '&commat;octocat', '&amp;commat;octocat'],
    [
      'emphasis, code, links and images are plain',
      '*a* _b_ `c` [d](e) ![f](g) ~h~',
      '\\*a\\* \\_b\\_ \\`c\\` \\[d\\](e) !\\[f\\](g) \\~h\\~',
    ],
    [
      'marks that Markdown does not read where they stand stay as typed',
      'a_b & c < d > e -> f: 2.0 (#x) -g',
      'a_b & c < d > e -> f: 2.0 (#x) -g',
    ],
    ['no quotation at the start', '> a', '\\> a'],
    ['no rule or underline of a heading at the start', '---', '\\---'],
    ['a pipe does not end a table cell', 'a|b \\| c', 'a\\|b \\\\\\| c'],
    ['mathematics are plain', '$x$', '\\$x\\$'],
    ['no list, heading or number at the start', '- a', '\\- a'],
    ['no heading at the start', '# a', '\\# a'],
    ['no numbered list at the start', '1. a', '1\\. a'],
    ['lines, tabs and control characters become one blank', 'a\r\n\tb\u0000\u2028c', 'a b c'],
    ['direction marks and invisible characters go', 'a\u202Eb\u200B\u{E0041}c', 'abc'],
    ['colours of a terminal go', '\u001B[31mred\u001B[0m', 'red'],
    ['an emoji of several parts stays', '👩‍💻', '👩‍💻'],
  ])('%s', (_rule, foreign, expected) => {
    expect(visible(renderText(foreign, 200))).toBe(expected);
  });

  test('a long text is cut with an ellipsis, never inside a character', () => {
    expect(renderText('abcdef', 4)).toBe('abc…');
    expect(renderText('ab😀cd', 4)).toBe('ab…');
  });
});

describe('code', () => {
  test.each([
    ['plain words use backticks', 'npm run build:all', '`npm run build:all`'],
    [
      'marks of a shell need nothing',
      'npm ci && npm test -- --x=[a] > "$OUT"',
      '`npm ci && npm test -- --x=[a] > "$OUT"`',
    ],
    ['a backtick or pipe uses an element', 'a`b|c', '<code>a&#x60;b&vert;c</code>'],
    ['a mention is an entity', 'npm i @acme/x', '<code>npm i &#x40;acme/x</code>'],
    ['emphasis inside the element is plain', '_a_ *b* | c', '<code>&#x5f;a&#x5f; &ast;b&ast; &vert; c</code>'],
    [
      'words that steer CI are cut up',
      'git commit -m "[skip ci]"',
      '<code>git commit -m &quot;&lsqb;skip ci&rsqb;&quot;</code>',
    ],
    ['a comment cannot open', 'a <!-- b', '<code>a &lt;&excl;-- b</code>'],
    ['an address is cut up', 'curl http://a.b', '<code>curl http&#x3a;//a.b</code>'],
    ['nothing stays nothing', '', '<code></code>'],
  ])('%s', (_rule, foreign, expected) => {
    expect(renderCode(foreign, 100)).toBe(expected);
  });

  test('inside HTML even plain words need the element', () => {
    expect(renderCodeElement('npm test', 100)).toBe('<code>npm test</code>');
  });
});

describe('prose: our sentence, foreign values', () => {
  test.each([
    ['backticks mark code', 'set `max-minutes` to 5', 'set `max-minutes` to 5'],
    ['text between is escaped', 'it says *no* in `a|b`', 'it says \\*no\\* in <code>a&vert;b</code>'],
    ['an unclosed backtick is a backtick', 'a ` b', 'a \\` b'],
  ])('%s', (_rule, sentence, expected) => {
    expect(renderProse(sentence, 200)).toBe(expected);
  });

  test('further lines become a list', () => {
    expect(renderProseLines('2 problems:\n- `a` is wrong\n\n* b is wrong', 200)).toBe(
      '2 problems:\n\n- `a` is wrong\n- b is wrong',
    );
  });
});

describe('fence', () => {
  test('is longer than any fence inside', () => {
    expect(renderFence('a\n```\nb\n````', 100)).toBe('`````text\na\n```\nb\n````\n`````');
  });

  test('keeps the end of a long output', () => {
    expect(renderFence('first\nlast', 4)).toBe('```text\nlast\n```');
  });

  test('breaks mentions and comments in it, and drops colours', () => {
    expect(visible(renderFence('\u001B[31m@octocat\u001B[0m <!-- x\r\ny', 100))).toBe(
      '```text\n@·octocat <·!-- x\ny\n```',
    );
  });
});

test.each([
  ['an https address links', 'https://github.com/acme/shop/issues/1', '[x](https://github.com/acme/shop/issues/1)'],
  ['a loopback address links', 'http://127.0.0.1:8080/acme', '[x](http://127.0.0.1:8080/acme)'],
  ['a script does not', 'javascript:alert(1)', 'x'],
  ['an address with a bracket does not', 'https://a/)[y](https://b', 'x'],
])('link: %s', (_rule, url, expected) => {
  expect(renderLink('x', url)).toBe(expected);
});

test('a title is broken at references but not escaped: nothing renders there', () => {
  expect(visible(toPlainTitle('Fix *all*\nof #3 for @octocat', 100))).toBe('Fix *all* of #·3 for @·octocat');
});

describe('for any text', () => {
  const nasty = fc
    .array(
      fc.constantFrom(
        '@',
        '#',
        '1',
        'a',
        '<!--',
        '-->',
        '`',
        '```',
        '|',
        '\\',
        '\n',
        'GH-',
        '://',
        'www.',
        '[',
        ']',
        '(',
        '<',
        '>',
        '&',
        '#x40;',
        'lt;',
        '*',
        '_',
        '~',
        '$',
        '-',
        '+',
        '=',
        '!',
        '.',
        ')',
        'skip ci',
        ' ',
        '\u200B',
        '😀',
        '\uD800',
      ),
      { maxLength: 30 },
    )
    .map((parts) => parts.join(''));
  const foreign = fc.oneof(nasty, fc.string({ unit: 'binary' }));

  test.each([
    ['text', (value: string) => renderText(value, 100)],
    ['prose', (value: string) => renderProse(value, 100)],
    ['code', (value: string) => renderCode(value, 100)],
    ['renderCodeElement', (value: string) => renderCodeElement(value, 100)],
    ['toPlainTitle', (value: string) => toPlainTitle(value, 100)],
    ['fence', (value: string) => renderFence(value, 100)],
  ])('%s holds no mention, issue reference or address', (_name, render) => {
    fc.assert(
      fc.property(foreign, (value) => {
        expect(render(value)).not.toMatch(/@[^\u200B]|#\d|gh-\d|:\/\/|www\./i);
      }),
      { numRuns: runs(500) },
    );
  });

  test.each([
    ['text', (value: string) => renderText(value, 100)],
    ['prose', (value: string) => renderProse(value, 100)],
    ['code', (value: string) => renderCode(value, 100)],
    ['renderProseLines', (value: string) => renderProseLines(value, 100)],
    ['fence', (value: string) => renderFence(value, 100)],
  ])('%s opens no HTML comment', (_name, render) => {
    fc.assert(
      fc.property(foreign, (value) => {
        expect(render(value)).not.toContain('<!--');
      }),
      { numRuns: runs(500) },
    );
  });

  /** The text of a page, as a browser shows it. */
  const shown = (html: string): string =>
    html
      .replace(/<[^>]*>/g, '')
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&quot;', '"')
      .replaceAll('&amp;', '&');
  const page = (markdown: string): string =>
    micromark(markdown, { allowDangerousHtml: true, extensions: [gfm()], htmlExtensions: [gfmHtml()] });

  test('text renders as one paragraph of that text, with no element in it', () => {
    fc.assert(
      fc.property(foreign, (value) => {
        const html = page(renderText(value, 100));
        expect(html).toMatch(/^(?:<p>[^<]*<\/p>)?$/);
        expect(shown(html)).toBe(breakReferences(toOneLine(value, 100)));
      }),
      { numRuns: runs(2000) },
    );
  });

  test.each(['', 'in words: ', '- ', '| a |\n| --- |\n| '])(
    'code renders as one element with that text behind "%s"',
    (before) => {
      fc.assert(
        fc.property(foreign, (value) => {
          const html = page(before + renderCode(value, 100));
          expect(html.match(/<(?!\/|p>|ul>|li>|t[a-z]+>)[^>]*>/g)).toEqual(['<code>']);
          expect(shown(/<code>([^]*)<\/code>/.exec(html)?.[1] ?? '')).toBe(toOneLine(value, 100));
        }),
        { numRuns: runs(2000) },
      );
    },
  );

  test.each([
    ['text', (value: string) => renderText(value, 100)],
    ['code', (value: string) => renderCode(value, 100)],
  ])('%s holds no words that steer CI, even raw', (_name, render) => {
    fc.assert(
      fc.property(foreign, (value) => {
        expect(hasSkipWords(render(value))).toBe(false);
      }),
      { numRuns: runs(500) },
    );
  });

  test.each([
    ['text', (value: string) => renderText(value, 100)],
    ['prose', (value: string) => renderProse(value, 100)],
    ['code', (value: string) => renderCode(value, 100)],
  ])('%s is one table cell: one line, no bare pipe', (_name, render) => {
    fc.assert(
      fc.property(foreign, (value) => {
        expect(render(value).replace(/\\./g, '')).not.toMatch(/[\n\r|]/);
      }),
      { numRuns: runs(500) },
    );
  });
});
