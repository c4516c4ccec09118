import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { git } from '../../../testbed/git.ts';
import { startGitRemote, type GitRemote } from '../../../testbed/git-remote.ts';
import { withUnansweredRequest } from '../../../src/core/snapshot/going-on.ts';
import { createLaneRecord, type LaneRecord } from '../../../src/core/sharing/lane-record.ts';
import {
  emptySnapshot,
  parseLaneIn,
  listLanes,
  unreadableSnapshot,
  type Snapshot,
} from '../../../src/core/snapshot/snapshot.ts';
import { createSnapshotStore } from '../../../src/state/snapshot-store.ts';
import { explainStateRefusal, type RefNetworkOptions } from '../../../src/git/refs/ref-network.ts';
import type { WriteResult } from '../../../src/ports/state.ts';
import { IS_DEEP } from '../../runs.ts';
import {
  openState,
  READ_ONLY_TOKEN,
  runGit,
  startWay,
  TEXT_FILE,
  TOKEN,
  type OneText,
  type Passage,
} from './git-fixture.ts';

/** A git server, and any number of machines. */
interface Scene {
  readonly server: GitRemote;
  readonly root: string;
  machine(change?: Partial<RefNetworkOptions>): Promise<OneText>;
  serverGit(...args: string[]): Promise<string>;
  [Symbol.asyncDispose](): Promise<void>;
}

async function setScene(): Promise<Scene> {
  const root = await mkdtemp(join(tmpdir(), 'ralph-ref-cells-'));
  const server = await startGitRemote({ folder: join(root, 'server'), token: TOKEN, readOnlyToken: READ_ONLY_TOKEN });
  return {
    server,
    root,
    machine: (change) => openState(server, root, change),
    serverGit: (...args) => runGit(server.repositoryFolder, args),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await rm(root, { recursive: true, force: true });
    },
  };
}

async function headAfter(writing: Promise<WriteResult>): Promise<string> {
  const written = await writing;
  if (written.kind !== 'written') throw new Error(`not written: ${JSON.stringify(written)}`);
  return written.head;
}

function readOne(cells: OneText): ReturnType<OneText['read']> {
  return cells.read();
}

const conflict = { kind: 'conflict' };

function refused(why: string | RegExp): { readonly kind: string; readonly why: unknown } {
  return { ...unavailable(why), kind: 'refused' };
}

function unavailable(why: string | RegExp): { readonly kind: string; readonly why: unknown } {
  return { kind: 'unavailable', why: expect.stringMatching(why) };
}

