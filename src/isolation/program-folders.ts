import { lstat, readdir, realpath, stat } from 'node:fs/promises';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import type { ProgramFolder } from '../core/isolation/program-folders.ts';
import { listPathAndAncestors } from '../processes/trusted-programs.ts';

/** Maximum number of folders, and of programs in a folder; the rest is ignored. */
const MAX_FOLDERS = 100;
const MAX_PROGRAMS = 5_000;

/**
 * Returns the folders that a PATH names, with links followed. A missing folder has the mode of the nearest existing
 * folder above, in which it could be created.
 */
export async function findProgramFolders(path: string): Promise<readonly ProgramFolder[]> {
  const named = [...new Set(path.split(delimiter).filter((folder) => isAbsolute(folder)))];
  const modes = new Map<string, Promise<number>>();
  const modeOf = (folder: string): Promise<number> => {
    const known = modes.get(folder) ?? stat(folder).then(({ mode }) => mode);
    modes.set(folder, known);
    return known;
  };
  const modesAbove = (place: string): Promise<readonly number[]> =>
    Promise.all(listPathAndAncestors(dirname(place)).map(modeOf));

  async function readProgramFolder(folder: string): Promise<ProgramFolder> {
    const real = await nearest(folder);
    const isThere = (await realpath(folder).catch(() => null)) === real;
    const names = isThere ? await readdir(real).catch(() => []) : [];
    const programs = await Promise.all(names.slice(0, MAX_PROGRAMS).map((name) => program(join(real, name))));
    const found = programs.filter((one) => one !== null);
    return {
      path: folder,
      mode: await modeOf(real),
      above: [...(await modesAbove(real)), ...found.flatMap(({ above }) => above)],
      programs: found.map(({ mode }) => mode),
    };
  }

  async function program(place: string): Promise<{ readonly mode: number; readonly above: readonly number[] } | null> {
    try {
      const isLink = (await lstat(place)).isSymbolicLink();
      const stats = await stat(place);
      if (!stats.isFile()) return null;
      return { mode: stats.mode, above: isLink ? await modesAbove(await realpath(place)) : [] };
    } catch {
      // The target of the link does not exist.
      return null;
    }
  }

  const looked = await Promise.all(
    named.slice(0, MAX_FOLDERS).map((folder) => readProgramFolder(folder).catch(() => null)),
  );
  return looked.filter((folder) => folder !== null);
}

/** Returns the real path of a folder, or of the nearest existing folder above it. */
async function nearest(folder: string): Promise<string> {
  return realpath(folder).catch(() => nearest(dirname(folder)));
}
