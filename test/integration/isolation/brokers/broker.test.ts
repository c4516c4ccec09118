import { listenOnLoopback } from '../../../../src/isolation/listening.ts';
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { createAgentLogin } from '../../../../src/wiring/agents/agent-settings.ts';
import type { BrokeredCall, ProviderSign } from '../../../../src/ports/broker.ts';
import type { CallLimits } from '../../../../src/core/spending/meter.ts';
import { eventually } from '../../../eventually.ts';

const KEY = 'sk-ant-api03-the-real-one';
const noLimits: CallLimits = { costUsd: null, tokens: null };

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void;

/** Creates a provider on loopback with a broker in front of it. */
async function createScene(handle: Handler, more: Readonly<Record<string, string>> = {}) {
  const seen: { readonly url: string; readonly headers: IncomingMessage['headers']; readonly body: string }[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      seen.push({ url: request.url ?? '', headers: request.headers, body });
      handle(request, response, body);
    });
  });
  const provider = `http://127.0.0.1:${String(await listening(server))}`;
  const { broker, environment } = await createAgentLogin(
    'claude',
    { ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: `${provider}/base/`, ...more },
    { allowedTools: [], model: null, prices: {}, listen: listenOnLoopback },
  );
  if (broker === null) throw new Error('no broker');
  return {
    seen,
    server,
    environment,
    open: (limits: Partial<CallLimits> = {}, hear: (sign: ProviderSign) => void = () => undefined) =>
      broker.open({ ...noLimits, ...limits }, hear),
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

/** Makes a request as the agent does. */
function ask(
  { environment }: Pick<BrokeredCall, 'environment'>,
  {
    signal,
    key = environment['ANTHROPIC_API_KEY'] ?? '',
    ...body
  }: { signal?: AbortSignal; key?: string; [field: string]: unknown } = {},
): Promise<Response> {
  return fetch(`${environment['ANTHROPIC_BASE_URL'] ?? ''}/v1/messages?beta=true`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'claude-opus-5-5', max_tokens: 1_000, messages: [], ...body }),
    ...(signal === undefined ? {} : { signal }),
  });
}

const event = (data: Readonly<Record<string, unknown>> & { readonly type: string }): string =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
const begun = (input: number): string =>
  event({ type: 'message_start', message: { usage: { input_tokens: input, output_tokens: 1 } } });
const finished = (output: number): string => event({ type: 'message_delta', usage: { output_tokens: output } });
const stream = (response: ServerResponse): ServerResponse =>
  response.writeHead(200, { 'content-type': 'text/event-stream', 'request-id': 'r1', 'set-cookie': 'a=b' });
/** Each answer costs 0.1 dollars: 10,000 tokens in, 3,000 out. */
const tenCents: Handler = (_request, response) => stream(response).end(begun(10_000) + finished(3_000));

test('the agent holds a placeholder, the provider gets the key, and no other server is called', async () => {
  await using scene = await createScene(tenCents);
  const call = await scene.open();
  expect(JSON.stringify([scene.environment, call.environment])).not.toContain(KEY);
  const answer = await ask(call);
  expect(answer.status).toBe(200);
  expect(Object.fromEntries(answer.headers)).toMatchObject({ 'request-id': 'r1', 'content-type': 'text/event-stream' });
  expect(answer.headers.get('set-cookie')).toBeNull();
  expect(await answer.text()).toBe(begun(10_000) + finished(3_000));
  expect(scene.seen).toMatchObject([{ url: '/base/v1/messages?beta=true', headers: { 'x-api-key': KEY } }]);
  expect(await call.end()).toEqual({
    requests: 1,
    tokens: 13_000,
    outputTokens: 3_000,
    costUsd: 0.1,
    exhausted: null,
    refused: [],
    unpriced: null,
  });
});

test('an answer passes as it comes', async () => {
  let next: (text: string) => void = () => undefined;
  await using scene = await createScene((_request, response) => {
    stream(response).write(begun(1));
    next = (text) => response.write(text);
  });
  const call = await scene.open();
  const reader = (await ask(call)).body?.getReader();
  const decoder = new TextDecoder();
  const chunk = async (): Promise<string> => decoder.decode((await reader?.read())?.value as Uint8Array | undefined);
  expect(await chunk()).toBe(begun(1));
  for (const text of ['a', 'b', 'c']) {
    next(text);
    expect(await chunk()).toBe(text);
  }
  await call.end();
});

