import { statSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { delimiter, isAbsolute, join, resolve, sep } from 'node:path';
import { movedText } from '../core/clean-clone/moved-text.ts';
import type { Room } from '../ports/room.ts';
import { rememberFoldersAbove } from './folders-above.ts';

type Environment = Readonly<Record<string, string>>;

/** Where and with what a program runs in a clean tree; `remove` takes away what was laid for it. */
interface Laid {
  readonly environment: Environment;
  /** Paths above it that were put aside: added or changed since, and of a kind that build tools look for. */
  readonly hidden: readonly string[];
  readonly remove: () => Promise<void>;
}

/** What programs in a clean tree are given: as it was when this was made, whatever was added to it since. */
export interface CleanSurroundings {
  /** For programs that run in `tree`. Throws a UserError where what is above it is not what it was and cannot be made so. */
  lay(tree: string): Promise<Laid>;
}

interface CleanOptions {
  readonly environment: Environment;
  /** Paths in it stand for those in the tree. */
  readonly workspace: string;
  /** Where a home folder may be laid. */
  readonly folder: string;
  /** Trees are laid directly below. */
  readonly trees: string;
}

/** Variables that point to installed tools, with the usual folder below the home folder. */
const INSTALLED: Environment = {
  RUSTUP_HOME: '.rustup',
  ASDF_DATA_DIR: '.asdf',
  VOLTA_HOME: '.volta',
  MISE_DATA_DIR: '.local/share/mise',
};

/** Variables that name the folder for temporary files, where others may have left caches. */
const TEMPORARY = ['TMPDIR', 'TMP', 'TEMP'] as const;

/**
 * The home folder is a new, empty one: nothing in it leads into the real one, and tools are found by PATH and by the
 * variables that name their folders. Folders of PATH that are not there now are left out. The folder for temporary files is
 * a new one, and what build tools look for in the folders above is what it was.
 */
export async function rememberSurroundings({
  environment,
  workspace,
  folder,
  trees,
}: CleanOptions): Promise<CleanSurroundings> {
  const home = environment['HOME'] ?? '';
  const hasHome = home !== '' && resolve(home) !== sep;
  const temporary = resolve(isAbsolute(environment['TMPDIR'] ?? '') ? (environment['TMPDIR'] ?? '') : '/tmp');
  const inUse = [workspace, ...(hasHome ? [home] : [])].map((used) => resolve(used));
  const above = await rememberFoldersAbove({ trees, temporary, inUse });
  const path = (environment['PATH'] ?? '').split(delimiter).filter(isFolder).join(delimiter);
  const given = { ...environment, PATH: path, ...(hasHome ? installedBelow(home, environment) : {}) };
  return {
    lay: async (tree) => {
      const laidHome = join(folder, 'home');
      await rm(laidHome, { recursive: true, force: true, maxRetries: 3 });
      await mkdir(laidHome, { recursive: true, mode: 0o700 });
      // A name that nobody knows beforehand, and short: the path of a socket in it has at most 108 characters.
      const laidTemporary = await mkdtemp(join(temporary, 'ralph-')).catch(() => mkdtemp(join(folder, 'tmp-')));
      const remove = async (): Promise<void> => {
        for (const laid of [laidHome, laidTemporary])
          await rm(laid, { recursive: true, force: true, maxRetries: 3 }).catch(() => undefined);
      };
      try {
        const { paths, undo } = await above.hide();
        return {
          environment: {
            ...movedEnvironment(given, workspace, tree),
            ...(hasHome ? { HOME: laidHome } : {}),
            ...Object.fromEntries(TEMPORARY.map((name) => [name, laidTemporary])),
          },
          hidden: paths,
          remove: async () => {
            await undo();
            await remove();
          },
        };
      } catch (error) {
        await remove();
        throw error;
      }
    },
  };
}

function installedBelow(home: string, environment: Environment): Environment {
  const there = Object.entries(INSTALLED).filter(
    ([name, path]) => environment[name] === undefined && isFolder(join(resolve(home), path)),
  );
  return Object.fromEntries(there.map(([name, path]) => [name, join(resolve(home), path)]));
}

/** In a room nothing lies around a clean tree but what the room's user left: `refresh` removes that and makes a new home folder, whose path it returns. */
export function surroundingsInRoom(
  { environment, workspace, seenAt }: Pick<CleanOptions, 'environment' | 'workspace'> & Pick<Room, 'seenAt'>,
  refresh: () => Promise<string>,
): CleanSurroundings {
  return {
    lay: async (tree) => ({
      environment: { ...movedEnvironment(environment, workspace, seenAt(tree)), HOME: await refresh() },
      hidden: [],
      remove: () => Promise.resolve(),
    }),
  };
}

/** The environment with paths into one folder leading into another. */
export function movedEnvironment(environment: Environment, from: string, to: string): Record<string, string> {
  const moves = [{ from: resolve(from), to }];
  return Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, movedText(value, moves)]));
}

/** One that is named relative to where a program runs is the tree's. */
function isFolder(path: string): boolean {
  if (!path.startsWith(sep)) return true;
  try {
    return statSync(path).isDirectory();
  } catch {
    // It is not there, or not for this user.
    return false;
  }
}
