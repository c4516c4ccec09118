import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { listFailingTests, parseTestReport } from '../../../../src/core/proof/test-report.ts';

const SAMPLES = join(import.meta.dirname, '../../../samples/reports');

function sample(name: string): string {
  return readFileSync(join(SAMPLES, name), 'utf8');
}

const MARKS = { passed: '+', failed: '-', skipped: '?', mixed: '±' } as const;

/** Returns the tests as lines: `+` passed, `-` failed, `?` skipped, `±` mixed; files that have a result in brackets. */
function listOf(text: string): readonly string[] {
  return [...parseTestReport(text)].map(([name, { of, result }]) =>
    of === 'file' ? `${MARKS[result]} [${name}]` : `${MARKS[result]} ${name}`,
  );
}

const NODE = ['+ sum > adds', '- sum > subtracts', '? sum > later', '+ alone > inner', '? todo'];
const VITEST = [
  '- test/mul.test.mjs > multiplies',
  '+ test/mul.test.mjs > is named',
  '+ test/sum.test.mjs > sum > adds',
  '+ test/sum.test.mjs > sum > subtracts',
  '? test/sum.test.mjs > sum > later',
];
const PYTEST = [
  '- tests/test_bad.py > test_bad',
  '+ tests/test_ok.py > test_ok',
  '+ tests/test_sum.py > test_adds',
  '- tests/test_sum.py > test_subtracts',
  '? tests/test_sum.py > test_later',
  '+ tests/test_sum.py > TestDeep > test_param[1]',
  '+ tests/test_sum.py > TestDeep > test_param[2]',
  '- [tests/test_bad.py]',
  '- [tests/test_sum.py]',
];

test("a linter's sum is not a test, and a duration is not a part of a name", () => {
  expect(listOf('✖ 2 problems (2 errors, 0 warnings)\nnot ok 1 adds in 12ms\n✖ subtracts (3ms)')).toEqual([
    '- adds',
    '- subtracts',
  ]);
});

