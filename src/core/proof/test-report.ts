import { tryJson } from '../text/try-json.ts';
import { parseJunitTests, MAX_TESTS, type NamedTest, type TestResult } from './junit.ts';

/** Maximum length of a line that is parsed, in UTF-16 units; only JSON may be longer. */
const MAX_LINE_CHARS = 1_000;

const MAX_NAME_CHARS = 300;

/** Maximum number of suite and test names in a path; deeper names are joined. */
const MAX_DEPTH = 12;

/** The tests with one name: how many of them ran, and how many of these passed. */
type ReportedTest = NamedTest & { readonly runs: number; readonly passed: number };

/** The tests that the output of `verify` names, by `nameOfTest`; empty if no reporter is known. */
export type TestReport = ReadonlyMap<string, ReportedTest>;

/** A test as one reader found it; another reader, or a summary, may name the same test again. */
type ReadTest = NamedTest & { readonly by?: number };

/** The report of an output that names no test. */
export const NO_TESTS: TestReport = new Map();

/** Returns the name of a test for people, which also identifies it: `test/sum.test.ts > sum > adds`. */
export function nameOfTest({ file, path }: Pick<NamedTest, 'file' | 'path'>): string {
  return [...(file === null ? [] : [file]), ...path].join(' > ').slice(0, MAX_NAME_CHARS);
}

/**
 * Parses the output of test runners: JUnit XML or, without it, TAP and what vitest, jest, mocha, node, pytest, go and
 * cargo print. Accepts any string.
 */
export function parseTestReport(text: string): TestReport {
  const inXml = parseJunitTests(text);
  return withoutContainers(inXml.length > 0 ? inXml : consoleTests(text));
}

/** Returns the failures of a report by name: its tests or, if it names none, its files. */
export function listFailingTests(report: TestReport): readonly (readonly [string, NamedTest])[] {
  const failed = [...report].filter(([, { result }]) => result === 'failed' || result === 'mixed');
  const tests = failed.filter(([, { of }]) => of === 'test');
  return tests.length > 0 ? tests : failed;
}

/**
 * Returns the tests by name, without their suites. Tests with the same name have one result together.
 */
function withoutContainers(tests: readonly ReadTest[]): TestReport {
  const containers = new Set(
    tests.flatMap(({ of, file, path }) =>
      of === 'file' ? [] : path.map((_, length) => nameOfTest({ file, path: path.slice(0, length) })),
    ),
  );
  // A suite has no result of its own; the result of a file is used only if its tests are not named.
  const named = Map.groupBy(tests.slice(0, MAX_TESTS), (test) =>
    test.of === 'test' && containers.has(nameOfTest(test)) ? '' : nameOfTest(test),
  );
  named.delete('');
  return new Map([...named].map(([name, same]) => [name, combineTests(same)]));
}

function combineTests(same: readonly ReadTest[]): ReportedTest {
  const [first, ...others] = same as readonly [ReadTest, ...ReadTest[]];
  const result = others.reduce((known, test) => combineResults({ ...first, result: known }, test), first.result);
  const most = (isMeant: (test: ReadTest) => boolean): number =>
    Math.max(...[...Map.groupBy(same, ({ by }) => by).values()].map((tests) => tests.filter(isMeant).length));
  return {
    ...{ of: first.of, file: first.file, path: first.path, result },
    runs: most((test) => test.result !== 'skipped'),
    passed: most((test) => test.result === 'passed'),
  };
}

function combineResults({ of, result }: NamedTest, other: NamedTest): TestResult {
  if (result === 'skipped') return other.result;
  if (result === other.result || other.result === 'skipped') return result;
  return of === 'file' ? 'failed' : 'mixed';
}

/** An open suite, which contains the lines that are indented further. */
interface Suite {
  readonly indent: number;
  readonly name: string;
  /** True for a subtest of TAP, whose result follows the lines in it. */
  readonly isSubtest: boolean;
}

