import { describe, expect, test } from 'vitest';
import type { PullRequestNow } from '../../../src/core/feedback/pull-request-now.ts';
import { suggestNextSteps } from '../../../src/report/next/for-run.ts';
import { renderSteps } from '../../../src/report/next/step.ts';
import type { Behaviour } from '../stage/behaviours.ts';
import type { Project } from '../stage/project.ts';
import { loseState, schedule, type Run } from '../stage/run-action.ts';
import { runSplit } from '../stage/split.ts';
import { BRANCH, bodyOf, explainer, HOUR, next, notices, reviewed, reviewedOn, worker } from './reviewing.ts';
import { comment, failing, review, thread } from './said.ts';

const asker: Behaviour = () => ({
  output: { signal: { status: 'BLOCKED', exitSignal: false, summary: null, asks: 'Up or down?' } },
});
const red = { checks: { kind: 'known', head: [failing()], base: [] } } as const;
const asked = { reviews: [review()], threads: [thread([comment(11, 'Round it.')])] };
const inWords = { reviews: [review({ text: 'Round all of it.' })] };
const BLOCKED = 'blocked (needs_human)';

async function threeJobs(project: Project): Promise<Run> {
  project.clock.advance(HOUR);
  const { gate, publish } = await runSplit(project, { event: schedule });
  return publish ?? gate;
}

describe.each([
  ['one job', next],
  ['three jobs', threeJobs],
])('in %s', (_jobs, run) => {
  test.each<[string, Behaviour, Partial<PullRequestNow>, readonly string[]]>([
    ['a failed check is answered without a change', explainer, red, ['complete (plan_complete)', 'idle (all_done)']],
    ['a person must decide on a failed check', asker, red, [BLOCKED, BLOCKED]],
    ['a person must decide on a thread', asker, asked, [BLOCKED, BLOCKED]],
    ['a person must decide on a review', asker, inWords, [BLOCKED, BLOCKED]],
  ])('nobody is asked to merge while %s, by no later run either', async (_, agent, said, expected) => {
    const project = await reviewed(agent);
    expect(notices(project).join('\n')).toContain('is ready for review');
    project.forge.saidOf.set(BRANCH, said);
    const ends: string[] = [];
    for (let count = 1; count <= 4; count += 1) {
      const { end, report } = await run(project);
      ends.push(end);
      const words = [
        bodyOf(project),
        ...notices(project),
        report === null ? '' : renderSteps(suggestNextSteps(report), 'log'),
      ];
      expect(words.join('\n')).not.toMatch(/merge it|merge the pull request|is ready|## ✅/i);
    }
    const [first, later] = expected;
    expect(ends).toEqual([first, later, later, later]);
    expect(notices(project)).toHaveLength(1);
    const settled = [...project.forge.notifications.values()].flatMap((of) => [...of.values()]);
    expect(settled.filter((text) => text.includes('**Settled:** It is no longer ready'))).toHaveLength(1);
  });
});

test('a decision that a person had to make is over when they resolve it: then the pull request is ready', async () => {
  const project = await reviewed(asker);
  project.forge.saidOf.set(BRANCH, asked);
  expect(await next(project)).toMatchObject({ end: BLOCKED });
  project.forge.saidOf.set(BRANCH, { reviews: [review()], threads: [] });
  expect(await next(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 0 });
  expect(bodyOf(project)).not.toMatch(/is open|🚧/);
  expect(notices(project).join('\n')).toMatch(/is ready for review[^]*merge it/);
  expect(await next(project)).toMatchObject({ end: 'idle (all_done)', calls: 0 });
});

test("the event of Ralph's own answer starts nothing if a person must decide", async () => {
  const project = await reviewed(asker);
  project.forge.saidOf.set(BRANCH, asked);
  await next(project);
  expect(await next(project, reviewedOn(BRANCH))).toMatchObject({ end: 'idle (updated)', calls: 0 });
});

test('a check that is out of rounds settles the notification that the pull request is ready', async () => {
  const project = await reviewed(worker, { 'max-feedback-rounds': '1' });
  project.forge.saidOf.set(BRANCH, red);
  expect(await next(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
  for (let count = 1; count <= 3; count += 1) {
    expect(await next(project)).toMatchObject({ end: BLOCKED, calls: 0 });
    expect([bodyOf(project), ...notices(project)].join('\n')).not.toMatch(/merge it|is ready/i);
  }
});

test('a decision for a person has one answer and stays theirs, although the state was lost', async () => {
  const project = await reviewed(asker);
  project.forge.saidOf.set(BRANCH, asked);
  await next(project);
  loseState(project);
  for (let count = 1; count <= 2; count += 1) {
    expect(await next(project)).toMatchObject({ end: BLOCKED });
    expect(bodyOf(project)).toMatch(/1 review thread is open/);
    expect(bodyOf(project)).not.toMatch(/merge it/);
  }
  expect(project.forge.replies).toHaveLength(1);
});
