import { describe, expect, test } from 'vitest';
import type { Behaviour } from '../stage/behaviours.ts';
import { addCommit } from '../stage/in-memory.ts';
import type { Project } from '../stage/project.ts';
import { warningsIn } from '../stage/run-action.ts';
import { BRANCH, bodyOf, next, remembered, reviewed, worker } from './reviewing.ts';
import { comment, review, thread } from './said.ts';

/** Changes this many files in the base branch that the branch has changed as well. */
function conflicting(project: Project, many: number): void {
  const { branches, commits } = project.origin;
  const files = Object.fromEntries(Array.from({ length: many }, (_, at) => [`src/file-${String(at)}.ts`, 'x']));
  const write = (branch: string, text: string): void => {
    const parent = branches.get(branch) ?? '';
    const tree = {
      ...commits.get(parent)?.tree,
      ...Object.fromEntries(Object.keys(files).map((path) => [path, text])),
    };
    branches.set(branch, addCommit(project.origin, { tree, parent, message: 'Files' }));
  };
  write('main', 'theirs');
  write(BRANCH, 'ours');
  project.forge.saidOf.set(BRANCH, { mergeable: 'conflicting' });
}

/** Resolves one file per turn, and claims completion with the last. */
const oneByOne: Behaviour = (call) => {
  if (call.task !== 'conflict-base') return worker(call);
  const marked = Object.keys(call.files).filter((path) => (call.files[path] ?? '').includes('<<<<<<<'));
  const [path = ''] = marked;
  const status = marked.length === 1 ? 'COMPLETE' : 'IN_PROGRESS';
  return {
    writes: { [path]: 'both' },
    output: { signal: { status, exitSignal: false, tasksCompleted: marked.length === 1 ? 1 : 0, summary: 'Both.' } },
  };
};

function expectNoMarkers(project: Project): void {
  for (const { tree } of project.origin.commits.values())
    expect(Object.values(tree).join('\n')).not.toMatch(/<<<<<<<|>>>>>>>/);
}