/** The state of the parser between two lines. */
interface Position {
  readonly tests: ReadTest[];
  /** The reader of the line; negative in its summary. */
  by: number;
  /** The test of tape that the lines belong to, with an empty title before the first; null for other programs. */
  tape: { readonly title: string; readonly hasResult: boolean } | null;
  file: string | null;
  suites: readonly Suite[];
  /** Go tests whose package the output names only after them. */
  packageless: Pick<NamedTest, 'path' | 'result'>[];
  /** True while lines without a mark are suites, as jest prints them below a file. */
  isTree: boolean;
  /** True below a heading that repeats the failures without their suites. */
  isRepeated: boolean;
  jestFailed: boolean;
  /** True below the summary of cargo-nextest, which lists the tests whose last attempt failed. */
  isNextestSummary: boolean;
  /** True after a line that the first suite of mocha may follow: an empty one, or a test outside of suites. */
  mayBeginSuite: boolean;
}

type Reader = (line: string, at: Position) => boolean;

function consoleTests(text: string): readonly NamedTest[] {
  const at: Position = {
    ...{ tests: [], file: null, suites: [], packageless: [] },
    ...{ by: 0, tape: null },
    ...{ isTree: false, isRepeated: false, jestFailed: false },
    ...{ isNextestSummary: false, mayBeginSuite: false },
  };
  for (const whole of text.split('\n')) {
    if (at.tests.length >= MAX_TESTS) break;
    if (whole.startsWith('{')) readGoEvent(whole, at);
    const line = whole.slice(0, MAX_LINE_CHARS).trimEnd();
    READERS.some((read, by) => read(line, Object.assign(at, { by: by + 1 })));
    at.mayBeginSuite = /^(?:$| {2}(?:[✓✔√]|\d+\)) )/.test(line);
  }
  return at.tests;
}

function add(at: Position, test: Omit<NamedTest, 'of'> & { readonly of?: NamedTest['of'] }): true {
  const { path } = test;
  // The depth is limited, because every suite above a test is compared with every name.
  const bounded =
    path.length <= MAX_DEPTH ? path : [...path.slice(0, MAX_DEPTH - 1), path.slice(MAX_DEPTH - 1).join(' > ')];
  at.tests.push({ of: 'test', by: at.by, ...test, path: bounded });
  return true;
}

const GO_RESULTS: Readonly<Record<string, TestResult>> = { pass: 'passed', fail: 'failed' };

function readGoEvent(line: string, at: Position): void {
  if (!/"Action":"(?:pass|fail|skip)"/.test(line)) return;
  const event = tryJson(line);
  if (typeof event !== 'object' || event === null) return;
  const { Action, Package, Test } = event as Readonly<Record<string, unknown>>;
  if (typeof Package !== 'string') return;
  const result = GO_RESULTS[String(Action)] ?? 'skipped';
  if (typeof Test === 'string') add(at, { file: Package, path: Test.split('/'), result });
  else add(at, { of: 'file', file: Package, path: [], result });
}

function readGo(line: string, at: Position): boolean {
  const [, word, name] = /^\s*--- (PASS|FAIL|SKIP): (\S+)/.exec(line) ?? [];
  if (word !== undefined && name !== undefined) {
    at.packageless.push({ path: name.split('/'), result: GO_RESULTS[word.toLowerCase()] ?? 'skipped' });
    return true;
  }
  const [, end, file] = /^(ok {2}|FAIL)\t(\S+)(?:\s|$)/.exec(line) ?? [];
  if (end === undefined || file === undefined) return false;
  for (const test of at.packageless.splice(0)) add(at, { file, ...test });
  return add(at, { of: 'file', file, path: [], result: end === 'FAIL' ? 'failed' : 'passed' });
}

/** Matches a result of cargo-nextest. */
const NEXTEST =
  /^ +(TRY \d+ )?(PASS|LEAK|FAIL|LEAK-FAIL|SIG[A-Z]+|ABORT|TIMEOUT) \[ *[\d.]+s\] (?:\( *\d+\/\d+\) )?(\S+) (\S+)$/;

const EXAMPLES = 'documentation of ';

/** Returns true for the file of the examples in the documentation of a crate. */
export function isOfExamples(file: string | null): boolean {
  return file?.startsWith(EXAMPLES) === true;
}

