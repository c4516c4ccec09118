import { describe, expect, test } from 'vitest';
import { UserError } from '../../../src/errors.ts';
import { type Behaviour, finisher, steadyWorker } from '../stage/behaviours.ts';
import { BEFORE, on, person } from '../stage/people.ts';
import type { Project } from '../stage/project.ts';
import { commented, configOf, createProject, runOnce, type Run, warningsIn } from '../stage/run-action.ts';

const ann = person('ann');
const eve = person('eve');
const workedOn = (run: Run) => run.work?.journal.map(({ taskId }) => taskId) ?? [];
const prompts = (project: Project) => project.script.calls.map(({ prompt }) => prompt).join('\n');
const warned = (run: Run) => warningsIn(run).join('\n');

/** Creates a project in which the search finds these issues, which have no label; the others have the task label. */
function searched(query: string, found: readonly number[], issues: readonly number[] = found): Project {
  const project = createProject({ issues: [...issues], agent: [finisher, finisher], inputs: { 'issue-query': query } });
  project.forge.found.set(query, found);
  for (const number of found) {
    const issue = project.forge.issues.get(number);
    if (issue !== undefined) project.forge.issues.set(number, { ...issue, labels: ['bug'] });
    on(project.forge, number);
  }
  return project;
}

describe('an issue that a search finds', () => {
  test('is a task in addition to those with the label, in the order of their numbers', async () => {
    const project = searched('label:bug', [1, 3], [1, 2, 3]);
    project.forge.histories.delete(2);
    on(project.forge, 1).give('label:bug', ann, BEFORE);
    on(project.forge, 3).give('label:bug', ann, BEFORE);
    const run = await runOnce(project);
    expect(workedOn(run)).toEqual(['issue-1', 'issue-2', 'issue-3']);
    expect(run.end).toBe('complete (plan_complete)');
  });

  test('does not count as a task where a stranger gave what the search names, and the summary says so', async () => {
    const project = searched('label:bug', [1]);
    on(project.forge, 1).give('label:bug', eve, BEFORE);
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'idle (no_tasks)', calls: 0 });
    expect(warned(run)).toContain('An issue that `issue-query` finds counts only');
    expect(warned(run)).toContain('Left out: #1.');
  });

  test.each(['is:open crash', '-label:bug', 'label:bug OR crash'])('by %s is not a task', async (query) => {
    const project = searched(query, [1]);
    on(project.forge, 1).give('label:bug', ann, BEFORE);
    project.forge.faults.set('searchIssues', new Error('The search is not needed.'));
    expect(await runOnce(project)).toMatchObject({ end: 'idle (no_tasks)', calls: 0 });
  });

  test('waits after an edit of its named author, and is worked on once a writer adds the label', async () => {
    const project = createProject({
      agent: [steadyWorker],
      inputs: { 'issue-query': 'author:eve', 'max-iterations': '1' },
    });
    project.forge.found.set('author:eve', [1]);
    const issue = project.forge.issues.get(1);
    if (issue === undefined) throw new Error('There is no issue.');
    project.forge.issues.set(1, { ...issue, labels: [] });
    on(project.forge, 1).give('author:eve', eve, BEFORE).edit(eve, BEFORE, 'SEEN FIRST');
    expect(await runOnce(project)).toMatchObject({ calls: 1 });
    expect(prompts(project)).toContain('SEEN FIRST');

    on(project.forge, 1).edit(eve, project.clock.now() + 1000, 'CHANGED LATER');
    const waiting = await runOnce(project);
    expect(waiting).toMatchObject({ calls: 0 });
    expect([...(project.forge.notifications.get(1)?.values() ?? [])].join()).toContain(
      'put the label `ralph` on the issue',
    );
    expect(prompts(project)).not.toContain('CHANGED LATER');

    project.forge.issues.set(1, { ...issue, body: 'CHANGED LATER' });
    on(project.forge, 1).label(ann, project.clock.now() + 2000);
    expect(await runOnce(project)).toMatchObject({ calls: 1 });
    expect(prompts(project)).toContain('CHANGED LATER');
  });

  test('that was just closed is left out, although the index still has it', async () => {
    const project = searched('label:bug', [1]);
    on(project.forge, 1).give('label:bug', ann, BEFORE);
    project.forge.statesOf = (numbers) => Promise.resolve(new Map(numbers.map((number) => [number, 'closed'])));
    expect(await runOnce(project)).toMatchObject({ end: 'idle (no_tasks)', calls: 0 });
  });

  test('is not taken back by having no label, but by being closed', async () => {
    const project = searched('label:bug', [1, 2]);
    for (const number of [1, 2]) on(project.forge, number).give('label:bug', ann, BEFORE);
    const closing: Behaviour = (call) => {
      const issue = project.forge.issues.get(2);
      if (issue !== undefined) project.forge.issues.set(2, { ...issue, state: 'closed' });
      return finisher(call);
    };
    project.script.behaviours = [finisher, closing];
    const run = await runOnce(project);
    expect(workedOn(run)).toEqual(['issue-1', 'issue-2']);
    expect(warned(run)).toContain('#2 was closed while this run worked');
    expect(warned(run)).not.toContain('#1');
  });

  test('obeys commands like one with the label', async () => {
    const project = searched('label:bug', [1]);
    on(project.forge, 1).give('label:bug', ann, BEFORE);
    expect(workedOn(await runOnce(project, { event: commented('/ralph run', { issue: 1 }) }))).toEqual(['issue-1']);
  });
});

test('a command on an issue that neither has the label nor is found says both', async () => {
  const project = searched('label:bug', []);
  const created = createProject({ inputs: { 'issue-query': 'label:bug' } });
  const issue = created.forge.issues.get(1);
  if (issue === undefined) throw new Error('There is no issue.');
  project.forge.issues.set(1, { ...issue, labels: [] });
  await runOnce(project, { event: commented('/ralph run', { issue: 1 }) });
  expect([...(project.forge.comments.get(1)?.values() ?? [])].join()).toContain(
    'does not have the label "ralph", and `issue-query` does not find it',
  );
});

test('a search that GitHub answers in part ends the run, and never as idle', async () => {
  const project = searched('label:bug', [1]);
  project.forge.faults.set('searchIssues', new UserError('infrastructure', 'Only a part was found.'));
  const run = await runOnce(project);
  expect(run).toMatchObject({ calls: 0 });
  expect(run.end).toBe('failed (infrastructure)');
});

test.each(['repo:other/place label:bug', 'label:"bug'])('%s is a mistake in the configuration', (query) => {
  expect(() => configOf({ 'issue-query': query })).toThrow(`issue-query: ${JSON.stringify(query)} has`);
});
