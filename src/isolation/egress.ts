import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { allowsHost, nameOfTarget, type EgressRules, type HostAndPort } from '../core/isolation/hosts.ts';
import { WITHOUT_TLS } from '../core/isolation/egress/opening.ts';
import {
  type ConnectionGate,
  HTTPS_PORT,
  machineNetwork,
  createWrongHostAnswer,
  type Network,
  openConnection,
  type OpenedConnection,
  createRefusalAnswer,
  createUnreachableAnswer,
  type RequestedConnection,
} from './egress/connection.ts';
import { connectTunnel, forwardPageRequest } from './egress/tunnel.ts';

interface EgressOptions extends EgressRules {
  /** Returns the proxy that the action's own connections to this address use, or null if they are direct. */
  readonly upstreamFor: (url: URL) => URL | null;
  readonly network?: Network;
  /** Maximum time for resolving the name and connecting. */
  readonly connectTimeoutMs?: number;
  /** Idle time after which a half-closed connection is closed. */
  readonly lingerMs?: number;
  /** Maximum time for a client to name its target in a tunnel. */
  readonly openingMs?: number;
}

/** The proxy that is the only way out of the agent's network. */
interface Egress {
  /** A server that does not listen: the caller attaches it to a socket in the agent's network. */
  readonly server: Server;
  /**
   * Returns the number of refusals by target: `host:port`, or `host:port as other.example` for another name on a
   * connection to this target. Targets beyond the limit are counted as `others`.
   */
  refused(): Readonly<Record<string, number>>;
  /** Ends every connection. */
  close(): Promise<void>;
}

/** Maximum number of connections from clients, and of connections to targets. */
const MAX_CONNECTIONS = 256;
const MAX_HEADER_BYTES = 16 * 1024;
/** Maximum number of refused targets that are counted separately, including `others`. */
const MAX_REFUSED = 100;
const OTHERS = 'others';

/**
 * Creates a proxy for CONNECT and plain HTTP that forwards allowed requests, to public addresses only. A tunnel carries
 * TLS whose server name is the requested host or, except on port 443, HTTP requests to that host. If everything is
 * allowed, tunnels to other ports carry anything.
 */
export function createEgress(options: EgressOptions): Egress {
  const { network = machineNetwork, connectTimeoutMs = 30_000, lingerMs = 60_000, openingMs = 30_000 } = options;
  const ways = { network, upstreamFor: options.upstreamFor, connectTimeoutMs };
  const refused = new Map<string, number>();
  const count = (name: string): void => {
    const key = refused.has(name) || refused.size < MAX_REFUSED - 1 ? name : OTHERS;
    refused.set(key, (refused.get(key) ?? 0) + 1);
  };
  const clients = new Set<Socket>();
  const outward = new Set<Socket>();
  let opening = 0;

  const open = async (wanted: RequestedConnection): Promise<OpenedConnection> => {
    if (outward.size + opening >= MAX_CONNECTIONS) return { kind: 'unreachable', why: 'too many connections are open' };
    opening += 1;
    const opened = await openConnection(ways, wanted);
    opening -= 1;
    if (opened.kind !== 'open') return opened;
    const { socket } = opened;
    outward.add(socket);
    socket.once('close', () => outward.delete(socket));
    // Close the socket if the client is gone, because no other code would.
    if (wanted.signal.aborted) socket.destroy();
    return opened;
  };
  const refuse: ConnectionGate['refuse'] = (target, stranger) => {
    count(nameOfTarget(target) + stranger);
    return createWrongHostAnswer(target, stranger);
  };
  const admit: ConnectionGate['admit'] = async (wanted) => {
    const { target } = wanted;
    const isAllowed = allowsHost(options, target.host, target.port);
    if (isAllowed && wanted.use === 'page' && target.port === HTTPS_PORT)
      return { kind: 'answered', answer: refuse(target, WITHOUT_TLS) };
    const opened: OpenedConnection | null = isAllowed ? await open(wanted) : null;
    if (opened?.kind === 'open') return opened;
    if (opened?.kind === 'unreachable')
      return { kind: 'answered', answer: createUnreachableAnswer(target, opened.why) };
    count(nameOfTarget(target));
    return { kind: 'answered', answer: createRefusalAnswer(options, target, isAllowed) };
  };
  const mustName = ({ port }: HostAndPort): boolean => options.allowed.kind !== 'any' || port === HTTPS_PORT;

  const targets = new WeakMap<Socket, HostAndPort>();
  const pageServer = (): Server => {
    const server = createServer({ maxHeaderSize: MAX_HEADER_BYTES, requestTimeout: 0, insecureHTTPParser: false });
    // Allow one request per socket: pipelined requests would all be open at once, regardless of the limit on
    // connections.
    server.maxRequestsPerSocket = 1;
    server.on('request', (request, response) => {
      const inTunnel = targets.get(request.socket) ?? null;
      void forwardPageRequest({ request, response, inTunnel }, { admit, refuse }).catch(() => response.destroy());
    });
    return server;
  };
  const server = pageServer();
  /** A server that never listens: tunnels hand their connections to it. */
  const tunnelled = pageServer();
  const servePages: Parameters<typeof connectTunnel>[1]['servePages'] = (client, { target, said }) => {
    targets.set(client, target);
    tunnelled.emit('connection', client);
    // Emit the bytes that were already read, because the server reads only the rest from the connection.
    client.emit('data', said);
    client.resume();
  };
  server.on('connection', (socket: Socket) => {
    socket.on('error', () => undefined);
    if (clients.size >= MAX_CONNECTIONS) {
      socket.destroy();
      return;
    }
    clients.add(socket);
    socket.once('close', () => clients.delete(socket));
  });
  server.on('connect', (request, stream, head) => {
    const tunnel = { request, head, lingerMs, openingMs };
    void connectTunnel(tunnel, { admit, refuse, mustName, servePages }).catch(() => stream.destroy());
  });
  return {
    server,
    refused: () => Object.fromEntries(refused),
    close: () =>
      new Promise((resolve) => {
        // `close` reports an error if the server does not listen, which is fine.
        server.close(() => resolve());
        for (const socket of [...clients, ...outward]) socket.destroy();
      }),
  };
}
