import { describe, expect, test } from 'vitest';
import { finisher, stuck, type Behaviour } from '../stage/behaviours.ts';
import { HOUR } from '../../unit/core/core-fixtures.ts';
import { commented, createProject, labeled, runOnce, savedState } from '../stage/run-action.ts';

describe('a pull request of the queue stays reviewable', () => {
  test('it takes max-tasks-per-pr tasks, then the queue waits without a call until it is merged', async () => {
    const project = createProject({ issues: [1, 2, 3], agent: [finisher], inputs: { 'max-tasks-per-pr': '2' } });
    expect(await runOnce(project)).toMatchObject({ end: 'idle (waiting_for_review)', calls: 2 });
    expect(savedState(project).tasks['issue-3']?.state ?? 'todo').toBe('todo');
    expect(project.forge.pulls).toMatchObject([{ draft: false }]);
    expect(project.forge.writes.filter((write) => write.startsWith('review of'))).toHaveLength(1);
    expect(await runOnce(project)).toMatchObject({ end: 'idle (waiting_for_review)', calls: 0 });
    const [pull] = project.forge.pulls;
    if (pull === undefined) throw new Error('There is no pull request.');
    Object.assign(pull, { state: 'merged', headSha: project.origin.branches.get('ralph/queue') });
    project.origin.branches.delete('ralph/queue');
    expect(await runOnce(project)).toMatchObject({ calls: 1 });
    expect(savedState(project).tasks['issue-3']?.state).toBe('done');
    expect(Object.keys(savedState(project).change.tasks)).toEqual(['issue-3']);
  });

  test('0 means no limit', async () => {
    const project = createProject({ issues: [1, 2, 3], agent: [finisher], inputs: { 'max-tasks-per-pr': '0' } });
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 3 });
  });

  test('with max-open-prs open the schedule opens none; a person who asks for one gets it', async () => {
    const project = createProject({ issues: [1, 2], agent: [finisher], inputs: { 'max-open-prs': '1' } });
    expect(await runOnce(project, { event: labeled(1) })).toMatchObject({ calls: 1 });
    expect(await runOnce(project)).toMatchObject({ end: 'idle (waiting_for_review)', calls: 0 });
    expect(await runOnce(project, { event: labeled(2) })).toMatchObject({ calls: 1 });
  });
});

describe('an open circuit follows its issue to any lane', () => {
  test("the queue does not work on an issue that opened its own lane's circuit, before the probe; a person does", async () => {
    const project = createProject({ issues: [1], agent: [stuck] });
    expect(await runOnce(project, { event: labeled(1) })).toMatchObject({ end: 'halted (circuit_open)', calls: 3 });
    // The branch is deleted again, since no work was done.
    expect(project.origin.branches.has('ralph/issue-1')).toBe(false);
    expect(await runOnce(project)).toMatchObject({ end: 'blocked (needs_human)', calls: 0 });
    for (const hours of [1, 24]) {
      project.clock.advance(hours * HOUR);
      expect(await runOnce(project)).toMatchObject({ end: 'blocked (needs_human)', calls: 1 });
    }
    expect(project.forge.writes.filter((write) => write.startsWith('notified'))).toHaveLength(1);
    expect(await runOnce(project, { event: commented('/ralph run', { issue: 1 }) })).toMatchObject({ calls: 1 });
  });
});

describe('a task that was set aside', () => {
  const onlyTheFirst: Behaviour = (call) => (call.task === 'issue-1' ? stuck(call) : finisher(call));

  test('has its text again when its turn comes, and no other run works on it in the meantime', async () => {
    const project = createProject({ issues: [1, 2], agent: [onlyTheFirst] });
    await runOnce(project);
    project.clock.advance(HOUR);
    const reserved: string[] = [];
    const onRecord = () => {
      reserved.push(project.kept.refs.textAt('usage.json'));
    };
    expect(await runOnce(project, { onRecord })).toMatchObject({ calls: 1 });
    expect(project.script.calls.at(-1)?.prompt).toContain('Body 1');
    expect(JSON.parse(reserved[0] ?? '')).toMatchObject({ reservations: [{ tasks: ['issue-1'] }] });
  });

  test('waits for its turn, or for an edit of its text by a person with write access', async () => {
    const project = createProject({ issues: [1, 2], agent: [onlyTheFirst] });
    expect(await runOnce(project)).toMatchObject({ end: 'blocked (needs_human)', calls: 4 });
    expect(await runOnce(project)).toMatchObject({ end: 'blocked (needs_human)', calls: 0 });
    const issue = project.forge.issues.get(1);
    if (issue === undefined) throw new Error('There is no issue #1.');
    project.forge.issues.set(1, { ...issue, body: 'Said more clearly.' });
    expect(await runOnce(project)).toMatchObject({ calls: 3 });
  });
});

test('a pull request with more lines than max-lines-per-pr gets no more tasks, in the very run that wrote them', async () => {
  const long: Behaviour = ({ task }) => ({
    ...finisher({ task, turn: 1, resume: null, files: {} }),
    writes: { [`src/${task}.ts`]: 'line\n'.repeat(50) },
  });
  const project = createProject({ issues: [1, 2, 3], agent: [long], inputs: { 'max-lines-per-pr': '60' } });
  expect(await runOnce(project)).toMatchObject({ end: 'idle (waiting_for_review)', calls: 2 });
  expect(savedState(project).change.lines).toBeGreaterThanOrEqual(60);
});
