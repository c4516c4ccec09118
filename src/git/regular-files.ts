import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, open, realpath, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A file as it was read; `mtimeMs` and `mode` (permissions only) are those of the bytes. */
interface RegularFile {
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

/** What versions up to November 2026 wrote at the end of a checkout's settings while their agent worked. */
const LEFT = '\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n';

const MAX_SETTINGS_BYTES = 1024 * 1024;

/** Removes from a checkout what a run left in its settings whose machine went down: git and actions/checkout stumble over a second value. Never throws. */
export async function removeLeftSettings(checkout: string): Promise<void> {
  const path = join(checkout, '.git', 'config');
  const found = await readRegular(path, MAX_SETTINGS_BYTES).catch(() => null);
  const text = found?.bytes.toString('latin1') ?? '';
  if (found === null || !text.includes(LEFT)) return;
  const { mode } = found;
  await writeRegular(path, Buffer.from(text.replaceAll(LEFT, ''), 'latin1'), { mode }).catch(() => undefined);
}
