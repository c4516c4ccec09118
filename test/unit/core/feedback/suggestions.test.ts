import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Suggestion } from '../../../../src/core/feedback/subject.ts';
import { applySuggestion, parseSuggestion } from '../../../../src/core/feedback/reviews/suggestions.ts';
import type { ThreadNow } from '../../../../src/core/feedback/pull-request-now.ts';
import { ada, comment, thread } from './feedback-fixtures.ts';

const HUNK = '@@ -1,3 +10,4 @@ function a() {\n one\n-two\n+deux\n+trois\n\\ No newline at end of file';

function suggested(text: string, change: Partial<ThreadNow> = {}, hunk = HUNK): Suggestion | null {
  const asking = comment(1, ada, text, { hunk });
  return parseSuggestion({ thread: thread([asking], change), asking });
}

const fence = (...lines: readonly string[]): string => ['```suggestion', ...lines, '```'].join('\n');

describe('a suggestion is', () => {
  test.each<[string, string, readonly string[]]>([
    ['the lines of its fence', fence('  vier', '  fünf'), ['  vier', '  fünf']],
    ['none, to take the lines out', fence(), []],
    ['an empty line', fence(''), ['']],
    ['with words around it', `Better:\n\n${fence('vier')}\n\nThanks.`, ['vier']],
    ['with the line ends of a browser', fence('vier', 'fünf').replaceAll('\n', '\r\n'), ['vier', 'fünf']],
    ['in a longer fence, with a shorter one in it', '````suggestion\n```js\n```\n````', ['```js', '```']],
    ['in tildes', '~~~suggestion\n```\n~~~~', ['```']],
    ['indented as its fence is', '  ```suggestion\n    vier\n fünf\n   ```', ['  vier', 'fünf']],
    ['beside a fence of something else', `\`\`\`js\na?\n\`\`\`\n${fence('vier')}`, ['vier']],
    ['with an emoji of several characters', fence('// 👩‍💻'), ['// 👩‍💻']],
  ])('%s', (_, text, lines) => {
    expect(suggested(text)).toEqual({ from: 12, to: 12, old: ['trois'], lines });
  });

  test.each<[string, string]>([
    ['no fence', 'Use vier.'],
    ['another fence', '```js\nvier\n```'],
    ['two of them', `${fence('vier')}\n${fence('fünf')}`],
    ['a question with it', `Like this?\n${fence('vier')}`],
    ['one in a fence', `\`\`\`\`md\n${fence('vier')}\n\`\`\`\``],
    ['one in code', '    ```suggestion\n    vier\n    ```'],
    ['one in a quotation', '> ```suggestion\n> vier\n> ```'],
    ['one that nobody closes', '```suggestion\nvier'],
    ['one that is closed by something else', '```suggestion\nvier\n``\n~~~'],
    ['one that a reader does not see', `<!--\n${fence('vier')}\n-->`],
    ['one with characters that nobody sees', fence('a\u202Eb')],
    ['one with more than a person writes', fence(...Array.from({ length: 501 }, () => 'a'))],
    ['one that is too long', fence('a'.repeat(20_001))],
  ])('not %s', (_, text) => {
    expect(suggested(text)).toBeNull();
  });

  test.each<[string, Partial<ThreadNow>, Pick<Suggestion, 'from' | 'to' | 'old'> | null]>([
    ['for several lines', { startLine: 10 }, { from: 10, to: 12, old: ['one', 'deux', 'trois'] }],
    ['for one line that is given twice', { startLine: 12 }, { from: 12, to: 12, old: ['trois'] }],
    ['not for more lines than were shown', { startLine: 9 }, null],
    ['not backwards', { startLine: 13 }, null],
    ['not for a line that the change removes', { side: 'left' }, null],
    ['not from a line that the change removes', { startLine: 10, startSide: 'left' }, null],
    ['not when the lines have changed since', { isOutdated: true }, null],
    ['not for a file as a whole', { line: null }, null],
  ])('%s', (_, change, expected) => {
    expect(suggested(fence('vier'), change)).toEqual(expected === null ? null : { ...expected, lines: ['vier'] });
  });

  test.each<[string, string, readonly string[] | null]>([
    ['of a file with the line ends of Windows', '@@ -1 +12 @@\n-a\r\n+b\r', ['b']],
    ['not where a removed line is the last', '@@ -1 +12 @@\n+b\n-a', null],
    ['not where nothing is shown', '', null],
    ['of an empty line', '@@ -1 +12 @@\n+', ['']],
  ])('%s', (_, hunk, old) => {
    expect(suggested(fence('vier'), {}, hunk)?.old ?? null).toEqual(old);
  });
});

