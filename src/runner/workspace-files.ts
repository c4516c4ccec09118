import { randomUUID } from 'node:crypto';
import { lstat, readdir, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative } from 'node:path';
import { readPlainFileNow, readLastBytes, usePlainFile } from '../files/plain-file.ts';
import { replaceFile } from './action-files.ts';
import type { FileTexts, WorkTreeFiles } from '../ports/repository.ts';

/** The files by which a step gives the runner values for later steps. The agent's user can write to them as well. */
export interface RunnerFiles {
  /** Restores the action's content of the files, and returns the variables whose files had any other content. */
  readonly putBack: () => readonly string[];
  /** Runs `act`, which writes to the files, after restoring them. */
  readonly write: (act: () => void) => void;
}

const NAMES = ['GITHUB_ENV', 'GITHUB_PATH', 'GITHUB_OUTPUT', 'GITHUB_STATE', 'GITHUB_STEP_SUMMARY'] as const;

/** Maximum size of such a file, in bytes; the runner accepts no larger one. */
const MAX_BYTES = 16 * 1024 * 1024;

/**
 * Reads a text file of the checkout, at most its last `maxBytes`; null if there is no such file. The agent may have
 * written the path, so a link that leads out (for example to /proc/self/environ) is not followed.
 */
export async function readWorkspaceFile(workspace: string, path: string, maxBytes: number): Promise<string | null> {
  try {
    const root = await realpath(workspace);
    const real = await realpath(join(root, path));
    const inside = relative(root, real);
    if (inside.startsWith('..') || isAbsolute(inside)) return null;
    const read = await readEndOfFile(real, (size) => Math.min(size, maxBytes));
    return read === null ? null : read.toString('utf8');
  } catch {
    // Treat an unreadable file or a loop of links as missing.
    return null;
  }
}

/** Maximum size of a text file, in bytes; nobody writes a longer list by hand. */
const MAX_TEXT_BYTES = 1024 * 1024;

/** Maximum number of files that match a pattern. */
const MAX_FILES = 100;

/** Returns the functions that read and change the text files of the work tree. */
export function createWorkFiles(workspace: string): WorkTreeFiles {
  async function readTextFile(path: string): Promise<string | null> {
    try {
      const full = await fullPathOf(path);
      const content = await readEndOfFile(full, (size) => (size > MAX_TEXT_BYTES ? null : size));
      return content === null || content.includes(0) ? null : content.toString('utf8');
    } catch {
      return null;
    }
  }

  /** Returns the full path; only its last part may be a link. */
  async function fullPathOf(path: string): Promise<string> {
    const folder = join(await realpath(workspace), dirname(path));
    if ((await realpath(folder)) !== folder) throw new Error(`${dirname(path)} is a link`);
    return join(folder, basename(path));
  }

  async function matching(path: string): Promise<readonly string[]> {
    if (!path.includes('*')) return [path];
    const [before = '', after = ''] = basename(path).split('*');
    const folder = await fullPathOf(path).then(
      (full) => readdir(dirname(full)),
      () => [],
    );
    return folder
      .filter((name) => name.length >= before.length + after.length && name.startsWith(before) && name.endsWith(after))
      .sort()
      .slice(0, MAX_FILES)
      .map((name) => join(dirname(path), name));
  }

  return {
    async read(paths) {
      const found: FileTexts[] = [];
      for (const path of (await Promise.all(paths.map(matching))).flat()) {
        const text = await readTextFile(path);
        if (text !== null) found.push({ [path]: text });
      }
      return Object.assign({}, ...found) as FileTexts;
    },

    readEnd: (path, maxBytes) => readWorkspaceFile(workspace, path, maxBytes),

    async replace({ path, old, text }) {
      const full = await fullPathOf(path);
      const stats = await lstat(full).catch(() => null);
      const isUnchanged = old === null ? stats === null : (await readTextFile(path)) === old;
      if (!isUnchanged) throw new Error(`${path} was changed in the meantime, is a link, or is too long.`);
      const beside = join(dirname(full), `.${basename(full)}.${randomUUID()}`);
      try {
        await writeFile(beside, text, { flag: 'wx', mode: stats === null ? 0o644 : stats.mode & 0o777 });
        await rename(beside, full);
      } catch (error) {
        await rm(beside, { force: true });
        throw error;
      }
    },

    async remove(path) {
      try {
        const full = await fullPathOf(path);
        if ((await lstat(full)).isFile()) await rm(full);
      } catch (error) {
        // Ignore a missing file and one behind a link, which must not be removed.
        if (error instanceof Error && 'code' in error && error.code !== 'ENOENT') throw error;
      }
    },
  };
}

/**
 * Reads the end of a regular file: `lengthOf` returns the number of bytes for its size, or null to read nothing.
 * Returns null if there is no such file.
 */
async function readEndOfFile(path: string, lengthOf: (size: number) => number | null): Promise<Buffer | null> {
  return usePlainFile(path, (file, stats) => {
    const length = lengthOf(stats.size);
    return length === null ? null : readLastBytes(file, stats, length);
  });
}

/**
 * Returns the functions that guard the runner's files, whose present content is treated as content from the action.
 * `onForeign` receives the name of each file that later has any other content.
 */
export function createRunnerFiles(
  environment: Readonly<Record<string, string | undefined>>,
  onForeign: (name: string) => void,
): RunnerFiles {
  const files = NAMES.flatMap((name) => {
    const path = environment[name] ?? '';
    return path === '' ? [] : [{ name, path, ours: bytesOf(path) }];
  });

  function putBack(): readonly string[] {
    const foreign = files.filter(({ path, ours }) => !isSame(bytesOf(path), ours));
    for (const { name, path, ours } of foreign) {
      replaceFile(path, ours === null ? null : { bytes: ours, mode: 0o644 });
      onForeign(name);
    }
    return foreign.map(({ name }) => name);
  }

  return {
    putBack,
    write: (act) => {
      putBack();
      try {
        act();
      } finally {
        for (const file of files) file.ours = bytesOf(file.path);
      }
    },
  };
}

function bytesOf(path: string): Buffer | null {
  return readPlainFileNow(path, MAX_BYTES)?.bytes ?? null;
}

function isSame(one: Buffer | null, other: Buffer | null): boolean {
  return one === null || other === null ? one === other : one.equals(other);
}
