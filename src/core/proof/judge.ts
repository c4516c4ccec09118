import { MINUTE_MS } from '../countdown.ts';
import type { Verification } from '../evidence.ts';
import { hasUnrunnableCommand } from '../lane/verification.ts';
import { definesPackages, isTestSettings } from '../review/look-at.ts';
import { countInTests, isTestFile, mayHoldTests } from '../review/test-files.ts';
import type { TaskId } from '../tasks/ids.ts';
import { capText } from '../text/phrase.ts';
import { MAX_NAME_CHARS, MAX_NAMES, type Proof, type UndecidedProof } from './proof.ts';
import type { NamedTest } from './junit.ts';
import { isOfExamples, listFailingTests, nameOfTest, type TestReport } from './test-report.ts';

/** The content of a file in git: its mode in octal, and the id of its object. */
export interface FileContent {
  readonly mode: string;
  readonly id: string;
}

/**
 * A file that a task's commits changed, with its content before the first and after the last of them; null if the file
 * did not exist then. Only files with tests have texts; the texts of other files are null.
 */
export interface TaskFile {
  readonly path: string;
  readonly before: FileContent | null;
  readonly after: FileContent | null;
  readonly textBefore: string | null;
  readonly textAfter: string | null;
}

/** A file to restore: to `text` if it is given, else to the content before the task. */
export type RestoredFile = TaskFile & { readonly text?: string };

/** The files that the commits of one task changed. */
export interface TaskChanges {
  readonly task: TaskId;
  readonly files: readonly TaskFile[];
}

/**
 * The trees to check out for the proof of a task's tests. `without`: files to restore so that only the task's tests
 * remain. `old`: test files to restore to their old form; empty if the task changed no existing tests. `in-code`: the
 * task has tests in code files, from which they cannot be separated. `none`: the task has no new or changed tests, or
 * changed nothing else that tests can cover.
 */
export type ProofPlan =
  | { readonly kind: 'none' }
  | { readonly kind: 'in-code' }
  | { readonly kind: 'prove'; readonly without: readonly RestoredFile[]; readonly old: readonly TaskFile[] };

/** Plans the proof of a task's tests. */
export function planProof({ files }: TaskChanges): ProofPlan {
  const changed = files.filter(({ path }) => !isTestFile(path) && !isTestSettings(path));
  const said = changed.filter(({ path }) => !SAYS_NOTHING.test(path));
  if (said.length === 0) return { kind: 'none' };
  // Package files are kept, because a test may need a new package or script, unless nothing else changed.
  const hasCode = said.some(({ path }) => !definesPackages(path));
  const taken = changed.filter(({ path }) => !hasCode || !definesPackages(path));
  const without = taken.map(withOwnTests);
  if (without.includes(null)) return { kind: 'in-code' };
  const isTested =
    without.some((file, at) => file !== taken[at]) ||
    files.some(({ path, textAfter }) => isTestFile(path) && hasTests(path, textAfter));
  if (!isTested) return { kind: 'none' };
  const old = files.filter(({ path, before }) => isTestFile(path) && before !== null);
  const isChanged = old.some(({ path, textBefore, textAfter }) => {
    if (textBefore === null) return EXPECTED.test(path);
    return hasTests(path, textBefore) && !isOnlyAdded(textBefore, textAfter ?? '');
  });
  return { kind: 'prove', without: without.filter((file) => file !== null), old: isChanged ? old : [] };
}

/** Matches files with expected test results, such as snapshots. */
const EXPECTED = /\.(?:snap|ambr|golden)$|(?:^|\/)__snapshots__\/|\.(?:approved|verified)\.[^/]+$/;

/** Matches files that tests do not cover: documents and task lists. */
const SAYS_NOTHING = /\.(?:mdx?|rst|adoc)$|(?:^|\/)(?:\.ralph|\.beads)\/|(?:^|\/)prd\.json$/i;

/** Matches the tests in a Rust file: a module at its end, or the declaration of a test module in another file. */
const RUST_TESTS = /^#\[cfg\(test\)\]\n(?:#.*\n)*(?:pub )?mod \w+(?:;\n| *\{\n(?:(?:[^}\n][^\n]*)?\n)*\}\s*(?![^]))/m;

