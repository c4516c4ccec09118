import { describe, expect, test } from 'vitest';
import type { Verification } from '../../src/core/evidence.ts';
import { UserError } from '../../src/errors.ts';
import type { VerifyCall } from '../../src/ports/agent.ts';
import { parseHiddenStatus } from '../../src/report/pages/pull-request-body.ts';
import type { RalphStatus } from '../../src/report/pages/status-schema.ts';
import { renderSummary } from '../../src/report/pages/summary.ts';
import { finisher, steadyWorker, stuck, type Behaviour } from './stage/behaviours.ts';
import { addCommit } from './stage/in-memory.ts';
import type { Project } from './stage/project.ts';
import { addIssue, createProject, finishOnce, runOnce, savedState } from './stage/run-action.ts';
import { runSplit } from './stage/split.ts';
import { killAt, open, type Tap } from './stage/tap.ts';

const green: Verification = { kind: 'passed', durationMs: 1 };
const red: Verification = { kind: 'failed', command: 'npm test', code: 1, tail: '1 failed', durationMs: 1 };

/**
 * Creates a project with `verify` whose verifications in clean clones have the given results, in order; in the work
 * tree it always passes.
 */
function checkedProject(...clean: readonly Verification[]) {
  const project = createProject({ issues: [1], agent: [finisher], inputs: { verify: 'npm test' } });
  const results = [...clean];
  const places: string[] = [];
  const main = project.origin.branches.get('main') ?? '';
  project.verifier = {
    verify: ({ folder }: VerifyCall) => {
      places.push(folder === null ? 'work tree' : folder === main ? 'clean base' : 'clean head');
      return Promise.resolve(folder === null ? green : (results.shift() ?? green));
    },
  };
  return { project, places };
}

/** Returns the machine-readable status of the pull request. */
function statusOf({ forge }: Project): RalphStatus | null {
  const hidden = parseHiddenStatus(forge.pulls[0]?.body ?? '');
  return hidden.kind === 'found' ? hidden.status : null;
}

describe('before the first call the verify commands run on the base', () => {
  test('once: a known result of a commit is not computed again', async () => {
    const { project, places } = checkedProject();
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(places).toEqual(['clean base', 'work tree', 'clean head']);
    expect(savedState(project)).toMatchObject({
      baseVerification: { kind: 'passed' },
      headVerification: { kind: 'passed' },
    });
    expect(statusOf(project)).toMatchObject({
      tests: 'passing',
      verification: { result: 'passed' },
      baseTests: 'passing',
    });
  });

  test('the first Ctrl-C ends the run at once, as nothing has begun yet', async () => {
    const project = createProject({ issues: [1], agent: [finisher], inputs: { verify: 'npm test' } });
    const ending = new AbortController();
    project.verifier = {
      verify: ({ signal }) => {
        ending.abort('you (Ctrl-C)');
        return Promise.resolve(signal.aborted ? { kind: 'not-run' } : green);
      },
    };
    const run = await runOnce(project, { isAtHome: true, ending: ending.signal });
    expect(run).toMatchObject({ end: 'paused (by_person)', calls: 0 });
    expect(savedState(project).baseVerification).toBeNull();
  });

  test('a command that cannot run ends the run without a call, and no branch is left', async () => {
    const { project } = checkedProject({ ...red, code: 127, tail: 'bash: line 1: vitest: command not found' });
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'failed (configuration)', calls: 0 });
    expect(run.outcome).toMatchObject({
      message: expect.stringMatching(
        /"npm test" cannot run in a clean clone.*command not found.*npm ci && npm test/,
      ) as string,
    });
    expect([...project.origin.branches.keys()]).toEqual(['main']);
    expect(savedState(project).baseVerification).toBeNull();
  });

  test('a failure is remembered, and the agent learns of it', async () => {
    const { project } = checkedProject(red);
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(savedState(project).baseVerification).toMatchObject({ kind: 'failed', command: 'npm test', exitCode: 1 });
    expect(project.script.calls[0]?.prompt).toContain('fails on the base branch as well');
    expect(project.forge.pulls[0]?.body).toContain('`npm test` already failed on `main` before this work.');
  });
});

