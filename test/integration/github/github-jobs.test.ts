import { expect, test } from 'vitest';
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
