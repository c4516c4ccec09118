import { once } from 'node:events';
import { type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import {
  type Opening,
  parseOpening,
  formatOtherName,
  findHostSuffix,
  parseSecondOpening,
  parseServerAnswer,
} from '../../core/isolation/egress/opening.ts';
import { nameOfTarget, parseTarget, type HostAndPort } from '../../core/isolation/hosts.ts';
import {
  buildAnswerHeaders,
  type Framing,
  pairHeaders,
  hostOfPage,
  type PageRequest,
  parsePageRequest,
  buildRequestHeaders,
} from '../../core/isolation/page-request.ts';
import {
  type ProxyDecision,
  sendConnectAnswer,
  type ConnectionGate,
  buildProxyAuthorization,
  sendAnswer,
  createUnreachableAnswer,
  UNREADABLE_ANSWER,
} from './connection.ts';

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
  /** Bytes that the client sent right after its request. */
  readonly head: Buffer;
  readonly lingerMs: number;
  /** Maximum time for a client to name its target. */
  readonly openingMs: number;
}

interface Ways extends ConnectionGate {
  /** Returns true if the traffic of a tunnel to this target must name the target. */
  readonly mustName: (target: HostAndPort) => boolean;
  /** Takes over a client that sends plain HTTP requests through its tunnel. */
  readonly servePages: (client: Socket, begun: { readonly target: HostAndPort; readonly said: Buffer }) => void;
}

/** Maximum number of bytes in which a client names its target, ten times as many as programs send. */
const MAX_OPENING_BYTES = 32 * 1024;

/** The TLS alert `unrecognized_name`, as a fatal one. */
const UNRECOGNIZED_NAME = Buffer.from([21, 3, 1, 0, 2, 2, 112]);

/**
 * Answers CONNECT: opens a tunnel, or says why not. The target receives nothing from the client before the client has
 * named it.
 */
export async function connectTunnel({ request, head, lingerMs, openingMs }: Tunnel, ways: Ways): Promise<void> {
  const client = request.socket;
  const left = new AbortController();
  client.once('close', () => left.abort());
  // Use only the target of the request: a Host header may contain anything.
  const target = parseTarget(request.url ?? '', null);
  const admitted: ProxyDecision =
    target === null
      ? { kind: 'answered', answer: UNREADABLE_ANSWER }
      : await ways.admit({ target, use: 'tunnel', signal: left.signal });
  if (admitted.kind === 'answered') {
    sendConnectAnswer(client, admitted.answer, lingerMs);
    return;
  }
  const { socket: remote } = admitted;
  client.write('HTTP/1.1 200 Connection established\r\n\r\n');
  if (target === null || !ways.mustName(target)) {
    if (head.length > 0) remote.write(head);
    joinSockets(client, remote, lingerMs);
    return;
  }
  const said = await beginningOf(client, { head, openingMs, parse: parseOpening });
  const opening = parseOpening(said);
  if (!isForTarget(said, opening)) return;
  if (opening.kind === 'http') {
    remote.destroy();
    ways.servePages(client, { target, said });
    return;
  }
  remote.write(said);
  // Pass on nothing more from the client until the server has accepted the name.
  const answer = await beginningOf(remote, { head: NO_BYTES, openingMs, parse: parseServerAnswer });
  const { kind } = parseServerAnswer(answer);
  if (kind === 'more' && !remote.readableEnded) remote.destroy();
  client.write(answer);
  if (kind === 'retry') {
    const again = await beginningOf(client, { head: NO_BYTES, openingMs, parse: parseSecondOpening });
    if (!isForTarget(again, parseSecondOpening(again))) return;
    remote.write(again);
  }
  joinSockets(client, remote, lingerMs);

  /** Returns true if a client has named the target; otherwise ends both connections. */
  function isForTarget(bytes: Buffer, begun: Opening): boolean {
    // Accept a client that sent nothing, because it did not ask for another host.
    const stranger =
      bytes.length === 0 || target === null
        ? null
        : findHostSuffix(begun.kind === 'more' ? { kind: 'other' } : begun, target);
    if (bytes.length > 0 && stranger === null) return true;
    remote.destroy();
    if (stranger !== null && target !== null) ways.refuse(target, stranger);
    client.setTimeout(lingerMs, () => client.destroy());
    client.end(begun.kind === 'tls' ? UNRECOGNIZED_NAME : '');
    client.resume();
    return false;
  }
}

const NO_BYTES = Buffer.alloc(0);

/**
 * Reads the first bytes of a socket until they can be parsed, the socket ends, or the time is over. The socket is
 * paused afterwards.
 */
