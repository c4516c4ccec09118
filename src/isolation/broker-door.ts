import { createServer, type Server } from 'node:http';
import { MAX_CONNECTIONS, type BrokerOptions } from './broker.ts';

/**
 * Serves the brokers of several agents on one port. Only one agent works at a time: a request goes to the broker whose
 * call is open, since only that broker knows the placeholders of the call.
 */
export function shareBrokerPort(listen: (server: Server) => Promise<number>): BrokerOptions['listen'] {
  const brokers: { readonly server: Server; readonly isOpen: () => boolean }[] = [];
  let port: Promise<number> | null = null;
  const front = createServer((request, response) => {
    const { server } = brokers.find(({ isOpen }) => isOpen()) ?? brokers[0] ?? {};
    server?.emit('request', request, response);
  });
  front.maxConnections = MAX_CONNECTIONS;
  front.requestTimeout = 0;
  return (server, isOpen) => {
    brokers.push({ server, isOpen });
    return (port ??= listen(front));
  };
}
