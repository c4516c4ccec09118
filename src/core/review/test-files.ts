import { withoutComments } from './without-comments.ts';

/** Paths by which test runners find their files. */
const TEST_PATH = new RegExp(
  [
    /(?:^|\/)(?:tests?|__tests__|specs?|e2e)\//,
    /\.(?:test|spec)\.[^/]+$/,
    /_(?:test|spec)\.[^/]+$/,
    /[-_]tests?\.(?:[cm]?[jt]sx?|py|rb|rs|go|exs?|php|lua|dart|clj[cs]?|hs|ml|sh|bats)$/,
    /(?:^|\/)tests?\.(?:[cm]?[jt]sx?|py|rb|rs|go)$/,
    /(?:^|\/)(?:test_[^/]+|conftest)\.py$/,
    /(?:Tests?|TestCase|Spec|IT)\.(?:java|kt|cs|fs|vb|swift|scala|groovy|hs|php)$/,
    /(?:^|\/)t\/[^/]+\.t$/,
  ]
    .map(({ source }) => source)
    .join('|'),
);

export function isTestFile(path: string): boolean {
  return TEST_PATH.test(path);
}

/** Rust has tests beside what they test. */
export function mayHoldTests(path: string): boolean {
  return isTestFile(path) || /\.rs$/.test(path);
}

/** What a test file does: how many tests it has, how much they check, and what keeps tests from running. */
export interface TestCounts {
  readonly tests: number;
  readonly checks: number;
  readonly skips: number;
}

/** Counts in the text of a test file what is no comment. */
export function countInTests(path: string, text: string): TestCounts {
  const code = withoutComments(path, text);
  return {
    tests: matches(code, TESTS),
    checks: matches(code, CHECKS),
    // The conditions under which Go builds a file are comments.
    skips: matches(code, ANY_SKIP) + matches(text, BUILD_CONDITION),
  };
}

function matches(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}

/** Calls and marks by which the usual test runners leave a test out, or all others. */
const SKIPS = [
  /\.(?:skip|todo|only|skipIf|runIf|failing|fails|fixme)\s*[(.`]/,
  /\b(?:xit|xtest|xdescribe|xcontext|xspecify|fit|fdescribe|fcontext)\b[ \t]*[('"`]/,
  /^[ \t]*(?:skip|pending)(?:[ \t]*$|[ \t]+['"]|[ \t]*\(|[ \t]+(?:if|unless)\b)/,
  /[{,]\s*(?:skip|todo|only)\s*:\s*(?!false\b|\d)/,
  /@(?:module|describe)?tag[ \t]*\(?[ \t]*:?skip\b/,
  /\bpytest\.(?:mark\.(?:skip|skipif|xfail)\b|importorskip\s*\()|\b__test__\s*=\s*False\b/,
  /@(?:unittest\.(?:skip\w*|expectedFailure)|Disabled\w*|Ignore)\b|\b(?:Assumptions|Assume)\.\w+\s*\(/,
  /\bpytest\.skip\s*\(|\.(?:skipTest|Skip|Skipf|SkipNow|markTestSkipped|markTestIncomplete)\s*\(/,
  /#\[(?:ignore\b|cfg\(any\(\)\))|\[Ignore\b|\bSkip\s*=\s*"|\bos\.Exit\(0\)/,
];

const ANY_SKIP = new RegExp(SKIPS.map(({ source }) => source).join('|'), 'gm');

const BUILD_CONDITION = /^\/\/(?:go:build| \+build)\b/gm;

/** What the usual test libraries check with. */
const CHECKS =
  /\b(?:expect|assert\w*|XCTAssert\w*)\s*[(!.]|\b(?:ok|equal|strictEqual|deepEqual|deepStrictEqual|throws|rejects)\s*\(|\bassert\s|\bt\.(?:Error|Fatal)f?\(/g;

/** What the usual test runners take for one test. */
const TESTS =
  /\b(?:test|it|specify|xit|xtest|fit)(?:\.\w+)*\s*(?:\([^)\n]{0,200}\)\s*)?[(`]\s*['"`]|^[ \t]*(?:async[ \t]+)?def test\w*\s*\(|^func (?:Test|Fuzz)\w*\s*\(|@(?:Parameterized|Repeated)?Test\b|#\[(?:\w+::)*test\b|\[(?:Fact|Theory|Test|TestMethod|TestCase)\b|^[ \t]*(?:it|specify|scenario|test)[ \t]+['"]/gm;
