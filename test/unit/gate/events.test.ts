import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EVENTS } from '../../../src/gate/event/event-table.ts';
import type { DismissedEvent, EventInputs, Intent } from '../../../src/gate/event/intent.ts';
import { UserError } from '../../../src/errors.ts';
import { runs } from '../../runs.ts';
import { changed, examples, examplesOf, intentOf, type Payload } from './webhooks.ts';

const inputs: EventInputs = {
  taskLabel: 'ralph',
  command: '',
  branchPrefix: 'ralph/',
  answers: { reviews: true, checks: true },
  ownWorkflow: '.github/workflows/ralph.yml',
};
const read = (name: string, payload: unknown, change: Partial<EventInputs> = {}): Intent | DismissedEvent =>
  intentOf({ name, payload }, { ...inputs, ...change });

const task = { 'issue.labels': [{ id: 1, name: 'Ralph', color: 'ffffff' }] };
const ours = { 'pull_request.head.ref': 'ralph/issue-7' };
const ofFork = { 'pull_request.head.repo': { full_name: 'stranger/Hello-World' } };

describe("GitHub's own examples, with what makes them ours", () => {
  test.each<[string, string | null, Payload, (Intent | DismissedEvent)['kind'], object]>([
    ['workflow_dispatch', null, {}, 'work-queue', {}],
    ['repository_dispatch', null, {}, 'work-queue', {}],
    [
      'repository_dispatch',
      null,
      { client_payload: { command: 'retry 12' } },
      'dispatched-command',
      { command: { kind: 'retry', task: 'issue-12' } },
    ],
    ['repository_dispatch', null, { client_payload: null }, 'work-queue', {}],
    ['push', null, { ref: 'refs/heads/main', deleted: false }, 'work-queue', {}],
    ['push', null, { ref: 'refs/heads/main', deleted: true }, 'not-for-us', {}],
    ['push', null, { ref: 'refs/heads/ralph/queue', deleted: false }, 'not-for-us', {}],
    ['push', null, { ref: 'refs/tags/v1', deleted: false }, 'not-for-us', {}],
    ['issues', 'labeled', { 'label.name': 'ralph' }, 'work-issue', { actor: { kind: 'user' } }],
    [
      'issues',
      'labeled',
      { 'label.name': 'ralph', 'issue.title': 'T', 'issue.body': null },
      'work-issue',
      { approvedText: { title: 'T', body: '' } },
    ],
    [
      'issues',
      'labeled',
      { 'label.name': 'ralph', sender: { login: 'renovate[bot]', id: 29139614, type: 'Bot' } },
      'work-issue',
      { actor: { login: 'renovate[bot]', id: 29139614, kind: 'bot' } },
    ],
    [
      'issues',
      'labeled',
      { 'label.name': 'ralph', 'issue.pull_request': { url: 'https://example.test' } },
      'not-for-us',
      {},
    ],
    ['issues', 'labeled', {}, 'not-for-us', {}],
    [
      'issues',
      'labeled',
      { 'label.name': 'Ralph:plan', 'issue.title': 'T', 'issue.body': null },
      'propose',
      { approvedText: { title: 'T', body: '' } },
    ],
    [
      'issues',
      'labeled',
      { 'label.name': 'ralph:plan', 'issue.pull_request': { url: 'https://example.test' } },
      'not-for-us',
      {},
    ],
    ['issues', 'unlabeled', { 'label.name': 'ralph:plan' }, 'not-for-us', {}],
    ['issues', 'unlabeled', { 'label.name': 'RALPH' }, 'withdraw', { because: 'unlabeled' }],
    ['issues', 'unlabeled', {}, 'not-for-us', {}],
    ['issues', 'deleted', task, 'withdraw', { because: 'deleted' }],
    ['issues', 'deleted', { 'issue.labels': [] }, 'not-for-us', {}],
    ['issues', 'transferred', task, 'withdraw', { because: 'transferred' }],
    ['issues', 'reopened', task, 'take-back', {}],
    ['issues', 'reopened', { 'issue.labels': [] }, 'not-for-us', {}],
    ['issues', 'edited', { ...task, 'issue.state': 'open', changes: { body: { from: 'before' } } }, 'recheck', {}],
    ['issues', 'edited', { ...task, 'issue.state': 'open', changes: { title: { from: 'before' } } }, 'recheck', {}],
    ['issues', 'edited', { ...task, 'issue.state': 'open', changes: {} }, 'not-for-us', {}],
    ['issues', 'edited', { ...task, 'issue.state': 'closed', changes: { body: { from: 'before' } } }, 'not-for-us', {}],
    ['issues', 'edited', { 'issue.labels': [], changes: { body: { from: 'before' } } }, 'not-for-us', {}],
    [
      'issue_comment',
      'created',
      { 'comment.body': '/ralph stop' },
      'command',
      { command: { kind: 'order', order: 'stop' } },
    ],
    ['issue_comment', 'created', { 'comment.body': 'Looks good' }, 'not-for-us', {}],
    [
      'issue_comment',
      'created',
      { 'comment.body': '/ralph run', 'issue.pull_request': { url: 'https://example.test' } },
      'command',
      { thread: { isPullRequest: true } },
    ],
    ['pull_request', 'closed', {}, 'not-for-us', {}],
    [
      'pull_request',
      'closed',
      { ...ours, 'pull_request.merged': true },
      'end-lane',
      { pullRequest: { branch: 'ralph/issue-7', merged: true } },
    ],
    [
      'pull_request',
      'closed',
      { ...ours, 'pull_request.merged': false },
      'end-lane',
      { pullRequest: { merged: false } },
    ],
    [
      'pull_request',
      'closed',
      { ...ours, ...ofFork },
      'refused',
      { why: expect.stringContaining('comes from a fork') },
    ],
    ['pull_request', 'closed', { ...ours, 'pull_request.head.repo': null }, 'refused', {}],
  ])('%s %s with %j: %s', (name, action, values, kind, more) => {
    const found = examplesOf(name, action);
    expect(found.length).toBeGreaterThan(0);
    for (const payload of found) expect(read(name, changed(payload, values))).toMatchObject({ kind, ...more });
  });

  // The examples have no closed issue; a closed one has the shape of a reopened one.
  test('issues closed with the task label: withdraw', () => {
    for (const payload of examplesOf('issues', 'reopened'))
      expect(read('issues', changed(payload, { ...task, action: 'closed' }))).toMatchObject({
        kind: 'withdraw',
        because: 'closed',
      });
  });

  test('issues closed with a status label, which a search may have found: withdraw', () => {
    const marked = (labels: readonly object[]) => ({ 'issue.labels': labels, action: 'closed' });
    for (const payload of examplesOf('issues', 'reopened')) {
      const failed = { id: 1, name: 'ralph:failed', color: 'ffffff' };
      expect(read('issues', changed(payload, marked([failed]))).kind).toBe('withdraw');
      expect(read('issues', changed(payload, marked([{ ...failed, name: 'failed' }]))).kind).toBe('not-for-us');
    }
  });
});

