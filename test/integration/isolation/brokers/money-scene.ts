import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createBroker } from '../../../../src/isolation/broker.ts';
import { listenOnLoopback } from '../../../../src/isolation/listening.ts';
import { createDirectSend } from '../../../../src/isolation/provider-connection.ts';
import type { BrokeredCall, ModelProtocol } from '../../../../src/ports/broker.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** Creates a provider on loopback with a broker in front of it that uses its protocol. */
export async function createMoneyScene(protocol: ModelProtocol, handle: Handler) {
  let asked = 0;
  let hungUp = 0;
  const server = createServer((request, response) => {
    asked += 1;
    response.on('close', () => {
      if (!response.writableFinished) hungUp += 1;
    });
    request.resume().on('end', () => {
      handle(request, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const broker = createBroker({
    protocol,
    provider: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    keys: { KEY: 'a-real-key' },
    secrets: [],
    environmentFor: ({ address, placeholders }) => ({ ADDRESS: address, ...placeholders }),
    sign: null,
    connect: () => Promise.resolve(createDirectSend()),
    listen: listenOnLoopback,
  });
  return {
    asked: () => asked,
    hungUp: () => hungUp,
    open: (costUsd: number | null) => broker.open({ costUsd, tokens: null }, () => undefined),
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

/** Makes a request as a CLI does, with the placeholder in each provider's place. */
export function askProvider({ environment }: BrokeredCall, path: string, body: object): Promise<Response> {
  const key = environment['KEY'] ?? '';
  return fetch(`${environment['ADDRESS'] ?? ''}${path}`, {
    method: 'POST',
    headers: {
      'x-api-key': key,
      authorization: `Bearer ${key}`,
      'x-goog-api-key': key,
      'content-type': 'application/json',
    },
    body: JSON.stringify(body),
  });
}

/** Returns the text of an event in a stream. */
export function eventOf(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

/** Begins a stream. */
export function beginStream(response: ServerResponse, type = 'text/event-stream'): ServerResponse {
  return response.writeHead(200, { 'content-type': type });
}
