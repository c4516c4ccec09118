import { describe, expect, test } from 'vitest';
import { hasWorkLeft } from '../../../src/core/snapshot/going-on.ts';
import { listLanes } from '../../../src/core/snapshot/snapshot.ts';
import { usageLimited } from '../stage/behaviours.ts';
import {
  commented,
  createProject,
  labeled,
  runOnce,
  savedState,
  schedule,
  warningsIn,
  type Event,
} from '../stage/run-action.ts';
import type { Project } from '../stage/project.ts';
import { killAt, open, type Tap } from '../stage/tap.ts';
import { next, reviewedOn, worker } from './reviewing.ts';
import { comment, review, thread } from './said.ts';

const HOUR = 3_600_000;
const BRANCH = 'ralph/issue-1';
const submitted = reviewedOn(BRANCH);

/** Creates a finished issue whose own pull request has a request for changes. */
async function asked(inputs: Readonly<Record<string, string>> = {}): Promise<Project> {
  const project = createProject({ agent: [worker], inputs });
  expect((await runOnce(project, { event: labeled(1) })).end).toBe('complete (plan_complete)');
  say(project, 11);
  return project;
}

function say({ forge }: Project, id: number): void {
  const before = forge.saidOf.get(BRANCH)?.threads ?? [];
  forge.saidOf.set(BRANCH, { reviews: [review()], threads: [...before, thread([comment(id, 'Rename it.')])] });
}

function repliesOf({ forge }: Project): readonly number[] {
  return forge.replies.map(({ replyTo }) => replyTo);
}

function toGoOn({ kept, clock }: Project): unknown {
  const { snapshot } = kept.refs.shared;
  const asker = { runTag: 'a new run', runId: 'new', runAttempt: 1, now: clock.now(), allowed: [] };
  return listLanes(snapshot).filter((lane) => hasWorkLeft(snapshot, lane, asker));
}

describe("a review of an issue's own pull request", () => {
  test('is answered, although the issue is done', async () => {
    const project = await asked();
    expect(await next(project, submitted)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(repliesOf(project)).toEqual([11]);
    expect(toGoOn(project)).toEqual([]);
  });

  test('that comes while a run works waits for the next run of the schedule', async () => {
    const project = await asked();
    let second = '';
    let requests = 0;
    const tap: Tap = {
      ...open,
      call: async (name, call) => {
        if (name === 'agent.call' && second === '') {
          say(project, 12);
          const { sent } = project.forge.requests();
          second = (await runOnce(project, { event: submitted })).end;
          requests = project.forge.requests().sent - sent;
        }
        return call();
      },
    };
    project.clock.advance(HOUR);
    expect(await runOnce(project, { event: submitted, tap })).toMatchObject({ calls: 1 });
    expect(second).toBe('refused (another_run)');
    // The requests read the person's permission, the issue, and whether the other run has ended; the feedback is left
    // to the run that can answer it.
    expect(requests).toBe(3);
    expect(repliesOf(project)).toEqual([11]);
    expect(await next(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(repliesOf(project)).toEqual([11, 12]);
    expect(toGoOn(project)).toEqual([]);
  });

  test('is answered by the first of the two runs that one reply starts; the second finds nothing', async () => {
    const project = await asked();
    expect(await next(project, submitted)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    const written = project.forge.writes.length;
    expect(await runOnce(project, { event: submitted })).toMatchObject({ end: 'idle (updated)', calls: 0 });
    expect(project.forge.writes).toHaveLength(written);
    expect(repliesOf(project)).toEqual([11]);
  });

  test('is answered by the schedule if the triggered run dies with its machine', async () => {
    const project = await asked();
    project.clock.advance(HOUR);
    await runOnce(project, { event: submitted, tap: killAt((name) => name === 'agent.call', 'before') });
    project.clock.advance(HOUR);
    expect(await next(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(repliesOf(project)).toEqual([11]);
    expect(toGoOn(project)).toEqual([]);
  });

  test('is answered once its limit is over', async () => {
    const project = await asked();
    project.script.behaviours = [usageLimited(project.clock.now() + 3 * HOUR)];
    expect((await next(project, submitted)).end).toBe('parked (usage_limit)');
    project.script.behaviours = [worker];
    expect(await next(project)).toMatchObject({ calls: 0 });
    project.clock.advance(2 * HOUR);
    expect(await next(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(repliesOf(project)).toEqual([11]);
  });

  test('is answered the day after its budget was spent', async () => {
    const project = await asked({ 'max-cost-usd-per-day': '0.01' });
    expect((await next(project, submitted)).end).toBe('parked (cost_per_day)');
    project.clock.advance(24 * HOUR);
    expect(await next(project)).toMatchObject({ calls: 1 });
    expect(repliesOf(project)).toEqual([11]);
  });

  test('is answered once it is no longer paused', async () => {
    const project = await asked();
    await next(project, commented('/ralph pause', { issue: 1 }));
    expect(await next(project, submitted)).toMatchObject({ end: 'paused (by_person)', calls: 0 });
    expect(await next(project)).toMatchObject({ calls: 0 });
    await next(project, commented('/ralph resume', { issue: 1 }));
    await next(project);
    expect(repliesOf(project)).toEqual([11]);
  });

  test('is no longer looked up by every run once nobody waits for it', async () => {
    const project = await asked();
    await next(project, commented('/ralph pause', { issue: 1 }));
    await next(project, submitted);
    project.forge.saidOf.delete(BRANCH);
    await next(project, commented('/ralph resume', { issue: 1 }));
    expect(toGoOn(project)).toEqual(['issue-1']);
    expect(await next(project)).toMatchObject({ calls: 0 });
    expect(toGoOn(project)).toEqual([]);
    expect(savedState(project, 'issue-1').feedback.items).toEqual({});
  });
});

describe("where the workflow's file names no review", () => {
  const file = '.github/workflows/ralph.yml';
  const label = 'on:\n  issues:\n    types: [labeled]\n';
  const review = `${label}  pull_request_review:\n    types: [submitted]\n`;
  const comments = `${label}  pull_request_review_comment:\n    types: [created]\n`;

  test.each<[string, Event, Parameters<typeof createProject>[0], number]>([
    ["a run on an issue's own branch says that nobody is heard there", labeled(1), { files: { [file]: label } }, 1],
    ['it does where only replies are named', labeled(1), { files: { [file]: comments } }, 1],
    ['not where reviews are', labeled(1), { files: { [file]: review } }, 0],
    [
      'not where they are left to people',
      labeled(1),
      { files: { [file]: label }, inputs: { 'answer-reviews': 'false' } },
      0,
    ],
    ['not where nobody can tell', labeled(1), {}, 0],
    ["nor on the queue's branch, which the schedule reads", schedule, { files: { [file]: label } }, 0],
  ])('%s', async (_, event, setting, expected) => {
    const run = await runOnce(createProject({ agent: [worker], ...setting }), { event });
    expect(run).toMatchObject({ calls: 1 });
    expect(warningsIn(run).filter((warning) => warning.includes('start no run'))).toHaveLength(expected);
  });
});
