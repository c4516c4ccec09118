import { describe, expect, test } from 'vitest';
import { UserError } from '../../../src/errors.ts';
import { renderSummary } from '../../../src/report/pages/summary.ts';
import { finisher, claimsBlocked, steadyWorker, type Behaviour } from '../stage/behaviours.ts';
import { addIssue, commented, createProject, finishOnce, labeled, runOnce, warningsIn } from '../stage/run-action.ts';
import type { Project } from '../stage/project.ts';
import { killAt } from '../stage/tap.ts';

const labelsOf = (project: Project, number = 1): readonly string[] =>
  (project.forge.issues.get(number)?.labels ?? []).filter((name) => name.startsWith('ralph:'));
const labelWrites = ({ forge }: Project): readonly string[] =>
  forge.writes.filter((write) => write.startsWith('labels of'));
const commentsOf = (project: Project, thread = 1): string =>
  [...(project.forge.comments.get(thread)?.values() ?? [])].join('\n').replaceAll('\u200B', '');

/** Sets the labels of an issue as a person or a crash might have left them. */
function relabel(project: Project, number: number, labels: readonly string[]): void {
  const issue = project.forge.issues.get(number);
  if (issue !== undefined) project.forge.issues.set(number, { ...issue, labels: ['ralph', ...labels] });
}

describe('after a run an issue has exactly one label of its state', () => {
  test.each<[string, Behaviour, Readonly<Record<string, string>>, readonly string[]]>([
    ['finished', finisher, {}, ['ralph:done']],
    ['not finished yet', steadyWorker, { 'max-iterations': '1' }, ['ralph:working']],
    ['given up', steadyWorker, { 'max-iterations-per-task': '2' }, ['ralph:failed']],
    ['blocked', claimsBlocked, {}, ['ralph:blocked']],
  ])('%s', async (_, agent, inputs, labels) => {
    const project = createProject({ agent: [agent], inputs });
    await runOnce(project);
    expect(labelsOf(project)).toEqual(labels);
  });

  test('an issue that the run did not reach has none', async () => {
    const project = createProject({ issues: [1, 2], agent: [steadyWorker], inputs: { 'max-iterations': '1' } });
    await runOnce(project);
    expect(labelsOf(project, 2)).toEqual([]);
  });

  test("on its own lane as well, where the issue's other labels stay", async () => {
    const project = createProject({ agent: [finisher] });
    relabel(project, 1, ['bug', 'Ralph:Failed']);
    await runOnce(project, { event: labeled(1) });
    expect(project.forge.issues.get(1)?.labels).toEqual(['ralph', 'bug', 'ralph:done']);
  });
});

test('an issue is labelled while the agent works on it', async () => {
  const seen: (readonly string[])[] = [];
  const project: Project = createProject({
    issues: [1, 2],
    agent: [
      (call) => ({
        ...finisher(call),
        meanwhile: () => {
          seen.push(labelsOf(project));
        },
      }),
    ],
    inputs: { 'max-iterations': '1' },
  });
  await runOnce(project);
  expect(seen).toEqual([['ralph:working']]);
});

describe('a wrong label', () => {
  test('is corrected by the next run, whatever its cause', async () => {
    const project = createProject({ issues: [1, 2], agent: [steadyWorker], inputs: { 'max-iterations': '1' } });
    relabel(project, 2, ['ralph:working', 'ralph:failed']);
    await runOnce(project);
    expect(labelsOf(project, 2)).toEqual([]);
  });

  test('is corrected by post, after a main that was killed', async () => {
    const project = createProject({ agent: [finisher] });
    let changes = 0;
    const main = await runOnce(project, {
      tap: killAt((name) => name === 'forge.changeLabels' && (changes += 1) === 2, 'before'),
    });
    expect(labelsOf(project)).toEqual(['ralph:working']);
    await finishOnce(project, main);
    expect(labelsOf(project)).toEqual(['ralph:done']);
  });

  test('is corrected by a run that ends in the gate', async () => {
    const project = createProject({ agent: [finisher] });
    await runOnce(project);
    relabel(project, 1, ['ralph:working']);
    expect(await runOnce(project)).toMatchObject({ end: 'idle (all_done)' });
    expect(labelsOf(project)).toEqual(['ralph:done']);
  });

  test('stays while no state of the lane is stored, unless the run worked', async () => {
    const project = createProject({ agent: [finisher], inputs: { 'state-store': 'none' } });
    relabel(project, 1, ['ralph:done']);
    await runOnce(project, { hasProviderKey: false });
    expect(labelWrites(project)).toEqual([]);
  });
});

describe('labels cost no request', () => {
  test('while they are correct', async () => {
    const project = createProject({ agent: [finisher] });
    await runOnce(project);
    const before = labelWrites(project);
    expect(before).toEqual(['labels of #1: +ralph:working', 'labels of #1: +ralph:done -ralph:working']);
    await runOnce(project);
    await runOnce(project, { event: commented('/ralph status', { issue: 1 }) });
    expect(labelWrites(project)).toEqual(before);
  });

  test('beyond 30 issues a run; the next run continues with the others', async () => {
    const issues = Array.from({ length: 32 }, (_, index) => index + 1);
    const project = createProject({ issues, agent: [steadyWorker], inputs: { 'max-iterations': '1' } });
    for (const number of issues) relabel(project, number, ['ralph:failed']);
    await runOnce(project);
    const left = () => issues.filter((number) => labelsOf(project, number).includes('ralph:failed'));
    expect(left()).toEqual([32]);
    await runOnce(project);
    expect(left()).toEqual([]);
  });
});

