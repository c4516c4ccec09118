import { describe, expect, test } from 'vitest';
import type { Verification } from '../../../src/core/evidence.ts';
import type { VerifyCall } from '../../../src/ports/agent.ts';
import { BRANCH, next, reviewedOn, worker } from '../feedback/reviewing.ts';
import { comment, person, review, thread } from '../feedback/said.ts';
import { finisher, steadyWorker, stuck, type Behaviour } from '../stage/behaviours.ts';
import { addCommit } from '../stage/in-memory.ts';
import type { Project } from '../stage/project.ts';
import { commented, createProject, labeled, runOnce, savedState, senderOf, type Event } from '../stage/run-action.ts';
import { runSplit } from '../stage/split.ts';

const green: Verification = { kind: 'passed', durationMs: 1 };
const FIX = 'fix.txt';

/**
 * Creates a project whose `verify` passes only if the tree contains the fix, which the base lacks. `extra` is a failure
 * caused by the lane's own work.
 */
function redProject(agent: readonly Behaviour[], { issues = [1, 2], extra = '' } = {}) {
  const project = createProject({ issues, agent, inputs: { verify: 'npm test' } });
  const runs: string[] = [];
  let isFixed = false;
  let isOver = false;
  const hasFix = (commit: string | undefined): boolean =>
    commit !== undefined && Object.hasOwn(project.origin.commits.get(commit)?.tree ?? {}, FIX);
  const failing = (tail: string): Verification => ({
    kind: 'failed',
    command: 'npm test',
    code: 1,
    tail,
    durationMs: 1,
  });
  project.verifier = {
    verify: ({ folder }: VerifyCall) => {
      runs.push(folder === null ? 'work tree' : folder === project.origin.branches.get('main') ? 'base' : 'head');
      const passes =
        isOver || (folder === null ? isFixed || hasFix(project.origin.branches.get('ralph/queue')) : hasFix(folder));
      return Promise.resolve(
        passes ? green : failing(`✖ adds (${String(runs.length)}ms)${folder === null ? extra : ''}`),
      );
    },
  };
  const commitToMain = (tree: Readonly<Record<string, string>>): void => {
    const parent = project.origin.branches.get('main') ?? '';
    const before = project.origin.commits.get(parent)?.tree ?? {};
    project.origin.branches.set(
      'main',
      addCommit(project.origin, { tree: { ...before, ...tree }, parent, message: 'x' }),
    );
  };
  return { project, runs, commitToMain, fix: () => (isFixed = true), pass: () => (isOver = true) };
}

function notifications({ forge }: Project): readonly string[] {
  return textsOf(forge.notifications).filter((body) => body.includes('base_is_red'));
}

function textsOf(shelf: Project['forge']['notifications']): readonly string[] {
  return [...shelf.values()].flatMap((comments) => [...comments.values()]);
}

const byHand = { name: 'workflow_dispatch', payload: { inputs: {}, sender: senderOf('ann') } };
const ordered = (command: string): Event => ({ ...byHand, payload: { ...byHand.payload, inputs: { command } } });
const honest: Behaviour = () => ({
  output: { signal: { status: 'BLOCKED', exitSignal: false, summary: 'main is red' } },
});

