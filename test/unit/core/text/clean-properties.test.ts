import fc from 'fast-check';
import { isText, type AnyNode } from 'domhandler';
import { parseDocument } from 'htmlparser2';
import { micromark } from 'micromark';
import { gfm, gfmHtml } from 'micromark-extension-gfm';
import type { CompileContext, Token } from 'micromark-util-types';
import { describe, expect, test } from 'vitest';
import { cleanMarkdown, cleanText, cleanTitle } from '../../../../src/core/text/clean.ts';
import { runs } from '../../../runs.ts';

/** Elements whose content a browser does not show. */
const undrawn = ['script', 'style', 'template', 'noscript', 'audio', 'video', 'canvas', 'datalist', 'rp'];

/** Returns the words `w1e`, `w2e`, … that a reader of the page sees, in order, without any code of the cleaning. */
function seenWords(markdown: string): readonly string[] {
  let begins = false;
  const block = function block(this: CompileContext): undefined {
    this.lineEndingIfNeeded();
    begins = true;
  };
  const raw = function raw(this: CompileContext, token: Token): undefined {
    const source = this.sliceSerialize(token);
    const isCodeBlock = begins && /^\s*<(?:script|style)(?:[\s>]|$)/i.test(source);
    begins = false;
    this.raw(isCodeBlock ? source.replace('<', '<!--block--><') : source);
  };
  const written = micromark(markdown, {
    allowDangerousHtml: true,
    extensions: [gfm()],
    htmlExtensions: [gfmHtml(), { enter: { htmlFlow: block }, exit: { htmlFlowData: raw, htmlTextData: raw } }],
  });
  // In prose, an unclosed HTML tag is a word about code.
  const html = written
    .replaceAll(/(?<!<!--block-->)<(script|style)(?![a-z\d-])(?![^]*<\/\1[\s/>])/gi, '<x-$1')
    .replaceAll('<!--block-->', '');
  const text = (nodes: readonly AnyNode[]): string =>
    nodes
      .map((node) =>
        isText(node)
          ? node.data
          : 'children' in node && !('name' in node && undrawn.includes(node.name))
            ? text(node.children)
            : '',
      )
      .join('');
  return wordsIn(text(parseDocument(html).children).replaceAll(/\p{Default_Ignorable_Code_Point}/gu, ''));
}

function wordsIn(text: string): readonly string[] {
  return text.match(/w\d+e/g) ?? [];
}

const joints = ['', ' ', '\n', '\n\n', '\n> ', '\n- ', '\n  ', '\n\n    ', '\n# ', '|', '**', '\\'];

/** Each `w` becomes a word with its own number. */
const whole = [
  'w',
  'w w',
  '*w*',
  '`w`',
  '`<!-- w -->`',
  '```\n<!-- w -->\n```',
  '[w](u)',
  '[w](u "w")',
  "[w](<u> 'w')",
  '[w](u\n(w))',
  '![w](u)',
  '![w](u "w")',
  '[![w](u)](u "w")',
  '<https://x.y>',
  '<!-- w -->',
  '<!-- w\nw -->',
  '<!-->',
  '<!--->',
  '<b title="w">w</b>',
  '<a href="u" title=\'w\'>w</a>',
  '<img alt="w" src=u>',
  '<br w>',
  '<x-w>w</x-w>',
  '<script>w</script>',
  'w <script> w',
  '<style>w\n</style>',
  'w </style> w',
  '<template>w</template>',
  '<?w w?>',
  '<!W w>',
  '<![CDATA[w]]>',
  'w&#8203;',
  '&ZeroWidthSpace;w',
  '&lt;!-- w --&gt;',
  '&amp;',
  '\\<!-- w',
  '\\&#8203;',
  'w\u200Bw',
  '\u202E',
  '\uFE0F',
  '❤️',
  '👩‍💻',
  '\n\n|w|\n|-|\n|w|w|\n\n',
  '~~~js w\nw\n~~~',
  '\n\n<details><summary w="w">w</summary>\n\nw\n\n</details>\n\n',
  '\n\n[r]: u "w"\n\n',
  '[w][r]',
  '[r]',
  '![w][r]',
  '[^f]',
  '\n\n[^f]: w\n\n',
  '\n\n[^g]: w\n\n',
  '\n\n[//]: # (w)\n\n',
  '\n\n<div w="w">\nw <!-- w -->\n</div>\n\n',
];
/** Constructs that occur only in bad texts. */
const broken = [
  '<script w="w">',
  '</style w="w > w">',
  '<!--',
  '-->',
  '--!>',
  '<!-',
  '<div title="',
  "<p title='",
  '<b ',
  '">',
  '<script>',
  '</script>',
  '</template>',
  '</p w="> w">',
  '<textarea>',
  '</textarea>',
  '[',
  '](',
  ']',
  '(',
  ')',
  '"',
  '`',
  '```',
  '~~~',
  '<',
  '>',
  '&',
  '&#',
  '8203;',
  '<?',
  '<![CDATA[',
  ']]>',
  '[r',
  ']: ',
  '![',
  '|',
  '|-|',
  ':',
  '\t',
  '\u0000',
];

