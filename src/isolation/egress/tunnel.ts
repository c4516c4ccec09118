import { once } from 'node:events';
import { type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { readOpening, strangeName, strangerIn } from '../../core/isolation/egress/opening.ts';
import {
  answerHeaders,
  type Framing,
  headerPairs,
  nameOfTarget,
  pageHost,
  type PageRequest,
  parsePageRequest,
  parseTarget,
  requestHeaders,
  type Target,
} from '../../core/isolation/hosts.ts';
import { type Admitted, endWith, type Gate, proxyAuthorization, reply, unreachable, UNREADABLE } from './connection.ts';

const BODY_BY_NATURE = new Set(['POST', 'PUT', 'PATCH']);

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

interface Forwarding {
  readonly socket: Socket;
  readonly proxy: URL | null;
  readonly page: PageRequest;
  readonly framing: Framing;
  readonly signal: AbortSignal;
}

interface Tunnel {
  readonly request: IncomingMessage;
  /** What the client sent right after its request. */
  readonly head: Buffer;
  readonly lingerMs: number;
  /** How long a client may take to say whom it talks to. */
  readonly openingMs: number;
}

interface Ways extends Gate {
  /** Whether what goes through a tunnel to this target must name it. */
  readonly mustName: (target: Target) => boolean;
  /** Takes over a client that sends plain requests through its tunnel. */
  readonly servePages: (client: Socket, begun: { readonly target: Target; readonly said: Buffer }) => void;
}

/** Ten times as much as programs send. */
const MAX_OPENING_BYTES = 32 * 1024;

/** TLS for `unrecognized_name`, as a fatal alert. */
const UNRECOGNIZED_NAME = Buffer.from([21, 3, 1, 0, 2, 2, 112]);

/** Answers CONNECT: opens a tunnel, or says why not. Nothing of the client's reaches the target before it has named it. */
export async function connectTunnel({ request, head, lingerMs, openingMs }: Tunnel, ways: Ways): Promise<void> {
  const client = request.socket;
  const left = new AbortController();
  client.once('close', () => left.abort());
  // The target of the request counts; a Host header may name whatever it likes.
  const target = parseTarget(request.url ?? '', null);
  const admitted: Admitted =
    target === null
      ? { kind: 'answered', answer: UNREADABLE }
      : await ways.admit({ target, use: 'tunnel', signal: left.signal });
  if (admitted.kind === 'answered') {
    endWith(client, admitted.answer, lingerMs);
    return;
  }
  const { socket: remote } = admitted;
  client.write('HTTP/1.1 200 Connection established\r\n\r\n');
  if (target === null || !ways.mustName(target)) {
    if (head.length > 0) remote.write(head);
    joinSockets(client, remote, lingerMs);
    return;
  }
  const said = await openingOf(client, { head, openingMs });
  const opening = readOpening(said);
  // Who said nothing has asked for nothing.
  const stranger = said.length === 0 ? null : strangerIn(opening.kind === 'more' ? { kind: 'other' } : opening, target);
  if (said.length === 0 || stranger !== null) {
    remote.destroy();
    if (stranger !== null) ways.refuse(target, stranger);
    client.setTimeout(lingerMs, () => client.destroy());
    client.end(opening.kind === 'tls' ? UNRECOGNIZED_NAME : '');
    client.resume();
    return;
  }
  if (opening.kind === 'http') {
    remote.destroy();
    ways.servePages(client, { target, said });
    return;
  }
  remote.write(said);
  joinSockets(client, remote, lingerMs);
}

/** What a client sends until it can be told what it is, or it stops. Nothing more is read then. */
async function openingOf(
  client: Socket,
  { head, openingMs }: { readonly head: Buffer; readonly openingMs: number },
): Promise<Buffer> {
  const over = Promise.withResolvers<undefined>();
  const stop = (): void => {
    client.pause();
    over.resolve(undefined);
  };
  const chunks: Buffer[] = [];
  let length = 0;
  let needed = 1;
  const look = (chunk: Buffer): void => {
    chunks.push(chunk);
    length += chunk.length;
    // A byte at a time costs no more than all at once.
    if (length < needed) return;
    const opening = readOpening(Buffer.concat(chunks));
    if (opening.kind !== 'more' || opening.needed > MAX_OPENING_BYTES) stop();
    else ({ needed } = opening);
  };
  const timer = setTimeout(stop, openingMs);
  client.on('data', look).once('end', stop).once('close', stop);
  look(head);
  await over.promise;
  clearTimeout(timer);
  client.off('data', look).off('end', stop).off('close', stop);
  return Buffer.concat(chunks);
}

/** Bytes pass both ways until both sides have ended; each side's end reaches the other, and what was sent before it. */
export function joinSockets(client: Socket, remote: Socket, lingerMs: number): void {
  for (const [one, other] of [
    [client, remote],
    [remote, client],
  ] as const) {
    one.pipe(other);
    one.once('end', () => one.setTimeout(lingerMs, () => one.destroy()));
    one.once('end', () => other.setTimeout(lingerMs, () => other.destroy()));
    one.once('close', (hasFailed: boolean) => {
      if (hasFailed) other.destroy();
      else other.destroySoon();
      other.setTimeout(lingerMs, () => other.destroy());
    });
    // It may be gone before anybody listens.
    if (one.destroyed) other.destroy();
  }
}

/** Answers a request for a page: passes it on, or says why not. `inTunnel`: what the tunnel leads to in which it came; null: it came to the proxy. */
export async function passPage(
  { request, response, inTunnel }: Exchange & { readonly inTunnel: Target | null },
  { admit, refuse }: Gate,
): Promise<void> {
  const left = new AbortController();
  response.once('close', () => left.abort());
  const { url = '', headers } = request;
  const { host = '' } = headers;
  const page = parsePageRequest(inTunnel !== null && url.startsWith('/') ? `http://${host}${url}` : url);
  if (inTunnel !== null && page !== null && nameOfTarget(page.target) !== nameOfTarget(inTunnel)) {
    reply(response, refuse(inTunnel, strangeName(page.target.host)));
    return;
  }
  const framing = framingOf(request);
  if (page === null || framing === 'unreadable' || request.headers.upgrade !== undefined) {
    reply(response, UNREADABLE);
    return;
  }
  const { signal } = left;
  const admitted = await admit({ target: page.target, use: 'page', signal });
  if (admitted.kind === 'answered') {
    reply(response, admitted.answer);
    return;
  }
  const { socket } = admitted;
  try {
    await forward({ request, response }, { ...admitted, page, framing, signal });
  } catch (error) {
    socket.destroy();
    if (response.headersSent) throw error;
    reply(response, unreachable(page.target, 'it does not answer as a web server does'));
  }
}

/** One request on a connection of its own; a redirect is passed back as it is. */
async function forward(
  { request, response }: Exchange,
  { socket, proxy, page, framing, signal }: Forwarding,
): Promise<void> {
  const { target, path } = page;
  const authorization = proxy === null ? null : proxyAuthorization(proxy);
  const headers = [
    ...requestHeaders(headerPairs(request.rawHeaders), target, framing),
    ...(authorization === null ? [] : [['Proxy-Authorization', authorization] as const]),
  ];
  const onward = httpRequest({
    createConnection: () => socket,
    method: request.method ?? 'GET',
    path: proxy === null ? path : `http://${pageHost(target)}${path}`,
    headers: headers.flat(),
  });
  const ended = new AbortController();
  onward.on('error', () => undefined);
  onward.once('close', () => ended.abort());
  signal.addEventListener('abort', () => onward.destroy());
  if (framing === null) onward.end();
  else request.pipe(onward);
  const [answer] = (await once(onward, 'response', { signal: ended.signal })) as [IncomingMessage];
  // A body that breaks off must not look like a whole one.
  answer.on('error', () => response.destroy());
  response.writeHead(
    answer.statusCode ?? 502,
    answer.statusMessage,
    answerHeaders(headerPairs(answer.rawHeaders)).flat(),
  );
  answer.pipe(response);
}

/** Our own parser has taken the body apart; what is packed on its way for one connection would arrive packed. */
function framingOf({ method = '', headers }: IncomingMessage): Framing | 'unreadable' {
  const coding = headers['transfer-encoding'];
  if (coding !== undefined) return coding.trim().toLowerCase() === 'chunked' ? { kind: 'chunked' } : 'unreadable';
  const bytes = headers['content-length'] ?? (BODY_BY_NATURE.has(method) ? '0' : null);
  return bytes === null ? null : { kind: 'length', bytes };
}
