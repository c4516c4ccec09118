import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http';
import { connect, isIP, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { connect as connectTls } from 'node:tls';
import { isForbiddenAddress, parseAddress } from '../../core/isolation/addresses.ts';
import {
  type EgressRules,
  isModelHost,
  isPublicHost,
  nameOfTarget,
  type HostAndPort,
} from '../../core/isolation/hosts.ts';

/** The parts of the machine's network that the proxy uses. */
export interface Network {
  /** Resolves a name to all of its addresses; rejects if there are no addresses. */
  resolve(host: string): Promise<readonly string[]>;
  /** Starts a connection, whose two directions end independently. */
  dial(to: { readonly address: string; readonly port: number }): Socket;
  /**
   * Returns the machine's own addresses, including public ones, because services that listen on all addresses are not
   * meant for the agent.
   */
  ownAddresses(): readonly string[];
}

export const machineNetwork: Network = {
  resolve: async (host) => (await lookup(host, { all: true })).map(({ address }) => address),
  dial: ({ address, port }) => connect({ host: address, port, allowHalfOpen: true, noDelay: true, keepAlive: true }),
  ownAddresses: () => Object.values(networkInterfaces()).flatMap((all) => all?.map(({ address }) => address) ?? []),
};

/** A requested connection: for one request of plain HTTP (`page`), or for a tunnel. */
export interface RequestedConnection {
  readonly target: HostAndPort;
  readonly use: 'page' | 'tunnel';
  /** Aborts when the client is gone. */
  readonly signal: AbortSignal;
}

/**
 * The result of opening a connection. `proxy` is the proxy at which the connection ends, which takes absolute URLs; it
 * is null if the connection reaches the target.
 */
export type OpenedConnection =
  | { readonly kind: 'open'; readonly socket: Socket; readonly proxy: URL | null }
  | { readonly kind: 'private' }
  | { readonly kind: 'unreachable'; readonly why: string };

interface Ways {
  readonly network: Network;
  /** Returns the proxy that the action's own connections to this address use, or null if they are direct. */
  readonly upstreamFor: (url: URL) => URL | null;
  readonly connectTimeoutMs: number;
}

/** Opens a connection to a target's public address, or to the upstream proxy; never throws. */
export async function openConnection(
  ways: Ways,
  { target, use, signal: left }: RequestedConnection,
): Promise<OpenedConnection> {
  const late = AbortSignal.timeout(ways.connectTimeoutMs);
  const signal = AbortSignal.any([left, late]);
  try {
    const proxy = ways.upstreamFor(new URL(`${use === 'page' ? 'http' : 'https'}://${nameOfTarget(target)}`));
    if (proxy === null) return await openDirect(ways.network, target, signal);
    // Only the proxy resolves names, so only literal addresses can be checked here.
    if (parseAddress(target.host) !== null && isForbiddenAddress(target.host)) return { kind: 'private' };
    const socket = await openProxy(ways.network, proxy, signal);
    if (use === 'page') return { kind: 'open', socket, proxy };
    return await openTunnel({ socket, proxy, target, signal });
  } catch (error) {
    return { kind: 'unreachable', why: late.aborted ? 'it does not answer' : socketErrorCode(error) };
  }
}

/** Returns the value of `Proxy-Authorization` for a proxy whose URL has credentials, otherwise null. */
export function buildProxyAuthorization(proxy: URL): string | null {
  // Parse the URL again, because the URL class of @actions/http-client has already decoded the credentials.
  const { username, password } = new URL(proxy.href);
  if (username === '' && password === '') return null;
  return `Basic ${Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64')}`;
}

/** Resolves a name once and dials the very address that was checked, because a second lookup may return another one. */
async function openDirect(network: Network, target: HostAndPort, signal: AbortSignal): Promise<OpenedConnection> {
  const { host, port } = target;
  const answers = parseAddress(host) === null ? await unlessAborted(network.resolve(host), signal) : [host];
  const own = new Set(network.ownAddresses().map(parseAddress));
  const address = answers.find((answer) => !isForbiddenAddress(answer) && !own.has(parseAddress(answer)));
  if (address === undefined) return { kind: 'private' };
  return { kind: 'open', socket: await ready(network.dial({ address, port }), 'connect', signal), proxy: null };
}

async function openProxy(network: Network, proxy: URL, signal: AbortSignal): Promise<Socket> {
  const isSecure = proxy.protocol === 'https:';
  if (!isSecure && proxy.protocol !== 'http:') throw new Error('the upstream proxy is not an HTTP proxy');
  const address = proxy.hostname.replace(/^\[|\]$/g, '');
  const port = Number(proxy.port || (isSecure ? 443 : 80));
  const socket = await ready(network.dial({ address, port }), 'connect', signal);
  if (!isSecure) return socket;
  const servername = isIP(address) === 0 ? address : '';
  return await ready(connectTls({ socket, host: address, servername }), 'secureConnect', signal);
}

interface ThroughProxy {
  readonly socket: Socket;
  readonly proxy: URL;
  readonly target: HostAndPort;
  readonly signal: AbortSignal;
}

async function openTunnel({ socket, proxy, target, signal }: ThroughProxy): Promise<OpenedConnection> {
  const name = nameOfTarget(target);
  const authorization = buildProxyAuthorization(proxy);
  const request = httpRequest({
    createConnection: () => socket,
    method: 'CONNECT',
    path: name,
    headers: { host: name, ...(authorization === null ? {} : { 'proxy-authorization': authorization }) },
  });
  request.on('error', () => undefined).end();
  try {
    const [{ statusCode = 0 }, , head] = (await once(request, 'connect', { signal })) as [
      IncomingMessage,
      Socket,
      Buffer,
    ];
    if (statusCode < 200 || statusCode > 299) {
      socket.destroy();
      return { kind: 'unreachable', why: `the upstream proxy answered ${String(statusCode)}` };
    }
    if (head.length > 0) socket.unshift(head);
    return { kind: 'open', socket, proxy: null };
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** Waits until a socket is ready. Its errors, now and later, only end the socket. */
async function ready(socket: Socket, event: 'connect' | 'secureConnect', signal: AbortSignal): Promise<Socket> {
  socket.on('error', () => undefined);
  try {
    await once(socket, event, { signal });
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** Rejects as soon as `signal` aborts: a DNS lookup cannot be cancelled, but nobody has to wait for it. */
async function unlessAborted<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => {
    aborted.reject(signal.reason as Error);
  };
  signal.addEventListener('abort', abort);
  if (signal.aborted) abort();
  try {
    return await Promise.race([answer, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function socketErrorCode(error: unknown): string {
  const { code } = error as { readonly code?: unknown };
  if (typeof code === 'string') return code;
  return error instanceof Error ? error.message : String(error);
}

export const HTTPS_PORT = 443;

/** The result of a request: its connection, or an answer from the proxy itself. */
export type ProxyDecision =
  | Extract<OpenedConnection, { kind: 'open' }>
  | { readonly kind: 'answered'; readonly answer: Answer };

/** The checks that every request passes. */
export interface ConnectionGate {
  /** Decides whether a connection is allowed, and opens it. */
  readonly admit: (wanted: RequestedConnection) => Promise<ProxyDecision>;
  /**
   * Counts a connection to an allowed target that named another host, and returns the answer. `stranger` comes from
   * `findHostSuffix`.
   */
  readonly refuse: (target: HostAndPort, stranger: string) => Answer;
}

/** An answer from the proxy itself: one line of text. */
interface Answer {
  readonly status: 400 | 403 | 502;
  readonly text: string;
}

/** The answer to a request that cannot be parsed or that proxies do not forward. */
export const UNREADABLE_ANSWER: Answer = {
  status: 400,
  text: 'The proxy of ralph-action takes CONNECT host:port, and requests for http:// URLs without a user name or an upgrade.',
};

/** Returns the answer for an allowed target that cannot be reached. */
export function createUnreachableAnswer(target: HostAndPort, why: string): Answer {
  return { status: 502, text: `The proxy of ralph-action cannot reach ${nameOfTarget(target)}: ${why}.` };
}

/** Returns the answer for a target that is not allowed, or that `isAllowed` but has no public address. */
export function createRefusalAnswer(rules: EgressRules, target: HostAndPort, isAllowed: boolean): Answer {
  return {
    status: 403,
    text: `ralph-action does not let programs of this run reach ${nameOfTarget(target)}: ${why()}.`,
  };
  function why(): string {
    if (isModelHost(rules, target.host)) return 'the model can be reached only through the action';
    if (isAllowed || !isPublicHost(target.host)) return 'it is not a public address';
    return `to allow it, add ${target.port === HTTPS_PORT ? target.host : nameOfTarget(target)} to the input allowed-hosts`;
  }
}

/** Returns the answer to a connection to an allowed target that names another host. */
export function createWrongHostAnswer(target: HostAndPort, stranger: string): Answer {
  return {
    status: 403,
    text: `ralph-action does not let programs of this run use ${nameOfTarget(target)}${stranger}: on a connection to a host, only this host may be named.`,
  };
}

/** Returns the headers of an answer from the proxy itself. */
function proxyHeadersOf({ status, text }: Answer): Readonly<Record<string, string>> {
  return {
    ...(status === 403 ? { 'x-proxy-error': 'blocked-by-ralph' } : {}),
    'content-type': 'text/plain; charset=utf-8',
    'content-length': String(Buffer.byteLength(text) + 1),
    connection: 'close',
  };
}

/** Answers a request through its response object. */
export function sendAnswer(response: ServerResponse, answer: Answer): void {
  response.writeHead(answer.status, proxyHeadersOf(answer));
  response.end(`${answer.text}\n`);
}

/** Sends an answer to CONNECT, which has only a socket. */
export function sendConnectAnswer(client: Socket, answer: Answer, lingerMs: number): void {
  const { status, text } = answer;
  const reason = { 400: 'Bad Request', 403: 'Forbidden', 502: 'Bad Gateway' }[status];
  const lines = Object.entries(proxyHeadersOf(answer)).map(([name, value]) => `${name}: ${value}\r\n`);
  client.setTimeout(lingerMs, () => client.destroy());
  client.end(`HTTP/1.1 ${String(status)} ${reason}\r\n${lines.join('')}\r\n${text}\n`);
  // Read the rest, because closing a socket with unread bytes would discard the answer.
  client.resume();
}
