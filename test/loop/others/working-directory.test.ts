import { describe, expect, test } from 'vitest';
import { addCommit } from '../stage/in-memory.ts';
import type { Project } from '../stage/project.ts';
import { createProject, runOnce, savedState, warningsIn } from '../stage/run-action.ts';
import { runSplit } from '../stage/split.ts';
import type { Behaviour } from '../stage/behaviours.ts';

const PLAN = '.ralph/fix_plan.md';
const inPackage = (path: string): string => `packages/a/${path}`;

/** Creates a monorepo with a list in its root and one in a package. */
function monorepo(files: Readonly<Record<string, string>>, agent: readonly Behaviour[], iterations = '1'): Project {
  const project = createProject({
    issues: [],
    agent,
    inputs: { 'working-directory': './packages/a', 'max-iterations': iterations },
  });
  const { origin } = project;
  const main = origin.branches.get('main') ?? '';
  const tree = { ...origin.commits.get(main)?.tree, [PLAN]: '- [ ] Of the root\n', ...files };
  origin.branches.set('main', addCommit(origin, { tree, parent: main, message: 'Tasks' }));
  return project;
}
const published = (project: Project, path: string): string | undefined =>
  project.origin.commits.get(project.origin.branches.get('ralph/queue') ?? '')?.tree[path];

const ticks: Behaviour = ({ turn, files }) => ({
  writes: {
    [inPackage(`src/${String(turn)}.ts`)]: 'x',
    'shared/b.ts': String(turn),
    [inPackage(PLAN)]: `${(files[inPackage(PLAN)] ?? '').replace('[ ]', '[x]')}- [ ] Found on the way\n`,
  },
});

