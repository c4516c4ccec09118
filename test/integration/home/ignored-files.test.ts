import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync } from 'node:fs';
import { chmod, mkdir, readFile, readdir, readlink, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { copyLimits } from '../../../src/core/local/ignored-copies.ts';
import { copyIgnoredIntoClone, type CopyRequest } from '../../../src/git/home/ignored-files.ts';
import { cloneForRun } from '../../../src/git/home/clone-for-run.ts';
import { createGit } from '../../../src/git/git.ts';
import { readPersonCheckout } from '../../../src/git/home/person-checkout.ts';
import { findIgnoredFiles, describeUncommitted } from '../../../src/wiring/home/uncommitted.ts';
import { personsCheckout } from './home-fixture.ts';

/** Creates a checkout that ignores these files, and its clone. */
async function scene(ignored: readonly string[]) {
  const person = await personsCheckout();
  const { checkout, folder, git } = person;
  const lay = async (path: string, text = path): Promise<void> => {
    await mkdir(dirname(join(checkout, path)), { recursive: true });
    await writeFile(join(checkout, path), text);
  };
  await writeFile(join(checkout, '.gitignore'), ['/out', '/data', '/node_modules', '.env*', '*.pem', ''].join('\n'));
  git('add', '.gitignore');
  git('commit', '--quiet', '--message=Ignore');
  for (const path of ignored) await lay(path);
  const clone = join(folder, 'clone');
  const env = { PATH: process.env.PATH ?? '' };
  return {
    ...{ checkout, folder, clone, git, lay },
    cloned: () => cloneForRun({ from: checkout, branch: 'main', folder: clone, env }),
    copy: (change: Partial<CopyRequest> = {}) =>
      copyIgnoredIntoClone({
        ...{ git: createGit({ folder: checkout, env }), top: checkout, folder: clone, limits: copyLimits },
        leaveOut: [],
        signal: new AbortController().signal,
        slow: { afterMs: 60_000, say: () => undefined },
        ...change,
      }),
    [Symbol.asyncDispose]: person[Symbol.asyncDispose],
  };
}

describe('what git ignores comes along', () => {
  test('files, folders, links as links, and modes; a pipe does not', async () => {
    await using at = await scene(['out/a/run.sh', 'out/b.txt']);
    await chmod(join(at.checkout, 'out/a/run.sh'), 0o755);
    await chmod(join(at.checkout, 'out/a'), 0o555);
    await symlink('b.txt', join(at.checkout, 'out/link'));
    execFileSync('mkfifo', [join(at.checkout, 'out/pipe')]);
    await at.cloned();
    expect(await at.copy()).toEqual({ secrets: [], tooMuch: [], failed: [] });
    expect((await readdir(join(at.clone, 'out'))).sort()).toEqual(['a', 'b.txt', 'link']);
    expect(await readlink(join(at.clone, 'out/link'))).toBe('b.txt');
    expect(lstatSync(join(at.clone, 'out/a/run.sh')).mode & 0o777).toBe(0o755);
    await chmod(join(at.checkout, 'out/a'), 0o755);
  });

  test('but no file that holds secrets by its name, also where it is a link', async () => {
    await using at = await scene(['.env', 'api/.env.local', 'out/tls.pem', 'out/.ssh/config', 'out/app.js']);
    await symlink('/etc/hostname', join(at.checkout, '.env.linked'));
    await mkdir(join(at.checkout, 'data/.env'), { recursive: true });
    await at.lay('data/.env/bin/python');
    await at.cloned();
    const { secrets, ...others } = await at.copy();
    expect(others).toEqual({ tooMuch: [], failed: [] });
    expect([...secrets].sort()).toEqual(['.env', '.env.linked', 'api/.env.local', 'out/.ssh', 'out/tls.pem']);
    for (const path of secrets) expect(lstatSync(join(at.clone, path), { throwIfNoEntry: false })).toBeUndefined();
    expect(existsSync(join(at.clone, 'out/app.js'))).toBe(true);
    expect(existsSync(join(at.clone, 'data/.env/bin/python'))).toBe(true);
  });

  test('a file that the branch has stays as it is there', async () => {
    await using at = await scene(['out/a.txt', 'out/b.txt']);
    at.git('switch', '--quiet', '--create', 'other');
    at.git('add', '--force', 'out/a.txt');
    at.git('commit', '--quiet', '--message=Out');
    at.git('branch', '--force', 'main');
    at.git('rm', '--quiet', '--cached', 'out/a.txt');
    await at.lay('out/a.txt', 'mine');
    await at.cloned();
    expect((await at.copy()).failed).toEqual([]);
    expect(await readFile(join(at.clone, 'out/a.txt'), 'utf8')).toBe('out/a.txt');
    expect(existsSync(join(at.clone, 'out/b.txt'))).toBe(true);
  });

  test.each(['data', 'data/deep'])('%s is a link on the branch: nothing is written through it', async (linked) => {
    await using at = await scene([]);
    const outside = join(at.folder, 'outside');
    await mkdir(outside);
    await mkdir(dirname(join(at.checkout, linked)), { recursive: true });
    await symlink(outside, join(at.checkout, linked));
    at.git('add', '--force', linked);
    at.git('commit', '--quiet', '--message=Link');
    at.git('rm', '--quiet', linked);
    await at.lay('data/deep/er/file.txt');
    await at.lay('data/beside.txt');
    await at.cloned();
    const { failed } = await at.copy();
    expect(failed).toEqual([`${linked} (the branch has a link or a file in its place)`]);
    expect(await readdir(outside)).toEqual([]);
    expect(existsSync(join(at.clone, 'data/beside.txt'))).toBe(linked !== 'data');
  });
});

describe('what sets a run up is part of it only as it is committed', () => {
  const asked = { workingDirectory: '', promptFile: '.ralph/PROMPT.md' };

  test('where git ignores all of .ralph/: named, with how to commit it, and not copied; what a run finds out comes along', async () => {
    const setting = ['.ralph/config.json', '.ralph/.ralphrc', '.ralph/prd.json', '.beads/b.jsonl', 'PROMPT.md'];
    const kept = ['.ralph/learnings.md', '.ralph/.circuit_breaker_state', '.ralph/AGENT.md', '.ralph/specs/a.md'];
    await using at = await scene([...setting, ...kept, '.ralph/state/queue.1.json']);
    at.git('rm', '--quiet', '-r', '--cached', '.ralph');
    await at.lay('.gitignore', '.ralph\n.beads\nPROMPT.md\n');
    at.git('commit', '--quiet', '--all', '--message=Ignore');
    await at.cloned();
    const checkout = await readPersonCheckout(at.checkout, { PATH: process.env.PATH ?? '' });
    const ignored = await findIgnoredFiles(checkout, asked);
    expect([...ignored].sort()).toEqual([...setting, '.ralph/fix_plan.md'].sort());
    const words = describeUncommitted({ ...checkout, ignored }, '');
    expect(words).toEqual([
      `Uncommitted files are not part of the run and stay as they are: ${ignored.join(', ')}.`,
      expect.stringMatching(/commit .*\.ralph\/fix_plan\.md.* first\.$/),
      expect.stringMatching(/^Git ignores .*config\.json.*"git add --force PATH", then commit it\.$/),
    ]);
    expect(words[1]).not.toContain('.ralphrc');
    expect(await at.copy({ leaveOut: ignored })).toEqual({ secrets: [], tooMuch: [], failed: [] });
    for (const path of [...ignored, '.ralph/state'])
      expect([path, existsSync(join(at.clone, path))]).toEqual([path, false]);
    for (const path of kept) expect([path, existsSync(join(at.clone, path))]).toEqual([path, true]);
  });

  test('a CLAUDE.md or config.yaml that git ignores is that of another tool, and comes along, unless it is a prompt', async () => {
    await using at = await scene([]);
    await at.lay('.gitignore', '/CLAUDE.md\n/config.yaml\n/*.sh\n');
    for (const path of ['CLAUDE.md', 'config.yaml', 'prd.json']) await at.lay(path);
    const checkout = await readPersonCheckout(at.checkout, { PATH: process.env.PATH ?? '' });
    expect(await findIgnoredFiles(checkout, asked)).toEqual([]);
    await at.lay('ralph.sh');
    expect(await findIgnoredFiles(checkout, asked)).toEqual(['CLAUDE.md']);
  });
});

test("the run starts from the branch alone: no other ref, setting or remote comes along, no object is copied, and none of the checkout's is written", async () => {
  await using at = await scene([]);
  at.git('branch', 'secret-plans');
  at.git('tag', 'v1');
  at.git('config', 'core.hooksPath', '/hooks');
  at.git('remote', 'add', 'origin', 'https://user:token@git.example/shop');
  await at.lay('.ralph/fix_plan.md', 'not committed');
  const objects = (): string =>
    execFileSync('find', [join(at.checkout, '.git'), '-printf', '%p %y %s %m\n']).toString();
  // Git updates the time of an object that it would write again, so that it is not pruned.
  const before = objects();
  await at.cloned();
  const run = (...args: readonly string[]): string =>
    execFileSync('git', ['-C', at.clone, ...args])
      .toString()
      .trim();
  expect(run('for-each-ref', '--format=%(refname)')).toBe('refs/heads/main');
  expect(run('config', '--local', '--list', '--name-only')).not.toMatch(/hooks|remote|user/);
  expect(run('status', '--porcelain')).toBe('');
  expect(run('count-objects')).toBe('0 objects, 0 kilobytes');
  await writeFile(join(at.clone, 'new.txt'), 'new');
  run('add', '--all');
  run('-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '--quiet', '--message=New');
  run('gc', '--quiet', '--prune=now');
  expect(objects()).toBe(before);
});

describe('how much is copied', () => {
  test('a folder with too many files is left out as a whole, and the others come along', async () => {
    const many = Array.from({ length: 40 }, (_, index) => `node_modules/m/${String(index)}.js`);
    await using at = await scene([...many, 'out/a.txt']);
    await at.cloned();
    const left = await at.copy({ limits: { files: 20, bytes: 1e9 } });
    expect(left).toEqual({ secrets: [], tooMuch: ['node_modules'], failed: [] });
    expect(existsSync(join(at.clone, 'node_modules'))).toBe(false);
    expect(existsSync(join(at.clone, 'out/a.txt'))).toBe(true);
  });

  test('so is one with too many folders, or with too many bytes', async () => {
    await using at = await scene(['out/a.txt']);
    for (let index = 0; index < 40; index += 1)
      await mkdir(join(at.checkout, 'node_modules', String(index)), { recursive: true });
    await at.lay('data/huge', 'x'.repeat(5_000));
    await at.cloned();
    const { tooMuch } = await at.copy({ limits: { files: 20, bytes: 4_000 } });
    expect([...tooMuch].sort()).toEqual(['data', 'node_modules']);
    expect(existsSync(join(at.clone, 'out/a.txt'))).toBe(true);
  });

  test('the look at it is bounded, too', async () => {
    const names = ['out', 'data', 'node_modules'];
    await using at = await scene(names.flatMap((name) => Array.from({ length: 9 }, (_, i) => `${name}/${String(i)}`)));
    await at.cloned();
    let looked = 0;
    const { tooMuch } = await at.copy({
      limits: { files: 1, bytes: 1e9 },
      slow: { afterMs: 0, say: (files) => (looked = files) },
    });
    expect(tooMuch).toHaveLength(3);
    expect(looked).toBeLessThan(10);
  });

  test('a long copy is reported once, and ends on request', async () => {
    await using at = await scene(Array.from({ length: 1_000 }, (_, index) => `out/${String(index)}/file.txt`));
    await at.cloned();
    const asked = new AbortController();
    const said: number[] = [];
    await at.copy({
      signal: asked.signal,
      slow: {
        afterMs: 0,
        say: (files) => {
          said.push(files);
          asked.abort();
        },
      },
    });
    expect(said).toHaveLength(1);
    const copied = await readdir(join(at.clone, 'out')).catch(() => []);
    expect(copied.length).toBeLessThan(1_000);
  });
});
