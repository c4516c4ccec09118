import { describe, expect, test } from 'vitest';
import { submitReview } from '../../../../testbed/github/feedback/reviews.ts';
import { addCheck } from '../../../../testbed/github/feedback/checks.ts';
import { armAutoMerge, disarmAutoMerge, enqueue } from '../../../../testbed/github/people.ts';
import { closePull, createStoredId, createStoredIssue } from '../../../../testbed/github/state.ts';
import type { TokenIdentity } from '../../../../testbed/github/route.ts';
import { type ForgeFixture, now, openForge, refusedWith } from '../github-fixture.ts';

const HEAD = 'b'.repeat(40);
const BASE = 'a'.repeat(40);
const BRANCH = 'ralph/queue';
const everything: TokenIdentity['permissions'] = {
  ...{ metadata: 'read', contents: 'write', pull_requests: 'write', checks: 'read', actions: 'read', statuses: 'read' },
};

describe("people's decisions on a pull request", () => {
  test('is its reviews by people with write permission, auto-merge and the merge queue, also with all that is said of it', async () => {
    await using at = await openPull();
    const { state } = at.github;
    state.collaborators.set('ben', { permission: 'write', roleName: 'write' });
    state.collaborators.set('eve', { permission: 'read', roleName: 'read' });
    for (const by of ['octo', 'ben', 'eve']) submitReview(state, { pull: 1, by, state: 'APPROVED' }, now);
    submitReview(state, { pull: 1, by: 'ben', state: 'CHANGES_REQUESTED' }, now + 1);
    armAutoMerge(state, 1, { by: 'octo', now: Date.now() });
    const standing = {
      isDraft: true,
      decision: null,
      approvedBy: ['octo'],
      changesRequestedBy: ['ben'],
      autoMerge: true,
      isQueued: false,
    };
    expect(await at.forge.headNow(BRANCH)).toMatchObject(standing);
    expect(await at.forge.pullRequestNow(BRANCH)).toMatchObject(standing);
    expect(at.sent()).toHaveLength(2);
    expect(at.github.violations).toEqual([]);
  });

  test.each([
    [[], 'review-required'],
    [['APPROVED'], 'approved'],
    [['APPROVED', 'CHANGES_REQUESTED'], 'changes-requested'],
    [['CHANGES_REQUESTED', 'APPROVED'], 'approved'],
    [['APPROVED', 'DISMISSED'], 'review-required'],
  ] as const)('is by a rule that asks for one approval, after %j: %s', async (opinions, decision) => {
    await using at = await openPull();
    at.github.state.settings.requiredApprovals = 1;
    for (const [index, state] of opinions.entries())
      submitReview(at.github.state, { pull: 1, by: 'octo', state }, now + index);
    expect((await at.forge.headNow(BRANCH))?.decision).toBe(decision);
  });

  test('is read without what an older server does not know', async () => {
    await using at = await openPull();
    at.github.state.settings.unknownFields.push('isInMergeQueue', 'autoMergeRequest');
    submitReview(at.github.state, { pull: 1, by: 'octo', state: 'APPROVED' }, now);
    const standing = { approvedBy: ['octo'], autoMerge: false, isQueued: false };
    expect(await at.forge.headNow(BRANCH)).toMatchObject(standing);
    expect(await at.forge.pullRequestNow(BRANCH)).toMatchObject({ ...standing, number: 1 });
  });

  test('is null where the branch has no pull request', async () => {
    await using at = await openPull();
    expect(await at.forge.headNow('main')).toBeNull();
  });
});

describe('freeing a head', () => {
  test('takes it out of the queue, makes it a draft and switches auto-merge off', async () => {
    await using at = await openPull();
    const { state } = at.github;
    const [pull] = state.pulls;
    if (pull === undefined) throw new Error('There is no pull request.');
    pull.draft = false;
    armAutoMerge(state, 1, { by: 'octo', now: Date.now() });
    enqueue(state, 1);
    const standing = await at.forge.headNow(BRANCH);
    if (standing === null) throw new Error('It was not found.');
    await at.forge.withdrawFromMerging(1, standing);
    expect(pull.draft).toBe(true);
    expect([state.autoMerge.size, state.mergeQueue.size]).toEqual([0, 0]);
    expect(at.sent()).toHaveLength(4);
    await at.forge.markReady(1);
    expect(pull.draft).toBe(false);
    await at.forge.makeDraft(1);
    expect(pull.draft).toBe(true);
    expect(at.github.violations).toEqual([]);
  });

  test('leaves it ready where auto-merge may not be switched off', async () => {
    await using at = await openPull({ ...everything, contents: 'read' });
    const [pull] = at.github.state.pulls;
    if (pull === undefined) throw new Error('There is no pull request.');
    pull.draft = false;
    armAutoMerge(at.github.state, 1, { by: 'octo', now: Date.now() });
    const standing = await at.forge.headNow(BRANCH);
    if (standing === null) throw new Error('It was not found.');
    const error = await refusedWith(at.forge.withdrawFromMerging(1, standing));
    expect(error.message).toMatch(
      /^GitHub did not let us switch off auto-merge of pull request #1 .*`contents: write`/,
    );
    expect([pull.draft, at.github.state.autoMerge.size]).toEqual([false, 1]);
  });

  test('is refused where the repository has no drafts', async () => {
    await using at = await openPull();
    const [pull] = at.github.state.pulls;
    if (pull === undefined) throw new Error('There is no pull request.');
    pull.draft = false;
    at.github.state.settings.draftsSupported = false;
    submitReview(at.github.state, { pull: 1, by: 'octo', state: 'APPROVED' }, now);
    const standing = await at.forge.headNow(BRANCH);
    if (standing === null) throw new Error('It was not found.');
    expect((await refusedWith(at.forge.withdrawFromMerging(1, standing))).message).toContain(
      'Draft pull requests are not supported',
    );
  });
});

