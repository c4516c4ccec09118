import { createHash } from 'node:crypto';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, type Socket, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type CacheFault, type CacheStep, createCacheToken } from '../../../testbed/cache-service.ts';
import type { CopyStore, RestoredCopy, SavedCopy, SealedTranscript } from '../../../src/ports/state.ts';
import { createSeal } from '../../../src/state/seal.ts';
import { eventually } from '../../eventually.ts';
import {
  cacheFixture,
  copyOf,
  isAsked,
  KEY,
  PATIENT_MS,
  RETRIED_MS,
  runEnvironment,
  SHORT_MS,
  toItsLimit,
  workerCommand,
} from './state-cache-fixture.ts';

interface FaultCase {
  readonly step: CacheStep;
  readonly fault: CacheFault;
  readonly limitMs?: number;
  readonly why: RegExp;
}

describe('a saved copy is found again', () => {
  test('a document and its transcript come back on another machine, in 4 + 2 requests', async () => {
    await using cache = await cacheFixture();
    const transcript = transcriptOf('closed');

    expect(await cache.store().save(copyOf('queue', 41, '{"sequence":41}', transcript))).toEqual({
      kind: 'saved',
      where: 'cache',
    });
    const found = await cache.store().restore('queue');

    expect(found).toEqual({ kind: 'found', sequence: 41, document: '{"sequence":41}', transcript, signed: true });
    expect(cache.service.requests.map(({ step }) => step)).toEqual([
      'reserve',
      'upload',
      'finalize',
      'lookup',
      'lookup',
      'download',
    ]);
  });

  test.each([
    [40, 'found', ['lookup', 'lookup', 'download']],
    [41, 'absent', ['lookup']],
    [900, 'absent', ['lookup']],
  ])('what is not beyond #%i is looked up, and not fetched: %s', async (beyond, kind, steps) => {
    await using cache = await cacheFixture();
    await cache.store().save(copyOf('queue', 41, '{"sequence":41}'));
    const before = cache.service.requests.length;
    expect((await cache.store().restore('queue', beyond)).kind).toBe(kind);
    expect(cache.service.requests.slice(before).map(({ step }) => step)).toEqual(steps);
  });

  test('beyond a number, nothing is absent as well', async () => {
    await using cache = await cacheFixture();
    expect(await cache.store().restore('queue', 0)).toEqual({ kind: 'absent' });
  });

  test.each([null, '{}'])(
    'without a transcript, restore returns none, and with %s as document that',
    async (document) => {
      await using cache = await cacheFixture();
      await cache.store().save(copyOf('queue', 1, document));
      expect(await cache.store().restore('queue')).toEqual({
        kind: 'found',
        sequence: 1,
        document,
        transcript: null,
        signed: true,
      });
    },
  );

  test.each([
    ['another key', 'sk-ant-another', KEY],
    ['no key', KEY, null],
    ['no key when it was saved', null, KEY],
  ])('with %s it is not signed, which is only reported', async (_, saved, restored) => {
    await using cache = await cacheFixture();
    const sealOf = (credential: string | null) => createSeal({ credential, repository: 'octo/app' });
    await cache.store({ seal: sealOf(saved) }).save(copyOf('queue', 1, '{}'));
    expect(await cache.store({ seal: sealOf(restored) }).restore('queue')).toMatchObject({
      document: '{}',
      signed: false,
    });
  });

  test('the newest entry of the lane wins, and other lanes stay apart even when one name begins with the other', async () => {
    await using cache = await cacheFixture();
    await cache.store().save(copyOf('queue', 1, 'queue old'));
    await cache.store().save(copyOf('queue', 2, 'queue new'));
    await cache.store().save(copyOf('queue-2', 9, 'another lane'));
    await cache.store().save(copyOf('issue-1', 3, 'one'));
    await cache.store().save(copyOf('issue-12', 4, 'twelve'));

    expect(await cache.store().restore('queue')).toMatchObject({ document: 'queue new' });
    expect(await cache.store().restore('issue-1')).toMatchObject({ document: 'one' });
    expect(await cache.store().restore('issue')).toEqual({ kind: 'absent' });
  });

  test('a save leaves nothing in the staging folder', async () => {
    await using cache = await cacheFixture();
    const stagingFolder = join(cache.folder, 'staging');
    await cache.store({ stagingFolder }).save(copyOf('queue', 1, '{}'));
    expect(await readdir(stagingFolder)).toEqual([]);
  });

  test('the log shows what the library says, but no command and no signed address', async () => {
    await using cache = await cacheFixture();
    await cache.store().save(copyOf('queue', 1, '{}'));
    await cache.store().restore('queue');
    expect(cache.debugLines).toContainEqual(expect.stringContaining('Cache hit for'));
    expect(cache.debugLines.join('\n')).not.toMatch(/::|sig=/);
  });
});

