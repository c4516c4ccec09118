import { createHash } from 'node:crypto';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { startGitRemote } from '../../../testbed/git-remote.ts';
import { createInitialState, type LaneState } from '../../../src/core/lane/state/state.ts';
import { serializeState } from '../../../src/core/lane/state/serialize-state.ts';
import { untouchedProgress } from '../../../src/core/tasks/queue.ts';
import { createRefConversations } from '../../../src/git/refs/ref-conversations.ts';
import { createRefSnapshot } from '../../../src/git/refs/ref-snapshot.ts';
import { createSnapshotStore } from '../../../src/state/snapshot-store.ts';
import { createSeal } from '../../../src/state/seal.ts';
import { verbsOf } from '../../unit/state/place-fixtures.ts';
import { cacheFixture, copyOf, KEY } from './state-cache-fixture.ts';

const TOKEN = 'ghs_0123456789abcdefghijABCDEFGHIJ012345';

/** A member of a tar archive; `link` makes it a symbolic link (`hard`: a hard link) to that name. */
interface Member {
  readonly name: string;
  readonly content?: string;
  readonly link?: string;
  readonly hard?: boolean;
}

const DOCUMENT = '{"version":1}';
const state: Member = { name: 'ralph-state/state.json', content: DOCUMENT };

describe.concurrent('an entry that someone else wrote', () => {
  test('is taken when it is exactly what a save writes', async () => {
    expect(await restoreOf([state, manifest({ 'state.json': DOCUMENT })])).toMatchObject({
      kind: 'found',
      document: DOCUMENT,
      signed: false,
    });
  });

  test('is taken as an earlier version wrote it, without its transcript that is not encrypted', async () => {
    const session = { name: 'ralph-state/session/a1b2.jsonl', content: '{}' };
    const files = manifest({ 'state.json': DOCUMENT, 'session/a1b2.jsonl': '{}' });
    expect(await restoreOf([state, files, session])).toEqual({
      kind: 'found',
      sequence: 1,
      document: DOCUMENT,
      transcript: null,
      signed: false,
    });
  });

  test('is not signed because it carries a signature of something else', async () => {
    await using cache = await cacheFixture();
    await cache.store().save(copyOf('queue', 1, '{}'));
    const sign = createSeal({ credential: KEY, repository: 'octo/app' }).sign;
    const signature = sign(JSON.stringify([1, 'queue', 1, []]));
    const files = manifest({ 'state.json': DOCUMENT }, { signature });
    poison(cache.service.entries[0], [state, files]);
    expect(await cache.store().restore('queue')).toMatchObject({ document: DOCUMENT, signed: false });
  });

  test.each<[string, readonly Member[], RegExp]>([
    ['without a manifest', [state], /manifest is missing/],
    [
      'with a manifest that is not JSON',
      [state, { name: 'ralph-state/manifest.json', content: 'x' }],
      /manifest is missing or unreadable/,
    ],
    [
      'with another content than the manifest says',
      [state, manifest({ 'state.json': 'other' })],
      /state\.json differs/,
    ],
    [
      'with a file that the manifest lacks',
      [state, manifest({ 'state.json': DOCUMENT }), { name: 'ralph-state/session/x', content: '' }],
      /session\/x differs/,
    ],
    [
      'without a file that the manifest has',
      [state, manifest({ 'state.json': DOCUMENT, 'session/x': '' })],
      /file from its manifest is missing/,
    ],
    ['with an oversize document', oversize('state.json', 64 * 1024 + 1), /state document is too large/],
    ['with an oversize session', [...oversize('session/big', 11 * 1024 * 1024), state], /larger than/],
    [
      'from another lane',
      [state, manifest({ 'state.json': DOCUMENT }, { lane: 'issue-9' })],
      /it belongs to "issue-9", number 1/,
    ],
    [
      'with another sequence number than its key',
      [state, manifest({ 'state.json': DOCUMENT }, { sequence: 99 })],
      /number 99/,
    ],
    [
      'with a symbolic link',
      [manifest({ 'state.json': DOCUMENT }), { name: 'ralph-state/state.json', link: '/etc/hostname' }],
      /link or a special file/,
    ],
    [
      'with a hard link',
      [
        state,
        { name: 'ralph-state/session/h', hard: true, link: 'ralph-state/state.json' },
        manifest({ 'state.json': DOCUMENT }),
      ],
      /cannot be unpacked/,
    ],
    [
      'with a file beside its folder',
      [state, manifest({ 'state.json': DOCUMENT }), { name: 'other', content: '' }],
      /outside its folder/,
    ],
    [
      'with hundreds of files',
      [state, ...Array.from({ length: 300 }, (_, i) => ({ name: `ralph-state/session/${String(i)}`, content: '' }))],
      /more than 200 files/,
    ],
  ])('%s is refused', async (_title, members, why) => {
    expect(await restoreOf(members)).toEqual({ kind: 'unavailable', why: expect.stringMatching(why) });
  });

  test.each<[string, (outside: string) => readonly Member[]]>([
    ['an absolute name', (outside) => [{ name: join(outside, 'escaped'), content: 'x' }]],
    [
      'a name with ..',
      () => [
        { name: '../../../outside/escaped', content: 'x' },
        { name: 'ralph-state/../../../../outside/escaped', content: 'x' },
      ],
    ],
    [
      'a link and a file behind it',
      (outside) => [
        { name: 'ralph-state/link', link: outside },
        { name: 'ralph-state/link/escaped', content: 'x' },
      ],
    ],
    [
      'a relative link and a file behind it',
      () => [
        { name: 'ralph-state/link', link: '../../../../outside' },
        { name: 'ralph-state/link/escaped', content: 'x' },
      ],
    ],
  ])('%s writes nothing outside and is refused', async (_title, members) => {
    await using cache = await cacheFixture();
    const outside = join(cache.folder, 'outside');
    await mkdir(outside);
    await cache.store().save(copyOf('queue', 1, '{}'));
    poison(cache.service.entries[0], [...members(outside), state, manifest({ 'state.json': DOCUMENT })]);
    // Members reach `outside` from <folder>/machine-N/restore-…/work.
    expect(await cache.store().restore('queue')).toMatchObject({ kind: 'unavailable' });
    expect(await readdir(outside)).toEqual([]);
  });

  test('a truncated archive is refused', async () => {
    await using cache = await cacheFixture();
    await cache.store().save(copyOf('queue', 1, '{}'));
    const [entry] = cache.service.entries;
    if (entry) entry.content = entry.content.subarray(0, entry.content.length - 20);
    expect(await cache.store().restore('queue')).toEqual({
      kind: 'unavailable',
      why: 'the downloaded archive cannot be unpacked',
    });
  });
});

