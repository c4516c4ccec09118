import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { createForge } from '../../../src/github/forge.ts';
import { now, openForge, TOKEN } from './github-fixture.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

/** Starts a proxy on loopback that leads every address to `target`; `asked` are the addresses. */
async function startProxy(target: string): Promise<AsyncDisposable & { url: string; asked: readonly string[] }> {
  const asked: string[] = [];
  const server = createServer().on('connect', (request, socket) => {
    asked.push(`${request.url ?? ''} ${request.headers['proxy-authorization'] ?? ''}`.trim());
    const upstream = connect(Number(new URL(target).port), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.pipe(socket).pipe(upstream);
    });
    for (const end of [socket, upstream]) end.on('error', () => upstream.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://me:secret@127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test("the runner's proxy is used, with its password, except for what no_proxy names", async () => {
  await using at = await openForge();
  await using proxy = await startProxy(at.github.url);
  const forge = () =>
    createForge({
      token: TOKEN,
      tokenFrom: 'input',
      apiUrl: 'http://api.github.test',
      repository: { owner: 'octo', repo: 'demo' },
      userAgent: 'ralph-action',
      log: { info: () => undefined, warning: () => undefined, error: () => undefined, group: (_title, body) => body() },
      now: () => now,
      pace: { requestMs: 10_000, secondMs: 1, retries: 0, outageMs: 10_000, downloadMs: 10_000 },
    });
  vi.stubEnv('http_proxy', proxy.url);
  expect(await forge().defaultBranch()).toBe('main');
  expect(proxy.asked).toEqual([`api.github.test:80 Basic ${btoa('me:secret')}`]);
  expect(at.sent()).toEqual(['GET ']);

  vi.stubEnv('no_proxy', 'github.test');
  await expect(forge().defaultBranch()).rejects.toThrow('could not be reached');
  expect(proxy.asked).toHaveLength(1);
});
