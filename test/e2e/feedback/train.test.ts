import { expect, test } from 'vitest';
import { addCheck } from '../../../testbed/github/feedback/checks.ts';
import { closePull } from '../../../testbed/github/state.ts';
import { events } from '../../../testbed/testbed.ts';
import type { Behaviour } from '../../../testbed/scripted-agent.ts';
import { createScene, type Scene } from '../e2e-fixture.ts';

/** Runs a shell script that finishes the task. */
const finishing = (script: string): Behaviour => ({
  kind: 'shell',
  script,
  text: 'Done.',
  status: { finishes: true, exit: false },
});

/** Opens issues that are done on their own branches; the scripts are their agents'. Returns their pull requests' branches. */
async function openTrain(scene: Scene, scripts: readonly string[]): Promise<readonly string[]> {
  const branches: string[] = [];
  for (const [index, script] of scripts.entries()) {
    const issue = scene.openIssue(`Part ${String(index + 1)}`);
    const branch = `ralph/issue-${String(issue.number)}`;
    expect(await scene.run({ event: events.labeled(issue), agent: [finishing(script)] })).toMatchObject({
      outputs: { outcome: 'complete', branch },
    });
    branches.push(branch);
  }
  return branches;
}

test('a train of three, two in conflict: the order is on all pages; behind the merged one, the rival gets the base and the other one, only behind, is left until its check fails', async () => {
  await using scene = await createScene();
  const { github, git, permissions } = scene.testbed;
  const { state } = github;
  Object.assign(permissions, { actions: 'read' });
  const [first = '', rival = '', alone = ''] = await openTrain(scene, [
    'mkdir -p src && echo one > src/shared.mjs',
    'mkdir -p src && echo two > src/shared.mjs',
    'mkdir -p src && echo three > src/alone.mjs',
  ]);
  const numberOf = (branch: string): string => `#${String(scene.pullOf(branch).number)}`;

  const look = await scene.run();
  expect(look).toMatchObject({ calls: 0, outputs: { outcome: 'idle' } });
  const next = `Merge ${numberOf(alone)} next: it conflicts with none of the others`;
  for (const branch of [first, rival, alone]) expect(scene.pullOf(branch).body).toContain(next);
  expect(look.summary).toContain(next);
  expect(look.summary).toContain(`${numberOf(rival)}: it conflicts with ${numberOf(first)}, which comes first.`);

  // A person merges another one first.
  const heads = await Promise.all([rival, alone].map((branch) => git('rev-parse', branch)));
  await git('update-ref', 'refs/heads/main', `refs/heads/${first}`);
  closePull(state, scene.pullOf(first).number, { kind: 'merged', at: Date.now() });
  const page = scene.pullOf(rival).body;
  const ownWords = 'Please look at the second line.';
  const stored = state.issues.find(({ number }) => number === scene.pullOf(rival).number);
  if (stored !== undefined) stored.body = `${page}\n\n${ownWords}`;
  const merging = await scene.run({ agent: [finishing(`printf 'one\\ntwo\\n' > src/shared.mjs`)] });
  expect(merging).toMatchObject({ calls: 1, outputs: { outcome: 'complete', branch: rival } });
  expect(await git('show', `${rival}:src/shared.mjs`)).toBe('one\ntwo');
  await git('merge-base', '--is-ancestor', 'main', rival);
  expect(await git('rev-parse', alone)).toBe(heads[1]);
  const left = `${numberOf(alone)}: it is only behind its base branch and stays so: no rule requires it to be up to date.`;
  expect(merging.summary).toContain(left);
  expect(scene.pullOf(alone).body).toContain(left);
  expect(scene.pullOf(rival).body).toContain(ownWords);

  addCheck(state, { head: heads[1] ?? '', name: 'test', conclusion: 'FAILURE', log: 'not ok 1 - alone' }, Date.now());
  const repairing = await scene.run({ agent: [finishing('echo repaired > src/alone.mjs')] });
  expect(repairing).toMatchObject({ calls: 1, outputs: { outcome: 'complete', branch: alone } });
  expect(await git('show', `${alone}:src/alone.mjs`)).toBe('repaired');
  expect(await scene.run()).toMatchObject({ calls: 0, outputs: { outcome: 'idle' } });
});

test('auto-merge is armed for the next one alone; where a rule requires it to be up to date, the base is merged without a call, and it is armed again', async () => {
  await using scene = await createScene();
  const { github, git } = scene.testbed;
  const { state } = github;
  state.settings.requiredApprovals = 1;
  const inputs = { 'auto-merge': 'dependencies', verify: 'true' };
  const issues = [scene.openIssue('One'), scene.openIssue('Two')];
  for (const [index, issue] of issues.entries()) {
    const script = `mkdir -p src && echo ${String(index)} > src/part-${String(index)}.mjs`;
    const run = await scene.run({ event: events.labeled(issue), inputs, agent: [finishing(script)] });
    expect(run).toMatchObject({ outputs: { outcome: 'complete' } });
  }
  const [first = '', second = ''] = issues.map(({ number }) => `ralph/issue-${String(number)}`);
  expect([...state.autoMerge.keys()]).toEqual([scene.pullOf(first).number]);
  expect(scene.pullOf(first).body).toContain('is on: GitHub merges it as soon as the rules of its base branch hold.');
  expect(scene.pullOf(first).body).toContain("the job's own token has armed starts no workflow");
  expect(scene.pullOf(second).body).not.toContain('Auto-merge');

  const [before, other] = await Promise.all([first, second].map((branch) => git('rev-parse', branch)));
  const tree = await git('rev-parse', 'main^{tree}');
  const later = await git('commit-tree', tree, '-p', 'main', '-m', 'By a person');
  await git('update-ref', 'refs/heads/main', later);
  state.settings.mustBeCurrent = true;
  expect(await scene.run({ inputs })).toMatchObject({ calls: 0, outputs: { outcome: 'complete', branch: first } });
  expect(await git('rev-parse', first)).not.toBe(before);
  await git('merge-base', '--is-ancestor', 'main', first);
  expect(await git('rev-parse', second)).toBe(other);
  expect([...state.autoMerge.keys()]).toEqual([scene.pullOf(first).number]);
  expect(state.pulls.map(({ mergedAt }) => mergedAt)).toEqual([null, null]);
});
