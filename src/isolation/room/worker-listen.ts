import { once } from 'node:events';
import { createServer } from 'node:net';

/** Opens these ports (0: any) on 127.0.0.1 of the network that this process is in, hands them to its parent, and ends when that hangs up. */
export async function listenForParent(ports: readonly number[]): Promise<void> {
  const hungUp = once(process, 'disconnect');
  for (const port of ports) {
    const server = createServer();
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    await new Promise<void>((resolve, reject) => {
      process.send?.('socket', server, {}, (error) => {
        if (error === null) resolve();
        else reject(error);
      });
    });
  }
  // A socket may still be on its way.
  await hungUp;
}
