import { describe, expect, test } from 'vitest';
import { selectLaneReport } from '../../../src/report/facts.ts';
import { publishWork } from '../../../src/publish/publish.ts';
import { parseState } from '../../../src/core/lane/state/state.ts';
import { UserError } from '../../../src/errors.ts';
import { boaster, finisher, steadyWorker, stuck } from '../../loop/stage/behaviours.ts';
import { addCommit } from '../../loop/stage/in-memory.ts';
import {
  addIssue,
  createProject,
  cutOff,
  finishOnce,
  publisherOf,
  runOnce,
  savedDocument,
  savedState,
  type Run,
  savedIn,
  warningsIn,
} from '../../loop/stage/run-action.ts';
import type { Project } from '../../loop/stage/project.ts';
import { killAt } from '../../loop/stage/tap.ts';

const refused = new UserError('configuration', 'The token may not open pull requests.');

function workOf(run: Run): NonNullable<Run['work']> {
  if (run.work === null) throw new Error(`The run did not work: ${run.end}`);
  return run.work;
}

/** Returns every text in some data. */
function textsOf(data: unknown): readonly string[] {
  if (typeof data === 'string') return [data];
  return typeof data === 'object' && data !== null ? Object.values(data).flatMap(textsOf) : [];
}

/** Returns everything of the project that others can see. */
function seen({ origin, forge }: Project) {
  return {
    branches: [...origin.branches],
    pulls: forge.pulls.map((pull) => ({ ...pull })),
    comments: [...forge.comments].map(([thread, texts]) => [thread, [...texts]]),
  };
}

describe('a push that is rejected', () => {
  const rejectedOnce = async () => {
    const project = createProject({
      issues: [1, 2],
      agent: [steadyWorker, finisher],
      inputs: { 'max-iterations': '1' },
    });
    await runOnce(project);
    const before = {
      state: savedState(project),
      body: project.forge.pulls[0]?.body ?? '',
      head: project.origin.branches.get('ralph/queue'),
    };
    project.script.behaviours = [finisher];
    project.remote.refusal = 'protected branch';
    return { project, before, run: await runOnce(project) };
  };

  test('fails the run with the reason', async () => {
    const { run } = await rejectedOnce();
    expect(run).toMatchObject({
      end: 'failed (configuration)',
      outcome: { message: expect.stringMatching(/^Branch ralph\/queue cannot be pushed.*protected branch/) as string },
    });
  });

  test("keeps the tasks as the remote has them, and the run's calls and attempts as they were made", async () => {
    const { project, before } = await rejectedOnce();
    const after = savedState(project);
    const states = (tasks: typeof after.tasks) => Object.entries(tasks).map(([id, { state }]) => [id, state]);
    expect(states(after.tasks)).toEqual(states(before.state.tasks));
    const attempts = (tasks: typeof after.tasks) => Object.values(tasks).reduce((sum, task) => sum + task.attempts, 0);
    expect(attempts(after.tasks)).toBeGreaterThan(attempts(before.state.tasks));
    expect(after).toMatchObject({
      currentTask: before.state.currentTask,
      session: null,
      sequence: before.state.sequence + 1,
      windows: { hour: { calls: 2 } },
      lastRun: { published: { head: before.head } },
    });
  });

  test('notifies nobody that something was done', async () => {
    const { project } = await rejectedOnce();
    expect(project.forge.pulls[0]?.body).not.toContain('Closes #1');
    for (const thread of [1, 101])
      expect([...(project.forge.comments.get(thread)?.values() ?? [])].join()).toMatch(
        /0 of 2 tasks done|\*\*Failed: configuration; you are needed\.\*\* See the description/,
      );
  });

  test('is made good by the next run', async () => {
    const { project } = await rejectedOnce();
    project.remote.refusal = null;
    project.inputs = {};
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 2 });
  });

  test('of a new lane is found out before the first call, and remembered with its words', async () => {
    const project = createProject({ agent: [finisher] });
    project.remote.refusal = 'protected branch';
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'failed (configuration)', calls: 0 });
    expect(run.report).toMatchObject({
      pullRequest: null,
      headSha: null,
      outcome: {
        message: expect.stringMatching(
          /^Branch ralph\/queue cannot be pushed, so no further call is made until it can[.] A branch protection rule.*protected branch/,
        ) as string,
      },
    });
    expect(project.forge.pulls).toEqual([]);
    expect(savedState(project)).toMatchObject({
      tasks: {},
      refusedPush: { why: expect.stringContaining('protected branch') as string },
    });
  });

  test('again and again costs no call after the first, until a push is taken again', async () => {
    const { project } = await rejectedOnce();
    for (let run = 0; run < 3; run += 1)
      expect(await runOnce(project)).toMatchObject({ end: 'failed (configuration)', calls: 0 });
    expect(savedState(project)).toMatchObject({
      circuit: { kind: 'closed' },
      refusedPush: { why: expect.stringContaining('protected branch') as string },
    });
    project.remote.refusal = null;
    project.inputs = {};
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 2 });
    expect(savedState(project).refusedPush).toBeNull();
  });

  test('because somebody else pushed meanwhile overwrites nothing', async () => {
    const project = createProject({ agent: [finisher] });
    const other = addCommit(project.origin, {
      tree: { 'README.md': 'theirs' },
      parent: project.origin.branches.get('main') ?? '',
      message: 'Theirs',
    });
    const run = await runOnce(project, {
      onRecord: () => {
        project.origin.branches.set('ralph/queue', other);
      },
    });
    expect(run.end).toBe('failed (infrastructure)');
    expect(project.origin.branches.get('ralph/queue')).toBe(other);
  });
});

