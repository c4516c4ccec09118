import { describe, expect, test } from 'vitest';
import type { Behaviour } from '../stage/behaviours.ts';
import { createProject, runOnce, savedState } from '../stage/run-action.ts';

const MARKED = 'a\n<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> 1a2b3c4 (Add a feature)\nz\n';
const done = { status: 'COMPLETE', exitSignal: false, tasksCompleted: 1 } as const;

/** Leaves a merge of its own unfinished with its first claim; then does what `second` does. */
function leavesMarkers(second: Behaviour): Behaviour {
  return (call) =>
    call.turn === 1 ? { writes: { 'src/a.ts': MARKED, 'src/b.ts': 'b' }, output: { signal: done } } : second(call);
}

describe('conflict markers that an agent leaves of a merge or rebase of its own', () => {
  test('contradict its claim: they are named to it, and the task is done once they are resolved', async () => {
    const resolves = leavesMarkers(() => ({ writes: { 'src/a.ts': 'ours and theirs' }, output: { signal: done } }));
    const project = createProject({ issues: [1], agent: [resolves] });
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 2 });
    const [, next] = project.script.calls;
    expect(next?.prompt).toContain('have new conflict markers');
    expect(next?.prompt).toContain('- src/a.ts: it has conflict markers');
    expect(next?.prompt).not.toContain('src/b.ts: it');
    expect(project.forge.pulls[0]?.body).toContain('added conflict markers: src/a.ts');
  });

  test('are not published as done while the agent adds more of them', async () => {
    const agent: Behaviour = ({ turn }) => ({ writes: { 'src/a.ts': MARKED.repeat(turn) }, output: { signal: done } });
    const project = createProject({ issues: [1], agent: [agent], inputs: { 'max-iterations': '3' } });
    await runOnce(project);
    expect(savedState(project).tasks['issue-1']?.state).not.toBe('done');
    expect(project.forge.pulls[0]?.draft).toBe(true);
  });

  test.each([0, 1])(
    'cost one more call if they belong there, as in a test (FILES_MODIFIED: %i)',
    async (filesModified) => {
      const again = leavesMarkers(() => ({ output: { signal: { ...done, filesModified } } }));
      const project = createProject({ issues: [1], agent: [again] });
      expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 2 });
      expect(project.script.calls[1]?.prompt).toContain('If they belong there, as in a test or a manual, leave them');
    },
  );

  test.each<[string, string, string]>([
    ['that were there before', MARKED, `# Git\n${MARKED}`],
    ['as one line alone', '', 'Heading\n=======\n<<<<<<< no end\n'],
    ['in a quotation', '', MARKED.replaceAll(/^/gm, '> ')],
  ])('%s contradict nothing', async (_name, before, after) => {
    const project = createProject({
      issues: [1],
      files: { 'docs/git.md': before },
      agent: [() => ({ writes: { 'docs/git.md': after, 'src/a.ts': 'x' }, output: { signal: done } })],
    });
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
  });
});
