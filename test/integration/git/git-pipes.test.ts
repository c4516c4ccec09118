import { execFileSync } from 'node:child_process';
import { lstatSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { locateQuarantine } from '../../../src/git/checkout/quarantine.ts';
import { readRegular, writeRegular } from '../../../src/git/regular-files.ts';
import { BRANCH, iterate, messageFor, openFresh, reachByFolder, setScene } from './git-fixture.ts';

reachByFolder();

/** Shorter than the minute after which a git command that waits for a pipe is ended. */
const PATIENCE_MS = 50_000;

function pipe(path: string): void {
  rmSync(path, { recursive: true, force: true });
  mkdirSync(dirname(path), { recursive: true });
  execFileSync('mkfifo', [path]);
}

describe('a named pipe in the place of a file that git reads holds nothing up', () => {
  test.each([
    { name: 'what is ignored', paths: ['.gitignore', 'src/.gitignore'] },
    { name: 'attributes', paths: ['.gitattributes', 'src/deep/.gitattributes'] },
    { name: 'a repository in the repository', paths: ['inner/.git/HEAD', 'inner/.git/config'] },
    { name: 'a tracked file', paths: ['README.md'] },
    { name: "the checkout's config", paths: ['.git/config'] },
    { name: "the checkout's index", paths: ['.git/index'] },
    { name: 'HEAD', paths: ['.git/HEAD'] },
    { name: 'the branch', paths: [`.git/refs/heads/${BRANCH}`] },
    { name: 'packed refs', paths: ['.git/packed-refs', '.git/shallow'] },
  ])('$name', { timeout: PATIENCE_MS }, async ({ paths }) => {
    await using scene = await setScene();
    await openFresh(scene);
    const { committed } = await iterate(scene, async () => {
      await scene.write('new.txt', 'new\n');
      for (const path of paths) pipe(join(scene.folder, path));
    });
    const start = { kind: 'fresh' } as const;
    expect(await scene.remote().push({ branch: BRANCH, commit: committed.head, start })).toEqual({ kind: 'pushed' });
    expect(await scene.serverGit('show', `${BRANCH}:new.txt`)).toBe('new');
    expect(await scene.git('rev-parse', 'HEAD')).toBe(committed.head);
    // Pipes that git does not read stay, because they belong to the project.
    const left = paths.filter((path) => isPipe(join(scene.folder, path)));
    expect(left).toEqual(paths.filter((path) => path === 'README.md'));
  });

  test.each(['config', 'HEAD', 'index', 'info/exclude', 'packed-refs', 'shallow', 'refs/heads/published'])(
    "%s of the action's own repositories, before a snapshot and before a commit",
    { timeout: PATIENCE_MS },
    async (file) => {
      await using scene = await setScene();
      await openFresh(scene);
      const own = locateQuarantine(scene.workFolder);
      const before = await scene.repository.snapshot();
      await scene.write('new.txt', 'new\n');
      pipe(join(own, file));
      const after = await scene.repository.snapshot();
      pipe(join(own, file));
      const committed = await scene.repository.commit(messageFor(before, after));
      pipe(join(own, file));
      // Content that must be inspected before a push is then not pushed, but nothing hangs.
      await scene.remote().push({ branch: BRANCH, commit: committed.head, start: { kind: 'fresh' } });
      expect(committed.commit).not.toBeNull();
    },
  );

  test("one of the action's objects", { timeout: PATIENCE_MS }, async () => {
    await using scene = await setScene();
    await openFresh(scene);
    const objects = join(locateQuarantine(scene.workFolder), 'objects');
    const { committed } = await iterate(scene, async () => {
      await scene.write('new.txt', 'new\n');
      pipe(join(objects, 'pack', 'multi-pack-index'));
      pipe(join(objects, 'info', 'alternates'));
    });
    expect(committed.commit).not.toBeNull();
  });
});

describe('a regular file and nothing else', () => {
  test('is written over whatever stands there, and is read only if it is one', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'ralph-regular-'));
    try {
      const path = join(folder, 'file');
      const victim = join(folder, 'victim');
      await writeFile(victim, 'victim');
      expect(await readRegular(path)).toBeNull();
      for (const stand of [pipe, makeFolder, linkTo(victim), linkTo('/dev/zero')]) {
        rmSync(path, { recursive: true, force: true });
        stand(path);
        expect(await readRegular(path)).toBeNull();
        await writeRegular(path, 'ours', { mode: 0o640, seconds: 1_000 });
        expect(readFileSync(path, 'utf8')).toBe('ours');
        expect(lstatSync(path).isFile()).toBe(true);
        expect(await readRegular(path)).toMatchObject({ bytes: Buffer.from('ours'), mode: 0o640, mtimeMs: 1_000_000 });
      }
      expect(readFileSync(victim, 'utf8')).toBe('victim');
      expect(statSync(path).mode & 0o777).toBe(0o640);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

function makeFolder(path: string): void {
  mkdirSync(path);
}

function linkTo(target: string): (path: string) => void {
  return (path) => {
    symlinkSync(target, path);
  };
}

function isPipe(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isFIFO() === true;
}
