import { describe, expect, test } from 'vitest';
import { MINUTE_MS } from '../../../../src/core/countdown.ts';
import type { Verification } from '../../../../src/core/evidence.ts';
import {
  isWorthProving,
  judgeOldTests,
  judgeTestsWithoutChange,
  planProof,
  type ProofPlan,
  type ProofRun,
  judgeProofRun,
  computeProofTimeout,
  type TaskChanges,
  type TaskFile,
} from '../../../../src/core/proof/judge.ts';
import { renderPlainProof, type Proof, describeProof } from '../../../../src/core/proof/proof.ts';
import { parseTestReport } from '../../../../src/core/proof/test-report.ts';

function file(path: string, textBefore: string | null, textAfter: string | null): TaskFile {
  const contentOf = (text: string | null) => (text === null ? null : { mode: '100644', id: text });
  return { path, before: contentOf(textBefore), after: contentOf(textAfter), textBefore, textAfter };
}

const code = file('src/sum.ts', 'old', 'new');
const ADDS = "test('adds', () => expect(sum).toBe(1));";
const RUST = '#[cfg(test)]\nmod tests {\n    #[test]\n    fn a() { assert!(true); }\n}\n';
const SUBTRACTS = "test('subtracts', () => expect(sum).toBe(2));";

describe('what is laid for a proof', () => {
  const plan = (...files: TaskFile[]): unknown => {
    const planned: ProofPlan = planProof({ task: 'issue-1', files });
    return planned.kind === 'prove'
      ? [planned.without.map(({ path }) => path), planned.old.map(({ path }) => path)]
      : planned.kind;
  };
  test.each<[string, TaskFile[], unknown]>([
    ['a new test', [code, file('test/a.test.ts', null, ADDS)], [['src/sum.ts'], []]],
    [
      'a test that only gained lines',
      [code, file('test/a.test.ts', ADDS, `${ADDS}\n${SUBTRACTS}`)],
      [['src/sum.ts'], []],
    ],
    ['a changed test', [code, file('test/a.test.ts', ADDS, SUBTRACTS)], [['src/sum.ts'], ['test/a.test.ts']]],
    [
      'a deleted test beside a new one, with its data',
      [
        code,
        file('test/a.test.ts', ADDS, null),
        file('test/b.test.ts', null, SUBTRACTS),
        file('test/a.json', '1', '2'),
      ],
      [['src/sum.ts'], ['test/a.test.ts', 'test/a.json']],
    ],
    [
      'a changed snapshot of an old test',
      [
        code,
        file('test/b.test.ts', null, ADDS),
        { ...file('test/__snapshots__/a.test.ts.snap', '1', '2'), textBefore: null, textAfter: null },
      ],
      [['src/sum.ts'], ['test/__snapshots__/a.test.ts.snap']],
    ],
    ['no test', [code], 'none'],
    ['only a helper of tests', [code, file('test/helper.ts', null, 'export const a = 1;')], 'none'],
    ['only tests', [file('test/a.test.ts', null, ADDS)], 'none'],
    [
      'settings of the tests stay with them',
      [code, file('vitest.config.ts', '1', '2'), file('test/a.test.ts', null, ADDS)],
      [['src/sum.ts'], []],
    ],
    [
      'test data in the folders of go, jest and others stays with the tests',
      [
        code,
        file('pkg/testdata/a.golden', null, '1'),
        file('src/__mocks__/http.ts', null, '1'),
        file('Shop.Tests/Builder.cs', null, '1'),
        file('src/a.snap', null, '1'),
        file('test/a.test.ts', null, ADDS),
      ],
      [['src/sum.ts'], []],
    ],
    [
      'packages stay, which a test may need',
      [code, file('package.json', '1', '2'), file('yarn.lock', '1', '2'), file('test/a.test.ts', null, ADDS)],
      [['src/sum.ts'], []],
    ],
    [
      'packages alone are what the tests are about',
      [file('package.json', '1', '2'), file('README.md', '1', '2'), file('test/a.test.ts', null, ADDS)],
      [['package.json', 'README.md'], []],
    ],
    [
      'only documents and task lists beside the tests',
      [file('docs/a.md', '1', '2'), file('prd.json', '1', '2'), file('test/a.test.ts', null, ADDS)],
      'none',
    ],
    ['tests among code', [file('src/lib.rs', 'fn a() {}', '#[test]\nfn a() { assert!(true); }')], 'in-code'],
    ['tests in a new file of code', [file('src/lib.rs', null, `fn a() {}\n${RUST}`)], 'in-code'],
    [
      'tests at the end of a file of code',
      [file('src/lib.rs', 'fn a() {}\n', `fn b() {}\n${RUST}`)],
      [['src/lib.rs'], []],
    ],
    [
      'code of rust',
      [file('src/lib.rs', 'fn a() {}', 'fn b() {}'), file('tests/a.rs', null, '#[test]\nfn b() {}')],
      [['src/lib.rs'], []],
    ],
  ])('%s', (_, files, expected) => {
    expect(plan(...files)).toEqual(expected);
  });

  test.each([
    ['fn a() {}\n', 'fn b() {}\n'],
    [`fn a() {}\n${RUST.replace('true', 'false')}`, 'fn a() {}\n'],
  ])('a file of Rust is laid with its code of before and its tests of now', (before, now) => {
    const planned = planProof({ task: 'issue-1', files: [file('src/lib.rs', before, `${now}${RUST}`)] });
    expect(planned).toMatchObject({ without: [{ text: `fn a() {}\n\n${RUST}` }] });
  });
});