describe('a run in a folder of the repository', () => {
  test('works on the list there, names it from the root, and the agent sees it from its own folder', async () => {
    const project = monorepo({ [inPackage(PLAN)]: '- [ ] Of the package\n' }, [ticks], '2');
    const run = await runOnce(project);
    expect(run.work?.journal.map(({ taskTitle }) => taskTitle)).toEqual(['Of the package', 'Found on the way']);
    const places = run.work?.tasks.map(({ source }) => 'path' in source && source.path);
    expect([...new Set(places)]).toEqual(['packages/a/.ralph/fix_plan.md']);
    expect(project.script.calls[0]?.prompt).toContain('(.ralph/fix_plan.md, line 1)');
    expect(project.forge.pulls[0]?.body).toContain('packages/a/.ralph/fix_plan.md:1');
    expect(published(project, PLAN)).toBe('- [ ] Of the root\n');
    expect(published(project, 'shared/b.ts')).toBe('2');
  });

  test('does not count a ticked box there as evidence', async () => {
    const project = monorepo({ [inPackage(PLAN)]: '- [ ] Of the package\n' }, [
      () => ({ writes: { [inPackage(PLAN)]: '- [x] Of the package\n' } }),
    ]);
    const run = await runOnce(project);
    expect(run.work?.journal[0]?.verdict).toMatchObject({ progress: false, taskDone: false });
  });

  test('writes states back there, archives there, and compacts notes there', async () => {
    const prd = `${JSON.stringify({ tasks: [{ id: 'T1', title: 'a', status: 'todo' }] }, null, 2)}\n`;
    const notes = Array.from({ length: 200 }, (_, at) => `- Note ${String(at)}: ${'n'.repeat(50)}\n`).join('');
    const project = monorepo({ [inPackage('.ralph/prd.json')]: prd }, [
      () => ({ writes: { [inPackage('a.ts')]: '1', [inPackage('.ralph/learnings.md')]: notes } }),
    ]);
    await runOnce(project);
    expect(published(project, inPackage('.ralph/prd.json'))).toContain('"in_progress"');
    expect(published(project, inPackage('.ralph/learnings.md'))?.length).toBeLessThanOrEqual(2_000);
    expect(published(project, inPackage('.ralph/learnings_archive.md'))).toContain('- Note 0: ');
    project.script.behaviours = [
      ({ files }) => ({
        writes: {
          [inPackage('a.ts')]: '2',
          [inPackage('.ralph/prd.json')]: (files[inPackage('.ralph/prd.json')] ?? '').replace('in_progress', 'done'),
        },
      }),
    ];
    await runOnce(project);
    expect(published(project, inPackage('.ralph/prd_archive.json'))).toContain('"T1"');
    expect(savedState(project).tasks['prd-T1']?.state).toBe('done');
  });

  test('does the same in three jobs', async () => {
    const project = monorepo({ [inPackage(PLAN)]: '- [ ] Of the package\n' }, [ticks], '2');
    const { gate, loop, publish } = await runSplit(project);
    expect(gate.report).toBeNull();
    expect(loop?.work?.journal.map(({ taskTitle }) => taskTitle)).toEqual(['Of the package', 'Found on the way']);
    expect(publish?.end).toBe('limit (iterations)');
    expect(project.forge.pulls[0]?.body).toContain('packages/a/.ralph/fix_plan.md:1');
    expect(published(project, 'shared/b.ts')).toBe('2');
  });

  test('names a broken file from the root', async () => {
    const project = monorepo({ [inPackage('.ralph/prd.json')]: '{', [inPackage(PLAN)]: '- [ ] Of the package\n' }, [
      ticks,
    ]);
    const run = await runOnce(project);
    expect(warningsIn(run).join('\n')).toContain('packages/a/.ralph/prd.json:1:2 not valid JSON');
  });

  test("names another Ralph's files from the root, and nothing by its path from the folder", async () => {
    const found: Readonly<Record<string, string>> = {
      '.ralphrc': 'MAX_CALLS_PER_HOUR=50\nMAX_CALL_PER_HOUR=5\n',
      '.ralph/.ralphrc': 'MAX_CALLS_PER_HOUR=40\n',
      '.ralph/.circuit_breaker_state': '{"state":"OPEN"}',
      '.ralph/.call_count': '1',
      '.ralph/config.json': '{"steps":[{"type":"agent","name":"work","config":{"model":"${NOT_THERE}"}}]}',
      '.ralph/specs/a.md': 'A',
      [PLAN]: '- [ ] Of the package\n',
    };
    const inFolder = Object.fromEntries(Object.entries(found).map(([path, text]) => [inPackage(path), text]));
    const run = await runOnce(monorepo(inFolder, [ticks]));
    const ofRoot = '`.ralph/fix_plan.md`: not used, this run works in `packages/a`.';
    expect(run.work?.notes.found).toContain(ofRoot);
    const lines = (run.work?.notes.found ?? []).filter((line) => line !== ofRoot);
    expect(lines[0]).toBe('`packages/a/` is set up for bmalph.');
    const said = [...lines, ...warningsIn(run)].join('\n');
    for (const path of Object.keys(found).filter((one) => one !== '.ralph/specs/a.md'))
      expect(said).toContain(inPackage(path));
    expect(said).toContain('`packages/a/.ralph/specs/`: named in the prompt (1 file).');
    expect(said).toMatch(/^`packages\/a\/\.ralph\/\.ralphrc`: 1 setting used/m);
    expect(said).toContain('Another Ralph left its circuit open (packages/a/.ralph/.circuit_breaker_state)');
    expect(said.match(/(?<!packages\/a\/|packages\/a\/\.ralph\/)\.ralph(rc|\/[.\w])/g)).toBeNull();
  });

  test('says in one line that files at the root are not used', async () => {
    const root = {
      '.ralphrc': 'MAX_CALLS_PER_HOUR=7\n',
      '.ralph/config.json': '{"steps":[]}',
      'config.yaml': 'a: 1\n',
    };
    const run = await runOnce(monorepo({ ...root, [inPackage(PLAN)]: '- [ ] Of the package\n' }, [ticks]));
    expect(run.work?.notes.found.filter((line) => line.includes('not used'))).toEqual([
      '`.ralph/config.json`, `.ralphrc`, `.ralph/fix_plan.md`: not used, this run works in `packages/a`.',
    ]);
  });
});
