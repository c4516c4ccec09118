import {
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  realpath,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { delimiter, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { statSync } from 'node:fs';
import { rememberFoldersAbove } from './folders-above.ts';

type Environment = Readonly<Record<string, string>>;

/** Where and with what a program runs in a clean clone; `remove` takes away what was laid for it. */
interface Laid {
  readonly environment: Environment;
  /** Paths above it that were put aside: added or changed since, and of a kind that build tools look for. */
  readonly hidden: readonly string[];
  readonly remove: () => Promise<void>;
}

/** What programs in a clean clone are given: as it was when this was made, whatever was added to it since. */
export interface CleanSurroundings {
  /** For programs that run in `clone`. Throws a UserError where what is above it is not what it was and cannot be made so. */
  lay(clone: string): Promise<Laid>;
}

interface CleanOptions {
  readonly environment: Environment;
  /** Paths in it stand for those in the clone. */
  readonly workspace: string;
  /** Where a home folder may be laid. */
  readonly folder: string;
  /** Clones are laid directly below. */
  readonly clones: string;
  /** What becomes of large folders of the home folder, as those where tools are installed. `left-out`: on a person's machine nothing may lead back into their home folder, where a program could write through it. */
  readonly large: 'linked' | 'left-out';
}

/** Variables that point to installed tools, with the usual folder below the home folder. Tools there are only read. */
const INSTALLED: Readonly<Record<string, string>> = {
  RUSTUP_HOME: '.rustup',
  ASDF_DATA_DIR: '.asdf',
  VOLTA_HOME: '.volta',
  MISE_DATA_DIR: '.local/share/mise',
};

/** By which programs find the folder for temporary files, and caches that others left in it. */
const TEMPORARY = ['TMPDIR', 'TMP', 'TEMP'] as const;
/** A larger file is no configuration that anybody wrote by hand. */
const LARGEST_FILE_BYTES = 256 * 1024;
/** A folder that holds more than one of these holds tools. */
const SMALL_FOLDER = { entries: 64, bytes: 1024 * 1024 };
/** A folder of more names in the home folder is not looked into. */
const MOST_NAMES = 500;
/** What is remembered in all. */
const MOST_BYTES = 32 * 1024 * 1024;
/** So deep a large folder is made again of its parts: `~/.cargo` and `~/.local/share`. */
const DEEPEST = 2;

/**
 * Remembers the home folder: its small files and folders by content; large ones, where tools are installed, are linked to.
 * Folders of PATH that are not there now are left out. The folder for temporary files is a new one, and what build tools
 * look for in the folders above is what it was.
 */
export async function rememberSurroundings({
  environment,
  workspace,
  folder,
  clones,
  large,
}: CleanOptions): Promise<CleanSurroundings> {
  const home = environment['HOME'] ?? '';
  const laidHome = join(folder, 'home');
  // One that cannot be read is an empty one: what somebody puts there later is not for the clone.
  const found = home === '' || resolve(home) === sep ? null : ((await remember(resolve(home))) ?? []);
  const entries = large === 'linked' || found === null ? found : await withoutLinks(found);
  const installed = large === 'linked' || found === null ? {} : installedBelow(home, environment);
  const temporary = resolve(isAbsolute(environment['TMPDIR'] ?? '') ? (environment['TMPDIR'] ?? '') : '/tmp');
  const inUse = [workspace, ...(entries === null ? [] : [home])].map((used) => resolve(used));
  const above = await rememberFoldersAbove({ clones, temporary, inUse });
  const path = (environment['PATH'] ?? '').split(delimiter).filter(isFolder).join(delimiter);
  return {
    lay: async (clone) => {
      const moves: Move[] = [{ from: resolve(workspace), to: clone, large: null }];
      if (entries !== null) {
        await lay(entries, { from: resolve(home), to: laidHome });
        moves.push({ from: resolve(home), to: laidHome, large });
      }
      const moved = await movedEnvironment({ ...environment, PATH: path }, moves);
      // A name that nobody knows beforehand, and short: the path of a socket in it has at most 108 characters.
      const laidTemporary = await mkdtemp(join(temporary, 'ralph-')).catch(async () => {
        await mkdir(folder, { recursive: true });
        return await mkdtemp(join(folder, 'tmp-'));
      });
      const remove = async (): Promise<void> => {
        for (const laid of [laidHome, laidTemporary])
          await rm(laid, { recursive: true, force: true, maxRetries: 3 }).catch(() => undefined);
      };
      try {
        const { paths, undo } = await above.hide();
        return {
          environment: {
            ...moved,
            ...installed,
            ...(entries === null ? {} : { HOME: laidHome }),
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

/** Nothing that leads out: a link to a small file, as managers of dotfiles lay them, becomes that file. */
async function withoutLinks(entries: readonly Entry[]): Promise<readonly Entry[]> {
  const copied = entries.map(async (entry): Promise<readonly Entry[]> => {
    if (entry.kind !== 'link') return [entry];
    const file = await stat(entry.target).catch(() => null);
    if (file === null || !file.isFile() || file.size > LARGEST_FILE_BYTES) return [];
    const content = await readFile(entry.target).catch(() => null);
    return content === null ? [] : [{ kind: 'file', path: entry.path, mode: file.mode & 0o777, content }];
  });
  return (await Promise.all(copied)).flat();
}

function installedBelow(home: string, environment: Environment): Environment {
  const there = Object.entries(INSTALLED).filter(
    ([name, path]) => environment[name] === undefined && isFolder(join(resolve(home), path)),
  );
  return Object.fromEntries(there.map(([name, path]) => [name, join(resolve(home), path)]));
}

/** In a room nothing lies around a clean clone but what the room's user left: `refresh` removes that and makes a new home folder, whose path it returns. */
export function surroundingsInRoom(
  { environment, workspace }: Pick<CleanOptions, 'environment' | 'workspace'>,
  refresh: () => Promise<string>,
): CleanSurroundings {
  return {
    lay: async (clone) => ({
      environment: {
        ...(await movedEnvironment(environment, [{ from: resolve(workspace), to: clone, large: null }])),
        HOME: await refresh(),
      },
      hidden: [],
      remove: () => Promise.resolve(),
    }),
  };
}

/** Something of a home folder; `path` is relative to it. */
type Entry =
  | { readonly kind: 'folder'; readonly path: string; readonly mode: number }
  | { readonly kind: 'file'; readonly path: string; readonly mode: number; readonly content: Buffer }
  | { readonly kind: 'link'; readonly path: string; readonly target: string };

/** What may still be remembered. */
interface Budget {
  entries: number;
  bytes: number;
}

/** Null: there is no such folder, or it cannot be read. */
async function remember(home: string): Promise<readonly Entry[] | null> {
  const total: Budget = { entries: Infinity, bytes: MOST_BYTES };

  /** The whole of something small; null: it is not. */
  async function small(path: string, budget: Budget): Promise<readonly Entry[] | null> {
    const full = join(home, path);
    const found = await lstat(full);
    budget.entries -= 1;
    if (budget.entries < 0) return null;
    const mode = found.mode & 0o777;
    if (found.isSymbolicLink()) return [{ kind: 'link', path, target: resolve(dirname(full), await readlink(full)) }];
    if (found.isFile()) {
      budget.bytes -= found.size;
      if (found.size > LARGEST_FILE_BYTES || budget.bytes < 0) return null;
      return [{ kind: 'file', path, mode, content: await readFile(full) }];
    }
    // Sockets and pipes are of processes that run now.
    if (!found.isDirectory()) return [];
    const parts: Entry[] = [{ kind: 'folder', path, mode }];
    for (const name of await readdir(full)) {
      const part = await small(join(path, name), budget);
      if (part === null) return null;
      parts.push(...part);
    }
    return parts;
  }

  async function either(path: string, depth: number): Promise<readonly Entry[]> {
    const budget = { entries: SMALL_FOLDER.entries, bytes: Math.min(SMALL_FOLDER.bytes, total.bytes) };
    const whole = await small(path, budget).catch(() => null);
    if (whole !== null) {
      for (const entry of whole) if (entry.kind === 'file') total.bytes -= entry.content.length;
      return whole;
    }
    const parts = depth < DEEPEST ? await ofParts(path, depth) : null;
    return parts ?? [{ kind: 'link', path, target: join(home, path) }];
  }

  async function ofParts(path: string, depth: number): Promise<readonly Entry[] | null> {
    const found = await lstat(join(home, path)).catch(() => null);
    const names = found?.isDirectory() ? await readdir(join(home, path)).catch(() => null) : null;
    if (found === null || names === null || (path !== '' && names.length > MOST_NAMES)) return null;
    const parts: Entry[] = path === '' ? [] : [{ kind: 'folder', path, mode: found.mode & 0o777 }];
    for (const name of names) parts.push(...(await either(join(path, name), depth + 1)));
    return parts;
  }

  return await ofParts('', 0);
}

interface Folders {
  readonly from: string;
  readonly to: string;
}

/** Makes a home folder of what is remembered; the one before is removed. */
async function lay(entries: readonly Entry[], { from, to }: Folders): Promise<void> {
  await rm(to, { recursive: true, force: true, maxRetries: 3 });
  await mkdir(to, { recursive: true, mode: 0o700 });
  const known = new Set(entries.filter(({ kind }) => kind !== 'link').map(({ path }) => path));
  for (const entry of entries) {
    const path = join(to, entry.path);
    if (entry.kind === 'folder') await mkdir(path, { mode: entry.mode | 0o700 });
    else if (entry.kind === 'file') await writeFile(path, entry.content, { flag: 'wx', mode: entry.mode });
    else {
      const inHome = isWithin(entry.target, from) ? relative(from, entry.target) : null;
      // A link to something that is remembered leads to what is remembered.
      await symlink(inHome !== null && known.has(inHome) ? join(to, inHome) : entry.target, path);
    }
  }
}

/** `large`: parts of `to` may be links to the same parts of `from`, or missing; their paths stay as they are. Null: all of `from` is in `to`. */
interface Move extends Folders {
  readonly large: CleanOptions['large'] | null;
}

async function movedEnvironment(environment: Environment, moves: readonly Move[]): Promise<Environment> {
  const moved = Object.entries(environment).map(
    async ([name, value]) => [name, await movedValue(value, moves)] as const,
  );
  return Object.fromEntries(await Promise.all(moved));
}

/** A variable's value, one path or a list of them, with the paths of what was laid anew. */
async function movedValue(value: string, moves: readonly Move[]): Promise<string> {
  if (!moves.some(({ from }) => value.includes(from))) return value;
  return (await Promise.all(value.split(delimiter).map((part) => movedPath(part, moves)))).join(delimiter);
}

async function movedPath(path: string, moves: readonly Move[]): Promise<string> {
  const move = moves.find(({ from }) => isWithin(path, from));
  if (move === undefined) return path;
  const moved = join(move.to, relative(move.from, path));
  if (move.large === null) return moved;
  const [before, after] = await Promise.all([realpath(path).catch(() => null), realpath(moved).catch(() => null)]);
  if (move.large === 'left-out' && after === null) return path;
  return before !== null && before === after ? path : moved;
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder + sep);
}

/** One that is named relative to where a program runs is the clone's. */
function isFolder(path: string): boolean {
  if (!path.startsWith(sep)) return true;
  try {
    return statSync(path).isDirectory();
  } catch {
    // It is not there, or not for this user.
    return false;
  }
}