async function beginningOf(
  socket: Socket,
  {
    head,
    openingMs,
    parse,
  }: {
    readonly head: Buffer;
    readonly openingMs: number;
    readonly parse: (bytes: Uint8Array) => Extract<Opening, { kind: 'more' }> | { readonly kind: string };
  },
): Promise<Buffer> {
  const over = Promise.withResolvers<undefined>();
  const stop = (): void => {
    socket.pause();
    over.resolve(undefined);
  };
  const chunks: Buffer[] = [];
  let length = 0;
  let needed = 1;
  const look = (chunk: Buffer): void => {
    chunks.push(chunk);
    length += chunk.length;
    // Parsing starts only when enough bytes are there, so that single bytes cost no more than one chunk.
    if (length < needed) return;
    const opening = parse(Buffer.concat(chunks));
    if (!('needed' in opening) || opening.needed > MAX_OPENING_BYTES) stop();
    else ({ needed } = opening);
  };
  const timer = setTimeout(stop, openingMs);
  socket.on('data', look).once('end', stop).once('close', stop);
  socket.resume();
  look(head);
  if (socket.destroyed || socket.readableEnded) stop();
  await over.promise;
  clearTimeout(timer);
  socket.off('data', look).off('end', stop).off('close', stop);
  return Buffer.concat(chunks);
}

/**
 * Passes bytes in both directions until both sides have ended. The end of a side reaches the other side after
 * everything sent before it.
 */
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
    // Check for a socket that closed or ended before the listeners were attached.
    if (one.destroyed) other.destroy();
    else if (one.readableEnded) other.setTimeout(lingerMs, () => other.destroy());
  }
}

/**
 * Forwards a request for a page, or answers with the reason why not. `inTunnel` is the target of the tunnel that the
 * request came through, or null if it came to the proxy directly.
 */
export async function forwardPageRequest(
  { request, response, inTunnel }: Exchange & { readonly inTunnel: HostAndPort | null },
  { admit, refuse }: ConnectionGate,
): Promise<void> {
  const left = new AbortController();
  response.once('close', () => left.abort());
  const { url = '', headers } = request;
  const { host = '' } = headers;
  const page = parsePageRequest(inTunnel !== null && url.startsWith('/') ? `http://${host}${url}` : url);
  if (inTunnel !== null && page !== null && nameOfTarget(page.target) !== nameOfTarget(inTunnel)) {
    sendAnswer(response, refuse(inTunnel, formatOtherName(page.target.host)));
    return;
  }
  const framing = framingOf(request);
  if (page === null || framing === 'unreadable' || request.headers.upgrade !== undefined) {
    sendAnswer(response, UNREADABLE_ANSWER);
    return;
  }
  const { signal } = left;
  const admitted = await admit({ target: page.target, use: 'page', signal });
  if (admitted.kind === 'answered') {
    sendAnswer(response, admitted.answer);
    return;
  }
  const { socket } = admitted;
  try {
    await forward({ request, response }, { ...admitted, page, framing, signal });
  } catch (error) {
    socket.destroy();
    if (response.headersSent) throw error;
    sendAnswer(response, createUnreachableAnswer(page.target, 'its answer is not valid HTTP'));
  }
}

/** Forwards one request on a connection of its own; a redirect is passed back unchanged. */
async function forward(
  { request, response }: Exchange,
  { socket, proxy, page, framing, signal }: Forwarding,
): Promise<void> {
  const { target, path } = page;
  const authorization = proxy === null ? null : buildProxyAuthorization(proxy);
  const headers = [
    ...buildRequestHeaders(pairHeaders(request.rawHeaders), target, framing),
    ...(authorization === null ? [] : [['Proxy-Authorization', authorization] as const]),
  ];
  const onward = httpRequest({
    createConnection: () => socket,
    method: request.method ?? 'GET',
    path: proxy === null ? path : `http://${hostOfPage(target)}${path}`,
    headers: headers.flat(),
  });
  const ended = new AbortController();
  onward.on('error', () => undefined);
  onward.once('close', () => ended.abort());
  signal.addEventListener('abort', () => onward.destroy());
  if (framing === null) onward.end();
  else request.pipe(onward);
  const [answer] = (await once(onward, 'response', { signal: ended.signal })) as [IncomingMessage];
  // Destroy the response if the body breaks off, because it must not look complete.
  answer.on('error', () => response.destroy());
  response.writeHead(
    answer.statusCode ?? 502,
    answer.statusMessage,
    buildAnswerHeaders(pairHeaders(answer.rawHeaders)).flat(),
  );
  answer.pipe(response);
}

/**
 * Returns how the body is framed when it is forwarded. Node removes only the framing `chunked`; with any other coding
 * the body would stay encoded, so it is refused.
 */
function framingOf({ method = '', headers }: IncomingMessage): Framing | 'unreadable' {
  const coding = headers['transfer-encoding'];
  if (coding !== undefined) return coding.trim().toLowerCase() === 'chunked' ? { kind: 'chunked' } : 'unreadable';
  const bytes = headers['content-length'] ?? (BODY_BY_NATURE.has(method) ? '0' : null);
  return bytes === null ? null : { kind: 'length', bytes };
}
