import { describe, expect, test } from 'vitest';
import {
  beginMaking,
  listGrants,
  keepProposal,
  findProposal,
  type ProposalRecord,
  recordMaking,
  listSplitIssues,
} from '../../../../src/core/snapshot/proposals.ts';
import { emptySnapshot, type Snapshot } from '../../../../src/core/snapshot/snapshot.ts';
import { MINUTE, noon } from '../core-fixtures.ts';

const by = { login: 'ann', id: 3, kind: 'user' } as const;
const proposed = (change: Partial<ProposalRecord> = {}): ProposalRecord => ({
  ...{ version: 1, issue: 7, text: 'text', hash: 'hash', comment: 'comment', at: noon },
  tasks: [
    { title: 'Prices', body: 'Part of #7.', dependsOn: [], ceilingUsd: 2 },
    { title: 'Cart', body: 'Part of #7.', dependsOn: [1], ceilingUsd: 1.5 },
  ],
  ...{ approved: null, maker: null, made: [], isComplete: false },
  ...change,
});
const made = [
  { position: 1, number: 12, id: 112, text: 'one' },
  { position: 2, number: 13, id: 113, text: 'two' },
];
const kept = (...records: readonly ProposalRecord[]): Snapshot =>
  records.reduce((snapshot, record) => keepProposal(record)(snapshot).snapshot, emptySnapshot);
const making = (runTag: string, now: number, hash = 'hash') =>
  beginMaking({ issue: 7, hash, approved: { by, at: noon }, runTag, now });

describe('a proposal', () => {
  test('is kept in place of an earlier one', () => {
    expect(findProposal(kept(proposed(), proposed({ hash: 'newer' })), 7)).toEqual(proposed({ hash: 'newer' }));
  });

  test('never replaces an approved one', () => {
    const { snapshot } = making('run-1', noon)(kept(proposed()));
    const { answer, snapshot: after } = keepProposal(proposed({ hash: 'newer' }))(snapshot);
    expect([answer, after]).toEqual([false, snapshot]);
  });

  test('of an issue that people approved outlives newer ones that nobody approved', () => {
    const first = making('run-1', noon)(kept(proposed({ at: 1 }))).snapshot;
    const all = Array.from({ length: 60 }, (_, at) => proposed({ issue: 100 + at, at: noon + at }));
    const after = all.reduce((snapshot, record) => keepProposal(record)(snapshot).snapshot, first);
    expect([after.size, after.has('proposals/7.json'), after.has('proposals/100.json')]).toEqual([50, true, false]);
  });

  test('is kept where many are approved', () => {
    const approved = { approved: { by, at: noon } };
    const all = Array.from({ length: 50 }, (_, at) => proposed({ issue: 100 + at, at: noon + at, ...approved }));
    const full = kept(...all);
    const { answer, snapshot } = keepProposal(proposed({ at: noon }))(full);
    expect([full.size, answer, findProposal(snapshot, 7)]).toEqual([50, true, proposed({ at: noon })]);
    expect([snapshot.size, snapshot.has('proposals/100.json')]).toEqual([50, false]);
  });

  test.each([
    ['of another issue', 'proposals/8.json', JSON.stringify(proposed())],
    ['of a newer version', 'proposals/7.json', JSON.stringify({ ...proposed(), version: 2 })],
    ['that cannot be read', 'proposals/7.json', '{'],
  ])('%s is not used', (_what, path, text) => {
    const snapshot = new Map([[path, text]]);
    expect([findProposal(snapshot, 7), findProposal(snapshot, 8), listSplitIssues(snapshot).size]).toEqual([
      null,
      null,
      0,
    ]);
  });
});

describe('making its sub-issues', () => {
  const begun = making('run-1', noon)(kept(proposed())).snapshot;

  test.each([
    ['the same run', 'run-1', noon + MINUTE, 'begun'],
    ['another run', 'run-2', noon + MINUTE, 'busy'],
    ['another run, once the first must be dead', 'run-2', noon + 11 * MINUTE, 'begun'],
    ['another run, whose clock is far behind', 'run-2', noon - 60 * MINUTE, 'begun'],
  ])('%s: %s at %i is %s', (_what, runTag, now, kind) => {
    expect(making(runTag, now)(begun).answer.kind).toBe(kind);
  });

  test('of another proposal than the one that was read is refused', () => {
    expect(making('run-1', noon, 'other')(kept(proposed())).answer).toEqual({ kind: 'replaced' });
  });

  test('keeps the first approval', () => {
    const again = beginMaking({
      ...{ issue: 7, hash: 'hash', runTag: 'run-2', now: noon + 11 * MINUTE },
      approved: { by: { ...by, login: 'bob' }, at: noon + MINUTE },
    })(begun);
    expect(findProposal(again.snapshot, 7)?.approved).toEqual({ by, at: noon });
  });

  test('grants what is made, which has no label yet', () => {
    expect(listGrants(begun).size).toBe(0);
    const half = recordMaking({ issue: 7, runTag: 'run-1' }, { made, isComplete: false, isOver: true })(begun);
    expect([half.answer, listGrants(half.snapshot).size]).toEqual([true, 2]);
    expect(listSplitIssues(half.snapshot)).toEqual(new Map([[7, [12, 13]]]));
  });

  test('grants each sub-issue its text and its ceiling', () => {
    const { snapshot } = recordMaking({ issue: 7, runTag: 'run-1' }, { made, isComplete: true, isOver: true })(begun);
    expect(listGrants(snapshot)).toEqual(
      new Map([
        [12, { by, at: noon, text: 'one', ceilingUsd: 2 }],
        [13, { by, at: noon, text: 'two', ceilingUsd: 1.5 }],
      ]),
    );
  });

  test('is recorded only by the run that makes them', () => {
    const change = recordMaking({ issue: 7, runTag: 'run-2' }, { made, isComplete: true, isOver: true });
    expect(change(begun)).toMatchObject({ answer: false, snapshot: begun });
  });
});
