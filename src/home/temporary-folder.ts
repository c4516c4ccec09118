import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What ends a process, with its exit code then: a terminal that is gone, or a reader that has seen enough, is no failure. */
const ENDS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 0 } as const;

/** Makes a folder that does not outlive this process, however it ends, short of SIGKILL. `forget`: it has been removed. */
export function makeTemporaryFolder(prefix: string): { readonly path: string; readonly forget: () => void } {
  const path = mkdtempSync(join(tmpdir(), prefix));
  const remove = (): void => {
    try {
      // A program that is still being ended may write in it.
      rmSync(path, { recursive: true, force: true, maxRetries: 5 });
    } catch {
      // What cannot be removed now keeps no process from ending.
    }
  };
  const listeners = Object.entries(ENDS).map(([name, code]) => ({
    name,
    end: (): void => {
      process.exit(code);
    },
  }));
  process.on('exit', remove);
  for (const { name, end } of listeners) process.on(name, end);
  return {
    path,
    forget: () => {
      process.off('exit', remove);
      for (const { name, end } of listeners) process.off(name, end);
    },
  };
}
