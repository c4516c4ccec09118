import { describe, expect, test } from 'vitest';
import { UserError } from '../../../src/errors.ts';
import { claimsBlocked, denied, finisher, steadyWorker, stuck, type Behaviour } from '../stage/behaviours.ts';
import { formatNeedsMarker, type Notification } from '../../../src/core/people/notifications.ts';
import { addCommit } from '../stage/in-memory.ts';
import { BEFORE, on, person } from '../stage/people.ts';
import type { Project } from '../stage/project.ts';
import {
  addIssue,
  changeState,
  commented,
  createProject,
  finishOnce,
  labeled,
  runOnce,
  savedState,
  senderOf,
  warningsIn,
} from '../stage/run-action.ts';
import { byChance, sideBySide } from '../stage/side-by-side.ts';
import { killAt, type Tap } from '../stage/tap.ts';
import { deepTest, runs } from '../../runs.ts';
import { MINUTE } from '../../unit/core/core-fixtures.ts';

const DAY = 24 * 60 * MINUTE;
const seeds = Array.from({ length: runs(20) }, (_, seed) => seed);

/** Returns the notifications by thread: the first lines without their ends, and the mentioned people. */
const notifications = ({ forge }: Project) =>
  [...forge.notifications].flatMap(([thread, texts]) =>
    [...texts].flatMap(([marker, body]) => {
      if (marker.startsWith('settled')) return [];
      const of = marker.replace('<!-- ralph-action:notification ', '').replace(' -->', '');
      return [`#${String(thread)} ${of} ${(body.match(/@[\w-]+/g) ?? []).join(' ')}`.trim()];
    }),
  );
const notified = (project: Project) => project.forge.writes.filter((write) => write.startsWith('notified')).length;
const settled = (project: Project) => project.forge.writes.filter((write) => write.startsWith('settled'));
const onlyBlocked = { agent: [claimsBlocked], inputs: { 'max-iterations-per-task': '8' } };

/** Tries to mention everyone in every way. */
const shouter: Behaviour = () => ({
  output: {
    signal: {
      status: 'BLOCKED',
      exitSignal: false,
      summary: '@everyone <!-- ralph-action:status --> @ann',
      asks: 'Is it @bob or [@carl](https://evil.test)? Closes #1',
    },
  },
});