describe('a base branch that conflicts', () => {
  test('in five files, each of which takes an iteration, is one task without a trip of the circuit', async () => {
    const project = await reviewed(oneByOne);
    conflicting(project, 5);
    const run = await next(project);
    expect(run).toMatchObject({ end: 'complete (plan_complete)', calls: 5 });
    const head = project.origin.branches.get(BRANCH) ?? '';
    expect(project.origin.commits.get(head)?.tree['src/file-4.ts']).toBe('both');
    expect(bodyOf(project)).not.toContain('conflict markers');
    expectNoMarkers(project);
  });

  test('that a person chose for the pull request is not merged, and the run says which one it merges', async () => {
    const project = await reviewed(oneByOne);
    conflicting(project, 1);
    const { branches } = project.origin;
    branches.set('develop', branches.get('main') ?? '');
    Object.assign(project.forge.pulls[0] ?? {}, { base: 'develop' });
    const run = await next(project);
    expect(run.calls).toBe(0);
    expect(warningsIn(run)).toEqual([
      expect.stringMatching(/is for develop, but runs merge main .*`base-branch: develop`/),
    ]);
    expect(bodyOf(project)).not.toMatch(/resolve the conflicts|runs of the queue merges into it/);
    expect(await next(project)).toMatchObject({ end: 'idle (all_done)', calls: 0 });
  });

  test('stays open while GitHub computes whether it still conflicts', async () => {
    const lost: Behaviour = (call) =>
      call.task === 'conflict-base'
        ? { output: { signal: { status: 'IN_PROGRESS', exitSignal: false, tasksCompleted: 0 } } }
        : worker(call);
    const project = await reviewed(lost, { 'max-iterations': '1' });
    conflicting(project, 1);
    await next(project);
    expect(remembered(project, 'conflict-base')).toMatchObject({ answer: null });
    project.forge.saidOf.set(BRANCH, { mergeable: 'unknown' });
    await next(project);
    expect(remembered(project, 'conflict-base')).toMatchObject({ answer: null });
    expect(bodyOf(project)).toContain(
      '**Next:** Look at the pull request before anything is merged: 1 merge conflict is open',
    );
    project.forge.saidOf.delete(BRANCH);
    expect(await next(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 0 });
    expect(bodyOf(project)).not.toContain('conflict is open');
    expect(await next(project)).toMatchObject({ end: 'idle (all_done)', calls: 0 });
  });

  test('begins again in the next run if a limit was reached in the middle of it', async () => {
    const marked: number[] = [];
    const inHaste: Behaviour = (call) => {
      const paths = Object.keys(call.files).filter((path) => (call.files[path] ?? '').includes('<<<<<<<'));
      marked.push(paths.length);
      // The behaviour resolves one file, then another, then all remaining ones.
      const resolved = marked.length < 3 ? paths.slice(0, 1) : paths;
      const signal = marked.length < 3 ? {} : ({ status: 'COMPLETE', exitSignal: false, tasksCompleted: 1 } as const);
      return { writes: Object.fromEntries(resolved.map((path) => [path, 'both'])), output: { signal } };
    };
    const project = await reviewed(inHaste, { 'max-iterations': '2' });
    conflicting(project, 4);
    expect(await next(project)).toMatchObject({ end: 'limit (iterations)', calls: 2 });
    expectNoMarkers(project);
    expect(await next(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect(marked).toEqual([4, 3, 4]);
    expectNoMarkers(project);
  });

  test("comes before people's requests, and steps aside for them if the agent makes no progress", async () => {
    const worked: string[] = [];
    const project = await reviewed((call) => {
      worked.push(call.task);
      return call.task === 'conflict-base' ? {} : worker(call);
    });
    conflicting(project, 1);
    const said = { reviews: [review()], threads: [thread([comment(11, 'Rename it.')])] };
    project.forge.saidOf.set(BRANCH, { mergeable: 'conflicting', ...said });
    const run = await next(project);
    expect(run.end).toBe('blocked (needs_human)');
    expect(worked).toEqual([...Array.from({ length: run.calls - 1 }, () => 'conflict-base'), 'thread-11']);
    expect(project.forge.replies).toHaveLength(1);
    const head = project.origin.branches.get(BRANCH) ?? '';
    expect(project.origin.commits.get(head)?.tree['src/file-0.ts']).toBe('ours');
    expectNoMarkers(project);
  });

  test('that a person merged in the meantime, or that GitHub does not know yet, starts nothing', async () => {
    const project = await reviewed(oneByOne);
    for (const mergeable of ['unknown', 'mergeable'] as const) {
      project.forge.saidOf.set(BRANCH, { mergeable });
      expect(await next(project)).toMatchObject({ end: 'idle (all_done)', calls: 0 });
    }
  });

  test('is merged by the agent, and markers never reach a commit', async () => {
    let turns = 0;
    const resolver: Behaviour = ({ task, files }) => {
      if (task !== 'conflict-base') return {};
      turns += 1;
      const [path = ''] = Object.keys(files).filter((name) => (files[name] ?? '').includes('<<<<<<<'));
      // The first turn claims completion and leaves the markers.
      return {
        ...(turns === 1 ? {} : { writes: { [path]: 'both' } }),
        output: { signal: { status: 'COMPLETE', exitSignal: false, tasksCompleted: 1, summary: 'Both stay.' } },
      };
    };
    const project = await reviewed(resolver);
    const main = project.origin.branches.get('main') ?? '';
    const tree = { ...project.origin.commits.get(main)?.tree, 'src/issue-1.ts': 'theirs' };
    project.origin.branches.set('main', addCommit(project.origin, { tree, parent: main, message: 'Theirs' }));
    project.forge.saidOf.set(BRANCH, { mergeable: 'conflicting' });
    const run = await next(project);
    expect(run).toMatchObject({ end: 'complete (plan_complete)', calls: 2 });
    for (const { tree: content } of project.origin.commits.values())
      expect(Object.values(content).join('\n')).not.toContain('<<<<<<<');
    const head = project.origin.branches.get(BRANCH) ?? '';
    expect(project.origin.commits.get(head)?.tree['src/issue-1.ts']).toBe('both');
  });
});
