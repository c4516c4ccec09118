import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { createWebhook } from '../../../src/runner/webhook.ts';

const SECRET = 'a-secret-of-the-receiver';
const message = { id: 'delivery-1', body: '{"text":"“ä”"}' };
const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

interface Got {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Opens a receiver that gives these answers in turn, the last one again and again; null never answers. */
async function receive(...answers: readonly (number | null)[]) {
  const got: Got[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      got.push({ path: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks).toString() });
      const status = answers[Math.min(got.length, answers.length) - 1] ?? null;
      if (status !== null) response.writeHead(status, { location: '/elsewhere' }).end('x'.repeat(100));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { got, address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` };
}

describe('a message', () => {
  test('is posted with its id and a signature of the raw body', async () => {
    const { got, address } = await receive(204);
    expect(await createWebhook({ address, secret: SECRET, isPost: false, fetch })(message)).toBeNull();
    expect(got[0]?.body).toBe(message.body);
    const signature = createHmac('sha256', SECRET).update(message.body).digest('hex');
    expect(got[0]?.headers).toMatchObject({
      'x-ralph-signature-256': `sha256=${signature}`,
      'content-type': 'application/json',
      'x-ralph-delivery': 'delivery-1',
      'x-ralph-event': 'notification',
    });
  });

  test('is not signed without a secret', async () => {
    const { got, address } = await receive(200);
    await createWebhook({ address, secret: '', isPost: false, fetch })(message);
    expect(got[0]?.headers['x-ralph-signature-256']).toBeUndefined();
  });

  test.each<[string, readonly number[], number, string | null]>([
    ['a server that fails once', [503, 200], 2, null],
    ['a server that is busy once', [429, 200], 2, null],
    ['a server that fails', [500], 3, 'it answered with HTTP 500'],
    ['an address that does not exist', [404], 1, 'it answered with HTTP 404'],
    ['a redirect, which is not followed', [302], 1, 'it answered with HTTP 302'],
    ['a redirect that keeps the body', [307], 1, 'it answered with HTTP 307'],
  ])('to %s', async (_, answers, attempts, why) => {
    const { got, address } = await receive(...answers);
    expect(await createWebhook({ address, secret: SECRET, isPost: false, fetch })(message)).toBe(why);
    expect(got.map(({ path }) => path)).toEqual(Array(attempts).fill('/hook'));
    expect(new Set(got.map(({ headers }) => headers['x-ralph-delivery'])).size).toBe(1);
  });

  test('to nobody: the reason does not name the address', async () => {
    const { address } = await receive(200);
    closing.pop()?.();
    expect(await createWebhook({ address, secret: '', isPost: false, fetch })(message)).toBe(
      'the request failed (ECONNREFUSED)',
    );
  });
});

test('all messages of a run together have one time limit', async () => {
  const { got, address } = await receive(null);
  const send = createWebhook({ address, secret: '', isPost: false, fetch, withinMs: 300 });
  const begun = performance.now();
  expect(await send(message)).toBe('it did not answer in time');
  expect(await send(message)).toBe('there was no time left for it');
  expect(performance.now() - begun).toBeLessThan(2000);
  expect(got).toHaveLength(1);
});

test('main and post have that time together', async () => {
  const { address } = await receive(null);
  const begun = performance.now();
  for (const isPost of [false, true]) {
    const send = createWebhook({ address, secret: '', isPost, fetch, withinMs: 1000 });
    expect(await send(message)).toBe('it did not answer in time');
    expect(await send(message)).toMatch(/in time|no time left/);
  }
  expect(performance.now() - begun).toBeLessThan(1250);
});

test('a wait that takes longer than the time left ends the attempts', async () => {
  const { address } = await receive(503, null);
  const send = createWebhook({
    ...{ address, secret: '', isPost: false, withinMs: 1000 },
    fetch: async (...call) => {
      // The machine is busy when the wait before the next attempt ends.
      setTimeout(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600), 300);
      return fetch(...call);
    },
  });
  expect(await send(message)).toBe('it did not answer in time');
});