describe('nothing new', () => {
  test('is not pushed; no branch, no pull request', async () => {
    const project = createProject({ agent: [stuck] });
    const run = await runOnce(project);
    // The branch was created before the first call, and is removed again.
    expect(project.remote.pushes).toMatchObject([{ commit: project.origin.branches.get('main') }]);
    expect([...project.origin.branches.keys()]).toEqual(['main']);
    expect(project.forge.pulls).toEqual([]);
    expect(run.report).toMatchObject({ headSha: null, pullRequest: null, saved: { kind: 'saved', sequence: 1 } });
  });

  test('on a lane that has a branch is not pushed either, and its pull request reports the run', async () => {
    const project = createProject({ issues: [1], agent: [steadyWorker], inputs: { 'max-iterations': '1' } });
    await runOnce(project);
    project.script.behaviours = [stuck];
    project.inputs = {};
    const pushes = project.remote.pushes.length;
    const run = await runOnce(project);
    expect(project.remote.pushes).toHaveLength(pushes);
    expect(run.report).toMatchObject({
      headSha: project.origin.branches.get('ralph/queue'),
      pullRequest: { number: 101 },
    });
    expect(project.forge.pulls[0]?.body).toContain('circuit');
  });
});

describe('a pull request that cannot be written', () => {
  test.each(['openPullRequest', 'markReady'] as const)(
    '(%s) fails the run, and the next one repairs it without a call',
    async (method) => {
      const project = createProject({ agent: [finisher] });
      project.forge.faults.set(method, refused);
      const run = await runOnce(project);
      expect(run).toMatchObject({ end: 'failed (configuration)', calls: 1 });
      expect(run.outcome).toMatchObject({
        message:
          'The commits are on ralph/queue, but the pull request is not up to date: The token may not open pull requests.',
      });
      expect(savedState(project)).toMatchObject({
        tasks: { 'issue-1': { state: 'done' } },
        lastRun: { published: null },
      });

      project.forge.faults.clear();
      expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 0 });
      expect(project.forge.pulls).toEqual([expect.objectContaining({ state: 'open', draft: false })]);
      expect(project.forge.pulls[0]?.body).toContain('Closes #1');
      expect(savedState(project).lastRun?.published).toEqual({
        branch: 'ralph/queue',
        head: project.origin.branches.get('ralph/queue'),
        pullRequest: { number: 101, url: project.forge.pulls[0]?.url },
      });
      expect(await runOnce(project)).toMatchObject({ end: 'idle (all_done)', calls: 0 });
    },
  );

  test.each([
    ['merged', 'complete (plan_complete)', { pulls: 2, newest: 'open' }],
    ['closed', 'paused (by_person)', { pulls: 1, newest: 'closed' }],
  ] as const)('because a person %s it in the meantime is not a failure', async (state, end, expected) => {
    const project = createProject({ issues: [1, 2], agent: [finisher], inputs: { 'max-iterations': '1' } });
    await runOnce(project);
    const [pull] = project.forge.pulls;
    if (pull === undefined) throw new Error('no pull request');
    const run = await runOnce(project, {
      onRecord: () => {
        project.forge.pulls[0] = { ...pull, state };
      },
    });
    expect(run.end).toBe(end);
    expect({ pulls: project.forge.pulls.length, newest: project.forge.pulls.at(-1)?.state }).toEqual(expected);
  });

  test('does not hide why the run ended badly before', async () => {
    const project = createProject({ issues: [1, 2], agent: [finisher] });
    project.forge.faults.set('openPullRequest', refused);
    const run = await runOnce(project, {
      onRecord: (work, { faults }) => {
        if (work.journal.length === 1) faults.set('snapshot', new Error('disk full'));
      },
    });
    expect(run.outcome).toMatchObject({ kind: 'failed', message: 'Unexpected failure: disk full.' });
  });

  test('is an error of its own when it is not a refusal', async () => {
    const project = createProject({ agent: [finisher] });
    project.forge.faults.set('openPullRequest', new TypeError('a bug'));
    expect(await runOnce(project)).toMatchObject({
      end: 'failed (infrastructure)',
      outcome: { message: 'Unexpected failure: a bug.' },
    });
  });
});

