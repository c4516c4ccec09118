import { describe, expect, test } from 'vitest';
import { OWN_COMMENT_MARKER, type RalphCommand } from '../../../src/core/people/command.ts';
import type { EventInputs } from '../../../src/gate/event/intent.ts';
import { STATUS_MARKER } from '../../../src/report/pages/status-comment.ts';
import { commented, labeled } from '../../loop/stage/run-action.ts';
import { intentOf } from './webhooks.ts';

/** The inputs of a step without `command`. */
const asks: EventInputs = {
  taskLabel: 'ralph',
  command: '',
  branchPrefix: 'ralph/',
  answers: { reviews: true, checks: true },
  ownWorkflow: null,
};

describe('events', () => {
  test.each([
    ['schedule', { schedule: '0 * * * *' }],
    ['workflow_dispatch', { inputs: {} }],
    ['schedule', null],
  ])('%s works the queue', (name, payload) => {
    expect(intentOf({ name, payload }, asks)).toEqual({ kind: 'work-queue', actor: null });
  });

  test.each([
    ['the task label', labeled(4), 'ralph'],
    ['the task label in other letters', labeled(4, 'ann', 'RALPH'), 'Ralph'],
  ])('issues: labeled with %s works that issue', (_name, event, label) => {
    expect(intentOf(event, { ...asks, taskLabel: label })).toEqual({
      kind: 'work-issue',
      issue: 4,
      approvedText: { title: 'Title 4', body: 'Body 4' },
      actor: { login: 'ann', id: 1, kind: 'user' },
    });
  });

  test.each([
    ['another label', labeled(4, 'ann', 'bug')],
    ['a label that only begins like it', labeled(4, 'ann', 'ralph-later')],
    [
      'a pull request',
      {
        name: 'issues',
        payload: { ...(labeled(4).payload as object), issue: { number: 4, pull_request: { url: 'x' } } },
      },
    ],
  ])('issues: labeled with %s is not for us', (_name, event) => {
    expect(intentOf(event, asks).kind).toBe('not-for-us');
  });

  test.each(['pull_request_target', 'pull_request_review_thread', 'issue', '', 'constructor'])(
    'the event "%s" is refused by its name, with the list of supported ones',
    (name) => {
      expect(() => intentOf({ name, payload: {} }, asks)).toThrow(
        new RegExp(
          `The event "${name}" is not supported\\. Supported events are schedule, workflow_dispatch, repository_dispatch, push, issues \\(types: \\[labeled, unlabeled, closed, deleted, transferred, reopened, edited\\]\\), issue_comment \\(types: \\[created\\]\\), pull_request \\(types: \\[closed\\]\\), .* and status: change`,
        ),
      );
    },
  );

  test.each([
    ['issues', 'opened'],
    ['issues', 'pinned'],
    ['issue_comment', 'edited'],
    ['issue_comment', 'deleted'],
    ['pull_request', 'synchronize'],
    ['pull_request_review', 'requested'],
    ['check_suite', 'requested'],
    ['check_suite', 'rerequested'],
    ['workflow_run', 'in_progress'],
  ])('the type of %s: %s is refused by its name', (name, action) => {
    expect(() => intentOf({ name, payload: { action } }, asks)).toThrow(
      `The event "${name}" with the type "${action}" is not supported`,
    );
  });

  const whole = (name: string) =>
    (name === 'issues' ? labeled(4) : commented('/ralph run', { issue: 4 })).payload as Record<string, unknown>;
  test.each([
    ['issues', 'without an issue', { issue: undefined }],
    ['issues', 'without a label', { label: null }],
    ['issues', 'without a sender', { sender: {} }],
    ['issues', 'with a sender of no type', { sender: { login: 'ann', id: 1 } }],
    ['issues', 'with a sender without an id', { sender: { login: 'ann', type: 'User' } }],
    [
      'issues',
      'with a body beyond all that GitHub takes',
      { issue: { number: 4, title: 'T', body: 'x'.repeat(300_000) } },
    ],
    ['issues', 'without a title', { issue: { number: 4, body: '' } }],
    ['issues', 'with an invalid issue number', { issue: { number: '4' } }],
    ['issues', 'with an issue number below one', { issue: { number: 0 } }],
    ['issue_comment', 'without a comment', { comment: undefined }],
    ['issue_comment', 'with an invalid comment id', { comment: { id: 1.5, body: '/ralph run' } }],
    ['issue_comment', 'with a body that is not a text', { comment: { id: 1, body: 7 } }],
  ])('a payload of %s %s is an error that names the file', (name, _what, change) => {
    expect(() => intentOf({ name, payload: { ...whole(name), ...change } }, asks)).toThrow(
      /"(issues|issue_comment)" does not have the shape that GitHub documents\. Check GITHUB_EVENT_PATH/,
    );
  });

  test('the type in an error cannot bring a workflow command or a line with it', () => {
    expect(() => intentOf({ name: 'issues', payload: { action: 'opened\n::error::x' } }, asks)).toThrow(
      'the type "openederrorx"',
    );
  });
});

