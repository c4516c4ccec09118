import { describe, expect, test } from 'vitest';
import { type DashboardBox, DASHBOARD_MARKER, renderBox } from '../../../src/core/dashboard/boxes.ts';
import { EVENTS, meaningOfEvent } from '../../../src/gate/event/event-table.ts';
import { findRequester, type EventInputs, type Intent } from '../../../src/gate/event/intent.ts';
import { isAskedFor } from '../../../src/gate/people/trust.ts';
import type { Forge, Permission } from '../../../src/ports/forge.ts';
import { changed, examplesOf, type Payload } from './webhooks.ts';

const inputs: EventInputs = {
  ...{ taskLabel: 'ralph', command: '', branchPrefix: 'ralph/', ownWorkflow: null },
  answers: { reviews: true, checks: true },
};
const issue = { 'issue.number': 4, 'issue.labels': [{ name: 'ralph' }], 'issue.state': 'open' };
const labelled = { ...issue, 'label.name': 'ralph' };
const sender = { sender: { login: 'ann', id: 1, type: 'User' } };
const pull = { 'pull_request.number': 9, 'pull_request.head.ref': 'ralph/issue-7', ...sender };
const run = { 'workflow_run.head_repository.id': 1, 'repository.id': 1 };
const suite = { head_branch: 'ralph/issue-7', conclusion: 'failure' };
const failed = (name: string): Payload =>
  Object.fromEntries(Object.entries(suite).map(([key, value]) => [`${name}.${key}`, value]));

interface Expected {
  readonly lanes: readonly string[];
  readonly mayBeOtherLane?: true;
  readonly by: string | null;
  readonly thread: number | null;
  /**
   * `never` means that the event asks for neither work nor an answer; the others count always, or with write
   * permission.
   */
  readonly counts: 'always' | 'with-permission' | 'never';
  readonly todo: Intent['kind'];
}

const queue = { lanes: ['queue'], thread: null, counts: 'always' } as const;
const ofIssue = { lanes: ['issue-4', 'queue'], by: null, thread: null, counts: 'never' } as const;
const command = { mayBeOtherLane: true, by: 'ann', counts: 'with-permission', todo: 'command' } as const;
const review = { lanes: ['issue-7'], by: 'ann', thread: 9, counts: 'with-permission', todo: 'answer' } as const;
const check = { lanes: ['issue-7'], by: null, counts: 'always', todo: 'answer' } as const;
const box: DashboardBox = { kind: 'pause', subject: 'queue' };
const TICKED_PAGE = `${DASHBOARD_MARKER}\n\n${renderBox(box).replace('[ ]', '[x]')}`;
const slash = { 'comment.body': '/ralph run', ...sender };

/** The contract of spec §2: the condition under which an event of each type concerns Ralph, and its meaning. */
const CONTRACT: readonly (readonly [string, string | null, Payload, Expected])[] = [
  // Works the queue
  ['schedule', null, {}, { ...queue, by: null, todo: 'work-queue' }],
  ['workflow_dispatch', null, sender, { ...queue, by: 'ann', todo: 'work-queue' }],
  ['repository_dispatch', null, sender, { ...queue, by: 'ann', todo: 'work-queue' }],
  ['push', null, { ref: 'refs/heads/main', deleted: false }, { ...queue, by: null, todo: 'work-queue' }],
  // The command of a dispatch is read from the event itself
  [
    'workflow_dispatch',
    null,
    { ...sender, inputs: { command: 'pause' } },
    { ...queue, by: 'ann', todo: 'dispatched-command' },
  ],
  [
    'repository_dispatch',
    null,
    { ...sender, client_payload: { command: 'pause' } },
    { ...queue, by: 'ann', todo: 'dispatched-command' },
  ],
  // Works on that issue, on its own lane
  [
    'issues',
    'labeled',
    { ...labelled, ...sender },
    { ...ofIssue, by: 'ann', thread: 4, counts: 'with-permission', todo: 'work-issue' },
  ],
  [
    'issues',
    'labeled',
    { ...issue, 'label.name': 'ralph:plan', ...sender },
    { ...ofIssue, by: 'ann', thread: 4, counts: 'with-permission', todo: 'propose' },
  ],
  // Takes the task out of the queue; its lane rests
  ['issues', 'unlabeled', labelled, { ...ofIssue, todo: 'withdraw' }],
  ['issues', 'closed', issue, { ...ofIssue, todo: 'withdraw' }],
  ['issues', 'deleted', issue, { ...ofIssue, todo: 'withdraw' }],
  ['issues', 'transferred', issue, { ...ofIssue, todo: 'withdraw' }],
  ['issues', 'reopened', issue, { ...ofIssue, todo: 'take-back' }],
  ['issues', 'edited', { ...issue, changes: { title: { from: 'before' } } }, { ...ofIssue, todo: 'recheck' }],
  // Obeys ticked boxes of the dashboard, which may be about any lane
  [
    'issues',
    'edited',
    { ...issue, 'issue.body': TICKED_PAGE },
    { ...queue, mayBeOtherLane: true, by: null, counts: 'never', todo: 'dashboard' },
  ],
  // One command, on the issue or on Ralph's own pull request
  ['issue_comment', 'created', { ...issue, ...slash }, { ...command, lanes: ['queue', 'issue-4'], thread: 4 }],
  [
    'pull_request_review',
    'submitted',
    { ...pull, 'review.body': '/ralph run' },
    { ...command, lanes: ['queue', 'issue-9'], thread: 9 },
  ],
  [
    'pull_request_review_comment',
    'created',
    { ...pull, ...slash },
    { ...command, lanes: ['queue', 'issue-9'], thread: 9 },
  ],
  // Answers the review: its lane works on the requests
  ['pull_request_review', 'submitted', pull, review],
  ['pull_request_review', 'edited', pull, review],
  ['pull_request_review_comment', 'created', { ...pull, 'comment.in_reply_to_id': 7 }, review],
  ['pull_request_review_comment', 'edited', pull, review],
  // Works on the failure, on its lane
  [
    'check_suite',
    'completed',
    {
      ...failed('check_suite'),
      'repository.id': 1,
      'check_suite.pull_requests': [{ number: 9, head: { ref: 'ralph/issue-7', repo: { id: 1 } } }],
    },
    { ...check, thread: 9 },
  ],
  ['workflow_run', 'completed', { ...failed('workflow_run'), ...run }, { ...check, thread: null }],
  ['status', null, { state: 'failure', branches: [{ name: 'ralph/issue-7' }] }, { ...check, thread: null }],
  // Merged: tasks done, lane cleaned up; not merged: lane parked; the remaining tasks continue in the queue
  ['pull_request', 'closed', pull, { ...queue, by: null, counts: 'never', todo: 'end-lane' }],
];

