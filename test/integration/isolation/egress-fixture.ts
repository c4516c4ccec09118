import { once } from 'node:events';
import {
  createServer as createHttpServer,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { connect, createServer, Socket, type AddressInfo, type Server } from 'node:net';
import { text } from 'node:stream/consumers';
import { allowedHosts, parseAllowedHosts } from '../../../src/core/isolation/hosts.ts';
import { createEgress } from '../../../src/isolation/egress.ts';

/** A public address, which the network of these tests takes to a server on loopback. */
export const PUBLIC = '203.0.113.7';
export const OTHER_PUBLIC = '203.0.113.8';

interface Scenery {
  readonly allowed?: readonly string[];
  readonly never?: readonly string[];
  /** Addresses of names. A name that is missing does not exist. */
  readonly names?: Readonly<Record<string, readonly string[] | Promise<readonly string[]>>>;
  /** `address:port` → port on loopback; `null` never answers. What is missing refuses connections. */
  readonly servers?: Readonly<Record<string, number | null>>;
  readonly own?: readonly string[];
  readonly upstream?: (url: URL) => URL | null;
  readonly connectTimeoutMs?: number;
  readonly lingerMs?: number;
  readonly openingMs?: number;
}

/** The proxy on loopback, in a network that the test makes up. */
export async function createScene(scenery: Scenery) {
  const { names = {}, servers = {}, own = [], allowed = [], never = [], upstream = () => null, ...times } = scenery;
  const asked: string[] = [];
  const dialled: string[] = [];
  const outward = new Set<Socket>();
  const { asked: wish, problems } = parseAllowedHosts(allowed);
  if (problems.length > 0) throw new Error(problems.join());
  const egress = createEgress({
    allowed: allowedHosts(wish, []),
    never,
    upstreamFor: upstream,
    network: {
      async resolve(host) {
        asked.push(host);
        const answers = await names[host];
        if (answers === undefined) throw Object.assign(new Error('no such host'), { code: 'ENOTFOUND' });
        return answers;
      },
      dial({ address, port }) {
        const name = `${address}:${String(port)}`;
        dialled.push(name);
        const local = servers[name];
        const socket =
          local === null ? new Socket() : connect({ host: '127.0.0.1', port: local ?? 1, allowHalfOpen: true });
        outward.add(socket.once('close', () => outward.delete(socket)));
        return socket;
      },
      ownAddresses: () => own,
    },
    ...times,
  });
  const port = await listening(egress.server);
  return {
    egress,
    port,
    asked,
    dialled,
    /** Connections that the proxy has made and not closed. */
    outward,
    /** Answer to CONNECT, and what then is the tunnel. */
    tunnel: async (target: string, headers: Readonly<Record<string, string>> = {}) => {
      const request = httpRequest({ port, host: '127.0.0.1', method: 'CONNECT', path: target, headers }).end();
      const [answer, socket, head] = (await once(request, 'connect')) as [IncomingMessage, Socket, Buffer];
      socket.on('error', () => undefined);
      if (head.length > 0) socket.unshift(head);
      return { status: answer.statusCode, blocked: answer.headers['x-proxy-error'] ?? null, socket };
    },
    /** All that comes back for these bytes, until the proxy hangs up. */
    raw: (text: string): Promise<string> => textOf(connect({ port, host: '127.0.0.1' }).setNoDelay(), text),
    [Symbol.asyncDispose]: () => egress.close(),
  };
}

/** Sends a text and reads until the other side ends. */
export async function textOf(socket: Socket, text: string): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('error', () => undefined).on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.write(text);
  await once(socket, 'close');
  return Buffer.concat(chunks).toString('latin1');
}

/** A server of bytes on loopback, for as long as the test runs. */
export async function createPeer(serve: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
    serve(socket);
  });
  return {
    port: await listening(server),
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: readonly string[];
  readonly body: string;
}

type Answering = (request: IncomingMessage, response: ServerResponse) => void;

/** How many clients a server has now. */
export const connectionsOf = (server: Server): Promise<number> =>
  new Promise((resolve) => server.getConnections((_error, count) => resolve(count)));

/** A web server on loopback, and what it was asked. */
export async function createSite(
  answer: Answering,
  tls: { readonly key: string; readonly cert: string } | null = null,
) {
  const seen: Seen[] = [];
  const handle: Answering = (request, response) => {
    void text(request).then(
      (body) => {
        seen.push({ method: request.method, url: request.url, headers: request.rawHeaders, body });
        answer(request, response);
      },
      () => undefined,
    );
  };
  const server = tls === null ? createHttpServer(handle) : createHttpsServer(tls, handle);
  // For a proxy of the test: what it is asked by CONNECT leads to itself.
  server.on('connect', (request: IncomingMessage, socket) => {
    seen.push({ method: 'CONNECT', url: request.url, headers: request.rawHeaders, body: '' });
    const status = request.url?.startsWith('closed.') ? '403 Forbidden' : '200 OK';
    socket.write(`HTTP/1.1 ${status}\r\n\r\nhello`);
    socket.on('error', () => undefined).pipe(socket);
  });
  return {
    seen,
    port: await listening(server),
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export const greet = (_request: IncomingMessage, response: ServerResponse) => response.end('hello');
/** A request without the line that ends it. */
export const headersFor = (method: string, url: string, ...more: readonly string[]) =>
  [`${method} ${url} HTTP/1.1`, 'Host: ignored.example', 'Connection: close', ...more]
    .map((line) => `${line}\r\n`)
    .join('');

export const echo = () => createPeer((socket) => socket.pipe(socket));
export const silent = () => createPeer(() => undefined);

/** Port of a server that listens on loopback from now on. */
export async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}
