import { describe, expect, test } from 'vitest';
import { findErrors, computeFingerprint } from '../../../../src/core/analysis/analysis.ts';

const textsIn = (prose: string): readonly string[] => findErrors(prose).map(({ text }) => text);

describe('a report of a program is an error', () => {
  test.each([
    'API Error: 400 bad',
    'Error: no space left on device',
    'Error: Error reading the plan',
    'Fatal error: Uncaught exception',
    'PANIC: index out of range',
    'TypeError: x is not a function',
    'Exception: no such table',
    'sqlite3.OperationalError: no such table',
    'com.a.b.FooException: no such table',
    'Error [ERR_A]: no such file',
    'error E7: no such file',
    'fatal error: a.h: No such file',
    'npm error code E404',
    '[ERROR] Failed to execute goal',
    '[fatal] cannot continue',
    'make[1]: *** [all] Error 2',
    'gmake: *** No rule to make target',
    "thread 'main' (12) panicked at a.rs",
    'failed with error code 1',
    'error occurred while reading',
    'Error: none of it works',
  ])('whole: %j', (line) => {
    expect(textsIn(line)).toEqual([line]);
  });

  test.each<[string, string, string]>([
    ['a bullet', '  + error: broken pipe', 'error: broken pipe'],
    ['a position in a file and a hyphen', 'src/a.ts:3:5 - error TS2322: broken pipe', 'error TS2322: broken pipe'],
    ['a position in a file', 'a.c:3:4: error: broken pipe', 'error: broken pipe'],
    ['a time', '2026-01-01 ERROR: broken pipe', 'ERROR: broken pipe'],
    ['words', 'It was the last Error: broken pipe', 'Error: broken pipe'],
    ['a quotation mark', '"TypeError: broken pipe', 'TypeError: broken pipe'],
    ['a bracket', '(TypeError: broken pipe', 'TypeError: broken pipe'],
    ['words that handle something else', 'When it handles it, TypeError: broken pipe', 'TypeError: broken pipe'],
    ['the command that failed', 'Command failed with error code 1', 'failed with error code 1'],
  ])('behind %s', (_what, line, text) => {
    expect(textsIn(line)).toEqual([text]);
  });
});

describe('no error is', () => {
  test.each<[string, string]>([
    ['a word of a sentence', 'The error: it was a broken pipe'],
    ['a thing with its article', 'An Error: that is what it throws'],
    ['a class of errors', 'MyErrors: two of them'],
    ['a name without blank behind its colon', 'Error:handler'],
    ['one that was fixed', 'I fixed the Error: broken pipe'],
    ['one that is gone', 'It no longer fails with Error: broken pipe'],
    ['one that is handled', 'It handles TypeError: broken pipe'],
    ['a label of what is done', '**Errors:** timeouts are now fixed.'],
    ['a label of what is different now', '**Error**: messages are localized now.'],
    ['a count of nothing', 'Error: 0'],
    ['nothing found', 'Error: none found'],
    ['no errors found', 'Error: no errors found.'],
    ['one of several types of a field', 'error: Error | null'],
    ['an empty report', 'Error: N/A.'],
    ['an empty field', 'error: null'],
    ['the type of a field', 'error: string'],
    ['an optional field', 'error?: string'],
  ])('%s: %j', (_what, line) => {
    expect(textsIn(line)).toEqual([]);
  });
});

describe('out of a fingerprint are taken', () => {
  test.each<[string, string, string]>([
    ['dates with slashes', 'due 3/4/2026', 'due 12/11/2025'],
    ['dates with stops', 'due 3.4.2026', 'due 12.11.2025'],
    ['dates with the year first', 'due 2026/3/4', 'due 2026-03-04'],
    ['times with zone or fraction', 'at 2026-03-04T10:00:00+02:00', 'at 2026-03-05 11:30:00,123'],
    ['times of the day', 'at 5:30 pm', 'at 17:30:00.5'],
    ['names of months', 'on Jan 5', 'on February 17, 2027'],
    ['names of months behind the day', 'on 5 March 2026', 'on Sept. 3rd'],
    ['names of days', 'on Thursday 5 May 2026', 'on Mon, Jan 5'],
    ['a date and its time as one', 'at Jan 5 10:00 UTC', 'at 5pm'],
    ['addresses in memory', 'at 0x7ffe', 'at 0x1'],
    ['ids', 'id 123e4567-e89b-12d3-a456-426614174000', 'id 99999999-aaaa-bbbb-cccc-dddddddddddd'],
    ['commits', 'commit 4f2a9c1', 'commit 77aa01ff77aa01ff77aa01ff77aa01ff77aa01ff'],
    ['numbers with separators', 'took 1,234.5', 'took 7'],
    ['numbers with units', 'took 12ms', 'took 3s'],
    ['shares', 'used 50%', 'used 7%'],
    ['versions', 'needs v1.2.3', 'needs v4'],
    ['signs', 'got −5', 'got 5'],
    ['exponents', 'got 1e10', 'got 2'],
    ['addresses in the net', 'open postgres://a:b@c/d', 'open https://x'],
    ['relative paths', 'open ../a/b', 'open ./c'],
    ['paths with backslashes', 'open a\\b', 'open C:\\c'],
    ['paths with scopes', 'open @scope/pkg', 'open src/[[...x]]/a'],
    ['paths with blanks in quotation marks', 'open "a b/c"', 'open "/d"'],
    ['files', 'open package.json', 'open tsconfig.json'],
    ['positions in files', 'a.ts:3 is wrong', 'b.ts:44:5 is wrong'],
    ['names made for one run', 'no pod web-k3jx9q', 'no pod web-zz81ab'],
  ])('%s', (_what, one, other) => {
    expect(computeFingerprint(one)).toBe(computeFingerprint(other));
  });

  test.each<[string, string, string]>([
    ['words of the letters of hex numbers', 'a defaced wall', 'a decades wall'],
    ['methods', 'x.map is no function', 'x.filter is no function'],
    ['names that look like files but are missing variables', 'a.js is not defined', 'b.js is not defined'],
    ['names in quotation marks', "no module 'react'", "no module 'vue'"],
    ['what stands around a number', 'exit code 1', 'signal 1'],
    ['names with a number at their end', 'no module x-base64', 'no module x-decode64'],
  ])('but not %s', (_what, one, other) => {
    expect(computeFingerprint(one)).not.toBe(computeFingerprint(other));
  });
});

test.each([
  ['(1:9)', '(12:34)'],
  ['(12:34)', '(123:4)'],
])('a position that a parser reports is not part of the fingerprint: %s and %s', (first, second) => {
  expect(computeFingerprint(`SyntaxError: Unexpected token ${first}`)).toBe(
    computeFingerprint(`SyntaxError: Unexpected token ${second}`),
  );
});

describe('forms of the first Ralphs', () => {
  test.each([
    'Link: error 404',
    ']: error',
    'worker]: error while reading the queue',
    'link: Error 500 from the registry',
    '[worker]: error while reading the queue',
    'job[3f]: error 12',
  ])('%s', (text) => {
    expect(findErrors(text).map((error) => error.text.toLowerCase())).toEqual([expect.stringMatching(/^error\b/)]);
  });
  test.each([
    '- [x]: error handling',
    '[x]: error page added',
    'The link: error handling is documented.',
    '[docs]: error messages are clearer now',
    'See [1]: errors of the parser',
    'Link: error-handling.md',
    '[guide]: error paths are tested',
  ])('%s: none', (text) => {
    expect(findErrors(text)).toEqual([]);
  });
});