describe('a text is kept under its name', () => {
  test('absent, created, read, replaced and read by another machine; nobody has a checkout', async () => {
    await using scene = await setScene();
    const [one, other] = [await scene.machine(), await scene.machine()];
    expect(one.place.name).toBe('ref');
    expect(await readOne(one)).toEqual({ kind: 'absent' });
    const first = await headAfter(one.write(null, '{"n":1}\n'));
    expect(await readOne(other)).toEqual({ kind: 'found', head: first, text: '{"n":1}\n' });
    const second = await headAfter(other.write(first, '{"n":2}\n'));
    expect(await readOne(one)).toEqual({ kind: 'found', head: second, text: '{"n":2}\n' });
    expect(await readOne(one)).toMatchObject({ kind: 'found', head: second });
  });

  test('people find each file in the tree of a commit for each update; branches and tags are not touched', async () => {
    await using scene = await setScene();
    const { place } = await scene.machine();
    const files = [
      ['lanes/queue.json', 'queue'],
      ['lanes/issue-7.json', 'seven'],
      ['issues/7.json', 'issue'],
      ['usage.json', 'usage'],
      ['runs/42.json', 'run'],
    ] as const;
    const from = { kind: 'snapshot', head: null, snapshot: emptySnapshot } as const;
    const snapshot = new Map(files);
    const head = await headAfter(place.write({ from, snapshot, message: 'queue: claimed by run 42' }));
    expect(
      await scene.serverGit(
        'for-each-ref',
        '--format=%(refname) %(objectname) %(contents:subject) %(committername) %(committerdate:unix)',
      ),
    ).toBe(`refs/ralph/v2/state ${head} queue: claimed by run 42 ralph 1790000000`);
    expect(await scene.serverGit('ls-tree', '-r', '--name-only', head)).toBe(
      files
        .map(([path]) => path)
        .toSorted()
        .join('\n'),
    );
    await scene.serverGit('fsck', '--strict');
    expect(await (await scene.machine()).place.read(null)).toEqual({ kind: 'snapshot', head, snapshot });
  });

  test('an update sends only what changed, and a reader who knows the rest fetches only that', async () => {
    await using scene = await setScene();
    const workFolder = join(scene.root, 'own');
    const [{ place }, other] = [await scene.machine(), await scene.machine({ workFolder })];
    const lanes = Array.from(
      { length: 20 },
      (_, lane) => [`lanes/issue-${String(lane + 1)}.json`, randomText()] as const,
    );
    const from = { kind: 'snapshot', head: null, snapshot: emptySnapshot } as const;
    const first = new Map(lanes);
    const head = await headAfter(place.write({ from, snapshot: first, message: 'all' }));
    expect(await other.place.read(null)).toMatchObject({ head });
    const known = (await objectsIn(workFolder)).length;
    expect(known).toBe(23);
    const second = new Map([...lanes, ['lanes/issue-3.json', randomText()]]);
    const swap = { from: { kind: 'snapshot', head, snapshot: first }, snapshot: second, message: 'one' } as const;
    const next = await headAfter(place.write(swap));
    expect(await scene.serverGit('rev-list', '--count', next)).toBe('2');
    const read = await other.place.read(head);
    expect(read).toMatchObject({ kind: 'snapshot', head: next });
    expect(read.kind === 'snapshot' && [...read.snapshot].sort()).toEqual([...second].sort());
    // The new objects are a commit, two trees and a file.
    expect((await objectsIn(workFolder)).length - known).toBe(4);
    expect(await other.place.read(next)).toEqual({ kind: 'known' });
  });

  test.each([
    ['64 KiB', `{"document":"${'0123456789abcdef'.repeat(4096)}"}`],
    ['a file of 400 KiB', 'x'.repeat(400 * 1024)],
    ['nothing', ''],
    ['NUL', 'a\0b\0'],
    ['emoji and combining characters', '👩‍👩‍👧‍👦 é 𝄞 \u{10FFFF}'],
    ['quotes, backslashes and line ends', '"\'`$(x)\\\r\n\r\n\t'],
    ["what looks like more of git's input", 'x\ndata 3\nabc\ndeleteall\ncommit refs/heads/main\ndone\n'],
  ])('%s comes back as it was', async (_, text) => {
    await using scene = await setScene();
    const head = await headAfter((await scene.machine()).write(null, text));
    expect(await readOne(await scene.machine())).toEqual({ kind: 'found', head, text });
    expect(await scene.serverGit('for-each-ref', '--format=%(refname)')).toBe('refs/ralph/v2/state');
  });

  test('an operation leaves only objects behind', async () => {
    await using scene = await setScene();
    const workFolder = join(scene.root, 'own');
    const cells = await scene.machine({ workFolder });
    await cells.read();
    await cells.write(await headAfter(cells.write(null, '1')), '2');
    expect(await readdir(workFolder)).toEqual(['objects']);
  });
});

describe('only who has read the newest may replace it', () => {
  test.each([
    ['created in the meantime', null],
    ['replaced in the meantime', 'first'],
    ['removed by a person', 'removed'],
  ] as const)('%s: conflict, and nothing is overwritten', async (_, state) => {
    await using scene = await setScene();
    const [one, other] = [await scene.machine(), await scene.machine()];
    const first = await headAfter(one.write(null, '1'));
    await readOne(other);
    if (state === 'first') await one.write(first, '2');
    if (state === 'removed') await scene.serverGit('update-ref', '-d', 'refs/ralph/v2/state');
    const refs = await scene.serverGit('for-each-ref');
    expect(await other.write(state === null ? null : first, 'mine')).toEqual(conflict);
    expect(await scene.serverGit('for-each-ref')).toBe(refs);
  });

  test('the same text at the same moment from two machines: one of them loses', async () => {
    await using scene = await setScene();
    const machines = await Promise.all([scene.machine(), scene.machine()]);
    const written = await Promise.all(machines.map((cells) => cells.write(null, 'same')));
    expect(written.map(({ kind }) => kind).sort()).toEqual(['conflict', 'written']);
  });

  test('100 writers at once: one is written, 99 learn that somebody was faster', async () => {
    await using scene = await setScene();
    const [one, other] = [await scene.machine({ timeoutMs: 100_000 }), await scene.machine({ timeoutMs: 100_000 })];
    const first = await headAfter(one.write(null, 'first'));
    await readOne(other);
    const texts = Array.from({ length: 100 }, (_, i) => `writer ${i}`);
    const written = await Promise.all(texts.map((text, i) => (i % 2 === 0 ? one : other).write(first, text)));
    expect(written.filter(({ kind }) => kind === 'conflict')).toHaveLength(99);
    const winner = written.findIndex(({ kind }) => kind === 'written');
    expect(await readOne(other)).toMatchObject({ text: texts[winner] });
  }, 120_000);

  test('writers that read and try again all get their line in, in generations without a gap', async () => {
    await using scene = await setScene();
    const names = ['a', 'b', 'c', 'd'];
    await Promise.all(
      names.map(async (name) => {
        const cells = await scene.machine({ timeoutMs: 60_000 });
        for (let lines = 0; lines < 3;) {
          const read = await readOne(cells);
          const [head, text] = read.kind === 'found' ? [read.head, read.text] : [null, ''];
          const { kind } = await cells.write(head, `${text}${name}${lines}\n`);
          expect(kind).not.toBe('unavailable');
          if (kind === 'written') lines += 1;
        }
      }),
    );
    const text = await scene.serverGit('cat-file', 'blob', 'refs/ralph/v2/state:lanes/queue.json');
    expect(text.split('\n').sort()).toEqual(names.flatMap((name) => [0, 1, 2].map((line) => `${name}${line}`)));
    expect(await scene.serverGit('rev-list', '--count', 'refs/ralph/v2/state')).toBe('12');
  }, 120_000);
});