test('an error that repeats the key does not bring it to the agent', async () => {
  await using scene = await createScene((request, response) =>
    response
      .writeHead(401, { 'content-type': 'application/json' })
      .end(JSON.stringify({ error: `invalid key ${String(request.headers['x-api-key'])}` })),
  );
  const call = await scene.open();
  expect(await (await ask(call)).text()).toBe('{"error":"invalid key [key]"}');
  await call.end();
});

test("nor a header of the user's, where it is long enough to be a secret", async () => {
  await using scene = await createScene(
    (request, response) =>
      response.writeHead(403).end(`${String(request.headers['x-team'])} may not, ${String(request.headers['x-room'])}`),
    { ANTHROPIC_CUSTOM_HEADERS: 'X-Team: a-secret-of-a-gateway\nX-Room: 7' },
  );
  const call = await scene.open();
  expect(await (await ask(call)).text()).toBe('[key] may not, 7');
  await call.end();
});

test.each([
  ['in a header', (key: string): readonly [string, string] => [`invalid ${key}`, 'no']],
  ['where the text is cut', (key: string): readonly [string, string] => ['no', `${'x'.repeat(65_530 - 12)}${key}`]],
  [
    'often, and where the text is cut',
    (key: string): readonly [string, string] => ['no', `${key}${'x'.repeat(65_536 - 2 * key.length + 1)}${key}`],
  ],
])('nor does one that repeats it %s', async (_where, answerFor) => {
  await using scene = await createScene((request, response) => {
    const [header, text] = answerFor(String(request.headers['x-api-key']));
    response.writeHead(401, { 'x-error': header }).end(text);
  });
  const call = await scene.open();
  const answer = await ask(call);
  expect(`${answer.headers.get('x-error') ?? ''} ${await answer.text()}`).not.toContain(KEY.slice(0, 6));
  await call.end();
});

test('bodies that are never finished do not fill the memory', async () => {
  await using scene = await createScene(tenCents);
  const call = await scene.open();
  const { port } = new URL(call.environment['ANTHROPIC_BASE_URL'] ?? '');
  const begin = 'POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 33554432\r\n\r\n';
  const half = Buffer.alloc(30 * 1024 * 1024, 'x');
  const before = process.memoryUsage().arrayBuffers;
  const sockets = await Promise.all(
    Array.from({ length: 12 }, async () => {
      const socket = connect(Number(port), '127.0.0.1');
      socket.on('error', () => undefined);
      await new Promise<void>((resolve) => {
        socket.write(begin);
        socket.write(half, () => {
          resolve();
        });
      });
      return socket;
    }),
  );
  // All answers would be 360 MiB; the amount that is read but not yet collected varies.
  expect((process.memoryUsage().arrayBuffers - before) / 2 ** 20).toBeLessThan(260);
  // A client is served again as soon as connections are free.
  for (const socket of sockets) socket.destroy();
  await eventually(async () => {
    expect((await ask(call)).status).toBe(200);
  });
  await call.end();
});

describe('an answer that is packed, though nobody asked for it', () => {
  const packed = (encoding: string, pack: (text: string) => Buffer): Handler => {
    return (_request, response) =>
      response
        .writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': encoding })
        .end(pack(begun(10_000) + finished(3_000)));
  };

  test.each<[string, (text: string) => Buffer]>([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
    ['Identity', (text) => Buffer.from(text)],
  ])('as %s, is unpacked and counted', async (encoding, pack) => {
    await using scene = await createScene(packed(encoding, pack));
    const call = await scene.open();
    const answer = await ask(call);
    expect(answer.headers.get('content-encoding')).toBeNull();
    expect(await answer.text()).toBe(begun(10_000) + finished(3_000));
    expect(scene.seen[0]?.headers['accept-encoding']).toBe('identity');
    expect(await call.end()).toMatchObject({ tokens: 13_000, costUsd: 0.1 });
  });

  test('in an unknown way, is not passed on', async () => {
    await using scene = await createScene(packed('compress', (text) => Buffer.from(text)));
    const call = await scene.open();
    const answer = await ask(call);
    expect([answer.status, await answer.text()]).toEqual([502, expect.stringContaining('has an unknown compression')]);
    await call.end();
  });

  test('but not really, breaks off', async () => {
    await using scene = await createScene(packed('gzip', (text) => Buffer.from(text)));
    const call = await scene.open();
    await expect(ask(call).then((answer) => answer.text())).rejects.toThrow();
    await call.end();
  });
});

