import { MINUTE_MS } from '../countdown.ts';
import type { Verification } from '../evidence.ts';
import { hasUnrunnableCommand } from '../lane/verification.ts';
import { isTestSettings } from '../review/look-at.ts';
import { countInTests, isTestFile, mayHoldTests } from '../review/test-files.ts';
import type { TaskId } from '../tasks/ids.ts';
import { capText } from '../text/phrase.ts';
import type { NamedTest } from './junit.ts';
import { MAX_NAME_CHARS, MAX_NAMES, type Proof, type UndecidedProof } from './proof.ts';
import { failingTests, nameOfTest, type TestReport } from './test-report.ts';

/** A content of a file in git: its mode as an octal text, and the id of its object. */
export interface FileContent {
  readonly mode: string;
  readonly id: string;
}

/**
 * A file that a task's commits changed, with its content before the first and after the last of them; null where there
 * is no file. Texts are those of tests, null for other files.
 */
export interface TaskFile {
  readonly path: string;
  readonly before: FileContent | null;
  readonly after: FileContent | null;
  readonly textBefore: string | null;
  readonly textAfter: string | null;
}

/** The files that the commits of one task changed. */
export interface TaskChanges {
  readonly task: TaskId;
  readonly files: readonly TaskFile[];
}

/**
 * The trees to check out for the proof of a task's tests. `without`: files to take back, so that only its tests are
 * left. `old`: files to take back for its changed tests in their old form; empty if it changed none. `in-code`: it has
 * tests in files of code, which cannot be taken back alone. `none`: it has no new or changed tests, or changed nothing
 * else.
 */
export type ProofPlan =
  | { readonly kind: 'none' }
  | { readonly kind: 'in-code' }
  | { readonly kind: 'prove'; readonly without: readonly TaskFile[]; readonly old: readonly TaskFile[] };

/** Plans the proof of a task's tests. */
export function planProof({ files }: TaskChanges): ProofPlan {
  const without = files.filter(({ path }) => !isTestFile(path) && !isTestSettings(path));
  const isTested = files.some(({ path, textAfter }) => isTestFile(path) && hasTests(path, textAfter));
  if (without.some(addsTestsToCode)) return { kind: 'in-code' };
  if (!isTested || without.length === 0) return { kind: 'none' };
  const isChanged = files.some(
    ({ path, textBefore, textAfter }) =>
      isTestFile(path) &&
      textBefore !== null &&
      hasTests(path, textBefore) &&
      !isOnlyAdded(textBefore, textAfter ?? ''),
  );
  const old = files.filter(({ path, before }) => isTestFile(path) && before !== null);
  return { kind: 'prove', without, old: isChanged ? old : [] };
}

function hasTests(path: string, text: string | null): boolean {
  if (text === null) return false;
  const { tests, assertions } = countInTests(path, text);
  return tests + assertions > 0;
}

function addsTestsToCode({ path, textBefore, textAfter }: TaskFile): boolean {
  if (!mayHoldTests(path)) return false;
  const [before, after] = [textBefore, textAfter].map((text) => countInTests(path, text ?? ''));
  return (after?.tests ?? 0) > (before?.tests ?? 0) || (after?.assertions ?? 0) > (before?.assertions ?? 0);
}

/** Returns true if a text only gained lines, so that what it tested before is still in it. */
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

/** Maximum time in ms that `verify` may take if tests are proven where it is quick. */
const QUICK_MS = 5 * MINUTE_MS;

/** True if `verify`, which takes `usualMs`, is run again for proofs. */
export function isWorthProving(mode: 'auto' | 'true' | 'false', usualMs: number): boolean {
  return mode === 'true' || (mode === 'auto' && usualMs <= QUICK_MS);
}

/**
 * Returns the time in ms that one more run of `verify` may take, or null if it does not fit into what is left of the
 * run. Without the change it may hang, so it gets no more than three times its usual time.
 */
export function proofTimeout({
  usualMs,
  leftMs,
}: {
  readonly usualMs: number;
  readonly leftMs: number;
}): number | null {
  return leftMs < Math.max(MINUTE_MS / 2, 1.5 * usualMs) ? null : Math.min(leftMs, Math.max(MINUTE_MS, 3 * usualMs));
}

/**
 * Returns a run of `verify` for a proof; undecided if it was cut off, could not run, or printed too much to be read
 * (`report` is null then).
 */
export function proofRunOf(
  verification: Exclude<Verification, { kind: 'not-run' }>,
  report: TestReport | null,
): ProofRun {
  if (verification.kind === 'failed' && verification.code === null) return { kind: 'undecided', why: 'timeout' };
  if (hasUnrunnableCommand(verification)) return { kind: 'undecided', why: 'cannot-run' };
  return report === null ? { kind: 'undecided', why: 'too-long' } : { kind: 'ran', verification, report };
}