const failed = { kind: 'failed', command: 'npm test', code: 1, tail: '', durationMs: 1 } as const;

function run(output: string, verification: Exclude<Verification, { kind: 'not-run' }> = failed): ProofRun {
  return judgeProofRun(verification, parseTestReport(output));
}

const codes = ['src/sum.py', 'src/lib.rs'].map((path) => file(path, 'old', 'new'));
const own: TaskChanges = {
  task: 'issue-1',
  files: [code, ...codes, file('test/a.test.ts', null, `${ADDS}\n${SUBTRACTS}`)],
};
const A = ' ✓ test/a.test.ts > adds 1ms\n ✓ test/a.test.ts > subtracts 1ms';
const OLD = ' ✓ test/old.test.ts > divides 1ms';

function judge(
  without: ProofRun,
  {
    base = OLD,
    head = `${OLD}\n${A}`,
    others = [],
  }: { base?: string | null; head?: string; others?: readonly TaskChanges[] } = {},
): Proof['without'] {
  const reports = { base: base === null ? null : parseTestReport(base), head: parseTestReport(head) };
  return judgeTestsWithoutChange(without, reports, { own, others });
}

describe('the judgement of the new tests', () => {
  const all = { kind: 'new', of: 'test', count: 2 };
  test.each<[string, Proof['without'], object]>([
    ['all fail', judge(run(A.replaceAll('✓', '×'))), { ...all, passing: 0 }],
    ['none is reported', judge(run(' FAIL  test/a.test.ts [ test/a.test.ts ]')), { ...all, passing: 0 }],
    ['one passes', judge(run(A.replace('✓', '×'))), { ...all, passing: 1, named: ['test/a.test.ts > subtracts'] }],
    ['all pass', judge(run(A, { kind: 'passed', durationMs: 1 })), { ...all, passing: 2 }],
    [
      'of two tests with the same name, one passes',
      judge(run(`${A.replaceAll('✓', '×')}\n${A.split('\n')[0] ?? ''}`)),
      { ...all, passing: 1, named: ['test/a.test.ts > adds'] },
    ],
    [
      'one passes, and one is not reported',
      judge(run(A.split('\n')[0] ?? '', { kind: 'passed', durationMs: 1 })),
      { ...all, passing: 1 },
    ],
    [
      'none is reported where all of verify passes, so that none has failed',
      judge(run(OLD, { kind: 'passed', durationMs: 1 })),
      { kind: 'undecided', why: 'not-run' },
    ],
    [
      'a test that only moved to another file is not new',
      judge(run(A, { kind: 'passed', durationMs: 1 }), {
        base: `${OLD}\n ✓ test/b.test.ts > adds 1ms\n ✓ test/b.test.ts > subtracts 1ms`,
      }),
      { kind: 'whole', passed: true },
    ],
    [
      'examples in a file of code went with it',
      judge(run(' × test/a.test.ts > adds 1ms'), {
        head: `${OLD}\nsrc/sum.py::sum.add PASSED\ntest src/lib.rs - add (line 3) ... ok\n ✓ test/a.test.ts > adds 1ms`,
      }),
      { kind: 'new', count: 1, passing: 0 },
    ],
    [
      'all fail, and verify hides it',
      judge(run(A.replaceAll('✓', '×'), { kind: 'passed', durationMs: 1 })),
      { ...all, passing: 0 },
    ],
    [
      'only the file is reported, and passes',
      judge(run(' ✓ test/a.test.ts (2 tests)\n × test/old.test.ts > divides 1ms')),
      { ...all, passing: 2 },
    ],
    ['a skipped test proves nothing', judge(run(''), { head: ' ↓ test/a.test.ts > adds' }), { kind: 'whole' }],
    ['the base is not known', judge(run(A.replaceAll('✓', '×')), { base: null }), { kind: 'changed', failing: 2 }],
    ['old tests fail', judge(run(OLD.replace('✓', '×')), { head: OLD }), { kind: 'changed', failing: 1 }],
    [
      'a base that names no test, and a head with old tests of the same file',
      judgeTestsWithoutChange(
        run(' ✓ test/a.test.ts > adds 1ms'),
        { base: parseTestReport(''), head: parseTestReport(`${OLD}\n${A}`) },
        { own: { task: 'issue-1', files: [code, file('test/a.test.ts', ADDS, `${ADDS}\n${SUBTRACTS}`)] }, others: [] },
      ),
      { kind: 'new', count: 1, passing: 0 },
    ],
    ['nothing is named', judge(run(''), { base: '', head: '' }), { kind: 'whole', passed: false }],
    [
      'nothing is named, and it passes',
      judge(run('', { kind: 'passed', durationMs: 1 }), { base: '', head: '' }),
      { kind: 'whole', passed: true },
    ],
    [
      'only files are named, and all tests of one that fails',
      judge(run(' ❯ test/a.test.ts (3 tests | 1 failed)\n   × adds 1ms\n   ✓ subtracts 1ms\n   ↓ later'), {
        base: ' ✓ test/old.test.ts (1 test)',
        head: ' ✓ test/old.test.ts (1 test)\n ✓ test/a.test.ts (3 tests)',
      }),
      { kind: 'new', of: 'test', count: 2, passing: 1, named: ['test/a.test.ts > subtracts'] },
    ],
    [
      'only files are named',
      judge(run(' ❯ test/a.test.ts (2 tests | 2 failed)\n   × adds 1ms'), {
        base: ' ✓ test/old.test.ts (1 test)',
        head: ' ✓ test/old.test.ts (1 test)\n ✓ test/a.test.ts (2 tests)',
      }),
      { kind: 'new', of: 'file', count: 1, passing: 0 },
    ],
    [
      'a file that the base has, whose tests are named only when they fail',
      judge(run(' ❯ test/a.test.ts (2 tests | 1 failed)\n   × adds 1ms\n   ✓ subtracts 1ms'), {
        base: ' ✓ test/a.test.ts (1 test)',
        head: ' ✓ test/a.test.ts (2 tests)',
      }),
      { kind: 'changed', failing: 1 },
    ],
    [
      'a file whose tests the base does not name',
      judge(run(''), { base: ' ✓ test/a.test.ts (2 tests)', head: `${A}\n ✓ test/a.test.ts (2 tests)` }),
      { kind: 'whole' },
    ],
    ['a time-out', judge(judgeProofRun({ ...failed, code: null }, new Map())), { kind: 'undecided', why: 'timeout' }],
    [
      'a missing command',
      judge(judgeProofRun({ ...failed, code: 127 }, new Map())),
      { kind: 'undecided', why: 'cannot-run' },
    ],
  ])('%s', (_, judged, expected) => {
    expect(judged).toMatchObject(expected);
  });

  const thrice = ' ✓ test/a.test.ts > adds 1ms\n'.repeat(3);
  const mixed = thrice.replace('✓', '×');
  test.each<[string, Proof['without'], object]>([
    ['new', judge(run(mixed), { head: `${OLD}\n${thrice}` }), { count: 3, passing: 2 }],
    [
      'beside an old one, wherever it stands',
      judge(run(mixed), { base: thrice.split('\n')[0] ?? '', head: thrice }),
      { count: 2, passing: 1 },
    ],
    [
      'that all pass',
      judge(run(thrice), { base: thrice.split('\n')[0] ?? '', head: thrice }),
      { count: 2, passing: 2 },
    ],
    ['run twice', judge(run(mixed), { base: `${OLD}\n${OLD}`, head: `${OLD}\n${OLD}\n${A}\n${A}` }), { count: 2 }],
    [
      'of which only the file is reported',
      judge(run(' ✓ test/a.test.ts (3 tests)'), { head: `${OLD}\n${thrice}` }),
      { count: 3, passing: 3 },
    ],
  ])('tests with one name count each: %s', (_, judged, expected) => {
    expect(judged).toMatchObject({ kind: 'new', ...expected });
  });

  test.each<[string, string, string]>([
    [
      'the task did not write another test with a known name',
      ' ✓ test/c.test.ts > waits 1ms',
      ' ✓ test/c.test.ts > waits 1ms\n ✓ test/c.test.ts > waits 1ms',
    ],
    [
      'a reporter numbers its tests',
      '✓ 1 of 2: adds\n✓ 2 of 2: waits',
      '✓ 1 of 3: subtracts\n✓ 2 of 3: adds\n✓ 3 of 3: waits',
    ],
  ])('is of all of verify where %s', (_, base, head) => {
    expect(judge(run(''), { base, head })).toEqual({ kind: 'whole', passed: false });
  });

  test('an example in a document that code includes went with it', () => {
    const head = `${OLD}\n   Doc-tests sum\ntest src/lib.rs - (line 3) ... ok`;
    const ownFiles = {
      task: 'issue-1',
      files: [code, file('README.md', '', '```'), file('test/a.test.ts', null, ADDS)],
    };
    const reports = { base: parseTestReport(OLD), head: parseTestReport(head) };
    expect(judgeTestsWithoutChange(run(OLD), reports, { own: ownFiles, others: [] })).toEqual({
      kind: 'whole',
      passed: false,
    });
  });

  test('the tests of another task of the branch are not counted', () => {
    const second = "test('multiplies', () => expect(mul).toBe(2));";
    const others = [
      { task: 'issue-2', files: [file('test/b.test.ts', null, second), file('test/a.test.ts', null, '')] },
    ];
    const ofOther = ' ✓ test/b.test.ts > multiplies 1ms\n ✓ test/b.test.ts > divides %d 1ms';
    const judged = judge(run(ofOther), { head: `${OLD}\n${A}\n${ofOther}`, others });
    expect(judged).toMatchObject({ kind: 'new', count: 2, passing: 0 });
  });

  test.each([
    ['/repo/test/a.test.ts > each 1', true],
    ['a.test.ts > each 1', true],
    ['test/b.test.ts > each 1', false],
  ])('a test without a line of its own belongs to the task by its file: %s', (name, isOwn) => {
    const judged = judge(run(''), {
      base: '',
      head: ` ✓ ${name} 1ms`,
      others: [{ task: 'issue-2', files: [file('test/b.test.ts', null, SUBTRACTS)] }],
    });
    expect(judged.kind).toBe(isOwn ? 'new' : 'whole');
  });
});