describe('at the end of a run that finished tasks the published head is verified in a clean clone', () => {
  test('if it fails the tasks are not done: the run continues, and the prompt says why', async () => {
    const { project, places } = checkedProject(green, red, green);
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 2 });
    expect(places).toEqual(['clean base', 'work tree', 'clean head', 'work tree', 'clean head']);
    expect(project.script.calls[1]?.prompt).toContain('fails in a clean clone of the branch');
    expect(project.script.calls[1]?.prompt).toContain('1 failed');
    expect(savedState(project)).toMatchObject({
      headVerification: { kind: 'passed' },
      tasks: { 'issue-1': { state: 'done' } },
    });
  });

  test('in three jobs, the job of the loop reports the failure, too', async () => {
    const { project } = checkedProject(green, red);
    project.inputs = { ...project.inputs, 'max-iterations': '1' };
    const { loop, publish } = await runSplit(project);
    for (const report of [loop?.report, publish?.report])
      expect(report).toMatchObject({ headVerification: { of: 'head', verification: { kind: 'failed' } } });
  });

  test('with no task left to continue with, the run does not end as complete', async () => {
    const { project, places } = checkedProject(green, red, red);
    project.inputs = { ...project.inputs, 'max-iterations': '1' };
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'limit (iterations)', calls: 1 });
    expect(savedState(project)).toMatchObject({
      headVerification: { kind: 'failed' },
      tasks: { 'issue-1': { state: 'in-progress', doneCommit: null, reason: null, setAside: null } },
    });
    expect(project.forge.pulls[0]?.body).not.toContain('Closes #1');
    expect(project.forge.pulls[0]?.body).toContain('`npm test` **fails** in a clean clone of');
    expect(statusOf(project)).toMatchObject({ tests: 'failing', verification: { result: 'failed' } });
    // The next run builds on the commit, verifies once more before its call, and informs the agent.
    await runOnce(project);
    expect(places.slice(3)).toEqual(['clean head', 'work tree', 'clean head']);
    expect(project.script.calls[1]?.prompt).toContain('fails in a clean clone of the branch');
    expect(savedState(project).tasks).toMatchObject({ 'issue-1': { state: 'done' } });
  });
});

describe('a task that is open again only because the head failed', () => {
  test('is done without a call once the head passes, and is reported', async () => {
    const { project, places } = checkedProject(green, red, green);
    project.inputs = { ...project.inputs, 'max-iterations': '1' };
    await runOnce(project);
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 0 });
    expect(places).toEqual(['clean base', 'work tree', 'clean head', 'clean head']);
    const head = project.origin.branches.get('ralph/queue');
    expect(savedState(project)).toMatchObject({
      headVerification: { kind: 'passed', commit: head },
      tasks: { 'issue-1': { state: 'done', attempts: 1, doneCommit: head } },
    });
    expect(savedState(project).tasks['issue-1']).not.toHaveProperty('unproven');
    expect(project.forge.pulls[0]?.body).toContain('Closes #1');
  });

  test('waits while the task that broke the head is worked on first', async () => {
    const { project } = checkedProject(green, red, green);
    addIssue(project.forge, 2);
    project.script.behaviours = [finisher, steadyWorker, finisher];
    project.inputs = { ...project.inputs, 'max-iterations': '2' };
    await runOnce(project);
    expect(savedState(project)).toMatchObject({ tasks: { 'issue-1': { unproven: true } }, currentTask: 'issue-2' });
    const next = await runOnce(project);
    expect(next).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(next.work?.journal.map(({ taskId }) => taskId)).toEqual(['issue-2']);
  });

  test('keeps the run from completing while it fails, and costs no more calls than a stuck task', async () => {
    const { project } = checkedProject(green, red, red, red, red, red, red);
    project.script.behaviours = [finisher, ...Array.from({ length: 9 }, () => claimsNothingLeft)];
    expect(await runOnce(project)).toMatchObject({ end: 'halted (circuit_open)', calls: 4 });
    expect(savedState(project)).toMatchObject({ tasks: { 'issue-1': { state: 'in-progress', unproven: true } } });
  });
});

/** The agent sees its work, and its tests pass in its own tree. */
const claimsNothingLeft: Behaviour = () => ({
  output: { signal: { status: 'COMPLETE', exitSignal: true, tasksCompleted: 1 } },
});