describe('verify fails on the base branch', () => {
  test.each<[string, Behaviour]>([
    ['an honest agent', honest],
    ['an agent that claims completion', finisher],
    ['an agent that only works', steadyWorker],
    ['an agent that changes nothing', stuck],
  ])('%s: one call, blocked, no attempt booked, one notification over three runs', async (_, agent) => {
    const { project } = redProject([agent]);
    expect(await runOnce(project)).toMatchObject({ end: 'blocked (base_is_red)', calls: 1 });
    const state = savedState(project);
    for (const id of ['issue-1', 'issue-2']) {
      const { state: stands = 'todo', attempts = 0 } = state.tasks[id] ?? {};
      expect([stands, attempts]).toEqual([expect.stringMatching(/^(?:todo|in-progress)$/), 0]);
    }
    expect(state.circuit).toMatchObject({ kind: 'closed', noProgress: 0 });
    for (const run of [2, 3])
      expect([run, await runOnce(project)]).toMatchObject([run, { end: 'blocked (base_is_red)', calls: 0 }]);
    expect(notifications(project)).toHaveLength(1);
    expect(notifications(project)[0]).toMatch(/`npm test` fails on `main` as well: `✖ adds`\./);
    expect(notifications(project)[0]).not.toContain('smaller or clearer');
    expect([...project.forge.issues.values()].flatMap(({ labels }) => labels)).not.toContain('ralph:blocked');
  });

  test('the task may be the fix: it is done, and the others are worked on', async () => {
    const { project, fix } = redProject([
      ({ task, turn }) => {
        fix();
        return { ...finisher({ task, turn, resume: null, files: {} }), writes: { [`${task}.ts`]: 'x', [FIX]: 'x' } };
      },
    ]);
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 2 });
  });

  test('other failures are named to people', async () => {
    const { project } = redProject([finisher], { extra: '\n✖ subtracts' });
    await runOnce(project);
    expect(notifications(project)[0]).toMatch(/New on this branch, and not on the base: `✖ subtracts`\./);
  });

  test('a test that fails only on the branch is named to people and in the next prompt', async () => {
    const names = (...tests: readonly string[]): string =>
      tests.map((name) => ` × test/a.test.ts > ${name} 1ms\n`).join('');
    const project = createProject({ issues: [1], agent: [steadyWorker], inputs: { verify: 'npm test' } });
    const main = project.origin.branches.get('main');
    project.verifier = {
      verify: ({ folder, onReport }: VerifyCall) => {
        onReport?.(folder === main ? names('adds', 'divides') : names('subtracts', 'adds'), true);
        return Promise.resolve({ kind: 'failed', command: 'npm test', code: 1, tail: '2 failed', durationMs: 1 });
      },
    };
    project.inputs = { ...project.inputs, 'max-iterations': '2' };
    const run = await runOnce(project);
    expect(run.work?.journal[0]?.evidence.verification).toMatchObject({
      asOnBase: false,
      newlyRed: ['test/a.test.ts > subtracts'],
    });
    expect(project.script.calls[1]?.prompt).toMatch(
      /Failures of the last verification that the base branch does not have, as data:\n.*\n- test\/a\.test\.ts > subtracts\n/,
    );
  });

  test.each<[string, Event, number]>([
    ['who gives a command gets one more call', ordered('run'), 1],
    ['who comments gets one more call', commented('/ralph retry', { issue: 1 }), 1],
    ['who only starts the workflow gets none', byHand, 0],
  ])('a person %s, without a second notification', async (_, event, calls) => {
    const { project } = redProject([stuck], { issues: [1] });
    await runOnce(project);
    expect(await runOnce(project, { event })).toMatchObject({ end: 'blocked (base_is_red)', calls });
    expect(await runOnce(project)).toMatchObject({ end: 'blocked (base_is_red)', calls: 0 });
    expect(notifications(project)).toHaveLength(1);
  });

  test.each<[string, Event]>([
    ['by a label', labeled(2)],
    ['by a command', commented('/ralph run', { issue: 2 })],
  ])('a person who asks for another issue %s gets one call, without a second notification', async (_, event) => {
    const { project, runs, commitToMain, pass } = redProject([finisher], { issues: [1, 2, 3] });
    await runOnce(project);
    runs.length = 0;
    const asked = await runOnce(project, { event });
    expect(asked).toMatchObject({ end: 'blocked (base_is_red)', calls: 1 });
    expect(runs).not.toContain('base');
    expect(notifications(project)).toHaveLength(1);
    // The person finds the reason in the issue.
    expect([...(project.forge.comments.get(2)?.values() ?? [])].join('\n')).toContain(
      'Blocked: the base branch is red',
    );
    expect(await runOnce(project)).toMatchObject({ end: 'blocked (base_is_red)', calls: 0 });
    // Another commit that fails in the same way is the same cause.
    commitToMain({ 'other.txt': 'x' });
    expect(await runOnce(project, { event })).toMatchObject({ end: 'blocked (base_is_red)', calls: 1 });
    expect(await runOnce(project, { event: labeled(3) })).toMatchObject({ end: 'blocked (base_is_red)', calls: 1 });
    expect(notifications(project)).toHaveLength(1);
    commitToMain({ [FIX]: 'x' });
    pass();
    expect(await runOnce(project, { event })).toMatchObject({ end: 'complete (plan_complete)' });
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)' });
  });

  test.each<[string, string, number]>([
    ['a person', 'ann', 1],
    ['an allowed bot', 'critic[bot]', 0],
    ['a stranger', 'eve', 0],
  ])('a review by %s (%s) gets %d calls, and an answer once the base is repaired', async (_, login, calls) => {
    const { project, commitToMain } = redProject([worker], { issues: [1] });
    project.inputs = { ...project.inputs, 'allowed-bots': 'critic[bot]' };
    project.forge.accounts.set('critic[bot]', { login: 'critic[bot]', id: 1, kind: 'bot' });
    await runOnce(project);
    const by = login === 'critic[bot]' ? ({ login, id: 1, kind: 'bot' } as const) : person(login);
    project.forge.saidOf.set(BRANCH, { reviews: [review({ by })], threads: [thread([comment(11, 'Why?', { by })])] });
    expect(await next(project, reviewedOn(BRANCH, login))).toMatchObject({ calls });
    expect(await next(project)).toMatchObject({ end: 'blocked (base_is_red)', calls: 0 });
    expect(notifications(project)).toHaveLength(1);
    commitToMain({ [FIX]: 'x' });
    expect(await next(project)).toMatchObject({ end: 'complete (plan_complete)' });
    expect(project.forge.replies.map(({ replyTo }) => replyTo)).toEqual(login === 'eve' ? [] : [11]);
  });

  test('the queue knows it from an issue of its own, makes no call and is silent', async () => {
    const { project } = redProject([stuck], { issues: [1, 2] });
    await runOnce(project, { event: labeled(1) });
    expect(notifications(project)).toHaveLength(1);
    expect(await runOnce(project)).toMatchObject({ end: 'blocked (base_is_red)', calls: 0 });
    expect(notifications(project)).toHaveLength(1);
  });

  test('other commands get one more call', async () => {
    const { project } = redProject([stuck], { issues: [1] });
    await runOnce(project);
    expect(await runOnce(project)).toMatchObject({ end: 'blocked (base_is_red)', calls: 0 });
    project.inputs = { ...project.inputs, verify: 'npm run check' };
    expect(await runOnce(project)).toMatchObject({ end: 'blocked (base_is_red)', calls: 1 });
    expect(await runOnce(project)).toMatchObject({ end: 'blocked (base_is_red)', calls: 0 });
  });

  test('people are notified of another failure of a newer base, although another branch knows of an earlier one', async () => {
    const { project, commitToMain } = redProject([finisher], { issues: [1, 2] });
    await runOnce(project, { event: labeled(1) });
    expect(notifications(project)).toHaveLength(1);
    commitToMain({ 'other.txt': 'x' });
    project.verifier = {
      verify: () =>
        Promise.resolve({ kind: 'failed', command: 'npm test', code: 1, tail: '✖ subtracts', durationMs: 1 }),
    };
    expect(await runOnce(project, { event: labeled(2) })).toMatchObject({ end: 'blocked (base_is_red)' });
    expect(notifications(project)).toHaveLength(2);
  });

  test('a newer base that fails in the same way makes no call', async () => {
    const { project, commitToMain, runs } = redProject([finisher]);
    await runOnce(project);
    commitToMain({ 'other.txt': 'x' });
    runs.length = 0;
    expect(await runOnce(project)).toMatchObject({ end: 'blocked (base_is_red)', calls: 0 });
    expect(runs).toEqual(['base']);
    expect(await runOnce(project)).toMatchObject({ end: 'blocked (base_is_red)', calls: 0 });
    expect(runs).toEqual(['base']);
    expect(notifications(project)).toHaveLength(1);
  });

  test('once the base is repaired, the next run merges it first, and everything is done', async () => {
    const { project, commitToMain } = redProject([finisher]);
    await runOnce(project);
    commitToMain({ [FIX]: 'x' });
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 2 });
    const head = project.origin.branches.get('ralph/queue') ?? '';
    expect(project.origin.commits.get(head)?.tree).toHaveProperty(FIX);
    expect(savedState(project)).toMatchObject({ redBase: null, tasks: { 'issue-1': { state: 'done' } } });
    expect(textsOf(project.forge.notifications).join('\n')).toContain('`verify` passes on the base branch again.');
  });

  test.each([
    ['one job', async (project: Project) => [await runOnce(project)]],
    ['three jobs', async (project: Project) => Object.values(await runSplit(project))],
  ])(
    'a repaired base whose workflow files the token may not push is named before a call, once, until a person merges it (%s)',
    async (_, run) => {
      const { project, commitToMain } = redProject([finisher]);
      await runOnce(project);
      const [workflow, words] = [
        '.github/workflows/ci.yml',
        'refusing to allow a GitHub App to create or update workflow',
      ];
      commitToMain({ [FIX]: 'x', [workflow]: 'x' });
      project.remote.workflowRule = words;
      project.remote.contentRule = (files) => (workflow in files ? words : null);
      for (let time = 0; time < 2; time += 1)
        expect((await run(project)).filter((job) => job !== null)).toMatchObject([
          { end: 'failed (configuration)', calls: 0 },
        ]);
      const told = textsOf(project.forge.notifications).filter((body) => body.includes('Update branch'));
      expect(told).toHaveLength(1);
      expect(told[0]).toContain('workflows: write');
      const { branches } = project.origin;
      branches.set('ralph/queue', branches.get('main') ?? '');
      project.remote.contentRule = () => null;
      expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 2 });
    },
  );

  test.each([
    ['forbids the merge: no call', { workflow: true, fixed: true }, 'failed (configuration)', 0],
    ['allows the merge: the work continues', { workflow: false, fixed: true }, 'complete (plan_complete)', 1],
    ['would forbid it, but the base still fails', { workflow: true, fixed: false }, 'blocked (base_is_red)', 1],
  ])('a person asks in three jobs for work on a newer base, and the server %s', async (_, newer, end, calls) => {
    const { project, commitToMain, fix } = redProject([finisher], { issues: [1] });
    await runOnce(project);
    if (newer.fixed) fix();
    commitToMain({ 'other.txt': 'x', ...(newer.fixed ? { [FIX]: 'x' } : {}) });
    if (newer.workflow) project.remote.workflowRule = 'refusing to allow a GitHub App to create or update workflow';
    const { loop, publish } = await runSplit(project, { event: commented('/ralph retry', { issue: 1 }) });
    expect([loop, publish]).toMatchObject([{ calls }, { end }]);
    const told = textsOf(project.forge.notifications).filter((body) => body.includes('Update branch'));
    expect(told).toHaveLength(end === 'failed (configuration)' ? 1 : 0);
  });

  test('after an outage the same base is verified again hours later, without a call, and the work continues', async () => {
    const { project, runs, pass } = redProject([finisher]);
    await runOnce(project);
    const later = async (hours: number) => {
      project.clock.advance(hours * 3_600_000);
      runs.length = 0;
      return runOnce(project);
    };
    expect(await later(7)).toMatchObject({ end: 'blocked (base_is_red)', calls: 0 });
    expect(runs).toEqual(['base']);
    pass();
    expect(await later(1)).toMatchObject({ end: 'blocked (base_is_red)', calls: 0 });
    expect(runs).toEqual([]);
    expect(await later(5)).toMatchObject({ end: 'complete (plan_complete)', calls: 2 });
    expect(textsOf(project.forge.notifications).join('\n')).toContain('`verify` passes on the base branch again.');
  });

  const letters = 'abcdefghijklmnopqrstuvwxyz';
  const many = (run: number): string =>
    Array.from({ length: 60 }, (_, at) => (at + run * 7) % 60)
      .map((at) => `✖ adds ${letters.charAt(at % 26)}${letters.charAt(Math.floor(at / 26))}`)
      .join('\n');
  test.each<[string, number, (run: number, where: 'base' | 'here') => { tail: string; code?: null }]>([
    ['is out of time, wherever it was', 1, (run) => ({ tail: `compiling ${letters.charAt(run)} …`, code: null })],
    ['reports many failures in another order each time', 1, (run) => ({ tail: many(run) })],
    [
      'has one failure less, and no progress on the other',
      2,
      (_, where) => ({ tail: where === 'base' ? '✖ adds\n✖ subtracts' : '✖ subtracts' }),
    ],
  ])('a base that %s: %d calls, and no task is blamed', async (_, calls, print) => {
    const project = createProject({ issues: [1, 2], agent: [finisher], inputs: { verify: 'npm test' } });
    let run = 0;
    project.verifier = {
      verify: ({ folder }: VerifyCall) => {
        const { tail, code = 1 } = print((run += 1), folder === null ? 'here' : 'base');
        return Promise.resolve({ kind: 'failed', command: 'npm test', code, tail, durationMs: 1 });
      },
    };
    expect(await runOnce(project)).toMatchObject({ end: 'blocked (base_is_red)', calls });
    expect(await runOnce(project)).toMatchObject({ end: 'blocked (base_is_red)', calls: 0 });
    expect(notifications(project)).toHaveLength(1);
    expect(savedState(project).tasks['issue-1']).not.toMatchObject({ state: 'failed' });
  });

  test.each([
    ['other failures each time', ['✖ a', '✖ b', '✖ c', '✖ d', '✖ e'], 1],
    ['one failure each time, and others', ['✖ a\n✖ b', '✖ a\n✖ c', '✖ a\n✖ d', '✖ a\n✖ e', '✖ a\n✖ f'], 1],
    ['other words each time, without a failure', ['kx', 'lm', 'no', 'pq', 'rs'], 1],
  ])('a base with %s: no task is blamed, also by the runs behind', async (_, tails, calls) => {
    const { project, commitToMain } = redProject([finisher]);
    let at = 0;
    project.verifier = {
      verify: () => {
        const tail = tails[at++ % tails.length] ?? '';
        return Promise.resolve({ kind: 'failed', command: 'npm test', code: 1, tail, durationMs: 1 });
      },
    };
    expect(await runOnce(project)).toMatchObject({ end: 'blocked (base_is_red)', calls });
    expect(savedState(project).tasks['issue-1']?.attempts ?? 0).toBe(0);
    expect(await runOnce(project)).toMatchObject({ end: 'blocked (base_is_red)', calls: 0 });
    expect(await runOnce(project, { event: ordered('run') })).toMatchObject({ end: 'blocked (base_is_red)', calls: 1 });
    commitToMain({ 'other.txt': 'x' });
    const other = await runOnce(project, { event: labeled(2) });
    expect(other).toMatchObject({ end: 'blocked (base_is_red)' });
    expect(notifications(project)).toHaveLength(1);
  });

  test('a base that fails in one way and an iteration that fails in another: the failures are those of the branch', async () => {
    const project = createProject({
      issues: [1],
      agent: [steadyWorker],
      inputs: { verify: 'npm test', 'max-iterations': '3' },
    });
    const seen: string[] = [];
    project.verifier = {
      verify: ({ folder }: VerifyCall) => {
        seen.push(folder === null ? 'here' : 'base');
        const tail = folder === null ? `✖ mine ${letters.charAt(seen.length)}` : '✖ adds';
        return Promise.resolve({ kind: 'failed', command: 'npm test', code: 1, tail, durationMs: 1 });
      },
    };
    expect(await runOnce(project)).toMatchObject({ end: 'limit (iterations)', calls: 3 });
    expect(seen).toEqual(['base', 'here', 'base', 'here', 'here']);
  });

  test('a base that was green and is red by now, at the same commit: it is verified again after the second failure', async () => {
    const project = createProject({ issues: [1, 2], agent: [finisher], inputs: { verify: 'npm test' } });
    const seen: string[] = [];
    project.verifier = {
      verify: ({ folder }: VerifyCall) => {
        seen.push(folder === null ? 'here' : 'base');
        const isFirst = seen.length === 1;
        return Promise.resolve(
          isFirst ? green : { kind: 'failed', command: 'npm test', code: 1, tail: '✖ service answers', durationMs: 1 },
        );
      },
    };
    expect(await runOnce(project)).toMatchObject({ end: 'blocked (base_is_red)', calls: 3 });
    expect(seen).toEqual(['base', 'here', 'here', 'base', 'here']);
    expect(notifications(project)).toHaveLength(1);
    expect(savedState(project).tasks['issue-1']).toMatchObject({ state: 'in-progress', attempts: 0 });
    expect(await runOnce(project, { event: ordered('run') })).toMatchObject({ end: 'blocked (base_is_red)', calls: 1 });
    expect(savedState(project)).toMatchObject({ tasks: { 'issue-1': { attempts: 0 } }, circuit: { noProgress: 0 } });
  });

  test('a base that stays green is verified once more, and no more often', async () => {
    const project = createProject({
      issues: [1],
      agent: [finisher],
      inputs: { verify: 'npm test', 'max-iterations': '6' },
    });
    const seen: string[] = [];
    project.verifier = {
      verify: ({ folder }: VerifyCall) => {
        seen.push(folder === null ? 'here' : 'base');
        return Promise.resolve(
          folder === null ? { kind: 'failed', command: 'npm test', code: 1, tail: '✖ adds', durationMs: 1 } : green,
        );
      },
    };
    expect(await runOnce(project)).toMatchObject({ end: 'limit (iterations)', calls: 6 });
    expect(seen.filter((where) => where === 'base')).toHaveLength(2);
  });

  test.each<[string, boolean, object]>([
    ['fails on the base as well ends the run after one more call', true, { end: 'blocked (base_is_red)', calls: 2 }],
    ['passes on the base is the work of the branch', false, { end: 'limit (iterations)', calls: 4 }],
  ])('a later command that fails once the first one is fixed and %s', async (_, isRed, end) => {
    const inputs = { verify: 'npm run lint\nnpm test', 'max-iterations': '4' };
    const project = createProject({ issues: [1, 2], agent: [finisher], inputs });
    const seen: string[] = [];
    project.verifier = {
      verify: ({ folder, from }: VerifyCall) => {
        const fails = (command: string, tail: string): Verification => ({
          ...{ kind: 'failed', command, code: 1, tail, durationMs: 1 },
        });
        seen.push(`${folder === null ? 'here' : 'base'} ${String(from)}`);
        if (folder !== null && from === 0) return Promise.resolve(fails('npm run lint', '✖ indent'));
        return Promise.resolve(folder === null || isRed ? fails('npm test', '✖ adds') : green);
      },
    };
    expect(await runOnce(project)).toMatchObject(end);
    expect(seen.filter((one) => one.startsWith('base'))).toEqual(['base 0', 'base 1']);
    if (!isRed) return;
    expect(await runOnce(project)).toMatchObject({ end: 'blocked (base_is_red)', calls: 0 });
    expect(notifications(project)).toHaveLength(1);
    expect(notifications(project)[0]).toMatch(/`npm test` fails on `main` as well: `✖ adds`\./);
  });

  test('a later command that fails in another way each time on the base as well is verified again from there', async () => {
    const inputs = { verify: 'npm run lint\nnpm test', 'max-iterations': '6' };
    const project = createProject({ issues: [1, 2], agent: [finisher], inputs });
    const seen: string[] = [];
    project.verifier = {
      verify: ({ folder, from }: VerifyCall) => {
        seen.push(`${folder === null ? 'here' : 'base'} ${String(from)}`);
        const isLint = folder !== null && from === 0;
        const [command, tail] = isLint
          ? ['npm run lint', '✖ indent']
          : ['npm test', `✖ ${letters.charAt(seen.length)}`];
        return Promise.resolve({ kind: 'failed', command, code: 1, tail, durationMs: 1 });
      },
    };
    expect(await runOnce(project)).toMatchObject({ end: 'blocked (base_is_red)', calls: 2 });
    expect(seen).toEqual(['base 0', 'here 0', 'base 1', 'here 0', 'base 1']);
  });

  describe('of a base on which lint and tests fail, one branch has fixed lint', () => {
    /** Creates a project in which the queue's branch has a fix of lint. */
    async function createLintFixer() {
      const inputs = { verify: 'npm run lint\nnpm test' };
      const project = createProject({ issues: [1, 2], agent: [finisher], inputs });
      const red = new Set(['npm run lint', 'npm test']);
      let fixed: readonly string[] = ['npm run lint'];
      const seen: string[] = [];
      project.verifier = {
        verify: ({ folder, from }: VerifyCall) => {
          const isBase = folder === project.origin.branches.get('main');
          if (isBase) seen.push(`base ${String(from)}`);
          const command = ['npm run lint', 'npm test']
            .slice(from)
            .find((one) => red.has(one) && (isBase || !fixed.includes(one)));
          return Promise.resolve(
            command === undefined ? green : { kind: 'failed', command, code: 1, tail: `✖ ${command}`, durationMs: 1 },
          );
        },
      };
      expect(await runOnce(project)).toMatchObject({ end: 'blocked (base_is_red)', calls: 2 });
      seen.length = 0;
      return { project, red, seen, fix: (commands: readonly string[]) => (fixed = commands) };
    }

    test('another branch is not blamed for lint', async () => {
      const { project, seen, fix } = await createLintFixer();
      fix([]);
      const second = await runOnce(project, { event: labeled(2) });
      expect(second).toMatchObject({ end: 'blocked (base_is_red)', calls: 1 });
      expect(second.work?.journal[0]?.evidence.verification).toMatchObject({ asOnBase: true, newlyRed: [] });
      expect(seen).toEqual([]);
    });

    test('hours later, the unchanged base is verified without a call', async () => {
      const { project, seen } = await createLintFixer();
      project.clock.advance(7 * 3_600_000);
      expect(await runOnce(project)).toMatchObject({ end: 'blocked (base_is_red)', calls: 0 });
      expect(seen).toEqual(['base 0', 'base 1']);
    });

    test('once the tests pass again, its work continues', async () => {
      const { project, red, seen } = await createLintFixer();
      red.delete('npm test');
      project.clock.advance(7 * 3_600_000);
      expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 2 });
      expect(seen).toEqual(['base 0', 'base 1']);
    });
  });

  test('a base that is fixed bit by bit is fixed in the end', async () => {
    const project = createProject({
      issues: [1],
      agent: [steadyWorker, steadyWorker, finisher],
      inputs: { verify: 'npm test' },
    });
    let left = 3;
    project.verifier = {
      verify: ({ folder }: VerifyCall) => {
        if (folder === null) left -= 1;
        const tail = Array.from({ length: left }, (_, at) => `✖ adds ${letters.charAt(at)}`).join('\n');
        return Promise.resolve(
          left > 0 ? { kind: 'failed', command: 'npm test', code: 1, tail, durationMs: 1 } : green,
        );
      },
    };
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 3 });
  });

  test('three jobs have the same result', async () => {
    const { project } = redProject([finisher]);
    const { publish } = await runSplit(project);
    expect(publish?.report?.outcome).toEqual({ kind: 'blocked', reason: 'base_is_red' });
    expect(savedState(project)).toMatchObject({ redBase: { stage: 'tried' } });
    expect(notifications(project)).toHaveLength(1);
  });
});
