import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { chmod, chown, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { takeBackAfterKill } from '../../../../src/git/checkout/tree/hand-over.ts';
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
  workIn,
  type Scene,
} from '../git-fixture.ts';
import { resolve, setConflict } from '../merge/merge-fixture.ts';
import { AGENT_UID, asAgent, openOtherUserRoom } from './room-fixture.ts';

reachByFolder();

workIn(openOtherUserRoom);

const unaborted = new AbortController().signal;
const own = process.getuid?.() ?? 0;

/** A program that says who runs it, and a file of ours that nobody else may read. */
interface Witness {
  readonly program: string;
  readonly secret: string;
  /** User ids that ran it. */
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

/** Everything below a folder that does not belong to a user. */
function notOf(uid: number, folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => lstatSync(path).uid !== uid);
}

/** What decides how git behaves in a checkout: every file of its git directory but objects, refs, logs and the index. */
function behaviourOf(folder: string): Readonly<Record<string, string>> {
  const names = readdirSync(join(folder, '.git'), { recursive: true, encoding: 'utf8' });
  const files = names.filter(
    (name) => !/^(?:objects|refs|logs)(?:\/|$)|^index$|^HEAD$|^shallow$|^packed-refs$/.test(name),
  );
  return Object.fromEntries(
    files.map((name) => {
      const found = lstatSync(join(folder, '.git', name));
      const what = found.isFile()
        ? readFileSync(join(folder, '.git', name), 'utf8')
        : found.isDirectory()
          ? 'folder'
          : 'other';
      return [name, what];
    }),
  );
}

/** What an agent may do to the git directory. `witness`: a program of its own, and a file of ours; `proof`: a plain git command that runs the program. */
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
    () => `rm -f .git/refs/heads/${BRANCH} .git/packed-refs; mkfifo .git/refs/heads/${BRANCH} .git/packed-refs`,
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
    (_, { room }) =>
      `rm -rf ${room?.room.folders.home}/.ralph-work-tree; ln -s ${room?.room.folders.inbox} ${room?.room.folders.home}/.ralph-work-tree`,
  ],
  [
    'a broken outbox',
    (_, { room }) =>
      `cd ${room?.room.folders.home}/.ralph-work-tree; echo rubbish > own/index; rm -rf own/refs; echo x > own/refs; rm -rf checkout/info checkout/HEAD packs; mkfifo packs checkout/HEAD; ln -sf /etc own/objects/pack`,
  ],
];

/** Others by the same ways: for `npm run test:deep`. */
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
    (_, { room }) => `chmod 0 ${room?.room.folders.home}/.ralph-work-tree/own ${room?.room.folders.home}`,
  ],
];