describe('every example as it is', () => {
  const all = [...examples].flatMap(([name, of]) =>
    of.map((payload) => [name, typeof payload.action === 'string' ? payload.action : null, payload] as const),
  );
  const isSupported = (name: string, action: string | null): boolean =>
    EVENTS.some(
      ({ event, types }) => event === name && (types === null || (action !== null && types.includes(action))),
    );
  const supported = all.filter(([name, action]) => isSupported(name, action));
  const others = all.filter(([name, action]) => !isSupported(name, action));

  test.each(supported)('%s %s is read', (name, _action, payload) => {
    expect(['work-queue', 'not-for-us', 'refused']).toContain(read(name, payload).kind);
  });

  test.each(others)('%s %s is refused by its name', (name, _action, payload) => {
    expect(() => read(name, payload)).toThrow(
      new RegExp(`^The event "${name}"( with the type "\\w+")? is not supported\\. Supported events are schedule, `),
    );
  });
});

test('the list of supported events in an error is the table', () => {
  const expected = [...new Set(EVENTS.map(({ event }) => event))];
  expect(expected).toEqual([
    'schedule',
    'workflow_dispatch',
    'repository_dispatch',
    'push',
    'issues',
    'issue_comment',
    'pull_request',
    'pull_request_review',
    'pull_request_review_comment',
    'check_suite',
    'workflow_run',
    'status',
  ]);
  for (const { event, types } of EVENTS)
    for (const word of [event, ...(types ?? [])]) expect(() => read('gollum', {})).toThrow(word);
});

