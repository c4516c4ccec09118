import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startGitRemote, type GitRemote } from '../../../sandbox/git-remote.ts';
import type { RefCellsOptions } from '../../../src/git/refs/ref-cells.ts';
import { explainStateRefusal } from '../../../src/git/refs/ref-refusal.ts';
import type { CellRead, CellStore, CellWritten } from '../../../src/ports/state.ts';
import { IS_DEEP } from '../../runs.ts';
import { openCells, READ_ONLY_TOKEN, runGit, startWay, TOKEN, type Passage } from './git-fixture.ts';

/** A git server, and as many machines as a test wants. */
interface Scene {
  readonly server: GitRemote;
  readonly root: string;
  machine(change?: Partial<RefCellsOptions>): Promise<CellStore>;
  serverGit(...args: string[]): Promise<string>;
  [Symbol.asyncDispose](): Promise<void>;
}

async function setScene(): Promise<Scene> {
  const root = await mkdtemp(join(tmpdir(), 'ralph-ref-cells-'));
  const server = await startGitRemote({ folder: join(root, 'server'), token: TOKEN, readOnlyToken: READ_ONLY_TOKEN });
  return {
    server,
    root,
    machine: (change) => openCells(server, root, change),
    serverGit: (...args) => runGit(server.repositoryFolder, args),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await rm(root, { recursive: true, force: true });
    },
  };
}

async function headAfter(writing: Promise<CellWritten>): Promise<string> {
  const written = await writing;
  if (written.kind !== 'written') throw new Error(`not written: ${JSON.stringify(written)}`);
  return written.head;
}

async function readOne(cells: CellStore, name = 'queue'): Promise<CellRead> {
  const [read] = await cells.read([name]);
  if (read === undefined) throw new Error('no answer');
  return read;
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
    expect(one.place).toBe('ref');
    expect(await readOne(one)).toEqual({ kind: 'absent' });
    expect(await one.readHead('queue')).toEqual({ kind: 'head', head: null });
    const first = await headAfter(one.write('queue', null, '{"n":1}\n'));
    expect(await readOne(other)).toEqual({ kind: 'found', head: first, text: '{"n":1}\n' });
    const second = await headAfter(other.write('queue', first, '{"n":2}\n'));
    expect(await readOne(one)).toEqual({ kind: 'found', head: second, text: '{"n":2}\n' });
    expect(await one.readHead('queue')).toEqual({ kind: 'head', head: second });
  });

  test('people find it as state.json of a commit on refs/ralph/state/<name>; branches and tags are not touched', async () => {
    await using scene = await setScene();
    const head = await headAfter((await scene.machine()).write('issue-7', null, 'text'));
    expect(
      await scene.serverGit(
        'for-each-ref',
        '--format=%(refname) %(objectname) %(contents:subject) %(committername) %(committerdate:unix)',
      ),
    ).toBe(`refs/ralph/state/issue-7 ${head} ralph state issue-7 ralph 1790000000`);
    expect(await scene.serverGit('ls-tree', '-r', '--name-only', head)).toBe('state.json');
    await scene.serverGit('fsck', '--strict');
  });

  test("several names are read at once, in their order, and no other lane's", async () => {
    await using scene = await setScene();
    const cells = await scene.machine();
    for (const name of ['queue', 'queue-2', 'issue-1', 'issue-11']) await cells.write(name, null, name);
    const before = scene.server.requests.length;
    const read = await (await scene.machine()).read(['issue-1', 'absent', 'queue', 'issue-1']);
    expect(read.map((cell) => (cell.kind === 'found' ? cell.text : cell.kind))).toEqual([
      'issue-1',
      'absent',
      'queue',
      'issue-1',
    ]);
    expect(scene.server.requests.length - before).toBe(3);
    expect(await cells.read([])).toEqual([]);
  });

  test.each([
    ['64 KiB', `{"document":"${'0123456789abcdef'.repeat(4096)}"}`],
    ['the most that is kept', 'x'.repeat(256 * 1024)],
    ['nothing', ''],
    ['NUL', 'a\0b\0'],
    ['emoji and combining characters', '👩‍👩‍👧‍👦 é 𝄞 \u{10FFFF}'],
    ['quotes, backslashes and line ends', '"\'`$(x)\\\r\n\r\n\t'],
    ["what looks like more of git's input", 'x\ndata 3\nabc\ndeleteall\ncommit refs/heads/main\ndone\n'],
  ])('%s comes back as it was', async (_, text) => {
    await using scene = await setScene();
    const head = await headAfter((await scene.machine()).write('queue', null, text));
    expect(await readOne(await scene.machine())).toEqual({ kind: 'found', head, text });
    expect(await scene.serverGit('for-each-ref', '--format=%(refname)')).toBe('refs/ralph/state/queue');
  });

  test('one byte more than 256 KiB is not sent', async () => {
    await using scene = await setScene();
    expect(await (await scene.machine()).write('queue', null, `${'x'.repeat(256 * 1024 - 1)}é`)).toEqual(
      unavailable('262145 bytes is too long'),
    );
    expect(scene.server.requests).toEqual([]);
  });

  test.each(['', 'Queue', '-queue', 'a/b', '..', 'queue*', 'a b', 'queue:main', 'a\nb', 'é', 'a'.repeat(101)])(
    'the name %j is refused, the others are read',
    async (name) => {
      await using scene = await setScene();
      const cells = await scene.machine();
      expect(await cells.write(name, null, 'x')).toEqual(unavailable('cannot be the name'));
      expect(await cells.readHead(name)).toEqual(unavailable('cannot be the name'));
      expect(scene.server.requests).toEqual([]);
      expect(await cells.read([name, 'queue'])).toEqual([unavailable('cannot be the name'), { kind: 'absent' }]);
    },
  );

  test('nothing of an operation is left behind but objects', async () => {
    await using scene = await setScene();
    const workFolder = join(scene.root, 'own');
    const cells = await scene.machine({ workFolder });
    await cells.read(['queue']);
    await cells.write('queue', await headAfter(cells.write('queue', null, '1')), '2');
    expect(await readdir(workFolder)).toEqual(['objects']);
  });
});

