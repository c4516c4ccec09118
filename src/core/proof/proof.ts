import { z } from 'zod';
import type { Verification } from '../evidence.ts';
import { hasUnrunnableCommand } from '../lane/verification.ts';
import { countSchema, type Immutable } from '../policy.ts';
import { isTestFile } from '../review/test-files.ts';
import { capText, namesOutOf } from '../text/phrase.ts';
import type { NamedTest } from './junit.ts';
import { linesAddedToTests, type TaskChanges } from './plan.ts';
import { nameOfTest, type TestReport } from './test-report.ts';

/** Maximum number of tests that a proof names, and maximum length of a name, in UTF-16 units. */
const MAX_NAMES = 3;
const MAX_NAME_CHARS = 120;

/**
 * Reasons why a proof cannot be decided. `slow`: `verify` takes too long for a proof. `no-time`: it does not fit into
 * the rest of the run. `timeout`: it did not end in time. `cannot-run`: it cannot run on that tree. `in-code`: the tests
 * are in files of code.
 */
const undecided = ['slow', 'no-time', 'timeout', 'cannot-run', 'in-code'] as const;

export type Undecided = (typeof undecided)[number];

const named = z.array(z.string().max(MAX_NAME_CHARS)).max(MAX_NAMES);

/**
 * `new`: of `count` new tests (or whole files of them), `passing` pass without the change. `changed`: no new test is
 * named, but `failing` tests fail without the change. `whole`: the output names no test, so the whole of `verify` counts.
 */
const withoutSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('new'), of: z.enum(['test', 'file']), count: countSchema, passing: countSchema, named }),
  z.object({ kind: z.literal('changed'), failing: countSchema }),
  z.object({ kind: z.literal('whole'), passed: z.boolean() }),
  z.object({ kind: z.literal('undecided'), why: z.enum(undecided) }),
]);

/** `failed`: `failing` changed tests fail in their old form; 0 if the output names none. */
const oldSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('passed') }),
  z.object({ kind: z.literal('failed'), failing: countSchema, named }),
  z.object({ kind: z.literal('undecided'), why: z.enum(undecided) }),
]);

export const proofSchema = z.object({
  /** The result of `verify` without the task's change, and with its changed tests in their old form (null: none). */
  without: withoutSchema,
  old: oldSchema.nullable(),
});

/** What a task's tests prove of its change. */
export type Proof = Immutable<z.infer<typeof proofSchema>>;

/** A run of `verify` for a proof, and the tests that its output names. `cannot-lay`: its tree could not be laid. */
export type ProofRun =
  | { readonly kind: 'ran'; readonly verification: Exclude<Verification, { kind: 'not-run' }>; readonly report: TestReport }
  | { readonly kind: 'undecided'; readonly why: Undecided };

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

/** Returns a run of `verify` as a proof takes it: one that was cut off, or cannot run, decides nothing. */
export function proofRunOf(verification: Verification, report: TestReport): ProofRun {
  if (verification.kind === 'not-run') return { kind: 'undecided', why: 'timeout' };
  if (verification.kind === 'failed' && verification.code === null) return { kind: 'undecided', why: 'timeout' };
  if (hasUnrunnableCommand(verification)) return { kind: 'undecided', why: 'cannot-run' };
  return { kind: 'ran', verification, report };
}

/** Judges a task's tests by a run of `verify` on the head without the task's change. */
export function judgeWithout(run: ProofRun, reports: Reports, tasks: Tasks): Proof['without'] {
  if (run.kind === 'undecided') return run;
  const { verification, report } = run;
  const fresh = newTests(reports, tasks);
  if (fresh.length > 0) {
    // A test that is not reported without the change has failed there.
    const passing = fresh.filter(({ name }) => report.get(name)?.result === 'passed');
    return {
      kind: 'new',
      of: fresh.every(({ test }) => test.of === 'file') ? 'file' : 'test',
      count: fresh.length,
      passing: passing.length,
      named: namedOf(passing.map(({ name }) => name)),
    };
  }
  const failing = [...report].filter(([name, { result }]) => isTestThat(result, 'failed', reports.head.get(name)));
  return verification.kind === 'failed' && failing.length > 0
    ? { kind: 'changed', failing: failing.length }
    : { kind: 'whole', passed: verification.kind === 'passed' };
}

function isTestThat(result: NamedTest['result'], wanted: NamedTest['result'], onHead: NamedTest | undefined): boolean {
  return result === wanted && onHead?.result === 'passed';
}