describe('the tests that a reporter names', () => {
  test.each<[string, readonly string[]]>([
    [
      'vitest-default.txt',
      [
        '- [test/mul.test.mjs]',
        '- test/mul.test.mjs > multiplies',
        '+ test/mul.test.mjs > is named',
        '- [test/load.test.mjs]',
        '+ [test/sum.test.mjs]',
      ],
    ],
    [
      'vitest-suites.txt',
      [
        '- [test/deep.test.mjs]',
        '- test/deep.test.mjs > sum > adds',
        '+ test/deep.test.mjs > sum > deep > subtracts (2)',
        '? test/deep.test.mjs > sum > deep > later',
        '+ test/deep.test.mjs > top',
      ],
    ],
    ['vitest-verbose.txt', [...VITEST, '- [test/load.test.mjs]', '- [test/mul.test.mjs]']],
    ['vitest-tap-flat.txt', ['- [test/load.test.mjs]', ...VITEST]],
    [
      'vitest-tap.txt',
      [
        '- [test/load.test.mjs]',
        '- [test/mul.test.mjs]',
        ...VITEST.slice(0, 2),
        '+ [test/sum.test.mjs]',
        ...VITEST.slice(2),
      ],
    ],
    ['vitest-junit.xml', ['- test/load.test.mjs > test/load.test.mjs', ...VITEST]],
    ['node-spec.txt', NODE],
    ['node-tap.txt', NODE],
    [
      'node-junit.xml',
      ['b', 'sum'].flatMap((name) => NODE.map((line) => line.replace(' ', ` /repo/${name}.test.mjs > `))),
    ],
    ['jest.txt', ['+ [test/b.test.js]', '- [test/a.test.js]', '- test/a.test.js > sum > deep > subtracts']],
    [
      'jest-verbose.txt',
      [
        '- [test/a.test.js]',
        '+ test/a.test.js > top',
        '+ test/a.test.js > sum > adds',
        '? test/a.test.js > sum > later',
        '- test/a.test.js > sum > deep > subtracts',
        '+ [test/b.test.js]',
        '+ test/b.test.js > top',
        '+ test/b.test.js > sum > adds',
        '? test/b.test.js > sum > later',
        '+ test/b.test.js > sum > deep > subtracts',
      ],
    ],
    // Two files have the same suites with the same tests.
    ['mocha.txt', ['+ top', '+ sum > adds', '± sum > deep > subtracts']],
    [
      'pytest.txt',
      [
        '- [tests/test_bad.py]',
        '+ [tests/test_ok.py]',
        '- [tests/test_sum.py]',
        '- tests/test_bad.py > test_bad',
        '- tests/test_sum.py > test_subtracts',
      ],
    ],
    ['pytest-v.txt', PYTEST],
    [
      'pytest-q.txt',
      [
        '- [tests/test_bad.py]',
        '- tests/test_bad.py > test_bad',
        '- [tests/test_sum.py]',
        '- tests/test_sum.py > test_subtracts',
      ],
    ],
    [
      'pytest-junit.xml',
      PYTEST.slice(0, 7).map((line) =>
        line.replace(
          /tests\/(\w+)\.py( > TestDeep)?/,
          (_, file, inner) => `tests.${String(file)}${inner ? '.TestDeep' : ''}`,
        ),
      ),
    ],
    [
      'go.txt',
      ['- example.com/sum > TestWrong', '- [example.com/sum]', '+ [example.com/sum/ok]', '- [example.com/sum/pkg]'],
    ],
    [
      'go-v.txt',
      [
        '+ example.com/sum > TestAdds > one_and_two',
        '? example.com/sum > TestLater',
        '- example.com/sum > TestWrong',
        '- [example.com/sum]',
        '+ example.com/sum/ok > TestP',
        '+ [example.com/sum/ok]',
        '- [example.com/sum/pkg]',
      ],
    ],
    [
      'go-json.txt',
      [
        '+ example.com/sum/ok > TestP',
        '+ [example.com/sum/ok]',
        '+ example.com/sum > TestAdds > one_and_two',
        '? example.com/sum > TestLater',
        '- example.com/sum > TestWrong',
        '- [example.com/sum]',
        '? [example.com/sum/none]',
        '- [example.com/sum/pkg]',
      ],
    ],
    [
      'cargo.txt',
      [
        '? src/lib.rs > tests > later',
        '+ src/lib.rs > tests > adds',
        '+ tests/outer.rs > outer2',
        '- tests/outer.rs > outer',
        '+ documentation of sum > src/lib.rs - add',
      ],
    ],
  ])('%s', (name, expected) => {
    expect(new Set(listOf(sample(name)))).toEqual(new Set(expected));
  });

  test.each<[string, string, readonly string[]]>([
    ['prose', 'Everything is ok.\nok, 1 thing\nPASS\nFAIL\n', []],
    [
      'a file of vitest 1',
      ' ✓ test/a.test.ts (3)\n ❯ test/b.test.ts (2)',
      ['+ [test/a.test.ts]', '- [test/b.test.ts]'],
    ],
    ['a project of vitest', ' ✓ |unit| test/a.test.ts > adds 1ms', ['+ test/a.test.ts > adds']],
    ['a stack of vitest', ' ❯ test/a.test.ts:3:35', []],
    ['workers of pytest', '[gw0] [ 50%] PASSED tests/test_a.py::test_x', ['+ tests/test_a.py > test_x']],
    ['more dots than fit on a line', 'tests/test_a.py ..... [ 50%]\n..F.. [100%]', ['- [tests/test_a.py]']],
    ['a package of go without tests to run', 'ok  \tshop\t0.1s [no tests to run]', ['+ [shop]']],
    ['a list of mocha', '  1) sum\n', ['- sum']],
    ['after the summary of mocha', '  5 passing (7ms)\n\n  1) sum\n', []],
    [
      'suites of mocha, with noise between',
      '\n\n  Cart\nloading\n    #add()\n{\n  a: 1\n}\n      ✔ works\n      1) fails\n    - later\n    ✔ works\n\n  Shop\n    ✔ works (12ms)\n\n  3 passing (7ms)\n  1 failing\n\n  1) Cart\n       #add()\n         fails:\n',
      ['+ Cart > #add() > works', '- Cart > #add() > fails', '+ Cart > works', '+ Shop > works'],
    ],
    [
      'two packages with mocha',
      '> a@1.0.0 test\n> mocha\n\n\n  A\n    ✔ x\n\n\n  1 passing (1ms)\n\n\n> b@1.0.0 test\n> mocha\n\n\n  B\n    1) x\n\n\n  0 passing (1ms)\n  1 failing\n\n  1) B\n       x:\n',
      ['+ A > x', '- B > x'],
    ],
    [
      'an indented text between the tests of node',
      '▶ A\n  ▶ B\n\n  text\n    ✔ x (1ms)\n  ✔ B (2ms)\n✔ A (3ms)',
      ['+ A > B > x'],
    ],
    ['an example of rust that moved', 'test src/lib.rs - add (line 9) ... ok', ['+ src/lib.rs - add']],
    [
      'colored fields of projects of vitest, which CI turns on',
      ' ✓  unit  a/a.test.mjs (1 test) 26ms\n   ✓ sum (1)\n     ✓ adds 2ms\n ❯  web ui  b/b.test.mjs (1 test | 1 failed) 9ms\n   × b #12 7ms\n FAIL   web ui  b/b.test.mjs > b #12',
      ['+ [a/a.test.mjs]', '+ a/a.test.mjs > sum > adds', '- [b/b.test.mjs]', '- b/b.test.mjs > b #12'],
    ],
    ['a retried test of vitest', ' ✓ a.test.ts > waits 10ms 5ms (retry x1)', ['+ a.test.ts > waits 10ms']],
    ['a duration in a name', '  ✔ waits 10ms\n  ✔ waits 20ms (21ms)', ['+ waits 10ms', '+ waits 20ms']],
    [
      'colors of jest',
      ' FAIL  ./a.test.js (5.1 s)\n  sum\n    ✓ adds\n    ✕ waits 10ms (2 ms)\n\n PASS   web ui  ./b.test.js\n  ✓ top',
      [
        '- [./a.test.js]',
        '+ ./a.test.js > sum > adds',
        '- ./a.test.js > sum > waits 10ms',
        '+ [./b.test.js]',
        '+ ./b.test.js > top',
      ],
    ],
    [
      'a project of jest',
      'FAIL @shop/unit ./a.test.js\n  ● sum › adds\n',
      ['- [./a.test.js]', '- ./a.test.js > sum > adds'],
    ],
    [
      'the sign of a directive in a name of TAP, with carriage returns',
      'ok 1 - issue \\#12\r\nnot ok 2 - issue \\#13\r\nok 3 - a # TODO later\r\nok 4 - is \\# TODO\r\nok 5 - #14 # SKIP',
      ['+ issue #12', '- issue #13', '? a', '+ is # TODO', '? #14'],
    ],
    [
      'parameters of pytest',
      't/a.py::test_x[a PASSED b] PASSED [ 1%]\nt/a.py::T::test_x[a::b - c] FAILED [ 2%]\nFAILED t/a.py::T::test_x[a::b - c] - assert [1] == [2]',
      ['+ t/a.py > test_x[a PASSED b]', '- t/a.py > T > test_x[a::b - c]', '- [t/a.py]'],
    ],
    [
      'the summary of pytest -rA',
      'PASSED t/a.py::T::test_x[1]\nSKIPPED [1] t/a.py:9: no\nXFAIL t/a.py::test_y - later\nERROR shop::db - gone',
      ['+ t/a.py > T > test_x[1]', '? t/a.py > test_y'],
    ],
    [
      'equal names in two classes of one file in JUnit, with numbers of characters',
      '<testcase classname="sum" name="a &#x3E; b&#10;&#62;" file="a.js"/><testcase classname="mul" name="a &#x3E; b" file="a.js"/>',
      ['+ a.js > sum > a > b >', '+ a.js > mul > a > b'],
    ],
    [
      'cargo nextest',
      '        PASS [   0.005s] (  1/763) shop cart::tests::adds\n  TRY 1 FAIL [   0.009s] (───) shop::bin/shop waits\n  TRY 2 PASS [   0.009s] (2/3) shop::bin/shop waits\n     SIGABRT [   0.006s] shop::outer outer\n        SLOW [> 60.000s] shop::outer slow\n     Summary [   0.007s] 3 tests run: 2 passed, 1 failed, 0 skipped',
      ['+ shop > cart > tests > adds', '+ shop::bin/shop > waits', '- shop::outer > outer'],
    ],
    [
      'retried tests of cargo nextest, of which one fails in its last attempt',
      '    Starting 2 tests across 1 binary\n  TRY 1 FAIL [   0.009s] (1/2) shop waits\n  TRY 2 PASS [   0.009s] (1/2) shop waits\n  TRY 1 FAIL [   0.005s] (2/2) shop adds\n  TRY 2 FAIL [   0.005s] (2/2) shop adds\n────────────\n     Summary [   0.007s] 2 tests run: 1 passed (1 flaky), 1 failed, 0 skipped\n   FLAKY 2/2 [   0.009s] (1/2) shop waits\n  TRY 2 FAIL [   0.005s] (2/2) shop adds',
      ['+ shop > waits', '- shop > adds'],
    ],
    [
      'tests of tape, whose assertions have the same names',
      'TAP version 13\n# adds\nok 1 should be equal\nnot ok 2 should be equal\nok 3 should be equal\n# subtracts\nok 4 should be equal\n# empty\n# later\nok 5 no # SKIP\n\n1..5\n# tests 5\n# pass  3\n',
      ['- adds', '+ subtracts', '? later'],
    ],
    [
      'comments in TAP of other programs',
      'TAP version 13\n1..2\nnot ok 1 adds\n# (in test file a.bats, line 3)\nok 2 subtracts',
      ['- adds', '+ subtracts'],
    ],
    [
      'assertions in subtests of TAP',
      '# Subtest: sum \\#1\n    # Subtest: adds\n        ok 1 - should be equal\n        not ok 2 - should be equal\n    not ok 1 - adds # time=1ms\n    # Subtest: subtracts\n        ok 1 - should be equal\n    ok 2 - subtracts\nnot ok 1 - sum \\#1',
      ['- sum #1 > adds', '+ sum #1 > subtracts'],
    ],
    ['durations of bun', '✓ sum > adds [0.05ms]\n✗ sum > subtracts [1.2s]', ['+ sum > adds', '- sum > subtracts']],
    ['tests with the same name', 'ok 1 a\nnot ok 2 a\nok 3 b # SKIP\nok 4 b\nok 5 b', ['± a', '+ b']],
    ['JUnit beside other output', ' ✓ other\n<testsuite><testcase name="a" classname="B"/></testsuite>', ['+ B > a']],
    [
      'tags in a marked section',
      '<testcase name="a"><system-out><![CDATA[<failure>]]></system-out></testcase>',
      ['+ a'],
    ],
    [
      'an attribute with line ends',
      '<testcase name="a\n::error::b\r\n\t# c" classname="\n- d"/>',
      ['+ - d > a ::error::b # c'],
    ],
    ['an attribute with a bracket', '<testcase name="a > b &amp; c"><error/></testcase>', ['- a > b & c']],
  ])('%s', (_, text, expected) => {
    expect(listOf(text)).toEqual(expected);
  });
});

