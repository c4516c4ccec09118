import { describe, expect, test } from 'vitest';
import { finisher, steadyWorker, type Behaviour } from '../stage/behaviours.ts';
import type { Files } from '../stage/in-memory.ts';
import { addIssue, createProject, green, runOnce, savedState } from '../stage/run-action.ts';
import { runSplit } from '../stage/split.ts';
import { renderSummary } from '../../../src/report/pages/summary.ts';

/** Returns GitHub's message about a secret in a file. */
const secretIn = (path: string): string =>
  [
    '[remote rejected] (push declined due to repository rule violations)',
    'remote: error: GH013: Repository rule violations found for refs/heads/ralph/queue.',
    'remote: - GITHUB PUSH PROTECTION',
    'remote:     - Push cannot contain secrets',
    'remote:        locations:',
    `remote:            path: ${path}:3`,
    'remote:        (?) To push, remove secret from commit(s) or follow this URL to allow the secret.',
  ].join('\n');

const SECRET = 'a secret that GitHub alone knows';
const pushProtection = (files: Files): string | null => {
  const path = Object.keys(files).find((name) => files[name] === SECRET);
  return path === undefined ? null : secretIn(path);
};

/** Writes a file with a secret in its first task, along with the work; `removes`: a later call removes it. */
const leaky =
  (removes: boolean): Behaviour =>
  (call) => {
    const act = finisher(call);
    const isFirst = call.task === 'issue-1';
    const has = call.files['src/config.ts'] === SECRET;
    const config = isFirst ? { 'src/config.ts': has && removes ? 'no secret' : SECRET } : {};
    return { ...act, writes: { ...act.writes, ...config } };
  };

test('a branch without commits that the server does not let be deleted does not fail the run, and nothing is said to be on it', async () => {
  const idle: Behaviour = () => ({
    output: { signal: { status: 'IN_PROGRESS', exitSignal: false, tasksCompleted: 0 } },
  });
  const project = createProject({ issues: [1], agent: [idle], inputs: { 'max-iterations': '1' } });
  project.remote.deletionRule = '- Cannot delete this branch';
  for (let run = 0; run < 2; run += 1) {
    const { end, report } = await runOnce(project);
    expect(end).toBe('limit (iterations)');
    expect(report === null ? '' : renderSummary(report)).not.toContain('is finished is on');
  }
  expect(project.forge.pulls).toEqual([]);
  expect([...project.origin.branches.keys()]).toContain('ralph/queue');
  project.script.behaviours = [finisher];
  expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)' });
});

