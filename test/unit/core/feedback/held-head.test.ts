import { describe, expect, test } from 'vitest';
import {
  findPushHold,
  combineHolds,
  type Hold,
  type ReviewState,
} from '../../../../src/core/feedback/pull-request-now.ts';
import { standing } from './feedback-fixtures.ts';

const approved: Hold = { approvedBy: ['ann'], autoMerge: false, queued: false };

describe('what holds a head', () => {
  test.each<[string, Partial<ReviewState>, Hold | null]>([
    ['nothing, while nobody decided anything', {}, null],
    ['an approval by the rules of the base branch', { decision: 'approved', approvedBy: ['ann'] }, approved],
    ['an approval where no rule asks for one', { approvedBy: ['ann'] }, approved],
    ['one approval of two that are asked for', { decision: 'review-required', approvedBy: ['ann'] }, approved],
    [
      'not an approval beside changes that a rule makes count',
      { decision: 'changes-requested', approvedBy: ['ann'], changesRequestedBy: ['ben'] },
      null,
    ],
    [
      'not an approval beside changes that somebody else wants',
      { approvedBy: ['ann'], changesRequestedBy: ['ben'] },
      null,
    ],
    ['not a wish for changes alone', { decision: 'changes-requested', changesRequestedBy: ['ann'] }, null],
    ['not a review that is still asked for', { decision: 'review-required' }, null],
    ['an approval of an app that the rules count', { decision: 'approved' }, { ...approved, approvedBy: [] }],
    ['not the approval of a draft: it is reviewed again', { isDraft: true, approvedBy: ['ann'] }, null],
    ['auto-merge', { autoMerge: true }, { approvedBy: [], autoMerge: true, queued: false }],
    [
      'auto-merge of a draft, with who approved that',
      { isDraft: true, autoMerge: true, approvedBy: ['ann'] },
      { ...approved, autoMerge: true },
    ],
    [
      'auto-merge, whatever changes are wanted',
      { autoMerge: true, decision: 'changes-requested', approvedBy: ['ann'], changesRequestedBy: ['ben'] },
      { approvedBy: [], autoMerge: true, queued: false },
    ],
    ['the merge queue', { isQueued: true, decision: 'approved', approvedBy: ['ann'] }, { ...approved, queued: true }],
  ])('%s', (_, change, expected) => {
    expect(findPushHold({ ...standing, ...change })).toEqual(expected);
  });

  test('is remembered with at most 20 approvers, each once', () => {
    const many = Array.from({ length: 30 }, (_none, at) => `person-${String(at)}`);
    const hold = findPushHold({ ...standing, approvedBy: many });
    expect(hold?.approvedBy).toHaveLength(20);
    const joined = combineHolds(hold, { approvedBy: ['person-0', 'zoe'], autoMerge: true, queued: false });
    expect(joined.approvedBy).toHaveLength(20);
    expect(joined.approvedBy.at(-1)).toBe('zoe');
    expect(joined.autoMerge).toBe(true);
  });
});