describe('history', () => {
  test('a person can look back at each update of several machines', async () => {
    await using scene = await setScene();
    let [cells, head] = [await scene.machine(), null as string | null];
    const writes = IS_DEEP ? 60 : 20;
    for (let i = 0; i < writes; i += 1) {
      if (i % 7 === 6) {
        cells = await scene.machine();
        await readOne(cells);
      }
      head = await headAfter(cells.write(head, `${i}`));
    }
    expect(await scene.serverGit('rev-list', '--count', head ?? '')).toBe(String(writes));
    await scene.serverGit('fsck', '--strict');
  }, 120_000);

  test.each([
    ['90 days', (made: string) => made.replace(/Ralph-Since: .*/, 'Ralph-Since: 2020-01-01T00:00:00.000Z')],
    ['5,000 commits', (made: string) => made.replace(/Ralph-Depth: .*/, 'Ralph-Depth: 5000')],
  ])('that is longer than %s begins again with its last state', async (_, age) => {
    await using scene = await setScene();
    const first = await headAfter((await scene.machine()).write(null, '1'));
    const tree = await scene.serverGit('rev-parse', `${first}^{tree}`);
    const message = age(await scene.serverGit('log', '-1', '--format=%B', first));
    const old = await scene.serverGit('commit-tree', tree, '-p', first, '-m', message);
    await scene.serverGit('update-ref', 'refs/ralph/v2/state', old);
    const cells = await scene.machine();
    expect(await readOne(cells)).toMatchObject({ head: old, text: '1' });
    const squashed = await headAfter(cells.write(old, '2'));
    expect(await scene.serverGit('rev-list', '--count', squashed)).toBe('1');
    const next = await headAfter(cells.write(squashed, '3'));
    expect(await scene.serverGit('rev-list', '--count', next)).toBe('2');
  });

  test('it is fetched without its past', async () => {
    await using scene = await setScene();
    const cells = await scene.machine();
    let head: string | null = null;
    for (const text of ['1', '2', '3']) head = await headAfter(cells.write(head, text));
    const workFolder = join(scene.root, 'own');
    await readOne(await scene.machine({ workFolder }));
    expect(await objectsIn(workFolder)).toHaveLength(4);
  });

  test('begins again when its predecessor no longer exists', async () => {
    await using scene = await setScene();
    const workFolder = join(scene.root, 'own');
    const cells = await scene.machine({ workFolder });
    const first = await headAfter(cells.write(null, '1'));
    await rm(workFolder, { recursive: true });
    const second = await headAfter(cells.write(first, '2'));
    expect(await scene.serverGit('rev-list', '--parents', second)).toBe(second);
  });
});