test('beside a ref at #3, a planted entry #900 with a consent, a pause and a conversation is not used', async () => {
  await using cache = await cacheFixture();
  await using server = await startGitRemote({ folder: join(cache.folder, 'server'), token: TOKEN });
  const now = (): number => 1_795_300_000_000;
  const storeOn = async (machine: string) => {
    const workFolder = join(cache.folder, machine);
    const network = {
      url: server.url,
      access: { kind: 'token', token: TOKEN } as const,
      env: { PATH: process.env['PATH'] },
    };
    const state = createSnapshotStore({
      place: createRefSnapshot({ ...network, workFolder, now }),
      copies: { place: 'cache', store: cache.store() },
      conversations: createRefConversations({
        ...network,
        workFolder: `${workFolder}-conversations`,
        now,
        maxBytes: 1_000_000,
      }),
      now,
      pace: { random: () => 0, sleep: () => Promise.resolve() },
    });
    return { ...verbsOf(state, machine, now), transcript: state.transcript };
  };
  const of = { lane: 'queue', sessionId: '0f0e0d0c-1111-4222-8333-444455556666' };
  const own = await createSeal({ credential: KEY, repository: 'octo/app' }).close(Buffer.from('what was said'), of);
  const foreign = await createSeal({ credential: 'sk-another', repository: 'octo/app' }).close(Buffer.from('lies'), of);
  const stateWith = (sequence: number, transcript: typeof own): LaneState => ({
    ...createInitialState('queue', now()),
    sequence,
    session: { id: of.sessionId, startedAt: now(), lastUsedAt: now(), taskId: 'issue-1' },
    transcript: transcript && { sha256: transcript.sha256, bytes: transcript.content.length },
  });
  const first = await storeOn('first');
  await first.restore('queue');
  await first.claim('queue');
  const state = stateWith(3, own);
  expect(
    await first.save({ lane: 'queue', sequence: 3, document: serializeState(state), transcript: own }),
  ).toMatchObject({ where: 'cache ✓ ref ✓' });

  const forged: LaneState = {
    ...stateWith(900, foreign),
    tasks: { 'issue-1': { ...untouchedProgress, approval: { text: 'f'.repeat(32), by: 'ada', at: now() } } },
    pause: { by: 'ada', at: now() },
  };
  const thief = createSeal({ credential: 'sk-another', repository: 'octo/app' });
  await cache.store({ seal: thief }).save(copyOf('queue', 900, serializeState(forged), foreign));

  const second = await storeOn('second');
  expect(await second.restore('queue')).toEqual({
    kind: 'found',
    savedBy: 'first',
    state,
    origin: 'ref',
    orders: [],
    lease: null,
    warnings: [
      expect.stringMatching(/^The cache has #900 of this state and the ref has #3, which decides;.* is ignored\.$/),
    ],
  });
  expect(await second.transcript('queue', state.transcript ?? { sha256: '', bytes: 0 })).toEqual({ kind: 'absent' });
});

async function restoreOf(members: readonly Member[]): Promise<unknown> {
  await using cache = await cacheFixture();
  await cache.store().save(copyOf('queue', 1, '{}'));
  poison(cache.service.entries[0], members);
  return await cache.store().restore('queue');
}

/** Replaces the archive with one of the same compression. */
function poison(entry: { content: Buffer } | undefined, members: readonly Member[]): void {
  if (entry === undefined) throw new Error('nothing was saved');
  const isZstd = entry.content.readUInt32LE(0) === 0xfd2fb528;
  const archive = tar(members);
  entry.content = isZstd ? zstdCompressSync(archive) : gzipSync(archive);
}

function manifest(
  files: Readonly<Record<string, string>>,
  change: { readonly lane?: string; readonly sequence?: number; readonly signature?: string | null } = {},
): Member {
  const hashes = Object.fromEntries(
    Object.entries(files).map(([path, content]) => [path, createHash('sha256').update(content).digest('hex')]),
  );
  return {
    name: 'ralph-state/manifest.json',
    content: JSON.stringify({ version: 1, lane: 'queue', sequence: 1, files: hashes, ...change }),
  };
}

function oversize(path: string, bytes: number): readonly Member[] {
  const content = 'x'.repeat(bytes);
  return [{ name: `ralph-state/${path}`, content }, manifest({ [path]: content })];
}

function tar(members: readonly Member[]): Buffer {
  const blocks = members.flatMap(({ name, content = '', link = '', hard = false }) => {
    const data = Buffer.from(content);
    const header = Buffer.alloc(512);
    header.write(name, 0, 100);
    header.write('0000644\0', 100);
    header.write('0000000\0', 108);
    header.write('0000000\0', 116);
    header.write(`${data.length.toString(8).padStart(11, '0')}\0`, 124);
    header.write('00000000000\0', 136);
    header.write('        ', 148);
    header.write(link === '' ? '0' : hard ? '1' : '2', 156);
    header.write(link, 157, 100);
    header.write('ustar\x0000', 257);
    const checksum = header.reduce((sum, byte) => sum + byte, 0);
    header.write(`${checksum.toString(8).padStart(6, '0')}\0 `, 148);
    return [header, data, Buffer.alloc((512 - (data.length % 512)) % 512)];
  });
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}