describe('the open pull requests', () => {
  test('of our branches come with one request, and with a second one while GitHub computes whether one can be merged', async () => {
    await using at = await openPull();
    const { state } = at.github;
    addPull(at, { number: 2, head: 'ralph/issue-2' });
    addPull(at, { number: 3, head: 'feature/x' });
    addPull(at, { number: 4, head: 'ralph/issue-4', fork: 'eve' });
    state.mergeable.set(1, 'CONFLICTING').set(2, 'UNKNOWN');
    addCheck(state, { head: HEAD, name: 'test', conclusion: 'FAILURE' }, now);
    const { open: found } = await at.forge.waitingPullRequests('ralph/');
    expect(found.toSorted((one, other) => one.number - other.number)).toEqual([
      {
        ...{ number: 1, branch: BRANCH, head: HEAD, base: BASE, baseBranch: 'main', mergeable: 'conflicting' },
        ...{ checks: 'failed', isDraft: true, decision: null, isReviewRequested: false },
        ...{ isArmed: false, armedAt: null, isBehind: false, mustBeCurrent: false },
        createdAt: expect.any(Number),
      },
      expect.objectContaining({ number: 2, branch: 'ralph/issue-2', mergeable: 'unknown' }),
    ]);
    // GitHub computes whether something can be merged only once it is asked.
    expect(at.sent()).toHaveLength(2);
    expect(at.github.violations).toEqual([]);
    state.mergeable.delete(2);
    await at.forge.waitingPullRequests('ralph/');
    expect(at.sent()).toHaveLength(3);
  });

  test('come with what their order needs: reviews, drafts, and whether a rule wants them up to date', async () => {
    await using at = await openPull();
    const { state } = at.github;
    addPull(at, { number: 2, head: 'ralph/issue-2' });
    for (const pull of state.pulls) pull.draft = pull.number === 2;
    state.settings.requiredApprovals = 1;
    state.settings.mustBeCurrent = true;
    state.behind.add(1);
    submitReview(state, { pull: 2, by: 'octo', state: 'CHANGES_REQUESTED' }, now);
    const { open: found } = await at.forge.waitingPullRequests('ralph/');
    expect(found.toSorted((one, other) => one.number - other.number)).toMatchObject([
      { isDraft: false, decision: 'review-required', isBehind: true, mustBeCurrent: true },
      { isDraft: true, decision: 'changes-requested', isBehind: false, mustBeCurrent: true },
    ]);
    expect(at.sent()).toHaveLength(1);
    expect(at.github.violations).toEqual([]);
  });

  test('come without the rules from a server that does not know them', async () => {
    await using at = await openPull();
    at.github.state.settings.mustBeCurrent = true;
    at.github.state.settings.unknownFields.push('rules', 'mergeStateStatus');
    expect((await at.forge.waitingPullRequests('ralph/')).open).toMatchObject([
      { isBehind: false, mustBeCurrent: false },
    ]);
    expect(at.sent()).toHaveLength(2);
  });

  test('come with those that ended, and with those that revert any, in the same request', async () => {
    await using at = await openPull();
    const { state } = at.github;
    addPull(at, { number: 2, head: 'ralph/issue-2' });
    addPull(at, { number: 3, head: 'ralph/issue-3' });
    addPull(at, { number: 4, head: 'revert-3-ralph/issue-3' });
    addPull(at, { number: 5, head: 'feature/x' });
    addPull(at, { number: 6, head: 'ralph/issue-6', fork: 'eve' });
    closePull(state, 2, { kind: 'closed', at: now + 1000 });
    for (const number of [3, 4, 5, 6]) closePull(state, number, { kind: 'merged', at: now + number * 1000 });
    const { open, closed } = await at.forge.waitingPullRequests('ralph/');
    expect(open.map(({ number }) => number)).toEqual([1]);
    expect(closed).toEqual([
      expect.objectContaining({ number: 4, branch: 'revert-3-ralph/issue-3', kind: 'merged' }),
      {
        ...{ number: 3, branch: 'ralph/issue-3', kind: 'merged', at: now + 3000, head: '3'.padStart(40, '0') },
        ...{
          commit: '3'.padStart(40, '0'),
          commits: [{ id: '3'.padStart(40, '0'), message: 'A commit', email: 'ann@example.com' }],
        },
      },
      expect.objectContaining({ number: 2, kind: 'closed', commit: null, at: now + 1000 }),
    ]);
    expect(at.sent()).toHaveLength(1);
    expect(at.github.violations).toEqual([]);
  });

  test('that ended long ago are asked for by number', async () => {
    await using at = await openPull();
    addPull(at, { number: 2, head: 'ralph/issue-2' });
    closePull(at.github.state, 2, { kind: 'merged', at: now });
    expect(await at.forge.closedAmong([1, 2])).toMatchObject([{ number: 2, kind: 'merged', at: now }]);
    expect(at.sent()).toHaveLength(1);
    expect(at.github.violations).toEqual([]);
  });

  test('of a large repository come in pages of 50', async () => {
    await using at = await openPull();
    for (let number = 2; number <= 120; number += 1) addPull(at, { number, head: `ralph/issue-${String(number)}` });
    expect((await at.forge.waitingPullRequests('ralph/')).open).toHaveLength(120);
    expect(at.sent()).toHaveLength(3);
  });

  test('are listed without their checks, where the token may not read those', async () => {
    const permissions = { metadata: 'read', contents: 'read', pull_requests: 'read' } as const;
    await using at = await openPull(permissions);
    at.github.state.mergeable.set(1, 'CONFLICTING');
    expect((await at.forge.waitingPullRequests('ralph/')).open).toMatchObject([
      { mergeable: 'conflicting', checks: 'unknown' },
    ]);
  });
});

