import { readdir, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { readFollowingLinks } from '../../regular-files.ts';
import type { Workspace } from '../workspace.ts';

/** Config files of git directories, which may be missing. */
export interface GitConfigs {
  /** Config files of the checkout and its submodules. */
  readonly own: readonly string[];
  /** Config files of other git directories in the work tree, or to which an entry of the work tree leads. */
  readonly nested: readonly string[];
  /** Places that could not be searched, or that exceeded the limits. */
  readonly unsearched: readonly string[];
}

/** Limits of the search in a work tree. */
interface SearchLimits {
  readonly folders: number;
  readonly ms: number;
  /** Maximum number of entries named `.git`. */
  readonly found: number;
}

const LIMITS: SearchLimits = { folders: 300_000, ms: 15_000, found: 200 };
/** Maximum number of folders that are read at the same time. */
const AT_ONCE = 64;
/**
 * The folder of packages, which are numerous and not checkouts: the search goes no deeper than packages and their
 * scopes.
 */
const PACKAGES = 'node_modules';
const PACKAGE_LEVELS = 2;

/** Finds the config files of a checkout and of other checkouts in it. */
export async function findGitConfigs(
  { top, gitFolder, commonFolder }: Pick<Workspace, 'top' | 'gitFolder' | 'commonFolder'>,
  limits = LIMITS,
): Promise<GitConfigs> {
  const inTree = await searchWorkTree(top, limits);
  const others = inTree.places.filter((place) => place !== join(top, '.git'));
  const own = new Set([commonFolder, gitFolder, ...(await listModules(commonFolder))].flatMap(configsIn));
  const nested = new Set<string>();
  for (const place of others.slice(0, limits.found)) {
    for (const folder of await gitDirectoriesAt(place))
      for (const found of [folder, ...(await listModules(folder))])
        for (const path of configsIn(found)) nested.add(path);
  }
  return {
    own: [...own],
    nested: [...nested].filter((path) => !own.has(path)),
    unsearched: [...inTree.unsearched, ...others.slice(limits.found)],
  };
}

function configsIn(gitDirectory: string): readonly string[] {
  return [join(gitDirectory, 'config'), join(gitDirectory, 'config.worktree')];
}

/** Returns every entry named `.git` in a work tree, from the outside in; links are not followed. */
async function searchWorkTree(
  top: string,
  { folders, ms }: Pick<SearchLimits, 'folders' | 'ms'>,
): Promise<{ readonly places: readonly string[]; readonly unsearched: readonly string[] }> {
  const places: string[] = [];
  const unsearched: string[] = [];
  const until = performance.now() + ms;
  const waiting: { readonly path: string; readonly levels: number }[] = [{ path: top, levels: Infinity }];
  for (let at = 0; at < waiting.length;) {
    if (at >= folders || performance.now() > until) {
      unsearched.push(...waiting.slice(at).map(({ path }) => path));
      break;
    }
    const some = waiting.slice(at, at + Math.min(AT_ONCE, folders - at));
    at += some.length;
    const listed = await Promise.all(some.map(({ path }) => readdir(path, { withFileTypes: true }).catch(() => null)));
    for (const [nth, { path, levels }] of some.entries()) {
      const entries = listed[nth] ?? null;
      if (entries === null) unsearched.push(path);
      for (const entry of entries ?? []) {
        const found = join(path, entry.name);
        if (entry.name === '.git') places.push(found);
        else if (entry.isDirectory() && levels > 0)
          waiting.push({ path: found, levels: entry.name === PACKAGES ? PACKAGE_LEVELS : levels - 1 });
      }
    }
  }
  return { places, unsearched };
}

/**
 * Returns the git directory at `place`. If `place` is a `.git` file, returns the directory that it names and the one
 * whose settings that directory shares.
 */
async function gitDirectoriesAt(place: string): Promise<readonly string[]> {
  const stats = await stat(place).catch(() => null);
  if (stats?.isDirectory()) return [place];
  const named = /^gitdir:\s*(.+?)\s*$/m.exec(await readIfExists(place))?.[1];
  if (named === undefined) return [];
  const folder = resolve(dirname(place), named);
  const common = (await readIfExists(join(folder, 'commondir'))).trim();
  return common === '' ? [folder] : [folder, resolve(folder, common)];
}

async function readIfExists(path: string): Promise<string> {
  return (await readFollowingLinks(path))?.bytes.toString() ?? '';
}

/** Returns the git directories of submodules, also nested ones. */
export async function listModules(gitDirectory: string): Promise<readonly string[]> {
  const names = await readdir(join(gitDirectory, 'modules'), { recursive: true }).catch(() => []);
  return names
    .filter((name) => /(^|\/)config(\.worktree)?$/.test(name))
    .map((name) => dirname(join(gitDirectory, 'modules', name)));
}
