import { describe, expect, test } from 'vitest';
import { stopForRedBase, isBaseKnown, reconsiderBase } from '../../../../../src/core/lane/verification.ts';
import {
  compareWithBase,
  countSameFailures,
  failsAsBase,
  recordBaseVerification,
  buildRedBase,
  withFixedFailures,
} from '../../../../../src/core/lane/base/compare-failures.ts';
import { withKnownRedBase } from '../../../../../src/core/lane/base/known-base.ts';
import { isSameRedBase, type RedBase } from '../../../../../src/core/lane/base/red-base.ts';
import { type Verification, verificationSchema } from '../../../../../src/core/evidence.ts';
import { NO_TESTS, parseTestReport } from '../../../../../src/core/proof/test-report.ts';
import { createInitialState, type LaneState } from '../../../../../src/core/lane/state/state.ts';

const none = NO_TESTS;
const subject = { commit: 'c0ffee', commands: 'abc' };
const passed: Verification = { kind: 'passed', durationMs: 1 };

function failed(
  tail: string,
  { command = 'npm test', code = 1 }: { readonly command?: string; readonly code?: number | null } = {},
): Verification {
  return { kind: 'failed', command, code, tail, durationMs: 5 };
}

function redBase(tail: string, stage: RedBase['stage'] = 'found'): RedBase {
  const base = buildRedBase(subject, failed(tail), none);
  if (base === null) throw new Error('It passes.');
  return { ...base, stage };
}

test.each([
  [
    'npm error code E404\nnpm error 404 Not Found - GET https://x\nnpm error A complete log of this run can be found in: /root/x.log',
    'npm error 404 Not Found - GET https://x',
  ],
  ['ATest > adds() FAILED\nFAILURE: Build failed with an exception.\nBUILD FAILED in 3s', 'ATest > adds() FAILED'],
  ['FAILED (failures=1)', 'FAILED (failures=1)'],
])('its last error is not a line that only sums up, if there is another', (output, words) => {
  expect(redBase(output).words).toBe(words);
});