describe('a head that a later task left red in the work tree is checked anyway', () => {
  test.each([
    ['where it fails, what was finished before is open again', red, 'in-progress'],
    ['where it passes, what was finished before is done', green, 'done'],
  ] as const)('%s', async (_, cleanHead, state) => {
    const { project } = checkedProject();
    addIssue(project.forge, 2);
    project.script.behaviours = [finisher, steadyWorker];
    project.inputs = { ...project.inputs, 'max-iterations': '2' };
    const main = project.origin.branches.get('main') ?? '';
    const inWorkTree = [green, red];
    const cloned: string[] = [];
    project.verifier = {
      verify: ({ folder }: VerifyCall) => {
        if (folder !== null && folder !== main) cloned.push(folder);
        return Promise.resolve(folder === null ? (inWorkTree.shift() ?? red) : folder === main ? green : cleanHead);
      },
    };
    expect(await runOnce(project)).toMatchObject({ end: 'limit (iterations)', calls: 2 });
    expect(cloned).toEqual([project.origin.branches.get('ralph/queue')]);
    expect(savedState(project)).toMatchObject({
      headVerification: { kind: cleanHead.kind, commit: cloned[0] },
      tasks: { 'issue-1': { state }, 'issue-2': { state: 'in-progress' } },
    });
    // The next run continues the task, and its prompt gives the reason.
    await runOnce(project);
    const prompt = project.script.calls[2]?.prompt ?? '';
    expect(prompt.includes('fails in a clean clone of the branch')).toBe(cleanHead.kind === 'failed');
  });
});

describe('the pull request reports', () => {
  test('the check of the commit before, if the last commit only archives', async () => {
    const path = '.ralph/prd.json';
    const prd = (passes: boolean) => JSON.stringify({ userStories: [{ id: 'US-1', title: 'Cart', passes }] });
    const { project } = checkedProject();
    const main = project.origin.branches.get('main') ?? '';
    const tree = { ...project.origin.commits.get(main)?.tree, [path]: prd(false) };
    project.origin.branches.set('main', addCommit(project.origin, { tree, parent: main, message: 'Tasks' }));
    const worker: Behaviour = () => ({ writes: { 'src/cart.ts': 'done', [path]: prd(true) } });
    project.script.behaviours = [worker];
    project.inputs = { ...project.inputs, 'task-sources': 'prd' };
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)' });
    const head = project.origin.branches.get('ralph/queue');
    const checked = savedState(project).headVerification?.commit ?? '';
    expect(project.origin.commits.get(head ?? '')).toMatchObject({ parent: checked });
    expect(project.forge.pulls[0]?.body).toContain(`passes in a clean clone of [\`${checked.slice(0, 7)}\`]`);
    expect(project.forge.pulls[0]?.body).not.toContain('The commits after it');
  });

  test('an earlier check, and that the commits after it are unverified', async () => {
    const { project } = checkedProject(green, red, red, red);
    project.inputs = { ...project.inputs, 'max-iterations': '1' };
    await runOnce(project);
    project.script.behaviours = [stuck];
    expect(await runOnce(project)).toMatchObject({ end: 'limit (iterations)', calls: 1 });
    expect(project.forge.pulls[0]?.body).toContain('`npm test` **fails** in a clean clone of');
    project.script.behaviours = [() => ({ writes: { 'src/more.ts': 'x' } })];
    await runOnce(project);
    // That run verified once more before its call, which then changed the head.
    expect(project.forge.pulls[0]?.body).toContain('The commits after it have not been verified in this way.');
    expect(statusOf(project)).toMatchObject({ tests: 'passing' });
  });

  test('no check with other commands', async () => {
    const { project } = checkedProject(green, red, green, { ...red, command: 'npm run other' });
    project.inputs = { ...project.inputs, 'max-iterations': '1' };
    await runOnce(project);
    project.script.behaviours = [stuck];
    project.inputs = { ...project.inputs, verify: 'npm run other' };
    await runOnce(project);
    expect(project.forge.pulls[0]?.body).not.toContain('`npm test`');
  });
});

describe('a head that failed', () => {
  test('does not count as good because a later run changed nothing and claims that all is done', async () => {
    const { project } = checkedProject(green, red, red, red);
    project.inputs = { ...project.inputs, 'max-iterations': '1' };
    await runOnce(project);
    project.script.behaviours = [
      () => ({ output: { signal: { status: 'COMPLETE', exitSignal: true, tasksCompleted: 1 } } }),
    ];
    await runOnce(project);
    expect(savedState(project)).toMatchObject({
      headVerification: { kind: 'failed' },
      tasks: { 'issue-1': { state: 'in-progress' } },
    });
  });
});

