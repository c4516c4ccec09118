import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { allows, nameOf, type EgressRules, type Target } from '../core/isolation/hosts.ts';
import { refusal, unreachable, type Admit } from './egress/answer.ts';
import { machineNetwork, openConnection, type Network, type Opened, type Wanted } from './egress/connection.ts';
import { passPage } from './egress/page.ts';
import { connectTunnel } from './egress/tunnel.ts';

interface EgressOptions extends EgressRules {
  /** The proxy that the action's own connections to this address take; null: they go straight there. */
  readonly upstreamFor: (url: URL) => URL | null;
  readonly network?: Network;
  /** For the name and the connection together. */
  readonly connectTimeoutMs?: number;
  /** How long a connection stays whose other half is over and that carries nothing. */
  readonly lingerMs?: number;
}

/** The only way out of the agent's network. */
interface Egress {
  /** Does not listen: the caller attaches it to a socket in the agent's network. */
  readonly server: Server;
  /** `host:port` that was refused → how often; what does not fit in is counted under `others`. */
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

/** A proxy for CONNECT and plain http that lets through what the rules allow, to public addresses only. */
export function createEgress(options: EgressOptions): Egress {
  const { network = machineNetwork, connectTimeoutMs = 30_000, lingerMs = 60_000 } = options;
  const ways = { network, upstreamFor: options.upstreamFor, connectTimeoutMs };
  const refused = new Map<string, number>();
  const count = (target: Target): void => {
    const name = nameOf(target);
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
  const admit: Admit = async (wanted) => {
    const { target } = wanted;
    const isAllowed = allows(options, target.host, target.port);
    const opened: Opened | null = isAllowed ? await open(wanted) : null;
    if (opened?.kind === 'open') return opened;
    if (opened?.kind === 'unreachable') return { kind: 'answered', answer: unreachable(target, opened.why) };
    count(target);
    return { kind: 'answered', answer: refusal(options, target, isAllowed) };
  };

  const server = createServer({ maxHeaderSize: MAX_HEADER_BYTES, requestTimeout: 0, insecureHTTPParser: false });
  // Requests sent one after the other would be open all at once, however few connections there are.
  server.maxRequestsPerSocket = 1;
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
    void connectTunnel({ request, head, lingerMs }, admit).catch(() => stream.destroy());
  });
  server.on('request', (request, response) => {
    void passPage({ request, response }, admit).catch(() => response.destroy());
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
