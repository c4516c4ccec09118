import { createServer, type Server } from 'node:http';
import { MAX_CONNECTIONS, type BrokerOptions } from './broker.ts';

/**
 * Serves the brokers of several agents on one port. Only one agent works at a time: a request goes to the broker whose
 * call is open, since only that broker knows the placeholders of the call.
 */
export function sharedDoor(listen: (server: Server) => Promise<number>): BrokerOptions['listen'] {
  const behind: { readonly server: Server; readonly isOpen: () => boolean }[] = [];
  let port: Promise<number> | null = null;
  const front = createServer((request, response) => {
    const { server } = behind.find(({ isOpen }) => isOpen()) ?? behind[0] ?? {};
    server?.emit('request', request, response);
  });
  front.maxConnections = MAX_CONNECTIONS;
  front.requestTimeout = 0;
  return (server, isOpen) => {
    behind.push({ server, isOpen });
    return (port ??= listen(front));
  };
}