describe('comments', () => {
  const unknown = (word: string): RalphCommand => ({ kind: 'unknown', word });
  test.each<[string, RalphCommand]>([
    ['/ralph run', { kind: 'run' }],
    ['/ralph status', { kind: 'status' }],
    ['/RALPH Status', { kind: 'status' }],
    ['  \n/ralph \t run  \r\nthank you', { kind: 'run' }],
    ['/ralph', unknown('')],
    ['/ralph   ', unknown('')],
    ['/ralph statsu', unknown('statsu')],
    ['/ralph run now', unknown('run now')],
    [`/ralph ${'x'.repeat(100)}`, unknown('x'.repeat(40))],
    ['/ralph constructor', unknown('constructor')],
    ['/ralph stop', { kind: 'order', order: 'stop' }],
    ['/ralph retry', { kind: 'retry', task: null }],
    ['/ralph retry 12', { kind: 'retry', task: 'issue-12' }],
    ['/ralph retry #12', { kind: 'retry', task: 'issue-12' }],
    ['/ralph Retry issue-12', { kind: 'retry', task: 'issue-12' }],
    ['/ralph retry prd-US-001', { kind: 'retry', task: 'prd-US-001' }],
    ['/ralph retry plan-3f9a12c0  ', { kind: 'retry', task: 'plan-3f9a12c0' }],
    ['/ralph retry 0', unknown('retry 0')],
    ['/ralph retry 12 13', unknown('retry 12 13')],
    ['/ralph retry ../x', unknown('retry ../x')],
    ['/ralph retry constructor', unknown('retry constructor')],
    ['/ralph plan', { kind: 'plan' }],
    ['/ralph approve', { kind: 'approve' }],
    ['/ralph approve all', unknown('approve all')],
    ['/ralph rety 12', unknown('rety 12')],
    ['/ralph reset circut', unknown('reset circut')],
    ['/ralph\u00A0run', { kind: 'run' }],
    ['\u3000/ralph\u3000run', { kind: 'run' }],
    ['/ralph\u200B run', { kind: 'run' }],
    ['\uFEFF/ralph\tretry\u202F12', { kind: 'retry', task: 'issue-12' }],
    ['/ralph\nstatus', { kind: 'status' }],
    ['/ralph run.', { kind: 'run' }],
    ['/ralph Stop!', { kind: 'order', order: 'stop' }],
    ['**/ralph status?**', { kind: 'status' }],
    ['/ralph retry #12 .', { kind: 'retry', task: 'issue-12' }],
    ['/ralph reset circuit…', { kind: 'order', order: 'reset-circuit' }],
    ['/ralph statsu?', unknown('statsu')],
    ['/ralph fix the tests.', { kind: 'request' }],
    ['`/ralph run`', { kind: 'run' }],
    ['`/ralph` run', { kind: 'run' }],
    ['**/ralph** run', { kind: 'run' }],
    ['**/ralph run**', { kind: 'run' }],
    ['**/ralph:** `run`', { kind: 'run' }],
    ['/ralph **reset circuit**', { kind: 'order', order: 'reset-circuit' }],
    ['/ralph fix tests', { kind: 'request' }],
    ['/ralph rename it', { kind: 'request' }],
    ['/ralph improve docs', { kind: 'request' }],
    ['/ralph aprove all', unknown('aprove all')],
    ['/ralph improve', unknown('improve')],
    ['/ralph, please rename it', { kind: 'request' }],
    ['**/ralph** use `run` here', { kind: 'request' }],
    ['/ralph\u00A0please\u00A0rename\u00A0it', { kind: 'request' }],
    ['/ralph\nPlease rename it', { kind: 'request' }],
    ['/ralph run the tests as well', { kind: 'request' }],
    ['/ralph stop using tabs here', { kind: 'request' }],
    ['/ralph stop working on this', { kind: 'unknown', word: 'stop working on this' }],
    ['/ralph Pause until Monday, please', { kind: 'unknown', word: 'Pause until Monday, please' }],
    ['/ralph please stop', unknown('please stop')],
    ['/ralph Please, stop working on this', unknown('Please, stop working on this')],
    ['/ralph please stop using tabs here', { kind: 'request' }],
    ['/ralph 👍', { kind: 'unknown', word: '👍' }],
    ['/ralph \u4FEE\u590D\u767B\u5F55', { kind: 'request' }],
    ['/ralph resum\nThank you', unknown('resum')],
  ])('%j is a command', (body, command) => {
    expect(intentOf(commented(body, { issue: 4 }), asks)).toEqual({
      kind: 'command',
      command,
      reactTo: { kind: 'comment', id: 7 },
      thread: { number: 4, isPullRequest: false },
      actor: { login: 'ann', id: 1, kind: 'user' },
      issueThen: { title: 'Title 4', body: 'Body 4', labels: [], at: Date.parse('2026-11-21T12:00:00Z') },
    });
  });

  test.each([
    ...['Please use /ralph run', '/ralphrun', '/ralph-run', '> /ralph run', '', 'I said: `/ralph run`', '*/ralph run*'],
    ...['> /ralph fix the tests', '```\n/ralph run\n```', '/ralph/run', '@ralph-app run', 'ralph, fix the tests'],
    ...['/ralph thanks a lot!', '/ralph great work, thanks'],
  ])('%j is not a command', (body) => {
    expect(intentOf(commented(body, { issue: 4 }), asks).kind).toBe('not-for-us');
  });

  const onPull = (body: string, user: object | null): ReturnType<typeof intentOf> => {
    const event = commented(body, { issue: 4, isPullRequest: true });
    const payload = event.payload as { readonly issue: object };
    return intentOf({ ...event, payload: { ...payload, issue: { ...payload.issue, user } } }, asks);
  };
  const app = { login: 'ralph-app[bot]', id: 5, type: 'Bot' };

  test.each<[string, RalphCommand]>([
    ['@ralph-app please rename it', { kind: 'request' }],
    ['@Ralph-App[bot] please rename it', { kind: 'request' }],
    ['**@ralph-app**, please rename it', { kind: 'request' }],
    ['@ralph-app status', { kind: 'status' }],
    ['@ralph-app', unknown('')],
  ])('%j on the pull request of that bot is a mention', (body, command) => {
    expect(onPull(body, app)).toMatchObject({ kind: 'command', command, isMention: true });
  });

  test.each<[string, object | null]>([
    ['@ralph-app please rename it', { ...app, type: 'User' }],
    ['@ralph-app please rename it', null],
    ['@ralph-app please rename it', { ...app, login: 'dependabot[bot]' }],
    ['@ralph-app2 please rename it', app],
    ['@ralph please rename it', app],
    ['See @ralph-app about it', app],
    ['> @ralph-app please rename it', app],
    ['@ralph-app thanks!', app],
    ['@ralph-app thanks', app],
  ])('%j on the pull request of %j is not one', (body, user) => {
    expect(onPull(body, user).kind).toBe('not-for-us');
  });

  test('a login is not a pattern', () => {
    expect(onPull('@anybody do it now', { ...app, login: '.*[bot]' }).kind).toBe('not-for-us');
  });

  test('without a body are not a command', () => {
    const event = commented('', { issue: 4 });
    expect(
      intentOf({ ...event, payload: { ...(event.payload as object), comment: { id: 7, body: null } } }, asks).kind,
    ).toBe('not-for-us');
  });

  test('of our own are known by their marker, whoever wrote them', () => {
    expect(STATUS_MARKER.startsWith(OWN_COMMENT_MARKER)).toBe(true);
    expect(intentOf(commented(`${STATUS_MARKER}\n/ralph run`, { issue: 4 }), asks)).toEqual({
      kind: 'not-for-us',
      why: "The comment is Ralph's own.",
    });
  });

  test('on a pull request say so', () => {
    expect(intentOf(commented('/ralph run', { issue: 4, isPullRequest: true }), asks)).toMatchObject({
      thread: { number: 4, isPullRequest: true },
    });
  });
});