describe('a file with a suggestion applied', () => {
  const two: Suggestion = { from: 2, to: 2, old: ['two'], lines: ['deux'] };
  test.each<[string, string, Suggestion, string | null]>([
    ['has the new line', 'one\ntwo\nthree\n', two, 'one\ndeux\nthree\n'],
    ['has more lines', 'one\ntwo\n', { ...two, lines: ['a', 'b'] }, 'one\na\nb\n'],
    ['has fewer lines', 'one\ntwo\nthree\n', { ...two, to: 3, old: ['two', 'three'] }, 'one\ndeux\n'],
    ['has them no more', 'one\ntwo\nthree\n', { ...two, lines: [] }, 'one\nthree\n'],
    ['keeps its line ends', 'one\r\ntwo\r\nthree\r\n', { ...two, lines: ['a', 'b'] }, 'one\r\na\r\nb\r\nthree\r\n'],
    ['has no line end at its end, as before', 'one\ntwo', { ...two, lines: ['a', 'b'] }, 'one\na\nb'],
    ['has none either when its last line goes', 'one\r\ntwo', { ...two, lines: [] }, 'one'],
    ['may be empty then', 'two', { ...two, from: 1, to: 1, lines: [] }, ''],
    ['is left alone where it says something else', 'one\ntwo!\n', two, null],
    ['is left alone where blanks differ', 'one\ntwo \n', two, null],
    ['is left alone where it ends before', 'one\n', two, null],
    ['is left alone where the line is invalid', 'one\ntwo\n', { ...two, from: 0, to: 0 }, null],
    ['is left alone where more lines are meant than were seen', 'one\ntwo\nthree\n', { ...two, to: 3 }, null],
  ])('%s', (_, text, suggestion, expected) => {
    expect(applySuggestion(text, suggestion)).toEqual(
      expected === null ? { kind: 'stale' } : { kind: 'applied', text: expected },
    );
  });
});

test.each<[string, string, Partial<Suggestion>, 'there' | 'stale']>([
  ['as another one asked for the same', 'one\r\ndeux\r\n', {}, 'there'],
  ['since the suggestion changes nothing', 'one\ntwo\n', { lines: ['two'] }, 'there'],
  ['but only some of it', 'one\ndeux\nthree\n', { to: 3, old: ['two', 'three'], lines: ['deux', 'trois'] }, 'stale'],
  ['but nobody knows what of it is meant', 'one\ndeux\nthree!\n', { to: 3, old: ['two', 'three'] }, 'stale'],
])('the file has it already, %s', (_, text, change, expected) => {
  expect(applySuggestion(text, { from: 2, to: 2, old: ['two'], lines: ['deux'], ...change })).toEqual({
    kind: expected,
  });
});

test('whatever is suggested for lines of a file replaces them, and nothing else', () => {
  const line = fc.stringMatching(/^[ -~]{0,8}$/);
  fc.assert(
    fc.property(
      fc.array(line, { minLength: 1, maxLength: 8 }),
      fc.nat(7),
      fc.nat(7),
      fc.array(
        line.filter((text) => !text.includes('```')),
        { maxLength: 4 },
      ),
      fc.constantFrom('\n', '\r\n'),
      (lines, a, b, wanted, end) => {
        const [from = 0, to = 0] = [a % lines.length, b % lines.length].sort((x, y) => x - y);
        const hunk = `@@ -0,0 +1 @@\n${lines
          .slice(0, to + 1)
          .map((text) => `+${text}`)
          .join('\n')}`;
        const suggestion = suggested(fence(...wanted), { line: to + 1, startLine: from + 1 }, hunk);
        if (suggestion === null) throw new Error('It is not read.');
        const joined = (all: readonly string[]) => all.map((text) => text + end).join('');
        const text = joined([...lines.slice(0, from), ...wanted, ...lines.slice(to + 1)]);
        expect(applySuggestion(joined(lines), suggestion)).toEqual(
          text === joined(lines) ? { kind: 'there' } : { kind: 'applied', text },
        );
      },
    ),
  );
});