test.each<[string, ProofRun, object]>([
  ['they pass', run(A, { kind: 'passed', durationMs: 1 }), { kind: 'passed' }],
  ['one fails', run(A.replace('✓', '×')), { kind: 'failed', failing: 1, named: ['test/a.test.ts > adds'] }],
  ['only a file is named', run('FAIL\tshop [build failed]'), { kind: 'failed', failing: 1, named: ['shop'] }],
  ['nothing is named', run(''), { kind: 'failed', failing: 0, named: [] }],
  ['a time-out', { kind: 'undecided', why: 'timeout' }, { kind: 'undecided', why: 'timeout' }],
])('the judgement of old forms: %s', (_, old, expected) => {
  expect(judgeOldTests(old)).toEqual(expected);
});

describe('when verify runs again', () => {
  test.each<['auto' | 'true' | 'false', number, boolean]>([
    ['auto', 5 * MINUTE_MS, true],
    ['auto', 5 * MINUTE_MS + 1, false],
    ['true', 50 * MINUTE_MS, true],
    ['false', 1, false],
  ])('%s, %d ms: %s', (mode, usualMs, expected) => {
    expect(isWorthProving(mode, usualMs)).toBe(expected);
  });

  test.each<[number, number, number | null]>([
    [10_000, 60 * MINUTE_MS, MINUTE_MS],
    [MINUTE_MS, 60 * MINUTE_MS, 3 * MINUTE_MS],
    [MINUTE_MS, 2 * MINUTE_MS, 2 * MINUTE_MS],
    [MINUTE_MS, MINUTE_MS, null],
    [1, 20_000, null],
  ])('one that takes %d ms with %d ms left gets %s', (usualMs, leftMs, expected) => {
    expect(computeProofTimeout({ usualMs, leftMs })).toBe(expected);
  });
});

