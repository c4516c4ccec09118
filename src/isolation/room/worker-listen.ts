import { once } from 'node:events';
import { createServer } from 'node:net';

/** Opens sockets on 127.0.0.1 of the network that this process is in, hands them to its parent, and ends when that hangs up. */
export async function listenForParent(count: number): Promise<void> {
  const hungUp = once(process, 'disconnect');
  for (let made = 0; made < count; made += 1) {
    const server = createServer();
    server.listen(0, '127.0.0.1');
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