/** Types that are read and ask for nothing. */
const IGNORED: readonly string[] = ['pull_request_review dismissed', 'pull_request_review_comment deleted'];

describe('the contract says of every event what it means', () => {
  test.each(CONTRACT)('%s %s with %j', async (name, type, values, expected) => {
    const [example = {}] = [
      ...examplesOf(name, type),
      ...examplesOf(name, 'reopened'),
      ...examplesOf(name, 'submitted'),
    ];
    const payload = changed(example, { ...values, ...(type === null ? {} : { action: type }) });
    const meaning = meaningOfEvent({ name, payload }, inputs);
    const { lanes, mayBeOtherLane = false, by, thread, counts, todo } = expected;
    expect(meaning).toMatchObject({ kind: 'for-us', lanes, mayBeOtherLane, intent: { kind: todo } });
    expect(findRequester(meaning)).toEqual({ by, thread });
    const asked = async (permission: Permission): Promise<boolean> => {
      const forge = { permissionOf: () => Promise.resolve(permission) } as unknown as Forge;
      return isAskedFor({ config: { allowedBots: [] }, forge }, meaning);
    };
    expect([await asked('read'), await asked('write')]).toEqual(
      { always: [true, true], 'with-permission': [false, true], never: [false, false] }[counts],
    );
  });

  test('and the table has no other row', () => {
    const named = (event: string, type: string | null): string => (type === null ? event : `${event} ${type}`);
    const rows = EVENTS.flatMap(({ event, types }) => (types ?? [null]).map((type) => named(event, type)));
    const contract = CONTRACT.map(([event, type]) => named(event, type));
    expect([...rows].sort()).toEqual([...new Set([...contract, ...IGNORED])].sort());
  });

  test('a bot that asks is not mentioned', () => {
    const [example = {}] = examplesOf('issues', 'labeled');
    const payload = changed(example, { ...labelled, sender: { login: 'app[bot]', id: 2, type: 'Bot' } });
    expect(findRequester(meaningOfEvent({ name: 'issues', payload }, inputs))).toEqual({ by: null, thread: 4 });
  });

  test('an irrelevant event names no lane and no requester', async () => {
    const [example = {}] = examplesOf('issues', 'labeled');
    const meaning = meaningOfEvent({ name: 'issues', payload: changed(example, { 'label.name': 'bug' }) }, inputs);
    expect(meaning.kind).toBe('not-for-us');
    expect(findRequester(meaning)).toEqual({ by: null, thread: null });
    expect(await isAskedFor({ config: { allowedBots: [] }, forge: {} as Forge }, meaning)).toBe(false);
  });

  test.each(['pull_request_review', 'status'])(
    "without a usable prefix, no %s belongs to one of Ralph's branches",
    (name) => {
      const [example = {}] = examplesOf(name, name === 'status' ? null : 'submitted');
      const payload = changed(example, name === 'status' ? { state: 'failure', branches: [{ name: 'main' }] } : pull);
      expect(meaningOfEvent({ name, payload }, { ...inputs, branchPrefix: '' }).kind).toBe('not-for-us');
    },
  );
});
