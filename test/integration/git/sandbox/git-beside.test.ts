import { execFileSync } from 'node:child_process';
import { chmod, lstat, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { iterate, openFresh, setScene, workIn, type Scene } from '../git-fixture.ts';
import { openOtherUserSandbox, openSameUserSandbox } from './sandbox-fixture.ts';

interface Row {
  readonly what: string;
  readonly script: string;
  /** Names of the files left beside the work tree. */
  readonly names: readonly RegExp[];
  readonly patch?: RegExp;
  /** Set for a row that is also played in the agent's sandbox. */
  readonly isInSandbox?: true;
}

const rows: readonly Row[] = [
  {
    what: 'a commit on a branch of its own',
    script: 'git switch -q -c feature; echo x > new.txt; git add .; git commit -q -m x; git switch -q -',
    names: [/^branch feature$/],
    patch: /\+\+\+ b\/new\.txt\n[^]*\+x/,
  },
  {
    what: 'a stash, with a file that is not tracked',
    isInSandbox: true,
    script: 'echo more >> README.md; echo x > new.txt; git stash -q -u',
    names: [/^stash@\{0\}$/],
    patch: /README\.md[^]*new\.txt/,
  },
  {
    what: 'two stashes',
    script: 'echo one >> README.md; git stash -q; echo two >> README.md; git stash -q',
    names: [/stash/, /stash/],
  },
  {
    what: 'a commit on no branch',
    script:
      'at=$(git branch --show-current); git checkout -q --detach; echo x > new.txt; git add .; git commit -q -m x; git checkout -q "$at"',
    names: [/^commit [0-9a-f]{12} on no branch$/],
    patch: /new\.txt/,
  },
  {
    what: 'commits in a work tree of its own',
    script:
      'git worktree add -q "$AWAY/tree" -b other; cd "$AWAY/tree"; echo x > new.txt; git add .; git commit -q -m x',
    names: [/^work tree tree$/, /^branch other$/],
    patch: /new\.txt/,
  },
  {
    what: 'files in a work tree of its own that are in no commit',
    isInSandbox: true,
    script: 'git worktree add -q --detach "$AWAY/tree"; cd "$AWAY/tree"; echo x > new.txt; mkdir deep; echo y > deep/y',
    names: [/^work tree tree$/],
    patch: /deep\/y[^]*new\.txt/,
  },
  {
    what: 'a work tree of its own with a pipe that git would wait for',
    isInSandbox: true,
    script:
      'git worktree add -q --detach "$AWAY/tree"; cd "$AWAY/tree"; echo x > new.txt; mkdir deep; mkfifo deep/.gitignore',
    names: [/^work tree tree$/],
    patch: /new\.txt/,
  },
  {
    what: 'a tag on a commit that no branch has',
    script:
      'git switch -q -c gone; echo x > new.txt; git add .; git commit -q -m x; git tag kept; git switch -q -; git branch -q -D gone',
    names: [/^refs\/tags\/kept$/],
  },
  {
    what: 'a work tree of its own whose files name each other relatively',
    script:
      'git worktree add -q --detach "$AWAY/tree"; cd "$AWAY/tree"; echo x > new.txt; own=$(git rev-parse --absolute-git-dir); realpath --relative-to="$own" "$PWD/.git" > "$own/gitdir"; echo "gitdir: $(realpath --relative-to="$PWD" "$own")" > .git',
    names: [/^work tree tree$/],
    patch: /new\.txt/,
  },
  {
    what: 'commits on no branch in work trees of its own, of which one was removed',
    script:
      'git worktree add -q --detach "$AWAY/a"; git worktree add -q --detach "$AWAY/b"; for name in a b; do (cd "$AWAY/$name"; echo x > "$name.txt"; git add .; git commit -q -m x); done; rm -rf "$AWAY/a"; cd "$AWAY/b"; git checkout -q --detach HEAD~1',
    names: [/^commit [0-9a-f]{12} on no branch$/, /^commit [0-9a-f]{12} on no branch$/],
    patch: /^diff --git a\/a\.txt/,
  },
  {
    what: 'a branch that begins from nothing',
    script:
      'git checkout -q --orphan pages; git rm -rfq .; echo x > index.html; git add .; git commit -q -m x; git checkout -q -f ralph/queue',
    names: [/^branch pages$/],
    patch: /^diff --git a\/index\.html b\/index\.html\nnew file mode 100644\n(?![^]*diff)/,
  },
  {
    what: "the server's commits, which the agent looked at, and remarks",
    isInSandbox: true,
    script:
      'at=$(git branch --show-current); git switch -q -c theirs; echo x > new.txt; git add .; git commit -q -m x; git update-ref refs/remotes/origin/theirs HEAD; git worktree add -q --detach "$AWAY/look"; git switch -q "$at"; git notes add -m remark',
    names: [],
  },
  {
    what: 'a branch without work',
    script:
      'git branch idle; git tag idle-tag; git worktree add -q --detach "$AWAY/old" HEAD~0; git worktree add -q "$AWAY/tree" -b third',
    names: [],
  },
  {
    what: 'a branch that was merged',
    script:
      'git switch -q -c feature; echo x > new.txt; git add .; git commit -q -m x; git switch -q -; git merge -q feature',
    names: [],
  },
  {
    what: 'a branch whose files were taken over',
    script:
      'git switch -q -c feature; echo x > new.txt; git add .; git commit -q -m x; git switch -q -; git checkout -q feature -- new.txt',
    names: [],
  },
  {
    what: 'a commit on a branch that is still checked out',
    script: 'git switch -q -c feature; echo x > new.txt; git add .; git commit -q -m x',
    names: [],
  },
  { what: 'a stash that was popped', script: 'echo x >> README.md; git stash -q; git stash pop -q', names: [] },
  {
    what: 'a work tree that says it is somewhere else',
    script:
      'git worktree add -q "$AWAY/tree"; echo /etc/.git > .git/worktrees/tree/gitdir; printf "x\\n" > .git/logs/HEAD',
    names: [],
  },
];

/** Runs a bash script as the owner of the work tree; `$AWAY` is a folder outside of it. */
async function runIn({ folder }: Scene, script: string): Promise<void> {
  const away = join(folder, '..', 'away');
  await mkdir(away, { recursive: true });
  await chmod(away, 0o777);
  const { uid } = await lstat(folder);
  const own =
    process.getuid?.() === 0 && uid !== 0
      ? ['setpriv', `--reuid=${String(uid)}`, `--regid=${String(uid)}`, '--clear-groups']
      : [];
  const [file, ...args] = [...own, 'sh', '-euc', script] as const;
  const identity = {
    GIT_AUTHOR_NAME: 'a',
    GIT_AUTHOR_EMAIL: 'a@b',
    GIT_COMMITTER_NAME: 'a',
    GIT_COMMITTER_EMAIL: 'a@b',
  };
  const env = {
    PATH: process.env['PATH'],
    HOME: '/nonexistent',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
    AWAY: away,
    ...identity,
  };
  execFileSync(file, args, { cwd: folder, env, stdio: ['ignore', 'ignore', 'inherit'] });
}

const places = [
  ['as this user', null],
  ['as another user', process.getuid?.() === 0 ? openOtherUserSandbox : openSameUserSandbox],
] as const;

describe.each(places)('work beside the work tree, %s', (_, agentSandbox) => {
  test.each(agentSandbox === null ? rows : rows.filter((row) => row.isInSandbox === true))(
    '$what',
    async ({ script, names, patch }) => {
      if (agentSandbox !== null) workIn(agentSandbox);
      await using scene = await setScene();
      await openFresh(scene);
      const { committed } = await iterate(scene, () => runIn(scene, script));
      expect(committed.beside.map(({ name }) => name)).toEqual(
        names.map((name) => expect.stringMatching(name) as string),
      );
      expect(committed.besideNow).toEqual(committed.beside.map(({ name }) => name));
      if (patch !== undefined) expect(committed.beside[0]?.patch).toMatch(patch);
      // The change is reported only once.
      const next = await iterate(scene, () => Promise.resolve());
      expect(next.committed.beside).toEqual([]);
      expect(next.committed.besideNow).toHaveLength(names.length);
    },
  );

  test('files of a submodule that the agent changed are named, and kept as a patch', async () => {
    if (agentSandbox !== null) workIn(agentSandbox);
    await using scene = await setScene();
    const { folder } = scene;
    const add = 'git init -q "$AWAY/lib"; cd "$AWAY/lib"; echo a > a.txt; git add .; git commit -q -m a; cd "$OLDPWD"';
    await runIn(scene, `${add}; git -c protocol.file.allow=always submodule add -q "$AWAY/lib" vendor/lib`);
    await scene.git('commit', '-q', '-m', 'Add a submodule');
    await scene.git('push', '-q', scene.server.repositoryFolder, 'HEAD:main');
    await openFresh(scene);
    expect(scene.folder).not.toBe(folder);
    const first = await iterate(scene, () => runIn(scene, 'echo x >> vendor/lib/a.txt; echo y > vendor/lib/new.txt'));
    expect(first.committed.beside).toMatchObject([
      { name: 'files of submodule vendor/lib', patch: expect.stringMatching(/a\.txt[^]*\+x[^]*new\.txt/) as string },
    ]);
    const second = await iterate(scene, () => runIn(scene, 'cd vendor/lib; git checkout -q .; rm new.txt'));
    expect(second.committed).toMatchObject({ beside: [], besideNow: [] });
  });

  test('files in the folder of a submodule that the job did not check out are named, and kept as a patch', async () => {
    if (agentSandbox !== null) workIn(agentSandbox);
    await using scene = await setScene();
    const link = `git update-index --add --cacheinfo 160000,${'1'.repeat(40)},vendor/lib`;
    await runIn(scene, `printf '[submodule "vendor/lib"]\n\tpath = vendor/lib\n' > .gitmodules; git add .; ${link}`);
    await scene.git('commit', '-q', '-m', 'Add a submodule');
    await scene.git('push', '-q', scene.server.repositoryFolder, 'HEAD:main');
    await openFresh(scene);
    const first = await iterate(scene, () => runIn(scene, 'mkdir -p vendor/lib; echo new > vendor/lib/new.txt'));
    expect(first.committed.beside).toMatchObject([
      { name: 'files of submodule vendor/lib', patch: expect.stringMatching(/new\.txt[^]*\+new/) as string },
    ]);
    const second = await iterate(scene, () => runIn(scene, 'rm vendor/lib/new.txt'));
    expect(second.committed).toMatchObject({ beside: [], besideNow: [] });
  });

  test.each([
    ['a link to another folder', 'rmdir vendor/lib; mkfifo "$AWAY/.gitignore"; ln -s "$AWAY" vendor/lib'],
    [
      'below a link to another folder',
      'rmdir -p vendor/lib; mkdir "$AWAY/lib"; echo s > "$AWAY/lib/s"; mkfifo "$AWAY/lib/.gitignore"; ln -s "$AWAY" vendor',
    ],
  ])('a submodule that is %s is not read', async (_what, script) => {
    if (agentSandbox !== null) workIn(agentSandbox);
    await using scene = await setScene();
    const link = `git update-index --add --cacheinfo 160000,${'1'.repeat(40)},vendor/lib`;
    await runIn(scene, `printf '[submodule "vendor/lib"]\n\tpath = vendor/lib\n' > .gitmodules; git add .; ${link}`);
    await scene.git('commit', '-q', '-m', 'Add a submodule');
    await scene.git('push', '-q', scene.server.repositoryFolder, 'HEAD:main');
    await openFresh(scene);
    const { committed } = await iterate(scene, () => runIn(scene, `echo secret > "$AWAY/file.txt"; ${script}`));
    expect(committed.beside).toEqual([]);
  });

  test('files that git ignores are named once, each folder of them as one', async () => {
    if (agentSandbox !== null) workIn(agentSandbox);
    await using scene = await setScene();
    await scene.write('.gitignore', 'lib/\n*.log\n');
    await scene.write('old.log', 'x');
    await openFresh(scene);
    const script =
      "printf 'lib/\\n*.log\\n' > .gitignore; mkdir -p src/lib/deep; touch src/lib/a src/lib/deep/b new.log";
    const first = await iterate(scene, () => runIn(scene, script));
    expect(first.committed.newlyIgnored).toEqual(['new.log', 'src/lib/']);
    const second = await iterate(scene, () => Promise.resolve());
    expect(second.committed.newlyIgnored).toEqual([]);
  });

  test('an agent that leaves the branch for an earlier commit takes nothing of the lane away', async () => {
    if (agentSandbox !== null) workIn(agentSandbox);
    await using scene = await setScene();
    await openFresh(scene);
    await iterate(scene, () => runIn(scene, 'echo 1 > one.txt'));
    const script =
      'git checkout -q -b mine HEAD~1; echo 2 > two.txt; git add .; git commit -q -m 2; echo 3 > three.txt';
    const { change } = await iterate(scene, () => runIn(scene, script));
    expect(change.files).toEqual(['three.txt', 'two.txt']);
  });

  test('files that the agent leaves out by a sparse checkout are not removed', async () => {
    if (agentSandbox !== null) workIn(agentSandbox);
    await using scene = await setScene();
    await scene.write('docs/page.md', 'x');
    await scene.write('lib/a.js', 'x');
    await scene.git('add', '.');
    await scene.git('commit', '-q', '-m', 'Add folders');
    await scene.git('push', '-q', scene.server.repositoryFolder, 'HEAD:main');
    await openFresh(scene);
    const sparse = 'git sparse-checkout set lib; echo y >> lib/a.js';
    const first = await iterate(scene, () =>
      runIn(scene, `echo z > docs/new.md; git add .; git commit -q -m z; ${sparse}`),
    );
    expect(first.change.files).toEqual(['docs/new.md', 'lib/a.js']);
    const second = await iterate(scene, () => runIn(scene, 'ls docs; rm docs/page.md'));
    expect(second.change.files).toEqual(['docs/page.md']);
  });

  test('work from before the agent began is not reported, nor is work that returns to the work tree', async () => {
    if (agentSandbox !== null) workIn(agentSandbox);
    await using scene = await setScene();
    await scene.git('switch', '-q', '-c', 'old');
    await scene.write('old.txt', 'x');
    await scene.git('add', '.');
    await scene.git('commit', '-q', '-m', 'old');
    await scene.git('switch', '-q', 'main');
    await openFresh(scene);
    const first = await iterate(scene, () => runIn(scene, 'echo x >> README.md; git stash -q'));
    expect(first.committed.besideNow).toHaveLength(1);
    const second = await iterate(scene, () => runIn(scene, 'git stash pop -q'));
    expect(second.committed.besideNow).toEqual([]);
    expect(second.change.files).toEqual(['README.md']);
  });
});
