import { lstatSync } from 'node:fs';
import { opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../errors.ts';

/** Something in a tree, by its path from the top; a folder comes before what is in it. */
export type Walked =
  | { readonly kind: 'folder' | 'file' | 'link'; readonly path: string; readonly bytes: number; readonly mode: number }
  | { readonly kind: 'pruned'; readonly path: string }
  | { readonly kind: 'unreadable'; readonly path: string; readonly why: string };

/** Entries of a folder that are read at once: between two such reads, signals are heard. */
const AT_ONCE = 256;

/** Everything at and below a path, one after the other and without following a link; pipes, sockets and devices are skipped, and what `prune` names is not entered. Never throws for what is on the disk. */
export async function* walk(
  { top, start }: { readonly top: string; readonly start: string },
  prune: (path: string, kind: 'folder' | 'file') => boolean,
): AsyncGenerator<Walked> {
  const first = look(top, start, prune);
  if (first !== null) yield first;
  const waiting = first?.kind === 'folder' ? [start] : [];
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    try {
      for await (const { name } of await opendir(join(top, folder), { bufferSize: AT_ONCE })) {
        const found = look(top, `${folder}/${name}`, prune);
        if (found === null) continue;
        yield found;
        if (found.kind === 'folder') waiting.push(found.path);
      }
    } catch (error) {
      yield { kind: 'unreadable', path: folder, why: messageOf(error) };
    }
  }
}

function look(top: string, path: string, prune: (path: string, kind: 'folder' | 'file') => boolean): Walked | null {
  try {
    const found = lstatSync(join(top, path));
    const isFolder = found.isDirectory();
    if (!isFolder && !found.isFile() && !found.isSymbolicLink()) return null;
    if (prune(path, isFolder ? 'folder' : 'file')) return { kind: 'pruned', path };
    const kind = isFolder ? 'folder' : found.isFile() ? 'file' : 'link';
    return { kind, path, bytes: found.isFile() ? found.size : 0, mode: found.mode & 0o7777 };
  } catch (error) {
    return { kind: 'unreadable', path, why: messageOf(error) };
  }
}