describe('people change the ref', () => {
  test('set back: the older text is read, and can be replaced', async () => {
    await using scene = await setScene();
    const cells = await scene.machine();
    const first = await headAfter(cells.write(null, '1'));
    await cells.write(first, '2');
    await scene.serverGit('update-ref', 'refs/ralph/v2/state', first);
    expect(await readOne(cells)).toEqual({ kind: 'found', head: first, text: '1' });
    expect(await cells.write(first, '3')).toMatchObject({ kind: 'written' });
  });

  test('removed: absent, and can be created', async () => {
    await using scene = await setScene();
    const cells = await scene.machine();
    await cells.write(null, '1');
    await scene.serverGit('update-ref', '-d', 'refs/ralph/v2/state');
    expect(await readOne(cells)).toEqual({ kind: 'absent' });
    expect(await cells.write(null, '2')).toMatchObject({ kind: 'written' });
  });

  /** Creates the object to which the ref will point. */
  type Making = (scene: Scene) => Promise<string>;
  const tree = async (scene: Scene, entry: string): Promise<string> => {
    const index = { GIT_INDEX_FILE: join(scene.root, 'index') };
    await runGit(scene.server.repositoryFolder, ['update-index', '--add', '--cacheinfo', entry], index);
    return runGit(scene.server.repositoryFolder, ['write-tree'], index);
  };
  const blob = async (scene: Scene, text: string): Promise<string> => {
    const file = join(scene.root, 'blob');
    await writeFile(file, text);
    return scene.serverGit('hash-object', '-w', file);
  };
  const commitOf: (making: (scene: Scene) => Promise<string>) => Making = (making) => async (scene) =>
    scene.serverGit('commit-tree', '-m', 'by hand\n\nRalph-Depth: 3', await making(scene));

  test.each<[string, Making]>([
    ['a blob', (scene) => blob(scene, '{"version":1}')],
    ['a tree', async (scene) => tree(scene, `100644,${await blob(scene, 'x')},other.txt`)],
  ])(
    '%s is not a state, but has a head, so that it can be replaced; the counters count as used up',
    async (_, make) => {
      await using scene = await setScene();
      const made = await make(scene);
      await scene.serverGit('update-ref', 'refs/ralph/v2/state', made);
      const cells = await scene.machine();
      expect(await cells.place.read(null)).toEqual({ kind: 'snapshot', head: made, snapshot: unreadableSnapshot });
      const head = await headAfter(cells.write(made, 'mended'));
      expect(await readOne(await scene.machine())).toEqual({ kind: 'found', head, text: 'mended' });
    },
  );

  test.each<[string, Making]>([
    ['other files', commitOf(async (scene) => tree(scene, `100644,${await blob(scene, 'x')},other.txt`))],
    ['a folder', commitOf(async (scene) => tree(scene, `100644,${await blob(scene, 'x')},${TEXT_FILE}/x`))],
    ['a submodule', commitOf((scene) => tree(scene, `160000,${'1'.repeat(40)},${TEXT_FILE}`))],
    ['a link', commitOf(async (scene) => tree(scene, `120000,${await blob(scene, '/etc/passwd')},${TEXT_FILE}`))],
  ])("a commit with %s in place of Ralph's files contains no state", async (_, make) => {
    await using scene = await setScene();
    const made = await make(scene);
    await scene.serverGit('update-ref', 'refs/ralph/v2/state', made);
    const cells = await scene.machine();
    expect(await readOne(cells)).toEqual({ kind: 'found', head: made, text: '' });
    const head = await headAfter(cells.write(made, 'mended'));
    expect(await scene.serverGit('ls-tree', '-r', '--name-only', head)).toBe(TEXT_FILE);
  });
});