describe('a verification fails as the base does when it is the same command and every failure of the base is still there', () => {
  test.each<[string, string, string, boolean]>([
    ['the same line', 'main is broken', 'main is broken', true],
    ['nothing printed, both times', '', '', true],
    ['nothing printed on the base, something now', '', 'Error: x', false],
    ['another time and duration', 'not ok 1 - adds (12ms)', 'not ok 1 - adds (3 ms)', true],
    ['another place of the checkout', 'Error: cannot open /a/b/c.txt', 'Error: cannot open /tmp/clone/c.txt', true],
    [
      'tests that pass now are listed as well',
      '✖ adds (0.9ms)\nℹ tests 1\nℹ fail 1',
      '✔ subtracts (0.3ms)\n✖ adds (1.1ms)\nℹ tests 2\nℹ fail 1',
      true,
    ],
    ['a new failure beside the old one', '✖ adds', '✖ adds\n✖ subtracts', true],
    ['one of two is fixed', '✖ adds\n✖ subtracts', '✖ subtracts', false],
    ['another test fails', '✖ adds', '✖ subtracts', false],
    [
      'go',
      '--- FAIL: TestAdd (0.00s)\nFAIL\nFAIL\tshop\t0.002s',
      '--- FAIL: TestAdd (0.01s)\nFAIL\nFAIL\tshop\t0.9s',
      true,
    ],
    ['go, another test', '--- FAIL: TestAdd (0.00s)\nFAIL', '--- FAIL: TestSub (0.00s)\nFAIL', false],
    [
      'pytest',
      'FAILED tests/test_a.py::test_add - assert 1 == 2',
      'FAILED tests/test_a.py::test_add - assert 1 == 2',
      true,
    ],
    ['a time-out', '(took too long)', '(took too long)', true],
    [
      'a linter, with a finding of the branch beside that of the base',
      "/a/x.js\n  3:5  error  'x' is not defined  no-undef\n\n✖ 1 problem (1 error, 0 warnings)",
      "/b/x.js\n  4:5  error  'x' is not defined  no-undef\n  9:1  error  Missing semicolon  semi\n\n✖ 2 problems (2 errors, 0 warnings)",
      true,
    ],
    [
      'a linter, another finding',
      "/a/x.js\n  3:5  error  'x' is not defined  no-undef\n\n✖ 1 problem (1 error, 0 warnings)",
      '/a/y.js\n  9:1  error  Missing semicolon  semi\n\n✖ 1 problem (1 error, 0 warnings)',
      false,
    ],
    ['.NET, another duration', '  Failed Calc.Adds [12 ms]', '  Failed Calc.Adds [1 s]', true],
    ['.NET, another test', '  Failed Calc.Adds [12 ms]\nFailed!', '  Failed Calc.Subs [12 ms]\nFailed!', false],
    [
      'Go, a package of the base that does not build',
      '--- FAIL: TestX (0.00s)\nFAIL\tx.org/a\t0.01s\nFAIL\tx.org/b [build failed]',
      '--- FAIL: TestX (0.00s)\nFAIL\tx.org/a\t0.02s',
      false,
    ],
    [
      'CTest, another test',
      'tests FAILED:\n\t  3 - adds (Failed)\nErrors while running CTest',
      'tests FAILED:\n\t  4 - subs (Failed)\nErrors while running CTest',
      false,
    ],
    [
      'Dart, another test',
      '00:02 +3 -1: adds [E]\n00:02 +3 -1: Some tests failed.',
      '00:05 +4 -1: subs [E]\n00:05 +4 -1: Some tests failed.',
      false,
    ],
    ['a name made for the run', 'Error: no bucket test-k3jx9q', 'Error: no bucket test-zz81ab', true],
  ])('%s', (_, onBase, now, expected) => {
    expect(failsAsBase(redBase(onBase), failed(now), none)).toBe(expected);
  });

  test('another command fails in another way, and so does what passes', () => {
    expect(failsAsBase(redBase('x'), failed('x', { command: 'npm run lint' }), none)).toBe(false);
    expect(failsAsBase(redBase('x'), passed, none)).toBe(false);
    expect(buildRedBase(subject, passed, none)).toBeNull();
    expect(buildRedBase(subject, { kind: 'not-run' }, none)).toBeNull();
  });
});

describe('a verification behind an iteration, compared with a red base', () => {
  test('names what the base does not have', () => {
    expect(compareWithBase(redBase('✖ adds'), failed('✖ adds\n✖ subtracts'), none)).toMatchObject({
      asOnBase: true,
      newlyRed: ['✖ subtracts'],
    });
    expect(compareWithBase(redBase('✖ adds'), failed('✖ subtracts'), none)).toMatchObject({
      asOnBase: false,
      newlyRed: ['✖ subtracts'],
    });
    const broken = failed('--- FAIL: TestX (0.1s)\nFAIL\tx.org/a\t0.2s\nFAIL\tx.org/b [build failed]');
    expect(compareWithBase(redBase('--- FAIL: TestX (0.1s)\nFAIL\tx.org/a\t0.1s'), broken, none)).toMatchObject({
      newlyRed: ['FAIL\tx.org/b [build failed]'],
    });
  });

  test.each([passed, { kind: 'not-run' } as const])('says nothing of one that did not fail: %j', (verification) => {
    expect(compareWithBase(redBase('x'), verification, none)).toEqual(verification);
  });

  test('says nothing where the base passes', () => {
    expect(compareWithBase(null, failed('x'), none)).toEqual(failed('x'));
  });

  test('is bounded, whatever is printed', () => {
    const noise = Array.from({ length: 500 }, (_, n) => `✖ ${'x'.repeat(n)}`).join('\n');
    const compared = compareWithBase(redBase(noise), failed(`✖ new\n${noise}`), none);
    expect(compared.kind === 'failed' && (compared.newlyRed ?? []).length <= 5).toBe(true);
    expect(redBase(noise).failures.length).toBeLessThanOrEqual(20);
    expect(redBase('y'.repeat(5_000)).words.length).toBeLessThanOrEqual(300);
  });
});

