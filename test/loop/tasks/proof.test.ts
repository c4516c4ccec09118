import { describe, expect, test } from 'vitest';
import type { Verification } from '../../../src/core/evidence.ts';
import { parseJournal } from '../../../src/core/journal/parse-journal.ts';
import type { VerifyCall } from '../../../src/ports/agent.ts';
import { renderSummary } from '../../../src/report/pages/summary.ts';
import { MINUTE } from '../../unit/core/core-fixtures.ts';
import type { Behaviour } from '../stage/behaviours.ts';
import type { Project } from '../stage/project.ts';
import { createProject, finishOnce, runOnce, savedState } from '../stage/run-action.ts';
import { runSplit } from '../stage/split.ts';

type Files = Readonly<Record<string, string>>;

/** Returns the text of a test that passes where a file contains a word. */
function testOf(name: string, path: string, word: string): string {
  return `test('${name}', () => expect('${path}').toContain('${word}'));\n`;
}

/** Finishes a task with these files. */
function finishing(writes: Files): Behaviour {
  return () => ({ writes, output: { signal: { status: 'COMPLETE', exitSignal: false, tasksCompleted: 1 } } });
}

/** Runs the tests of a tree, and prints them as vitest does. */
function runTests(tree: Files): { readonly passes: boolean; readonly output: string } {
  const results = Object.entries(tree).flatMap(([path, text]) =>
    [...text.matchAll(/test\('(.+?)', \(\) => expect\('(.+?)'\)\.toContain\('(.+?)'\)\)/g)].map(
      ([, name = '', of = '', word = '']) => ({ line: `${path} > ${name}`, passes: tree[of]?.includes(word) ?? false }),
    ),
  );
  return {
    passes: results.every(({ passes }) => passes),
    output: results.map(({ line, passes }) => ` ${passes ? '✓' : '×'} ${line} 1ms`).join('\n'),
  };
}

interface TestRun {
  readonly output: string;
  readonly verification: Verification;
  readonly isWhole?: boolean;
}

interface Setting {
  readonly issues?: readonly number[];
  readonly files?: Files;
  readonly inputs?: Readonly<Record<string, string>>;
  /** Changes what `verify` prints, or how it ends. */
  readonly change?: (run: TestRun & { readonly at: string; readonly timeoutMs: number }) => TestRun;
}

/** Creates a project whose `verify` runs the tests of the tree. `runs` says where it ran. */
function testedProject(agent: readonly Behaviour[], { issues = [1], files = {}, inputs = {}, change }: Setting = {}) {
  const project = createProject({ issues, agent, inputs: { verify: 'npm test', ...inputs }, files });
  const runs: string[] = [];
  const { origin } = project;
  const placeOf = (folder: string): string =>
    folder === origin.branches.get('main')
      ? 'base'
      : origin.commits.get(folder)?.message === 'Taken back'
        ? 'taken back'
        : 'head';
  project.verifier = {
    verify: ({ folder, onReport, timeoutMs }: VerifyCall) => {
      const at = folder === null ? 'work tree' : placeOf(folder);
      runs.push(at);
      const { passes, output } = folder === null ? GREEN : runTests(origin.commits.get(folder)?.tree ?? {});
      const verification: Verification = passes
        ? { kind: 'passed', durationMs: 1000 }
        : { kind: 'failed', command: 'npm test', code: 1, tail: output, durationMs: 1000 };
      const ran: TestRun = change?.({ output, verification, at, timeoutMs }) ?? { output, verification };
      onReport?.(ran.output, ran.isWhole ?? true);
      return Promise.resolve(ran.verification);
    },
  };
  return { project, runs, proofRuns: () => runs.filter((at) => at === 'taken back').length };
}

const GREEN = { passes: true, output: '' };

function proofOf(project: Project, task = 'issue-1') {
  return savedState(project).change.tasks[task]?.proof;
}

const FEATURE = { 'src/sum.ts': 'add', 'test/sum.test.ts': testOf('adds', 'src/sum.ts', 'add') };

/** Two tests of the feature, of which one also passes without it. */
const WEAK = {
  'src/sum.ts': 'add',
  'test/sum.test.ts': testOf('adds', 'src/sum.ts', 'add') + testOf('is there', 'README.md', 'A shop'),
};

