import { spawn } from 'node:child_process';
import type { Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { sendToGroup } from './process-tree.ts';

/** A program that opens listening sockets where we cannot, and hands them to us: Node, with its channel on descriptor 0. */
interface Opener {
  readonly file: string;
  readonly args: readonly string[];
  readonly timeoutMs: number;
}

/** Receives so many listening sockets, in the order in which they come. Rejects when fewer came in time. */
export async function receiveServers({ file, args, timeoutMs }: Opener, count: number): Promise<readonly Server[]> {
  const servers: Server[] = [];
  const opener = spawn(file, args, {
    cwd: '/',
    env: { LC_ALL: 'C', NODE_CHANNEL_FD: '0' },
    detached: true,
    // sudo closes every descriptor above the first three.
    stdio: ['ipc', 'ignore', 'ignore'],
    // What Node takes for granted where nothing else is said: nothing of our environment goes along.
    serialization: 'json',
  });
  const all = new Promise<boolean>((resolve) => {
    opener.on('message', (_, server) => {
      if (server !== undefined) servers.push(server as Server);
      if (servers.length === count) resolve(true);
    });
    opener.once('exit', () => {
      resolve(false);
    });
    opener.once('error', () => {
      resolve(false);
    });
  });
  try {
    const hasAll = await Promise.race([all, sleep(timeoutMs, false, { ref: false })]);
    if (hasAll) return servers;
    for (const server of servers) server.close();
    throw new Error(`only ${String(servers.length)} of ${String(count)} sockets came`);
  } finally {
    if (opener.connected) opener.disconnect();
    if (opener.pid !== undefined) sendToGroup(opener.pid, 'SIGKILL');
  }
}