describe('what earlier versions kept', () => {
  const record = (lane: string, change: Partial<LaneRecord> = {}): string => {
    return JSON.stringify({ ...createLaneRecord(lane), sequence: 7, savedBy: 'old', ...change, version: 2 });
  };
  /** Creates the old refs of three lanes, a budget and a conversation. */
  async function sceneOfBefore() {
    const scene = await setScene();
    const put = async (ref: string, file: string, text: string): Promise<void> => {
      const folder = scene.server.repositoryFolder;
      const id = await git(folder, ['hash-object', '-w', '--stdin'], { input: text });
      const made = await git(folder, ['mktree'], { input: `100644 blob ${id}\t${file}\n` });
      await git(folder, ['update-ref', ref, await git(folder, ['commit-tree', made, '-m', 'earlier'])]);
    };
    const document = JSON.stringify({ version: 7, lane: 'queue' });
    await put('refs/ralph/state/queue', 'state.json', record('queue', { document }));
    await put('refs/ralph/state/issue-7', 'state.json', record('issue-7'));
    await put('refs/ralph/state/issue-8', 'state.json', 'garbage');
    await put(
      'refs/ralph/state/budget',
      'state.json',
      '{"version":1,"windows":{"hour":null,"day":null},"reservations":[],"unfinished":["issue-7"]}',
    );
    await put('refs/ralph/state/queue-transcript', 'transcript', 'sealed');
    return { scene, put };
  }
  const storeOn = async (scene: Scene) =>
    createSnapshotStore({
      place: (await scene.machine()).place,
      copies: null,
      conversations: null,
      now: () => 1_790_000_000_000,
      pace: { random: () => 0, sleep: () => Promise.resolve() },
    });
  const refsOf = (scene: Scene): Promise<string> =>
    scene.serverGit('for-each-ref', '--format=%(refname)', 'refs/ralph');
  const keep = (newest: Snapshot) => ({
    snapshot: withUnansweredRequest(newest, 'issue-9'),
    message: 'asked',
    answer: null,
  });

  test('is read as one snapshot, and looking changes nothing', async () => {
    await using scene = (await sceneOfBefore()).scene;
    const before = await refsOf(scene);
    const read = await (await storeOn(scene)).read();
    if (read.kind !== 'snapshot') throw new Error(read.kind);
    expect(listLanes(read.snapshot).toSorted()).toEqual(['issue-7', 'issue-8', 'queue']);
    expect(parseLaneIn(read.snapshot, 'issue-7')).toMatchObject({ record: { sequence: 7, goesOn: 'unfinished' } });
    expect(parseLaneIn(read.snapshot, 'issue-8')).toMatchObject({ kind: 'unreadable' });
    expect(await refsOf(scene)).toBe(before);
  });

  test('is written with the first update, read back, and gone then; the conversation stays until there is a newer one', async () => {
    await using scene = (await sceneOfBefore()).scene;
    expect(await (await storeOn(scene)).update(keep)).toMatchObject({ kind: 'updated' });
    expect(await refsOf(scene)).toBe('refs/ralph/state/queue-transcript\nrefs/ralph/v2/state');
    const read = await (await storeOn(scene)).read();
    expect(read.kind === 'snapshot' && listLanes(read.snapshot).toSorted()).toEqual([
      'issue-7',
      'issue-8',
      'issue-9',
      'queue',
    ]);
    expect(read.kind === 'snapshot' && parseLaneIn(read.snapshot, 'queue')).toMatchObject({
      record: { sequence: 7, document: '{"version":7,"lane":"queue"}' },
    });
  });

  test('stays where an earlier version writes it at the same moment', async () => {
    const { scene: before, put } = await sceneOfBefore();
    await using scene = before;
    const store = await storeOn(scene);
    await store.read();
    await put('refs/ralph/state/queue', 'state.json', record('queue', { sequence: 8 }));
    await store.update(keep);
    // An atomic push is not required: git refuses each ref with an outdated lease separately.
    expect(await refsOf(scene)).toBe('refs/ralph/state/queue\nrefs/ralph/state/queue-transcript\nrefs/ralph/v2/state');
  });

  test('stays where the new state may not be written', async () => {
    await using scene = (await sceneOfBefore()).scene;
    const before = await refsOf(scene);
    await scene.server.setRule('protected-branch');
    expect(await (await storeOn(scene)).update(keep)).toMatchObject({ kind: 'unguarded' });
    expect(await refsOf(scene)).toBe(before);
  });
});

