import { describe, expect, test } from 'vitest';
import { computeFingerprint } from '../../../../src/core/analysis/analysis.ts';
import { analyzeAt } from '../../agents/claude/fixtures.ts';

describe('a completion indicator', () => {
  test.each([
    'I was interrupted; no further work was done.',
    'Still open: 3. No more tasks were added.',
    'No further items were investigated.',
    'Nicht ready for review, es fehlen Tests.',
    'Pas ready for review.',
    'Ещё не ready for review.',
    '还没 ready for review。',
    'All tasks are complete but one.',
    'All tasks complete, but the tests fail.',
    'All tasks complete - except the last.',
    'The previous agent claimed all tasks complete, but two are open.',
    'I doubt that all tasks are complete.',
    'I do not think that\nall tasks are complete.',
    'Far from all tasks complete.',
    'Nobody said all tasks are complete.',
    'ready for review: no',
    'We are getting ready for review.',
    'Todo: all tasks complete',
    'Half of the work is done.',
    'All tasks complete: false',
    'I was unable to get all tasks done.',
    'Rarely are all tasks done.',
    'Instead of all tasks complete, two are.',
    '- [ ] all tasks complete',
    '~~All tasks complete~~',
    'All tasks complete (2/10)',
    'All tasks complete: 9 of 10.',
    'Δεν είναι all tasks complete.',
    'לא all tasks complete.',
    'ยังไม่ all tasks complete',
    'هنوز all tasks complete نیست',
  ])('is not read from %j', (message) => {
    expect(analyzeAt(message).completionIndicator).toBe(false);
  });

  test.each([
    'All items in fix_plan.md are complete.',
    'All items in `fix_plan.md` are complete.',
    'The work is complete.',
    'All tasks are complete, with no errors and nothing left to do.',
    'No tasks were easy.\n\n- Added the page\n- All tasks complete',
    'There are no more tasks.',
    '- [x] all tasks complete',
    'All tasks complete (10/10)',
    '~~One is left.~~ All tasks complete.',
  ])('is read from %j', (message) => {
    expect(analyzeAt(message).completionIndicator).toBe(true);
  });
});

test.each([
  'Completed the login page and ran the tests.',
  'Made the parser faster. Ran tests.',
  'Ported the module, then ran the tests.',
  'I will run the tests next.',
  'Should I run the tests?',
])('work, a plan or a question is not test-only: %j', (message) => {
  expect(analyzeAt(message).testOnly).toBe(false);
});

test.each(['If there is nothing to do, exit.', 'Is there nothing to do?', 'It has nothing to do with auth.'])(
  'a condition or a question is not no-work: %j',
  (message) => {
    expect(analyzeAt(message).noWork).toBe(false);
  },
);

test.each<[string, boolean]>([
  ['What changed? I moved the parser.', false],
  ['What is left? Only the docs.', false],
  ['## What changed?\n\nI moved the parser.', false],
  ['(Should I use tabs?)', true],
  ['I found two. Which of them is meant?', true],
])('a question that its writer answers does not count: %j → %s', (message, expected) => {
  expect(analyzeAt(message).question).toBe(expected);
});

describe('a fingerprint', () => {
  test.each([
    ['cannot open a.txt', 'cannot open b.txt'],
    ['a.ts:3:4 is wrong', 'b.ts:33:44 is wrong'],
    ['cannot open /a/é.txt', 'cannot open /b/c.txt'],
    ['cannot open /a/(group)/p.tsx', 'cannot open /b/[id]/p.tsx'],
    ["cannot open '/a b/c d.txt' (x)", "cannot open '/e.txt' (x)"],
    ['cannot open C:\\a\\b.txt', 'cannot open D:\\Program Files\\c.txt'],
    ['code -17', 'code 4'],
    ['timeout at 10:00:00', 'timeout at 5pm'],
    ['timeout at Mon Jan  5 10:00:00 2026', 'timeout at Tue Feb 17 11:30:09 2027'],
  ])('is the same for %j and %j', (one, other) => {
    expect(computeFingerprint(one)).toBe(computeFingerprint(other));
  });

  test.each([
    ['cannot open a.txt', 'cannot close a.txt'],
    ['TypeError: list.map is not a function', 'TypeError: list.filter is not a function'],
    ["Cannot find module 'react'", "Cannot find module 'vue'"],
    ['error TS2322: x', 'error TS2345: x'],
    ["ENOENT: open '/a b/c'", "EACCES: open '/a b/c'"],
  ])('differs for %j and %j', (one, other) => {
    expect(computeFingerprint(one)).not.toBe(computeFingerprint(other));
  });
});

test.each([
  'Error [ERR_MODULE_NOT_FOUND]: Cannot find module',
  'TypeError [ERR_INVALID_ARG_TYPE]: The path must be a string',
  'Exception in thread "main" java.lang.NullPointerException',
  "thread 'main' panicked at src/main.rs:4:5:",
  'ERROR in ./src/a.ts',
  'make: *** [all] Error 2',
])('an error form of a tool is read whole: %j', (message) => {
  expect(analyzeAt(message).errors.map(({ text }) => text)).toEqual([message]);
});

test.each([
  'Fixed TypeError: x is undefined in app.ts',
  'The Error: prefix is now shown.',
  '**Error:** handling of timeouts is done',
])('prose about an error does not count: %j', (message) => {
  expect(analyzeAt(message).errors).toEqual([]);
});
