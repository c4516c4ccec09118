import { describe, expect, test } from 'vitest';
import { UserError } from '../../../src/errors.ts';
import type { Behaviour } from '../stage/behaviours.ts';
import type { Project } from '../stage/project.ts';
import {
  addIssue,
  commented,
  createProject,
  labeled,
  red,
  runOnce,
  savedState,
  schedule,
  warningsIn,
  type Event,
} from '../stage/run-action.ts';
import { runSplit } from '../stage/split.ts';
import { killAt, open, type Tap } from '../stage/tap.ts';
import { BRANCH, HOUR, next, notices, reviewed, worker } from './reviewing.ts';
import { comment, failing, review, thread } from './said.ts';

const APPROVED = { approvedBy: ['ann'], decision: 'approved' } as const;
const ARMED = { ...APPROVED, autoMerge: true } as const;
const asked = { reviews: [review()], threads: [thread([comment(11, 'Rename it.')])] };
const NEEDS_A_PERSON = {
  kind: 'failed',
  reason: 'configuration',
  message: expect.stringContaining('Switch auto-merge off') as string,
};
const refusal = new UserError('configuration', 'GitHub did not let us make pull request #101 a draft again.');

/** Makes some progress and does not finish. */
const half: Behaviour = ({ task }) => ({
  writes: { [`src/${task}.ts`]: `half ${String(Math.random())}` },
  output: { signal: { status: 'IN_PROGRESS', exitSignal: false, tasksCompleted: 0 } },
});

/**
 * Creates a queue whose task is done and whose ready pull request has this decision; a new issue was labelled
 * afterwards.
 */
async function decided(
  said: Parameters<Project['forge']['saidOf']['set']>[1],
  agent: Behaviour = worker,
): Promise<Project> {
  const project = await reviewed(agent);
  project.forge.saidOf.set(BRANCH, said);
  addIssue(project.forge, 2);
  return project;
}

function headOf({ origin }: Project): string {
  return origin.branches.get(BRANCH) ?? '';
}

function pullOf({ forge }: Project) {
  return forge.pulls[0];
}

/** Returns the writes to GitHub since then. */
function writesSince({ forge }: Project, before: number): readonly string[] {
  return forge.writes.slice(before);
}

/** Returns a tap that records each push that reaches a held head. */
function watched(project: Project): Tap & { readonly reached: readonly string[] } {
  const reached: string[] = [];
  return {
    ...open,
    reached,
    call: (name, call) => {
      const { autoMerge = false, isQueued = false, approvedBy = [] } = project.forge.saidOf.get(BRANCH) ?? {};
      const isApproved = approvedBy.length > 0 && pullOf(project)?.draft === false;
      if (/^remote\.push(?:On|WithState)?$/.test(name) && (autoMerge || isQueued || isApproved)) reached.push(name);
      return call();
    },
  };
}

