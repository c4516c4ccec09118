import { describe, expect, test } from 'vitest';
import { UserError } from '../../src/errors.ts';
import type { ForgeAdapter } from '../../src/ports/forge.ts';
import { MINUTE } from '../unit/core/core-fixtures.ts';
import { claimsBlocked, finisher, steadyWorker, usageLimited, type Behaviour } from './stage/behaviours.ts';
import type { Project } from './stage/project.ts';
import {
  addIssue,
  commented,
  createProject,
  finishOnce,
  labeled,
  runOnce,
  savedState,
  schedule,
  type Event,
} from './stage/run-action.ts';
import { killAt } from './stage/tap.ts';

const HOUR = 60 * MINUTE;
const LIMIT = 'limit (iterations)';
const done = { end: 'complete (plan_complete)', calls: 1 };

/** Labels issue 1, whose run on its own branch reaches the limit of one iteration. */
async function begun(agent: readonly Behaviour[] = [steadyWorker], issues: readonly number[] = [1]): Promise<Project> {
  const project = createProject({ issues, agent, inputs: { 'max-iterations': '1' } });
  expect(await runOnce(project, { event: labeled(1) })).toMatchObject({ end: LIMIT, calls: 1 });
  project.script.behaviours = [finisher];
  return project;
}
const later = (project: Project, event: Event = schedule) => {
  project.clock.advance(HOUR);
  return runOnce(project, { event });
};
const worked = ({ script }: Project): readonly (string | undefined)[] =>
  script.calls.map(({ prompt }) => /^# Your task: (\S+)$/m.exec(prompt)?.[1]);

describe('an issue that came to a limit on its own branch continues there with the schedule', () => {
  test('until it is done, in its own pull request', async () => {
    const project = await begun();
    expect(await later(project)).toMatchObject(done);
    expect(project.forge.pulls.map(({ branch }) => branch)).toEqual(['ralph/issue-1']);
    expect(savedState(project, 'issue-1').tasks['issue-1']?.state).toBe('done');
    expect(await later(project)).toMatchObject({ end: 'idle (no_tasks)', calls: 0 });
  });

  test('when the queue has nothing to do, and not before', async () => {
    const project = await begun([steadyWorker], [1, 2]);
    expect(await later(project)).toMatchObject(done);
    expect(await later(project)).toMatchObject(done);
    expect(worked(project)).toEqual(['issue-1', 'issue-2', 'issue-1']);
  });

  test('beside a queue that waits for a person', async () => {
    const project = await begun([steadyWorker], [1, 2]);
    project.script.behaviours = [claimsBlocked];
    await later(project);
    await later(project);
    project.script.behaviours = [finisher];
    await later(project);
    expect(worked(project)).toEqual(['issue-1', 'issue-2', 'issue-2', 'issue-1']);
  });

  test('one issue after another', async () => {
    const project = await begun([steadyWorker], [1, 2]);
    project.script.behaviours = [steadyWorker];
    expect(await later(project, labeled(2))).toMatchObject({ end: LIMIT, calls: 1 });
    project.script.behaviours = [finisher];
    expect(await later(project)).toMatchObject(done);
    expect(await later(project)).toMatchObject(done);
    expect(await later(project)).toMatchObject({ calls: 0 });
    expect(worked(project)).toEqual(['issue-1', 'issue-2', 'issue-1', 'issue-2']);
  });

  test('once the limit of the provider is over', async () => {
    const project = createProject({ agent: [steadyWorker], inputs: { 'max-iterations': '2' } });
    project.script.behaviours = [steadyWorker, usageLimited(project.clock.now() + 2 * HOUR)];
    expect(await runOnce(project, { event: labeled(1) })).toMatchObject({ end: 'parked (usage_limit)' });
    project.script.behaviours = [finisher];
    expect(await later(project)).toMatchObject({ calls: 0 });
    expect(await later(project)).toMatchObject(done);
  });
});

test.each(['remote.pushWithState', 'forge.openPullRequest'])(
  'an issue that is done on its own branch by a run that was killed after %s is completed by the schedule, without a call',
  async (point) => {
    const project = createProject({ issues: [1], agent: [finisher] });
    const run = await runOnce(project, { event: labeled(1), tap: killAt((name) => name === point, 'after') });
    await finishOnce(project, run);
    expect(savedState(project, 'issue-1').lastRun?.outcome).toBe('cancelled');
    expect(project.forge.pulls).toMatchObject([{ branch: 'ralph/issue-1', draft: true }]);
    expect(await later(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 0 });
    expect(project.forge.pulls).toMatchObject([{ branch: 'ralph/issue-1', draft: false }]);
    expect(await later(project)).toMatchObject({ end: 'idle (no_tasks)', calls: 0 });
  },
);

describe('it does not continue', () => {
  test.each<[string, (project: Project) => Promise<unknown>]>([
    ['while a person has it paused', (project) => later(project, commented('/ralph pause', { issue: 1 }))],
    [
      'when a person closed its pull request',
      (project) => {
        const [pull] = project.forge.pulls;
        if (pull !== undefined) project.forge.pulls[0] = { ...pull, state: 'closed' };
        return Promise.resolve();
      },
    ],
    [
      'without its label',
      (project) => {
        addIssue(project.forge, 1, { labels: [] });
        return Promise.resolve();
      },
    ],
    [
      'when it was closed',
      (project) => {
        addIssue(project.forge, 1, { state: 'closed' });
        return Promise.resolve();
      },
    ],
    [
      'while it waits for a person',
      async (project) => {
        project.script.behaviours = [claimsBlocked];
        await later(project);
        await later(project);
        project.script.behaviours = [finisher];
      },
    ],
  ])('%s', async (_when, happens) => {
    const project = await begun();
    await happens(project);
    const before = project.script.calls.length;
    for (const run of [await later(project), await later(project)]) expect(run.calls).toBe(0);
    expect(project.script.calls).toHaveLength(before);
  });
});

describe("the schedule catches up once on what an outage of GitHub prevented on an issue's branch", () => {
  const down = new UserError('infrastructure', 'Down.');
  const asked = ({ forge }: Project): readonly string[] =>
    [...forge.notifications.values()].flatMap((thread) => [...thread.keys()]);

  test.each<[string, keyof ForgeAdapter, Behaviour, string]>([
    ['the comment that it is ready', 'upsertComment', finisher, 'ready:lane-issue-1'],
    ['its pull request', 'openPullRequest', finisher, 'ready:lane-issue-1'],
    ['the comment that it failed', 'upsertComment', steadyWorker, 'failed:issue-1'],
  ])('%s', async (_, method, behaviour, need) => {
    const inputs = { 'max-iterations-per-task': '2' };
    const project = createProject({ agent: [behaviour], inputs });
    project.forge.faults.set(method, down);
    await runOnce(project, { event: labeled(1) });
    expect(asked(project)).toEqual([]);
    project.forge.faults.clear();
    for (let run = 0; run < 2; run += 1) {
      expect(await later(project)).toMatchObject({ calls: 0 });
      expect(asked(project)).toEqual([`<!-- ralph-action:notification ${need} -->`]);
    }
    expect(project.forge.pulls).toHaveLength(1);
    expect(await later(project)).toMatchObject({ end: 'idle (no_tasks)' });
  });

  test('but not on comments that may never be written', async () => {
    const project = createProject({ agent: [steadyWorker], inputs: { 'max-iterations-per-task': '2' } });
    project.forge.faults.set('upsertComment', new UserError('configuration', 'The conversation is locked.'));
    await runOnce(project, { event: labeled(1) });
    expect(await later(project)).toMatchObject({ end: 'idle (no_tasks)', calls: 0 });
  });
});