describe.skipIf(own !== 0)('a work tree that belongs to the user of the agent', () => {
  test.each(rows(attacks.length, [...attacks, ...variants]))(
    '%s: the work is kept, nothing runs as us, and what is left is a plain checkout',
    async (_, attack, proof) => {
      await using scene = await setScene();
      const witness = await layWitness(scene);
      const { head: start } = await openFresh(scene);
      const history = await scene.git('rev-list', '--count', 'HEAD');
      const behaviour = behaviourOf(scene.folder);
      const takeBack = await scene.repository.handOver();
      expect(notOf(AGENT_UID, scene.folder)).toEqual([]);

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

      // What verify leaves, and once more what the agent did.
      await asAgent(
        scene.folder,
        `echo more >> new.txt; mkdir -p left; echo x > left/file; ${attack(witness, scene)} || true`,
      );
      expect(await scene.repository.putBack()).toEqual(expect.arrayContaining(['left/file', 'new.txt']));
      expect(await scene.read('new.txt')).toBe('new\n');
      expect((await scene.repository.snapshot()).head).toBe(committed.head);
      // Not as the agent either.
      expect(witness.ran()).toEqual([]);
      if (proof !== undefined) {
        await asAgent(scene.folder, `${proof} || true`);
        expect(new Set(witness.ran())).toEqual(new Set([String(AGENT_UID)]));
      }

      await takeBack();
      expect(notOf(own, scene.folder)).toEqual([]);
      expect(behaviourOf(scene.folder)).toEqual(behaviour);
      expect(await scene.git('symbolic-ref', 'HEAD')).toBe(`refs/heads/${BRANCH}`);
      expect(await scene.git('rev-parse', 'HEAD')).toBe(committed.head);
      expect(await scene.git('status', '--porcelain', '--', 'README.md', 'new.txt', 'src')).toBe('');
      expect(await scene.git('diff', '--cached', '--name-only')).toBe('');
      if (!(await isShallow(scene))) expect(await scene.git('rev-list', '--count', 'HEAD~1')).toBe(history);
      await scene.git('commit', '--quiet', '--allow-empty', '-m', 'a later step of the job');
      await scene.git('fsck', '--strict');
      expect(witness.ran().filter((uid) => uid === String(own))).toEqual([]);
    },
  );

  const isShallow = (scene: Scene): Promise<boolean> =>
    stat(join(scene.folder, '.git', 'shallow')).then(
      () => true,
      () => false,
    );

  test('what it committed is committed again, and what it did to objects of the job is undone', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    const takeBack = await scene.repository.handOver();
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
    const id = await runGit(join(scene.server.repositoryFolder), ['rev-parse', 'main:README.md']);
    const object = join(scene.folder, '.git', 'objects', id.slice(0, 2), id.slice(2));
    await rm(object);
    await writeFile(object, deflateSync(`blob ${String(readme.length)}\0${'e'.repeat(readme.length)}`));
    await chown(object, AGENT_UID, AGENT_UID);
    await takeBack();
    expect(await scene.git('show', 'HEAD:README.md')).toBe(readme.trim());
    expect(await scene.git('show', 'HEAD:c.txt')).toBe('c');
    await scene.git('fsck', '--strict');
    expect(await isShallow(scene)).toBe(true);
  });

  test('files that it closes, links to files of ours, and pipes', async () => {
    await using scene = await setScene();
    const { secret } = await layWitness(scene);
    await openFresh(scene);
    await scene.write('theirs/file.txt', 'of a third user');
    await chown(join(scene.folder, 'theirs'), AGENT_UID + 1, AGENT_UID + 1);
    await chmod(join(scene.folder, 'theirs'), 0o700);
    const takeBack = await scene.repository.handOver();
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
    await takeBack();
    expect(notOf(own, scene.folder).map((path) => basename(path))).toEqual(['theirs']);
  });

  test('its files are read and replaced as its user: a link leads nowhere', async () => {
    await using scene = await setScene();
    const { secret } = await layWitness(scene);
    await openFresh(scene);
    const files = scene.repository.files(createWorkFiles(scene.folder));
    await scene.write('.ralph/notes.md', 'ours');
    expect(await files.readEnd('.ralph/notes.md', 10)).toBe('ours');
    const takeBack = await scene.repository.handOver();
    await asAgent(
      scene.folder,
      `mkdir -p .beads; echo '{"a":1}' > .beads/a.jsonl; ln -s ${secret} .beads/b.jsonl; ln -s ${secret} stolen.md; echo 0123456789 > .ralph/long.md; mkfifo .ralph/pipe.md`,
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
    await takeBack();
    expect(await files.readEnd('.ralph/notes.md', 10)).toBe('new');
  });

  test('clean clones are its own, and the one before is removed whatever it did to it', async () => {
    await using scene = await setScene();
    await scene.write('.git/info/exclude', 'node_modules/\n');
    await scene.write('node_modules/pkg/index.js', 'before');
    const { base } = await openFresh(scene);
    await scene.repository.keepIgnored(unaborted);
    const takeBack = await scene.repository.handOver();
    const folder = await scene.repository.cleanClone(base, unaborted);
    expect(folder).toBe(join(scene.room?.room.folders.clones ?? '', 'clean', 'workspace'));
    expect([lstatSync(folder).uid, ...notOf(AGENT_UID, folder)]).toEqual([AGENT_UID]);
    expect(
      await asAgent(
        folder,
        'cat node_modules/pkg/index.js; echo x > node_modules/pkg/new; mkdir closed; touch closed/x; chmod 0 closed',
      ),
    ).toBe('before');
    const again = await scene.repository.cleanClone(base, unaborted);
    expect(again).toBe(folder);
    expect(await asAgent(folder, 'ls node_modules/pkg; ls -a')).not.toMatch(/new|closed/);
    await takeBack();
  });

  test('what the job did not check out stays so', async () => {
    await using scene = await setScene();
    await scene.git('update-index', '--skip-worktree', 'src/sum.js');
    await rm(join(scene.folder, 'src', 'sum.js'));
    await openFresh(scene);
    const takeBack = await scene.repository.handOver();
    const { change } = await iterate(scene, () => asAgent(scene.folder, 'echo new > new.txt'));
    expect(change.files).toEqual(['new.txt']);
    expect(await asAgent(scene.folder, 'git status --porcelain')).toBe('');
    await takeBack();
    expect(await scene.git('status', '--porcelain')).toBe('');
    expect(await scene.git('ls-files', '-t', 'src/sum.js')).toBe('S src/sum.js');
  });

  test('what the agent removes of what it is put back from is lent again', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    await scene.repository.handOver();
    await scene.repository.snapshot();
    await asAgent(scene.folder, 'echo work > work.txt');
    await scene.repository.snapshot();
    await asAgent(
      scene.folder,
      `echo changed > work.txt; rm -rf ${scene.room?.room.folders.home ?? ''}/.ralph-work-tree`,
    );
    expect(await scene.repository.putBack()).toEqual(['work.txt']);
    expect(await scene.read('work.txt')).toBe('work\n');
  });

  test('after a kill, what the run left on disk is enough to take it back', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    const behaviour = behaviourOf(scene.folder);
    await scene.repository.handOver();
    const { committed } = await iterate(scene, () =>
      asAgent(scene.folder, 'echo new > new.txt; git config core.fsmonitor /bin/false'),
    );
    await asAgent(scene.folder, 'rm -rf .git/hooks .git/info; echo junk > .git/HEAD; git init -q inner');
    await scene.room?.room.takeBack(scene.folder);
    const options = { workFolder: scene.workFolder, env: { PATH: process.env['PATH'], HOME: scene.workFolder } };
    await takeBackAfterKill(options);
    expect(behaviourOf(scene.folder)).toEqual(behaviour);
    expect(await scene.git('rev-parse', 'HEAD', BRANCH)).toBe(`${committed.head}\n${committed.head}`);
    expect(await scene.git('status', '--porcelain')).toBe('?? inner/');
    await takeBackAfterKill(options);
  });

  test('is nothing that later steps of the job are asked about once it was taken back', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    const takeBack = await scene.repository.handOver();
    await iterate(scene, () => asAgent(scene.folder, 'echo new > new.txt'));
    await takeBack();
    await expect(scene.repository.snapshot()).rejects.toThrow('given back');
    await expect(scene.repository.putBack()).rejects.toThrow('given back');
    expect((await scene.repository.review())?.lines).toBe(1);
    expect(await scene.repository.publishedTexts(['new.txt'])).toEqual({ 'new.txt': 'new\n' });
    await scene.repository.bundle({
      path: join(scene.workFolder, 'bundle'),
      since: await scene.git('rev-parse', 'HEAD~1'),
    });
    await takeBack();
  });
});

