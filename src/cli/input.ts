import { open } from 'node:fs/promises';
import type { Terminal } from './command.ts';

const CHUNK_BYTES = 1024 * 1024;

/** Bytes to read, or why there are none. */
export type Input =
  | { readonly kind: 'bytes'; readonly bytes: AsyncIterable<Uint8Array> }
  | { readonly kind: 'missing'; readonly why: string };

/** Opens a named file, or stdin for `-`. */
export async function openInput(name: string, terminal: Terminal): Promise<Input> {
  if (name === '-') return { kind: 'bytes', bytes: terminal.stdin };
  try {
    const file = await open(name);
    if ((await file.stat()).isDirectory()) {
      await file.close();
      return { kind: 'missing', why: `${JSON.stringify(name)} is a folder, not a file.` };
    }
    return { kind: 'bytes', bytes: file.createReadStream({ highWaterMark: CHUNK_BYTES }) };
  } catch (error) {
    return { kind: 'missing', why: `${JSON.stringify(name)} cannot be read: ${reasonOf(error)}.` };
  }
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'no permission',
  ENOTDIR: 'a part of its path is not a folder',
  EISDIR: 'it is a folder',
  EROFS: 'the file system is read-only',
  ENOSPC: 'there is no space left',
};

/** Why the system refused a file, in words. */
export function reasonOf(error: unknown): string {
  return reasons[(error as NodeJS.ErrnoException | null)?.code ?? ''] ?? String(error);
}
