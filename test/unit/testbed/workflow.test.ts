import { describe, expect, test } from 'vitest';
import { events } from '../../../testbed/testbed.ts';
import { readEvent } from '../../../testbed/workflow/event.ts';
import { buildDispatchInputs, parseWorkflow, explainNotStarted } from '../../../testbed/workflow/workflow.ts';

const JOB = 'jobs:\n  one:\n    runs-on: ubuntu-latest\n    steps:\n      - run: "true"\n';
const on = (yaml: string) => parseWorkflow(`on: ${yaml}\n${JOB}`);
const happens = (name: string, payload: object = {}) => readEvent({ name, payload });

const ran = (name: string, branch: string) =>
  happens('workflow_run', { action: 'completed', workflow_run: { name, head_branch: branch } });

describe('an event starts a workflow', () => {
  test.each([
    ['push', happens('push'), true],
    ['[push, issues]', happens('issues', { action: 'opened' }), true],
    ['[push]', happens('issues', { action: 'opened' }), false],
    ['{ issues: { types: [labeled] } }', happens('issues', { action: 'labeled' }), true],
    ['{ issues: { types: [labeled] } }', happens('issues', { action: 'closed' }), false],
    ['{ issues: { types: labeled } }', happens('issues', { action: 'labeled' }), true],
    ['{ issues: }', happens('issues', { action: 'closed' }), true],
    ['{ schedule: [{ cron: "1 * * * *" }] }', happens('schedule', { schedule: '1 * * * *' }), true],
    ['{ schedule: [{ cron: "1 * * * *" }] }', happens('schedule', { schedule: '2 * * * *' }), false],
    ['{ push: { branches: [main, "v*", "!v2"] } }', readEvent(events.push('refs/heads/main')), true],
    ['{ push: { branches: [main, "v*", "!v2"] } }', readEvent(events.push('refs/heads/v1')), true],
    ['{ push: { branches: [main, "v*", "!v2"] } }', readEvent(events.push('refs/heads/v2')), false],
    ['{ push: { branches: [main, "v*", "!v2"] } }', readEvent(events.push('refs/heads/v1/x')), false],
    ['{ push: { branches: ["v**"] } }', readEvent(events.push('refs/heads/v1/x')), true],
    ['{ push: { branches: ["**"] } }', readEvent(events.push('refs/tags/v1')), false],
    ['{ workflow_run: { workflows: [CI, Lint], types: [completed] } }', ran('Lint', 'main'), true],
    ['{ workflow_run: { workflows: [CI], types: [completed] } }', ran('Lint', 'main'), false],
    ['{ workflow_run: { workflows: [CI], types: [requested] } }', ran('CI', 'main'), false],
    ['{ workflow_run: { workflows: [CI], branches: ["ralph/**"] } }', ran('CI', 'ralph/queue'), true],
    ['{ workflow_run: { workflows: [CI], branches: ["ralph/**"] } }', ran('CI', 'main'), false],
  ])('on: %s', (yaml, event, starts) => {
    expect(explainNotStarted(on(yaml), event) === null).toBe(starts);
  });

  test('of a pull request by its usual types, where none are named', () => {
    const closed = (action: string) =>
      happens('pull_request', {
        action,
        pull_request: { number: 1, head: { ref: 'a', sha: 'b' }, base: { ref: 'main' } },
      });
    expect(explainNotStarted(on('pull_request'), closed('opened'))).toBeNull();
    expect(explainNotStarted(on('pull_request'), closed('closed'))).toBe(
      'on: pull_request does not name the type closed',
    );
  });
});

describe('inputs of a dispatch', () => {
  const workflow = on(
    '{ workflow_dispatch: { inputs: { command: { type: choice, options: [run, pause] }, n: { type: number, default: 3 }, sure: { type: boolean } } } }',
  );
  test.each([
    [{}, { command: '', n: 3, sure: false }],
    [
      { command: 'pause', n: '4', sure: 'true' },
      { command: 'pause', n: 4, sure: true },
    ],
  ])('%j', (given, expected) => {
    expect(buildDispatchInputs(workflow, given)).toEqual(expected);
  });
  test.each([[{ command: 'puase' }], [{ other: 'x' }]])('%j is refused', (given) => {
    expect(() => buildDispatchInputs(workflow, given)).toThrow();
  });
});

test.each([
  ['two jobs', `on: push\n${JOB}${JOB.replace('jobs:\n', '').replace('one', 'two')}`, 'one job'],
  ['a matrix of steps', `on: push\n${JOB}    strategy: { fail-fast: false, matrix: { a: b } }\n`, 'uses a workflow'],
  ['paths', `on: { push: { paths: [a] } }\n${JOB}`, 'paths'],
])('a feature that the testbed cannot play is reported: %s', (_what, source, message) => {
  expect(() => parseWorkflow(source)).toThrow(message);
});
