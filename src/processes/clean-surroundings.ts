import { statSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { delimiter, isAbsolute, join, resolve, sep } from 'node:path';
import { replaceMovedPaths } from '../core/clean-clone/searched-upward.ts';
import type { AgentSandbox } from '../ports/agent-sandbox.ts';
import { rememberFoldersAbove } from './folders-above.ts';

type Environment = Readonly<Record<string, string>>;

/**
 * The environment of a program in a clean tree. `remove` deletes the folders that were created for the program and puts
 * hidden paths back.
 */
interface PreparedSurroundings {
  readonly environment: Environment;
  /**
   * Paths above the tree that were put aside, because build tools look for them and they were added or changed since.
   */
  readonly hidden: readonly string[];
  readonly remove: () => Promise<void>;
}

/** The remembered surroundings of programs in a clean tree, without anything that was added later. */
export interface CleanSurroundings {
  /**
   * Prepares the surroundings of programs that run in `tree`. Throws a UserError if the folders above have changed and
   * cannot be restored.
   */
  prepareFor(tree: string): Promise<PreparedSurroundings>;
}

interface CleanOptions {
  readonly environment: Environment;
  /** The folder whose paths in the environment are replaced by those in the tree. */
  readonly workspace: string;
  /** The folder in which a home folder can be created. */
  readonly folder: string;
  /** The folder directly below which trees are created. */
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
 * Remembers the surroundings for clean trees. The home folder is a new, empty one without a link into the real one;
 * tools are found by PATH and by the variables that name their folders. Folders of PATH that do not exist now are left
 * out. The folder for temporary files is new, and the files that build tools look for in the folders above are
 * restored.
 */
export async function rememberSurroundings(options: CleanOptions): Promise<CleanSurroundings> {
  const { environment, workspace, folder, trees } = options;
  const home = environment['HOME'] ?? '';
  const hasHome = home !== '' && resolve(home) !== sep;
  const temporary = resolve(isAbsolute(environment['TMPDIR'] ?? '') ? (environment['TMPDIR'] ?? '') : '/tmp');
  const inUse = [workspace, ...(hasHome ? [home] : [])].map((used) => resolve(used));
  const above = await rememberFoldersAbove({ trees, temporary, inUse });
  const path = (environment['PATH'] ?? '').split(delimiter).filter(isFolder).join(delimiter);
  const given = { ...environment, PATH: path, ...(hasHome ? installedBelow(home, environment) : {}) };
  return {
    prepareFor: async (tree) => {
      const ownHome = join(folder, 'home');
      await rm(ownHome, { recursive: true, force: true, maxRetries: 3 });
      await mkdir(ownHome, { recursive: true, mode: 0o700 });
      // Use an unpredictable name that is short, because the path of a socket in the folder has at most 108 characters.
      const ownTemporary = await mkdtemp(join(temporary, 'ralph-')).catch(() => mkdtemp(join(folder, 'tmp-')));
      const remove = async (): Promise<void> => {
        for (const folder of [ownHome, ownTemporary])
          await rm(folder, { recursive: true, force: true, maxRetries: 3 }).catch(() => undefined);
      };
      try {
        const { paths, undo } = await above.restore();
        return {
          environment: {
            ...relocateEnvironment(given, workspace, tree),
            ...(hasHome ? { HOME: ownHome } : {}),
            ...Object.fromEntries(TEMPORARY.map((name) => [name, ownTemporary])),
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

/**
 * Returns the surroundings in a sandbox, where only the sandbox's user can have left files around a clean tree.
 * `refresh` removes these files, makes a new home folder and returns its path.
 */
export function createSandboxSurroundings(
  { environment, workspace, seenAt }: Pick<CleanOptions, 'environment' | 'workspace'> & Pick<AgentSandbox, 'seenAt'>,
  refresh: () => Promise<string>,
): CleanSurroundings {
  return {
    prepareFor: async (tree) => ({
      environment: { ...relocateEnvironment(environment, workspace, seenAt(tree)), HOME: await refresh() },
      hidden: [],
      remove: () => Promise.resolve(),
    }),
  };
}

/** Returns the environment with paths into one folder replaced by paths into another. */
export function relocateEnvironment(environment: Environment, from: string, to: string): Record<string, string> {
  const moves = [{ from: resolve(from), to }];
  return Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [name, replaceMovedPaths(value, moves)]),
  );
}

/** Returns true if a PATH entry is a folder. Also true for a relative entry, because it refers to the tree. */
function isFolder(path: string): boolean {
  if (!path.startsWith(sep)) return true;
  try {
    return statSync(path).isDirectory();
  } catch {
    // An error means that the folder is missing, or that this user cannot look at it.
    return false;
  }
}
