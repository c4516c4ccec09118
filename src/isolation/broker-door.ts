import { createServer, type Server } from 'node:http';
import { MAX_CONNECTIONS, type BrokerOptions } from './broker.ts';

/** One server for the brokers of several agents, of which one works at a time: a request goes to the broker whose call is open, which alone knows the placeholders of that call. */
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