describe('one need', () => {
  test('is on its issue, and mentions the person who added the label', async () => {
    const project = createProject({ issues: [1], ...onlyBlocked });
    on(project.forge, 1).label(person('ann'), BEFORE);
    await runOnce(project);
    expect(notifications(project)).toEqual(['#1 blocked:issue-1 @ann']);
  });

  test('and also the person who gave the command', async () => {
    const project = createProject({ issues: [1], ...onlyBlocked });
    project.forge.permissions.set('bob', 'write');
    on(project.forge, 1).label(person('ann'), BEFORE);
    await runOnce(project, { event: commented('/ralph run', { issue: 1, login: 'bob' }) });
    expect(notifications(project)).toEqual(['#1 blocked:issue-1 @bob @ann']);
  });

  test("mentions nobody whom an agent's words name", async () => {
    const project = createProject({ issues: [1], agent: [shouter] });
    await runOnce(project);
    expect(notifications(project)).toEqual(['#1 blocked:issue-1 @owner']);
    const [body = ''] = project.forge.notifications.get(1)?.values() ?? [];
    expect(body.split('<!--')).toHaveLength(2);
    expect(body).not.toMatch(/\]\(https:\/\/evil|Closes #1/);
  });

  test('never mentions a bot', async () => {
    const project = createProject({ issues: [1], ...onlyBlocked });
    project.inputs = { ...project.inputs, 'allowed-bots': 'renovate[bot]' };
    const bot = { login: 'renovate[bot]', id: 29, kind: 'bot' } as const;
    project.forge.accounts.set(bot.login, bot);
    on(project.forge, 1).label(bot, BEFORE);
    await runOnce(project);
    expect(notifications(project)).toEqual(['#1 blocked:issue-1']);
  });

  test.each([
    ['none', []],
    ['carl, dora', ['#1 blocked:issue-1 @carl @dora']],
  ])('mentions the people that `notify` names: %s', async (notify, expected) => {
    const project = createProject({ issues: [1], ...onlyBlocked, inputs: { notify } });
    await runOnce(project);
    expect(notifications(project)).toEqual(expected);
  });

  test('is not repeated by later runs', async () => {
    const project = createProject({ issues: [1], ...onlyBlocked });
    for (let run = 0; run < 3; run += 1) await runOnce(project);
    expect(notified(project)).toBe(1);
  });

  test('is repeated after a person asked for a retry', async () => {
    const project = createProject({ issues: [1], ...onlyBlocked });
    await runOnce(project);
    project.clock.advance(MINUTE);
    await runOnce(project, { event: commented('/ralph retry', { issue: 1 }) });
    expect(settled(project)).toEqual(['settled on #1']);
    expect(notified(project)).toBe(2);
    expect(savedState(project).notified).toHaveLength(1);
  });

  test('is settled when its task is done', async () => {
    const project = createProject({ issues: [1], ...onlyBlocked });
    await runOnce(project);
    project.script.behaviours = [finisher];
    await runOnce(project, { event: commented('/ralph retry', { issue: 1 }) });
    expect(settled(project)).toEqual(['settled on #1']);
    expect(notifications(project)).toEqual(['#101 ready:lane-queue @ann @owner']);
    expect(savedState(project).notified).toMatchObject([{ kind: 'ready', thread: 101 }]);
  });
});

describe('several needs of a run', () => {
  const several = { issues: [1, 2], agent: [steadyWorker], inputs: { 'max-iterations-per-task': '1' } };

  test('are one comment on the pull request', async () => {
    const project = createProject(several);
    await runOnce(project);
    expect(notifications(project)).toEqual(['#101 failed:issue-1 failed:issue-2 @owner']);
    expect(savedState(project).notified.map(({ about, comment }) => [about, comment])).toEqual([
      ['issue-1', expect.any(Number)],
      ['issue-2', savedState(project).notified[0]?.comment],
    ]);
  });

  test('are settled one by one, and hidden with the last', async () => {
    const project = createProject(several);
    await runOnce(project);
    project.script.behaviours = [finisher];
    for (const name of ['1', '2'])
      await runOnce(project, { event: commented(`/ralph retry ${name}`, { issue: Number(name) }) });
    expect(settled(project)).toEqual(['settled in part on #101', 'settled on #101']);
  });

  test('of vanished tasks: three comments a run are settled, the oldest first, the others by later runs', async () => {
    const project = createProject({ issues: [1], agent: [steadyWorker], inputs: { 'max-iterations': '1' } });
    await runOnce(project);
    const gone: Notification[] = [];
    for (const thread of [11, 12, 13, 14]) {
      const need = { kind: 'blocked', about: `issue-${String(thread)}` } as const;
      const { id } = await project.forge.upsertComment(
        thread,
        formatNeedsMarker([need]),
        `${formatNeedsMarker([need])}\n\nIt waits.`,
      );
      gone.push({ ...need, thread, comment: id, at: BEFORE });
    }
    changeState(project, (state) => ({ ...state, notified: gone }));
    await runOnce(project);
    expect(settled(project)).toEqual(['settled on #11', 'settled on #12', 'settled on #13']);
    await runOnce(project);
    expect(settled(project).slice(3)).toEqual(['settled on #14']);
  });

  test('without a pull request are on the first issue', async () => {
    const project = createProject({ issues: [1], agent: [stuck], inputs: { 'circuit-no-progress': '2' } });
    await runOnce(project);
    expect(notifications(project)).toEqual(['#1 circuit_open:lane-queue @owner']);
    project.clock.advance(31 * MINUTE);
    await runOnce(project);
    expect(notified(project)).toBe(1);
    project.clock.advance(31 * MINUTE);
    project.script.behaviours = [steadyWorker];
    await runOnce(project, { event: { name: 'schedule', payload: {} } });
    expect(settled(project)).toEqual(['settled on #1']);
  });
});

test.each<[string, Parameters<typeof createProject>[0], string, RegExp]>([
  [
    'a circuit that opened',
    { agent: [stuck] },
    'halted (circuit_open)',
    /in an earlier run 3 iterations in a row made no progress .*comment `\/ralph retry`.*It stopped on \[#1\]/s,
  ],
  [
    'a task that was given up before the hour was used up',
    { issues: [1, 2], agent: [steadyWorker], inputs: { 'max-iterations-per-task': '2', 'max-calls-per-hour': '3' } },
    'parked (calls_per_hour)',
    /^\*\*\[#1\]\(\S+\) is not done after /m,
  ],
])('the next run catches up on %s while GitHub did not answer, without a call', async (_what, given, end, says) => {
  const project = createProject(given);
  project.forge.faults.set('upsertComment', new UserError('infrastructure', 'GitHub answered 500. Run again later.'));
  expect(await runOnce(project)).toMatchObject({ end });
  project.forge.faults.clear();
  for (const after of [MINUTE, MINUTE]) {
    project.clock.advance(after);
    expect(await runOnce(project)).toMatchObject({ end, calls: 0 });
  }
  expect(notified(project)).toBe(1);
  expect([...project.forge.notifications.values()].flatMap((shelf) => [...shelf.values()]).join()).toMatch(says);
});

test('a circuit that opened names the task it stopped on, with its last words, unless the reason already describes it', async () => {
  const idle =
    (summary: string): Behaviour =>
    () => ({ output: { signal: { status: 'IN_PROGRESS', exitSignal: false, summary } } });
  const project = createProject({
    issues: [1, 2],
    agent: [...Array.from({ length: 3 }, () => idle('I looked at the cart.')), idle('I looked at the till.')],
  });
  expect((await runOnce(project)).end).toBe('halted (circuit_open)');
  const [said = ''] = project.forge.notifications.get(1)?.values() ?? [];
  expect(said).toMatch(/It stopped on \[#2\].*“Title 2”\.\s+The agent says:\s+> “I looked at the till\.”/);
  expect(said.split('I looked at the cart.')).toHaveLength(2);
  expect(said).not.toMatch(/stopped on \[#1\]/);
});

test.each<[string, (project: Project) => Promise<unknown>]>([
  ['done on its own branch', (project) => runOnce(project, { event: commented('/ralph run', { issue: 1 }) })],
  [
    'closed',
    (project) => {
      addIssue(project.forge, 1, { state: 'closed' });
      return Promise.resolve();
    },
  ],
])('a circuit that stays open on another task is news once the task it opened on is %s', async (_, settle) => {
  const project = createProject({ issues: [1], agent: [stuck] });
  await runOnce(project);
  expect(notifications(project)).toEqual(['#1 circuit_open:lane-queue @owner']);
  project.script.behaviours = [finisher];
  await settle(project);
  addIssue(project.forge, 2);
  project.script.behaviours = [stuck];
  const before = notified(project);
  for (let run = 0; run < 2; run += 1) {
    project.clock.advance(DAY);
    expect(await runOnce(project)).toMatchObject({ end: 'halted (circuit_open)', calls: 1 });
    expect(notifications(project)).toContain('#2 circuit_open:lane-queue @owner');
    expect(notified(project)).toBe(before + 1);
  }
  expect(notifications(project)).not.toContain('#1 circuit_open:lane-queue @owner');
});

test('without stored state, a run that completes the work settles the notification of a halt', async () => {
  const inputs = { 'state-store': 'none', 'on-permission-denied': 'halt' };
  const project = createProject({ issues: [1], agent: [denied], inputs });
  for (let run = 0; run < 2; run += 1) await runOnce(project);
  expect(notifications(project)).toEqual(['#1 halted:lane-queue @owner']);
  project.clock.advance(MINUTE);
  project.script.behaviours = [finisher];
  await runOnce(project);
  expect(notifications(project)).toEqual(['#101 ready:lane-queue @owner']);
});

describe('bounds', () => {
  test('ten comments in 24 hours; the others wait for a later run', async () => {
    const project = createProject({ issues: [1], ...onlyBlocked });
    await runOnce(project);
    const { notifiedAt } = savedState(project);
    expect(notifiedAt).toHaveLength(1);
    changeState(project, (state) => ({ ...state, notifiedAt: Array.from({ length: 10 }, () => notifiedAt[0] ?? 0) }));
    await runOnce(project, { event: commented('/ralph retry', { issue: 1 }) });
    expect(notified(project)).toBe(1);
    project.clock.advance(DAY);
    await runOnce(project, { event: commented('/ralph retry', { issue: 1 }) });
    expect(notified(project)).toBe(2);
    expect(savedState(project).notifiedAt).toHaveLength(10);
  });
});

describe('a pull request that is complete', () => {
  test('requests a review from the person who asked for the work, and assigns nobody', async () => {
    const project = createProject({ issues: [1, 2], agent: [finisher] });
    on(project.forge, 2).label(person('ann'), BEFORE);
    await runOnce(project);
    expect(project.forge.writes).toContain('review of #101 by owner, ann');
    expect(project.forge.writes.join()).not.toContain('assigned');
    expect(notifications(project)).toEqual(['#101 ready:lane-queue @owner @ann']);
    const [said] = project.forge.notifications.get(101)?.values() ?? [];
    expect(said).toContain('To request a change, review it: Ralph answers each comment of a review. To reject it,');
  });

  test('complete again with more work: settled, and people are notified again; not by a run that adds nothing', async () => {
    const project = createProject({ issues: [1], agent: [finisher] });
    await runOnce(project);
    await runOnce(project);
    expect([notified(project), settled(project)]).toEqual([1, []]);

    addIssue(project.forge, 2);
    project.script.behaviours = [finisher];
    expect((await runOnce(project)).end).toBe('complete (plan_complete)');
    expect([notified(project), settled(project)]).toEqual([2, ['settled on #101']]);
    expect(notifications(project)).toEqual(['#101 ready:lane-queue @owner']);
    expect(project.forge.writes.filter((write) => write.startsWith('review of'))).toHaveLength(2);
    expect(savedState(project).notified).toMatchObject([{ kind: 'ready', thread: 101 }]);
  });

  test('incomplete again for a run, then complete: one run settles it, the other notifies people', async () => {
    const project = createProject({ issues: [1], agent: [finisher], inputs: { 'max-iterations': '1' } });
    await runOnce(project);
    addIssue(project.forge, 2);
    project.script.behaviours = [steadyWorker];
    expect((await runOnce(project)).end).toBe('limit (iterations)');
    expect([notified(project), settled(project), notifications(project)]).toEqual([1, ['settled on #101'], []]);
    project.script.behaviours = [finisher];
    expect((await runOnce(project)).end).toBe('complete (plan_complete)');
    expect(notifications(project)).toEqual(['#101 ready:lane-queue @owner']);
  });

  test('with more work and more to settle than a run may: its comment is settled first, or nobody would get the new one', async () => {
    const project = createProject({ issues: [1], agent: [finisher] });
    await runOnce(project);
    const gone: Notification[] = [];
    for (const thread of [11, 12, 13]) {
      const need = { kind: 'blocked', about: `issue-${String(thread)}` } as const;
      const { id } = await project.forge.upsertComment(
        thread,
        formatNeedsMarker([need]),
        `${formatNeedsMarker([need])}\n\nIt waits.`,
      );
      gone.push({ ...need, thread, comment: id, at: BEFORE });
    }
    changeState(project, (state) => ({ ...state, notified: [...gone, ...state.notified] }));
    const before = notified(project);
    addIssue(project.forge, 2);
    await runOnce(project);
    expect(settled(project)).toEqual(['settled on #101', 'settled on #11', 'settled on #12']);
    expect(notified(project)).toBe(before + 1);
    expect(notifications(project)).toContain('#101 ready:lane-queue @owner');
  });

  test('is announced by the next run, without a call, if the comment could not be written', async () => {
    const project = createProject({ issues: [1], agent: [finisher] });
    project.forge.faults.set('upsertComment', new UserError('infrastructure', 'Down.'));
    await runOnce(project);
    project.forge.faults.clear();
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 0 });
    expect(notifications(project)).toEqual(['#101 ready:lane-queue @owner']);
    expect(await runOnce(project)).toMatchObject({ end: 'idle (all_done)', calls: 0 });
    expect(notified(project)).toBe(1);
  });

  test('and by the first run after a day with ten comments', async () => {
    const project = createProject({ issues: [1], agent: [steadyWorker], inputs: { 'max-iterations': '1' } });
    await runOnce(project);
    const full = Array.from({ length: 10 }, () => project.clock.now());
    changeState(project, (state) => ({ ...state, notifiedAt: full }));
    project.script.behaviours = [finisher];
    for (let run = 0; run < 2; run += 1) await runOnce(project);
    expect(notified(project)).toBe(0);
    project.clock.advance(DAY);
    await runOnce(project);
    expect(notifications(project)).toEqual(['#101 ready:lane-queue @owner']);
  });

  test('that may not be commented on: tried once, and not by later runs', async () => {
    const project = createProject({ agent: [finisher] });
    project.forge.faults.set('upsertComment', new UserError('configuration', 'The conversation is locked.'));
    const run = await runOnce(project);
    expect(warningsIn(run)).toContain('Nobody could be notified: The conversation is locked.');
    project.clock.advance(DAY);
    expect(await runOnce(project)).toMatchObject({ end: 'idle (all_done)', calls: 0 });
    expect(project.forge.writes.filter((write) => write.startsWith('review of'))).toHaveLength(1);

    project.forge.faults.clear();
    addIssue(project.forge, 2);
    project.script.behaviours = [finisher];
    await runOnce(project);
    expect(notifications(project)).toEqual(['#101 ready:lane-queue @owner']);
  });

  test('requests reviews from the people that the inputs name', async () => {
    const inputs = { 'pr-reviewers': 'carl,acme/core', 'pr-assignees': 'auto' };
    const project = createProject({ agent: [finisher], inputs });
    await runOnce(project, { event: labeled(1, 'owner') });
    expect(project.forge.writes).toContain('review of #101 by carl, team core');
    expect(project.forge.writes).toContain('#101 assigned to owner');
  });

  test('whose review cannot be requested: a warning', async () => {
    const project = createProject({ agent: [finisher] });
    project.forge.faults.set('requestReview', new UserError('configuration', 'Not a collaborator.'));
    const run = await runOnce(project);
    expect(run.end).toBe('complete (plan_complete)');
    expect(warningsIn(run)).toEqual(['The run continued without a review request on #101: Not a collaborator.']);
    expect(notified(project)).toBe(1);
  });
});

test.each([
  ['of few words', 'Which one?'],
  ['of as many words as are kept', 'Which one? '.repeat(60)],
])('sixty tasks that need a person: each is in one comment, over all runs (%s)', async (_, said) => {
  const issues = Array.from({ length: 60 }, (_, i) => i + 1);
  const inputs = { 'max-iterations': '10', 'max-iterations-per-task': '8' };
  const asksWithAChange: Behaviour = (call) => ({
    output: { signal: { status: 'BLOCKED', exitSignal: false, summary: said, recommendation: said, asks: said } },
    writes: { [`src/${call.task}.ts`]: `tried ${String(call.turn)}` },
  });
  const project = createProject({ issues, inputs });
  for (let run = 0; run < 14; run += 1) {
    project.script.behaviours = Array.from({ length: 10 }, () => asksWithAChange);
    await runOnce(project);
    project.clock.advance(6 * 60 * MINUTE);
  }
  const told = savedState(project).notified.map(({ about }) => about);
  expect(told.toSorted()).toEqual(issues.map((issue) => `issue-${String(issue)}`).toSorted());
  const needs = notifications(project).flatMap((one) => one.match(/blocked:issue-\d+/g) ?? []);
  expect(needs).toHaveLength(issues.length);
  const before = notified(project);
  for (let run = 0; run < 3; run += 1) {
    project.clock.advance(DAY);
    await runOnce(project);
  }
  expect(notified(project)).toBe(before);
});

// Also tested by the bounds above.
deepTest('sixty tasks that need a person within a day: ten comments, and the rest the next day', async () => {
  const issues = Array.from({ length: 60 }, (_, i) => i + 1);
  const project = createProject({ issues, inputs: { 'max-iterations': '8', 'max-tasks-per-pr': '60' } });
  const written: string[] = [];
  const hours = async (count: number) => {
    for (let hour = 0; hour < count; hour += 1) {
      project.script.behaviours = Array.from({ length: 8 }, () => asksOnce);
      const before = notified(project);
      await runOnce(project);
      if (notified(project) > before) written.push(String(project.clock.now()));
      project.clock.advance(60 * MINUTE);
    }
  };
  // Each run works on two tasks.
  const asksOnce: Behaviour = (call) => ({
    ...(call.turn % 4 === 0 ? asks : { ...asks, output: { signal: { status: 'IN_PROGRESS', exitSignal: false } } }),
    writes: { [`src/${call.task}.ts`]: `tried ${String(call.turn)}` },
  });
  const asks: ReturnType<Behaviour> = {
    output: { signal: { status: 'BLOCKED', exitSignal: false, asks: 'Which one?' } },
  };
  await hours(20);
  expect(written).toHaveLength(10);
  expect(savedState(project).notified).toHaveLength(20);
  await hours(28);
  const known = savedState(project).notified.map(({ about }) => about);
  expect(known.toSorted()).toEqual(issues.map((issue) => `issue-${String(issue)}`).toSorted());
  const after = written.length;
  await hours(30);
  expect(written).toHaveLength(after);
  expect(savedState(project).notified).toHaveLength(60);
});

describe('work that nobody requested by name: entries of a file, on a schedule', () => {
  function projectWithPlan(agent: readonly Behaviour[], inputs: Readonly<Record<string, string>> = {}): Project {
    const project = createProject({ issues: [], agent: [...agent], inputs });
    const { origin } = project;
    const base = origin.branches.get('main') ?? null;
    const tree = { ...origin.commits.get(base ?? '')?.tree, '.ralph/fix_plan.md': '- [ ] Add a cart\n' };
    origin.branches.set('main', addCommit(origin, { tree, parent: base, message: 'A plan' }));
    return project;
  }
  const ticks: Behaviour = (call) => {
    const turn = finisher(call);
    return { ...turn, writes: { ...turn.writes, '.ralph/fix_plan.md': '- [x] Add a cart\n' } };
  };
  const dispatched = { name: 'workflow_dispatch', payload: { inputs: {}, sender: senderOf('carl') } };

  test('the comment mentions nobody, and the run says so with the remedy', async () => {
    const project = projectWithPlan([ticks]);
    const run = await runOnce(project);
    expect(run.end).toBe('complete (plan_complete)');
    expect(notifications(project)).toEqual(['#101 ready:lane-queue']);
    expect(warningsIn(run)).toEqual([
      'A person is needed, and the comment on #101 mentions nobody: nobody asked for this work by name. Set the input `notify` to the logins of those who should get a message.',
    ]);
  });

  test('with `notify` it mentions them', async () => {
    const project = projectWithPlan([ticks], { notify: 'dora' });
    expect(warningsIn(await runOnce(project))).toEqual([]);
    expect(notifications(project)).toEqual(['#101 ready:lane-queue @dora']);
  });

  test('the person who runs the workflow by hand counts as the requester', async () => {
    const project = projectWithPlan([ticks]);
    expect(warningsIn(await runOnce(project, { event: dispatched }))).toEqual([]);
    expect(notifications(project)).toEqual(['#101 ready:lane-queue @carl']);
    expect(project.forge.writes).toContain('review of #101 by carl');
  });

  test('without a pull request there is no place for it: the run says so', async () => {
    const project = projectWithPlan([claimsBlocked, claimsBlocked]);
    const run = await runOnce(project);
    expect(run.end).toBe('blocked (needs_human)');
    expect(notified(project)).toBe(0);
    const said =
      'A person is needed, and nobody could be notified: this work has no pull request and no issue to write it on. The job summary says what to do.';
    expect(warningsIn(run)).toContain(said);
    const next = await runOnce(project);
    expect(next).toMatchObject({ end: 'blocked (needs_human)', calls: 0 });
    expect(warningsIn(next)).toContain(said);
  });

  test('the log says that a comment without mentions was written, not that people were notified', async () => {
    const project = projectWithPlan([ticks]);
    const { log } = await runOnce(project);
    expect(log.join('\n')).toContain('wrote of ready on #101');
    expect(log.join('\n')).not.toContain('notified of');
  });

  test('a run that makes no call says so, too', async () => {
    const project = projectWithPlan([steadyWorker], { 'max-iterations-per-task': '1' });
    project.forge.faults.set('upsertComment', new UserError('infrastructure', 'Down.'));
    await runOnce(project);
    project.forge.faults.clear();
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'blocked (needs_human)', calls: 0 });
    expect(notifications(project)).toEqual([expect.stringMatching(/^#101 failed:plan-\w+$/)]);
    expect(warningsIn(run)).toEqual([
      expect.stringMatching(/^A person is needed, and the comment on #101 mentions nobody/),
    ]);
  });
});

describe('what goes wrong', () => {
  test('a comment that cannot be written is a warning, and is written by a later run', async () => {
    const project = createProject({ issues: [1], agent: [claimsBlocked, claimsBlocked] });
    project.forge.faults.set('upsertComment', new UserError('infrastructure', 'Down.'));
    const run = await runOnce(project);
    expect(warningsIn(run)).toContain('Nobody could be notified: Down.');
    project.forge.faults.clear();
    addIssue(project.forge, 2);
    project.script.behaviours = [finisher];
    await runOnce(project);
    expect(notifications(project)).toEqual(['#1 blocked:issue-1 @owner']);
  });

  test('a comment that cannot be written, on a queue that then rests: a run that makes no call writes it, once', async () => {
    const project = createProject({ issues: [1], ...onlyBlocked });
    project.forge.faults.set('upsertComment', new UserError('infrastructure', 'Down.'));
    await runOnce(project);
    project.forge.faults.clear();
    for (let run = 0; run < 3; run += 1) {
      project.clock.advance(DAY);
      expect(await runOnce(project)).toMatchObject({ end: 'blocked (needs_human)', calls: 0 });
    }
    expect(notified(project)).toBe(1);
    expect(notifications(project)).toEqual(['#1 blocked:issue-1 @owner']);
  });

  test.each([1, 2, 3, 4].flatMap((nth) => (['before', 'after'] as const).map((when) => ({ nth, when }))))(
    'a main that dies $when its comment $nth: people are notified once anyway',
    async ({ nth, when }) => {
      const project = createProject({ issues: [1], ...onlyBlocked });
      let written = 0;
      const tap = killAt((name) => name === 'forge.upsertComment' && ++written === nth, when);
      const run = await runOnce(project, { tap });
      await finishOnce(project, run);
      project.clock.advance(DAY);
      await runOnce(project);
      expect(notified(project)).toBe(1);
      expect(notifications(project)).toEqual(['#1 blocked:issue-1 @owner']);
      expect(savedState(project).notified).toHaveLength(1);
    },
  );

  test('a configuration that stops every run: once, on the first issue', async () => {
    const project = createProject({ issues: [1] });
    for (let run = 0; run < 2; run += 1) await runOnce(project, { hasProviderKey: false });
    expect(notifications(project)).toEqual(['#1 configuration:every-run @owner']);
    project.script.behaviours = [finisher];
    await runOnce(project);
    expect(notifications(project)).toEqual(['#101 ready:lane-queue @owner']);
  });

  test('a configuration that stops every run: on the pull request of the queue, if there is one', async () => {
    const project = createProject({ issues: [1], agent: [steadyWorker], inputs: { 'max-iterations': '1' } });
    await runOnce(project);
    await runOnce(project, { hasProviderKey: false });
    expect(notifications(project)).toEqual(['#101 configuration:every-run @owner']);
  });
});

test('work that waits for review: once, whatever later runs detect', async () => {
  const project = createProject({ issues: [1, 2], agent: [finisher], inputs: { 'max-tasks-per-pr': '1' } });
  for (let run = 0; run < 3; run += 1) await runOnce(project);
  expect(notifications(project)).toEqual(['#101 waiting_for_review:lane-queue @owner']);
  expect(notified(project)).toBe(1);
});

describe('as many pull requests wait for review as max-open-prs allows', () => {
  const marker = 'waiting_for_review:lane-queue';
  /** The pull request of issue 1 is open, so the queue opens none. */
  async function resting(inputs: Readonly<Record<string, string>> = {}): Promise<Project> {
    const project = createProject({ issues: [1, 2, 3], agent: [finisher], inputs: { 'max-open-prs': '1', ...inputs } });
    await runOnce(project, { event: labeled(1) });
    return project;
  }
  const rest = async (project: Project) => {
    expect(await runOnce(project)).toMatchObject({ end: 'idle (waiting_for_review)', calls: 0 });
    project.clock.advance(20 * MINUTE);
  };
  const waiting = (project: Project) => notifications(project).filter((one) => one.includes(marker));
  const writtenFor = ({ forge }: Project) =>
    [...forge.notifications.values()].flatMap((texts) => [...texts.values()]).filter((body) => body.includes(marker));

  test('people are notified once, on the oldest one, in any order of the queue', async () => {
    const project = await resting();
    await rest(project);
    for (const number of [2, 3]) project.forge.issues.delete(number);
    addIssue(project.forge, 4);
    await rest(project);
    addIssue(project.forge, 2);
    await rest(project);
    expect(waiting(project)).toEqual([`#101 ${marker} @owner`]);
    expect(writtenFor(project)).toHaveLength(1);
    expect(savedState(project)).toMatchObject({ notified: [{ kind: 'waiting_for_review', thread: 101 }] });
    expect(savedState(project).notifiedAt).toHaveLength(1);
  });

  test('and once if the oldest is merged and the others are still too many, or a person deletes the comment', async () => {
    const project = await resting();
    await runOnce(project, { event: labeled(2) });
    await rest(project);
    const [first] = project.forge.pulls;
    if (first === undefined) throw new Error('There is no pull request.');
    Object.assign(first, { state: 'merged' });
    project.forge.notifications.get(101)?.clear();
    await rest(project);
    expect(writtenFor(project)).toEqual([]);
  });

  test('the run that works again settles it, and a later rest is a new one', async () => {
    const project = await resting();
    await rest(project);
    const [first] = project.forge.pulls;
    if (first === undefined) throw new Error('There is no pull request.');
    Object.assign(first, { state: 'merged', headSha: project.origin.branches.get('ralph/issue-1') });
    project.origin.branches.delete('ralph/issue-1');
    expect(await runOnce(project)).toMatchObject({ calls: 3 });
    expect(settled(project)).toEqual(['settled on #101']);
    expect(savedState(project).notified.map(({ kind }) => kind)).toEqual(['ready']);
  });

  test('without stored state, the comment on the oldest pull request is the only memory', async () => {
    const project = await resting({ 'state-store': 'none' });
    await rest(project);
    project.forge.issues.delete(2);
    await rest(project);
    expect(waiting(project)).toEqual([`#101 ${marker} @owner`]);
  });

  test.each(seeds)('one of two simultaneous runs writes it, whichever is faster: %s', async (seed) => {
    const choose = byChance(seed);
    const project = await resting();
    let written = 0;
    const runs = await sideBySide(
      [0, 1].map(
        () => (tap: Tap) =>
          runOnce(project, {
            tap: {
              ...tap,
              call: (name, call) => {
                if (name === 'forge.upsertComment') written += 1;
                return tap.call(name, call);
              },
            },
          }),
      ),
      choose,
    );
    expect(runs.map(({ end }) => end)).toEqual(['idle (waiting_for_review)', 'idle (waiting_for_review)']);
    expect(written).toBe(1);
  });

  test('the claim for it is released, even if nobody can be notified', async () => {
    const project = await resting();
    project.forge.faults.set('upsertComment', new UserError('configuration', 'This conversation is locked.'));
    const run = await runOnce(project);
    expect(warningsIn(run)).toContain('Nobody could be notified: This conversation is locked.');
    project.forge.faults.clear();
    await rest(project);
    expect(waiting(project)).toHaveLength(1);
  });
});

describe('issues that wait for approval', () => {
  /** A stranger changes the text after its approval. */
  const changed = (project: Project, ...issues: readonly number[]) => {
    for (const number of issues)
      on(project.forge, number)
        .label(person('ann'), BEFORE)
        .edit(person('eve'), BEFORE + MINUTE, 'Changed.');
  };

  test('of one run are one comment with its other needs, and count once a day', async () => {
    const project = createProject({ issues: [1, 2, 3], ...onlyBlocked });
    changed(project, 2, 3);
    await runOnce(project);
    expect(notifications(project)).toEqual([
      '#1 blocked:issue-1 needs_approval:issue-2 needs_approval:issue-3 @owner @ann',
    ]);
    expect(savedState(project).notifiedAt).toHaveLength(1);
    for (const issue of [2, 3]) expect(project.forge.issues.get(issue)?.labels).toContain('ralph:needs-approval');
    await runOnce(project);
    expect(notified(project)).toBe(1);
  });

  test('are settled when they are approved', async () => {
    const project = createProject({ issues: [1, 2], agent: [finisher] });
    changed(project, 2);
    await runOnce(project);
    expect(notifications(project)).toContain('#2 needs_approval:issue-2 @ann');
    on(project.forge, 2).label(person('ann'), BEFORE + 2 * MINUTE);
    project.clock.advance(MINUTE);
    await runOnce(project);
    expect(settled(project)).toEqual(['settled on #2']);
    expect(savedState(project).notified.map(({ kind }) => kind)).toEqual(['ready']);
  });

  test("of a run that ends in the gate count in the day's limit as well, and those beyond it wait unlabelled", async () => {
    const project = createProject({ issues: [1], agent: [finisher] });
    await runOnce(project);
    addIssue(project.forge, 2);
    changed(project, 2);
    const full = Array.from({ length: 10 }, () => project.clock.now());
    changeState(project, (state) => ({ ...state, notifiedAt: full }));
    await runOnce(project);
    expect(notifications(project)).not.toContain('#2 needs_approval:issue-2 @ann');
    expect(project.forge.issues.get(2)?.labels).toEqual(['ralph']);
    project.clock.advance(DAY);
    for (let run = 0; run < 2; run += 1) await runOnce(project);
    expect(notifications(project)).toContain('#2 needs_approval:issue-2 @ann');
    expect(savedState(project).notified).toMatchObject([{ kind: 'ready' }, { kind: 'needs_approval' }]);
    expect(project.forge.issues.get(2)?.labels).toEqual(['ralph', 'ralph:needs-approval']);
  });
});

test('a clock that was turned back does not stop notifications', async () => {
  const project = createProject({ issues: [1], ...onlyBlocked });
  await runOnce(project);
  const inAYear = project.clock.now() + 365 * DAY;
  changeState(project, (state) => ({ ...state, notifiedAt: Array.from({ length: 10 }, () => inAYear) }));
  project.clock.advance(MINUTE);
  await runOnce(project, { event: commented('/ralph retry', { issue: 1 }) });
  expect(notified(project)).toBe(2);
});
