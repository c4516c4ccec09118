import { describe, expect, test } from 'vitest';
import { startJob, type GitHubState } from '../../../testbed/github/state.ts';
import { now, openForge } from './github-fixture.ts';

const run = { runId: '42', runAttempt: 2, runnerName: 'GitHub Actions 7' };
const withoutActions = { metadata: 'read', contents: 'write', issues: 'write' } as const;
const reading = { ...withoutActions, actions: 'read' } as const;

function jobsOf(state: GitHubState, ...runnerNames: readonly string[]): void {
  for (const runnerName of runnerNames) startJob(state, { runId: 42, runAttempt: 2, runnerName }, now);
}

test.each<[string, readonly string[], string, number | null]>([
  ['the only one', ['GitHub Actions 7'], run.runnerName, 0],
  ["that of this run's runner", ['GitHub Actions 6', 'GitHub Actions 7'], run.runnerName, 1],
  ['the only one, whatever its runner is called', ['my-runner'], run.runnerName, 0],
  ['the only one, where the runner has no name', ['my-runner'], '', 0],
  ['none of several on other runners', ['GitHub Actions 6', 'GitHub Actions 8'], run.runnerName, null],
  ['none of several on a runner of one name', ['GitHub Actions 7', 'GitHub Actions 7'], run.runnerName, null],
])('the job is %s, and the step the one that runs', async (_case, runners, runnerName, expected) => {
  await using at = await openForge({ permissions: reading });
  jobsOf(at.github.state, ...runners);
  // Another attempt and a completed job must not match.
  startJob(at.github.state, { runId: 42, runAttempt: 1, runnerName }, now);
  startJob(at.github.state, { runId: 42, runAttempt: 2, runnerName }, now).completedAt = now;
  const job = expected === null ? undefined : at.github.state.jobs[expected];
  expect(await at.forge.stepUrl({ ...run, runnerName })).toBe(
    job === undefined ? null : `${at.github.url}/octo/demo/actions/runs/42/job/${String(job.id)}#step:3:1`,
  );
  expect(at.sent()).toEqual(['GET /actions/runs/42/attempts/2/jobs?per_page=100']);
});

test('a token that may not read actions, and a server that fails, cost one request', async () => {
  await using at = await openForge({ permissions: withoutActions });
  jobsOf(at.github.state, run.runnerName);
  await expect(at.forge.stepUrl(run)).rejects.toThrow(/403/);
  at.github.faults.inject({
    match: { method: 'GET', path: /jobs$/ },
    times: 1,
    effect: { kind: 'answer', status: 502, body: {} },
  });
  await expect(at.forge.stepUrl(run)).rejects.toThrow();
  expect(at.sent()).toHaveLength(2);
});

describe('a run whose claims are in the way', () => {
  test.each<[string, readonly [attempt: number, isOver: boolean][], number]>([
    ['works', [[1, false]], 0],
    [
      'works in a later attempt, under the claim of an earlier one',
      [
        [1, true],
        [2, false],
      ],
      0,
    ],
    [
      'has ended with all its attempts',
      [
        [1, true],
        [2, true],
      ],
      2,
    ],
    [
      'has ended but for one job',
      [
        [1, true],
        [1, false],
      ],
      0,
    ],
  ])('%s', async (_case, jobs, ended) => {
    await using at = await openForge({ permissions: reading });
    for (const [runAttempt, isOver] of jobs) {
      const job = startJob(at.github.state, { runId: 42, runAttempt, runnerName: 'GitHub Actions 7' }, now);
      if (isOver) job.completedAt = now;
    }
    for (let asked = 0; asked < 2; asked += 1) expect(await at.forge.countEndedAttempts('42')).toBe(ended);
    expect(at.sent()).toEqual(['GET /actions/runs/42?exclude_pull_requests=true']);
  });

  test('is unknown to a token that may not read actions, and costs one request', async () => {
    await using at = await openForge({ permissions: withoutActions });
    jobsOf(at.github.state, run.runnerName);
    for (let asked = 0; asked < 2; asked += 1) await expect(at.forge.countEndedAttempts('42')).rejects.toThrow(/403/);
    expect(at.sent()).toHaveLength(1);
  });
});