describe('a work tree stays ours', () => {
  test('where its git directory lies elsewhere', async () => {
    await using scene = await setScene();
    const linked = join(scene.folder, '..', 'linked');
    await scene.git('worktree', 'add', '--quiet', '-b', 'side', linked, 'main');
    const repository = scene.reopenIn(linked);
    await openFresh(scene, repository);
    await expect(repository.handOver()).rejects.toMatchObject({
      kind: 'configuration',
      message: expect.stringMatching(/lies elsewhere .*\/worktrees\/linked.*isolation: none/s),
    });
  });

  test('where it cannot be given away', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    const config = await scene.read('.git/config');
    const room = scene.room?.room ?? fail('There is no room.');
    const { give } = room;
    Object.assign(room, { give: () => Promise.reject(new Error('no such user')) });
    await expect(scene.repository.handOver()).rejects.toThrow('no such user');
    Object.assign(room, { give });
    expect(notOf(own, scene.folder)).toEqual([]);
    expect(await scene.read('.git/config')).toBe(config);
    expect(await scene.git('status', '--porcelain')).toBe('');
  });

  test('with a sentence that says so where what it takes is gone', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    const takeBack = await scene.repository.handOver();
    await rm(join(scene.workFolder, 'handed-over'), { recursive: true });
    await expect(takeBack()).rejects.toMatchObject({
      kind: 'infrastructure',
      message: expect.stringMatching(/may still be as the agent left it: .* Check out again before a later step/),
    });
  });

  test('while somebody is left who could change it', async () => {
    await using scene = await setScene();
    await openFresh(scene);
    const takeBack = await scene.repository.handOver();
    Object.assign(scene.room?.room ?? {}, { end: () => Promise.resolve(['miner (4711)']) });
    await expect(takeBack()).rejects.toThrow(/cannot be ended \(miner \(4711\)\)/);
  });
});

function fail(message: string): never {
  throw new Error(message);
}

test.skipIf(own !== 0)(
  'a merge of the base branch is laid and resolved as the other user, and taken back as a commit',
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
    await conflict.takeBack();
    expect(await scene.git('log', '-1', '--format=%P', BRANCH)).toBe(`${head} ${base}`);
    expect(await scene.git('status', '--porcelain')).toBe('');
    expect(await scene.read('b.txt')).toBe('b of the base\n');
  },
);
