import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { chmod, chown, lchown, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { createWorkFiles } from '../../../../src/runner/workspace-files.ts';
import { rows } from '../../../runs.ts';
import {
  BRANCH,
  iterate,
  messageFor,
  openFresh,
  reachByFolder,
  runGit,
  setScene,
  stateOf,
  workIn,
  type Scene,
} from '../git-fixture.ts';
import { resolve, setConflict } from '../merge/merge-fixture.ts';
import { AGENT_UID, asAgent, openOtherUserSandbox } from './sandbox-fixture.ts';

reachByFolder();

workIn(openOtherUserSandbox);

const unaborted = new AbortController().signal;
const own = process.getuid?.() ?? 0;

/** A program that reports its user, and one of our files that nobody else may read. */
interface Witness {
  readonly program: string;
  readonly secret: string;
  /** Returns the ids of the users who ran the program. */
  ran(): readonly string[];
}

async function layWitness(scene: Scene): Promise<Witness> {
  const folder = join(scene.folder, '..', 'witness');
  const [program, list, secret] = [join(folder, 'program'), join(folder, 'list'), join(folder, 'secret')];
  await mkdir(folder);
  await writeFile(list, '');
  await chmod(list, 0o666);
  await writeFile(program, `#!/bin/sh\nid -u >> ${list}\nexit 1\n`, { mode: 0o755 });
  await writeFile(secret, 'ref: refs/heads/our-secret\n', { mode: 0o600 });
  return { program, secret, ran: () => readFileSync(list, 'utf8').split('\n').filter(Boolean) };
}

/** Returns everything below a folder that does not belong to a user. */
function notOf(uid: number, folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => lstatSync(path).uid !== uid);
}

/**
 * Attacks on the git directory. `witness` is a program and one of our files; `proof` is a plain git command that runs
 * the program.
 */
const attacks: readonly [what: string, script: (witness: Witness, scene: Scene) => string, proof?: string][] = [
  ['nothing', () => ':'],
  [
    'a file system monitor, and hooks elsewhere',
    ({ program }) =>
      `git config core.fsmonitor ${program}; mkdir -p hooks-of-mine; ln -sf ${program} hooks-of-mine/reference-transaction; git config core.hooksPath $PWD/hooks-of-mine`,
    'git commit --allow-empty -m x',
  ],
  [
    'filters and attributes',
    ({ program }) =>
      `git config filter.evil.clean ${program}; git config filter.evil.smudge ${program}; git config filter.evil.process ${program}; mkdir -p .git/info; echo '* filter=evil' > .git/info/attributes; echo '*.md diff=evil' > .gitattributes; git config diff.evil.textconv ${program}`,
    'git add --renormalize .',
  ],
  ['alternates', ({ secret }) => `mkdir -p .git/objects/info; dirname ${secret} > .git/objects/info/alternates`],
  [
    'refs that are pipes',
    () =>
      `rm -f .git/refs/heads/${BRANCH} .git/packed-refs; mkdir -p .git/refs/heads/ralph; mkfifo .git/refs/heads/${BRANCH} .git/packed-refs`,
  ],
  ['no objects', () => 'rm -rf .git/objects'],
  ['HEAD as a link to a file of ours', ({ secret }) => `ln -sf ${secret} .git/HEAD`],
  ['no git directory', () => 'rm -rf .git'],
  ['a link to a folder of ours', ({ secret }) => `rm -rf .git; ln -s $(dirname ${secret}) .git`],
  ['a closed git directory', () => 'chmod 0 .git/refs .git/hooks .git/objects/pack .git'],
  [
    'replaced objects and grafts',
    () =>
      'git rev-parse HEAD > .git/info/grafts; git replace -f HEAD:README.md HEAD:new.txt || git replace -f HEAD:README.md HEAD:package.json',
  ],
  [
    'an outbox of its own',
    (_, { agentSandbox }) =>
      `rm -rf ${agentSandbox?.agentSandbox.folders.home}/.ralph-work-tree; ln -s ${agentSandbox?.agentSandbox.folders.inbox} ${agentSandbox?.agentSandbox.folders.home}/.ralph-work-tree`,
  ],
  [
    'a broken outbox',
    (_, { agentSandbox }) =>
      `cd ${agentSandbox?.agentSandbox.folders.home}/.ralph-work-tree; echo rubbish > own/index; rm -rf own/refs; echo x > own/refs; rm -rf checkout/info checkout/HEAD packs; mkfifo packs checkout/HEAD; ln -sf /etc own/objects/pack`,
  ],
];