describe('a server that refuses says what to do, and is not asked in vain', () => {
  test('a token that may only read', async () => {
    await using scene = await setScene();
    await (await scene.machine()).write(null, '1');
    const cells = await scene.machine({ access: { kind: 'token', token: READ_ONLY_TOKEN } });
    const read = await readOne(cells);
    expect(read).toMatchObject({ kind: 'found', text: '1' });
    expect(await cells.write('head' in read ? read.head : null, '2')).toEqual(
      refused(/the token may not do this.*contents: write/),
    );
  });

  test.each(['', 'ghs_wrongwrongwrongwrong'])('the token %j', async (wrong) => {
    await using scene = await setScene();
    const cells = await scene.machine({ access: { kind: 'token', token: wrong } });
    for (const answer of [await readOne(cells), await cells.place.read('known')])
      expect(answer).toEqual(unavailable('the token was not accepted'));
    expect(await cells.write(null, '1')).toEqual(refused('the token was not accepted'));
  });

  test.each([
    [404, 'unavailable', 'does not exist'],
    [429, 'unavailable', 'limits the rate of requests'],
    [401, 'refused', 'was not accepted'],
    [403, 'refused', 'contents: write'],
    [500, 'unavailable', 'does not work at the moment'],
  ])('status %i for all: a write is %s, %s', async (status, kind, why) => {
    await using scene = await setScene();
    await using way = await startWay(scene.server, () => Promise.resolve(status));
    const cells = await scene.machine({ url: way.url });
    for (const answer of [await readOne(cells), await cells.place.read('known')])
      expect(answer).toEqual(unavailable(why));
    expect(await cells.write(null, '1')).toEqual({ ...unavailable(why), kind });
  });

  test('a hook or ruleset that refuses the push', async () => {
    await using scene = await setScene();
    await scene.server.setRule('protected-branch');
    expect(await (await scene.machine()).write(null, '1')).toEqual(refused('refs/ralph/v2/\\*\\*'));
  });

  test.each([
    ['nobody listens', 'http://127.0.0.1:9/octo/sample.git', 'does not work at the moment'],
    ['the name is not known', 'http://nowhere.invalid/octo/sample.git', 'DNS'],
    ['the address is not valid', 'not a url', 'the git command failed'],
    ['the protocol is not allowed', 'ext::sh -c exit', 'the git command failed'],
  ])('%s', async (_, url, why) => {
    await using scene = await setScene();
    const cells = await scene.machine({ url });
    for (const answer of [await readOne(cells), await cells.write(null, '1'), await cells.place.read('known')])
      expect(answer).toEqual(unavailable(why));
  });

  // These rows compare messages that only GitHub sends with similar ones of a bad network.
  test.each([
    [
      '[remote rejected] (push declined due to repository rule violations)\nremote: error: GH013: Repository rule violations found',
      'refused',
      'a rule or hook of the repository',
    ],
    ['[remote rejected] (pre-receive hook declined)', 'refused', 'a rule or hook of the repository'],
    [
      "remote: Write access to repository not granted.\nfatal: unable to access 'u': The requested URL returned error: 403",
      'refused',
      'the token may not do this',
    ],
    [
      "remote: This repository was archived so it is read-only.\nfatal: unable to access 'u': The requested URL returned error: 403",
      'refused',
      'the token may not do this',
    ],
    [
      "remote: Invalid username or token.\nfatal: Authentication failed for 'u'",
      'refused',
      'the token was not accepted',
    ],
    ["remote: Repository not found.\nfatal: repository 'u' not found", 'unavailable', 'does not exist'],
    ["fatal: unable to access 'u': The requested URL returned error: 429", 'unavailable', 'limits the rate'],
    [
      "remote: You have exceeded a secondary rate limit.\nfatal: unable to access 'u': The requested URL returned error: 403",
      'unavailable',
      'limits the rate',
    ],
    [
      'error: RPC failed; HTTP 403 curl 22 The requested URL returned error: 403',
      'refused',
      'the token may not do this',
    ],
    ['remote: Permission to octo/sample.git denied to github-actions[bot].', 'refused', 'the token may not do this'],
    ['[remote rejected] (deny updating a hidden ref)', 'refused', 'a rule or hook of the repository'],
    [
      "fatal: unable to access 'u': Failed to connect to github.com port 443 after 403 ms: Could not connect to server",
      'unavailable',
      'does not work at the moment',
    ],
    [
      "fatal: unable to access 'https://github.com/octo/read-only.git/': Failed to connect to github.com port 443",
      'unavailable',
      'does not work at the moment',
    ],
    [
      "fatal: unable to access 'u': Recv failure: Connection reset by peer",
      'unavailable',
      'does not work at the moment',
    ],
    [
      '[remote rejected] refs/ralph/v2/conversations/issue-429 (pre-receive hook declined)',
      'refused',
      'a rule or hook of the repository',
    ],
    ['[remote rejected] (Internal Server Error)', 'unavailable', 'the git command failed'],
  ])('%j: %s, %s', (words, kind, why) => {
    const explained = explainStateRefusal(words, { url: 'https://github.com/octo/sample.git', isOwn: false });
    expect(explained).toEqual({ kind, why: expect.stringContaining(why) });
    expect(explained.why).not.toContain('\n');
  });

  test('no folder to work in, no git: an answer, not an exception', async () => {
    await using scene = await setScene();
    await writeFile(join(scene.root, 'file'), '');
    expect(await readOne(await scene.machine({ workFolder: join(scene.root, 'file') }))).toEqual(unavailable('file'));
    expect(await (await scene.machine({ env: { PATH: scene.root } })).write(null, '1')).toEqual(
      unavailable('git was not found'),
    );
  });
});

