import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { isAbsolute, join, relative } from 'node:path';

/**
 * Reads a text file of the checkout, at most its last `maxBytes`; null when there is none.
 * The agent may have written the path: a link that leads out (to /proc/self/environ, say) is not followed.
 */
export async function readWorkspaceFile(workspace: string, path: string, maxBytes: number): Promise<string | null> {
  try {
    const root = await realpath(workspace);
    const real = await realpath(join(root, path));
    const inside = relative(root, real);
    if (inside.startsWith('..') || isAbsolute(inside)) return null;
    const file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const { size, isFile } = await file.stat().then((stat) => ({ size: stat.size, isFile: stat.isFile() }));
      if (!isFile) return null;
      const length = Math.min(size, maxBytes);
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
      return buffer.subarray(0, bytesRead).toString('utf8');
    } finally {
      await file.close();
    }
  } catch {
    // Absent, unreadable or a loop of links: for the prompt that is all the same.
    return null;
  }
}