describe('what becomes of a red base', () => {
  const fresh = createInitialState('queue', 1);
  const withBase = (redBase: RedBase | null): LaneState => ({ ...fresh, redBase });

  test('found by the verification of the base, held by an iteration that fails in the same way', () => {
    const found = recordBaseVerification(fresh, subject, { verification: failed('✖ adds'), report: none });
    expect(found).toMatchObject({ baseVerification: { kind: 'failed' }, redBase: { stage: 'found', words: '✖ adds' } });
    expect(stopForRedBase(found).redBase?.stage).toBe('tried');
    expect(stopForRedBase(fresh)).toBe(fresh);
  });

  test.each<
    [
      string,
      { asked?: boolean; commit?: string; commands?: string; verifies?: boolean; hours?: number },
      RedBase['stage'] | null,
    ]
  >([
    ['nothing changed', {}, 'tried'],
    ['nothing changed for hours: the failure may be over', { hours: 6 }, 'reverify'],
    ['a person asks', { asked: true }, 'found'],
    ['the base moved', { commit: 'beef' }, 'reverify'],
    ['verify was changed', { commands: 'other' }, 'reverify'],
    ['verify was taken away', { verifies: false }, null],
  ])(
    'a lane that waits for its base, at the start of a run: %s',
    (_, { asked = false, verifies = true, hours = 5, ...now }, stage) => {
      const lastRun = { outcome: 'blocked', reason: 'base_is_red', at: 1, published: null } as const;
      const state = { ...withBase(redBase('x', 'tried')), lastRun };
      const reconsidered = reconsiderBase(state, {
        ...{ asked, verifies, subject: { ...subject, ...now } },
        at: 1 + hours * 3_600_000,
      });
      expect(reconsidered.redBase?.stage ?? null).toBe(stage);
    },
  );

  test.each<[string, RedBase, Verification, string | undefined, RedBase['stage']]>([
    [
      'a newer base that fails in the same way makes no call worth it',
      redBase('✖ adds', 'reverify'),
      failed('✖ adds'),
      undefined,
      'tried',
    ],
    [
      'one that fails in another way gets one iteration',
      redBase('✖ adds', 'reverify'),
      failed('✖ subs'),
      undefined,
      'found',
    ],
    ['another verify gets one iteration', redBase('✖ adds', 'reverify'), failed('✖ adds'), 'new', 'found'],
    ['one that passes should be merged', redBase('✖ adds', 'reverify'), passed, undefined, 'repaired'],
    [
      'one that passes should be merged, also where no iteration was made',
      redBase('✖ adds'),
      passed,
      undefined,
      'repaired',
    ],
  ])('%s', (_, before, verification, commands = 'abc', stage) => {
    const state = recordBaseVerification(
      withBase(before),
      { commit: 'beef', commands },
      { verification, report: none },
    );
    expect(state.redBase?.stage).toBe(stage);
  });

  test('what one branch fixed is still red for the others', () => {
    const at = [subject, { verification: failed('✖ adds\n✖ subs'), report: none }] as const;
    const { redBase: found } = recordBaseVerification(fresh, ...at);
    const verification = compareWithBase(found, failed('✖ subs'), none);
    const ofFirst = { ...fresh, redBase: withFixedFailures(found, verification) };
    expect(ofFirst.redBase?.failures).toHaveLength(1);
    const now = { asked: true, subject, at: 2 };
    const ofSecond = withKnownRedBase(fresh, [stopForRedBase(ofFirst)], now);
    expect(ofSecond.redBase?.failures.toSorted()).toEqual(found?.failures);
    expect(ofSecond.redBase).not.toHaveProperty('fixed');
    expect(compareWithBase(ofSecond.redBase, failed('✖ adds\n✖ subs'), none)).toMatchObject({ newlyRed: [] });
    expect(isSameRedBase({ ...redBase('✖ adds\n✖ subs'), commit: 'beef' }, ofFirst.redBase ?? expect.fail())).toBe(
      true,
    );
  });

  test('a check that was cut short says nothing', () => {
    expect(
      recordBaseVerification(withBase(redBase('x', 'reverify')), subject, {
        verification: { kind: 'not-run' },
        report: none,
      }).redBase?.stage,
    ).toBe('reverify');
  });

  test('a red base of an earlier version, whose failures nobody kept, is checked once more', () => {
    const known = recordBaseVerification(fresh, subject, { verification: failed('x'), report: none });
    expect(isBaseKnown(known, subject)).toBe(true);
    expect(isBaseKnown({ ...known, redBase: null }, subject)).toBe(false);
    expect(isBaseKnown(recordBaseVerification(fresh, subject, { verification: passed, report: none }), subject)).toBe(
      true,
    );
    expect(isBaseKnown(known, { ...subject, commit: 'other' })).toBe(false);
  });
});