describe('the tests of a finished task run without its change', () => {
  test('if all of them fail there, the page of the task says so', async () => {
    const { project, runs } = testedProject([finishing(FEATURE)]);
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)' });
    expect(runs).toEqual(['base', 'work tree', 'head', 'taken back']);
    expect(proofOf(project)).toEqual({
      without: { kind: 'new', of: 'test', count: 1, passing: 0, named: [] },
      old: null,
    });
    const page = project.forge.pulls[0]?.body ?? '';
    expect(page).toContain('The new test fails without the change, as it should.');
    expect(page).not.toContain('Look at first');
  });

  test('one that passes there is named to the reviewer and in the next prompt, on another task and by another run', async () => {
    const { project } = testedProject([finishing(WEAK), finishing({ 'src/b.ts': 'x' })], {
      issues: [1, 2],
      inputs: { 'max-iterations': '1' },
    });
    const run = await runOnce(project);
    expect(savedState(project).tasks).toMatchObject({ 'issue-1': { state: 'done' } });
    if (run.report === null) throw new Error('There is no report.');
    expect(renderSummary(run.report)).toContain('1 of 2 new tests passes without the change');
    expect(project.forge.pulls[0]?.body).toMatch(
      /### Look at first\n\n- \*\*Tests that prove too little\*\* \(.*#1.*\): 1 of 2 new tests passes without the change: it does not test the change \(`test\/sum\.test\.ts > is there`\)\./,
    );
    await runOnce(project);
    expect(project.script.calls[1]?.prompt).toContain('# Your task: issue-2');
    expect(project.script.calls[1]?.prompt).toContain('issue-1: 1 of 2 new tests passes without the change');
  });

  // runOnce itself checks that the journal replays to the same decisions.
  test('the journal has the proof', async () => {
    const { project } = testedProject([finishing(WEAK), finishing({ 'src/b.ts': 'x' })], { issues: [1, 2] });
    const { journal: text } = await runOnce(project);
    const parsed = parseJournal(text);
    if (parsed.kind !== 'journal') throw new Error(JSON.stringify(parsed.problems));
    const proofs = parsed.journal.events.filter(({ event }) => event.kind === 'proof');
    expect(proofs).toMatchObject([{ after: 2, event: { proofs: [{ task: 'issue-1' }] } }]);
  });

  test('in three jobs the job that publishes says what the loop has found', async () => {
    const { project } = testedProject([finishing(WEAK)]);
    await runSplit(project);
    expect(project.forge.pulls[0]?.body).toContain('1 of 2 new tests passes without the change');
  });

  test('each task of a branch is judged by its own tests', async () => {
    const other = { 'src/b.ts': 'mul', 'test/b.test.ts': testOf('multiplies', 'src/b.ts', 'mul') };
    const { project, proofRuns } = testedProject([finishing(FEATURE), finishing(other)], { issues: [1, 2] });
    await runOnce(project);
    expect(proofRuns()).toBe(2);
    for (const task of ['issue-1', 'issue-2'])
      expect(proofOf(project, task)).toMatchObject({ without: { kind: 'new', count: 1, passing: 0 } });
  });

  test('a prompt that is done is proven like a task', async () => {
    const agent: Behaviour = ({ turn }) => ({
      writes: turn === 1 ? FEATURE : {},
      output: { signal: { status: 'COMPLETE', exitSignal: true, tasksCompleted: 0 } },
    });
    const { project } = testedProject([agent], {
      issues: [],
      files: { 'PROMPT.md': 'Build the shop.' },
      inputs: { 'task-sources': 'prompt' },
    });
    expect(await runOnce(project)).toMatchObject({ end: expect.stringMatching(/^complete/) as string });
    const [proof] = Object.values(savedState(project).change.tasks).map((share) => share.proof);
    expect(proof).toMatchObject({ without: { kind: 'new', count: 1, passing: 0 } });
  });

  test('a base that an earlier run has verified runs once more, to tell which tests are new', async () => {
    const agent: Behaviour = (call) => finishing(call.turn === 1 ? { 'src/a.ts': 'x' } : WEAK)(call);
    const { project, runs } = testedProject([agent], { issues: [1, 2], inputs: { 'max-iterations': '1' } });
    await runOnce(project);
    runs.splice(0);
    await runOnce(project);
    expect(runs).toEqual(['work tree', 'head', 'taken back', 'base']);
    expect(proofOf(project, 'issue-2')).toMatchObject({ without: { kind: 'new', count: 2, passing: 1 } });
  });
});

