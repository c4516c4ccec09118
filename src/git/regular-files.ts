import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, open, realpath, rename, rm, utimes, writeFile } from 'node:fs/promises';

/** A file as it was read; `mtimeMs` and `mode` (permissions only) are those of the bytes. */
export interface RegularFile {
  readonly bytes: Buffer;
  readonly mode: number;
  readonly mtimeMs: number;
}

/** No file of a git directory that is read here is larger. */
const MAX_BYTES = 1024 * 1024 * 1024;

/** What stands at `path`; null where there is no regular file of a sensible size. A named pipe is not waited for, a link not followed. */
export async function readRegular(path: string, maxBytes = MAX_BYTES): Promise<RegularFile | null> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => null);
  if (file === null) return null;
  try {
    const stats = await file.stat();
    if (!stats.isFile() || stats.size > maxBytes) return null;
    return { bytes: await file.readFile(), mode: stats.mode & 0o777, mtimeMs: stats.mtimeMs };
  } finally {
    await file.close();
  }
}

/** Like `readRegular`, of what a link leads to: for files of the job's own steps, before an agent could touch them. */
export async function readLinked(path: string): Promise<RegularFile | null> {
  const real = await realpath(path).catch(() => null);
  return real === null ? null : readRegular(real);
}

/** Puts a new file in the place of whatever stands at `path`: it is never opened, and never seen half written. */
export async function writeRegular(
  path: string,
  content: string | Buffer,
  { mode, seconds }: { readonly mode?: number; readonly seconds?: number } = {},
): Promise<void> {
  const fresh = `${path}.${randomUUID()}`;
  await writeFile(fresh, content, { flag: 'wx', mode: mode === undefined ? 0o666 : 0o600 });
  try {
    if (mode !== undefined) await chmod(fresh, mode);
    if (seconds !== undefined) await utimes(fresh, seconds, seconds);
    await rename(fresh, path).catch(async () => {
      // A folder cannot be replaced by a file.
      await rm(path, { recursive: true, force: true });
      await rename(fresh, path);
    });
  } catch (error) {
    await rm(fresh, { force: true });
    throw error;
  }
}
