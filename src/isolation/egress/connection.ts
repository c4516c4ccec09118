import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http';
import { connect, isIP, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { connect as connectTls } from 'node:tls';
import { isForbiddenAddress, parseAddress } from '../../core/isolation/addresses.ts';
import { type EgressRules, isModelHost, isPublicHost, nameOfTarget, type Target } from '../../core/isolation/hosts.ts';

/** What the proxy needs of the machine's network. */
export interface Network {
  /** Every address of a name; rejects where there is none. */
  resolve(host: string): Promise<readonly string[]>;
  /** A connection on its way, each of whose directions ends for itself. */
  dial(to: { readonly address: string; readonly port: number }): Socket;
  /** The machine's own addresses, public ones too: what listens on all of them is not meant for the agent. */
  ownAddresses(): readonly string[];
}

export const machineNetwork: Network = {
  resolve: async (host) => (await lookup(host, { all: true })).map(({ address }) => address),
  dial: ({ address, port }) => connect({ host: address, port, allowHalfOpen: true, noDelay: true, keepAlive: true }),
  ownAddresses: () => Object.values(networkInterfaces()).flatMap((all) => all?.map(({ address }) => address) ?? []),
};

/** A connection that is wanted. `page`: for one request of plain http, else a tunnel. */
export interface Wanted {
  readonly target: Target;
  readonly use: 'page' | 'tunnel';
  /** Whoever wanted it is gone. */
  readonly signal: AbortSignal;
}

/** `proxy`: the connection ends at this proxy, which takes requests for pages by their whole address. */
export type Opened =
  | { readonly kind: 'open'; readonly socket: Socket; readonly proxy: URL | null }
  | { readonly kind: 'private' }
  | { readonly kind: 'unreachable'; readonly why: string };

interface Ways {
  readonly network: Network;
  /** The proxy that the action's own connections to this address take; null: they go straight there. */
  readonly upstreamFor: (url: URL) => URL | null;
  readonly connectTimeoutMs: number;
}

/** Opens a connection to a target's public address, or to the proxy on the way; never throws. */
export async function openConnection(ways: Ways, { target, use, signal: left }: Wanted): Promise<Opened> {
  const late = AbortSignal.timeout(ways.connectTimeoutMs);
  const signal = AbortSignal.any([left, late]);
  try {
    const proxy = ways.upstreamFor(new URL(`${use === 'page' ? 'http' : 'https'}://${nameOfTarget(target)}`));
    if (proxy === null) return await openDirect(ways.network, target, signal);
    // Where names lead is seen by that proxy alone.
    if (parseAddress(target.host) !== null && isForbiddenAddress(target.host)) return { kind: 'private' };
    const socket = await openProxy(ways.network, proxy, signal);
    if (use === 'page') return { kind: 'open', socket, proxy };
    return await openTunnel({ socket, proxy, target, signal });
  } catch (error) {
    return { kind: 'unreachable', why: late.aborted ? 'it does not answer' : codeOf(error) };
  }
}

/** Value of `Proxy-Authorization` for a proxy whose URL has a user name; null: it has none. */
export function proxyAuthorization(proxy: URL): string | null {
  // The class of URLs that @actions/http-client gives has decoded them already.
  const { username, password } = new URL(proxy.href);
  if (username === '' && password === '') return null;
  return `Basic ${Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64')}`;
}

/** Asked once, checked, and dialled by the very address that was checked: a second answer might be another one. */
async function openDirect(network: Network, target: Target, signal: AbortSignal): Promise<Opened> {
  const { host, port } = target;
  const answers = parseAddress(host) === null ? await unlessAborted(network.resolve(host), signal) : [host];
  const own = new Set(network.ownAddresses().map(parseAddress));
  const address = answers.find((answer) => !isForbiddenAddress(answer) && !own.has(parseAddress(answer)));
  if (address === undefined) return { kind: 'private' };
  return { kind: 'open', socket: await ready(network.dial({ address, port }), 'connect', signal), proxy: null };
}

async function openProxy(network: Network, proxy: URL, signal: AbortSignal): Promise<Socket> {
  const isSecure = proxy.protocol === 'https:';
  if (!isSecure && proxy.protocol !== 'http:') throw new Error('the proxy on the way is not an http proxy');
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
  readonly target: Target;
  readonly signal: AbortSignal;
}

async function openTunnel({ socket, proxy, target, signal }: ThroughProxy): Promise<Opened> {
  const name = nameOfTarget(target);
  const authorization = proxyAuthorization(proxy);
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
      return { kind: 'unreachable', why: `the proxy on the way answers ${String(statusCode)}` };
    }
    if (head.length > 0) socket.unshift(head);
    return { kind: 'open', socket, proxy: null };
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** For its whole life an error of a socket is nothing but its end. */
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

/** A question to a name server cannot be taken back, but nobody needs to wait for it. */
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

function codeOf(error: unknown): string {
  const { code } = error as { readonly code?: unknown };
  if (typeof code === 'string') return code;
  return error instanceof Error ? error.message : String(error);
}

export const HTTPS_PORT = 443;

/** What comes of a request: its connection, or an answer of our own. */
export type Admitted = Extract<Opened, { kind: 'open' }> | { readonly kind: 'answered'; readonly answer: Answer };

/** What every request passes. */
export interface Gate {
  /** Decides on what is wanted, and opens it. */
  readonly admit: (wanted: Wanted) => Promise<Admitted>;
  /** Counts a connection to a target that was used for another one; `stranger`: see `strangerIn`. */
  readonly refuse: (target: Target, stranger: string) => Answer;
}

/** What the proxy itself answers: one line. */
interface Answer {
  readonly status: 400 | 403 | 502;
  readonly text: string;
}

/** For a request that cannot be read, or that no proxy passes on. */
export const UNREADABLE: Answer = {
  status: 400,
  text: 'The proxy of ralph-action takes CONNECT host:port, and requests for http:// URLs without a user name or an upgrade.',
};

/** For a target that may be reached and is not. */
export function unreachable(target: Target, why: string): Answer {
  return { status: 502, text: `The proxy of ralph-action cannot reach ${nameOfTarget(target)}: ${why}.` };
}

/** For a target that may not be reached, or, though it `isAllowed`, leads to no public address. */
export function refusal(rules: EgressRules, target: Target, isAllowed: boolean): Answer {
  return {
    status: 403,
    text: `ralph-action does not let programs of this run reach ${nameOfTarget(target)}: ${why()}.`,
  };
  function why(): string {
    if (isModelHost(rules, target.host)) return 'the model is reached through the action only';
    if (isAllowed || !isPublicHost(target.host)) return 'it is not a public address';
    return `to allow it, add ${target.port === HTTPS_PORT ? target.host : nameOfTarget(target)} to the input allowed-hosts`;
  }
}

/** Refuses a connection to an allowed target that asks for another host. */
export function misuse(target: Target, stranger: string): Answer {
  return {
    status: 403,
    text: `ralph-action does not let programs of this run use ${nameOfTarget(target)}${stranger}: on a connection to a host, only this host may be named.`,
  };
}

/** Headers of an answer of our own. */
function headersOf({ status, text }: Answer): Readonly<Record<string, string>> {
  return {
    ...(status === 403 ? { 'x-proxy-error': 'blocked-by-ralph' } : {}),
    'content-type': 'text/plain; charset=utf-8',
    'content-length': String(Buffer.byteLength(text) + 1),
    connection: 'close',
  };
}

/** The answer to a request that has a response. */
export function reply(response: ServerResponse, answer: Answer): void {
  response.writeHead(answer.status, headersOf(answer));
  response.end(`${answer.text}\n`);
}

/** The answer to CONNECT, which has only its socket. */
export function endWith(client: Socket, answer: Answer, lingerMs: number): void {
  const { status, text } = answer;
  const reason = { 400: 'Bad Request', 403: 'Forbidden', 502: 'Bad Gateway' }[status];
  const lines = Object.entries(headersOf(answer)).map(([name, value]) => `${name}: ${value}\r\n`);
  client.setTimeout(lingerMs, () => client.destroy());
  client.end(`HTTP/1.1 ${String(status)} ${reason}\r\n${lines.join('')}\r\n${text}\n`);
  // Read to its end: closing a socket with unread bytes would take the answer back.
  client.resume();
}
