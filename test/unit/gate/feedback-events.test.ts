import { describe, expect, test } from 'vitest';
import { OWN_COMMENT_MARKER } from '../../../src/core/people/command.ts';
import type { DismissedEvent, EventInputs, Intent } from '../../../src/gate/event/intent.ts';
import { changed, examplesOf, intentOf, type Payload } from './webhooks.ts';

const inputs: EventInputs = {
  taskLabel: 'ralph',
  command: '',
  branchPrefix: 'ralph/',
  answers: { reviews: true, checks: true },
  ownWorkflow: '.github/workflows/ralph.yml',
};
const read = (name: string, payload: unknown, change: Partial<EventInputs> = {}): Intent | DismissedEvent =>
  intentOf({ name, payload }, { ...inputs, ...change });

const COMMIT = 'ec26c3e57ca3a959ca5aad62de7213c562f8c821';
const OWN = `\n${OWN_COMMENT_MARKER}answer thread-1 -->\nDone.`;

/** The fields that turn an example into one about Ralph's pull request, by event. */
const ours: Readonly<Record<string, Payload>> = {
  pull_request_review: { 'pull_request.head.ref': 'ralph/queue' },
  pull_request_review_comment: { 'pull_request.head.ref': 'ralph/queue', 'comment.in_reply_to_id': 7 },
  check_suite: { 'check_suite.head_branch': 'ralph/issue-7', 'check_suite.conclusion': 'failure' },
  workflow_run: {
    'workflow_run.head_branch': 'ralph/issue-7',
    'workflow_run.conclusion': 'failure',
    'workflow_run.head_repository.id': 300029405,
    'repository.id': 300029405,
  },
  status: { state: 'failure', branches: [{ name: 'main' }, { name: 'ralph/queue' }] },
};

const reviewed = { kind: 'answer', about: 'review', pullRequest: { branch: 'ralph/queue' }, actor: { kind: 'user' } };
const checked = { kind: 'answer', about: 'check', actor: null };
const notForUs = (why: string): object => ({ kind: 'not-for-us', why: expect.stringContaining(why) });
const fork = { full_name: 'stranger/Hello-World' };

type Row = readonly [string, string | null, Payload, object];