test.each<[string, string, readonly [passed: number, runs: number]]>([
  ['one that each instance prints', ' ✓ a.test.ts > adds 6ms\n × a.test.ts > adds\n ✓ a.test.ts > adds 0ms', [2, 3]],
  ['one in JUnit', '<testcase name="a"/><testcase name="a"><failure/></testcase><testcase name="a"/>', [2, 3]],
  ['one that a summary repeats', 'a.py::test_x PASSED [ 9%]\nPASSED a.py::test_x', [1, 1]],
  ['one that two reporters print', ' ✓ a.test.ts > adds 6ms\nok 1 - a.test.ts > adds', [1, 1]],
  ['a skipped one', 'ok 1 a # SKIP\nok 2 a', [1, 1]],
])('a name has as many tests as ran: %s', (_, text, [passed, runs]) => {
  expect([...parseTestReport(text).values()]).toMatchObject([{ passed, runs }]);
});

test('the failures are tests, or files where no test is named', () => {
  const namesOf = (name: string) => listFailingTests(parseTestReport(sample(name))).map(([test]) => test);
  expect(namesOf('go.txt')).toEqual(['example.com/sum > TestWrong']);
  expect(listFailingTests(parseTestReport('FAIL\tshop [build failed]')).map(([name]) => name)).toEqual(['shop']);
});

test('any text is read, and in time', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => parseTestReport(text).size >= 0));
  const word = fc.constantFrom(
    '<testcase',
    ' name="',
    '"',
    '>',
    '<![CDATA[',
    ' ✓ ',
    'ok 1',
    ' > ',
    '(',
    '::',
    '\n',
    ' '.repeat(9),
  );
  fc.assert(fc.property(fc.array(word, { maxLength: 50 }), (words) => parseTestReport(words.join('')).size >= 0));
  const deep = ` ✓ ${'a > '.repeat(200)}\n`;
  for (const part of [
    deep,
    '<testcase name="',
    '<![CDATA[',
    ' ✓ a',
    '<testcase ',
    "<testcase a='",
    'x::',
    '(1 '.repeat(99) + '\n',
  ])
    expect(parseTestReport(part.repeat(20_000)).size).toBeLessThan(20_001);
});