test('whether it can be merged is asked once more while GitHub works it out', async () => {
  await using at = await openPull();
  at.github.state.mergeable.set(1, 'UNKNOWN');
  expect((await at.forge.pullRequestNow(BRANCH))?.mergeable).toBe('unknown');
  expect(at.sent()).toHaveLength(2);
  const answers = ['UNKNOWN', 'CONFLICTING'] as const;
  at.github.state.mergeable.get = () => answers[at.sent().length === 3 ? 0 : 1];
  expect((await at.forge.pullRequestNow(BRANCH))?.mergeable).toBe('conflicting');
});

describe('auto-merge', () => {
  test('is armed for the commit that was verified, in the way that the repository merges', async () => {
    await using at = await openPull();
    at.github.state.settings.requiredApprovals = 1;
    expect(await at.forge.armAutoMerge(BRANCH, HEAD)).toEqual({ kind: 'armed', detail: '' });
    expect(at.github.state.autoMerge.has(1)).toBe(true);
    expect((await at.forge.waitingPullRequests('ralph/')).open).toMatchObject([{ isArmed: true }]);
    expect(at.sent()).toHaveLength(3);
    // It is on already, so nothing is sent but the look.
    expect(await at.forge.armAutoMerge(BRANCH, HEAD)).toEqual({ kind: 'armed', detail: '' });
    expect(at.sent()).toHaveLength(4);
    expect(at.github.violations).toEqual([]);
  });

  test('is not armed again once somebody else has switched it off, until somebody switches it on', async () => {
    await using at = await openPull();
    const { state } = at.github;
    state.settings.requiredApprovals = 1;
    await at.forge.armAutoMerge(BRANCH, HEAD);
    expect(await at.forge.disarmAutoMerge(BRANCH)).toBe(true);
    expect(await at.forge.armAutoMerge(BRANCH, HEAD)).toEqual({ kind: 'armed', detail: '' });
    disarmAutoMerge(state, 1, { by: 'octo', now: Date.now() });
    expect(await at.forge.armAutoMerge(BRANCH, HEAD)).toEqual({ kind: 'switched-off', detail: '' });
    expect(state.autoMerge.size).toBe(0);
    armAutoMerge(state, 1, { by: 'octo', now: Date.now() });
    expect(await at.forge.armAutoMerge(BRANCH, HEAD)).toEqual({ kind: 'armed', detail: '' });
    expect(at.github.violations).toEqual([]);
  });

  test.each([
    ['at-once', 'could be merged at once', () => undefined],
    [
      'at-once',
      'could be merged at once, unstable',
      (at: ForgeFixture) => (at.github.state.settings.mergeableWord = 'unstable'),
    ],
    [
      'at-once',
      'could be merged at once, with hooks',
      (at: ForgeFixture) => (at.github.state.settings.mergeableWord = 'has_hooks'),
    ],
    [
      'not-allowed',
      'the repository does not allow',
      (at: ForgeFixture) => (at.github.state.settings.autoMergeAllowed = false),
    ],
  ])('is not armed (%s) where it %s, and nothing is merged', async (kind, _, change) => {
    await using at = await openPull();
    change(at);
    expect(await at.forge.armAutoMerge(BRANCH, HEAD)).toMatchObject({ kind });
    const { state } = at.github;
    expect([state.autoMerge.size, state.pulls[0]?.mergedAt]).toEqual([0, null]);
  });

  test.each([
    ['another commit is the head', BRANCH, 'c'.repeat(40)],
    ['the branch has no pull request', 'ralph/issue-9', HEAD],
  ])('is not armed where %s', async (_, branch, head) => {
    await using at = await openPull();
    at.github.state.settings.requiredApprovals = 1;
    expect((await refusedWith(at.forge.armAutoMerge(branch, head))).message).toContain('no longer at the commit');
    expect(at.github.state.autoMerge.size).toBe(0);
  });

  test('is switched off if this account has switched it on', async () => {
    await using at = await openPull();
    at.github.state.settings.requiredApprovals = 1;
    await at.forge.armAutoMerge(BRANCH, HEAD);
    expect(await at.forge.disarmAutoMerge(BRANCH)).toBe(true);
    expect(at.github.state.autoMerge.size).toBe(0);
    expect(await at.forge.disarmAutoMerge(BRANCH)).toBe(false);
    expect(at.github.violations).toEqual([]);
  });

  test('stays on if a person has switched it on', async () => {
    await using at = await openPull();
    armAutoMerge(at.github.state, 1, { by: 'octo', now: Date.now() });
    expect(await at.forge.disarmAutoMerge(BRANCH)).toBe(false);
    expect(at.github.state.autoMerge.size).toBe(1);
  });

  test('takes the permissions that the message names', async () => {
    const permissions = { metadata: 'read', contents: 'read', pull_requests: 'write' } as const;
    await using at = await openPull(permissions);
    expect((await refusedWith(at.forge.armAutoMerge(BRANCH, HEAD))).message).toContain('`contents: write`');
  });
});

