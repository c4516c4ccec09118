import { expect, test } from 'vitest';
import { UserError } from '../../../src/errors.ts';
import { finisher, steadyWorker } from '../stage/behaviours.ts';
import { commented, createProject, labeled, runOnce, schedule } from '../stage/run-action.ts';
import { open } from '../stage/tap.ts';

test('the status comment exists from the first seconds, and is edited at the start of each iteration', async () => {
  const project = createProject({ issues: [1, 2], agent: [finisher] });
  const seen: string[] = [];
  const { upsertComment } = project.forge;
  project.forge.upsertComment = (number, marker, body) => {
    seen.push(`#${String(number)}: ${/(at work.*? began|Complete)/.exec(String(body))?.[1] ?? ''}`);
    return upsertComment(number, marker, body);
  };
  const run = await runOnce(project);
  expect(run).toMatchObject({ end: 'complete (plan_complete)', calls: 2 });
  expect(seen.slice(0, 2)).toEqual([
    '#1: at work.** Iteration 1 of 10 began',
    '#2: at work.** Iteration 2 of 10 began',
  ]);
  expect(project.forge.comments.get(1)?.size).toBe(1);
});

test('a comment that cannot be written does not affect the run', async () => {
  const project = createProject({ issues: [1, 2, 3], agent: [finisher] });
  let tried = 0;
  project.forge.upsertComment = () => {
    tried += 1;
    return Promise.reject(new UserError('infrastructure', 'No.'));
  };
  expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 3 });
  // Two updates while the agent works, and one for each comment at the end.
  expect(tried).toBeLessThanOrEqual(2 + 4 + 1);
});

test.each([
  ['help', 'Ralph works on open issues with the label `ralph`.'],
  ['hlep', 'There is no command `hlep`. Did you mean `/ralph help`?'],
  ['status', '**Status of '],
  ['pause', '**Paused**'],
])('the answer to /ralph %s during a run stays beside its status to the end', async (words, expected) => {
  const project = createProject({ issues: [1], agent: [steadyWorker], inputs: { 'max-iterations': '3' } });
  let calls = 0;
  const run = await runOnce(project, {
    tap: {
      ...open,
      call: async (name, call) => {
        const answer = await call();
        if (name === 'agent.call' && (calls += 1) === 1)
          await runOnce(project, { event: commented(`/ralph ${words}`, { issue: 1 }) });
        return answer;
      },
    },
  });
  expect(run.calls).toBe(3);
  const [status = '', answer = '', ...more] = [...(project.forge.comments.get(1)?.values() ?? [])].map((body) =>
    body.replaceAll('\u200B', ''),
  );
  expect(status).toMatch(/^<!-- ralph-action:status -->\n\n[^]*Iteration limit/);
  expect(answer).toContain(expected);
  expect(answer).toMatch(/^<!-- ralph-action:answer -->\n/);
  expect(more).toEqual([]);
});

test.each([schedule, labeled(1)])(
  'a comment that an outage left in progress is corrected by the run that notifies people of the stop: $name',
  async (event) => {
    const project = createProject({ issues: [1] });
    const { faults, comments } = project.forge;
    project.script.behaviours = [
      (call) => ({
        ...steadyWorker(call),
        meanwhile: () => {
          faults.set('upsertComment', new UserError('infrastructure', 'Down.'));
        },
      }),
    ];
    project.inputs = { 'max-iterations-per-task': '1' };
    const status = () => [...(comments.get(1)?.values() ?? [])].join('\n');
    await runOnce(project, { event });
    expect(status()).toContain('Ralph is at work.');
    faults.clear();
    for (let run = 0; run < 2; run += 1) {
      expect(await runOnce(project)).toMatchObject({ calls: 0 });
      expect(status()).not.toContain('Ralph is at work.');
      expect(status()).toContain('gave up after 1 iteration');
    }
  },
);

test.each([
  ['the branch', '⬜ to do after 1 iteration', 'The commits of this run could not be pushed to ralph/issue-1'],
  ['the pull request', '✅ done after 1 iteration', 'the pull request is not up to date: GitHub answers 502.'],
])('after %s could not be published it says what is missing', async (which, task, missing) => {
  const project = createProject({ issues: [1], agent: [finisher] });
  const down = new UserError('infrastructure', 'GitHub answers 502.');
  if (which === 'the branch')
    for (const name of ['push', 'pushWithState', 'pushOn'] as const) project.remote.faults.set(name, down);
  else project.forge.faults.set('openPullRequest', down);
  const run = await runOnce(project, { event: commented('/ralph run', { issue: 1 }) });
  expect(run).toMatchObject({ end: 'failed (infrastructure)', calls: 1 });
  const status = [...(project.forge.comments.get(1)?.values() ?? [])].join('\n');
  expect(status).toContain(task);
  expect(status).toContain(missing);
  expect(status).not.toMatch(/\*\*Complete|merge it/);
});
