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
import { listAllowedHosts, parseAllowedHosts } from '../../../src/core/isolation/hosts.ts';
import { createEgress } from '../../../src/isolation/egress.ts';

/** A public address, which these tests' network routes to a server on loopback. */
export const PUBLIC = '203.0.113.7';
export const OTHER_PUBLIC = '203.0.113.8';

interface Scenery {
  readonly allowed?: readonly string[];
  readonly never?: readonly string[];
  /** Addresses by name. A missing name does not exist. */
  readonly names?: Readonly<Record<string, readonly string[] | Promise<readonly string[]>>>;
  /** Ports on loopback by `address:port`; `null` never answers. A missing entry refuses connections. */
  readonly servers?: Readonly<Record<string, number | null>>;
  readonly own?: readonly string[];
  readonly upstream?: (url: URL) => URL | null;
  readonly connectTimeoutMs?: number;
  readonly lingerMs?: number;
  readonly openingMs?: number;
}

/** Creates the proxy on loopback, in a simulated network. */
export async function createScene(scenery: Scenery) {
  const { names = {}, servers = {}, own = [], allowed = [], never = [], upstream = () => null, ...times } = scenery;
  const asked: string[] = [];
  const dialled: string[] = [];
  const outward = new Set<Socket>();
  const { asked: wish, problems } = parseAllowedHosts(allowed);
  if (problems.length > 0) throw new Error(problems.join());
  const egress = createEgress({
    allowed: listAllowedHosts(wish, []),
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
    /** Connections that the proxy has opened and not closed. */
    outward,
    /** Returns the answer to CONNECT and the tunnel. */
    tunnel: async (target: string, headers: Readonly<Record<string, string>> = {}) => {
      const request = httpRequest({ port, host: '127.0.0.1', method: 'CONNECT', path: target, headers }).end();
      const [answer, socket, head] = (await once(request, 'connect')) as [IncomingMessage, Socket, Buffer];
      socket.on('error', () => undefined);
      if (head.length > 0) socket.unshift(head);
      return { status: answer.statusCode, blocked: answer.headers['x-proxy-error'] ?? null, socket };
    },
    /** Returns everything that the proxy answers to these bytes until it closes the connection. */
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

/** Creates a server of bytes on loopback that lives as long as the test. */
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

/** Returns the current number of clients of a server. */
export const connectionsOf = (server: Server): Promise<number> =>
  new Promise((resolve) => server.getConnections((_error, count) => resolve(count)));

/** Creates a web server on loopback that records its requests. */
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
  // As a proxy of the test, the server leads every CONNECT to itself.
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
/** Returns a request without its final empty line. */
export const headersFor = (method: string, url: string, ...more: readonly string[]) =>
  [`${method} ${url} HTTP/1.1`, 'Host: ignored.example', 'Connection: close', ...more]
    .map((line) => `${line}\r\n`)
    .join('');

export const echo = () => createPeer((socket) => socket.pipe(socket));
export const silent = () => createPeer(() => undefined);

/** Makes a server listen on loopback and returns its port. */
export async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}