describe('the inputs of a dispatch', () => {
  const given = { repository_dispatch: 'client_payload', workflow_dispatch: 'inputs' } as const;
  const dispatched = (name: keyof typeof given): Payload => examplesOf(name, null)[0] ?? {};
  test.each(
    (['repository_dispatch', 'workflow_dispatch'] as const).flatMap((name) => [
      [name, 'the input alone', 'status', {}, { kind: 'status' }] as const,
      [name, 'the payload alone', '', { command: ' Stop ' }, { kind: 'order', order: 'stop' }] as const,
      [name, 'both: the workflow decides', 'pause', { command: 'run' }, { kind: 'order', order: 'pause' }] as const,
    ]),
  )('%s with %s', (name, _what, command, values, expected) => {
    expect(read(name, changed(dispatched(name), { [given[name]]: values }), { command })).toMatchObject({
      kind: 'dispatched-command',
      command: expected,
      actor: { repository_dispatch: 'Codertocat', workflow_dispatch: 'octocat' }[name],
    });
  });

  test('of a server that does not say who dispatched has no name', () => {
    expect(read('workflow_dispatch', {}, { command: 'pause' })).toMatchObject({ actor: null });
  });

  test('that cannot be read is never a run', () => {
    expect(() => read('workflow_dispatch', { inputs: { command: 7 } })).toThrow('does not have the shape');
  });

  test.each([
    ['workflow_dispatch', 'rety 12', {}, /Did you mean "retry"\?/],
    [
      'workflow_dispatch',
      'statsu',
      {},
      /The input command is "statsu", which is not a command\. Did you mean "status"\?/,
    ],
    [
      'repository_dispatch',
      '',
      { client_payload: { command: 'rm -rf' } },
      /client_payload\.command is "rm -rf", which is not a command\. Commands are: run, /,
    ],
    ['workflow_dispatch', '', { inputs: { command: 'puase' } }, /inputs\.command is "puase".* Did you mean "pause"\?/],
  ] as const)('%s with "%s" %j is an error that lists the commands', (name, command, values, message) => {
    expect(() => read(name, changed(dispatched(name), values), { command })).toThrow(message);
  });
});

test('no JSON makes it throw anything but a UserError', () => {
  const actions = EVENTS.flatMap(({ types }) => types ?? []);
  const near = fc.record(
    {
      action: fc.constantFrom<unknown>(...actions, 'x', 3, null),
      label: fc.jsonValue(),
      issue: fc.jsonValue(),
      comment: fc.jsonValue(),
      sender: fc.jsonValue(),
      pull_request: fc.jsonValue(),
      review: fc.jsonValue(),
      check_suite: fc.jsonValue(),
      workflow_run: fc.jsonValue(),
      state: fc.jsonValue(),
      branches: fc.jsonValue(),
      changes: fc.jsonValue(),
      ref: fc.jsonValue(),
      client_payload: fc.jsonValue(),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(
      fc.constantFrom(...EVENTS.map(({ event }) => event), 'gollum', 'constructor'),
      fc.oneof(fc.jsonValue(), near),
      (name, payload) => {
        try {
          expect(read(name, payload).kind).toMatch(/^[a-z-]+$/);
        } catch (error) {
          expect(error).toBeInstanceOf(UserError);
        }
      },
    ),
    { numRuns: runs(500) },
  );
});