describe('only who has read the newest may replace it', () => {
  test.each([
    ['created meanwhile', null],
    ['replaced meanwhile', 'first'],
    ['removed by a person', 'removed'],
  ] as const)('%s: conflict, and nothing is overwritten', async (_, state) => {
    await using scene = await setScene();
    const [one, other] = [await scene.machine(), await scene.machine()];
    const first = await headAfter(one.write('queue', null, '1'));
    await readOne(other);
    if (state === 'first') await one.write('queue', first, '2');
    if (state === 'removed') await scene.serverGit('update-ref', '-d', 'refs/ralph/state/queue');
    const refs = await scene.serverGit('for-each-ref');
    expect(await other.write('queue', state === null ? null : first, 'mine')).toEqual(conflict);
    expect(await scene.serverGit('for-each-ref')).toBe(refs);
  });

  test('the same text at the same moment from two machines: one of them loses', async () => {
    await using scene = await setScene();
    const machines = await Promise.all([scene.machine(), scene.machine()]);
    const written = await Promise.all(machines.map((cells) => cells.write('queue', null, 'same')));
    expect(written.map(({ kind }) => kind).sort()).toEqual(['conflict', 'written']);
  });

  test('100 writers at once: one is written, 99 get to know that somebody was faster', async () => {
    await using scene = await setScene();
    const [one, other] = [await scene.machine({ timeoutMs: 100_000 }), await scene.machine({ timeoutMs: 100_000 })];
    const first = await headAfter(one.write('queue', null, 'first'));
    await readOne(other);
    const texts = Array.from({ length: 100 }, (_, i) => `writer ${i}`);
    const written = await Promise.all(texts.map((text, i) => (i % 2 === 0 ? one : other).write('queue', first, text)));
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
          const { kind } = await cells.write('queue', head, `${text}${name}${lines}\n`);
          expect(kind).not.toBe('unavailable');
          if (kind === 'written') lines += 1;
        }
      }),
    );
    const text = await scene.serverGit('cat-file', 'blob', 'refs/ralph/state/queue:state.json');
    expect(text.split('\n').sort()).toEqual(names.flatMap((name) => [0, 1, 2].map((line) => `${name}${line}`)));
    expect(await scene.serverGit('rev-list', '--count', 'refs/ralph/state/queue')).toBe('12');
  }, 120_000);
});

