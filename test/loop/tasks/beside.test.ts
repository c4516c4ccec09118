import { describe, expect, test } from 'vitest';
import type { Behaviour } from '../stage/behaviours.ts';
import { createProject, runOnce, savedState } from '../stage/run-action.ts';
import { runSplit } from '../stage/split.ts';

const COMPLETE = { status: 'COMPLETE', exitSignal: false, tasksCompleted: 1 } as const;
const BRANCH = { name: 'branch feature', patch: 'diff --git a/x b/x\n+token=SECRET-VALUE\n' };

const bringing: Behaviour = () => ({ beside: [], writes: { 'src/x.ts': 'x' }, output: { signal: COMPLETE } });

describe('work beside the work tree contradicts a claim without changes', () => {
  test.each([
    ['claims a file', 1],
    ['claims none', 0],
    ['does not say', null],
  ])('an agent that %s learns what it left where, and finishes with one more call', async (_, filesModified) => {
    const leaving: Behaviour = () => ({ beside: [BRANCH], output: { signal: { ...COMPLETE, filesModified } } });
    const project = createProject({ issues: [1], agent: [leaving, bringing] });
    const run = await runOnce(project, { redact: (text) => text.replaceAll('SECRET-VALUE', '***') });
    expect(run).toMatchObject({ end: 'complete (plan_complete)', calls: 2 });
    const prompt = project.script.calls[1]?.prompt ?? '';
    expect(prompt).toMatch(/not in the work tree[^]*cherry-pick/);
    expect(prompt).toContain('- branch feature');
    expect(prompt).not.toContain('changed no file content');
    expect(run.machine.checkout.patches).toEqual([
      { name: 'branch feature', patch: 'diff --git a/x b/x\n+token=***\n' },
    ]);
    // The second call brought it into the work tree.
    expect(run.report).toMatchObject({ kind: 'worked', withheld: [] });
    expect(run.journal).toContain('left work beside it');
  });

  test('files that git ignores are named to an agent that reports changes which nobody sees', async () => {
    const leaving: Behaviour = () => ({
      ignored: ['src/lib/', 'node_modules/'],
      output: { signal: { ...COMPLETE, filesModified: 1 } },
    });
    const project = createProject({ issues: [1], agent: [leaving, bringing] });
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 2 });
    expect(project.script.calls[1]?.prompt).toMatch(/change \.gitignore[^]*- src\/lib\/ \(git ignores it\)/);
    expect(project.forge.pulls[0]?.body).not.toContain('Left out');
  });

  test.each([
    ['says that nothing needed to change', 0, {}, 'blocked (needs_human)'],
    ['has changed other files', 1, { 'src/x.ts': 'x' }, 'complete (plan_complete)'],
  ])('packages that it installed do not contradict an agent that %s', async (_, filesModified, writes, end) => {
    const installing: Behaviour = () => ({
      ...{ ignored: ['node_modules/'], writes, output: { signal: { ...COMPLETE, filesModified } } },
    });
    const run = await runOnce(createProject({ issues: [1], agent: [installing] }));
    expect(run).toMatchObject({ end, calls: 1 });
    expect(run.journal).not.toContain('node_modules');
  });

  test('it is named to people until it is in the work tree', async () => {
    const leaving: Behaviour = () => ({ beside: [BRANCH], writes: { 'src/y.ts': 'y' }, output: { signal: COMPLETE } });
    const project = createProject({ issues: [1], agent: [leaving] });
    const run = await runOnce(project);
    // Content changed in the work tree as well, so nothing contradicts the claim.
    expect(run).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(project.forge.pulls[0]?.body).toMatch(/Left out[^]*branch feature/);
    expect(savedState(project).change.leftOut.map(({ path }) => path)).toEqual(['branch feature']);
  });

  test("the loop's job of three hands its patches over, and redacts them", async () => {
    const leaving: Behaviour = () => ({ beside: [BRANCH], output: { signal: COMPLETE } });
    const project = createProject({ issues: [1], agent: [leaving, bringing] });
    let handedOver = '';
    const run = await runSplit(project, {
      loop: { redact: (text) => text.replaceAll('SECRET-VALUE', '***') },
      beforePublish: (handoff) => (handedOver = String(Buffer.from(handoff.get('loop/beside.patch') ?? []))),
    });
    expect(handedOver).toBe('# branch feature\ndiff --git a/x b/x\n+token=***\n\n');
    expect(run.publish?.end).toBe('complete (plan_complete)');
  });

  test('older work beside it does not contradict the iteration', async () => {
    const idle: Behaviour = () => ({ output: { signal: { ...COMPLETE, filesModified: 0 } } });
    const project = createProject({ issues: [1], agent: [idle] });
    const run = await runOnce(project);
    expect(run.calls).toBe(1);
    expect(run.journal).not.toContain('beside');
  });
});
