import { randomUUID } from 'node:crypto';
import { chmod, realpath, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { usePlainFile } from '../files/plain-file.ts';

/** A file as it was read; `mtimeMs` and `mode` (permissions only) belong to the same bytes. */
interface RegularFile {
  readonly bytes: Buffer;
  readonly mode: number;
  readonly mtimeMs: number;
}

/** Maximum size of a file of a git directory that is read, in bytes. */
const MAX_BYTES = 1024 * 1024 * 1024;

/**
 * Returns the file at `path`, or null if it is not a regular file or too large. Never waits for a named pipe, and does
 * not follow links.
 */
export async function readRegular(path: string, maxBytes = MAX_BYTES): Promise<RegularFile | null> {
  return usePlainFile(path, async (file, { size, mode, mtimeMs }) =>
    size > maxBytes ? null : { bytes: await file.readFile(), mode: mode & 0o777, mtimeMs },
  ).catch(() => null);
}

/**
 * Works like `readRegular` but follows links. It is for files of the job's own steps, before an agent could touch them.
 */
export async function readFollowingLinks(path: string): Promise<RegularFile | null> {
  const real = await realpath(path).catch(() => null);
  return real === null ? null : readRegular(real);
}

/** Replaces anything at `path` with a new file, without opening the old one. Nobody sees the new one half written. */
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
      // A file cannot replace a folder, so remove it first.
      await rm(path, { recursive: true, force: true });
      await rename(fresh, path);
    });
  } catch (error) {
    await rm(fresh, { force: true });
    throw error;
  }
}

/** The lines that versions up to November 2026 wrote at the end of a checkout's settings while their agent worked. */
const LEFT_SETTINGS = '\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n';

const MAX_SETTINGS_BYTES = 1024 * 1024;

/**
 * Removes the settings that a run left in a checkout when its machine went down, because git and actions/checkout
 * reject a second value. Never throws.
 */
export async function removeLeftSettings(checkout: string): Promise<void> {
  const path = join(checkout, '.git', 'config');
  const found = await readRegular(path, MAX_SETTINGS_BYTES).catch(() => null);
  const text = found?.bytes.toString('latin1') ?? '';
  if (found === null || !text.includes(LEFT_SETTINGS)) return;
  const { mode } = found;
  await writeRegular(path, Buffer.from(text.replaceAll(LEFT_SETTINGS, ''), 'latin1'), { mode }).catch(() => undefined);
}