describe('publishing twice, as post does after a main that was killed', () => {
  test.each([
    ['a complete run', [finisher]],
    ['a run at its limit', [steadyWorker]],
    ['a run without commits', [stuck]],
  ])('%s: the second time changes nothing', async (_name, agent) => {
    const project = createProject({ agent, inputs: { 'max-iterations': '2' } });
    const run = await runOnce(project);
    const first = seen(project);
    const state = savedDocument(project);
    const { report } = await publishWork(await publisherOf(project, run), workOf(run));
    const lane = run.report === null ? null : selectLaneReport(run.report);
    expect(seen(project)).toEqual(first);
    expect(savedDocument(project)).toBe(state);
    expect(report).toMatchObject({
      outcome: run.outcome,
      headSha: lane?.headSha,
      pullRequest: lane?.pullRequest ? { number: lane.pullRequest.number } : null,
    });
  });

  test.each(['openPullRequest', 'upsertComment'] as const)(
    'main died at %s: post continues from there',
    async (method) => {
      const project = createProject({ agent: [finisher] });
      let isPublishing = false;
      const run = await runOnce(project, {
        tap: killAt((name) => {
          isPublishing ||= name === 'agent.sweep';
          return isPublishing && name === `forge.${method}`;
        }, 'before'),
      });
      const post = await finishOnce(project, run);
      // The completion was not stored: the next run finds it, without a call.
      expect(post?.report).toMatchObject({ outcome: { kind: 'cancelled' }, saved: { kind: 'saved' } });
      expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 0 });
      expect(project.forge.pulls).toHaveLength(1);
      expect(project.forge.comments.get(1)?.size).toBe(1);
    },
  );
});