describe('history', () => {
  test('a person can look back, and never at more than 16 commits, in more writes than that of several machines', async () => {
    await using scene = await setScene();
    let [cells, head] = [await scene.machine(), null as string | null];
    const lengths: number[] = [];
    const writes = IS_DEEP ? 60 : 20;
    for (let i = 0; i < writes; i += 1) {
      if (i % 7 === 6) {
        cells = await scene.machine();
        await readOne(cells);
      }
      head = await headAfter(cells.write('queue', head, `${i}`));
      lengths.push(Number(await scene.serverGit('rev-list', '--count', head)));
    }
    expect(lengths).toEqual(Array.from({ length: writes }, (_, i) => (i % 16) + 1));
    await scene.serverGit('fsck', '--strict');
  }, 120_000);

  test('it is fetched without its past', async () => {
    await using scene = await setScene();
    const cells = await scene.machine();
    let head: string | null = null;
    for (const text of ['1', '2', '3']) head = await headAfter(cells.write('queue', head, text));
    const workFolder = join(scene.root, 'own');
    await readOne(await scene.machine({ workFolder }));
    const objects = (await readdir(join(workFolder, 'objects'), { recursive: true })).filter((path) =>
      /^[0-9a-f]{2}\/[0-9a-f]{38}$/.test(path),
    );
    expect(objects).toHaveLength(3);
  });

  test('begins again when what it would build on is not here any more', async () => {
    await using scene = await setScene();
    const workFolder = join(scene.root, 'own');
    const cells = await scene.machine({ workFolder });
    const first = await headAfter(cells.write('queue', null, '1'));
    await rm(workFolder, { recursive: true });
    const second = await headAfter(cells.write('queue', first, '2'));
    expect(await scene.serverGit('rev-list', '--parents', second)).toBe(second);
  });
});

describe('what people do with the ref', () => {
  test('set back: the older text is read, and can be replaced', async () => {
    await using scene = await setScene();
    const cells = await scene.machine();
    const first = await headAfter(cells.write('queue', null, '1'));
    await cells.write('queue', first, '2');
    await scene.serverGit('update-ref', 'refs/ralph/state/queue', first);
    expect(await readOne(cells)).toEqual({ kind: 'found', head: first, text: '1' });
    expect(await cells.write('queue', first, '3')).toMatchObject({ kind: 'written' });
  });

  test('removed: absent, and can be created', async () => {
    await using scene = await setScene();
    const cells = await scene.machine();
    await cells.write('queue', null, '1');
    await scene.serverGit('update-ref', '-d', 'refs/ralph/state/queue');
    expect(await readOne(cells)).toEqual({ kind: 'absent' });
    expect(await cells.write('queue', null, '2')).toMatchObject({ kind: 'written' });
  });

  /** Makes the object that the ref shall point to. */
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
    [
      'a commit without state.json',
      commitOf(async (scene) => tree(scene, `100644,${await blob(scene, 'x')},other.txt`)),
    ],
    [
      'a commit whose state.json is a folder',
      commitOf(async (scene) => tree(scene, `100644,${await blob(scene, 'x')},state.json/x`)),
    ],
    [
      'a commit whose state.json is a submodule',
      commitOf((scene) => tree(scene, `160000,${'1'.repeat(40)},state.json`)),
    ],
    [
      'a commit whose state.json is too long',
      commitOf(async (scene) => tree(scene, `100644,${await blob(scene, 'x'.repeat(256 * 1024 + 1))},state.json`)),
    ],
  ])('%s has no readable text, but a head, so that it can be replaced', async (_, make) => {
    await using scene = await setScene();
    const made = await make(scene);
    await scene.serverGit('update-ref', 'refs/ralph/state/queue', made);
    const cells = await scene.machine();
    expect(await readOne(cells)).toEqual({ kind: 'found', head: made, text: '{}' });
    const head = await headAfter(cells.write('queue', made, 'mended'));
    expect(await readOne(await scene.machine())).toEqual({ kind: 'found', head, text: 'mended' });
    expect(await scene.serverGit('ls-tree', '-r', '--name-only', head)).toBe('state.json');
  });
});