/** Returns a file with its new tests and its old code; null if the tests cannot be separated from the code. */
function withOwnTests(file: TaskFile): RestoredFile | null {
  const { path, textBefore, textAfter } = file;
  if (textAfter === null || !mayHoldTests(path)) return file;
  const tests = RUST_TESTS.exec(textAfter)?.[0] ?? '';
  const before = (textBefore ?? '').replace(RUST_TESTS, '');
  const [known, now] = [before, textAfter.replace(RUST_TESTS, '')].map((text) => countInTests(path, text).tests);
  const isApart = (now ?? 0) <= (known ?? 0);
  if (isApart && (tests === '' || textBefore?.includes(tests) === true)) return file;
  // A new file belongs to the program only through a line in another file, and that file is restored, so its tests
  // would not run.
  return isApart && textBefore !== null ? { ...file, text: `${before}\n${tests}` } : null;
}

function hasTests(path: string, text: string | null): boolean {
  if (text === null) return false;
  const { tests, assertions } = countInTests(path, text);
  return tests + assertions > 0;
}

/** Returns true if the text only gained lines, so that it still contains all earlier tests. */
function isOnlyAdded(before: string, after: string): boolean {
  const wanted = before.split('\n');
  let at = 0;
  for (const line of after.split('\n')) if (line === wanted[at]) at += 1;
  return at === wanted.length;
}

/** A run of `verify` for a proof, and the tests that its output names. */
export type ProofRun =
  | {
      readonly kind: 'ran';
      readonly verification: Exclude<Verification, { kind: 'not-run' }>;
      readonly report: TestReport;
    }
  | { readonly kind: 'undecided'; readonly why: UndecidedProof };

interface Reports {
  /** The tests of the base branch; null if they are not known. */
  readonly base: TestReport | null;
  readonly head: TestReport;
}

/** A task with the other tasks of its branch. */
interface Tasks {
  readonly own: TaskChanges;
  readonly others: readonly TaskChanges[];
}

/** Maximum duration of `verify` in ms up to which the mode `auto` proves tests. */
const QUICK_MS = 5 * MINUTE_MS;

/** Returns true if `verify` runs again for proofs; `usualMs` is its usual duration. */
export function isWorthProving(mode: 'auto' | 'true' | 'false', usualMs: number): boolean {
  return mode === 'true' || (mode === 'auto' && usualMs <= QUICK_MS);
}

/**
 * Returns the time in ms that one more run of `verify` may take; null if the rest of the run is too short for it.
 * `verify` may hang without the change, so it gets no more than three times its usual duration.
 */
export function computeProofTimeout({
  usualMs,
  leftMs,
}: {
  readonly usualMs: number;
  readonly leftMs: number;
}): number | null {
  return leftMs < Math.max(MINUTE_MS / 2, 1.5 * usualMs) ? null : Math.min(leftMs, Math.max(MINUTE_MS, 3 * usualMs));
}

/**
 * Returns a run of `verify` for a proof; undecided if it was cut off, could not run, or printed too much to be parsed
 * (a null `report`).
 */
export function judgeProofRun(
  verification: Exclude<Verification, { kind: 'not-run' }>,
  report: TestReport | null,
): ProofRun {
  if (verification.kind === 'failed' && verification.code === null) return { kind: 'undecided', why: 'timeout' };
  if (hasUnrunnableCommand(verification)) return { kind: 'undecided', why: 'cannot-run' };
  return report === null ? { kind: 'undecided', why: 'too-long' } : { kind: 'ran', verification, report };
}

