import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startGitRemote } from '../testbed/git-remote.ts';
import { emptySnapshot } from '../src/core/snapshot/snapshot.ts';
import { createRefSnapshot } from '../src/git/refs/ref-snapshot.ts';
import { alternate, ratioRow, type Row } from './measure.ts';

const GOAL = 1.5;
const REQUESTS_GOAL = 6;
const STATE_BYTES = 64 * 1024;
const ROUNDS = 15;
const TOKEN = 'ghs_0123456789abcdefghijABCDEFGHIJ012345';

/** Measures restoring, saving and reading back a state over git on loopback, against the three git commands alone. */
export async function measureRefState(folder: string): Promise<readonly Row[]> {
  await mkdir(folder, { recursive: true });
  await using remote = await startGitRemote({ token: TOKEN });
  const requests: number[] = [];

  const ours = async (): Promise<number> => {
    const place = createRefSnapshot({
      url: remote.url,
      access: { kind: 'token', token: TOKEN },
      workFolder: join(folder, randomUUID()),
      env: { PATH: process.env.PATH, HOME: folder },
      now: () => Date.now(),
    });
    const text = someState();
    const before = remote.requests.length;
    const ms = await timed(async () => {
      const read = await place.read(null);
      const from =
        read.kind === 'snapshot' ? read : ({ kind: 'snapshot', head: null, snapshot: emptySnapshot } as const);
      const written = await place.write({ from, snapshot: new Map([['lanes/queue.json', text]]), message: 'queue' });
      const back = await place.read(written.kind === 'written' ? written.head : null);
      if (written.kind !== 'written' || back.kind !== 'known')
        throw new Error(`the state was not kept: ${JSON.stringify([read, written, back]).slice(0, 500)}`);
    });
    requests.push(remote.requests.length - before);
    return ms;
  };

  const bare = async (): Promise<number> => {
    const repository = join(folder, randomUUID());
    await git(folder, ['init', '--quiet', '--bare', repository]);
    const commit = await commitOf(repository, someState());
    const settings = [
      '-c',
      `http.${remote.url}.extraheader=AUTHORIZATION: basic ${Buffer.from(`x-access-token:${TOKEN}`).toString('base64')}`,
    ];
    return await timed(async () => {
      await git(repository, [
        ...settings,
        'fetch',
        '--quiet',
        '--depth=1',
        '--no-tags',
        remote.url,
        '+refs/ralph*/v2/bare:refs/ralph*/v2/bare',
      ]).catch(() => undefined);
      await git(repository, [...settings, 'push', '--quiet', '--force', remote.url, `${commit}:refs/ralph/v2/bare`]);
      await git(repository, [
        ...settings,
        '-c',
        'protocol.version=0',
        'ls-remote',
        '--quiet',
        remote.url,
        'refs/ralph/v2/bare',
      ]);
    });
  };

  const pairs = await alternate(ROUNDS, ours, bare);
  // The first round creates the ref.
  const most = Math.max(...requests.slice(1));
  return [
    ratioRow(
      'state: restore + save + read back of 64 KiB over git on loopback, against bare fetch, push, ls-remote',
      pairs,
      GOAL,
    ),
    {
      measure: 'state: HTTP requests of it',
      value: String(most),
      goal: `≤ ${String(REQUESTS_GOAL)}`,
      isMet: most <= REQUESTS_GOAL,
    },
  ];
}

/** Returns new content each time, about as compressible as a state. */
function someState(): string {
  const entries = Array.from({ length: 1_000 }, (_, i) => ({ at: i, id: randomUUID() }));
  return JSON.stringify(entries).padEnd(STATE_BYTES).slice(0, STATE_BYTES);
}

async function commitOf(repository: string, text: string): Promise<string> {
  const file = join(repository, 'state.json');
  await writeFile(file, text);
  const blob = await git(repository, ['hash-object', '-w', file]);
  await git(repository, ['update-index', '--add', '--cacheinfo', `100644,${blob},state.json`]);
  return await git(repository, ['commit-tree', await git(repository, ['write-tree']), '-m', 'state']);
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

const identity = {
  GIT_AUTHOR_NAME: 'bench',
  GIT_AUTHOR_EMAIL: 'bench@example.com',
  GIT_COMMITTER_NAME: 'bench',
  GIT_COMMITTER_EMAIL: 'bench@example.com',
};

async function git(folder: string, args: readonly string[]): Promise<string> {
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: folder,
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
    ...identity,
  };
  const { stdout } = await promisify(execFile)('git', args, { cwd: folder, env });
  return stdout.trim();
}
