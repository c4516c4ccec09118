/** Paths by which test runners find their files. */
const TEST_PATH =
  /(?:^|\/)(?:tests?|__tests__|specs?|e2e)\/|\.(?:test|spec)\.[^/]+$|_(?:test|spec)\.[^/]+$|(?:^|\/)(?:test_[^/]+|conftest)\.py$|Tests?\.(?:java|kt|cs|swift)$/;

export function isTestFile(path: string): boolean {
  return TEST_PATH.test(path);
}

/** Calls and marks by which the usual test runners leave a test out, or all others. */
const SKIPS = [
  /\.(?:skip|todo|only|skipIf|failing)\s*[(.`]/,
  /\b(?:xit|xtest|xdescribe|xcontext|xspecify|fit|fdescribe|fcontext)\s*\(/,
  /\{\s*(?:skip|todo|only)\s*:\s*(?!false\b)/,
  /\bpytest\.mark\.(?:skip|skipif|xfail)\b/,
  /@(?:unittest\.(?:skip\w*|expectedFailure)|Disabled|Ignore)\b/,
  /\bpytest\.skip\s*\(|\.(?:skipTest|Skip|Skipf|SkipNow|markTestSkipped|markTestIncomplete)\s*\(/,
  /#\[ignore\b|\[Ignore\b|\bSkip\s*=\s*"/,
];

const ANY_SKIP = new RegExp(SKIPS.map(({ source }) => source).join('|'), 'g');

/** Marks in the text of a test file that keep tests from running. */
export function countSkips(text: string): number {
  return text.match(ANY_SKIP)?.length ?? 0;
}

/** What the usual test libraries check with. */
const CHECKS =
  /\b(?:expect|assert\w*|XCTAssert\w*)\s*[(!.]|\b(?:ok|equal|strictEqual|deepEqual|deepStrictEqual|throws|rejects)\s*\(|\bassert\s|\bt\.(?:Error|Fatal)f?\(/g;

/** Places in the text of a test file at which something is checked. */
export function countChecks(text: string): number {
  return text.match(CHECKS)?.length ?? 0;
}

/** What the usual test runners take for one test. */
const TESTS =
  /\b(?:test|it|specify|xit|xtest|fit)(?:\.\w+)*\s*(?:\([^)\n]{0,200}\)\s*)?[(`]\s*['"`]|^[ \t]*(?:async[ \t]+)?def test\w*\s*\(|^func (?:Test|Fuzz)\w*\s*\(|@(?:Parameterized|Repeated)?Test\b|#\[(?:\w+::)*test\b|\[(?:Fact|Theory|Test|TestMethod|TestCase)\b|^[ \t]*(?:it|specify|scenario)[ \t]+['"]/gm;

/** Tests in the text of a test file. */
export function countTests(text: string): number {
  return text.match(TESTS)?.length ?? 0;
}