/** Variants of the same attacks, for `npm run test:deep`. */
const variants: typeof attacks = [
  [
    'hooks',
    ({ program }) =>
      `for hook in post-checkout post-index-change reference-transaction pre-commit fsmonitor-watchman; do ln -sf ${program} .git/hooks/$hook; done`,
    'git commit --allow-empty -m x',
  ],
  [
    'an included config, and one for this work tree',
    ({ program }) =>
      `printf '[core]\\n\\tfsmonitor = ${program}\\n' > .git/more; git config include.path more; git config extensions.worktreeConfig true; cp .git/more .git/config.worktree`,
    'git status',
  ],
  ['another common folder', ({ secret }) => `dirname ${secret} > .git/commondir`],
  [
    'other objects',
    () => 'find .git/objects -type f | while read -r file; do chmod u+w $file; echo rubbish > $file; done',
  ],
  ['HEAD as a pipe', () => 'rm .git/HEAD; mkfifo .git/HEAD'],
  ['an index of rubbish', () => 'echo rubbish > .git/index'],
  [
    'a lock that is a folder',
    () => 'mkdir -p .git/index.lock/deep .git/HEAD.lock; touch .git/index.lock/deep/file .git/config.lock',
  ],
  ['a git directory elsewhere', ({ secret }) => `rm -rf .git; echo "gitdir: $(dirname ${secret})" > .git`],
  [
    'a closed outbox',
    (_, { agentSandbox }) =>
      `chmod 0 ${agentSandbox?.agentSandbox.folders.home}/.ralph-work-tree/own ${agentSandbox?.agentSandbox.folders.home}`,
  ],
];

