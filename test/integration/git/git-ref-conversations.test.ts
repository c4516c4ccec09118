import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { git } from '../../../testbed/git.ts';
import { startGitRemote, type GitRemote } from '../../../testbed/git-remote.ts';
import { createRefConversations } from '../../../src/git/refs/ref-conversations.ts';
import type { Conversations } from '../../../src/ports/state.ts';
import { openState, READ_ONLY_TOKEN, runGit, TOKEN } from './git-fixture.ts';

const REF = 'refs/ralph/v2/conversations/queue';
const EARLIER_REF = 'refs/ralph/state/queue-transcript';

interface Scene extends AsyncDisposable {
  readonly server: GitRemote;
  readonly root: string;
  machine(token?: string): Promise<Conversations>;
  serverGit(...args: string[]): Promise<string>;
}

async function setScene(): Promise<Scene> {
  const root = await mkdtemp(join(tmpdir(), 'ralph-ref-blobs-'));
  const server = await startGitRemote({ folder: join(root, 'server'), token: TOKEN, readOnlyToken: READ_ONLY_TOKEN });
  return {
    server,
    root,
    machine: async (token = TOKEN) =>
      createRefConversations({
        url: server.url,
        access: { kind: 'token', token },
        workFolder: await mkdtemp(join(root, 'machine-')),
        env: { PATH: process.env['PATH'], HOME: root },
        now: () => 1_790_000_000_000,
        retryAfterMs: 1,
        maxBytes: 11 * 1024 * 1024,
      }),
    serverGit: (...args) => runGit(server.repositoryFolder, args),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await rm(root, { recursive: true, force: true });
    },
  };
}

test('absent, written, read by another machine, replaced: only the newest is there, and no other name has it', async () => {
  await using scene = await setScene();
  const [one, other] = [await scene.machine(), await scene.machine()];
  expect(await one.read('queue')).toEqual({ kind: 'absent' });
  const [first, second] = [randomBytes(100_000), randomBytes(200)];
  expect(await one.write('queue', first)).toEqual({ kind: 'written' });
  expect(await other.read('queue')).toEqual({ kind: 'found', content: first });
  expect(await other.write('queue', second)).toEqual({ kind: 'written' });
  expect(await one.read('queue')).toEqual({ kind: 'found', content: second });
  expect(await one.read('issue-7')).toEqual({ kind: 'absent' });
  expect(await scene.serverGit('rev-list', '--count', REF)).toBe('1');
  expect(await scene.serverGit('ls-tree', '-r', '--name-only', REF)).toBe('transcript');
  await scene.serverGit('fsck', '--strict');
});

test('10 MiB come back as they were', async () => {
  await using scene = await setScene();
  const content = randomBytes(10 * 1024 * 1024 + 1000);
  expect(await (await scene.machine()).write('issue-7', content)).toEqual({ kind: 'written' });
  const read = await (await scene.machine()).read('issue-7');
  expect(read.kind === 'found' && content.equals(read.content)).toBe(true);
});

test('the state of the lane is read without it', async () => {
  await using scene = await setScene();
  const content = randomBytes(1_000_000);
  await (await openState(scene.server, scene.root)).write(null, 'the state');
  await (await scene.machine()).write('queue', content);
  const workFolder = await mkdtemp(join(scene.root, 'fresh-'));
  const state = await openState(scene.server, scene.root, { workFolder });
  expect(await state.read()).toMatchObject({ kind: 'found', text: 'the state' });
  const files = await readdir(join(workFolder, 'objects'), { recursive: true, withFileTypes: true });
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(file.parentPath, file.name))).size));
  expect(Math.max(...sizes)).toBeLessThan(content.length / 10);
});

test('a conversation that is too large is neither written nor read', async () => {
  await using scene = await setScene();
  const machine = await scene.machine();
  expect(await machine.write('queue', Buffer.alloc(11 * 1024 * 1024 + 1))).toEqual({
    kind: 'not-kept',
    why: 'it is larger than 11 MiB',
  });
  await put(scene, REF, 'transcript', 'x'.repeat(11 * 1024 * 1024 + 1));
  expect(await machine.read('queue')).toEqual({ kind: 'unavailable', why: 'the stored transcript is too large' });
});

test('one of an earlier version is read until there is a newer one', async () => {
  await using scene = await setScene();
  await put(scene, EARLIER_REF, 'transcript', 'of before');
  const machine = await scene.machine();
  expect(await machine.read('queue')).toEqual({ kind: 'found', content: Buffer.from('of before') });
  await machine.write('queue', Buffer.from('of now'));
  expect(await machine.read('queue')).toEqual({ kind: 'found', content: Buffer.from('of now') });
});

test('a ref that somebody put there without a transcript has none', async () => {
  await using scene = await setScene();
  await put(scene, REF, 'something-else', 'text');
  expect(await (await scene.machine()).read('queue')).toEqual({ kind: 'absent' });
});

test('a token that may not write is answered, and so is a server that is gone', async () => {
  await using scene = await setScene();
  expect(await (await scene.machine(READ_ONLY_TOKEN)).write('queue', Buffer.from('text'))).toEqual({
    kind: 'not-kept',
    why: expect.stringContaining('contents: write'),
  });
  const machine = await scene.machine();
  await scene.server[Symbol.asyncDispose]();
  expect(await machine.read('queue')).toMatchObject({ kind: 'unavailable' });
});

async function put({ server }: Scene, ref: string, ...[name, content]: readonly [string, string]): Promise<void> {
  const folder = server.repositoryFolder;
  const blob = await git(folder, ['hash-object', '-w', '--stdin'], { input: content });
  const tree = await git(folder, ['mktree'], { input: `100644 blob ${blob}\t${name}\n` });
  await git(folder, ['update-ref', ref, await git(folder, ['commit-tree', tree, '-m', 'planted'])]);
}