describe('a client without a call', () => {
  test('a placeholder holds for its own call', async () => {
    await using scene = await createScene(tenCents);
    const first = await scene.open();
    await first.end();
    expect((await ask(first)).status).toBe(401);
    const second = await scene.open();
    expect(second.environment['ANTHROPIC_API_KEY']).not.toBe(first.environment['ANTHROPIC_API_KEY']);
    expect((await ask(first)).status).toBe(401);
    expect((await ask(second, { key: 'guessed' })).status).toBe(401);
    expect((await ask(second)).status).toBe(200);
    expect(scene.seen).toHaveLength(1);
    expect((await second.end()).refused).toEqual(['a request without the placeholder of this call']);
  });

  test('a request in progress at the end is ended, and counted', async () => {
    await using scene = await createScene((_request, response) => stream(response).write(begun(1_000)));
    const call = await scene.open();
    const reader = (await ask(call)).body?.getReader();
    // The part that has passed is counted.
    await reader?.read();
    expect(await call.end()).toMatchObject({ requests: 1, tokens: 1_001 });
    expect(await reader?.read().catch(() => 'broken off')).toBe('broken off');
  });

  test('a client that does not read does not delay the end of the call', async () => {
    await using scene = await createScene((_request, response) => {
      stream(response).write(begun(1_000));
      const more = (): void => {
        if (!response.destroyed) response.write('x'.repeat(2 ** 20), more);
      };
      more();
    });
    const call = await scene.open();
    const { port } = new URL(call.environment['ANTHROPIC_BASE_URL'] ?? '');
    const sent = httpRequest({
      port,
      host: '127.0.0.1',
      method: 'POST',
      path: '/v1/messages',
      headers: { 'x-api-key': call.environment['ANTHROPIC_API_KEY'] ?? '' },
    });
    // The answer is paused at once, so that no more than the buffers hold is read.
    sent.on('response', (answer) => answer.pause());
    sent.on('error', () => undefined).end('{"model":"claude-opus-5-5"}');
    await eventually(() => {
      expect(scene.seen).toHaveLength(1);
    });
    await sleep(500);
    expect(await call.end()).toMatchObject({ requests: 1 });
    sent.destroy();
  });

  test('a client that hangs up repeatedly before the answer does not exceed the limit', async () => {
    await using scene = await createScene(() => undefined);
    const call = await scene.open({ costUsd: 5 });
    const hangUp = async (nth: number): Promise<void> => {
      const gone = new AbortController();
      const asked = ask(call, { signal: gone.signal, stream: false, max_tokens: 64_000 }).then(
        () => gone.abort(),
        () => undefined,
      );
      await eventually(() => {
        if (!gone.signal.aborted) expect(scene.seen).toHaveLength(nth);
      });
      gone.abort();
      await asked;
    };
    // 64,000 tokens of this model cost 1.28 dollars, and an answer that does not stream is generated to its end.
    for (let nth = 1; nth <= 4; nth += 1) await hangUp(nth);
    expect((await ask(call)).status).toBe(400);
    expect(scene.seen).toHaveLength(4);
    expect(await call.end()).toMatchObject({ exhausted: 'cost' });
  });

  test('a client that hangs up before the answer pays for the request', async () => {
    await using scene = await createScene(() => undefined);
    const call = await scene.open();
    const hangUp = new AbortController();
    const asked = ask(call, { signal: hangUp.signal, system: 'x'.repeat(40_000) }).catch(() => null);
    await eventually(() => {
      expect(scene.seen).toHaveLength(1);
    });
    hangUp.abort();
    await asked;
    expect((await call.end()).tokens).toBeGreaterThan(10_000);
  });
});