describe('comments', () => {
  test('stand once on each issue that was worked on and on the pull request, and are updated', async () => {
    const project = createProject({ issues: [1, 2, 3], agent: [finisher], inputs: { 'max-iterations': '2' } });
    await runOnce(project);
    expect([...project.forge.comments.keys()]).toEqual([1, 2, 101]);
    await runOnce(project);
    expect([...project.forge.comments].map(([thread, texts]) => [thread, texts.size])).toEqual([
      [1, 1],
      [2, 1],
      [101, 1],
      [3, 1],
    ]);
  });

  test('that cannot be written are a warning, no failure', async () => {
    const project = createProject({ agent: [finisher] });
    project.forge.faults.set('upsertComment', new UserError('infrastructure', 'The API is rate-limited.'));
    const run = await runOnce(project);
    expect(run.end).toBe('complete (plan_complete)');
    expect(warningsIn(run)).toEqual([
      'Nobody could be notified: The API is rate-limited.',
      'The run continued without a comment on #1, a comment on #101: The API is rate-limited.',
    ]);
    expect(run.log).toContain(
      'warning: The run continued without a comment on #1, a comment on #101: The API is rate-limited.',
    );
  });
});

describe('what is published', () => {
  test('is redacted first: title, body, comments, state', async () => {
    const project = createProject({ issues: [], agent: [boaster] });
    addIssue(project.forge, 1, { title: 'Use hunter2-hunter2' });
    const run = await runOnce(project);
    project.forge.pulls.length = 0;
    project.forge.comments.clear();
    const redacted = new Set<string>();
    const redact = (text: string): string => {
      const clean = text.replaceAll('hunter2-hunter2', '***');
      redacted.add(clean);
      return clean;
    };
    await publishWork({ ...(await publisherOf(project, run)), redact }, workOf(run));
    const [pull] = project.forge.pulls;
    const comments = [...project.forge.comments.values()].flatMap((texts) => [...texts.values()]);
    const published = [pull?.title ?? '', pull?.body ?? '', ...textsOf(savedState(project)), ...comments];
    expect(pull?.title).toContain('Use ***');
    expect(comments).toHaveLength(2);
    expect(published.filter((text) => !redacted.has(text))).toEqual([]);
  });

  test.each(['outputChars', 'transitions', 'noProgress'])(
    'a secret that is also the name of a field (%s) does not destroy the state',
    async (secret) => {
      const project = createProject({ agent: [finisher] });
      const run = await runOnce(project, { redact: (text) => text.replaceAll(secret, '***') });
      expect(run.end).toBe('complete (plan_complete)');
      expect(parseState(savedDocument(project) ?? '', 'queue')).toMatchObject({
        kind: 'state',
        problems: [],
        state: { tasks: { 'issue-1': { state: 'done' } } },
      });
    },
  );

  test('a draft becomes ready only when the work is complete; draft: false opens it ready', async () => {
    const project = createProject({ issues: [1, 2], agent: [finisher], inputs: { 'max-iterations': '1' } });
    await runOnce(project);
    expect(project.forge.pulls[0]?.draft).toBe(true);
    await runOnce(project);
    expect(project.forge.pulls[0]?.draft).toBe(false);

    const open = createProject({ agent: [steadyWorker], inputs: { draft: 'false', 'max-iterations': '1' } });
    await runOnce(open);
    expect(open.forge.pulls[0]?.draft).toBe(false);
  });

  test('a state that cannot be saved is a warning in the log, with its consequence', async () => {
    const project = createProject({ agent: [finisher] });
    const run = await runOnce(project, {
      onRecord: () => {
        cutOff(project, 'it does not answer');
      },
    });
    expect(savedIn(run)).toEqual({ kind: 'not-saved', why: 'cache ✗: it does not answer, ref ✗: it does not answer' });
    expect(run.log.join('\n')).toContain(
      'warning: The state was not saved: cache ✗: it does not answer, ref ✗: it does not answer. The next run on this branch starts from the state before this run, or with one probe iteration if no state was ever saved.',
    );
  });

  test('each save has the next sequence number, and can be read back', async () => {
    const project = createProject({ agent: [steadyWorker], inputs: { 'max-iterations': '1' } });
    // The push of an iteration includes a copy, and the end of the run saves another.
    for (const sequence of [2, 4, 6]) {
      await runOnce(project);
      expect(parseState(savedDocument(project) ?? '', 'queue')).toMatchObject({
        kind: 'state',
        problems: [],
        state: { sequence },
      });
      expect(project.kept.cache.saved.get('queue')?.sequence).toBe(sequence);
    }
  });
});