test("labels that cannot be written are a warning, and do not change the run's end", async () => {
  const project = createProject({ issues: [1, 2], agent: [finisher] });
  project.forge.faults.set('changeLabels', new UserError('configuration', 'The token may not write to issues.'));
  const run = await runOnce(project);
  expect(run.end).toBe('complete (plan_complete)');
  expect(warningsIn(run)).toEqual([
    'The run continued without new labels on #1, new labels on #2: The token may not write to issues.',
  ]);
});

describe('a person can act on a task that Ralph gave up', () => {
  test('a failed issue says first what was tried and how to try again', async () => {
    const project = createProject({ agent: [steadyWorker], inputs: { 'max-iterations-per-task': '2' } });
    await runOnce(project);
    expect(commentsOf(project)).toMatch(
      /^<!-- ralph-action:status -->\n\n\*\*\[#1\]\(\S+\) is not done after 2 calls; you are needed\.\*\* `max-iterations-per-task` is 2\.\n/,
    );
    expect(commentsOf(project)).toContain('- Iteration 2: progress; changed `src/issue-1.ts`');
    expect(commentsOf(project)).toMatch(
      /reply on \[#1\]\(\S+\) with one comment: first line `\/ralph retry`, below it what the agent should know\./,
    );
  });

  test.each([
    ['a question', 'asks', '\\[#1\\]\\(\\S+\\) has a question for you'],
    ['words that are not a question', 'recommendation', 'The agent cannot continue with \\[#1\\]\\(\\S+\\)'],
  ])(
    "a blocked issue with %s says that first, then the agent's words, and where to answer",
    async (_, field, trouble) => {
      const project = createProject({
        agent: [
          () => ({
            output: { signal: { status: 'BLOCKED', exitSignal: false, [field]: 'Tell me the price in @euro' } },
          }),
        ],
      });
      await runOnce(project);
      expect(commentsOf(project)).toMatch(
        new RegExp(
          `^<!-- ralph-action:status -->\n\n\\*\\*${trouble}; you are needed\\.\\*\\*\n\nThe agent says: “Tell me the price in @euro”\n`,
        ),
      );
      expect(commentsOf(project)).toMatch(
        /- Reply on \[#1\]\(\S+\) with one comment: first line `\/ralph retry`, your answer below\./,
      );
    },
  );

  test('the summary reports the same', async () => {
    const project = createProject({ agent: [steadyWorker], inputs: { 'max-iterations-per-task': '2' } });
    const { report } = await runOnce(project);
    expect(report === null ? '' : renderSummary(report)).toMatch(
      /^## Ralph: Blocked: \[#1\]\(https:\/\/github\.test\/acme\/shop\/issues\/1\) is not done after 2 calls; you are needed\n/,
    );
  });
});

describe('an issue that left the queue', () => {
  test("is named in every run's text of the pull request with its work, which does not close it", async () => {
    const project = createProject({ issues: [1, 2, 3], agent: [finisher], inputs: { 'max-iterations': '1' } });
    await runOnce(project);
    project.forge.issues.delete(1);
    for (const run of [2, 3]) {
      await runOnce(project);
      const { body = '' } = project.forge.pulls[0] ?? {};
      expect([run, /^1 task of this branch .*$/m.exec(body)?.[0]]).toEqual([
        run,
        '1 task of this branch is no longer in the queue, and nothing here closes it: [#1](https://github.test/acme/shop/issues/1).',
      ]);
      expect(body).not.toContain('Closes #1');
    }
  });

  test('is forgotten with the pull request that closed it', async () => {
    const project = createProject({ issues: [1], agent: [finisher] });
    await runOnce(project);
    const [merged] = project.forge.pulls;
    if (merged !== undefined) project.forge.pulls[0] = { ...merged, state: 'merged' };
    project.forge.issues.delete(1);
    addIssue(project.forge, 2);
    await runOnce(project);
    expect(project.forge.pulls[1]?.body).toContain('Closes #2');
    expect(project.forge.pulls[1]?.body).not.toContain('no longer in the queue');
  });
});

test("the report counts the run's requests to GitHub", async () => {
  const { report } = await runOnce(createProject({ agent: [finisher] }));
  expect(report?.requests?.sent).toBeGreaterThan(3);
});

describe('the labels of pr-labels', () => {
  const inputs = { 'pr-labels': 'bot, needs review', 'max-iterations': '1' };
  const written = '+bot +needs review';

  test('are on the pull request from the start, beside those of people, and return if somebody removes them', async () => {
    const project = createProject({ agent: [steadyWorker], inputs });
    await runOnce(project);
    expect(project.forge.pulls).toMatchObject([{ labels: ['bot', 'needs review'] }]);
    const [pull] = project.forge.pulls;
    if (pull === undefined) throw new Error('no pull request was opened');
    project.forge.pulls[0] = { ...pull, labels: ['Bot', 'urgent'] };
    await runOnce(project);
    expect(project.forge.pulls).toMatchObject([{ labels: ['Bot', 'urgent', 'needs review'] }]);
    await runOnce(project);
    expect(labelWrites(project).filter((write) => write.startsWith('labels of #101'))).toEqual([
      `labels of #101: ${written}`,
      'labels of #101: +needs review',
    ]);
  });

  test('that cannot be written are a warning, and do not fail the run', async () => {
    const project = createProject({ agent: [finisher], inputs });
    project.forge.faults.set('addLabels', new UserError('configuration', 'The token may not.'));
    const run = await runOnce(project);
    expect(run.end).toBe('complete (plan_complete)');
    expect(warningsIn(run)).toContain('The run continued without new labels on #101: The token may not.');
  });
});