/** Judges a task's tests by a run of `verify` on the head without the task's change. */
export function judgeTestsWithoutChange(run: ProofRun, reports: Reports, tasks: Tasks): Proof['without'] {
  if (run.kind === 'undecided') return run;
  const { verification, report } = run;
  const found = newTests(reports, tasks);
  const fresh = found
    .filter(({ test }) => !isRemovedWithChange(test, tasks.own))
    .flatMap((one) => expandFileResult(one, report));
  // A test that this report does not name has failed, or has passed as part of its file, so the file's result is used
  // as well.
  const passing = fresh.flatMap((one) => (countPassing(report, one) > 0 ? [one] : []));
  const failing = fresh.filter(({ name }) => report.get(name)?.result === 'failed');
  const hasRun = verification.kind === 'failed' || passing.length > 0 || failing.length === fresh.length;
  if (fresh.length > 0 && hasRun)
    return {
      kind: 'new',
      of: fresh.every(({ test }) => test.of === 'file') ? 'file' : 'test',
      count: fresh.reduce((sum, { count }) => sum + count, 0),
      passing: passing.reduce((sum, one) => sum + countPassing(report, one), 0),
      named: namedOf(passing.map(({ name }) => name)),
    };
  // If `verify` passes, a test that its report does not name did not fail: it did not run, so it proves nothing.
  if (found.length > 0 && verification.kind === 'passed') return { kind: 'undecided', why: 'not-run' };
  const old = listFailingTests(report).filter(([name, test]) => passesOn(reports.head, name, test));
  return verification.kind === 'failed' && old.length > 0
    ? { kind: 'changed', failing: old.length }
    : { kind: 'whole', passed: verification.kind === 'passed' };
}

/** New tests with the same name. */
interface FoundTest {
  readonly name: string;
  readonly test: NamedTest;
  readonly count: number;
  /** Number of old tests with this name. */
  readonly known: number;
  /** Number of times that each test ran, for example with several versions of a language. */
  readonly repeats: number;
}

/**
 * Replaces a file's result with those of its tests, if the report names all of them. Some reporters name the tests of a
 * file only if one of them fails.
 */
function expandFileResult(found: FoundTest, report: TestReport): readonly FoundTest[] {
  const { of, file } = found.test;
  const own = [...report].flatMap(([name, test]) =>
    of === 'file' && test.of === 'test' && test.file === file && test.result !== 'skipped'
      ? [{ ...found, name, test, count: countOnce(test.runs, found.repeats) }]
      : [],
  );
  // A reporter that lists only failures does not show how many tests there are, so the file's own result stays.
  return own.some(({ test }) => test.result === 'passed') ? own : [found];
}

/**
 * Returns true if a test is in a changed code file, as in Rust, or in a document whose examples a code file includes;
 * the proof removes it together with the change.
 */
function isRemovedWithChange({ file, path: [first = ''] }: NamedTest, { files }: TaskChanges): boolean {
  if (isOfExamples(file) && files.some(({ path }) => /\.md$/i.test(path))) return true;
  const place = /^(\S+\.rs) -/.exec(first)?.[1] ?? (file?.endsWith('.rs') === true ? null : file);
  return place !== null && files.some(({ path }) => !isTestFile(path) && isSameFile(path, place));
}

/** Returns the number of new tests with one name that pass; the old ones with this name are expected to pass. */
function countPassing(report: TestReport, { name, test, count, known, repeats }: FoundTest): number {
  if (!passesOn(report, name, test)) return 0;
  const passed = report.get(name)?.passed;
  return passed === undefined ? count : Math.min(count, Math.max(0, countOnce(passed, repeats) - known));
}

/** Returns how often every test of a report ran. */
function countRepeats(report: TestReport): number {
  const runs = [...report.values()].flatMap((test) => (test.of === 'test' && test.runs > 0 ? [test.runs] : []));
  return runs.reduce((least, one) => Math.min(least, one), runs[0] ?? 1);
}

function countOnce(number: number, repeats: number): number {
  return Math.ceil(number / repeats);
}

/**
 * Returns true if a test passes according to a report, which may name only the test's file. Of tests with the same
 * name, one that passes is enough.
 */
function passesOn(report: TestReport, name: string, { file }: NamedTest): boolean {
  const known = report.get(name) ?? (file === null ? undefined : report.get(nameOfTest({ file, path: [] })));
  return known?.result === 'passed' || known?.result === 'mixed';
}

/** Judges a task's changed tests by a run of `verify` on the head with their old form. */
export function judgeOldTests(run: ProofRun): NonNullable<Proof['old']> {
  if (run.kind === 'undecided') return run;
  if (run.verification.kind === 'passed') return { kind: 'passed' };
  const shown = listFailingTests(run.report).map(([name]) => name);
  return { kind: 'failed', failing: shown.length, named: namedOf(shown) };
}

function namedOf(names: readonly string[]): readonly string[] {
  return names.slice(0, MAX_NAMES).map((name) => capText(name, MAX_NAME_CHARS));
}