describe('a server in trouble', () => {
  test.each<[string, Passage]>([
    ['git-upload-pack', 503],
    ['git-upload-pack', 'cut'],
    ['git-receive-pack', 503],
    ['git-receive-pack', 'cut'],
  ])('%s answers once with %s: tried once more', async (service, fault) => {
    await using scene = await setScene();
    let faults = 0;
    await using way = await startWay(scene.server, (path) =>
      Promise.resolve(path.includes(service) && faults++ === 0 ? fault : 'open'),
    );
    const cells = await scene.machine({ url: way.url });
    expect(await readOne(cells)).toEqual({ kind: 'absent' });
    const head = await headAfter(cells.write(null, '1'));
    expect(await readOne(cells)).toMatchObject({ kind: 'found', head });
    expect(faults).toBeGreaterThan(1);
  });

  test('the answer to a push is lost: written, since the ref is ours', async () => {
    await using scene = await setScene();
    const first = await headAfter((await scene.machine()).write(null, '1'));
    let lost = 0;
    await using way = await startWay(scene.server, (path) =>
      Promise.resolve(path.endsWith('/git-receive-pack') && lost++ === 0 ? 'answer lost' : 'open'),
    );
    const cells = await scene.machine({ url: way.url });
    await readOne(cells);
    const head = await headAfter(cells.write(first, '2'));
    expect(lost).toBeGreaterThan(0);
    expect(await readOne(await scene.machine())).toEqual({ kind: 'found', head, text: '2' });
  });

  test('a push that is never answered is looked for once and not sent again', async () => {
    await using scene = await setScene();
    let pushes = 0;
    await using way = await startWay(scene.server, (path) => {
      if (!path.endsWith('/git-receive-pack')) return Promise.resolve('open');
      pushes += 1;
      return Promise.resolve('silent');
    });
    const cells = await scene.machine({ url: way.url, timeoutMs: 1_000 });
    expect(await cells.write(null, '1')).toEqual(unavailable('git push got no answer within 1 s'));
    expect(await cells.write(null, '1')).toEqual(unavailable('is not retried yet'));
    expect(pushes).toBe(1);
  });

  test('somebody else was faster while the push was lost: conflict', async () => {
    await using scene = await setScene();
    const other = await scene.machine();
    let theirs = '';
    await using way = await startWay(scene.server, async (path) => {
      if (!path.endsWith('/git-receive-pack')) return 'open';
      if (theirs === '') theirs = await headAfter(other.write(null, 'theirs'));
      return 'cut';
    });
    expect(await (await scene.machine({ url: way.url })).write(null, 'mine')).toEqual(conflict);
    expect(await readOne(other)).toMatchObject({ kind: 'found', head: theirs });
  });

  test('a server that accepts and never answers costs an operation twice the limit at most, and the next one nothing', async () => {
    await using scene = await setScene();
    let requests = 0;
    await using way = await startWay(scene.server, () => {
      requests += 1;
      return Promise.resolve('silent');
    });
    const cells = await scene.machine({ url: way.url, timeoutMs: 500 });
    const startedAt = performance.now();
    for (const answer of [await readOne(cells), await cells.write(null, '1'), await cells.place.read('known')])
      expect(answer).toEqual(unavailable('does not answer'));
    // fetch, push and ls-remote wait once each. A single wait without the limit takes 10 s; a busy machine needs some
    // extra time.
    expect(performance.now() - startedAt).toBeLessThan(9_000);
    const asked = requests;
    expect(asked).toBeLessThanOrEqual(3);
    for (const answer of [await readOne(cells), await cells.write(null, '1'), await cells.place.read('known')])
      expect(answer).toEqual(unavailable('is not retried yet'));
    expect(requests).toBe(asked);
  });

  test.each([
    ['59.9 s later', 'unavailable', 59_900],
    ['a minute later', 'written', 60_000],
    ['after the clock was set back by an hour', 'written', -3_600_000],
  ])('a server that was silent at one claim is well again: the save %s is %s', async (_, kind, laterMs) => {
    await using scene = await setScene();
    let [now, isSilent] = [1_790_000_000_000, true];
    await using way = await startWay(scene.server, () => Promise.resolve(isSilent ? 'silent' : 'open'));
    const cells = await scene.machine({ url: way.url, timeoutMs: 1_000, now: () => now });
    expect(await cells.write(null, 'claim')).toEqual(unavailable('does not answer'));
    [now, isSilent] = [now + laterMs, false];
    expect(await cells.write(null, 'save')).toMatchObject({ kind });
    expect(await cells.place.read('known')).toMatchObject({ kind: kind === 'written' ? 'snapshot' : 'unavailable' });
  });
});