describe('limits', () => {
  const inProvidersWords = { status: 400, text: /Credit balance is too low/ };
  const answerOf = async (answer: Response) => ({ status: answer.status, text: await answer.text() });

  test('when the money is gone it says so, without another try', async () => {
    await using scene = await createScene(tenCents);
    const call = await scene.open({ costUsd: 0.15 });
    for (const status of [200, 200]) expect((await answerOf(await ask(call))).status).toBe(status);
    const answer = await ask(call);
    expect(answer.headers.get('x-should-retry')).toBe('false');
    expect(await answerOf(answer)).toEqual({
      status: 400,
      text: expect.stringMatching(inProvidersWords.text) as string,
    });
    expect(scene.seen).toHaveLength(2);
    expect(await call.end()).toMatchObject({ requests: 2, costUsd: 0.2, exhausted: 'cost' });
  });

  test('tokens alike', async () => {
    await using scene = await createScene(tenCents);
    const call = await scene.open({ tokens: 13_000 });
    await answerOf(await ask(call));
    expect((await answerOf(await ask(call))).status).toBe(400);
    expect(await call.end()).toMatchObject({ requests: 1, tokens: 13_000, exhausted: 'tokens' });
  });

  test('thirty at once do not spend more than one too many', async () => {
    await using scene = await createScene(tenCents);
    const call = await scene.open({ costUsd: 0.5 });
    const answers = await Promise.all(
      Array.from({ length: 30 }, async () => answerOf(await ask(call, { max_tokens: 64_000 }))),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(5);
    expect(await call.end()).toMatchObject({ costUsd: 0.5, exhausted: 'cost' });
  });

  test('a client that waits and hangs up makes no request', async () => {
    let finish: () => void = () => undefined;
    await using scene = await createScene((_request, response) => {
      finish = () => stream(response).end(begun(1_000) + finished(10));
    });
    const call = await scene.open({ costUsd: 0.4 });
    const first = ask(call, { max_tokens: 64_000 });
    await eventually(() => {
      expect(scene.seen).toHaveLength(1);
    });
    const hangUp = new AbortController();
    const second = ask(call, { max_tokens: 64_000, signal: hangUp.signal }).catch(() => 'gone');
    await sleep(100);
    hangUp.abort();
    expect(await second).toBe('gone');
    // The broker needs a moment to notice as well.
    await sleep(100);
    finish();
    await (await first).text();
    await sleep(100);
    expect(scene.seen).toHaveLength(1);
    expect((await call.end()).requests).toBeLessThanOrEqual(2);
  });

  test('an error of the provider passes with its headers and costs nothing', async () => {
    await using scene = await createScene((_request, response) =>
      response.writeHead(429, { 'retry-after': '7', 'anthropic-ratelimit-unified-reset': '1' }).end('{"type":"error"}'),
    );
    const call = await scene.open({ costUsd: 1 });
    const answer = await ask(call);
    expect([
      answer.status,
      answer.headers.get('retry-after'),
      answer.headers.get('anthropic-ratelimit-unified-reset'),
    ]).toEqual([429, '7', '1']);
    expect(await answer.text()).toBe('{"type":"error"}');
    expect(await call.end()).toMatchObject({ tokens: 0, costUsd: 0 });
  });
});

describe('a provider that does not work', () => {
  test('is not there', async () => {
    await using scene = await createScene(tenCents);
    const call = await scene.open();
    scene.server.close();
    scene.server.closeAllConnections();
    const answer = await ask(call);
    expect(answer.status).toBe(502);
    expect(await answer.text()).toMatch(/cannot be reached: ECONNREFUSED/);
    expect(await call.end()).toMatchObject({ tokens: 0 });
  });

  test('leads elsewhere: the key does not go there', async () => {
    await using scene = await createScene((_request, response) =>
      response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end(),
    );
    const call = await scene.open();
    expect((await ask(call)).status).toBe(502);
    await call.end();
  });

  test('breaks off: so does the answer', async () => {
    await using scene = await createScene((_request, response) => {
      stream(response).write(begun(500), () => response.destroy());
    });
    const call = await scene.open();
    await expect(ask(call).then((answer) => answer.text())).rejects.toThrow();
    expect(await call.end()).toMatchObject({ tokens: 501 });
  });
});

describe('who waits for the provider hears', () => {
  const failing =
    (status: number, body: string, headers: Readonly<Record<string, string>> = {}): Handler =>
    (_request, response) =>
      response.writeHead(status, headers).end(body);

  test.each<readonly [what: string, handle: Handler, last: ProviderSign]>([
    ['that it answered', tenCents, { kind: 'answered' }],
    [
      'an error in its words, and how long it asks to wait',
      failing(429, '{"error":{"message":"Slow down."}}', { 'retry-after': '3600' }),
      { kind: 'failed', status: 429, words: 'Slow down.', waitMs: 3_600_000 },
    ],
    ['an error without any', failing(503, ''), { kind: 'failed', status: 503, words: null, waitMs: null }],
    [
      'an answer that breaks off',
      (_request, response) => stream(response).write(begun(500), () => response.destroy()),
      { kind: 'failed', status: null, words: 'ECONNRESET', waitMs: null },
    ],
  ])('%s', async (_what, handle, last) => {
    await using scene = await createScene(handle);
    const signs: ProviderSign[] = [];
    const call = await scene.open({}, (sign) => signs.push(sign));
    await ask(call)
      .then((answer) => answer.text())
      .catch(() => undefined);
    await eventually(() => {
      expect(signs).toEqual([{ kind: 'asked' }, last]);
    });
    await call.end();
  });

  test('that it cannot be reached', async () => {
    await using scene = await createScene(tenCents);
    const signs: ProviderSign[] = [];
    const call = await scene.open({}, (sign) => signs.push(sign));
    scene.server.close();
    await (await ask(call)).text();
    expect(signs.at(-1)).toEqual({ kind: 'failed', status: null, words: 'ECONNREFUSED', waitMs: null });
    await call.end();
  });

  test('no failure while another request is on its way', async () => {
    const held: ServerResponse[] = [];
    await using scene = await createScene((_request, response, body) => {
      if (body.includes('held')) held.push(response);
      else response.writeHead(529).end();
    });
    const signs: ProviderSign[] = [];
    const call = await scene.open({}, (sign) => signs.push(sign));
    const other = ask(call, { system: 'held' });
    await eventually(() => {
      expect(held).toHaveLength(1);
    });
    await (await ask(call)).text();
    stream(held[0] as ServerResponse).end(begun(1) + finished(1));
    await (await other).text();
    await eventually(() => {
      expect(signs.map(({ kind }) => kind)).toEqual(['asked', 'asked', 'answered']);
    });
    await call.end();
  });

  test('nothing of who hangs up, nor of what the end of the call cuts off', async () => {
    const held: ServerResponse[] = [];
    await using scene = await createScene((_request, response) => held.push(response));
    const signs: ProviderSign[] = [];
    const call = await scene.open({}, (sign) => signs.push(sign));
    const hangUp = new AbortController();
    const [gone, left] = [ask(call, { signal: hangUp.signal }), ask(call)];
    await eventually(() => {
      expect(held).toHaveLength(2);
    });
    hangUp.abort();
    await expect(gone).rejects.toThrow();
    await Promise.all([call.end(), left.catch(() => undefined)]);
    expect(signs.map(({ kind }) => kind)).toEqual(['asked', 'asked']);
  });
});

test('requests that no client sends do no harm', async () => {
  await using scene = await createScene(tenCents);
  const call = await scene.open();
  const { port } = new URL(call.environment['ANTHROPIC_BASE_URL'] ?? '');
  const raw = (text: string): Promise<string> =>
    new Promise((resolve) => {
      const socket = connect(Number(port), '127.0.0.1', () => socket.end(text));
      let answer = '';
      socket
        .on('data', (chunk) => (answer += chunk.toString()))
        .on('close', () => {
          resolve(answer.split('\r\n')[0] ?? '');
        });
    });
  expect(await raw('nonsense\r\n\r\n')).toMatch(/400/);
  expect(await raw('CONNECT api.anthropic.com:443 HTTP/1.1\r\nhost: a\r\n\r\n')).not.toMatch(/200/);
  expect(await raw('GET http://169.254.169.254/ HTTP/1.1\r\nhost: a\r\n\r\n')).toMatch(/401/);
  const tooLarge = new Promise<number>((resolve, reject) => {
    const sent = httpRequest({ port, host: '127.0.0.1', method: 'POST', path: '/v1/messages' }, (answer) => {
      resolve(answer.statusCode ?? 0);
      answer.resume();
    });
    sent.on('error', reject).end(Buffer.alloc(33 * 1024 * 1024, 'x'));
  });
  expect(await tooLarge).toBe(413);
  expect(scene.seen).toEqual([]);
  await call.end();
});