describe("GitHub's own examples, as they are of Ralph's pull request", () => {
  test.each<Row>([
    ['pull_request_review', 'submitted', {}, { ...reviewed, pullRequest: { number: 2, head: COMMIT } }],
    ['pull_request_review', 'submitted', { 'review.state': 'changes_requested' }, reviewed],
    ['pull_request_review', 'submitted', { 'review.body': null }, reviewed],
    ['pull_request_review', 'submitted', { action: 'edited', changes: {} }, reviewed],
    ['pull_request_review', 'submitted', { 'sender.type': 'Bot' }, { ...reviewed, actor: { kind: 'bot' } }],
    ['pull_request_review', 'submitted', { 'review.state': 'approved' }, notForUs('approval')],
    ['pull_request_review', 'submitted', { 'review.state': 'APPROVED', 'review.body': 'Fix it' }, notForUs('approval')],
    ['pull_request_review', 'submitted', { 'review.body': OWN }, notForUs("Ralph's own")],
    ['pull_request_review', 'submitted', { 'pull_request.state': 'closed' }, notForUs('is closed')],
    ['pull_request_review', 'submitted', { 'pull_request.head.ref': 'changes' }, notForUs("not one of Ralph's")],
    ['pull_request_review', 'submitted', { 'pull_request.head.repo': fork }, { kind: 'refused' }],
    ['pull_request_review', 'submitted', { 'pull_request.head.repo': null }, { kind: 'refused' }],
    ['pull_request_review', 'dismissed', {}, notForUs('dismissed')],
    ['pull_request_review_comment', 'created', {}, reviewed],
    ['pull_request_review_comment', 'created', { 'comment.in_reply_to_id': undefined }, notForUs('part of a review')],
    ['pull_request_review_comment', 'created', { 'comment.body': OWN }, notForUs("Ralph's own")],
    ['pull_request_review_comment', 'created', { 'pull_request.head.repo': fork }, { kind: 'refused' }],
    ['pull_request_review_comment', 'edited', {}, reviewed],
    ['pull_request_review_comment', 'edited', { 'comment.in_reply_to_id': undefined }, reviewed],
    ['pull_request_review_comment', 'edited', { 'pull_request.state': 'closed' }, notForUs('is closed')],
    ['pull_request_review_comment', 'deleted', {}, notForUs('deleted')],
    ['check_suite', 'completed', {}, { ...checked, pullRequest: { branch: 'ralph/issue-7' } }],
    ['check_suite', 'completed', { 'check_suite.conclusion': 'timed_out' }, checked],
    ['check_suite', 'completed', { 'check_suite.conclusion': 'startup_failure' }, checked],
    ['check_suite', 'completed', { 'check_suite.conclusion': 'success' }, notForUs('did not fail')],
    ['check_suite', 'completed', { 'check_suite.conclusion': 'cancelled' }, notForUs('did not fail')],
    ['check_suite', 'completed', { 'check_suite.conclusion': 'action_required' }, notForUs('did not fail')],
    ['check_suite', 'completed', { 'check_suite.conclusion': null }, notForUs('did not fail')],
    ['check_suite', 'completed', { 'check_suite.head_branch': 'main' }, notForUs("not on one of Ralph's branches")],
    ['check_suite', 'completed', { 'check_suite.head_branch': null }, notForUs("not on one of Ralph's branches")],
    ['workflow_run', 'completed', {}, { ...checked, pullRequest: { branch: 'ralph/issue-7', number: null } }],
    ['workflow_run', 'completed', { 'workflow_run.conclusion': 'success' }, notForUs('did not fail')],
    ['workflow_run', 'completed', { 'workflow_run.head_branch': 'main' }, notForUs("not on one of Ralph's branches")],
    ['workflow_run', 'completed', { 'workflow_run.path': '.github/workflows/ralph.yml' }, notForUs("Ralph's own")],
    ['workflow_run', 'completed', { 'workflow_run.path': '.github/workflows/ralph.yml@x' }, notForUs("Ralph's own")],
    ['workflow_run', 'completed', { 'workflow.path': '.github/workflows/ralph.yml' }, notForUs("Ralph's own")],
    // Anyone can choose a workflow's name, so it must not hide a failure.
    ['workflow_run', 'completed', { 'workflow_run.name': 'ralph', 'workflow.name': 'ralph' }, checked],
    ['workflow_run', 'completed', { 'workflow_run.head_repository.id': 1 }, notForUs('belongs to a fork')],
    ['workflow_run', 'completed', { 'workflow_run.head_repository': null }, notForUs('belongs to a fork')],
    ['status', null, {}, { ...checked, pullRequest: { branch: 'ralph/queue', number: null } }],
    ['status', null, { state: 'error' }, checked],
    ['status', null, { state: 'pending' }, notForUs('did not fail')],
    ['status', null, { state: 'success' }, notForUs('did not fail')],
    ['status', null, { branches: [{ name: 'main' }] }, notForUs("not on one of Ralph's branches")],
    ['status', null, { branches: [] }, notForUs("not on one of Ralph's branches")],
  ])('%s %s with %j', (name, action, values, expected) => {
    const found = examplesOf(name, action);
    expect(found.length).toBeGreaterThan(0);
    for (const payload of found)
      expect(read(name, changed(payload, { ...ours[name], ...values }))).toMatchObject(expected);
  });

  test.each(['pull_request_review', 'pull_request_review_comment', 'check_suite', 'workflow_run', 'status'])(
    '%s is not answered where its input says so',
    (name) => {
      const [payload = {}] = examplesOf(name, name === 'status' ? null : 'submitted').concat(
        examplesOf(name, 'completed'),
        examplesOf(name, 'created'),
      );
      const isReview = name.startsWith('pull_request');
      const answers = { reviews: !isReview, checks: isReview };
      const made = changed(payload, ours[name] ?? {});
      expect(read(name, made)).toMatchObject({ kind: 'answer' });
      expect(read(name, made, { answers })).toEqual(notForUs(isReview ? '`answer-reviews`' : '`answer-checks`'));
    },
  );

  test('a suite names the pull request of this repository, and no other', () => {
    const [payload = {}] = examplesOf('check_suite', 'completed');
    const home = (payload.repository as { readonly id: number }).id;
    const pull = (number: number, ref: string, id: number): object => ({ number, head: { ref, repo: { id } } });
    const at = (...pulls: readonly object[]): Intent | DismissedEvent =>
      read('check_suite', changed(payload, { ...ours.check_suite, 'check_suite.pull_requests': pulls }));
    expect(at(pull(3, 'ralph/issue-7', home))).toMatchObject({ pullRequest: { number: 3 } });
    expect(at(pull(4, 'ralph/issue-7', home + 1), pull(5, 'main', home))).toMatchObject({
      pullRequest: { number: null },
    });
  });

  test.each<Row>([
    ['pull_request_review', 'submitted', { 'review.body': 'x'.repeat(300_000) }, {}],
    ['pull_request_review', 'submitted', { 'pull_request.number': '2' }, {}],
    ['pull_request_review', 'submitted', { 'pull_request.head.sha': 'main' }, {}],
    ['pull_request_review', 'submitted', { sender: null }, {}],
    ['pull_request_review_comment', 'created', { comment: null }, {}],
    ['check_suite', 'completed', { 'check_suite.head_branch': 'x'.repeat(2000) }, {}],
    ['workflow_run', 'completed', { repository: {} }, {}],
    ['status', null, { branches: 'ralph/queue' }, {}],
    ['status', null, { sha: 7 }, {}],
  ])('%s %s whose payload is not what GitHub documents is an error', (name, action, values) => {
    const [payload = {}] = examplesOf(name, action);
    expect(() => read(name, changed(payload, { ...ours[name], ...values }))).toThrow('Check GITHUB_EVENT_PATH');
  });
});
