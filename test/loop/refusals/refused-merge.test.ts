import { expect, test } from 'vitest';
import type { Behaviour } from '../stage/behaviours.ts';
import { addIssue, commented, labeled, runOnce } from '../stage/run-action.ts';
import { addCommit } from '../stage/in-memory.ts';
import type { Project } from '../stage/project.ts';
import { BRANCH, next, notices, reviewed, worker } from '../feedback/reviewing.ts';

const WORKFLOW =
  'refusing to allow a GitHub App to create or update workflow `.github/workflows/ci.yml` without `workflows` permission';

/** Changes the same file on both sides, and a workflow in the base. */
function conflicting(project: Project): void {
  const { branches, commits } = project.origin;
  for (const [branch, text] of [
    ['main', 'theirs'],
    [BRANCH, 'ours'],
  ] as const) {
    const parent = branches.get(branch) ?? '';
    const tree = { ...commits.get(parent)?.tree, 'src/shop.ts': text };
    branches.set(branch, addCommit(project.origin, { tree, parent, message: text }));
  }
  project.forge.saidOf.set(BRANCH, { mergeable: 'conflicting' });
}

test('a merge of the base that the token may not push is detected before a call: one notification says what to press, and no run makes a call until something changes', async () => {
  const project = await reviewed(worker);
  conflicting(project);
  const before = notices(project).length;
  project.remote.workflowRule = WORKFLOW;
  for (let run = 0; run < 3; run += 1) expect(await next(project)).toMatchObject({ calls: 0 });
  const own = notices(project).slice(before);
  expect(own).toHaveLength(1);
  expect(own[0]).toMatch(/Update branch.*Resolve conflicts.*workflows: write/s);
  expect(own[0]).not.toMatch(/exempt/i);
  project.remote.workflowRule = null;
  expect(own[0]).toContain('/ralph retry');
  const number = project.forge.pulls[0]?.number ?? 0;
  const again = await runOnce(project, { event: commented('/ralph retry', { issue: number, isPullRequest: true }) });
  expect(again.calls).toBeGreaterThan(0);
});

test('a merge whose commits of the base have no signature is detected as well, and named as such', async () => {
  const project = await reviewed(worker);
  conflicting(project);
  project.remote.workflowRule = 'remote: - Commits must have verified signatures.';
  const before = notices(project).length;
  expect(await next(project)).toMatchObject({ calls: 0 });
  const own = notices(project).slice(before);
  expect(own).toHaveLength(1);
  expect(own[0]).toContain('requires signed commits, and not all of these are signed');
  expect(own[0]).not.toContain('workflow');
});

/** Resolves the conflict, and works on other tasks as usual. */
const resolver: Behaviour = (call) =>
  call.task === 'conflict-base'
    ? {
        writes: { 'src/shop.ts': 'both' },
        output: { signal: { status: 'COMPLETE', exitSignal: false, tasksCompleted: 1, summary: 'Both.' } },
      }
    : worker(call);

test('a merge that a linear history forbids is detected as well: one notification, and no call', async () => {
  const project = await reviewed(worker);
  conflicting(project);
  const before = notices(project).length;
  project.remote.workflowRule = 'remote: - This branch must not contain merge commits.';
  for (let run = 0; run < 3; run += 1) expect(await next(project)).toMatchObject({ calls: 0 });
  const own = notices(project).slice(before);
  expect(own).toHaveLength(1);
  expect(own[0]).toContain('requires a linear history');
});

test('a merge whose resolution the server refuses waits for a person, whom one notification tells the words; new tasks are worked on', async () => {
  const project = await reviewed(resolver);
  conflicting(project);
  const head = project.origin.branches.get(BRANCH);
  project.remote.contentRule = (files) =>
    files['src/shop.ts'] === 'both' ? 'GH013: Push cannot contain secrets\n  path: src/shop.ts:1' : null;
  const before = notices(project).length;
  for (let run = 0; run < 2; run += 1)
    expect(await next(project)).toMatchObject({ end: 'blocked (needs_human)', calls: run === 0 ? 1 : 0 });
  expect(project.origin.branches.get(BRANCH)).toBe(head);
  expect(notices(project)).toHaveLength(before + 1);
  expect(notices(project).at(-1)).toContain('Push cannot contain secrets');
  addIssue(project.forge, 2);
  expect(await next(project, labeled(2))).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
});

test('a token that may push workflow files merges as usual', async () => {
  const project = await reviewed(resolver);
  conflicting(project);
  expect(await next(project)).toMatchObject({ calls: 1 });
});