describe('the server judges the content (L5)', () => {
  test('an agent that learns what the server said fixes the file: all three tasks are done in one run', async () => {
    const project = createProject({ issues: [1, 2, 3], agent: Array.from({ length: 9 }, () => leaky(true)) });
    project.remote.contentRule = pushProtection;
    const run = await runOnce(project);
    expect(run.report?.outcome).toEqual({ kind: 'complete', reason: 'plan_complete' });
    expect(run.calls).toBe(4);
    const published = project.origin.commits.get(project.origin.branches.get('ralph/queue') ?? '')?.tree;
    expect(published).toMatchObject({ 'src/config.ts': 'no secret' });
    const [, second] = project.script.calls;
    expect(second?.prompt).toMatch(/<<<SERVER|SERVER/);
    expect(second?.prompt).toContain('src/config.ts');
    expect(second?.prompt).toContain('Push cannot contain secrets');
    expect(second?.prompt).toContain('Do not look for a way around the rule');
    expect(JSON.stringify(run.report)).not.toMatch(/Exempt/i);
    expect(savedState(project, 'queue').tasks['issue-1']).toMatchObject({ state: 'done' });
    expect(savedState(project, 'queue').tasks['issue-1']).not.toHaveProperty('refused');
  });

  test('an agent that does not is set aside with one notification in the words of the server; the others are done, and later runs make no call', async () => {
    const project = createProject({ issues: [1, 2, 3], agent: Array.from({ length: 9 }, () => leaky(false)) });
    project.remote.contentRule = pushProtection;
    const run = await runOnce(project);
    expect(run.calls).toBe(4);
    const state = savedState(project, 'queue');
    expect(state.tasks).toMatchObject({
      'issue-1': { state: 'blocked', reason: 'push_refused', refused: { files: ['src/config.ts'] } },
      'issue-2': { state: 'done' },
      'issue-3': { state: 'done' },
    });
    expect(state.circuit.kind).toBe('closed');
    const published = project.origin.commits.get(project.origin.branches.get('ralph/queue') ?? '')?.tree ?? {};
    expect(Object.keys(published)).not.toContain('src/config.ts');
    expect(published).toMatchObject({ 'src/issue-2.ts': expect.any(String), 'src/issue-3.ts': expect.any(String) });
    const notes = [...(project.forge.notifications.get(1)?.values() ?? [])];
    expect(notes).toHaveLength(1);
    expect(notes[0]).toContain('The git server refuses the work on');
    expect(notes[0]).toContain('Push cannot contain secrets');
    expect(notes[0]).toContain('src/config.ts');
    expect(notes[0]).not.toMatch(/exempt|bypass|allow the secret/i);
    const again = await runOnce(project);
    expect(again.calls).toBe(0);
    expect(project.forge.notifications.get(1)?.size).toBe(1);
  });

  test.each([
    '[remote rejected] (pre-receive hook declined)\nremote: policy 17',
    'remote: error: GH013: Repository rule violations found\nremote: - policy 17',
  ])(
    'if the server names no file (%j), the task of the refused commits is set aside at once and the others continue',
    async (words) => {
      const project = createProject({ issues: [1, 2], agent: Array.from({ length: 9 }, () => leaky(false)) });
      project.remote.contentRule = (files) => (Object.values(files).includes(SECRET) ? words : null);
      const run = await runOnce(project);
      expect(run.calls).toBe(2);
      expect(savedState(project, 'queue').tasks).toMatchObject({
        'issue-1': { state: 'blocked', reason: 'push_refused', refused: { files: [] } },
        'issue-2': { state: 'done' },
      });
      const published = project.origin.commits.get(project.origin.branches.get('ralph/queue') ?? '')?.tree ?? {};
      expect(Object.keys(published).sort()).toEqual(['README.md', 'src/issue-2.ts']);
      const note = [...(project.forge.notifications.get(1)?.values() ?? [])].join();
      expect(note).toContain('policy 17');
      expect(note).not.toMatch(/bypass|Limit the rule/);
    },
  );
});