describe('proofs that are missing are made up', () => {
  const cutOff = { without: { kind: 'undecided', why: 'no-time' }, old: null };

  /** A project whose first run is asked to end while its first proof is made. */
  function endedProject() {
    const controller = new AbortController();
    const change: Setting['change'] = (run) => {
      if (run.at === 'taken back') controller.abort('ann');
      return run;
    };
    return { ...testedProject([finishing(WEAK)], { change }), signal: controller.signal };
  }

  test('after a run that was cancelled, whose post believes no record', async () => {
    const { project, signal, proofRuns } = endedProject();
    await finishOnce(project, await runOnce(project, { signal }));
    expect(savedState(project)).toMatchObject({ tasks: { 'issue-1': { state: 'in-progress', unproven: true } } });
    await runOnce(project);
    expect(proofRuns()).toBe(2);
    expect(proofOf(project)).toMatchObject({ without: { kind: 'new', count: 2, passing: 1 } });
  });

  test('after a job of the loop that was cancelled, whose word counts, and once', async () => {
    const { project, signal, runs } = endedProject();
    await runSplit(project, { loop: { signal } });
    expect(savedState(project).tasks).toMatchObject({ 'issue-1': { state: 'done' } });
    expect(proofOf(project)).toEqual(cutOff);
    for (const wanted of [['head', 'taken back', 'base'], []]) {
      runs.splice(0);
      await runSplit(project);
      expect(runs).toEqual(wanted);
      expect(proofOf(project)).toMatchObject({ without: { kind: 'new', count: 2, passing: 1 } });
    }
  });

  test('for tasks that were done before proofs were asked for', async () => {
    const other = { 'src/b.ts': 'mul', 'test/b.test.ts': testOf('multiplies', 'src/b.ts', 'mul') };
    const agent: Behaviour = (call) => finishing(call.turn === 1 ? FEATURE : other)(call);
    const { project } = testedProject([agent], {
      issues: [1, 2],
      inputs: { 'max-iterations': '1', 'prove-tests': 'false' },
    });
    await runOnce(project);
    expect(proofOf(project)).toBeUndefined();
    project.inputs = { ...project.inputs, 'prove-tests': 'auto' };
    await runOnce(project);
    for (const task of ['issue-1', 'issue-2'])
      expect(proofOf(project, task)).toMatchObject({ without: { kind: 'new', count: 1, passing: 0 } });
  });
});

test('tests that the task changed run in their old form on the new code', async () => {
  const files = { 'src/sum.ts': 'add', 'test/sum.test.ts': testOf('adds', 'src/sum.ts', 'add') };
  const agent = finishing({ 'src/sum.ts': 'sum', 'test/sum.test.ts': testOf('adds', 'src/sum.ts', 'sum') });
  const { project, proofRuns } = testedProject([agent], { files });
  await runOnce(project);
  expect(proofRuns()).toBe(2);
  expect(proofOf(project)).toEqual({
    without: { kind: 'changed', failing: 1 },
    old: { kind: 'failed', failing: 1, named: ['test/sum.test.ts > adds'] },
  });
  expect(project.forge.pulls[0]?.body).toContain(
    'In its old form, 1 changed test fails on the new code (`test/sum.test.ts > adds`).',
  );
});

describe('where the output names no test, the whole of verify decides', () => {
  test.each([
    [
      FEATURE,
      { kind: 'whole', passed: false },
      '`verify` fails without the change, as it should; its output does not say',
    ],
    [
      { ...FEATURE, 'test/sum.test.ts': testOf('is there', 'README.md', 'A shop') },
      { kind: 'whole', passed: true },
      'All of `verify` passes without the change',
    ],
  ])('%#', async (writes, without, words) => {
    const { project } = testedProject([finishing(writes)], { change: (run) => ({ ...run, output: '' }) });
    await runOnce(project);
    expect(proofOf(project)).toMatchObject({ without });
    expect(project.forge.pulls[0]?.body).toContain(words);
  });
});