test('a run that was killed before the check leaves no unchecked task done', async () => {
  const { project } = checkedProject();
  const main = await runOnce(project, {
    tap: killAt((name) => name === 'repository.checkOutCommitAlone' && project.script.calls.length > 0, 'before'),
  });
  expect((await finishOnce(project, main))?.end).toBe('cancelled (killed)');
  expect(savedState(project).tasks).toMatchObject({
    'issue-1': { state: 'in-progress', doneCommit: null, reason: null, setAside: null },
  });
  expect(project.forge.pulls[0]?.body).not.toContain('Closes #1');
  // The commits are pushed; only the check was missing.
  expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 0 });
});

test.each([
  ['base', 0],
  ['head', 1],
])('a run that is cancelled while the clean clone of the %s is made counts as cancelled', async (_, calls) => {
  const { project } = checkedProject();
  const controller = new AbortController();
  const cancelling: Tap = {
    ...open,
    call: (name, call) => {
      if (name !== 'repository.checkOutCommitAlone' || project.script.calls.length !== calls) return call();
      controller.abort();
      return Promise.reject(new UserError('infrastructure', 'tar was cancelled'));
    },
  };
  const run = await runOnce(project, { tap: cancelling, signal: controller.signal });
  expect(run).toMatchObject({ end: 'cancelled (signal)', calls });
  expect(run.work?.state.tasks['issue-1']?.state).not.toBe('done');
});

describe('without a possible verification', () => {
  test.each([
    ['on a branch that is new', []],
    ['on one that is continued', [steadyWorker]],
  ])('on the base, no call is made: %s', async (_, before) => {
    const { project } = checkedProject();
    if (before.length > 0) {
      project.script.behaviours = before;
      project.inputs = { ...project.inputs, 'max-iterations': '1' };
      await runOnce(project);
      project.inputs = { ...project.inputs, verify: 'npm run other' };
    }
    const impossible: Tap = {
      ...open,
      call: (name, call) =>
        name === 'repository.checkOutCommitAlone'
          ? Promise.reject(new UserError('infrastructure', 'The disk is full'))
          : call(),
    };
    const run = await runOnce(project, { tap: impossible });
    expect(run).toMatchObject({ end: 'failed (infrastructure)', calls: 0 });
    expect(run.outcome).toMatchObject({
      message: 'verify cannot run in a clean clone of the base branch, so no call was made. The disk is full.',
    });
  });

  test('no task is done: the run fails and says why, and makes no more calls', async () => {
    const { project } = checkedProject();
    const impossible: Tap = {
      ...open,
      call: (name, call) =>
        name === 'repository.checkOutCommitAlone' && project.script.calls.length > 0
          ? Promise.reject(new UserError('infrastructure', 'The disk is full'))
          : call(),
    };
    const run = await runOnce(project, { tap: impossible });
    expect(run).toMatchObject({ end: 'failed (infrastructure)', calls: 1 });
    expect(run.outcome).toMatchObject({ message: expect.stringContaining('The disk is full.') as string });
    expect(savedState(project).tasks).toMatchObject({
      'issue-1': { state: 'in-progress', doneCommit: null, reason: null, setAside: null },
    });
  });

  test('ignored files that cannot be copied are left out', async () => {
    const { project } = checkedProject();
    const uncopied: Tap = {
      ...open,
      call: (name, call) =>
        name === 'repository.keepIgnored' ? Promise.reject(new UserError('infrastructure', 'Too much')) : call(),
    };
    expect(await runOnce(project, { tap: uncopied })).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
  });
});

test('what the checkout lacks, and so each tree in which `verify` runs, is said in the summary', async () => {
  const { project } = checkedProject();
  const { report } = await runOnce(project, {
    prepare: (checkout) => {
      const { openLane } = checkout;
      checkout.openLane = async (lane, base) => ({ ...(await openLane(lane, base)), warnings: ['It is sparse.'] });
    },
  });
  expect(report === null ? '' : renderSummary(report)).toContain('It is sparse.');
});