describe('a server that refuses says what to do, and is not asked in vain', () => {
  test('a token that may only read', async () => {
    await using scene = await setScene();
    await (await scene.machine()).write('queue', null, '1');
    const cells = await scene.machine({ access: { kind: 'token', token: READ_ONLY_TOKEN } });
    const read = await readOne(cells);
    expect(read).toMatchObject({ kind: 'found', text: '1' });
    expect(await cells.write('queue', 'head' in read ? read.head : null, '2')).toEqual(
      refused(/the token may not do this.*contents: write/),
    );
  });

  test.each(['', 'ghs_wrongwrongwrongwrong'])('the token %j', async (wrong) => {
    await using scene = await setScene();
    const cells = await scene.machine({ access: { kind: 'token', token: wrong } });
    for (const answer of [await readOne(cells), await cells.readHead('queue')])
      expect(answer).toEqual(unavailable('the token was not accepted'));
    expect(await cells.write('queue', null, '1')).toEqual(refused('the token was not accepted'));
  });

  test.each([
    [404, 'unavailable', 'there is no repository'],
    [429, 'unavailable', 'limits the rate of requests'],
    [401, 'refused', 'was not accepted'],
    [403, 'refused', 'contents: write'],
    [500, 'unavailable', 'cannot be reached or is broken'],
  ])('status %i for all: a write is %s, %s', async (status, kind, why) => {
    await using scene = await setScene();
    await using way = await startWay(scene.server, () => Promise.resolve(status));
    const cells = await scene.machine({ url: way.url });
    for (const answer of [await readOne(cells), await cells.readHead('queue')])
      expect(answer).toEqual(unavailable(why));
    expect(await cells.write('queue', null, '1')).toEqual({ ...unavailable(why), kind });
  });

  test('a hook or ruleset that refuses the push', async () => {
    await using scene = await setScene();
    await scene.server.setRule('protected-branch');
    expect(await (await scene.machine()).write('queue', null, '1')).toEqual(refused('refs/ralph/state/\\*\\*'));
  });

  test.each([
    ['nobody listens', 'http://127.0.0.1:9/octo/sample.git', 'cannot be reached'],
    ['the name is not known', 'http://nowhere.invalid/octo/sample.git', 'DNS'],
    ['the address is no address', 'not a url', 'git could not do it'],
    ['the protocol is not allowed', 'ext::sh -c exit', 'git could not do it'],
  ])('%s', async (_, url, why) => {
    await using scene = await setScene();
    const cells = await scene.machine({ url });
    for (const answer of [await readOne(cells), await cells.write('queue', null, '1'), await cells.readHead('queue')])
      expect(answer).toEqual(unavailable(why));
  });

  // Words of GitHub that only GitHub says, and words of a bad network that look like them.
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
    ["remote: Repository not found.\nfatal: repository 'u' not found", 'unavailable', 'there is no repository'],
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
      'cannot be reached',
    ],
    [
      "fatal: unable to access 'https://github.com/octo/read-only.git/': Failed to connect to github.com port 443",
      'unavailable',
      'cannot be reached',
    ],
    ["fatal: unable to access 'u': Recv failure: Connection reset by peer", 'unavailable', 'cannot be reached'],
    [
      '[remote rejected] refs/ralph/state/issue-429 (pre-receive hook declined)',
      'refused',
      'a rule or hook of the repository',
    ],
    ['[remote rejected] (Internal Server Error)', 'unavailable', 'git could not do it'],
  ])('%j: %s, %s', (words, kind, why) => {
    const explained = explainStateRefusal(words, { url: 'https://github.com/octo/sample.git', isOwn: false });
    expect(explained).toEqual({ kind, why: expect.stringContaining(why) });
    expect(explained.why).not.toContain('\n');
  });

  test('no folder to work in, no git: an answer, not an exception', async () => {
    await using scene = await setScene();
    await writeFile(join(scene.root, 'file'), '');
    expect(await readOne(await scene.machine({ workFolder: join(scene.root, 'file') }))).toEqual(unavailable('file'));
    expect(await (await scene.machine({ env: { PATH: scene.root } })).write('queue', null, '1')).toEqual(
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
    const head = await headAfter(cells.write('queue', null, '1'));
    expect(await cells.readHead('queue')).toEqual({ kind: 'head', head });
    expect(faults).toBeGreaterThan(1);
  });

  test('the answer to a push is lost: written, since the ref is ours', async () => {
    await using scene = await setScene();
    const first = await headAfter((await scene.machine()).write('queue', null, '1'));
    let lost = 0;
    await using way = await startWay(scene.server, (path) =>
      Promise.resolve(path.endsWith('/git-receive-pack') && lost++ === 0 ? 'answer lost' : 'open'),
    );
    const cells = await scene.machine({ url: way.url });
    await readOne(cells);
    const head = await headAfter(cells.write('queue', first, '2'));
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
    expect(await cells.write('queue', null, '1')).toEqual(unavailable('git push got no answer within 1 s'));
    expect(await cells.write('queue', null, '1')).toEqual(unavailable('is not retried yet'));
    expect(await cells.readHead('queue')).toEqual({ kind: 'head', head: null });
    expect(pushes).toBe(1);
  });

  test('somebody else was faster while the push was lost: conflict', async () => {
    await using scene = await setScene();
    const other = await scene.machine();
    let theirs = '';
    await using way = await startWay(scene.server, async (path) => {
      if (!path.endsWith('/git-receive-pack')) return 'open';
      if (theirs === '') theirs = await headAfter(other.write('queue', null, 'theirs'));
      return 'cut';
    });
    expect(await (await scene.machine({ url: way.url })).write('queue', null, 'mine')).toEqual(conflict);
    expect(await other.readHead('queue')).toEqual({ kind: 'head', head: theirs });
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
    for (const answer of [await readOne(cells), await cells.write('queue', null, '1'), await cells.readHead('queue')])
      expect(answer).toEqual(unavailable('does not answer'));
    // fetch, push and ls-remote wait once each. A single wait without the limit takes 10 s; a busy machine may take some too.
    expect(performance.now() - startedAt).toBeLessThan(9_000);
    const asked = requests;
    expect(asked).toBeLessThanOrEqual(3);
    for (const answer of [await readOne(cells), await cells.write('queue', null, '1'), await cells.readHead('queue')])
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
    expect(await cells.write('queue', null, 'claim')).toEqual(unavailable('does not answer'));
    [now, isSilent] = [now + laterMs, false];
    expect(await cells.write('queue', null, 'save')).toMatchObject({ kind });
    expect(await cells.readHead('queue')).toMatchObject({ kind: kind === 'written' ? 'head' : 'unavailable' });
  });
});

