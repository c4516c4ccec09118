import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  trimJobLog,
  MAX_LOG_CHARS,
  MAX_LOG_LINES,
  toPlainMessage,
} from '../../../../src/core/feedback/checks/check-task.ts';

const AT = '2026-11-21T12:00:00.1234567Z ';
const ESC = '\u001B';

describe('a log reads as a person sees it', () => {
  test.each<[string, string, string]>([
    ['nothing', '', ''],
    ['time stamps', `${AT}one\n${AT}  two`, 'one\n  two'],
    ['a byte order mark before the first', `\uFEFF${AT}one`, 'one'],
    ['a time that the program printed', `${AT}${AT}one`, `${AT}one`],
    ['colours', `${ESC}[31;1mred${ESC}[0m and ${ESC}[38;5;12mblue`, 'red and blue'],
    [
      'a link and a title of the terminal',
      `${ESC}]8;;https://example.test\u0007here${ESC}]8;;${ESC}\\ ${ESC}]0;title`,
      'here',
    ],
    ['line ends of Windows', 'one\r\ntwo\r\n', 'one\ntwo'],
    ['a bar of progress', '10%\r50%\r100%\r', '100%'],
    ['groups', '##[group]Run npm test\nnpm test\n##[endgroup]\n1 failing', 'Run npm test\nnpm test\n1 failing'],
    [
      'an error of the runner',
      `${AT}##[error]Process completed with exit code 1.`,
      'Error: Process completed with exit code 1.',
    ],
    [
      'a command to the runner',
      '::error file=a.js,line=3::it is wrong\n::add-mask::\n::endgroup::',
      'Error: it is wrong',
    ],
    ['what the runner calls', '[command]/usr/bin/git version', '/usr/bin/git version'],
    ['controls and unseen characters', 'a\u0000b\u200Bc\u202Ed\u{E0041}e\u0007', 'abcde'],
    ['blanks of other kinds', 'a\u00A0b\u2028c\td', 'a b c\td'],
    ['blank lines', '\n\na\n\n\n\nb\n\n', 'a\n\nb'],
    ['two equal lines', 'a\na\nb', 'a\na\nb'],
    ['many equal lines', `${`${AT}again\n`.repeat(41)}b`, 'again\n… 40 more lines like this\nb'],
    ['HTML and comments of it', '<div><!-- x --></div>', '<div><!-- x --></div>'],
  ])('%s', (_, raw, expected) => {
    expect(trimJobLog(raw)).toBe(expected);
  });
});

test('of a long log the end is kept', () => {
  const lines = Array.from({ length: 1_000 }, (_, index) => `line ${index}`);
  expect(trimJobLog(lines.join('\n')).split('\n')).toEqual(lines.slice(-MAX_LOG_LINES));
});

test('a long line is cut', () => {
  expect(trimJobLog(`${'x'.repeat(600)}\nend`)).toBe(`${'x'.repeat(499)}…\nend`);
});

test('10 MB of one line, and of many, are cut', () => {
  expect(trimJobLog('x'.repeat(10_000_000))).toHaveLength(500);
  const long = trimJobLog(Array.from({ length: 20_000 }, (_, index) => `${index} ${'y'.repeat(490)}`).join('\n'));
  expect(long.length).toBeLessThanOrEqual(MAX_LOG_CHARS);
  expect(long.length).toBeGreaterThan(MAX_LOG_CHARS - 500);
  expect(long).toMatch(/^19976 y[^]*19999 y+$/);
});

test('whatever it holds, it is bounded, well-formed and without controls', () => {
  const piece = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('\n', '\r', ESC, `${ESC}[`, '##[', 'group]', '::', AT, '\uD800', '\u202E'),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const text = trimJobLog(pieces.join(''));
      expect(text.length).toBeLessThanOrEqual(MAX_LOG_CHARS);
      expect(text.isWellFormed()).toBe(true);
      expect(text).not.toMatch(/(?![\n\t\u0085])\p{Cc}|\p{Bidi_Control}/u);
    }),
  );
});

test('a message is one line', () => {
  expect(toPlainMessage(`${ESC}[1mIt is\u0000 wrong\n\n  here `, 100)).toBe('It is wrong here');
  expect(toPlainMessage('x'.repeat(100_000), 10)).toBe(`${'x'.repeat(9)}…`);
});
