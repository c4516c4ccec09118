import { describe, expect, test } from 'vitest';
import { listLaneAnswers } from '../../../src/core/snapshot/snapshot.ts';
import { getProgress } from '../../../src/core/tasks/queue.ts';
import { UserError } from '../../../src/errors.ts';
import { renderSummary } from '../../../src/report/pages/summary.ts';
import { finisher, steadyWorker, stuck, type Behaviour } from '../stage/behaviours.ts';
import { on, person } from '../stage/people.ts';
import type { Project } from '../stage/project.ts';
import { killAt } from '../stage/tap.ts';
import {
  addIssue,
  commented,
  createProject,
  finishOnce,
  labeled,
  runOnce,
  savedState,
  senderOf,
  schedule,
  type Event,
} from '../stage/run-action.ts';
import { MINUTE } from '../../unit/core/core-fixtures.ts';

const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const asker: Behaviour = () => ({
  output: { signal: { status: 'BLOCKED', exitSignal: false, asks: 'Red or green?' } },
});
/** Claims that the task was already done. */
const idler: Behaviour = () => ({
  output: { signal: { status: 'COMPLETE', exitSignal: true, tasksCompleted: 1, filesModified: 0 } },
});
const notified = (project: Project) => project.forge.writes.filter((write) => write.startsWith('notified')).length;
const settled = (project: Project) => project.forge.writes.filter((write) => write.startsWith('settled'));
const later = async (project: Project, ms: number, event: Event = schedule) => {
  project.clock.advance(ms);
  return runOnce(project, { event });
};
const retry = commented('/ralph retry', { issue: 1 });