describe('a copy that cannot be kept is reported', () => {
  test('a document over 64 KiB is not saved', async () => {
    await using cache = await cacheFixture();
    expect(await cache.store().save(copyOf('queue', 1, 'x'.repeat(64 * 1024 + 1), null))).toEqual({
      kind: 'not-kept',
      why: 'the state document is larger than 64 KiB',
    });
    expect(cache.service.requests).toEqual([]);
  });

  test('a key that exists is never overwritten', async () => {
    await using cache = await cacheFixture();
    const now = (): number => 1_795_300_000_000;
    await cache.store({ now }).save(copyOf('queue', 1, 'first'));
    expect(await cache.store({ now }).save(copyOf('queue', 1, 'second'))).toEqual({
      kind: 'not-kept',
      why: expect.stringMatching(/answered 409 to the reservation: .*same key/),
    });
    expect(await cache.store().restore('queue')).toMatchObject({ document: 'first' });
  });
});

describe('what the run is not allowed to do', () => {
  const denied = /event's cache is read-only.*`cache-mode: write`/;

  test('a label or comment event restores but does not save, and asks the service for nothing', async () => {
    await using cache = await cacheFixture();
    await cache.store().save(copyOf('queue', 1, '{}'));
    cache.service.setMode('read');
    const before = cache.service.requests.length;
    expect(await cache.store().save(copyOf('queue', 2, '{}'))).toEqual({
      kind: 'not-kept',
      why: expect.stringMatching(denied),
    });
    expect(cache.service.requests.length).toBe(before);
    expect(await cache.store().restore('queue')).toMatchObject({ kind: 'found' });
  });

  test("a read-only token is the service's word, whatever the runner says of the mode", async () => {
    await using cache = await cacheFixture({ readOnly: true });
    const environment = runEnvironment(cache.service, { ACTIONS_CACHE_MODE: undefined });
    expect(await cache.store({ environment }).save(copyOf('queue', 1, '{}'))).toEqual({
      kind: 'not-kept',
      why: expect.stringMatching(
        /`cache-mode: write` \(the service: cache write denied: token has no writable scopes\)/,
      ),
    });
  });

  test('a token without readable scope does not count as a miss', async () => {
    await using cache = await cacheFixture();
    const environment = runEnvironment(cache.service, {
      ACTIONS_RUNTIME_TOKEN: createCacheToken([{ Scope: 'refs/heads/main', Permission: 2 }]),
    });
    expect(await cache.store({ environment }).restore('queue')).toEqual({
      kind: 'unavailable',
      why: 'cache read denied: token has no readable scopes',
    });
  });

  test('a branch reads the default branch, which does not read the branch', async () => {
    await using cache = await cacheFixture();
    const branch = runEnvironment(cache.service, {
      ACTIONS_RUNTIME_TOKEN: createCacheToken([
        { Scope: 'refs/heads/topic', Permission: 3 },
        { Scope: 'refs/heads/main', Permission: 1 },
      ]),
    });
    await cache.store().save(copyOf('queue', 1, 'of main'));
    expect(await cache.store({ environment: branch }).restore('queue')).toMatchObject({ document: 'of main' });
    await cache.store({ environment: branch }).save(copyOf('queue', 2, 'of topic'));
    expect(await cache.store({ environment: branch }).restore('queue')).toMatchObject({ document: 'of topic' });
    expect(await cache.store().restore('queue')).toMatchObject({ document: 'of main' });
  });

  test.each([
    [
      'outside GitHub',
      { ACTIONS_RESULTS_URL: undefined, ACTIONS_RUNTIME_TOKEN: undefined },
      /there is no cache service here/,
    ],
    ['without a token', { ACTIONS_RUNTIME_TOKEN: '' }, /there is no cache service here/],
    ['with cache-mode none', { ACTIONS_CACHE_MODE: 'none' }, /cache-mode "none"/],
    [
      'with cache-mode write-only, which cannot be read back',
      { ACTIONS_CACHE_MODE: 'write-only' },
      /cache-mode "write-only"/,
    ],
  ])('%s neither is tried', async (_title, change, why) => {
    await using cache = await cacheFixture();
    const store = cache.store({ environment: runEnvironment(cache.service, change) });
    expect(await store.restore('queue')).toEqual({ kind: 'unavailable', why: expect.stringMatching(why) });
    expect(await store.save(copyOf('queue', 1, '{}'))).toEqual({ kind: 'not-kept', why: expect.stringMatching(why) });
    expect(cache.service.requests).toEqual([]);
  });
});

