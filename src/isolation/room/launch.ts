import { once } from 'node:events';
import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { RoomProgram } from '../../ports/room.ts';

/** A variable of a shell; programs take no others from one. */
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Files that set up one program each, in a folder of ours that the room's user can read. An environment never stands on a command line, where every user sees it. */
interface Launches {
  /** Writes one and returns its path; `guard`: commands that stop it where it is not in its room. */
  write(program: RoomProgram, guard: string): string;
  /** Removes all that were written. */
  clear(): void;
}

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

export function createLaunches(folder: string): Launches {
  const written = new Set<string>();
  let count = 0;
  return {
    write({ cwd, environment }, guard) {
      count += 1;
      const path = join(folder, `launch-${String(count)}`);
      const variables = Object.entries(environment)
        .filter(([name, value]) => VARIABLE.test(name) && !value.includes('\0'))
        .map(([name, value]) => `export ${name}=${quoted(value)}\n`);
      const text = `${guard}cd -- ${quoted(cwd)} || exit 96\n${variables.join('')}exec "$@"\n`;
      writeFileSync(path, text, { flag: 'wx', mode: 0o600 });
      chmodSync(path, 0o640);
      written.add(path);
      return path;
    },
    clear() {
      for (const path of written) rmSync(path, { force: true });
      written.clear();
    },
  };
}

/** As one word of a shell, whatever is in it. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