function texts(parts: readonly string[]): fc.Arbitrary<string> {
  return fc.array(fc.tuple(fc.constantFrom(...parts), fc.constantFrom(...joints)), { maxLength: 12 }).map((pairs) => {
    let count = 0;
    return pairs
      .flat()
      .join('')
      .replaceAll(/w/g, () => `w${String((count += 1))}e`);
  });
}

const anyText = texts([...whole, ...broken]);
const numRuns = runs(400);

describe('cleaning', () => {
  test('is idempotent', () => {
    fc.assert(
      fc.property(fc.oneof(anyText, fc.string({ unit: 'binary' })), (text) => {
        const once = cleanMarkdown(text);
        expect(cleanMarkdown(once.text)).toEqual({ text: once.text, removed: 0, kinds: {} });
      }),
      { numRuns },
    );
  });

  test('never makes a text longer, and counts every code point that it takes', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const { text: left, removed, kinds } = cleanMarkdown(text);
        expect([...text].length - [...left].length).toBe(removed);
        expect(Object.values(kinds).every((count) => count > 0)).toBe(true);
        expect(Object.values(kinds).reduce((sum, count) => sum + count, 0)).toBe(removed);
      }),
      { numRuns },
    );
  });

  test('leaves no word that a reader of the page does not see, however broken the text', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const seen = new Set(seenWords(text));
        // The language of a fenced block is not visible itself, but it selects the block's colours.
        const left = cleanMarkdown(text).text.replaceAll(/(```|~~~)[^\S\n]*\S+/g, '$1');
        expect(wordsIn(left).filter((word) => !seen.has(word))).toEqual([]);
      }),
      { numRuns },
    );
  });

  test('leaves every word that a reader sees, and draws the same page', () => {
    const parts = fc.array(fc.constantFrom(...whole), { maxLength: 8 }).map((list) => {
      let count = 0;
      return list.map((part) => part.replaceAll(/w/g, () => `w${String((count += 1))}e`)).join('\n\n');
    });
    fc.assert(
      fc.property(parts, (text) => {
        const { text: left } = cleanMarkdown(text);
        expect(seenWords(left)).toEqual(seenWords(text));
      }),
      { numRuns },
    );
  });

  test('keeps to the caps of a prompt', () => {
    fc.assert(
      fc.property(anyText, fc.string(), (text, title) => {
        expect(cleanText(text.repeat(60)).text.length).toBeLessThanOrEqual(20_000);
        expect(cleanTitle(title + text).text).toMatch(/^[^\n]{0,200}$/);
      }),
      { numRuns: runs(20) },
    );
  });
});
