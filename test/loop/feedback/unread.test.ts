import { describe, expect, test } from 'vitest';
import { UserError } from '../../../src/errors.ts';
import { suggestNextSteps } from '../../../src/report/next/for-run.ts';
import { renderSteps } from '../../../src/report/next/step.ts';
import type { Project } from '../stage/project.ts';
import { addIssue, createProject, warningsIn, type Event } from '../stage/run-action.ts';
import { BRANCH, bodyOf, next, notices, reviewed, reviewedOn, worker } from './reviewing.ts';
import { failing } from './said.ts';

const away = { kind: 'unreadable', why: 'GitHub answers: Something went wrong.', isTemporary: true } as const;
const refused = { kind: 'unreadable', why: 'The token may not read them. Add `checks: read`.' } as const;

/** Returns CI's event about a failure of the pull request's newest commit. */
function failedOn({ origin }: Project): Event {
  const payload = { state: 'failure', sha: origin.branches.get(BRANCH) ?? '', branches: [{ name: BRANCH }] };
  return { name: 'status', payload };
}

/** Creates a queue with a second task whose pull request is a draft with open work. */
async function goingOn(): Promise<Project> {
  const project = createProject({ agent: [worker] });
  await next(project);
  addIssue(project.forge, 2);
  return project;
}

describe('checks that GitHub fails to give', () => {
  test('keep the pull request from being called ready, until they are read', async () => {
    const project = await goingOn();
    project.forge.notifications.clear();
    project.forge.saidOf.set(BRANCH, { checks: away });
    const run = await next(project);
    expect(run).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(warningsIn(run).join('\n')).toContain('The checks of the pull request could not be read.');
    const words = [
      bodyOf(project),
      ...notices(project),
      run.report === null ? '' : renderSteps(suggestNextSteps(run.report), 'log'),
    ];
    expect(words.join('\n')).not.toMatch(/merge it|is ready for review|## ✅/);
    expect(words.join('\n')).toContain('its checks could not be read');
    project.forge.saidOf.set(BRANCH, {});
    await next(project);
    expect(bodyOf(project)).not.toContain('could not be read');
  });

  test('end the run that their own failure started, as an outage and without a message', async () => {
    const project = await reviewed(worker);
    const before = notices(project).length;
    project.forge.saidOf.set(BRANCH, { checks: away });
    const run = await next(project, failedOn(project));
    expect(run).toMatchObject({ end: 'failed (infrastructure)', calls: 0 });
    expect(run.outcome).toMatchObject({ message: expect.stringContaining('Something went wrong') });
    expect(notices(project)).toHaveLength(before);
  });
});

test('checks that the token may not read: the pull request asks people to look at them', async () => {
  const project = await goingOn();
  project.forge.notifications.clear();
  project.forge.saidOf.set(BRANCH, { checks: refused });
  const run = await next(project);
  const said = notices(project).join('\n');
  expect(said).toContain('waits for a person: its checks could not be read. The token may not read them. Add');
  for (const words of [said, run.log.join('\n')]) expect(words.split('`checks: read`')).toHaveLength(2);
  expect(said).not.toMatch(/merge it|is ready/);
});

describe('a read that fails', () => {
  const weather = new UserError('infrastructure', 'GitHub answers 502.');

  test('ends the run of a review, which needs an answer', async () => {
    const project = await reviewed(worker);
    project.forge.faults.set('pullRequestNow', weather);
    const run = await next(project, reviewedOn(BRANCH));
    expect(run).toMatchObject({ end: 'failed (infrastructure)', calls: 0 });
    expect(run.outcome).toMatchObject({ message: 'GitHub answers 502.' });
  });

  test('lets the schedule work, and the pull request is not called ready', async () => {
    const project = await goingOn();
    project.forge.notifications.clear();
    project.forge.faults.set('pullRequestNow', weather);
    expect(await next(project)).toMatchObject({ calls: 1 });
    expect([bodyOf(project), ...notices(project)].join('\n')).not.toMatch(/merge it|is ready for review|## ✅/);
  });
});

test.each([
  ['they also fail on the base branch', { head: [failing()], base: [failing()] }],
  [
    'they passed and failed on the same commit',
    { head: [failing(), failing({ id: 32, result: 'passed', conclusion: 'success' })], base: [] },
  ],
])('a run that a failed check starts reports: %s', async (why, checks) => {
  const project = await reviewed(worker);
  project.forge.saidOf.set(BRANCH, { checks: { kind: 'known', ...checks } });
  const run = await next(project, failedOn(project));
  expect(run).toMatchObject({ end: 'idle (updated)', calls: 0 });
  expect(run.outcome).toMatchObject({ message: expect.stringContaining(why) });
  expect(run.outcome).toMatchObject({ message: expect.stringContaining('"test"') });
});
