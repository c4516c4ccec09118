import { expect, test } from 'vitest';
import { noChange } from '../../../../src/core/lane/change.ts';
import { createInitialState, type LaneState } from '../../../../src/core/lane/state/state.ts';
import { explainNotArmed } from '../../../../src/core/train/train.ts';

const HEAD = 'a'.repeat(40);
const begun = createInitialState('issue-1', 0);
const verified = { commit: HEAD, commands: '01', kind: 'passed', command: null, exitCode: 0 } as const;

/** A lane that may be armed. */
const ready: LaneState = {
  ...begun,
  lastRun: { outcome: 'complete', reason: 'plan_complete', at: 0, published: { head: HEAD, pullRequest: null } },
  headVerification: verified,
  change: { ...noChange, lookAt: ['notes'] },
};
const overtaken = { approvedBy: [], autoMerge: true, queued: false, at: 0, wasApproved: true };
const pull = { number: 1, head: HEAD, needsReview: false, isReviewRequested: false };

test('a complete, verified pull request without a kind that prevents it is armed', () => {
  expect(explainNotArmed(ready, pull, ['dependencies'])).toBeNull();
  expect(explainNotArmed({ ...ready, change: { ...noChange, lookAt: [] } }, pull, ['notes'])).toBeNull();
  expect(explainNotArmed({ ...ready, feedback: { ...begun.feedback, overtaken } }, pull, [])).toBeNull();
  // Nobody had approved the head whose auto-merge was switched off.
  const alone = { ...ready, feedback: { ...begun.feedback, overtaken: { ...overtaken, wasApproved: false } } };
  expect(explainNotArmed(alone, { ...pull, needsReview: true, isReviewRequested: true }, [])).toBeNull();
});

test.each<[string, LaneState | null, Partial<typeof pull>]>([
  ['unknown', null, {}],
  ['incomplete', { ...ready, lastRun: null }, {}],
  ['incomplete', { ...ready, lastRun: { outcome: 'limit', reason: 'iterations', at: 0, published: null } }, {}],
  ['person', ready, { head: 'b'.repeat(40) }],
  ['unverified', { ...ready, headVerification: null }, {}],
  ['unverified', { ...ready, headVerification: { ...verified, kind: 'failed' } }, {}],
  ['unverified', { ...ready, headVerification: { ...verified, commit: 'c' } }, {}],
  ['review-again', { ...ready, feedback: { ...begun.feedback, overtaken } }, { needsReview: true }],
  ['review-again', { ...ready, feedback: { ...begun.feedback, overtaken } }, { isReviewRequested: true }],
  [
    'review-again',
    { ...ready, feedback: { ...begun.feedback, overtaken: { ...overtaken, wasApproved: undefined } } },
    { needsReview: true },
  ],
  ['look-at', { ...ready, change: noChange }, {}],
  ['look-at', { ...ready, change: { ...noChange, lookAt: ['dependencies', 'notes'] } }, {}],
])('none is that is %s', (kind, state, change) => {
  expect(explainNotArmed(state, { ...pull, ...change }, ['dependencies'])).toMatchObject({ number: 1, kind });
});