describe('new tasks wait while the head of the pull request is', () => {
  test.each([
    ['approved', APPROVED],
    ['approved where no rule asks for it', { approvedBy: ['ann'] }],
    ['approved and armed', ARMED],
    ['armed without an approval', { autoMerge: true }],
    ['in the merge queue', { ...APPROVED, isQueued: true }],
  ])('%s', async (_, said) => {
    const project = await decided(said);
    const head = headOf(project);
    for (let run = 0; run < 3; run += 1)
      expect(await next(project)).toMatchObject({ end: 'idle (waiting_for_review)', calls: 0 });
    expect(headOf(project)).toBe(head);
    expect(pullOf(project)?.draft).toBe(false);
    const [text, ...others] = notices(project).filter((one) => one.includes('waits behind it'));
    expect(others).toEqual([]);
    expect(text).toContain('convert it to a draft (where there are no drafts, dismiss the approval)');
  });

  test('and continue in the next run once it is merged', async () => {
    const project = await decided(APPROVED);
    await next(project);
    const { forge, origin } = project;
    origin.branches.set('main', headOf(project));
    forge.saidOf.delete(BRANCH);
    forge.pulls[0] = { ...(forge.pulls[0] ?? expect.fail()), state: 'merged', headSha: headOf(project) };
    expect(await next(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
  });

  test.each([
    ['a person converts it to a draft', APPROVED, true],
    ['the approval is dismissed', { reviews: [review({ state: 'dismissed' })] }, false],
    ['changes are requested by somebody else', { ...APPROVED, decision: 'changes-requested' } as const, false],
  ])('and no longer wait when %s', async (_, said, isDraft) => {
    const project = await decided(said);
    project.forge.pulls[0] = { ...(project.forge.pulls[0] ?? expect.fail()), draft: isDraft };
    expect(await next(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
  });

  test('and nobody waits if a label creates an own branch', async () => {
    const project = await decided(ARMED);
    const head = headOf(project);
    expect(await next(project, labeled(2))).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(headOf(project)).toBe(head);
    expect(project.forge.pulls[1]?.branch).toBe('ralph/issue-2');
  });
});

describe('requests on a held head', () => {
  test.each<[string, Parameters<typeof decided>[0], Event]>([
    ['a review', asked, schedule],
    ['a failed check', { checks: { kind: 'known', head: [failing()], base: [] } }, schedule],
    ['a person by a command', {}, commented('/ralph run', { issue: 101, isPullRequest: true })],
  ])(
    '%s: are fulfilled once the pull request is a draft without auto-merge, which ends ready with a new review request',
    async (_, said, event) => {
      const project = await decided({ ...ARMED, ...said });
      const before = project.forge.writes.length;
      project.clock.advance(HOUR);
      const tap = watched(project);
      const run = await runOnce(project, { event, tap });
      expect(run.calls).toBe(1);
      expect(tap.reached).toEqual([]);
      const writes = writesSince(project, before);
      expect(writes).toContain('freed #101: no ready, no auto-merge');
      expect(writes).toContain('ready #101');
      expect(writes).toContain('review of #101 by ann');
      expect(writes.indexOf('freed #101: no ready, no auto-merge')).toBeLessThan(writes.indexOf('ready #101'));
      expect(project.forge.saidOf.get(BRANCH)?.autoMerge).toBe(false);
      expect(pullOf(project)?.draft).toBe(false);
      expect(notices(project).filter((text) => text.includes('Auto-merge of pull request'))).toHaveLength(1);
      expect(warningsIn(run).join('\n')).toContain('no longer merges automatically');
      expect(savedState(project, 'queue').feedback.overtaken).toMatchObject({ approvedBy: [], autoMerge: true });
    },
  );

  test('in three jobs as in one', async () => {
    const project = await decided({ ...ARMED, ...asked });
    project.clock.advance(HOUR);
    const tap = watched(project);
    const { publish } = await runSplit(project, { event: schedule, publish: { tap } });
    expect(tap.reached).toEqual([]);
    expect(publish?.end).toBe('idle (waiting_for_review)');
    expect(project.forge.writes).toContain('freed #101: no ready, no auto-merge');
    expect(project.forge.writes).toContain('review of #101 by ann');
    expect(pullOf(project)?.draft).toBe(false);
  });

  test('new tasks wait behind them until people have reviewed it again', async () => {
    const project = await decided({ ...APPROVED, ...asked });
    expect(await next(project)).toMatchObject({ end: 'idle (waiting_for_review)', calls: 1 });
    expect(await next(project)).toMatchObject({ end: 'idle (waiting_for_review)', calls: 0 });
  });

  test('do not notify people again of auto-merge that nobody armed again', async () => {
    const project = await decided({ ...ARMED, ...asked });
    await next(project);
    const { forge } = project;
    const again = thread([comment(12, 'And this.')]);
    forge.saidOf.set(BRANCH, { ...APPROVED, reviews: asked.reviews, threads: [...asked.threads, again] });
    expect(await next(project)).toMatchObject({ calls: 1 });
    expect(notices(project).filter((text) => text.includes('Auto-merge of pull request'))).toHaveLength(1);
    forge.saidOf.set(BRANCH, { ...ARMED, reviews: asked.reviews, threads: [thread([comment(13, 'And that.')])] });
    expect(await next(project)).toMatchObject({ calls: 1 });
    expect(notices(project).filter((text) => text.includes('Auto-merge of pull request'))).toHaveLength(1);
    // The first of the two is settled, and the second arming creates a separate comment.
    expect(forge.writes).toContain('settled in part on #101');
  });

  test('leave the head as it is if the token may not free it: no call, one notification with the remedy', async () => {
    const project = await decided({ ...ARMED, ...asked });
    project.forge.faults.set('withdrawFromMerging', refusal);
    const head = headOf(project);
    for (let run = 0; run < 2; run += 1)
      expect(await next(project)).toMatchObject({ end: 'idle (waiting_for_review)', calls: 0 });
    expect(headOf(project)).toBe(head);
    const told = notices(project).filter((text) => text.includes('Switch auto-merge off and convert'));
    expect(told).toHaveLength(1);
    expect(told[0]).toMatch(/GitHub did not let us make pull request .* a draft again/);
  });

  test('leave it ready, with auto-merge off, if the run changes nothing', async () => {
    const explains: Behaviour = ({ task }) => ({
      output: { signal: { status: 'COMPLETE', exitSignal: false, tasksCompleted: 1, summary: `${task} stays.` } },
    });
    const project = await decided({ ...ARMED, ...asked }, explains);
    const head = headOf(project);
    expect(await next(project)).toMatchObject({ calls: 1 });
    expect(headOf(project)).toBe(head);
    expect(pullOf(project)?.draft).toBe(false);
    const [told] = notices(project).filter((text) => text.includes('was switched off'));
    expect(told).toContain('so that no new commit is merged unreviewed');
    expect(told).toContain('waits for a person to merge it. 1 task waits behind it');
    expect(told).not.toMatch(/has new commits|the new commits/);
  });
});

test.each<[string, object, boolean]>([
  ['what the other one asks for', { ...asked }, false],
  ['a new task', {}, true],
])(
  'an approval that another person contests: %s is pushed to a draft, and its approver is asked again',
  async (_, said, isNew) => {
    const project = await reviewed(worker);
    if (isNew) addIssue(project.forge, 2);
    project.forge.saidOf.set(BRANCH, { ...said, approvedBy: ['ann'], changesRequestedBy: ['bob'] });
    const before = project.forge.writes.length;
    project.clock.advance(HOUR);
    let reached = 0;
    const tap: Tap = {
      ...open,
      call: (name, call) => {
        if (/^remote\.push(?:On|WithState)?$/.test(name) && pullOf(project)?.draft === false) reached += 1;
        return call();
      },
    };
    expect(await runOnce(project, { event: schedule, tap })).toMatchObject({
      end: 'complete (plan_complete)',
      calls: 1,
    });
    expect(reached).toBe(0);
    const writes = writesSince(project, before);
    expect(writes).toContain('review of #101 by ann');
    expect(writes.indexOf('draft #101')).toBeLessThan(writes.indexOf('ready #101'));
    expect(pullOf(project)?.draft).toBe(false);
  },
);

describe('a person who decides while a run works', () => {
  const onCall = (project: Project, act: () => void): ReturnType<typeof watched> => {
    const guard = watched(project);
    return {
      ...guard,
      call: (name, call) => {
        if (name === 'agent.call') act();
        return guard.call(name, call);
      },
    };
  };

  test.each([
    ['arms it', () => ({ autoMerge: true })],
    ['approves and queues it', () => ({ ...APPROVED, isQueued: true })],
  ])('%s: the head is freed before the push', async (_, said) => {
    const project = await decided({});
    const tap = onCall(project, () => {
      project.forge.pulls[0] = { ...(project.forge.pulls[0] ?? expect.fail()), draft: false };
      project.forge.saidOf.set(BRANCH, said());
    });
    project.clock.advance(HOUR);
    expect(await runOnce(project, { event: schedule, tap })).toMatchObject({
      end: 'complete (plan_complete)',
      calls: 1,
    });
    expect(tap.reached).toEqual([]);
    expect(project.forge.writes.some((write) => write.startsWith('freed #101'))).toBe(true);
    expect(pullOf(project)?.draft).toBe(false);
  });

  test('in three jobs the job that publishes checks for it', async () => {
    const project = await decided({});
    project.clock.advance(HOUR);
    const tap = watched(project);
    const { publish } = await runSplit(project, {
      event: schedule,
      publish: { tap },
      beforePublish: () => void project.forge.saidOf.set(BRANCH, ARMED),
    });
    expect(tap.reached).toEqual([]);
    expect(publish?.end).toBe('complete (plan_complete)');
    expect(project.forge.writes).toContain('freed #101: no ready, no auto-merge');
    expect(project.forge.writes).toContain('review of #101 by ann');
  });

  test('with a decision that cannot be undone: nothing is pushed, by main or by post', async () => {
    const project = await decided({});
    const head = headOf(project);
    project.forge.faults.set('withdrawFromMerging', refusal);
    const tap = onCall(project, () => void project.forge.saidOf.set(BRANCH, ARMED));
    project.clock.advance(HOUR);
    const run = await runOnce(project, { event: schedule, tap });
    expect(run.outcome).toMatchObject(NEEDS_A_PERSON);
    expect(headOf(project)).toBe(head);
  });

  test('with a decision that cannot be undone in three jobs: the same, and people are notified of what helps', async () => {
    const project = await decided({});
    const head = headOf(project);
    project.forge.faults.set('withdrawFromMerging', refusal);
    project.clock.advance(HOUR);
    const { publish } = await runSplit(project, {
      event: schedule,
      beforePublish: () => void project.forge.saidOf.set(BRANCH, ARMED),
    });
    expect(publish?.outcome).toMatchObject(NEEDS_A_PERSON);
    expect(headOf(project)).toBe(head);
    expect(notices(project).filter((text) => text.includes('Switch auto-merge off'))).toHaveLength(1);
  });

  test('with a decision that GitHub cannot undo at the moment: nothing is pushed, and nobody is notified', async () => {
    const project = await decided({});
    const head = headOf(project);
    project.forge.faults.set('withdrawFromMerging', new UserError('infrastructure', 'Its API failed (502).'));
    const tap = onCall(project, () => void project.forge.saidOf.set(BRANCH, ARMED));
    const before = notices(project).length;
    project.clock.advance(HOUR);
    expect(await runOnce(project, { event: schedule, tap })).toMatchObject({ end: 'failed (infrastructure)' });
    expect(headOf(project)).toBe(head);
    expect(notices(project)).toHaveLength(before);
  });
});

describe('a pull request that is ready', () => {
  const ready = async (inputs: Readonly<Record<string, string>>, agent: Behaviour): Promise<Project> => {
    const project = await reviewed(agent, inputs);
    addIssue(project.forge, 2);
    return project;
  };

  test.each([
    ['becomes a draft again before unfinished work reaches it', {}, true],
    ['stays ready with `draft: false`', { draft: 'false' }, false],
  ])('%s, and is ready again afterwards', async (_, inputs, isDraft) => {
    let isHalf = true;
    const project = await ready({ ...inputs, 'max-iterations': '1' }, (call) => (isHalf ? half : worker)(call));
    expect(await next(project)).toMatchObject({ end: 'limit (iterations)' });
    expect(pullOf(project)?.draft).toBe(isDraft);
    isHalf = false;
    expect(await next(project)).toMatchObject({ end: 'complete (plan_complete)' });
    expect(pullOf(project)?.draft).toBe(false);
  });

  test('becomes a draft again if `verify` fails on the answering change', async () => {
    const project = await reviewed(worker, { verify: 'npm test', 'max-iterations': '1' });
    project.forge.saidOf.set(BRANCH, asked);
    project.verifier = red;
    await next(project);
    expect(pullOf(project)?.draft).toBe(true);
  });

  test('requests reviews again from people who approved the draft before its last commits', async () => {
    let isHalf = true;
    const project = await ready({ 'max-iterations': '1' }, (call) => (isHalf ? half : worker)(call));
    await next(project);
    project.forge.saidOf.set(BRANCH, { approvedBy: ['ann'] });
    isHalf = false;
    expect(await next(project)).toMatchObject({ end: 'complete (plan_complete)' });
    expect(project.forge.writes).toContain('review of #101 by ann');
  });

  test('does not stay a draft forever after a run that died behind the release', async () => {
    const project = await decided({ ...ARMED, ...asked });
    project.clock.advance(HOUR);
    await runOnce(project, { event: schedule, tap: killAt((name) => name === 'agent.call', 'before') });
    expect(pullOf(project)?.draft).toBe(true);
    project.clock.advance(2 * HOUR);
    await next(project);
    expect(pullOf(project)?.draft).toBe(false);
    expect(project.forge.saidOf.get(BRANCH)?.autoMerge).toBe(false);
  });
});

test("an issue's own armed pull request waits as the queue's does", async () => {
  const branch = 'ralph/issue-1';
  let isHalf = true;
  const project = createProject({
    agent: [(call) => (isHalf ? half : worker)(call)],
    inputs: { 'max-iterations': '1' },
  });
  expect(await runOnce(project, { event: labeled(1) })).toMatchObject({ end: 'limit (iterations)' });
  project.forge.saidOf.set(branch, { autoMerge: true });
  isHalf = false;
  const head = project.origin.branches.get(branch);
  expect(await next(project)).toMatchObject({ end: 'idle (waiting_for_review)', calls: 0 });
  expect(await next(project)).toMatchObject({ calls: 0 });
  expect(project.origin.branches.get(branch)).toBe(head);
  expect(notices(project)).toHaveLength(1);
});

test('an armed draft with unfinished work and new requests stays a draft without auto-merge', async () => {
  let isHalf = true;
  const project = createProject({
    agent: [(call) => (isHalf ? half : worker)(call)],
    inputs: { 'max-iterations': '1' },
  });
  expect(await runOnce(project)).toMatchObject({ end: 'limit (iterations)' });
  project.forge.saidOf.set(BRANCH, { ...asked, autoMerge: true });
  isHalf = false;
  expect(await next(project)).toMatchObject({ calls: 1 });
  expect(pullOf(project)?.draft).toBe(true);
  expect(project.forge.saidOf.get(BRANCH)?.autoMerge).toBe(false);
  expect(await next(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
  expect(pullOf(project)?.draft).toBe(false);
});