describe.skipIf(own !== 0)('a tree that belongs to the user of the agent', () => {
  test.each(rows(attacks.length, [...attacks, ...variants]))(
    '%s: the work is kept, nothing runs as us, the checkout stays as it is, and is a plain one of what is published then',
    async (_, attack, proof) => {
      await using scene = await setScene();
      await scene.git('config', 'http.extraheader', 'AUTHORIZATION: basic c2VjcmV0');
      const witness = await layWitness(scene);
      const checkout = stateOf(scene.checkout);
      const config = await scene.read('.git/config');
      const history = await scene.git('rev-list', '--count', 'HEAD');
      const { head: start } = await openFresh(scene);
      expect(notOf(AGENT_UID, scene.folder)).toEqual([]);
      expect(stateOf(scene.checkout)).toEqual(checkout);

      const before = await scene.repository.snapshot();
      expect(before.head).toBe(start);
      await asAgent(
        scene.folder,
        `echo new > new.txt; echo changed >> README.md; rm -rf witnessed; ${attack(witness, scene)}`,
      );
      const after = await scene.repository.snapshot();
      const change = await scene.repository.compare(before, after);
      expect(change.files.filter((path) => !/^\.gitattributes$|^hooks-of-mine/.test(path))).toEqual([
        'README.md',
        'new.txt',
      ]);
      const committed = await scene.repository.commit(messageFor(before, after));
      expect(committed.commit).not.toBeNull();
      const pushed = await scene.remote().push({ branch: BRANCH, commit: committed.head, start: { kind: 'fresh' } });
      expect(pushed).toEqual({ kind: 'pushed' });
      expect(await scene.serverGit('show', `${BRANCH}:new.txt`)).toBe('new');

      // The script repeats the agent's changes and adds those that verify leaves.
      await asAgent(
        scene.folder,
        `echo more >> new.txt; mkdir -p left; echo x > left/file; ${attack(witness, scene)} || true`,
      );
      expect(await scene.repository.putBack()).toEqual(expect.arrayContaining(['left/file', 'new.txt']));
      expect(await scene.read('new.txt')).toBe('new\n');
      expect((await scene.repository.snapshot()).head).toBe(committed.head);
      // The program did not run as the agent's user either.
      expect(witness.ran()).toEqual([]);
      if (proof !== undefined) {
        await asAgent(scene.folder, `${proof} || true`);
        expect(new Set(witness.ran())).toEqual(new Set([String(AGENT_UID)]));
      }

      expect(stateOf(scene.checkout)).toEqual(checkout);
      await scene.repository.leave();
      expect(notOf(own, scene.checkout)).toEqual([]);
      expect(await scene.read('.git/config')).toBe(config);
      expect(await scene.git('symbolic-ref', 'HEAD')).toBe(`refs/heads/${BRANCH}`);
      expect(await scene.git('rev-parse', 'HEAD')).toBe(committed.head);
      expect(await scene.git('status', '--porcelain')).toBe('');
      expect(await scene.git('rev-list', '--count', 'HEAD~1')).toBe(history);
      await scene.git('commit', '--quiet', '--allow-empty', '-m', 'a later step of the job');
      await scene.git('fsck', '--strict');
      expect(witness.ran().filter((uid) => uid === String(own))).toEqual([]);
    },
  );

  test('what it committed is committed again, and what it did to objects of the tree is nothing to the checkout', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    const { committed, change } = await iterate(scene, () =>
      asAgent(
        scene.folder,
        'echo a > a.txt; git add .; git commit -qm mine; echo b > b.txt; git add .; git commit -qm "mine as well"; echo c > c.txt',
      ),
    );
    expect(change).toMatchObject({ files: ['a.txt', 'b.txt', 'c.txt'], agentCommits: 2 });
    expect(await scene.quarantineGit('log', '--format=%an %s', `main..${committed.head}`).catch(() => '')).toBe('');
    expect(await scene.quarantineGit('log', '-3', '--format=%an %s', committed.head)).toBe(
      'ralph Add a feature\nralph mine as well\nralph mine',
    );
    const readme = await readFile(join(scene.folder, 'README.md'), 'utf8');
    const id = await scene.serverGit('rev-parse', 'main:README.md');
    const object = join(scene.folder, '.git', 'objects', id.slice(0, 2), id.slice(2));
    await mkdir(dirname(object), { recursive: true });
    await writeFile(object, deflateSync(`blob ${String(readme.length)}\0${'e'.repeat(readme.length)}`));
    await scene.repository.leave();
    expect(await scene.git('show', 'HEAD:README.md')).toBe(readme.trim());
    expect(await scene.git('show', 'HEAD:c.txt')).toBe('c');
    await scene.git('fsck', '--strict');
  });

  test('all of the history is there where the checkout borrows some of its objects itself', async () => {
    await using scene = await setScene();
    await scene.write('more.txt', 'x');
    await scene.git('add', '.');
    await scene.git('commit', '--quiet', '-m', 'more');
    await scene.git('push', '--quiet', scene.server.repositoryFolder, 'HEAD:main');
    await rm(scene.checkout, { recursive: true });
    await runGit(dirname(scene.checkout), [
      'clone',
      '--quiet',
      '--shared',
      scene.server.repositoryFolder,
      scene.checkout,
    ]);
    const commits = await scene.git('rev-list', '--count', 'HEAD');
    await openFresh(scene);
    expect(
      await asAgent(scene.folder, 'git rev-list --count --objects HEAD > /dev/null; git rev-list --count HEAD'),
    ).toBe(commits);
  });

  test('objects of the checkout are lent, whoever may read them, and are nobody else’s to write', async () => {
    await using scene = await setScene();
    await scene.write('more.txt', 'x');
    await scene.git('add', '.');
    await scene.git('commit', '--quiet', '-m', 'more');
    await scene.git('repack', '--quiet', '-d');
    await scene.git('commit', '--quiet', '--allow-empty', '-m', 'loose');
    await scene.git('push', '--quiet', scene.server.repositoryFolder, 'HEAD:main');
    const objects = join(scene.checkout, '.git', 'objects');
    const files = readdirSync(objects, { recursive: true, encoding: 'utf8' }).map((name) => join(objects, name));
    for (const path of files) await chmod(path, lstatSync(path).isDirectory() ? 0o700 : 0o400);
    const before = stateOf(scene.checkout);
    const mask = process.umask(0o077);
    try {
      const { base } = await openFresh(scene);
      const clean = await scene.repository.checkOutCommitAlone(base, unaborted);
      for (const tree of [scene.folder, clean]) {
        expect(await asAgent(tree, 'git rev-list --count HEAD')).toBe(
          await runGit(scene.checkout, ['rev-list', '--count', 'main']),
        );
        expect(await asAgent(tree, 'git log -p --format=%s | grep -c . ; git status --porcelain')).toMatch(/^\d+$/);
        await asAgent(tree, 'git fsck --strict');
        const lent = (await asAgent(tree, 'cat .git/objects/info/alternates')).split('\n');
        expect(lent).toHaveLength(2);
        for (const folder of lent) {
          expect(notOf(own, folder)).toEqual([]);
          await expect(asAgent(folder, `touch evil`)).rejects.toThrow('Permission denied');
          await expect(
            asAgent(folder, `for f in */* */; do : > "$f"; rm -rf "$f"; [ -e "$f" ] || exit 0; done; exit 1`),
          ).rejects.toThrow();
        }
      }
      const { committed } = await iterate(scene, () =>
        asAgent(scene.folder, 'echo new > new.txt; git add .; git commit -qm mine; git gc -q --prune=now'),
      );
      expect(committed.publishedPaths).toEqual(['new.txt']);
      expect(stateOf(scene.checkout)).toEqual(before);
      await scene.repository.leave();
    } finally {
      process.umask(mask);
    }
    expect(await scene.git('status', '--porcelain')).toBe('');
    await scene.git('fsck', '--strict');
  });

  test("files that it closes, links to the runner's files, and pipes", async () => {
    await using scene = await setScene();
    const { secret } = await layWitness(scene);
    await openFresh(scene);
    await scene.write('theirs/file.txt', 'of a third user');
    await chown(join(scene.folder, 'theirs'), AGENT_UID + 1, AGENT_UID + 1);
    await chmod(join(scene.folder, 'theirs'), 0o700);
    const { committed } = await iterate(scene, () =>
      asAgent(
        scene.folder,
        `echo x > closed.txt; chmod 0 closed.txt; mkdir closed; echo x > closed/in.txt; chmod 0 closed; ln -s ${secret} stolen.txt; rm README.md; mkfifo README.md; echo fine > fine.txt; chmod 600 package.json`,
      ),
    );
    expect(committed.withheld).toEqual(
      expect.arrayContaining([
        { path: 'closed.txt', why: 'it cannot be read' },
        { path: 'stolen.txt', why: 'it is a link that could lead out of the repository' },
      ]),
    );
    expect(committed.publishedPaths).toContain('fine.txt');
    expect(await scene.quarantineGit('ls-tree', '-r', '--name-only', committed.head)).not.toMatch(
      /theirs|closed|stolen/,
    );
    await scene.repository.leave();
    expect(notOf(own, scene.checkout)).toEqual([]);
    expect(await scene.read('fine.txt')).toBe('fine\n');
  });

  test('its files are read and replaced as its user: a link leads nowhere', async () => {
    await using scene = await setScene();
    const { secret } = await layWitness(scene);
    await openFresh(scene);
    const files = scene.repository.files(createWorkFiles);
    await asAgent(
      scene.folder,
      `mkdir -p .beads .ralph; printf ours > .ralph/notes.md; echo '{"a":1}' > .beads/a.jsonl; ln -s ${secret} .beads/b.jsonl; ln -s ${secret} stolen.md; echo 0123456789 > .ralph/long.md; mkfifo .ralph/pipe.md`,
    );
    expect(await files.read(['.beads/*.jsonl', 'stolen.md', '.ralph/notes.md', '.ralph/pipe.md'])).toEqual({
      '.beads/a.jsonl': '{"a":1}\n',
      '.ralph/notes.md': 'ours',
    });
    expect(await files.readEnd('.ralph/long.md', 4)).toBe('789\n');
    expect(await files.readEnd('stolen.md', 100)).toBeNull();
    await files.replace({ path: '.ralph/notes.md', old: 'ours', text: 'new' });
    await expect(files.replace({ path: '.ralph/notes.md', old: 'ours', text: 'newer' })).rejects.toThrow(/was changed/);
    await expect(files.replace({ path: 'stolen.md', old: null, text: 'x' })).rejects.toThrow(/is a link/);
    expect(lstatSync(join(scene.folder, '.ralph', 'notes.md')).uid).toBe(AGENT_UID);
    await files.remove('.ralph/long.md');
    await files.remove('stolen.md');
    expect(await files.readEnd('.ralph/long.md', 4)).toBeNull();
    expect(lstatSync(join(scene.folder, 'stolen.md')).isSymbolicLink()).toBe(true);
    expect(await files.readEnd('.ralph/notes.md', 10)).toBe('new');
  });

  test('a checkout of another user, as in a container job: git works in the trees, and the checkout stays theirs', async () => {
    await using scene = await setScene();
    const theirs = 60_701;
    for (const path of [scene.checkout, ...notOf(theirs, scene.checkout)]) await lchown(path, theirs, theirs);
    const { base } = await openFresh(scene);
    const clean = await scene.repository.checkOutCommitAlone(base, unaborted);
    for (const folder of [scene.folder, clean])
      expect(await asAgent(folder, 'echo x > new.txt; git status --porcelain')).toBe('?? new.txt');
    expect(notOf(theirs, scene.checkout)).toEqual([]);
  });

  test('clean trees are its own, and the one before is removed whatever it did to it', async () => {
    await using scene = await setScene();
    await scene.write('.git/info/exclude', 'node_modules/\n');
    await scene.write('node_modules/pkg/index.js', 'before');
    const { base } = await openFresh(scene);
    const folder = await scene.repository.checkOutCommitAlone(base, unaborted);
    expect(folder).toBe(join(scene.agentSandbox?.agentSandbox.folders.trees ?? '', 'clean', 'workspace'));
    expect([lstatSync(folder).uid, ...notOf(AGENT_UID, folder)]).toEqual([AGENT_UID]);
    expect(
      await asAgent(
        folder,
        'cat node_modules/pkg/index.js; echo x > node_modules/pkg/new; mkdir closed; touch closed/x; chmod 0 closed',
      ),
    ).toBe('before');
    const again = await scene.repository.checkOutCommitAlone(base, unaborted);
    expect(again).toBe(folder);
    expect(await asAgent(folder, 'ls node_modules/pkg; ls -a')).not.toMatch(/new|closed/);
  });

  test('a clean tree without the change of a task is laid in the same way', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    const { committed } = await iterate(
      scene,
      () => asAgent(scene.folder, 'echo "expect(1)" > test/a.test.js; echo new > new.txt'),
      scene.repository,
      { 'Ralph-Task': 'issue-1' },
    );
    const [changes] = await scene.repository.taskChanges();
    const files = changes?.files.filter(({ path }) => path === 'new.txt') ?? [];
    const commit = await scene.repository.commitReverted({ commit: committed.head, files });
    const folder = await scene.repository.checkOutCommitAlone(commit, unaborted);
    expect([lstatSync(folder).uid, ...notOf(AGENT_UID, folder)]).toEqual([AGENT_UID]);
    expect(await asAgent(folder, 'ls test/a.test.js; [ ! -e new.txt ]; git status --porcelain')).toBe('test/a.test.js');
  });

  test('what the job did not check out stays so', async () => {
    await using scene = await setScene();
    await scene.git('update-index', '--skip-worktree', 'src/sum.js');
    await rm(join(scene.folder, 'src', 'sum.js'));
    await openFresh(scene);
    const { change } = await iterate(scene, () => asAgent(scene.folder, 'echo new > new.txt'));
    expect(change.files).toEqual(['new.txt']);
    expect(await asAgent(scene.folder, 'git status --porcelain')).toBe('');
    await scene.repository.leave();
    expect(await scene.git('status', '--porcelain')).toBe('');
    expect(await scene.git('ls-files', '-t', 'src/sum.js')).toBe('S src/sum.js');
  });

  test('what the agent removes of what it is put back from is lent again', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    await scene.repository.snapshot();
    await asAgent(scene.folder, 'echo work > work.txt');
    await scene.repository.snapshot();
    await asAgent(
      scene.folder,
      `echo changed > work.txt; rm -rf ${scene.agentSandbox?.agentSandbox.folders.home ?? ''}/.ralph-work-tree`,
    );
    expect(await scene.repository.putBack()).toEqual(['work.txt']);
    expect(await scene.read('work.txt')).toBe('work\n');
  });

  test('after a kill, what it left is in nobody’s way', async () => {
    await using scene = await setScene();
    const before = stateOf(scene.checkout);
    await openFresh(scene);
    await iterate(scene, () => asAgent(scene.folder, 'echo new > new.txt; git config core.fsmonitor /bin/false'));
    await asAgent(
      scene.folder,
      'rm -rf .git/hooks .git/info; echo junk > .git/HEAD; git init -q inner; chmod 0 inner .git',
    );
    expect(stateOf(scene.checkout)).toEqual(before);
    const next = scene.reopen();
    expect(await next.problems()).toEqual([]);
    await openFresh(scene, next);
    expect(await asAgent(scene.folder, 'git status --porcelain; ls')).not.toMatch(/inner|new\.txt/);
    expect(stateOf(scene.checkout)).toEqual(before);
  });

  test('is nothing that is asked about once it was left; what is published still is', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    await iterate(scene, () => asAgent(scene.folder, 'echo new > new.txt'));
    await scene.repository.leave();
    await expect(scene.repository.snapshot()).rejects.toThrow(/^(?:there is no work tree$|the (?:work )?tree was )/);
    await expect(scene.repository.putBack()).rejects.toThrow(/^(?:there is no work tree$|the (?:work )?tree was )/);
    expect((await scene.repository.review())?.lines).toBe(1);
    expect(await scene.repository.publishedTexts(['new.txt'])).toEqual({ 'new.txt': 'new\n' });
    await scene.repository.bundle({
      path: join(scene.workFolder, 'bundle'),
      since: await scene.git('rev-parse', 'HEAD~1'),
    });
    await scene.repository.leave();
  });

  test('of a linked work tree', async () => {
    await using scene = await setScene();
    const linked = join(scene.checkout, '..', 'linked');
    await scene.git('worktree', 'add', '--quiet', '-b', 'side', linked, 'main');
    const before = [stateOf(scene.checkout), stateOf(linked)];
    const repository = scene.reopenIn(linked);
    await openFresh(scene, repository);
    expect(notOf(AGENT_UID, scene.folder)).toEqual([]);
    const { committed } = await iterate(
      scene,
      () => asAgent(scene.folder, 'echo new > new.txt; git add .; git commit -qm mine'),
      repository,
    );
    expect([stateOf(scene.checkout), stateOf(linked)]).toEqual(before);
    await repository.leave();
    expect(await runGit(linked, ['rev-parse', 'HEAD'])).toBe(committed.head);
    expect(await runGit(linked, ['status', '--porcelain'])).toBe('');
  });

  test('that cannot be given to it ends the run with a reason, and leaves the checkout as it is', async () => {
    await using scene = await setScene();
    const before = stateOf(scene.checkout);
    const agentSandbox = scene.agentSandbox?.agentSandbox ?? fail('There is no sandbox.');
    Object.assign(agentSandbox, { give: () => Promise.reject(new Error('no such user')) });
    await expect(openFresh(scene)).rejects.toThrow('no such user');
    expect(stateOf(scene.checkout)).toEqual(before);
  });

  test('in which somebody cannot be ended: the checkout is not moved', async () => {
    await using scene = await setScene();
    const before = stateOf(scene.checkout);
    await openFresh(scene);
    await iterate(scene, () => asAgent(scene.folder, 'echo new > new.txt'));
    Object.assign(scene.agentSandbox?.agentSandbox ?? {}, { end: () => Promise.resolve(['miner (4711)']) });
    await expect(scene.repository.leave()).rejects.toThrow(/cannot be ended: miner \(4711\)\./);
    expect(stateOf(scene.checkout)).toEqual(before);
  });
});