describe('what a proof says', () => {
  const named = ['a', 'b', 'c'];
  test.each<[Proof, readonly string[], boolean]>([
    [
      { without: { kind: 'new', of: 'test', count: 1, passing: 0, named: [] }, old: null },
      ['The new test fails without the change, as it should.'],
      false,
    ],
    [
      { without: { kind: 'new', of: 'test', count: 3, passing: 0, named: [] }, old: { kind: 'passed' } },
      ['All 3 new tests fail without the change, as they should.', 'The old form of the changed tests passes.'],
      false,
    ],
    [
      { without: { kind: 'new', of: 'file', count: 2, passing: 0, named: [] }, old: null },
      ['All 2 new files of tests fail without the change, as they should.'],
      false,
    ],
    [
      { without: { kind: 'new', of: 'test', count: 1, passing: 1, named: ['a'] }, old: null },
      ['The new test passes without the change: it does not test the change (a).'],
      true,
    ],
    [
      { without: { kind: 'new', of: 'test', count: 5, passing: 4, named }, old: null },
      ['4 of 5 new tests pass without the change: they do not test the change (a, b, c and 1 more).'],
      true,
    ],
    [
      { without: { kind: 'changed', failing: 1 }, old: null },
      ['1 test fails without the change, as it should; no new test is named.'],
      false,
    ],
    [
      { without: { kind: 'whole', passed: true }, old: null },
      ['All of `verify` passes without the change: the new or changed tests do not test the change.'],
      true,
    ],
    [
      { without: { kind: 'changed', failing: 2 }, old: { kind: 'failed', failing: 1, named: ['a'] } },
      [
        '2 tests fail without the change, as they should; no new test is named.',
        'In its old form, 1 changed test fails on the new code (a).',
      ],
      true,
    ],
    [
      { without: { kind: 'whole', passed: false }, old: { kind: 'failed', failing: 0, named: [] } },
      [
        '`verify` fails without the change, as it should; its output does not say which tests do.',
        '`verify` fails with the old form of the changed tests; its output does not say which fail.',
      ],
      true,
    ],
    [
      { without: { kind: 'undecided', why: 'no-time' }, old: { kind: 'undecided', why: 'timeout' } },
      [
        'Not known whether the tests fail without the change: `verify` does not fit into the rest of the run.',
        'Not known whether the old form of the changed tests passes: `verify` did not end in time.',
      ],
      false,
    ],
  ])('%#', (proof, sentences, isConcern) => {
    const said = describeProof(proof);
    expect(said.map(renderPlainProof)).toEqual(sentences);
    expect(said.some(({ concern }) => concern !== null)).toBe(isConcern);
  });
});
