import { once } from 'node:events';
import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { SandboxProgram } from '../../ports/agent-sandbox.ts';

/** Matches names of variables that a shell passes on to programs. */
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Files that set up one program each, in a folder that the sandbox's user can read. They keep the environment off the
 * command line, which every user can see.
 */
interface LaunchFiles {
  /** Writes a file and returns its path. `guard` contains commands that stop the program outside its sandbox. */
  write(program: SandboxProgram, guard: string): string;
  /** Removes all files that were written. */
  clear(): void;
}

/**
 * Opens these ports (0: any) on 127.0.0.1 of this process's network, passes the sockets to the parent process, and ends
 * when the parent disconnects.
 */
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
  // Stay until the parent disconnects, because a socket may still be in transit.
  await hungUp;
}

/** Creates a writer of launch files in this folder; each file starts one program in the sandbox. */
export function createLaunchFiles(folder: string): LaunchFiles {
  const written = new Set<string>();
  let count = 0;
  return {
    write({ cwd, environment }, guard) {
      count += 1;
      const path = join(folder, `launch-${String(count)}`);
      const variables = Object.entries(environment)
        .filter(([name, value]) => VARIABLE.test(name) && !value.includes('\0'))
        .map(([name, value]) => `export ${name}=${quoteForShell(value)}\n`);
      const text = `${guard}cd -- ${quoteForShell(cwd)} || exit 96\n${variables.join('')}exec "$@"\n`;
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

/** Returns a text as one word of a shell, regardless of its content. */
export function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