describe('an issue that waits for a person waits in the queue as on its own branch', () => {
  const rows: readonly [string, Behaviour, Readonly<Record<string, string>>, object][] = [
    ['it asks a question', asker, {}, { end: 'blocked (needs_human)', calls: 2 }],
    ['there is nothing to do', idler, {}, { end: 'blocked (needs_human)', calls: 1 }],
    ['it failed', stuck, { 'max-iterations-per-task': '2' }, { end: 'blocked (needs_human)', calls: 2 }],
  ];
  test.each(rows)('%s: no call and no second notification, until a person asks for a retry', async (...row) => {
    const [, behaviour, inputs, end] = row;
    const project = createProject({ issues: [1], agent: [behaviour], inputs });
    expect(await runOnce(project, { event: labeled(1) })).toMatchObject(end);
    for (const ms of [HOUR, DAY])
      expect(await later(project, ms)).toMatchObject({ end: 'blocked (needs_human)', calls: 0 });
    expect(notified(project)).toBe(1);
    project.script.behaviours = [finisher];
    expect(await later(project, HOUR, retry)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(settled(project)).toEqual(['settled on #1']);
  });

  test.each(rows)('%s: the queue works on its other tasks in the meantime', async (...row) => {
    const [, behaviour, inputs] = row;
    const project = createProject({ issues: [1], agent: [behaviour], inputs });
    await runOnce(project, { event: labeled(1) });
    addIssue(project.forge, 2);
    project.script.behaviours = [finisher];
    expect(await later(project, HOUR)).toMatchObject({ end: 'blocked (needs_human)', calls: 1 });
    expect(savedState(project).tasks['issue-2']?.state).toBe('done');
    // After it is saved it still belongs to the other branch, and is published with it.
    expect(await later(project, DAY)).toMatchObject({ end: 'blocked (needs_human)', calls: 0 });
    expect(notified(project)).toBe(1);
    expect(await later(project, HOUR, retry)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(settled(project)).toEqual(['settled on #1']);
    project.origin.branches.delete('ralph/issue-1');
    expect(await later(project, HOUR)).toMatchObject({ calls: 1 });
  });

  test('its open circuit waits for its probe: one iteration, then longer, without a second notification', async () => {
    const project = createProject({ issues: [1], agent: [stuck] });
    expect(await runOnce(project, { event: labeled(1) })).toMatchObject({ end: 'halted (circuit_open)', calls: 3 });
    expect(await later(project, 20 * MINUTE)).toMatchObject({ end: 'blocked (needs_human)', calls: 0 });
    expect(await later(project, 40 * MINUTE)).toMatchObject({ end: 'blocked (needs_human)', calls: 1 });
    expect(project.script.calls.every(({ prompt }) => prompt.includes('Body 1'))).toBe(true);
    expect(await later(project, 30 * MINUTE)).toMatchObject({ end: 'blocked (needs_human)', calls: 0 });
    expect(await later(project, DAY)).toMatchObject({ end: 'blocked (needs_human)', calls: 1 });
    expect(notified(project)).toBe(1);
    expect(savedState(project).tasks['issue-1']).toMatchObject({ state: 'stuck', attempts: 5, setAside: { times: 3 } });
    project.script.behaviours = [finisher];
    expect(await later(project, HOUR, retry)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(settled(project)).toContain('settled on #1');
  });

  test('progress in the probe ends that', async () => {
    const project = createProject({ issues: [1], agent: [stuck] });
    await runOnce(project, { event: labeled(1) });
    project.script.behaviours = [finisher];
    expect(await later(project, HOUR)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(settled(project)).toEqual(['settled on #1']);
    expect(await later(project, HOUR)).toMatchObject({ end: 'idle (all_done)' });
  });
});

test('its progress is stored once, by the branch that worked on it last', async () => {
  const project = createProject({ issues: [1], agent: [asker] });
  await runOnce(project, { event: labeled(1) });
  addIssue(project.forge, 2);
  project.script.behaviours = [finisher];
  expect(await later(project, HOUR)).toMatchObject({ calls: 1 });
  const files = project.kept.refs.shared.snapshot;
  const lanes = [...files.keys()].filter((path) => path.startsWith('lanes/')).map((path) => path.slice(6, -5));
  expect(lanes.toSorted()).toEqual(['issue-1', 'queue']);
  const knowing = lanes.filter((lane) => getProgress(savedState(project, lane).tasks, 'issue-1').attempts > 0);
  expect(knowing).toEqual(['issue-1']);
  const named = JSON.parse(files.get('issues/1.json') ?? '') as object;
  expect(Object.keys(named).toSorted()).toEqual(['at', 'attempts', 'isAsked', 'lane', 'task', 'version']);
  expect(listLaneAnswers(files)).toMatchObject([
    { lane: 'issue-1', progress: { state: 'blocked' }, notice: { thread: 1 } },
  ]);
});

test('a killed run of the queue counts nothing of it as its own', async () => {
  const project = createProject({ issues: [1], agent: [asker] });
  await runOnce(project, { event: labeled(1) });
  addIssue(project.forge, 2);
  project.script.behaviours = [finisher];
  const killed = await runOnce(project, { tap: killAt((name) => name === 'agent.call', 'after') });
  await finishOnce(project, killed);
  const { tasks } = savedState(project);
  expect(getProgress(tasks, 'issue-2').attempts).toBe(1);
  expect(getProgress(tasks, 'issue-1')).toMatchObject({ state: 'todo', attempts: 0 });
  expect(listLaneAnswers(project.kept.refs.shared.snapshot)).toMatchObject([{ lane: 'issue-1', task: 'issue-1' }]);
});

test('the queue names it, with the reason and the place of its question', async () => {
  const project = createProject({ issues: [1], agent: [asker] });
  await runOnce(project, { event: labeled(1) });
  const summaryOf = async (event: Event): Promise<string> => {
    const { report } = await later(project, HOUR, event);
    return report === null ? '' : renderSummary(report).replaceAll('\u200B', '');
  };
  const where = /See \[#1 \(comment\)\]\(https:\/\/github\.test\/acme\/shop\/issues\/1#issuecomment-\d+\)/.source;
  expect(await summaryOf(schedule)).toMatch(
    new RegExp(
      `^## Ralph: Blocked: the agent cannot continue with \\[#1\\]\\(\\S+\\); you are needed\n\n${where}\\.\n\n\\*\\*Next:\\*\\* Reply on \\[#1\\]`,
    ),
  );
  const status = { client_payload: { command: 'status' }, sender: senderOf('ann') };
  expect(await summaryOf({ name: 'repository_dispatch', payload: status })).toMatch(
    new RegExp(`#1 \\(Title 1\\): the agent cannot continue without a person\\. ${where}`),
  );
});

describe('the wait ends', () => {
  const waiting = async (behaviour: Behaviour, inputs: Readonly<Record<string, string>> = {}) => {
    const project = createProject({ issues: [1], agent: [behaviour], inputs });
    on(project.forge, 1).label(person('owner'), 1);
    await runOnce(project, { event: labeled(1) });
    expect(await later(project, HOUR)).toMatchObject({ calls: 0 });
    project.script.behaviours = [finisher];
    return project;
  };

  test.each<[string, Behaviour, Readonly<Record<string, string>>]>([
    ['a question', asker, {}],
    ['nothing to do', idler, {}],
    ['given up', stuck, { 'max-iterations-per-task': '1' }],
  ])('if a person with write access edits its text: %s', async (_, behaviour, inputs) => {
    const project = await waiting(behaviour, inputs);
    const issue = project.forge.issues.get(1);
    if (issue === undefined) throw new Error('There is no issue #1.');
    project.forge.issues.set(1, { ...issue, body: 'Red.' });
    expect(await later(project, HOUR)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(settled(project)).toEqual(['settled on #1']);
  });

  test('if its label is added again, whichever lane notices first', async () => {
    const project = await waiting(asker);
    on(project.forge, 1).label(person('owner'), project.clock.now());
    expect(await later(project, HOUR)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(settled(project)).toEqual(['settled on #1']);
  });

  test('if a person asks for a retry of the whole queue', async () => {
    const project = await waiting(asker);
    expect(
      await later(project, HOUR, { name: 'workflow_dispatch', payload: { inputs: { command: 'retry' }, sender: {} } }),
    ).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(settled(project)).toEqual(['settled on #1']);
  });

  test('if a person asks and the run cannot work now: the next one does', async () => {
    const project = await waiting(asker, { 'max-calls-per-hour': '2' });
    addIssue(project.forge, 2);
    addIssue(project.forge, 3);
    expect(await later(project, MINUTE)).toMatchObject({ calls: 2 });
    expect(await later(project, MINUTE, retry)).toMatchObject({ end: 'parked (calls_per_hour)', calls: 0 });
    expect(await later(project, HOUR)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(settled(project)).toEqual(['settled on #1']);
  });

  test('in the queue as well, if a person asks for its own branch and that cannot work now', async () => {
    const project = createProject({ issues: [1], agent: [asker], inputs: { 'max-calls-per-hour': '2' } });
    expect(await runOnce(project)).toMatchObject({ end: 'blocked (needs_human)', calls: 2 });
    const run = commented('/ralph run', { issue: 1 });
    expect(await later(project, MINUTE, run)).toMatchObject({ end: 'parked (calls_per_hour)', calls: 0 });
    project.script.behaviours = [finisher];
    expect(await later(project, HOUR)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(settled(project)).toEqual(['settled on #1']);
  });

  test('if a person closes the circuit of its own branch, and leaves the work to the next run', async () => {
    const project = createProject({ issues: [1], agent: [stuck] });
    await runOnce(project, { event: labeled(1) });
    expect(await later(project, MINUTE)).toMatchObject({ calls: 0 });
    await later(project, MINUTE, commented('/ralph reset circuit', { issue: 1 }));
    project.script.behaviours = [finisher];
    expect(await later(project, MINUTE)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(settled(project)).toEqual(['settled on #1']);
  });
});

describe("a label answers the queue's question: the issue continues on its own branch", () => {
  test.each<[string, Behaviour]>([
    ['a question', asker],
    ['nothing to do', idler],
    ['its circuit is open', stuck],
  ])('%s', async (_, behaviour) => {
    const project = createProject({ issues: [1], agent: [behaviour] });
    expect(await runOnce(project)).toMatchObject({ calls: expect.any(Number) as number });
    expect(await later(project, MINUTE)).toMatchObject({ calls: 0 });
    project.script.behaviours = [steadyWorker];
    project.inputs = { ...project.inputs, 'max-iterations': '2' };
    expect(await later(project, MINUTE, labeled(1))).toMatchObject({ end: 'limit (iterations)', calls: 2 });
    expect(settled(project)).toEqual(['settled on #1']);
    expect(notified(project)).toBe(1);
  });

  test('one with a new question there is notified of once more, and the queue waits for the answer', async () => {
    const project = createProject({ issues: [1], agent: [asker] });
    await runOnce(project);
    expect(await later(project, MINUTE, labeled(1))).toMatchObject({ end: 'blocked (needs_human)', calls: 2 });
    expect(settled(project)).toEqual(['settled on #1']);
    expect(await later(project, DAY)).toMatchObject({ end: 'blocked (needs_human)', calls: 0 });
    expect(notified(project)).toBe(2);
  });

  test('a comment that is also about other tasks stays open for those, and the queue settles its own part', async () => {
    const project = createProject({ issues: [1, 2], agent: [idler] });
    expect(await runOnce(project)).toMatchObject({ end: 'blocked (needs_human)', calls: 2 });
    expect(notified(project)).toBe(1);
    project.script.behaviours = [finisher];
    expect(await later(project, MINUTE, labeled(1))).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(settled(project)).toEqual([]);
    addIssue(project.forge, 3);
    expect(await later(project, HOUR)).toMatchObject({ end: 'blocked (needs_human)', calls: 1 });
    expect(settled(project)).toEqual(['settled in part on #1']);
    expect(savedState(project).notified).toMatchObject([{ kind: 'nothing_to_do', about: 'issue-2' }]);
  });

  // The issue's branch contains its work, so the queue does not list it.
  const gaveUp = { issues: [1], agent: [steadyWorker], inputs: { 'max-iterations-per-task': '2' } } as const;

  test('an issue given up on its own branch still needs its person after a run of the queue', async () => {
    const project = createProject(gaveUp);
    expect(await runOnce(project, { event: labeled(1) })).toMatchObject({ end: 'blocked (needs_human)', calls: 2 });
    addIssue(project.forge, 2);
    project.script.behaviours = [finisher];
    expect(await later(project, HOUR)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(await later(project, DAY)).toMatchObject({ calls: 0 });
    expect(settled(project)).toEqual([]);
    expect(await later(project, HOUR, retry)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(settled(project)).toEqual(['settled on #1']);
  });

  test('a queue that had the issue before its branch leaves it to the branch', async () => {
    const project = createProject({ ...gaveUp, agent: [asker] });
    await runOnce(project, { event: labeled(1) });
    expect(await later(project, HOUR)).toMatchObject({ end: 'blocked (needs_human)', calls: 0 });
    addIssue(project.forge, 2);
    expect(await later(project, HOUR)).toMatchObject({ calls: 2 });
    expect(notified(project)).toBe(2);
    // A person lets it continue; it then has a branch, and still needs a person.
    project.script.behaviours = [steadyWorker, steadyWorker];
    expect(await later(project, HOUR, retry)).toMatchObject({ end: 'blocked (needs_human)', calls: 2 });
    expect(settled(project)).toEqual(['settled on #1']);
    for (const ms of [HOUR, DAY]) expect(await later(project, ms)).toMatchObject({ calls: 0 });
    expect(settled(project)).toEqual(['settled on #1']);
    expect(notified(project)).toBe(3);
  });

  test('the circuit of an issue that the queue has given up is news when it opens again on its own branch', async () => {
    const project = createProject({ issues: [1], agent: [stuck], inputs: { 'max-iterations-per-task': '4' } });
    expect(await runOnce(project, { event: labeled(1) })).toMatchObject({ end: 'halted (circuit_open)', calls: 3 });
    expect(await later(project, HOUR)).toMatchObject({ end: 'blocked (needs_human)', calls: 1 });
    expect([notified(project), settled(project)]).toEqual([2, ['settled on #1']]);
    expect(await later(project, HOUR, retry)).toMatchObject({ end: 'halted (circuit_open)', calls: 1 });
    expect(notified(project)).toBe(3);
    expect(
      [...(project.forge.notifications.get(1)?.keys() ?? [])].filter((key) => key.includes('circuit_open')),
    ).toEqual(['<!-- ralph-action:notification circuit_open:lane-issue-1 -->']);
  });
});

test.each([
  ['works in the meantime', [1, 2], true],
  ['works', [1, 2], false],
  ['rests', [1], true],
] as const)(
  'the queue asks the question that the branch could not ask, though people know an earlier answer: it %s',
  async (_, issues, knowsBefore) => {
    const project = createProject({ issues, agent: [idler] });
    await runOnce(project, { event: labeled(1) });
    if (knowsBefore) await runOnce(project);
    project.forge.faults.set('upsertComment', new UserError('infrastructure', 'Down.'));
    project.clock.advance(HOUR);
    await runOnce(project, { event: labeled(1) });
    project.forge.faults.clear();
    const asked = () =>
      [...(project.forge.notifications.get(1)?.keys() ?? [])].filter((line) => !line.startsWith('settled'));
    expect(asked()).toEqual([]);
    project.script.behaviours = [finisher];
    await runOnce(project);
    expect(asked()).toEqual(['<!-- ralph-action:notification nothing_to_do:issue-1 -->']);
  },
);
