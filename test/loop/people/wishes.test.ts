import { describe, expect, test } from 'vitest';
import { ISSUES_SWITCHED_OFF, NOT_PERMITTED, UserError } from '../../../src/errors.ts';
import { withWishes } from '../../../src/github/wishes/with-wishes.ts';
import type { ForgeAdapter, WishWrites } from '../../../src/ports/forge.ts';
import { finisher } from '../stage/behaviours.ts';
import { commented, createProject, labeled, runOnce, warningsIn } from '../stage/run-action.ts';
import { runSplit } from '../stage/split.ts';

const EVERY_WISH: Readonly<Record<keyof WishWrites, true>> = {
  react: true,
  changeLabels: true,
  addLabels: true,
  upsertComment: true,
  amendComment: true,
  settleComments: true,
  settleNotifications: true,
  requestReview: true,
  assign: true,
  replyInThread: true,
  resolveThread: true,
  armAutoMerge: true,
  disarmAutoMerge: true,
  rewriteBodies: true,
  readDashboard: true,
  openDashboard: true,
  writeDashboard: true,
};
const WISHES = Object.keys(EVERY_WISH) as readonly (keyof WishWrites)[];
const REFUSALS: readonly (readonly [string, Error])[] = [
  ['locked (403)', new UserError('configuration', 'The conversation is locked.', { reason: 'locked' })],
  ['gone (404, 410)', new UserError('configuration', 'Issue #1 no longer exists.')],
  ['a secondary limit (429)', new UserError('infrastructure', 'GitHub asks for a pause.')],
  ['a bug', new TypeError('x is undefined')],
];
const inputs = {
  'pr-labels': 'ralph',
  'pr-assignees': 'auto',
  'pr-reviewers': 'carl',
  'auto-merge': 'true',
  dashboard: 'true',
};

describe('a failed courtesy decides nothing', () => {
  test.each(REFUSALS)('%s: every issue is worked on without it, in one job and in three', async (_what, error) => {
    for (const wish of WISHES) {
      const project = createProject({ issues: [1, 2, 3], agent: [finisher], inputs });
      project.forge.faults.set(wish, error);
      expect([wish, await runOnce(project)]).toMatchObject([wish, { end: 'complete (plan_complete)', calls: 3 }]);
    }
    const split = createProject({ issues: [1, 2, 3], agent: [finisher], inputs });
    for (const wish of WISHES) split.forge.faults.set(wish, error);
    expect((await runSplit(split)).publish).toMatchObject({ end: 'complete (plan_complete)' });
  });

  test.each(WISHES)('%s is refused instead of rejecting, and is named', async (wish) => {
    const refuse = (): Promise<never> => Promise.reject(new UserError('configuration', 'No.'));
    const forge = withWishes({ [wish]: refuse } as unknown as ForgeAdapter);
    const write = forge[wish] as (target: object) => Promise<object>;
    expect(await write({ kind: 'comment' })).toEqual({ kind: 'refused', why: 'No.', isLasting: true });
    expect(forge.refusedWishes()).toEqual([
      expect.stringMatching(/^The run continued without (?!undefined).{8,}: No\.$/),
    ]);
  });

  test('one warning names all writes that failed for one reason', async () => {
    const project = createProject({ issues: [1, 2, 3], agent: [finisher], inputs: { notify: 'none' } });
    for (const wish of WISHES) project.forge.faults.set(wish, REFUSALS[0]?.[1] ?? new Error());
    const run = await runOnce(project);
    const said = warningsIn(run).filter((warning) => warning.includes('continued without'));
    expect(said).toEqual([expect.stringMatching(/a reaction on #1.*new labels on #1.*a comment on #1.*is locked\.$/)]);
    expect(run.log.filter((line) => line.includes('continued without'))).toHaveLength(1);
  });

  test('a command in a locked thread is obeyed', async () => {
    const project = createProject({ issues: [1], agent: [finisher] });
    for (const wish of ['react', 'upsertComment'] as const)
      project.forge.faults.set(wish, REFUSALS[0]?.[1] ?? new Error());
    expect(await runOnce(project, { event: commented('/ralph pause', { issue: 1 }) })).toMatchObject({
      end: 'idle (answered)',
    });
    expect(await runOnce(project)).toMatchObject({ end: 'paused (by_person)' });
    expect(await runOnce(project, { event: commented('/ralph resume', { issue: 1 }) })).toMatchObject({ calls: 0 });
    expect(await runOnce(project, { event: labeled(1) })).toMatchObject({ calls: 1 });
  });
});

describe.each([ISSUES_SWITCHED_OFF, NOT_PERMITTED])('a run without issues (%s)', (reason) => {
  const off = new UserError('configuration', 'Issues are turned off.', { reason });

  test('a plan is worked on', async () => {
    const project = createProject({ issues: [], files: { '.ralph/fix_plan.md': '- [ ] Parser\n' }, agent: [finisher] });
    project.forge.faults.set('openIssuesWithLabel', off);
    const run = await runOnce(project);
    expect(run.calls).toBeGreaterThan(0);
    expect(run.log.filter((line) => line.includes('Issues are turned off.'))).toHaveLength(1);
  });

  test('of a plan that is done, the report names what keeps the issues away, once', async () => {
    const project = createProject({ issues: [], files: { '.ralph/fix_plan.md': '- [x] Parser\n' }, agent: [finisher] });
    project.forge.faults.set('openIssuesWithLabel', off);
    for (const end of ['complete (plan_complete)', 'complete (plan_complete)']) {
      const run = await runOnce(project);
      expect(run).toMatchObject({ end, calls: 0 });
      expect(warningsIn(run)).toEqual([off.message]);
      expect(run.log.filter((line) => line.includes(off.message))).toHaveLength(1);
    }
  });

  test('without other work the run says so', async () => {
    const project = createProject({ issues: [], agent: [finisher] });
    project.forge.faults.set('openIssuesWithLabel', off);
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'failed (configuration)', calls: 0 });
  });
});

describe('a task label that does not exist', () => {
  test.each<[readonly string[], RegExp]>([
    [['bug', 'ralph-bot'], /no label "ralph".*If it was renamed, set the input `task-label` to "ralph-bot"/],
    [['Ralph 🤖'], /"Ralph 🤖"/],
    [['raplh', 'bug'], /"raplh"/],
    [['bug', 'ralph:done', 'ralph:working'], /Create it under Issues → Labels/],
    [[], /Create it/],
  ])('among %j is named, with a similar one', async (labels, said) => {
    const project = createProject({ issues: [], agent: [finisher] });
    project.forge.labels.splice(0, 1, ...labels);
    const { outcome, calls } = await runOnce(project);
    expect([outcome.reason, calls]).toEqual(['no_such_label', 0]);
    expect('message' in outcome ? outcome.message : '').toMatch(said);
  });

  test.each([' ', 'x'])('is named once beside a plan (%j)', async (mark) => {
    const files = { '.ralph/fix_plan.md': `- [${mark}] Parser\n` };
    const project = createProject({ issues: [], files, agent: [finisher] });
    project.forge.labels.splice(0, 1, 'ralph-bot');
    const run = await runOnce(project);
    expect(run.calls > 0).toBe(mark === ' ');
    expect(warningsIn(run).filter((line) => line.includes('set the input `task-label`'))).toHaveLength(1);
  });

  test.each([[['Ralph']], [['ralph', 'ralph-bot']]])('%j: it exists', async (labels) => {
    const project = createProject({ issues: [], agent: [finisher] });
    project.forge.labels.splice(0, 1, ...labels);
    expect(await runOnce(project)).toMatchObject({ end: 'idle (no_tasks)' });
  });
});
