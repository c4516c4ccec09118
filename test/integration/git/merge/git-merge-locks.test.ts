import { describe, expect, test } from 'vitest';
import { BRANCH, reachByFolder } from '../git-fixture.ts';
import { edit, resolve, setConflict, type Conflict, type Edit } from './merge-fixture.ts';

reachByFolder();

const LOCK = 'web/package-lock.json';
const SIDES = {
  first: { 'a.txt': 'a\n', [LOCK]: 'first\n', 'web/package.json': '{}\n', '.gitignore': 'node_modules/\n' },
  lane: { 'a.txt': 'lane\n', [LOCK]: 'lane\n' },
  base: { 'a.txt': 'base\n', [LOCK]: 'base\n', 'b.txt': 'b\n' },
};
/** A merge in which only the lock file conflicts. */
const LOCK_ALONE = { ...SIDES, base: { [LOCK]: 'base\n', 'b.txt': 'b\n' } };

/** Applies a tool's change after the merge is prepared, and returns the result. */
async function keepAfter({ scene, repository }: Conflict, tool: Edit) {
  await repository.beginMerge();
  expect(await repository.lockFilesLeft()).toEqual([LOCK]);
  await edit(scene, tool);
  return await repository.keepAlone(LOCK);
}

describe('lock files of a merge', () => {
  test('are left to be made only where nothing else is left to do', async () => {
    await using conflict = await setConflict(SIDES);
    const { scene, repository } = conflict;
    expect(await repository.lockFilesLeft()).toEqual([]);
    expect(await repository.beginMerge()).toEqual({ kind: 'begun', conflicts: ['a.txt'], lockFiles: [LOCK] });
    expect(await repository.lockFilesLeft()).toEqual([]);
    await edit(scene, { 'a.txt': 'both\n' });
    expect(await repository.lockFilesLeft()).toEqual([LOCK]);
    await edit(scene, { [LOCK]: { link: 'package.json' } });
    expect(await repository.lockFilesLeft()).toEqual([]);
    await edit(scene, { [LOCK]: null });
    expect(await repository.lockFilesLeft()).toEqual([]);
    await repository.abandonMerge();
    expect(await repository.lockFilesLeft()).toEqual([]);
  });

  test('that a tool made are part of the merge, with the base\u2019s commit as the second parent', async () => {
    await using conflict = await setConflict(LOCK_ALONE);
    const { scene, head, base } = conflict;
    expect(await keepAfter(conflict, { [LOCK]: 'made\n', 'web/node_modules/x/index.js': 'x\n' })).toBe('kept');
    expect(await scene.read('web/node_modules/x/index.js')).toBe('x\n');
    const { committed } = await resolve(conflict, () => Promise.resolve());
    expect(committed).toMatchObject({ merge: 'made', withheld: [] });
    expect(await scene.git('show', `${BRANCH}:${LOCK}`)).toBe('made');
    expect(await scene.git('log', '-1', '--format=%P', BRANCH)).toBe(`${head} ${base}`);
  });

  test('in folders with any name: one that is made stays where the next one is put back', async () => {
    const [made, failed] = ['-a "b\n`c/go.sum', 'z/go.sum'];
    const both = (text: string) => ({ [made]: text, [failed]: text });
    await using conflict = await setConflict({ first: both('first\n'), lane: both('lane\n'), base: both('base\n') });
    const { scene, repository } = conflict;
    await repository.beginMerge();
    expect(await repository.lockFilesLeft()).toEqual([made, failed]);
    await edit(scene, { [made]: 'made\n' });
    expect(await repository.keepAlone(made)).toBe('kept');
    await edit(scene, both('half\n'));
    expect(await repository.keepAlone(failed)).toBe('elsewhere');
    expect([await scene.read(made), await scene.read(failed)]).toEqual(['made\n', 'base\n']);
    await edit(scene, both('half\n'));
    expect(await repository.putBack()).toHaveLength(2);
    const { committed } = await resolve(conflict, () => Promise.resolve());
    expect(committed).toMatchObject({ merge: 'made', withheld: [] });
    expect(await scene.git('show', `${BRANCH}:${made}`)).toBe('made');
    expect(await scene.git('show', `${BRANCH}:${failed}`)).toBe('base');
  });

  test('that one side removed are somebody\u2019s to judge', async () => {
    for (const [lane, base] of [[null, 'base\n'] as const, ['lane\n', null] as const]) {
      await using conflict = await setConflict({ ...SIDES, lane: { [LOCK]: lane }, base: { [LOCK]: base } });
      expect(await conflict.repository.beginMerge()).toEqual({ kind: 'begun', conflicts: [LOCK], lockFiles: [] });
    }
  });

  test('that are right already are kept', async () => {
    await using conflict = await setConflict(LOCK_ALONE);
    expect(await keepAfter(conflict, {})).toBe('kept');
  });

  test.each<[string, Edit, string]>([
    ['another file of the base', { [LOCK]: 'made\n', 'b.txt': 'b of the tool\n' }, 'elsewhere'],
    ['its manifest', { [LOCK]: 'made\n', 'web/package.json': '{"a":1}\n' }, 'elsewhere'],
    ['a new file', { [LOCK]: 'made\n', 'new.txt': 'new\n' }, 'elsewhere'],
    ['a file of the loop\u2019s own', { [LOCK]: 'made\n', '.ralph/learnings.md': 'new\n' }, 'elsewhere'],
    ['a link', { [LOCK]: { link: 'package.json' } }, 'failed'],
    ['nothing', { [LOCK]: null }, 'failed'],
    ['markers', { [LOCK]: '<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n' }, 'marked'],
    ['a key', { [LOCK]: `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}\n` }, 'withheld'],
  ])('are as the base has them where a tool leaves %s', async (_what, tool, why) => {
    await using conflict = await setConflict(LOCK_ALONE);
    const { scene, repository } = conflict;
    expect(await keepAfter(conflict, tool)).toBe(why);
    expect(await scene.read(LOCK)).toBe('base\n');
    const { committed } = await resolve(conflict, () => Promise.resolve());
    expect(committed).toMatchObject({ merge: 'made', withheld: [] });
    expect(await scene.git('diff', '--name-only', `${BRANCH}^1`, BRANCH)).toBe(`b.txt\n${LOCK}`);
    expect(await repository.lockFilesLeft()).toEqual([]);
  });
});
