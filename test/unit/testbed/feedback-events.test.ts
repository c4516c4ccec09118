import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { feedbackEvents } from '../../../testbed/feedback-events.ts';
import { addCheck, addStatus } from '../../../testbed/github/feedback/checks.ts';
import { answerThread, submitReview } from '../../../testbed/github/feedback/reviews.ts';
import { createState, createStoredId, createStoredIssue } from '../../../testbed/github/state.ts';
import type { Testbed } from '../../../testbed/testbed.ts';
import { readEvent } from '../../../testbed/workflow/event.ts';
import { intentOf } from '../gate/webhooks.ts';

const now = Date.parse('2026-11-21T12:00:00Z');
const HEAD = 'b'.repeat(40);
const examples = JSON.parse(
  readFileSync(fileURLToPath(import.meta.resolve('@octokit/webhooks-examples')), 'utf8'),
) as readonly { readonly name: string; readonly examples: readonly unknown[] }[];

/** Returns an event of each kind about pull request #1 of ralph/queue. */
function eventsOf(): Readonly<Record<string, { readonly name: string; readonly payload: Record<string, unknown> }>> {
  const state = createState({ owner: 'octo', name: 'sample', defaultBranch: 'main' }, now);
  createStoredIssue(state, { title: 'Work', body: '', author: { login: 'github-actions[bot]', type: 'Bot' } }, now);
  state.pulls.push({
    ...{
      id: createStoredId(state),
      number: 1,
      head: 'ralph/queue',
      fork: null,
      maintainerCanModify: false,
      base: 'main',
    },
    ...{ draft: true, headSha: HEAD, baseSha: 'a'.repeat(40), mergedAt: null, reviewers: [] },
  });
  const comments = [{ path: 'a.ts', line: 3, body: 'Why?' }];
  const { review, threads } = submitReview(state, { pull: 1, by: 'octo', state: 'CHANGES_REQUESTED', comments }, now);
  const [thread] = threads;
  if (thread === undefined) throw new Error('A review without threads.');
  const comment = answerThread(state, thread, { by: 'octo', body: 'Well?', now });
  addCheck(state, { head: HEAD, name: 'test', conclusion: 'FAILURE' }, now);
  const [suite] = state.suites;
  if (suite === undefined) throw new Error('A check without a suite.');
  const status = addStatus(state, { head: HEAD, context: 'ci/old', state: 'FAILURE' }, now);
  return {
    review: feedbackEvents.reviewed(state, review),
    'review comment': feedbackEvents.reviewComment(state, { thread, comment }),
    'check suite': feedbackEvents.checkSuite(state, suite),
    'workflow run': feedbackEvents.workflowRun(state, suite),
    status: feedbackEvents.status(state, status),
  };
}

/** Fields that GitHub has added since its examples were published. */
const NEWER = [
  'comment.in_reply_to_id',
  'comment.line',
  'comment.side',
  'comment.start_line',
  'pull_request.draft',
  'workflow_run.path',
];

describe('an event about', () => {
  test.each(Object.entries(eventsOf()))('a %s is one that is answered', (_what, event) => {
    const intent = intentOf(event, {
      ...{ taskLabel: 'ralph', command: '', branchPrefix: 'ralph/', ownWorkflow: '.github/workflows/ralph.yml' },
      answers: { reviews: true, checks: true },
    });
    expect(intent).toMatchObject({ kind: 'answer', pullRequest: { branch: 'ralph/queue' } });
  });

  test.each(Object.entries(eventsOf()))('a %s has nothing that GitHub does not send', (_what, { name, payload }) => {
    const known = new Set(
      examples.filter((one) => one.name === name).flatMap((one) => one.examples.flatMap((example) => pathsOf(example))),
    );
    expect(known.size).toBeGreaterThan(20);
    expect(pathsOf(payload).filter((path) => !known.has(path) && !NEWER.includes(path))).toEqual([]);
  });

  test.each(Object.entries(eventsOf()))('a %s is one that the action answers', (_what, event) => {
    const inputs = { taskLabel: 'ralph', command: '', branchPrefix: 'ralph/', ownWorkflow: null };
    expect(intentOf(event, { ...inputs, answers: { reviews: true, checks: true } })).toMatchObject({
      kind: 'answer',
      pullRequest: { branch: 'ralph/queue', head: HEAD },
    });
  });

  test.each([
    ['review', 'refs/pull/1/merge'],
    ['review comment', 'refs/pull/1/merge'],
    ['check suite', 'refs/heads/main'],
    ['workflow run', 'refs/heads/main'],
    ['status', 'refs/heads/main'],
  ])('a %s runs on %s, and cannot write to the cache', async (what, ref) => {
    const happening = readEvent(eventsOf()[what] ?? { name: '', payload: {} });
    const testbed = { git: (...args: string[]) => Promise.resolve(args[0] ?? '') } as unknown as Testbed;
    expect(await happening.source(testbed)).toMatchObject({ ref });
    expect(happening.mayWriteToCache).toBe(false);
  });

  test('a check names the pull requests whose head it is', () => {
    const { 'workflow run': run, 'check suite': suite } = eventsOf();
    const pull = { number: 1, head: { ref: 'ralph/queue', sha: HEAD }, base: { ref: 'main' } };
    expect(run?.payload).toMatchObject({ workflow_run: { head_sha: HEAD, name: 'CI', pull_requests: [pull] } });
    expect(suite?.payload).toMatchObject({ check_suite: { conclusion: 'failure', pull_requests: [pull] } });
  });
});

/** Returns the path `a.b` of each field; all entries of a list share their paths. */
function pathsOf(value: unknown, above = ''): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((entry) => pathsOf(entry, above));
  if (typeof value !== 'object' || value === null) return above === '' ? [] : [above];
  return Object.entries(value).flatMap(([name, inner]) => {
    const path = above === '' ? name : `${above}.${name}`;
    return [path, ...pathsOf(inner, path)];
  });
}