describe('descriptions of several pull requests', () => {
  const written = ({ github: { state } }: ForgeFixture): readonly string[] =>
    state.issues.toSorted((one, other) => one.number - other.number).map(({ body }) => body);

  test('are rewritten with one request to read and one to write', async () => {
    await using at = await openPull();
    addPull(at, { number: 2, head: 'ralph/issue-2' });
    const before = written(at);
    await at.forge.rewriteBodies([1, 2], (number, body) => `${body}${String(number)} "$\n{`);
    expect(written(at)).toEqual([`${before[0] ?? ''}1 "$\n{`, `${before[1] ?? ''}2 "$\n{`]);
    expect(at.sent()).toHaveLength(2);
    await at.forge.rewriteBodies([1, 2], (_, body) => body);
    expect(at.sent()).toHaveLength(3);
    expect(at.github.violations).toEqual([]);
  });

  test('stay as they are where the order makes them longer than GitHub allows', async () => {
    await using at = await openPull();
    const before = written(at);
    await at.forge.rewriteBodies([1], (_, body) => `${body}${'x'.repeat(65_537)}`);
    expect([written(at), at.sent().length]).toEqual([before, 1]);
  });

  test('stay where the token may not write them', async () => {
    const permissions = { metadata: 'read', contents: 'read', pull_requests: 'read' } as const;
    await using at = await openPull(permissions);
    expect((await refusedWith(at.forge.rewriteBodies([1], () => 'x'))).message).toContain('`pull-requests: write`');
  });
});

async function openPull(permissions: TokenIdentity['permissions'] = everything): Promise<ForgeFixture> {
  const at = await openForge({ permissions, retries: 0 });
  addPull(at, { number: 1, head: BRANCH });
  return at;
}

/** Adds a draft; one from a fork belongs to the fork's owner. */
function addPull(
  { github: { state }, branches }: ForgeFixture,
  { number, head, fork = null }: { readonly number: number; readonly head: string; readonly fork?: string | null },
): void {
  createStoredIssue(state, { title: 'Work', body: '', author: { login: 'github-actions[bot]', type: 'Bot' } }, now);
  if (fork === null) branches[head] ??= number.toString(16).padStart(40, '0');
  state.pulls.push({
    ...{ id: createStoredId(state), number, head, fork, maintainerCanModify: false, base: 'main', draft: true },
    ...{ headSha: branches[head] ?? HEAD, baseSha: BASE, mergedAt: null, reviewers: [] },
  });
}