describe('access', () => {
  test("restore, save and read back need 6 requests, each with the token, and no text of git's holds it", async () => {
    await using scene = await setScene();
    await (await scene.machine()).write('queue', null, '1');
    const before = scene.server.requests.length;
    const cells = await scene.machine();
    const read = await readOne(cells);
    const head = await headAfter(cells.write('queue', read.kind === 'found' ? read.head : null, 'x'.repeat(64 * 1024)));
    expect(await cells.readHead('queue')).toEqual({ kind: 'head', head });
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
    const head = await headAfter(cells.write('queue', null, '1'));
    expect(await readOne(cells)).toEqual({ kind: 'found', head, text: '1' });
    expect(other.requests).toEqual([]);
  });

  test('a server that repeats the token is not repeated', async () => {
    await using scene = await setScene();
    const hook = join(scene.server.repositoryFolder, 'hooks', 'update');
    const basic = Buffer.from(`x-access-token:${TOKEN}`).toString('base64');
    await writeFile(hook, `#!/bin/sh\necho "you sent ${TOKEN}, ${basic}" >&2\nexit 1\n`, { mode: 0o755 });
    const written = await (await scene.machine()).write('queue', null, '1');
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
      const head = await headAfter(cells.write('queue', null, '1'));
      expect(await cells.readHead('queue')).toEqual({ kind: 'head', head });
    });

    test('are not looked at beside a token', async () => {
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
      expect(await cells.write('queue', null, '1')).toMatchObject({ kind: 'written' });
      const url = scene.server.url.replace('http://', 'http://me:pass-word-1@');
      const refused = await readOne(await scene.machine({ access: own, url }));
      expect(refused).toEqual(unavailable('not accepted'));
      expect(JSON.stringify(refused)).not.toContain('pass-word-1');
    });
  });
});
