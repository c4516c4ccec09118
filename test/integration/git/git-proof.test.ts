import { chmod, readFile, rm, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { planProof } from '../../../src/core/proof/judge.ts';
import { iterate, openFresh, setScene, type Scene } from './git-fixture.ts';

const unaborted = new AbortController().signal;
const TEST = "test('adds', () => expect(add(1, 2)).toBe(3));\n";

/** Makes a task's iteration in which these files are written; null removes one. */
async function work(scene: Scene, task: string, files: Readonly<Record<string, string | null>>): Promise<string> {
  const { committed } = await iterate(
    scene,
    async () => {
      for (const [path, text] of Object.entries(files))
        await (text === null ? rm(join(scene.folder, path)) : scene.write(path, text));
    },
    scene.repository,
    { 'Ralph-Task': task },
  );
  return committed.head;
}

async function changesOf(scene: Scene, task: string) {
  const changes = await scene.repository.taskChanges();
  return changes.find((one) => one.task === task) ?? { task, files: [] };
}

test('a task is taken back from the head, and its tests stay', async () => {
  await using scene = await setScene();
  const { base } = await openFresh(scene);
  const original = await scene.read('README.md');
  await work(scene, 'issue-1', { 'README.md': 'first\n', 'src/new.ts': 'x\n', 'test/new.test.ts': TEST });
  await work(scene, 'issue-2', { 'src/other.ts': 'y\n' });
  const head = await work(scene, 'issue-1', { 'README.md': 'second\n', 'src/ä\tb.ts': 'z\n' });
  const own = await changesOf(scene, 'issue-1');
  expect(own.files.map(({ path }) => path).sort()).toEqual([
    'README.md',
    'src/new.ts',
    'src/ä\tb.ts',
    'test/new.test.ts',
  ]);
  expect(own.files.find(({ path }) => path === 'test/new.test.ts')).toMatchObject({
    before: null,
    textBefore: null,
    textAfter: TEST,
  });
  expect(own.files.find(({ path }) => path === 'README.md')).toMatchObject({ textBefore: null, textAfter: null });
  const plan = planProof(own);
  if (plan.kind !== 'prove') throw new Error(plan.kind);

  const commit = await scene.repository.commitReverted({ commit: head, files: plan.without });
  const folder = await scene.repository.checkOutCommitAlone(commit, unaborted);
  const read = (path: string): Promise<string> => readFile(join(folder, path), 'utf8').catch(() => 'absent');
  const paths = ['README.md', 'src/new.ts', 'src/ä\tb.ts', 'src/other.ts', 'test/new.test.ts'];
  expect(await Promise.all(paths.map(read))).toEqual([original, 'absent', 'absent', 'y\n', TEST]);

  // The commit is on no branch, and the lane and its tree are as before.
  expect(await scene.git('rev-parse', 'HEAD')).toBe(head);
  expect(await scene.read('README.md')).toBe('second\n');
  const pushed = await scene
    .remote()
    .push({ branch: 'ralph/queue', commit: head, since: base, start: { kind: 'fresh' } });
  expect(pushed).toEqual({ kind: 'pushed' });
  await expect(scene.serverGit('cat-file', '-e', commit)).rejects.toThrow();
});

test('the old form of a changed or deleted test is put in place of the new one', async () => {
  await using scene = await setScene();
  await scene.write('test/old.test.ts', TEST);
  await scene.write('test/gone.test.ts', TEST);
  await scene.git('add', '--all');
  await scene.git('commit', '--quiet', '-m', 'tests');
  await scene.git('push', '--quiet', scene.server.repositoryFolder, 'HEAD:main');
  await openFresh(scene);
  const head = await work(scene, 'issue-1', {
    'src/sum.ts': 'x\n',
    'test/old.test.ts': TEST.replace('3', '4'),
    'test/gone.test.ts': null,
    'test/new.test.ts': TEST,
  });
  const plan = planProof(await changesOf(scene, 'issue-1'));
  if (plan.kind !== 'prove') throw new Error(plan.kind);
  const folder = await scene.repository.checkOutCommitAlone(
    await scene.repository.commitReverted({ commit: head, files: plan.old }),
    unaborted,
  );
  const paths = ['test/old.test.ts', 'test/gone.test.ts', 'test/new.test.ts', 'src/sum.ts'];
  expect(await Promise.all(paths.map((path) => readFile(join(folder, path), 'utf8')))).toEqual([
    TEST,
    TEST,
    TEST,
    'x\n',
  ]);
});

test('a file of Rust is laid with its tests of now and its code of before', async () => {
  await using scene = await setScene();
  await scene.write('src/lib.rs', 'fn add() {}\n');
  await scene.git('add', '--all');
  await scene.git('commit', '--quiet', '-m', 'code');
  await scene.git('push', '--quiet', scene.server.repositoryFolder, 'HEAD:main');
  await openFresh(scene);
  const tests = '#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {}\n}\n';
  const commit = await work(scene, 'issue-1', { 'src/lib.rs': `fn sum() {}\n\n${tests}` });
  const plan = planProof(await changesOf(scene, 'issue-1'));
  if (plan.kind !== 'prove') throw new Error(plan.kind);
  const folder = await scene.repository.checkOutCommitAlone(
    await scene.repository.commitReverted({ commit, files: plan.without }),
    unaborted,
  );
  expect(await readFile(join(folder, 'src/lib.rs'), 'utf8')).toBe(`fn add() {}\n\n${tests}`);
});

test('modes and links come back, and a folder makes room for the file that it replaced', async () => {
  await using scene = await setScene();
  await scene.write('run.sh', 'old\n');
  await chmod(join(scene.folder, 'run.sh'), 0o755);
  await symlink('run.sh', join(scene.folder, 'link'));
  await scene.write('place', 'a file\n');
  await scene.git('add', '--all');
  await scene.git('commit', '--quiet', '-m', 'files');
  await scene.git('push', '--quiet', scene.server.repositoryFolder, 'HEAD:main');
  await openFresh(scene);
  await work(scene, 'issue-1', { 'run.sh': null, link: null, place: null });
  const head = await work(scene, 'issue-1', { 'place/inside.txt': 'x\n' });
  const { files } = await changesOf(scene, 'issue-1');
  const folder = await scene.repository.checkOutCommitAlone(
    await scene.repository.commitReverted({ commit: head, files }),
    unaborted,
  );
  expect((await stat(join(folder, 'run.sh'))).mode & 0o111).not.toBe(0);
  expect(await Promise.all(['link', 'place'].map((path) => readFile(join(folder, path), 'utf8')))).toEqual([
    'old\n',
    'a file\n',
  ]);
});