describe('where a reporter names the tests, they are compared by name', () => {
  const verified = (output: string) => [failed(output.slice(-40)), parseTestReport(output)] as const;
  const onBase = '--- FAIL: TestAdd (0.00s)\nFAIL\nFAIL\tshop\t0.002s\n';
  const base = buildRedBase(subject, ...verified(onBase));

  test('with all failures of the base it fails as the base, whatever the end of the output says', () => {
    expect(base).toMatchObject({ failures: ['…shop > TestAdd'] });
    const now = `--- FAIL: TestSub (0.00s)\n${onBase}FAIL\tshop/cart\t0.002s\n`;
    expect(compareWithBase(base, ...verified(now))).toMatchObject({ asOnBase: true, newlyRed: ['shop > TestSub'] });
    expect(compareWithBase(base, ...verified(onBase))).toMatchObject({ asOnBase: true, newlyRed: [] });
  });

  test('a base with more failures than are kept names none as new', () => {
    const many = Array.from({ length: 30 }, (_, i) => `--- FAIL: Test${String(i)} (0.00s)`).join('\n');
    const full = buildRedBase(subject, ...verified(`${many}\n${onBase}`));
    expect(full?.failures).toHaveLength(20);
    expect(compareWithBase(full, ...verified(`${many}\n--- FAIL: TestNew (0.00s)\n${onBase}`))).toMatchObject({
      newlyRed: [],
    });
  });

  test('tests whose names end alike are one failure, so that what is left of the base fits into the journal', () => {
    const inFiles = (names: readonly string[]) =>
      Array.from({ length: 25 }, (_, i) =>
        names.map((name) => `--- FAIL: Test${String(i)}/${name.repeat(70)} (0.00s)`).join('\n'),
      ).join('\n');
    const full = buildRedBase(subject, ...verified(`${inFiles(['a', 'b'])}\n${onBase}`));
    const now = compareWithBase(full, ...verified(`${inFiles(['a'])}\nFAIL\nFAIL\tshop\t0.002s\n`));
    expect(verificationSchema.parse(now)).toMatchObject({ leftOfBase: [`…${'a'.repeat(60)}`] });
  });

  test('a base that an earlier version stored is compared by its lines', () => {
    const old = redBase('--- FAIL: TestAdd (0.00s)');
    const line = failed('--- FAIL: TestAdd (0.00s)');
    expect(compareWithBase(old, line, parseTestReport(onBase))).toMatchObject({ asOnBase: true, newlyRed: [] });
  });
});

test('failures whose names begin with the same words are different', () => {
  const path = `✖ ${'shop › cart › '.repeat(8)}`;
  const failing = (name: string) =>
    ({ kind: 'failed', command: 'npm test', code: 1, tail: `${path}${name}`, durationMs: 1 }) as const;
  const first = countSameFailures(null, failing('adds')) ?? expect.fail();
  expect(first.as.length).toBeLessThanOrEqual(64);
  expect(countSameFailures({ failed: first }, failing('adds'))?.times).toBe(2);
  expect(countSameFailures({ failed: first }, failing('subtracts'))?.times).toBe(1);
});
