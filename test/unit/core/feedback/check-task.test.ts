import { expect, test } from 'vitest';
import { taskOfCheck } from '../../../../src/core/feedback/checks/check-task.ts';
import { taskIdOfCheck } from '../../../../src/core/feedback/checks/checks.ts';
import { taskOfConflict } from '../../../../src/core/feedback/conflict/conflict-task.ts';
import { CONFLICT_TASK, FEEDBACK_PRIORITY } from '../../../../src/core/feedback/subject.ts';
import type { CheckDetails } from '../../../../src/core/feedback/pull-request-now.ts';
import { nameOfTask } from '../../../../src/core/tasks/task.ts';
import { check, status } from './check-fixtures.ts';

const details: CheckDetails = {
  job: 'test (22)',
  step: 'Run npm test',
  annotations: [
    { path: 'src/a.ts', line: 3, level: 'failure', message: 'Expected 1,\ngot 2' },
    { path: '.github', line: null, level: '', message: 'Exit code 1' },
  ],
  log: '2026-11-21T12:00:00.1234567Z ##[group]Run npm test\n##[endgroup]\n1 failing\n##[error]Exit code 1\n',
  missing: null,
};
const nothing: CheckDetails = { job: null, step: null, annotations: [], log: null, missing: null };
const where = { pullRequest: 5, url: 'https://example.test/pull/5', head: 'abc' };

test('a failed check is a task: where it fails, what it says, and the end of its log', () => {
  const task = taskOfCheck(check({ summary: '## Tests\n\n1 of 9 fails<!-- hidden -->' }), details, where);
  expect(task).toMatchObject({
    id: taskIdOfCheck(check()),
    title: 'Check "test" fails: test (22) / Run npm test',
    source: {
      kind: 'feedback',
      on: { kind: 'check', name: 'test', head: 'abc' },
      pullRequest: 5,
      url: 'https://example.test/checks/1',
    },
    priority: FEEDBACK_PRIORITY.check,
    comments: [],
    optional: false,
    obstacle: null,
  });
  expect(nameOfTask(task)).toBe('check test');
  expect(task.body).toBe(`Conclusion: failure
Workflow: .github/workflows/ci.yml
Job: test (22)
Step: Run npm test

Annotations:
- src/a.ts:3 (failure): Expected 1, got 2
- .github: Exit code 1

Summary:
## Tests

1 of 9 fails

End of the log:
Run npm test
1 failing
Error: Exit code 1`);
});

test('of an otherwise unknown check, what there is', () => {
  const task = taskOfCheck(status({ url: null }), { ...nothing, missing: 'The log is gone' }, where);
  expect(task.title).toBe('Check "ci/other" fails');
  expect(task.body).toBe('Conclusion: failure\n\nThe log is gone.');
  expect(task.source).toMatchObject({ url: where.url });
});

test('a job that is called as its check is named once', () => {
  expect(taskOfCheck(check(), { ...nothing, job: 'test', step: 'Lint' }, where).title).toBe('Check "test" fails: Lint');
});

test('however much a check says, it is bounded', () => {
  const annotations = Array.from({ length: 50 }, (_, line) => ({
    path: 'p'.repeat(9_000),
    line,
    level: 'l'.repeat(9_000),
    message: 'm'.repeat(9_000),
  }));
  const long = 'n'.repeat(9_000);
  const task = taskOfCheck(
    check({ name: long, conclusion: long, summary: 's '.repeat(50_000) }),
    { job: long, step: long, annotations, log: 'l '.repeat(500_000), missing: long },
    where,
  );
  expect(task.title.length).toBeLessThan(350);
  expect(task.body.length).toBeLessThan(18_000);
  expect(task.body).toContain('\n… and 30 more\n');
});

test('names do not hide words or break lines', () => {
  const task = taskOfCheck(check({ name: 'a\u202E\nb<!-- x -->' }), { ...nothing, job: 'j\nEnd of the log:' }, where);
  expect(task.title).toBe('Check "a b" fails: j End of the log:');
  expect(task.body).toContain('Job: j End of the log:');
});

test('a base branch that a rule wants in the branch is a task of its own words', () => {
  const task = taskOfConflict({ branch: 'main', base: 'def', pullRequest: 5, url: where.url, conflicts: false });
  expect(task).toMatchObject({
    id: CONFLICT_TASK,
    title: 'Merge main, as a rule of the branch requires',
    body: 'The base branch main has moved on, and pull request #5 must have its newest commits before it is merged.',
  });
});

test('a base branch that conflicts is a task', () => {
  const task = taskOfConflict({ branch: 'main', base: 'def', pullRequest: 5, url: where.url, conflicts: true });
  expect(task).toMatchObject({
    id: CONFLICT_TASK,
    title: 'Merge main and resolve the conflicts',
    body: 'The base branch main has moved on, and pull request #5 can no longer be merged into it.',
    source: { kind: 'feedback', on: { kind: 'conflict', branch: 'main', base: 'def' }, pullRequest: 5, url: where.url },
    priority: FEEDBACK_PRIORITY.conflict,
  });
  expect(nameOfTask(task)).toBe('conflict with main');
});
