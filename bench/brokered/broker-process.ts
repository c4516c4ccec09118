import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Times in ms; each pair is with the broker and without it. */
export interface BrokerTimes {
  /** Durations of a whole request of 50 KB. */
  readonly requests: readonly (readonly [number, number])[];
  /** Durations from the model's sending of a token to its arrival. */
  readonly tokens: readonly (readonly [number, number])[];
}

/** The address to send requests to, and the credential for it. */
export interface BrokerDoor {
  readonly url: string;
  readonly key: string;
}

const PAIRS = 150;
const WARM_UP = 30;
const TOKENS = 40;
const TOKEN_PAUSE_MS = 5;
const BODY_BYTES = 50_000;

/** The model and its client for `measureBroker`: both in this process, while the broker is in the other one. */
const server = createServer((request, response) => {
  void (async () => {
    let body = '';
    for await (const chunk of request as AsyncIterable<Buffer>) body += chunk.toString();
    if (!body.includes('"stream":true')) {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end('{"usage":{"input_tokens":1,"output_tokens":1}}');
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (let nth = 0; nth < TOKENS; nth += 1) {
      response.write(`data: {"type":"content_block_delta","at":${String(performance.now())}}\n\n`);
      await sleep(TOKEN_PAUSE_MS);
    }
    response.end();
  })();
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const direct: BrokerDoor = { url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`, key: '' };
process.send?.(direct.url);
const [door] = (await once(process, 'message')) as [BrokerDoor];
process.send?.({ requests: await requestTimes(door), tokens: await tokenTimes(door) } satisfies BrokerTimes);
process.disconnect();
server.close();
server.closeAllConnections();

async function requestTimes(broker: BrokerDoor): Promise<(readonly [number, number])[]> {
  const message = { model: 'm', max_tokens: 1, messages: [{ role: 'user', content: 'x'.repeat(BODY_BYTES) }] };
  const time = async (to: BrokerDoor): Promise<number> => {
    const startedAt = performance.now();
    await (await ask(to, message)).text();
    return performance.now() - startedAt;
  };
  const times: (readonly [number, number])[] = [];
  for (let nth = 0; nth < PAIRS + WARM_UP; nth += 1) times.push([await time(broker), await time(direct)]);
  return times.slice(WARM_UP);
}

async function tokenTimes(broker: BrokerDoor): Promise<(readonly [number, number])[]> {
  const delays = async (to: BrokerDoor): Promise<number[]> => {
    const found: number[] = [];
    const answer = await ask(to, { model: 'm', max_tokens: 1, messages: [], stream: true });
    const decoder = new TextDecoder();
    for await (const chunk of (answer.body ?? []) as AsyncIterable<Uint8Array>)
      for (const [, at] of decoder.decode(chunk).matchAll(/"at":([\d.]+)/g)) found.push(performance.now() - Number(at));
    return found;
  };
  const pairs: (readonly [number, number])[] = [];
  for (let round = 0; round < 5; round += 1) {
    const [ours, theirs] = [await delays(broker), await delays(direct)];
    pairs.push(...ours.map((ms, nth) => [ms, theirs[nth] ?? NaN] as const));
  }
  return pairs;
}

function ask({ url, key }: BrokerDoor, body: object): Promise<Response> {
  return fetch(`${url}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}