describe('access', () => {
  test("restore, save and read back need 6 requests, each with the token, and no text of git's holds it", async () => {
    await using scene = await setScene();
    await (await scene.machine()).write(null, '1');
    const before = scene.server.requests.length;
    const cells = await scene.machine();
    const read = await readOne(cells);
    const head = await headAfter(cells.write(read.kind === 'found' ? read.head : null, 'x'.repeat(64 * 1024)));
    expect(await cells.place.read(head)).toEqual({ kind: 'known' });
    const sent = scene.server.requests.slice(before);
    expect(sent).toHaveLength(6);
    expect(new Set(sent.map(({ authorization }) => authorization))).toEqual(
      new Set([`basic ${Buffer.from(`x-access-token:${TOKEN}`).toString('base64')}`]),
    );
  });

  test('a redirect is not followed with the token', async () => {
    await using scene = await setScene();
    await using way = await startWay(scene.server, () => Promise.resolve(302));
    expect(await readOne(await scene.machine({ url: way.url }))).toMatchObject({ kind: 'unavailable' });
    expect(scene.server.requests).toEqual([]);
  });

  test('git configuration in the home folder, which an agent may write, has no say beside a token', async () => {
    await using scene = await setScene();
    await using other = await startGitRemote({ token: 'other', repository: 'evil/twin' });
    await writeFile(
      join(scene.root, '.gitconfig'),
      `[url "${other.url}"]\n\tinsteadOf = ${scene.server.url}\n[http]\n\tproxy = ${other.url}\n`,
    );
    const cells = await scene.machine();
    const head = await headAfter(cells.write(null, '1'));
    expect(await readOne(cells)).toEqual({ kind: 'found', head, text: '1' });
    expect(other.requests).toEqual([]);
  });

  test('a server that repeats the token is not repeated', async () => {
    await using scene = await setScene();
    const hook = join(scene.server.repositoryFolder, 'hooks', 'update');
    const basic = Buffer.from(`x-access-token:${TOKEN}`).toString('base64');
    await writeFile(hook, `#!/bin/sh\necho "you sent ${TOKEN}, ${basic}" >&2\nexit 1\n`, { mode: 0o755 });
    const written = await (await scene.machine()).write(null, '1');
    expect(written).toEqual(refused(/you sent \*\*\*/));
    expect(JSON.stringify(written)).not.toContain(TOKEN);
    expect(JSON.stringify(written)).not.toContain(basic);
  });

  describe("a person's own credentials", () => {
    const own = { kind: 'own' } as const;
    const home = async (scene: Scene): Promise<string> => {
      await writeFile(
        join(scene.root, '.gitconfig'),
        `[credential]\n\thelper = "!f() { echo username=me; echo password=${TOKEN}; }; f"\n[push]\n\tfollowTags = true\n[core]\n\thooksPath = ${scene.root}\n`,
      );
      return scene.root;
    };

    test('are used when they shall be, with an environment made for another repository', async () => {
      await using scene = await setScene();
      const env = {
        PATH: process.env['PATH'],
        HOME: await home(scene),
        GIT_DIR: '/nowhere',
        GIT_INDEX_FILE: '/nowhere/index',
      };
      const cells = await scene.machine({ access: own, env });
      expect(await readOne(cells)).toEqual({ kind: 'absent' });
      const head = await headAfter(cells.write(null, '1'));
      expect(await readOne(cells)).toMatchObject({ kind: 'found', head });
    });

    test('are ignored beside a token', async () => {
      await using scene = await setScene();
      const cells = await scene.machine({
        access: { kind: 'token', token: '' },
        env: { PATH: process.env['PATH'], HOME: await home(scene) },
      });
      expect(await readOne(cells)).toEqual(unavailable('not accepted'));
    });

    test('without any: the answer says whose they are', async () => {
      await using scene = await setScene();
      const cells = await scene.machine({
        access: own,
        env: { PATH: process.env['PATH'], HOME: scene.root, GIT_CONFIG_NOSYSTEM: '1' },
      });
      expect(await readOne(cells)).toEqual(unavailable('your git credentials were not accepted'));
    });

    test('a repository on this machine, and a password in a URL that is not shown', async () => {
      await using scene = await setScene();
      const cells = await scene.machine({ access: own, url: scene.server.repositoryFolder });
      expect(await readOne(cells)).toEqual({ kind: 'absent' });
      expect(await cells.write(null, '1')).toMatchObject({ kind: 'written' });
      const url = scene.server.url.replace('http://', 'http://me:pass-word-1@');
      const refused = await readOne(await scene.machine({ access: own, url }));
      expect(refused).toEqual(unavailable('not accepted'));
      expect(JSON.stringify(refused)).not.toContain('pass-word-1');
    });
  });
});

async function objectsIn(workFolder: string): Promise<readonly string[]> {
  const files = await readdir(join(workFolder, 'objects'), { recursive: true });
  return files.filter((path) => /^[0-9a-f]{2}\/[0-9a-f]{38}$/.test(path));
}

function randomText(): string {
  return randomBytes(2_000).toString('hex');
}