describe('the server judges the branch (L6)', () => {
  test.each([
    ['signatures', '- Commits must have verified signatures.'],
    ['author', '- Commit author email must match a given regex pattern: @corp'],
  ])('%s: configuration, one call at most, one notification, no task blamed', async (_, rule) => {
    const project = createProject({ issues: [1, 2], agent: Array.from({ length: 9 }, () => steadyWorker) });
    const words = `[remote rejected] (push declined)\nremote: error: GH013: Repository rule violations found\nremote: ${rule}`;
    project.remote.contentRule = (files) => ('src/issue-1.ts' in files ? words : null);
    project.remote.deletionRule = words;
    const first = await runOnce(project);
    expect(first.report?.outcome).toMatchObject({ kind: 'failed', reason: 'configuration' });
    expect(first.calls).toBe(1);
    expect(first.report === null ? '' : renderSummary(first.report)).not.toContain('is finished is on');
    project.remote.refusal = words;
    for (let run = 0; run < 4; run += 1) {
      const later = await runOnce(project);
      expect(later.calls).toBe(0);
      expect(later.report?.outcome).toMatchObject({ kind: 'failed', reason: 'configuration' });
      project.clock.advance(3_600_000);
    }
    const state = savedState(project, 'queue');
    expect(state.circuit).toMatchObject({ kind: 'closed' });
    const notes = [...project.forge.notifications.values()].flatMap((one) => [...one.values()]);
    expect(notes).toHaveLength(1);
    project.remote.refusal = null;
    project.remote.contentRule = () => null;
    expect((await runOnce(project)).calls).toBeGreaterThan(0);
  });

  test.each([['ralph'], ['ralph/queue/foo']])(
    'a branch %s is in the way: configuration, no call, named once with the remedy',
    async (other) => {
      const project = createProject({ issues: [1], agent: [finisher] });
      const main = project.origin.branches.get('main') ?? '';
      project.origin.branches.set(other, main);
      for (let run = 0; run < 3; run += 1) {
        const { calls, report } = await runOnce(project);
        expect(calls).toBe(0);
        expect(report?.outcome).toMatchObject({
          kind: 'failed',
          reason: 'configuration',
          message: expect.stringMatching(new RegExp(`the branch "${other}" is in the way.*branch-prefix`)) as string,
        });
      }
      expect([...(project.forge.notifications.get(1)?.values() ?? [])]).toHaveLength(1);
      project.origin.branches.delete(other);
      expect((await runOnce(project)).calls).toBe(1);
    },
  );

  test('a forbidden deletion: the next work begins on the merged branch, run after run, and no run is red', async () => {
    const project = createProject({ issues: [1], agent: Array.from({ length: 9 }, () => finisher) });
    project.remote.deletionRule =
      'remote: error: GH013: Repository rule violations\nremote: - Cannot delete this branch';
    const mergeNow = (): void => {
      const pull = project.forge.pulls.at(-1);
      if (pull === undefined) throw new Error('There is no pull request.');
      project.origin.branches.set('main', project.origin.branches.get('ralph/queue') ?? '');
      Object.assign(pull, { state: 'merged', headSha: project.origin.branches.get('ralph/queue') });
    };
    for (const number of [1, 2, 3]) {
      if (number > 1) addIssue(project.forge, number);
      const run = await runOnce(project);
      expect(run.report?.outcome).toEqual({ kind: 'complete', reason: 'plan_complete' });
      mergeNow();
      addIssue(project.forge, number, { state: 'closed' });
    }
    expect(project.forge.pulls).toHaveLength(3);
  });
});

describe('three jobs: the server refuses a file in the job that publishes', () => {
  const begin = (inputs: Readonly<Record<string, string>> = {}): ReturnType<typeof createProject> => {
    const project = createProject({ issues: [1, 2], agent: Array.from({ length: 9 }, () => leaky(false)), inputs });
    project.remote.contentRule = pushProtection;
    return project;
  };

  test('the run is not complete, its pull request stays a draft, and the next one continues with the task', async () => {
    const project = begin();
    const { publish } = await runSplit(project);
    expect(publish).toMatchObject({ end: 'limit (unverified)' });
    // Nothing verifies here.
    if (publish?.report == null) throw new Error('no report');
    expect(renderSummary(publish.report)).toMatch(/Not finished yet[^]*The git server refused a file/);
    expect(project.forge.pulls).toMatchObject([{ state: 'open', draft: true }]);
    expect(savedState(project, 'queue').tasks).toMatchObject({
      'issue-1': { state: 'in-progress', refused: { times: 1 } },
      'issue-2': { state: 'done' },
    });
    expect((await runSplit(project)).publish).toMatchObject({ end: 'blocked (needs_human)' });
    const notes = [...project.forge.notifications.values()].flatMap((one) => [...one.values()]);
    expect(notes).toHaveLength(1);
    expect(notes[0]).toContain('The git server refuses the work on');
  });

  test('what the loop has verified with the file is done once a run has verified it without', async () => {
    const project = begin({ verify: 'npm test' });
    project.verifier = green;
    await runSplit(project);
    expect(savedState(project, 'queue').tasks['issue-2']).toMatchObject({ state: 'in-progress', unproven: true });
    await runSplit(project);
    const { loop } = await runSplit(project);
    expect(loop?.calls).toBe(0);
    expect(savedState(project, 'queue').tasks).toMatchObject({
      'issue-1': { state: 'blocked', reason: 'push_refused' },
      'issue-2': { state: 'done' },
    });
  });
});
