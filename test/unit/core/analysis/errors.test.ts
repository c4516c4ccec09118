import { describe, expect, test } from 'vitest';
import { computeFingerprint } from '../../../../src/core/analysis/analysis.ts';
import { analyzeAt, inEveryFormat } from '../../agents/claude/fixtures.ts';

test.each([
  '"is_error": false',
  '"error_count": 0',
  'is_error: false',
  'Error: none',
  'I added exception handling',
  'catch (error: Error)',
  'function fail(error: Error): void',
  'The error message is nicer now.',
  '```\nError: in a fence\n```',
  'It prints `Error: in a code span`.',
])('a field name, a declaration, prose or code is not an error: %j', (message) => {
  for (const [, output] of inEveryFormat(message)) expect(analyzeAt(output).errors).toEqual([]);
});

test.each([
  ['Error: cannot open /a/b.txt (code 17)', 'Error: cannot open /a/b.txt (code 17)'],
  ['- **Error:** no such table', 'Error: no such table'],
  ['It fails with TypeError: x is not a function', 'TypeError: x is not a function'],
  ['java.io.IOException: broken pipe', 'java.io.IOException: broken pipe'],
  ["src/a.ts(3,5): error TS2322: Type 'a' is wrong.", "error TS2322: Type 'a' is wrong."],
  ['error[E0308]: mismatched types', 'error[E0308]: mismatched types'],
  ['fatal: not a git repository', 'fatal: not a git repository'],
  ['npm ERR! missing script: build', 'npm ERR! missing script: build'],
  ['_Error: no such table_ ', 'Error: no such table'],
])('a real error form is read: %j', (message, text) => {
  expect(analyzeAt(message).errors.map((error) => error.text)).toEqual([text]);
});

test.each([
  ['within the first 1,000 characters of a line', `${'x'.repeat(985)} Error: no such table`, 'Error: no such'],
  ['not behind them', `${'x'.repeat(993)} Error: no such table`, undefined],
  ['with its first 300 characters', `Error: ${'x'.repeat(293)}`, `Error: ${'x'.repeat(293)}`],
  ['with an ellipsis where it is longer', `Error: ${'x'.repeat(294)}`, `Error: ${'x'.repeat(292)}…`],
])('an error is read %s', (_where, message, text) => {
  expect(analyzeAt(message).errors[0]?.text).toBe(text);
});

test.each([
  ['in a quote', '> Error: no such table'],
  ['in a quote amid prose', 'It says:\n\n> Error: no such table\n\nThat was it.'],
])('an error is read %s too', (_where, message) => {
  expect(analyzeAt(message).errors.map(({ text }) => text)).toEqual(['Error: no such table']);
});

describe('fingerprint', () => {
  test.each([
    ['Error: cannot open /a/b.txt (code 17)', 'Error: cannot open /c.txt (code 4)'],
    ['Error: bad object 4f2a9c1d', 'Error: bad object 77aa01ff'],
    ['Error: timeout at 2026-11-21T10:00:00Z', 'Error: timeout at 2026-11-22T11:30:59.123Z'],
    ['Error: timeout at 10:59:01', 'Error: timeout at 9:03:44'],
    ['Error: src/a.ts:12:3 is wrong', 'Error: src/long/b.ts:4:44 is wrong'],
    ['Error: GET https://a.example/x?y=1 failed', 'Error: GET http://b.example failed'],
    ['Error: waited 30s', 'Error: waited 5s'],
    ['Error: no such table', ' ERROR:\tno  such\n table '],
  ])('is the same for %j and %j', (one, other) => {
    expect(computeFingerprint(one)).toBe(computeFingerprint(other));
  });
  test('differs for another error', () => {
    expect(computeFingerprint('Error: cannot open /a')).not.toBe(computeFingerprint('Error: cannot close /a'));
  });
  test('is that of the first 1,000 characters', () => {
    const start = `Error: ${'no '.repeat(330)}ta`;
    expect(computeFingerprint(`${start}b here`)).toBe(computeFingerprint(`${start}b there`));
    expect(computeFingerprint(`${start}a`)).not.toBe(computeFingerprint(`${start}b`));
  });
  test('differs for other words', () => {
    expect(computeFingerprint('Error: no table')).not.toBe(computeFingerprint('Error: notable'));
  });
  test('appears once, with the text that came first', () => {
    expect(
      analyzeAt('Error: cannot open /a/b.txt (code 17)\nError: cannot open /c.txt (code 4)\nError: other').errors.map(
        ({ text }) => text,
      ),
    ).toEqual(['Error: cannot open /a/b.txt (code 17)', 'Error: other']);
  });
  test.each([
    ['Error: cannot open /a/b.txt (code 17)', '34fd3bdd4e3af490'],
    ['Error: no module', '037d84501f52bcf5'],
  ])('stays what it is in the states of earlier runs: %j', (text, fingerprint) => {
    expect(computeFingerprint(text)).toBe(fingerprint);
  });
  test('is listed for the first twenty errors', () => {
    const errors = Array.from({ length: 21 }, (_, index) => `Error: no table ${'x'.repeat(index + 1)}`);
    expect(analyzeAt(errors.join('\n')).errors.map(({ text }) => text)).toEqual(errors.slice(0, 20));
  });
});