/** Judges a task's tests by a run of `verify` on the head without the task's change. */
export function judgeWithout(run: ProofRun, reports: Reports, tasks: Tasks): Proof['without'] {
  if (run.kind === 'undecided') return run;
  const { verification, report } = run;
  const fresh = newTests(reports, tasks);
  // A test that is not reported without the change has failed there, or has passed with its whole file.
  const passing = fresh.filter(({ name, test }) => passesOn(report, name, test));
  const failing = fresh.filter(({ name }) => report.get(name)?.result === 'failed');
  // A test that is not reported has not failed where `verify` passes: it did not run.
  const isDecided = verification.kind === 'failed' || passing.length + failing.length >= fresh.length;
  if (fresh.length > 0 && isDecided)
    return {
      kind: 'new',
      of: fresh.every(({ test }) => test.of === 'file') ? 'file' : 'test',
      count: fresh.length,
      passing: passing.length,
      named: namedOf(passing.map(({ name }) => name)),
    };
  const old = failingTests(report).filter(([name, test]) => passesOn(reports.head, name, test));
  return verification.kind === 'failed' && old.length > 0
    ? { kind: 'changed', failing: old.length }
    : { kind: 'whole', passed: verification.kind === 'passed' };
}

/** Returns true if a test passes by a report, which may name only its file. */
function passesOn(report: TestReport, name: string, { file }: NamedTest): boolean {
  const known = report.get(name) ?? (file === null ? undefined : report.get(nameOfTest({ file, path: [] })));
  return known?.result === 'passed';
}

/** Judges a task's changed tests by a run of `verify` on the head with their old form. */
export function judgeOld(run: ProofRun): NonNullable<Proof['old']> {
  if (run.kind === 'undecided') return run;
  if (run.verification.kind === 'passed') return { kind: 'passed' };
  const shown = failingTests(run.report).map(([name]) => name);
  return { kind: 'failed', failing: shown.length, named: namedOf(shown) };
}

function namedOf(names: readonly string[]): readonly string[] {
  return names.slice(0, MAX_NAMES).map((name) => capText(name, MAX_NAME_CHARS));
}

/** Returns the tests that pass on the head, that the base does not have, and that belong to the task. */
function newTests(
  { base, head }: Reports,
  tasks: Tasks,
): readonly { readonly name: string; readonly test: NamedTest }[] {
  if (base === null) return [];
  const otherLines = tasks.others.map(linesAddedToTests).filter((lines) => lines !== '');
  // A base that names no test may still have some, for example behind a cache of results.
  const isCertain = base.size > 0;
  const added = otherLines.length === 0 && isCertain ? null : [linesAddedToTests(tasks.own), ...otherLines];
  const ownFiles = tasks.own.files.filter(({ path, before }) => isTestFile(path) && (isCertain || before === null));
  const expanded = filesWithTests(head);
  const expandedOnBase = filesWithTests(base);
  return [...head]
    .map(([name, test]) => ({ name, test }))
    .filter(({ name, test: { of, file, result } }) => {
      if (result !== 'passed' || base.has(name)) return false;
      if (of === 'file') return !expanded.has(file) && !expandedOnBase.has(file);
      // Some reporters name the tests of a file only if it is the only one, or has failures.
      return file === null || !base.has(nameOfTest({ file, path: [] })) || expandedOnBase.has(file);
    })
    .filter(({ test }) => added === null || belongsTo(test, ownFiles, added));
}

function filesWithTests(report: TestReport): ReadonlySet<string | null> {
  return new Set([...report.values()].flatMap(({ of, file }) => (of === 'test' ? [file] : [])));
}

/** Returns true if a test is one of the task's own, by the lines that name it, else by its file. */
function belongsTo(
  { file, path }: NamedTest,
  ownFiles: readonly TaskFile[],
  [ownLines = '', ...otherLines]: readonly string[],
): boolean {
  const title = (path.at(-1) ?? '').replace(/\[.*\]$/, '');
  if (title !== '' && ownLines.includes(title)) return true;
  if (title !== '' && otherLines.some((lines) => lines.includes(title))) return false;
  return file !== null && ownFiles.some((one) => isSameFile(one.path, file));
}

/** Returns true if a reporter may write a path as `file`: absolute, below a folder, or as a module of Python. */
function isSameFile(path: string, file: string): boolean {
  const module = path.replace(/\.\w+$/, '').replaceAll('/', '.');
  return file.endsWith(path) || path.endsWith(`/${file}`) || `${file}.`.startsWith(`${module}.`);
}

function linesAddedToTests({ files }: TaskChanges): string {
  return files
    .flatMap(({ textBefore, textAfter }) => {
      const known = new Set((textBefore ?? '').split('\n'));
      return (textAfter ?? '').split('\n').filter((line) => !known.has(line));
    })
    .join('\n');
}