function readCargo(line: string, at: Position): boolean {
  const [, part] = /^ +(Starting|Summary) /.exec(line) ?? [];
  if (part !== undefined) at.isNextestSummary = part === 'Summary';
  const [, attempt, end, binary, path] = NEXTEST.exec(line) ?? [];
  if (end !== undefined && binary !== undefined && path !== undefined) {
    const result = /^(?:PASS|LEAK)$/.test(end) ? 'passed' : 'failed';
    const isLast = attempt === undefined || result === 'passed' || at.isNextestSummary;
    return isLast && add(at, { file: binary, path: path.split('::'), result });
  }
  const [, file, documented] = /^ {3,}(?:Running (?:unittests )?(\S+) \(|Doc-tests (\S+)$)/.exec(line) ?? [];
  if (file !== undefined || documented !== undefined) {
    at.file = file ?? `${EXAMPLES}${documented ?? ''}`;
    return true;
  }
  const [, name = '', word] =
    /^test (\S.*?)(?: - (?:should panic|compile(?: fail)?))* \.\.\. (ok|FAILED|ignored)\b/.exec(line) ?? [];
  if (word === undefined) return false;
  const result = word === 'ok' ? 'passed' : word === 'FAILED' ? 'failed' : 'skipped';
  // The name of a documented example contains its line number, which changes, so it is removed.
  return add(at, { file: at.file, path: name.replace(/ \(line \d+\)$/, '').split('::'), result });
}

/** The name of a test of pytest; the values in its brackets may contain anything. */
const PYTEST_NAME = String.raw`([^[]+?(?:\[.*?\])?)`;
const PYTEST_WORD = '(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)';
/** Matches the result of a test by a worker or in the summary, before its name, or after its name. */
const PYTEST_RESULT = new RegExp(
  String.raw`^(?:(?:\[gw\d+\] \[ *\d+%\] ${PYTEST_WORD} (\S+?)|${PYTEST_WORD} (\S+?\.py))::${PYTEST_NAME}(?: - .*)?|(\S+?)::${PYTEST_NAME} ${PYTEST_WORD}\b.*)$`,
);

function readPytest(line: string, at: Position): boolean {
  const [, byWorker, workersFile, inSummary, listedFile, nameAfter, fileBefore, nameBefore, after] =
    PYTEST_RESULT.exec(line) ?? [];
  const [word, file] = [byWorker ?? inSummary ?? after, workersFile ?? listedFile ?? fileBefore];
  const name = nameAfter ?? nameBefore;
  const [, broken] = /^(?:FAILED|ERROR) (\S+?\.py)(?:::.+| - .*)?$/.exec(line) ?? [];
  if (broken !== undefined) add(at, { of: 'file', file: broken, path: [], result: 'failed' });
  if (word !== undefined && file !== undefined && name !== undefined) {
    if (inSummary !== undefined) at.by *= -1;
    const result = word === 'PASSED' || word === 'XPASS' ? 'passed' : /SKIP|XFAIL/.test(word) ? 'skipped' : 'failed';
    return add(at, { file, path: splitPytest(name), result });
  }
  if (broken !== undefined) return true;
  const [, listed, marks] = /^(?:(\S+\.py) )?([.FEsxX]+)(?: +\[ *\d+%\])?$/.exec(line) ?? [];
  if (marks === undefined) return false;
  at.file = listed ?? at.file;
  if (at.file === null || !at.file.endsWith('.py')) return false;
  const result = /[FE]/.test(marks) ? 'failed' : /[.X]/.test(marks) ? 'passed' : 'skipped';
  return add(at, { of: 'file', file: at.file, path: [], result });
}

/** Splits the name of a test into its classes and its own name; the values in brackets stay whole. */
function splitPytest(name: string): readonly string[] {
  const [own = name] = /^[^[]+/.exec(name) ?? [];
  const [last = '', ...classes] = own.split('::').toReversed();
  return [...classes.toReversed(), `${last}${name.slice(own.length)}`];
}

/** The end of a line of TAP: a directive, a duration, or the bracket before its subtests. */
const TAP_END = /(?: in \d+ms)?(?:(?:^|\s)#\s*(?:SKIP|TODO|time=).*)?\s*(\{)?$/i;

function readTap(line: string, at: Position): boolean {
  const [, depth, suite] = /^( *)# Subtest: (.+)$/.exec(line) ?? [];
  if (depth !== undefined && suite !== undefined) return enter(at, depth.length, nameInTap(suite), true);
  const [, title] = /^# (\S.*)$/.exec(line) ?? [];
  // Only tape prints a title as its first line; it does so before the assertions of each test.
  const isOfTape = at.tape !== null && (at.tape.title !== '' || title !== undefined);
  if (line.startsWith('TAP version ')) at.tape = { title: '', hasResult: false };
  else if (!isOfTape) at.tape = null;
  else if (title !== undefined) at.tape = { title, hasResult: false };
  const [, before = '', not, text] = /^( *)(not )?ok \d+(?: -)?(?: (.*))?$/.exec(line) ?? [];
  if (text === undefined) return false;
  const isLeftOut = /(?:^|\s)#\s*(?:SKIP|TODO)\b/i.test(text);
  const result = isLeftOut ? 'skipped' : not === undefined ? 'passed' : 'failed';
  if (at.tape !== null) return addAssertion(at, at.tape, result);
  const name = nameInTap(text.replace(TAP_END, '')) || 'unnamed';
  const isOpened = at.suites.some((one) => one.indent === before.length && one.name === name);
  // A line without a header in a subtest is an assertion, which the result of the subtest includes.
  if (suitesAbove(at, before.length).at(-1)?.isSubtest === true && !isOpened) return true;
  addBelow(at, before.length, { name, result });
  if (text.endsWith('{')) enter(at, before.length, name);
  return true;
}

function nameInTap(text: string): string {
  return text.replaceAll(/\\([#\\])/g, '$1').trim();
}

/** Adds an assertion of tape to the result of its test. */
function addAssertion(at: Position, tape: NonNullable<Position['tape']>, result: TestResult): true {
  const known = tape.hasResult ? at.tests.pop()?.result : undefined;
  at.tape = { ...tape, hasResult: true };
  const isWorse = known === undefined || known === 'skipped' || result === 'failed';
  return add(at, { file: at.file, path: [tape.title], result: isWorse ? result : known });
}

/** Returns the open suites that contain a line with this indentation. */
function suitesAbove(at: Position, indent: number): readonly Suite[] {
  return at.suites.filter((suite) => suite.indent < indent);
}

function enter(at: Position, indent: number, name: string, isSubtest = false): true {
  at.suites = [...suitesAbove(at, indent), { indent, name, isSubtest }];
  return true;
}

function addBelow(
  at: Position,
  indent: number,
  { name, result }: { readonly name: string; readonly result: TestResult },
): true {
  const names = [...suitesAbove(at, indent).map((suite) => suite.name), ...name.split(' > ')];
  const [first = '', ...rest] = names;
  if (!looksLikeFile(first)) return add(at, { file: at.file, path: names, result });
  return add(at, { of: rest.length > 0 ? 'test' : 'file', file: first, path: rest, result });
}

function looksLikeFile(name: string): boolean {
  return /^[\w@./][\w@./\\+-]*\.[a-z]{1,5}$/i.test(name);
}

/** A duration that a runner prints after a name; vitest prints it without brackets. */
const DURATION = / (?:\(\d+(?:\.\d+)? ?m?s\)|\[\d+(?:\.\d+)?m?s\])$/;
const BARE_DURATION = / \d+(?:\.\d+)?m?s(?: \((?:retry|repeat) x\d+\))*$/;

/** The name of a project before a file: with bars, as a colored field between blanks, or as one word. */
const PROJECT = String.raw`(?:\|[^|]{1,80}\| | [^\s|][^|]{0,79}? {2})?`;
const MARKED = new RegExp(String.raw`^( *)([✓✔√✗✘×✖✕❯▶○↓﹣]|\d+\)) ${PROJECT}(\S.*)$`);
const FILE_RESULT = new RegExp(String.raw`^ ?(PASS|FAIL) {1,2}${PROJECT}(\S.*)$`);
const ONE_WORD_PROJECT = /^[\w@/-]{1,80} (?=\S+$)/;
const REPEATED_FILE = / \[ .* \]$/;

function readMarked(line: string, at: Position): boolean {
  if (/^✖ failing tests:$|^ +\d+ passing\b/.test(line)) return (at.isRepeated = true);
  if (/^(?:▶ |TAP version | RUN |> \S+@\d)/.test(line)) at.isRepeated = false;
  const [, before = '', mark = '', text = ''] = MARKED.exec(line) ?? [];
  // A linter's summary of its findings has the same mark, so it is not a test.
  if (mark === '' || at.isRepeated || /^\d+ (?:problem|error|warning)s?\b/.test(text)) return false;
  const indent = before.length;
  const told = text.replace(/ # (?:SKIP|TODO)\b.*$/, '');
  const [, file] = /^(\S+) \(\d+(?: tests?\b[^)]*)?\)/.exec(told) ?? [];
  if (file !== undefined && looksLikeFile(file)) {
    at.file = null;
    enter(at, indent, file);
    return add(at, { of: 'file', file, path: [], result: '✓✔√'.includes(mark) ? 'passed' : 'failed' });
  }
  const [, suite] = looksLikeFile(at.suites[0]?.name ?? '') ? (/^(.+) \(\d+\)$/.exec(told) ?? []) : [];
  if (suite !== undefined) return enter(at, indent, suite);
  // In a stack trace, the mark of a suite precedes a location, so it is not a test.
  if (mark === '❯') return false;
  const isBelowFile = [at.suites[0]?.name, told.split(' > ')[0]].some((one) => looksLikeFile(one ?? ''));
  const name = told
    .replace(/^skipped /, '')
    .replace(isBelowFile ? BARE_DURATION : DURATION, '')
    .trim();
  if (mark === '▶') return enter(at, indent, name);
  if (mark.endsWith(')') && indent < 2) return false;
  const isSkipped = '○↓﹣'.includes(mark) || / # (?:SKIP|TODO)\b/.test(text);
  return addBelow(at, indent, { name, result: isSkipped ? 'skipped' : '✓✔√'.includes(mark) ? 'passed' : 'failed' });
}

function readFileResults(line: string, at: Position): boolean {
  const [, word, text] = FILE_RESULT.exec(line) ?? [];
  if (word !== undefined && text !== undefined) {
    const [file = '', ...rest] = text
      .replace(DURATION, '')
      .replace(ONE_WORD_PROJECT, '')
      .replace(REPEATED_FILE, '')
      .split(' > ');
    if (!looksLikeFile(file)) return false;
    const result = word === 'PASS' ? 'passed' : 'failed';
    add(at, { of: 'file', file, path: [], result });
    if (rest.length > 0) add(at, { file, path: rest, result });
    // Vitest prints such lines only for failures, with their names or with the file once more.
    if (rest.length === 0 && !REPEATED_FILE.test(text))
      Object.assign(at, { file, suites: [], isTree: true, isRepeated: false, jestFailed: word === 'FAIL' });
    return true;
  }
  const [, failure] = /^ {2}● (?!Console$|Test suite failed)(.+)$/.exec(line) ?? [];
  if (failure !== undefined && at.jestFailed) add(at, { file: at.file, path: failure.split(' › '), result: 'failed' });
  if (!at.isTree) return failure !== undefined;
  if (failure !== undefined || !/^ {2,}\S/.test(line)) at.isTree = false;
  else if (!/^ *[✓✔√✗✘×✖✕○✎]/.test(line)) return enter(at, line.length - line.trimStart().length, line.trim());
  return false;
}

/** Reads a suite of mocha: a line without a mark. The first level is indented by two. */
function readMochaSuite(line: string, at: Position): boolean {
  const indent = line.length - line.trimStart().length;
  const [first] = at.suites;
  const isSuite =
    indent === 2
      ? at.mayBeginSuite && (first === undefined || first.indent === 2)
      : indent > 2 && indent % 2 === 0 && first?.indent === 2;
  return isSuite && enter(at, indent, line.trim());
}

const READERS: readonly Reader[] = [
  ...[readGo, readCargo, readPytest, readTap],
  ...[readFileResults, readMarked, readMochaSuite],
];