describe.concurrent('absent is only what the service calls absent', () => {
  test('a service without an entry', async () => {
    await using cache = await cacheFixture();
    expect(await cache.store().restore('queue')).toEqual({ kind: 'absent' });
    expect(cache.service.requests.length).toBe(1);
  });

  test('a v1 service (GitHub Enterprise Server) that answers 204', async () => {
    await using cache = await cacheFixture();
    const server = createHttpServer((_request, response) => response.writeHead(204).end()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/`;
    const environment = runEnvironment(cache.service, {
      ACTIONS_CACHE_SERVICE_V2: undefined,
      ACTIONS_CACHE_URL: address,
      GITHUB_SERVER_URL: 'https://github.example.com',
    });
    try {
      expect(await cache.store({ environment }).restore('queue')).toEqual({ kind: 'absent' });
    } finally {
      server.close();
    }
  });

  test.each<FaultCase>([
    { step: 'lookup', fault: 403, why: /answered 403 to the lookup/ },
    { step: 'lookup', fault: 404, why: /answered 404 to the lookup/ },
    { step: 'lookup', fault: 429, why: /answered 429 to the lookup/ },
    { step: 'lookup', fault: 'drop', why: /connection .* failed at the lookup \(ECONNRESET\)/ },
    {
      step: 'lookup',
      fault: 500,
      limitMs: RETRIED_MS,
      why: /no result within 10 s; last: the cache service answered 500 to the lookup/,
    },
    { step: 'lookup', fault: 'corrupt', limitMs: RETRIED_MS, why: /answer to the lookup is not JSON/ },
    { step: 'lookup', fault: 'hang', limitMs: 300, why: /no result within 0.3 s/ },
    { step: 'download', fault: 404, why: /answered 404 to the download/ },
    { step: 'download', fault: 500, why: /answered 500 to the download/ },
    { step: 'download', fault: 'drop', why: /connection .* failed at the download/ },
    { step: 'download', fault: 'corrupt', why: /cannot be unpacked|differs from the manifest/ },
  ])('$step $fault → unavailable', async ({ step, fault, limitMs, why }) => {
    await using cache = await cacheFixture();
    await cache.store().save(copyOf('queue', 1, JSON.stringify({ text: 'x'.repeat(500) }), null));
    cache.service.faults[step] = fault;
    const stagingFolder = join(cache.folder, 'staging');
    const store = cache.store({ stagingFolder, restoreTimeoutMs: limitMs ?? PATIENT_MS });
    expect(await store.restore('queue')).toEqual({ kind: 'unavailable', why: expect.stringMatching(why) });
    expect((await readdir(stagingFolder)).filter((name) => name !== 'hung-restore')).toEqual([]);
  });

  test('a service that is gone', async () => {
    await using cache = await cacheFixture();
    const store = cache.store();
    await cache.service[Symbol.asyncDispose]();
    expect(await store.restore('queue')).toEqual({
      kind: 'unavailable',
      why: expect.stringMatching(/failed at the lookup \(ECONNREFUSED\)/),
    });
    expect(await store.save(copyOf('queue', 1, '{}'))).toEqual({
      kind: 'not-kept',
      why: expect.stringMatching(/failed at the reservation \(ECONNREFUSED\)/),
    });
  });

  test.each<FaultCase>([
    { step: 'reserve', fault: 403, why: /answered 403 to the reservation/ },
    { step: 'reserve', fault: 429, why: /answered 429 to the reservation/ },
    { step: 'reserve', fault: 500, limitMs: RETRIED_MS, why: /answered 500 to the reservation/ },
    { step: 'reserve', fault: 'hang', limitMs: 300, why: /no result within 0.3 s/ },
    { step: 'upload', fault: 403, why: /answered 403 to the upload/ },
    { step: 'finalize', fault: 400, why: /answered 400 to the finalization/ },
    { step: 'lookup', fault: 403, why: /uploaded but cannot be read back \(.*403 to the lookup/ },
  ])('$step $fault → not saved', async ({ step, fault, limitMs, why }) => {
    await using cache = await cacheFixture();
    cache.service.faults[step] = fault;
    const store = cache.store({ saveTimeoutMs: limitMs ?? PATIENT_MS });
    expect(await store.save(copyOf('queue', 1, '{}'))).toEqual({ kind: 'not-kept', why: expect.stringMatching(why) });
  });
});

describe('what hangs halfway has the last answer for a reason', () => {
  test.each([
    ['download', '200 to the lookup'],
    ['upload', '200 to the reservation'],
    ['finalize', '201 to the upload'],
  ] as const)('%s', async (step, answer) => {
    await using cache = await cacheFixture();
    await cache.store().save(copyOf('issue-1', 1, '{}'));
    cache.service.requests.length = 0;
    cache.service.faults[step] = 'hang';
    const store = cache.store({ restoreTimeoutMs: SHORT_MS, saveTimeoutMs: SHORT_MS });
    const ended = await toItsLimit<RestoredCopy | SavedCopy>(
      () => (step === 'download' ? store.restore('issue-1') : store.save(copyOf('queue', 1, '{}'))),
      () => isAsked(cache.service, step),
    );
    expect(ended).toEqual({
      kind: step === 'download' ? 'unavailable' : 'not-kept',
      why: `no result within 3 s; last: the cache service answered ${answer}`,
    });
  });
});

describe('the worker never outlives its use', () => {
  test('when it hangs, everything it started is killed', async () => {
    await using cache = await cacheFixture();
    const listener = createServer().listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const connected = Promise.withResolvers<Socket>();
    let isConnected = false;
    listener.once('connection', (socket) => {
      isConnected = true;
      connected.resolve(socket);
    });
    // The worker ignores SIGTERM, and its child holds a connection to this process.
    const child = `require('net').connect(${String((listener.address() as AddressInfo).port)}, '127.0.0.1')`;
    const worker = `process.on('SIGTERM', () => {}); require('child_process').spawn(process.execPath, ['-e', ${JSON.stringify(child)}], { stdio: 'inherit' })`;
    const store = cache.store({ workerCommand: [process.execPath, '-e', worker], restoreTimeoutMs: SHORT_MS });
    const restored = toItsLimit(
      () => store.restore('queue'),
      () => isConnected,
    );
    const socket = await connected.promise;
    const closed = once(socket.on('error', () => undefined).resume(), 'close');
    expect(await restored).toEqual({
      kind: 'unavailable',
      why: 'no result within 3 s; last: the service has not answered at all',
    });
    await closed;
    listener.close();
  });

  test('a cache that hung once is not waited for again, the other call is still tried', async () => {
    await using cache = await cacheFixture();
    cache.service.faults.lookup = 'hang';
    const store = cache.store({ restoreTimeoutMs: SHORT_MS });
    await toItsLimit(
      () => store.restore('queue'),
      () => isAsked(cache.service, 'lookup'),
    );
    expect(cache.service.requests.length).toBe(1);
    delete cache.service.faults.lookup;
    expect(await store.restore('issue-1')).toMatchObject({
      kind: 'unavailable',
      why: expect.stringMatching(/no result within 3 s/) as string,
    });
    expect(cache.service.requests.length).toBe(1);
    expect(await store.save(copyOf('queue', 1, '{}'))).toMatchObject({ kind: 'saved' });
  });

  test.each(['restore', 'save'] as const)(
    'nor is it by post, which is another process of the same run: %s',
    async (kind) => {
      await using cache = await cacheFixture();
      const stagingFolder = join(cache.folder, 'staging');
      Object.assign(cache.service.faults, { lookup: 'hang', reserve: 'hang' });
      const ask = (store: CopyStore): Promise<RestoredCopy | SavedCopy> =>
        kind === 'restore' ? store.restore('queue') : store.save(copyOf('queue', 1, '{}'));
      const store = cache.store({ stagingFolder, restoreTimeoutMs: SHORT_MS, saveTimeoutMs: SHORT_MS });
      await toItsLimit(
        () => ask(store),
        () => isAsked(cache.service, kind === 'restore' ? 'lookup' : 'reserve'),
      );
      const asked = cache.service.requests.length;
      delete cache.service.faults.lookup;
      delete cache.service.faults.reserve;
      expect(await ask(cache.store({ stagingFolder }))).toMatchObject({
        why: expect.stringMatching(/no result within 3 s/) as string,
      });
      expect(cache.service.requests.length).toBe(asked);
      // Another run has its own folder.
      expect(await ask(cache.store())).not.toHaveProperty('why');
    },
  );

  test('when the action is killed, it ends by itself', async () => {
    await using cache = await cacheFixture();
    cache.service.faults.lookup = 'hang';
    const [program, ...prefix] = workerCommand;
    const request = JSON.stringify({ kind: 'restore', key: 'ralph-state-v1/queue/' });
    const environment = { ...runEnvironment(cache.service), GITHUB_WORKSPACE: cache.folder, RUNNER_TEMP: cache.folder };
    const worker = spawn(program, [...prefix, request], {
      cwd: cache.folder,
      env: environment,
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore', 'pipe'],
    });
    const exited = once(worker, 'exit');
    await eventually(() => {
      expect(cache.service.requests.length).toBe(1);
    });
    worker.stdin?.end();
    expect(await exited).toEqual([null, 'SIGKILL']);
  });

  test.each([
    ['cannot be started', ['/nonexistent/node'] as const, /cannot be started: .*ENOENT/],
    [
      'dies',
      [process.execPath, '-e', 'throw new Error("boom")'] as const,
      /ended \(exit code 1\) without an answer: Error: boom/,
    ],
    [
      'answers nonsense',
      [process.execPath, '-e', 'require("fs").writeSync(3, "nonsense\\n")'] as const,
      /ended \(exit code 0\) without an answer/,
    ],
  ])('a worker that %s is a cache that is unavailable', async (_title, command, why) => {
    await using cache = await cacheFixture();
    expect(await cache.store({ workerCommand: command }).restore('queue')).toEqual({
      kind: 'unavailable',
      why: expect.stringMatching(why),
    });
  });

  test('it gets no variable but those of the cache library', async () => {
    await using cache = await cacheFixture();
    const environment = {
      ...runEnvironment(cache.service),
      ANTHROPIC_API_KEY: 'secret',
      GITHUB_TOKEN: 'secret',
      NODE_OPTIONS: '--no-warnings',
      RUNNER_DEBUG: '1',
    };
    const printNames = 'for (const name of Object.keys(process.env)) console.log(name)';
    await cache.store({ environment, workerCommand: [process.execPath, '-e', printNames] }).restore('queue');
    expect(cache.debugLines.map((line) => line.replace('cache: ', '')).sort()).toEqual([
      'ACTIONS_CACHE_MODE',
      'ACTIONS_CACHE_SERVICE_V2',
      'ACTIONS_RESULTS_URL',
      'ACTIONS_RUNTIME_TOKEN',
      'GITHUB_SERVER_URL',
      'GITHUB_WORKSPACE',
      'PATH',
      'RUNNER_TEMP',
      'SHLVL',
      'TAR_OPTIONS',
    ]);
  });
});

function transcriptOf(text: string): SealedTranscript {
  return { sha256: createHash('sha256').update(text).digest('hex'), content: Buffer.from(text) };
}
