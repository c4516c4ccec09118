import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import {
  answerHeaders,
  headerPairs,
  pageHost,
  parsePageRequest,
  requestHeaders,
  type Framing,
  type PageRequest,
} from '../../core/isolation/forwarding.ts';
import { nameOfTarget, type Target } from '../../core/isolation/hosts.ts';
import { strangeName } from '../../core/isolation/egress/opening.ts';
import { reply, unreachable, UNREADABLE, type Gate } from './answer.ts';
import { proxyAuthorization } from './connection.ts';

const BODY_BY_NATURE = new Set(['POST', 'PUT', 'PATCH']);

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
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

interface Forwarding {
  readonly socket: Socket;
  readonly proxy: URL | null;
  readonly page: PageRequest;
  readonly framing: Framing;
  readonly signal: AbortSignal;
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