/** Judges a task's changed tests by a run of `verify` on the head with their old form. */
export function judgeOld(run: ProofRun): NonNullable<Proof['old']> {
  if (run.kind === 'undecided') return run;
  if (run.verification.kind === 'passed') return { kind: 'passed' };
  const failed = [...run.report].filter(([, { result }]) => result === 'failed');
  const tests = failed.filter(([, { of }]) => of === 'test');
  const shown = (tests.length > 0 ? tests : failed).map(([name]) => name);
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
  const added = tasks.others.length === 0 ? null : [tasks.own, ...tasks.others].map(linesAddedToTests);
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
    .filter(({ test }) => added === null || belongsTo(test, tasks, added));
}

function filesWithTests(report: TestReport): ReadonlySet<string | null> {
  return new Set([...report.values()].flatMap(({ of, file }) => (of === 'test' ? [file] : [])));
}

/** Returns true if a test is one of the task's own, by the lines that name it, else by its file. */
function belongsTo({ file, path }: NamedTest, { own }: Tasks, [ownLines = '', ...otherLines]: readonly string[]): boolean {
  const title = (path.at(-1) ?? '').replace(/\[.*\]$/, '');
  if (title !== '' && ownLines.includes(title)) return true;
  if (title !== '' && otherLines.some((lines) => lines.includes(title))) return false;
  return file !== null && own.files.some((one) => isTestFile(one.path) && isSameFile(one.path, file));
}

/** Returns true if a reporter may write a path as `file`: absolute, below a folder, or as a module of Python. */
function isSameFile(path: string, file: string): boolean {
  const module = path.replace(/\.\w+$/, '').replaceAll('/', '.');
  return file.endsWith(path) || path.endsWith(`/${file}`) || `${file}.`.startsWith(`${module}.`);
}

/** A sentence about a proof. `isConcern`: a reviewer looks at it first. `names`: the tests that it is about. */
export interface ProofSentence {
  readonly text: string;
  readonly names: readonly string[];
  readonly isConcern: boolean;
}

/** Returns what a proof says, in one or two sentences. */
export function proofSentences({ without, old }: Proof): readonly ProofSentence[] {
  return [withoutSentence(without), ...(old === null ? [] : oldSentences(old))];
}

/** Returns a sentence with the names of its tests, without markup. */
export function plainProofSentence({ text, names }: ProofSentence): string {
  return names.length === 0 ? text : `${text.replace(/\.$/, '')} (${names.join(', ')}).`;
}

function withoutSentence(without: Proof['without']): ProofSentence {
  switch (without.kind) {
    case 'new': {
      const { count, passing, named: names } = without;
      const what = `${without.of === 'test' ? 'new test' : 'new file of tests'}`;
      const many = `${without.of === 'test' ? 'new tests' : 'new files of tests'}`;
      if (passing === 0)
        return good(
          count === 1 ? `The ${what} fails without the change.` : `All ${count} ${many} fail without the change.`,
        );
      const text =
        count === 1
          ? `The ${what} passes without the change: it does not test it.`
          : `${passing} of ${count} ${many} ${passing === 1 ? 'passes' : 'pass'} without the change: ${passing === 1 ? 'it does' : 'they do'} not test it.`;
      return { text, names: withRest(names, passing), isConcern: true };
    }
    case 'changed':
      return good(
        `${without.failing} ${without.failing === 1 ? 'test fails' : 'tests fail'} without the change; no new test is named.`,
      );
    case 'whole':
      return without.passed
        ? {
            text: 'All of `verify` passes without the change: the new or changed tests do not test it.',
            names: [],
            isConcern: true,
          }
        : good('`verify` fails without the change; its output does not say which tests do.');
    case 'undecided':
      return good(`Not known whether the tests fail without the change: ${WHY[without.why]}.`);
  }
}

function oldSentences(old: NonNullable<Proof['old']>): readonly ProofSentence[] {
  switch (old.kind) {
    case 'passed':
      return [good('The old form of the changed tests passes.')];
    case 'failed': {
      const { failing, named: names } = old;
      const text =
        failing === 0
          ? '`verify` fails with the old form of the changed tests; its output does not say which fail.'
          : `${failing} ${failing === 1 ? 'test fails' : 'tests fail'} on the new code in the old form.`;
      return [{ text, names: withRest(names, failing), isConcern: true }];
    }
    case 'undecided':
      return [good(`Not known whether the old form of the changed tests passes: ${WHY[old.why]}.`)];
  }
}

function good(text: string): ProofSentence {
  return { text, names: [], isConcern: false };
}

function withRest(names: readonly string[], count: number): readonly string[] {
  return names.length >= count || names.length === 0 ? names : [namesOutOf(names, count)];
}

const WHY: Readonly<Record<Undecided, string>> = {
  slow: '`verify` takes more than five minutes (setting `prove-tests`)',
  'no-time': '`verify` does not fit into the rest of the run',
  timeout: '`verify` did not end in time',
  'cannot-run': '`verify` cannot run without the change',
  'in-code': 'tests in files of code cannot be taken apart from it',
};
