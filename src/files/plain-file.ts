import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readFileSync,
  realpathSync,
  type Stats,
  writeFileSync,
} from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';

/** Flags with which opening neither follows links nor waits for named pipes, for folders that an agent can write. */
const CAREFULLY = constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** The content of a file when it was read; `mode` contains only the permissions. */
export interface PlainContent {
  readonly bytes: Buffer;
  readonly mode: number;
}

/** Returns the result of `use` for a plain file, or null for anything else. Throws if there is nothing to open. */
export async function usePlainFile<T>(
  path: string,
  use: (file: FileHandle, stats: Stats) => Promise<T> | T,
): Promise<T | null> {
  await using file = await open(path, constants.O_RDONLY | CAREFULLY);
  const stats = await file.stat();
  return stats.isFile() ? await use(file, stats) : null;
}

/** Returns the last bytes of an open file. */
export async function readLastBytes(
  file: FileHandle,
  { size }: Pick<Stats, 'size'>,
  maxBytes: number,
): Promise<Buffer> {
  const length = Math.min(size, maxBytes);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
  return buffer.subarray(0, bytesRead);
}

/** Reads a plain file of at most `maxBytes` synchronously; returns null for anything else. */
export function readPlainFileNow(path: string, maxBytes = Infinity): PlainContent | null {
  let file: number | null = null;
  try {
    file = openSync(path, constants.O_RDONLY | CAREFULLY);
    const stats = fstatSync(file);
    if (!stats.isFile() || stats.size > maxBytes) return null;
    return { bytes: readFileSync(file), mode: stats.mode & 0o777 };
  } catch {
    return null;
  } finally {
    if (file !== null) closeSync(file);
  }
}

/** Appends to a plain file, which is created if it is missing, and returns its size. Throws for anything else. */
export function appendToPlainFile(path: string, text: string, mode: number): number {
  const file = openSync(path, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | CAREFULLY, mode);
  try {
    if (!fstatSync(file).isFile()) throw new Error(`${path} is not a file, so it is not written`);
    writeFileSync(file, text);
    return fstatSync(file).size;
  } finally {
    closeSync(file);
  }
}

/** Returns the path without links, or the path itself if nothing is there. */
export function resolveLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