function fail(message: string): never {
  throw new Error(message);
}

test.skipIf(own !== 0)(
  'a merge of the base branch is laid and resolved as the other user, and the checkout has it as a commit',
  async () => {
    await using conflict = await setConflict({
      first: { 'a.txt': 'first\n', 'b.txt': 'b\n' },
      lane: { 'a.txt': 'lane\n' },
      base: { 'a.txt': 'base\n', 'b.txt': 'b of the base\n', 'new/c.txt': 'c\n' },
    });
    const { scene, repository, head, base } = conflict;
    expect(await repository.beginMerge()).toEqual({ kind: 'begun', conflicts: ['a.txt'], lockFiles: [] });
    expect(await scene.read('a.txt')).toContain('<<<<<<< ralph/queue\nlane\n');
    for (const path of ['a.txt', 'b.txt', 'new', 'new/c.txt'])
      expect((await stat(join(scene.folder, path))).uid).toBe(AGENT_UID);
    const before = await resolve(conflict, () => asAgent(scene.folder, 'git add --all; git commit --quiet -m early'));
    expect(before.committed).toMatchObject({ merge: 'open', commit: null });
    const { committed } = await resolve(conflict, () => asAgent(scene.folder, 'echo both > a.txt'));
    expect(committed).toMatchObject({ merge: 'made', withheld: [] });
    await repository.leave();
    expect(await scene.git('log', '-1', '--format=%P', BRANCH)).toBe(`${head} ${base}`);
    expect(await scene.git('status', '--porcelain')).toBe('');
    expect(await scene.read('b.txt')).toBe('b of the base\n');
  },
);
