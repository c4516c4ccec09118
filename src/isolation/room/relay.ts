import { connect, createServer, type Server as Listener, type Socket } from 'node:net';
import { joinSockets } from '../egress/tunnel.ts';

/** Passes connections on until it is closed. */
interface Relay {
  close(): void;
}

const MAX_CONNECTIONS = 256;
/** How long a connection stays whose other half is over and that carries nothing. */
const LINGER_MS = 60_000;

/** Takes over a socket that listens, and passes each of its connections on to a port of this machine's 127.0.0.1. */
export function relayTo(port: number, at: Listener): Relay {
  const open = new Set<Socket>();
  const keep = (socket: Socket): void => {
    open.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => open.delete(socket));
  };
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const service = connect({ host: '127.0.0.1', port, allowHalfOpen: true, noDelay: true });
    for (const socket of [client, service]) keep(socket);
    joinSockets(client, service, LINGER_MS);
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.listen(at).unref();
  return {
    close: () => {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}