describe('no extra run', () => {
  const slow = ({ output, verification }: TestRun): TestRun => ({
    output,
    verification: verification.kind === 'not-run' ? verification : { ...verification, durationMs: 6 * MINUTE },
  });
  test.each<[string, Files, Setting, number]>([
    ['for a task without tests', { 'src/sum.ts': 'add' }, {}, 0],
    ['for a task that changed only tests', { 'test/sum.test.ts': testOf('is there', 'README.md', 'A shop') }, {}, 0],
    ['with the setting off', FEATURE, { inputs: { 'prove-tests': 'false' } }, 0],
    ['where verify takes more than five minutes', FEATURE, { change: slow }, 0],
    ['unless the setting asks for it', FEATURE, { change: slow, inputs: { 'prove-tests': 'true' } }, 1],
    [
      'but where only the head takes longer, which the agent decides',
      FEATURE,
      { change: (run) => (run.at === 'head' ? slow(run) : run) },
      1,
    ],
  ])('%s', async (_, writes, setting, count) => {
    const { project, proofRuns } = testedProject([finishing(writes)], setting);
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)' });
    expect(proofRuns()).toBe(count);
  });
});

describe('what cannot be decided is reported as such, and decides nothing', () => {
  const failed = { kind: 'failed', command: 'npm test', tail: '', durationMs: 1 } as const;
  test.each<[string, Verification, string]>([
    ['a time-out', { ...failed, code: null }, '`verify` did not end in time.'],
    ['a command that cannot run', { ...failed, code: 127 }, '`verify` cannot run there.'],
  ])('%s', async (_, verification, words) => {
    const { project } = testedProject([finishing(FEATURE)], {
      change: (run) => (run.at === 'taken back' ? { ...run, verification } : run),
    });
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)' });
    expect(project.forge.pulls[0]?.body).toContain(`Not known whether the tests fail without the change: ${words}`);
  });

  test('no time is left', async () => {
    const { project, proofRuns } = testedProject([finishing(FEATURE)], {
      inputs: { 'max-minutes': '30', 'prove-tests': 'true' },
      change: (run) => {
        if (run.at === 'head') project.clock.advance(29.9 * MINUTE);
        return run;
      },
    });
    await runOnce(project);
    expect(proofRuns()).toBe(0);
    expect(proofOf(project)).toMatchObject({ without: { kind: 'undecided', why: 'no-time' } });
  });

  test.each([
    ['taken back', { kind: 'undecided', why: 'too-long' }],
    ['head', { kind: 'whole', passed: false }],
    ['base', { kind: 'new', count: 1, passing: 0 }],
  ])('more output than is read: %s', async (where, without) => {
    const { project } = testedProject([finishing(FEATURE)], {
      change: (run) => ({ ...run, isWhole: run.at !== where }),
    });
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)' });
    expect(proofOf(project)).toMatchObject({ without });
  });

  test('a clone that takes long leaves verify no more time than the run has', async () => {
    const given: number[] = [];
    const { project } = testedProject([finishing(FEATURE)], {
      inputs: { 'max-minutes': '30' },
      change: (run) => {
        if (run.at === 'head') project.clock.advance(27 * MINUTE);
        if (run.at === 'taken back') given.push(run.timeoutMs);
        return run;
      },
    });
    await runOnce(project, {
      prepare: (checkout) => {
        const { checkOutCommitAlone } = checkout;
        checkout.checkOutCommitAlone = (commit, signal) => {
          if (project.origin.commits.get(commit)?.message === 'Taken back') project.clock.advance(2.5 * MINUTE);
          return checkOutCommitAlone(commit, signal);
        };
      },
    });
    expect(given).toHaveLength(1);
    expect(given[0]).toBeLessThanOrEqual(MINUTE / 2);
  });

  test('a file that cannot be taken back', async () => {
    const { project } = testedProject([finishing(FEATURE)]);
    const run = await runOnce(project, {
      prepare: ({ faults }) => faults.set('commitReverted', new Error('git is gone')),
    });
    expect(run).toMatchObject({ end: 'complete (plan_complete)' });
    expect(proofOf(project)).toMatchObject({ without: { kind: 'undecided', why: 'cannot-run' } });
  });

  test('tests in a file of code', async () => {
    const text = 'fn add() {}\n#[test]\nfn adds() { assert!(true); }\n';
    const { project, proofRuns } = testedProject([finishing({ 'src/lib.rs': text })]);
    await runOnce(project);
    expect(proofRuns()).toBe(0);
    expect(project.forge.pulls[0]?.body).toContain('tests in code files cannot be separated from the code.');
  });
});
