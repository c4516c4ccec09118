import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createWorkFiles } from '../../../../src/runner/workspace-files.ts';
import { iterate, openFresh, setScene, type Scene } from '../git-fixture.ts';

const PLAN = '.ralph/fix_plan.md';
const FOLDER = 'packages/a';

async function commitFiles(scene: Scene, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) await scene.write(path, text);
  await scene.git('add', '--all');
  await scene.git('commit', '--quiet', '--message=Files');
  await scene.serverGit('fetch', '--quiet', scene.folder, 'main:main');
}

describe('a run in a folder of the checkout', () => {
  test('reads, publishes and rewrites the texts there, by their paths from it', async () => {
    await using scene = await setScene();
    await commitFiles(scene, { [PLAN]: '- [ ] root\n', [`${FOLDER}/${PLAN}`]: '- [ ] a\n' });
    const repository = scene.reopen({}, scene.folder, FOLDER);
    expect((await repository.readTexts([PLAN, '.beads/*.jsonl'], null)).base).toEqual({ [PLAN]: '- [ ] a\n' });
    await openFresh(scene, repository);
    const { committed } = await iterate(
      scene,
      async () => {
        await scene.write(`${FOLDER}/${PLAN}`, '- [x] a\n');
        await scene.write('shared/b.ts', 'b');
      },
      repository,
    );
    expect(await repository.publishedTexts([PLAN])).toEqual({ [PLAN]: '- [x] a\n' });
    expect(committed.lookAt).toContainEqual({
      kind: 'outside',
      fileCount: 1,
      files: [{ path: 'shared/b.ts', what: `outside of ${FOLDER}` }],
    });
    const files = repository.files(createWorkFiles);
    expect(await files.read([PLAN])).toEqual({ [PLAN]: '- [x] a\n' });
    await repository.commitTexts({ texts: { [PLAN]: '- [x] b\n' }, message: 'Tidy', trailers: {} });
    await files.replace({ path: PLAN, old: '- [x] a\n', text: '- [x] b\n' });
    expect(await files.readEnd(PLAN, 4)).toBe('] b\n');
    expect(await scene.read(`${FOLDER}/${PLAN}`)).toBe('- [x] b\n');
    expect(await scene.read(PLAN)).toBe('- [ ] root\n');
    expect((await repository.review())?.lookAt.map(({ kind }) => kind)).toContain('outside');
  });

  test('takes no evidence from lists and notes there, nor state of any loop', async () => {
    await using scene = await setScene();
    await commitFiles(scene, { [`${FOLDER}/a.ts`]: '1', [`${FOLDER}/prd.json`]: '{"userStories":[]}' });
    const repository = scene.reopen({}, scene.folder, FOLDER);
    await openFresh(scene, repository);
    const quiet = await iterate(
      scene,
      async () => {
        await scene.write(`${FOLDER}/${PLAN}`, '- [x] a\n');
        await scene.write(`${FOLDER}/.ralph/learnings/issue-7.md`, '- a\n');
        await scene.write(`${FOLDER}/prd.json`, '{"userStories":[{"title":"a","passes":true}]}');
        await scene.write(`${FOLDER}/.ralph/state/queue.json`, '{}');
        await scene.write(`${FOLDER}/.ralph/.circuit_breaker_state`, '{}');
        await scene.write('.ralph/.call_count', '7');
      },
      repository,
    );
    expect(quiet.change.files).toEqual([]);
    expect(quiet.committed.publishedPaths).toEqual([
      `${FOLDER}/.ralph/fix_plan.md`,
      `${FOLDER}/.ralph/learnings/issue-7.md`,
      `${FOLDER}/prd.json`,
    ]);
    const loud = await iterate(
      scene,
      async () => {
        await scene.write(PLAN, '- [x] of the root, which is content like any other here\n');
        await scene.write(`${FOLDER}/prd.json`, '{"host":"production"}');
      },
      repository,
    );
    expect(loud.change.files).toEqual([PLAN, `${FOLDER}/prd.json`]);
  });

  test('that the branch does not have is an error before anything runs there', async () => {
    await using scene = await setScene();
    await mkdir(join(scene.folder, 'made'));
    const repository = scene.reopen({}, scene.folder, 'made');
    await repository.readTexts([PLAN], null);
    await expect(openFresh(scene, repository)).rejects.toThrow(
      /^`working-directory` is "made", but that is not a folder on the branch ralph\/queue\. Name a folder of the repository/,
    );
  });
});

describe('a folder that cannot be used is a configuration error, and no rest', () => {
  test.each<[string, string, (folder: string) => Promise<unknown>, RegExp]>([
    ['is missing', 'packages/b', () => Promise.resolve(), /"packages\/b", but that does not exist/],
    ['lies in nothing', 'nowhere/b', () => Promise.resolve(), /"nowhere\/b", but "nowhere" does not exist/],
    ['is a file', 'file', (folder) => writeFile(join(folder, 'file'), 'x'), /"file", but that is not a folder/],
    ['is a link out', 'out', (folder) => symlink('/etc', join(folder, 'out')), /"out", but that is a link/],
    [
      'lies behind a link',
      'in/a',
      (folder) => symlink('packages', join(folder, 'in')),
      /"in\/a", but "in" is a link, which is not followed/,
    ],
    [
      'is a repository of its own',
      'packages/a/sub',
      (folder) => mkdir(join(folder, 'packages/a/sub/.git'), { recursive: true }),
      /but "packages\/a\/sub" is a repository of its own/,
    ],
  ])('%s', async (_, directory, prepare, expected) => {
    await using scene = await setScene();
    await commitFiles(scene, { [`${FOLDER}/a.ts`]: '1' });
    await prepare(scene.folder);
    const repository = scene.reopen({}, scene.folder, directory);
    await expect(repository.readTexts([PLAN], null)).rejects.toThrow(expected);
    expect((await repository.problems()).join('\n')).toMatch(expected);
  });
});