/** Returns the tests that pass on the head, that the base does not have, and that belong to the task. */
function newTests({ base, head }: Reports, tasks: Tasks): readonly FoundTest[] {
  if (base === null || hasOtherNames(base, head)) return [];
  const otherLines = tasks.others.map(linesAddedToTests).filter((lines) => lines !== '');
  const ownLines = linesAddedToTests(tasks.own);
  // If the base's report names no tests, the base may still have some, for example behind a cache of results, so only
  // tests in lines or files that the task added are new.
  const isCertain = base.size > 0;
  const added = otherLines.length === 0 && isCertain ? null : [ownLines, ...otherLines];
  const ownFiles = tasks.own.files.filter(({ path, before }) => isTestFile(path) && (isCertain || before === null));
  const gone = new Set([...base].flatMap(([name, test]) => (head.has(name) ? [] : [titleOf(test)])));
  const expanded = filesWithTests(head);
  const expandedOnBase = filesWithTests(base);
  const repeats = countRepeats(base);
  return [...head]
    .map(([name, test]) => {
      const known = countOnce(base.get(name)?.runs ?? 0, repeats);
      return { name, test, known, repeats, count: Math.max(1, countOnce(test.runs, repeats) - known) };
    })
    .filter(({ name, test, known }) => {
      const { of, file, result, runs } = test;
      if (result !== 'passed') return false;
      // One more test with a known name is new only if the task added its title.
      if (base.has(name)) return of === 'test' && countOnce(runs, repeats) > known && hasTitleIn(test, ownLines);
      if (of === 'file') return !expanded.has(file) && !expandedOnBase.has(file);
      // A test that moved to another file is not new.
      if (gone.has(titleOf(test))) return false;
      // Some reporters name the tests of a file only if it is the only file, or has failures, so a test is not
      // certainly new if the base names only its file.
      return file === null || !base.has(nameOfTest({ file, path: [] })) || expandedOnBase.has(file);
    })
    .filter(({ test }) => added === null || belongsTo(test, ownFiles, added));
}

/**
 * Returns true if most of the base's tests have other names on the head, as with a reporter that adds a number or a
 * place to each name: then a new name says nothing.
 */
function hasOtherNames(base: TestReport, head: TestReport): boolean {
  const missing = [...base].filter(([name, { file }]) => !head.has(name) && !head.has(nameOfTest({ file, path: [] })));
  return missing.length * 2 > base.size;
}

function titleOf({ of, path }: NamedTest): string | null {
  return of === 'file' ? null : path.join(' > ');
}

function filesWithTests(report: TestReport): ReadonlySet<string | null> {
  return new Set([...report.values()].flatMap(({ of, file }) => (of === 'test' ? [file] : [])));
}

/** Returns true if a test belongs to the task: because the task's lines contain its title, else because of its file. */
function belongsTo(
  { file, path }: NamedTest,
  ownFiles: readonly TaskFile[],
  [ownLines = '', ...otherLines]: readonly string[],
): boolean {
  if (hasTitleIn({ path }, ownLines)) return true;
  if (otherLines.some((lines) => hasTitleIn({ path }, lines))) return false;
  return file !== null && ownFiles.some((one) => isSameFile(one.path, file));
}

function hasTitleIn({ path }: Pick<NamedTest, 'path'>, lines: string): boolean {
  const title = (path.at(-1) ?? '').replace(/\[.*\]$/, '');
  return title !== '' && lines.includes(title);
}

/** Returns true if `file` may be a reporter's form of the path: absolute, below a folder, or as a Python module. */
function isSameFile(path: string, file: string): boolean {
  const module = path.replace(/\.\w+$/, '').replaceAll('/', '.');
  const isModule = path.endsWith('.py') && `${file}.`.startsWith(`${module}.`);
  return `/${file}`.endsWith(`/${path}`) || path.endsWith(`/${file}`) || isModule;
}

function linesAddedToTests({ files }: TaskChanges): string {
  return files
    .flatMap(({ textBefore, textAfter }) => {
      const known = new Set((textBefore ?? '').split('\n'));
      return (textAfter ?? '').split('\n').filter((line) => !known.has(line));
    })
    .join('\n');
}
