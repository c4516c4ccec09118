import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { type PlainContent, readPlainFileNow } from '../files/plain-file.ts';

/** The action's own files as main found them. Some are loaded only when they are needed, even in post. */
export interface ActionFiles {
  /**
   * Undoes all later changes to the files, and returns the names of changed files. Throws if a file cannot be restored.
   */
  readonly putBack: () => readonly string[];
}

/** Remembers the bundle in `actionFolder`. */
export function rememberActionFiles(actionFolder: string): ActionFiles {
  const folder = join(actionFolder, 'dist');
  const ours = contentsOf(folder);
  return {
    putBack: () => {
      const now = contentsOf(folder);
      const changed = [...new Set([...ours.keys(), ...now.keys()])].filter(
        (path) => !isSame(ours.get(path) ?? null, now.get(path) ?? null),
      );
      for (const path of changed) replaceFile(join(folder, path), ours.get(path) ?? null);
      return changed.sort();
    },
  };
}

/**
 * Returns the contents by path below the folder. A content is null for anything but a file, such as a link or a named
 * pipe.
 */
function contentsOf(folder: string): Map<string, PlainContent | null> {
  const found = new Map<string, PlainContent | null>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) continue;
    const path = join(entry.parentPath, entry.name);
    found.set(relative(folder, path), readPlainFileNow(path));
  }
  return found;
}

function isSame(one: PlainContent | null, other: PlainContent | null): boolean {
  return one !== null && other !== null && one.bytes.equals(other.bytes);
}

/** Replaces the file with a new one, so that a process that still has the old one open writes to nothing. */
export function replaceFile(path: string, content: PlainContent | null): void {
  if (content === null) {
    rmSync(path, { recursive: true, force: true });
    return;
  }
  mkdirSync(dirname(path), { recursive: true });
  const fresh = `${path}.${randomUUID()}`;
  writeFileSync(fresh, content.bytes, { mode: content.mode, flag: 'wx' });
  try {
    renameSync(fresh, path);
  } catch {
    // Remove recursively, because the path may be a folder.
    rmSync(path, { recursive: true, force: true });
    renameSync(fresh, path);
  }
}
