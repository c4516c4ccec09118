import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { allows, nameOfTarget, type EgressRules, type Target } from '../core/isolation/hosts.ts';
import { WITHOUT_TLS } from '../core/isolation/egress/opening.ts';
import {
  type Gate,
  HTTPS_PORT,
  machineNetwork,
  misuse,
  type Network,
  openConnection,
  type Opened,
  refusal,
  unreachable,
  type Wanted,
} from './egress/connection.ts';
import { connectTunnel, passPage } from './egress/tunnel.ts';

interface EgressOptions extends EgressRules {
  /** The proxy that the action's own connections to this address take; null: they go straight there. */
  readonly upstreamFor: (url: URL) => URL | null;
  readonly network?: Network;
  /** For the name and the connection together. */
  readonly connectTimeoutMs?: number;
  /** How long a connection stays whose other half is over and that carries nothing. */
  readonly lingerMs?: number;
  /** How long a client may take to name its target in a tunnel. */
  readonly openingMs?: number;
}

/** The only way out of the agent's network. */
interface Egress {
  /** Does not listen: the caller attaches it to a socket in the agent's network. */
  readonly server: Server;
  /** What was refused → how often: `host:port`, or `host:port as other.example` for what was sent on a connection to it; what does not fit in is counted under `others`. */
  refused(): Readonly<Record<string, number>>;
  /** Ends every connection. */
  close(): Promise<void>;
}

/** Of clients, and again of those to what they ask for. */
const MAX_CONNECTIONS = 256;
const MAX_HEADER_BYTES = 16 * 1024;
/** With `others`. */
const MAX_REFUSED = 100;
const OTHERS = 'others';

/**
 * A proxy for CONNECT and plain http that lets through what the rules allow, to public addresses only. What goes through a
 * tunnel is TLS whose server name is the host that was asked for, or, but for port 443, http requests to this host. Where
 * everything is allowed, tunnels to other ports carry whatever they like.
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

  const open = async (wanted: Wanted): Promise<Opened> => {
    if (outward.size + opening >= MAX_CONNECTIONS) return { kind: 'unreachable', why: 'too many connections are open' };
    opening += 1;
    const opened = await openConnection(ways, wanted);
    opening -= 1;
    if (opened.kind !== 'open') return opened;
    const { socket } = opened;
    outward.add(socket);
    socket.once('close', () => outward.delete(socket));
    // Nobody is there to close it.
    if (wanted.signal.aborted) socket.destroy();
    return opened;
  };
  const refuse: Gate['refuse'] = (target, stranger) => {
    count(nameOfTarget(target) + stranger);
    return misuse(target, stranger);
  };
  const admit: Gate['admit'] = async (wanted) => {
    const { target } = wanted;
    const isAllowed = allows(options, target.host, target.port);
    if (isAllowed && wanted.use === 'page' && target.port === HTTPS_PORT)
      return { kind: 'answered', answer: refuse(target, WITHOUT_TLS) };
    const opened: Opened | null = isAllowed ? await open(wanted) : null;
    if (opened?.kind === 'open') return opened;
    if (opened?.kind === 'unreachable') return { kind: 'answered', answer: unreachable(target, opened.why) };
    count(nameOfTarget(target));
    return { kind: 'answered', answer: refusal(options, target, isAllowed) };
  };
  const mustName = ({ port }: Target): boolean => options.allowed.kind !== 'any' || port === HTTPS_PORT;

  const targets = new WeakMap<Socket, Target>();
  const pageServer = (): Server => {
    const server = createServer({ maxHeaderSize: MAX_HEADER_BYTES, requestTimeout: 0, insecureHTTPParser: false });
    // Requests sent one after the other would be open all at once, however few connections there are.
    server.maxRequestsPerSocket = 1;
    server.on('request', (request, response) => {
      const inTunnel = targets.get(request.socket) ?? null;
      void passPage({ request, response, inTunnel }, { admit, refuse }).catch(() => response.destroy());
    });
    return server;
  };
  const server = pageServer();
  /** Never listens: it is given connections that a tunnel was asked for on. */
  const tunnelled = pageServer();
  const servePages: Parameters<typeof connectTunnel>[1]['servePages'] = (client, { target, said }) => {
    targets.set(client, target);
    tunnelled.emit('connection', client);
    // The server reads from the connection itself, behind what was read before.
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
        // It may not listen: that is fine, too.
        server.close(() => resolve());
        for (const socket of [...clients, ...outward]) socket.destroy();
      }),
  };
}
