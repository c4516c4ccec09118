import { describe, expect, test } from 'vitest';
import { steadyWorker, finisher } from '../stage/behaviours.ts';
import { history } from '../stage/in-memory.ts';
import type { Project } from '../stage/project.ts';
import { createProject, finishOnce, runOnce, savedDocument, savedState } from '../stage/run-action.ts';
import { runSplit } from '../stage/split.ts';
import { counting, killAt } from '../stage/tap.ts';

function createSigning(setting: Parameters<typeof createProject>[0]): Project {
  const project = createProject(setting);
  project.remote.signatureRule = true;
  return project;
}

/** Returns the commits of the queue's branch, the newest first. */
function commitsOf({ origin }: Project): readonly string[] {
  const ids = history(origin.commits, origin.branches.get('ralph/queue') ?? '');
  return ids.slice(0, ids.indexOf(origin.branches.get('main') ?? ''));
}

/** Returns what is wrong with the branch and with what the state says of it. */
function problemsOf(project: Project): readonly string[] {
  const commits = commitsOf(project);
  const { change, lastRun, tasks } = savedState(project);
  const named = [
    ...Object.values(change.tasks).flatMap((share) => share.commits),
    ...Object.values(tasks).flatMap(({ doneCommit }) => doneCommit ?? []),
    lastRun?.published?.head ?? 'none',
  ];
  const unsigned = [...project.origin.commits.keys()].filter((id) => !project.remote.signed.has(id));
  const document = savedDocument(project) ?? '';
  return [
    ...commits.filter((id) => !project.remote.signed.has(id)).map((id) => `${id} has no signature`),
    ...named.filter((id) => !commits.includes(id)).map((id) => `${id} is not on the branch`),
    ...unsigned
      .filter((id) => id !== project.origin.branches.get('main') && document.includes(id))
      .map((id) => `the state still names ${id}`),
  ];
}

describe('a branch that requires signatures', () => {
  test('gets signed commits alone: the tasks are done, nobody has to do anything, and the state names these commits', async () => {
    const project = createSigning({ issues: [1, 2], agent: [finisher], inputs: { verify: 'npm test' } });
    const run = await runOnce(project);
    expect(run.end).toBe('complete (plan_complete)');
    expect(commitsOf(project)).toHaveLength(2);
    expect(problemsOf(project)).toEqual([]);
    expect(run.log.filter((line) => line.includes('GitHub signed 1 commit for ralph/queue'))).toHaveLength(2);
    expect(run.log.filter((line) => /^info: pushed .* with it$/.test(line))).toHaveLength(2);
    expect(run.report).toMatchObject({ headSha: project.origin.branches.get('ralph/queue') });
    const notes = [...project.forge.notifications.values()].flatMap((one) => [...one.values()]);
    expect(notes.join()).not.toMatch(/sign/);
    // The next run continues from there without a second proof.
    expect(await runOnce(project)).toMatchObject({ calls: 0 });
  });

  test('a later run builds on the signed commits', async () => {
    const project = createSigning({ agent: [steadyWorker], inputs: { 'max-iterations': '2' } });
    await runOnce(project);
    await runOnce(project);
    expect(commitsOf(project)).toHaveLength(4);
    expect(problemsOf(project)).toEqual([]);
  });

  test('three jobs: the job that publishes signs', async () => {
    const project = createSigning({ issues: [1, 2], agent: [finisher] });
    const run = await runSplit(project);
    expect(run.publish?.end).toBe('complete (plan_complete)');
    expect(commitsOf(project)).toHaveLength(2);
    expect(problemsOf(project)).toEqual([]);
  });

  test.each([
    ['before', 'remote.sign'],
    ['after', 'remote.sign'],
    ['before', 'repository.takeHead'],
    ['after', 'repository.takeHead'],
    ['after', 'remote.pushWithState'],
  ] as const)('killed %s %s: post publishes the same commits, signed and once', async (when, point) => {
    const project = createSigning({ issues: [1, 2], agent: [finisher] });
    let times = 0;
    // The first push shows that signatures are required, so the second time is that of the second commit.
    const tap = killAt((name) => name === point && (times += 1) === 2, when);
    const main = await runOnce(project, { tap });
    expect(main.report).toBeNull();
    await finishOnce(project, main);
    expect(problemsOf(project)).toEqual([]);
    const pushed = commitsOf(project).map((id) => JSON.stringify(project.origin.commits.get(id)?.tree));
    expect(new Set(pushed).size).toBe(pushed.length);
    expect((await runOnce(project)).end).toMatch(/^(complete|idle)/);
    expect(problemsOf(project)).toEqual([]);
  });

  test.each(['remote.sign', 'remote.pushWithState'])(
    'three jobs, the one that publishes killed after %s: its post publishes the same commits, signed and once',
    async (point) => {
      const project = createSigning({ issues: [1, 2], agent: [finisher] });
      let times = 0;
      // The first answer of each only shows that signatures are required.
      const tap = killAt((name) => name === point && (times += 1) === 2, 'after');
      const { publish } = await runSplit(project, { publish: { tap } });
      if (publish === null) throw new Error('It did not run.');
      expect(publish.report).toBeNull();
      const branch = project.origin.branches.get('ralph/queue');
      const post = await finishOnce(project, publish);
      expect(post?.report).not.toBeNull();
      expect(commitsOf(project)).toHaveLength(2);
      expect(problemsOf(project)).toEqual([]);
      if (point === 'remote.pushWithState') expect(project.origin.branches.get('ralph/queue')).toBe(branch);
      expect([...project.origin.branches.keys()]).toEqual(['main', 'ralph/queue']);
    },
  );

  test('the token of a person: configuration, named once, and later runs make no call', async () => {
    const project = createSigning({ issues: [1, 2], agent: [finisher] });
    project.remote.account = 'person';
    const first = await runOnce(project);
    expect(first.report?.outcome).toMatchObject({
      kind: 'failed',
      reason: 'configuration',
      message: expect.stringContaining('GitHub did not sign the commits') as string,
    });
    expect(first.calls).toBe(1);
    for (let run = 0; run < 2; run += 1) expect(await runOnce(project)).toMatchObject({ calls: 0 });
    expect([...project.forge.notifications.values()].flatMap((notes) => [...notes.values()])).toHaveLength(1);
    project.remote.account = 'app';
    expect((await runOnce(project)).end).toBe('complete (plan_complete)');
    expect(problemsOf(project)).toEqual([]);
  });
});

test('without such a rule nothing is signed', async () => {
  const project = createProject({ issues: [1], agent: [finisher] });
  const tap = counting();
  await runOnce(project, { tap });
  expect(project.remote.signed.size).toBe(0);
  expect(tap.calls).not.toContain('forge.makeCommit');
});
