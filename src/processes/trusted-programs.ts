import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join, resolve, sep } from 'node:path';
import { UserError } from '../errors.ts';
import { resolveLinks } from '../files/plain-file.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** The folders of an operating system's programs, regardless of PATH. */
const SYSTEM_FOLDERS = ['/usr/bin', '/bin', '/usr/sbin', '/sbin'];
/** Programs that the action's programs start by name. */
const STARTED_BY_NAME = ['tar', 'gtar', 'zstd'];

/** A program's file, with its identity when it was found. */
interface FoundProgram {
  readonly path: string;
  readonly identity: string;
}

/**
 * Programs that were found, by environment. A search is not repeated, so a program that an agent adds to a folder of
 * PATH later has no effect.
 */
const known = new Map<string, FoundProgram | null>();

/**
 * Returns the absolute path of a program, found once: in a folder that this user cannot write if possible, otherwise
 * outside the workspace, the temporary folders and, if possible, the home folder, where agents leave files. Returns
 * null if there is no such program. Throws a UserError if the file was changed after it was found.
 */
export function findTrustedProgram(name: string, environment: Environment): string | null {
  const key = JSON.stringify([name, ...SEARCHED_WITH.map((variable) => environment[variable] ?? '')]);
  let found = known.get(key);
  if (found === undefined) {
    const path = find(name, environment);
    found = path === null ? null : { path, identity: identityOf(path) };
    known.set(key, found);
  }
  if (found === null) return null;
  if (identityOf(found.path) !== found.identity) throw changed(found.path);
  return found.path;
}

/**
 * Returns the program that a shell would start by this name, with the reason why `findTrustedProgram` does not return
 * it; null if there is no such program, or it is the trusted one.
 */
export function findPassedOverProgram(
  name: string,
  environment: Environment,
): { readonly path: string; readonly why: string } | null {
  const [path] = programsOnPath(name, environment);
  if (path === undefined || path === findTrustedProgram(name, environment)) return null;
  const isAgents = isWithinFolders(path, agentsFolders(environment));
  return {
    path,
    why: isAgents ? 'agents may leave files in its folder' : 'any program that runs as you can replace it',
  };
}

/** Returns the PATH for programs that start others by name: the system's folders and those of trusted programs. */
export function buildTrustedPath(environment: Environment): string {
  const named = ['git', ...STARTED_BY_NAME].flatMap((name) => {
    const path = findTrustedProgram(name, environment);
    return path === null ? [] : [dirname(path)];
  });
  const folders = [...new Set([...SYSTEM_FOLDERS, ...named])];
  const isSafe = (folder: string): boolean => !isReplaceable(folder);
  return [...folders.filter(isSafe), ...folders.filter((folder) => !isSafe(folder))].join(delimiter);
}

/** Returns the smallest environment that a program of the system needs. */
export function buildTrustedEnvironment(environment: Environment): Record<string, string> {
  return { LC_ALL: 'C', PATH: buildTrustedPath(environment) };
}

const SEARCHED_WITH = ['PATH', 'HOME', 'GITHUB_WORKSPACE', 'RUNNER_TEMP', 'TMPDIR'] as const;

function find(name: string, environment: Environment): string | null {
  const outside = programsOnPath(name, environment).filter(
    (path) => !isWithinFolders(path, agentsFolders(environment)),
  );
  const home = environment['HOME'] ?? '';
  const elsewhere = outside.filter((path) => home === '' || home === '/' || !isWithinFolders(path, [home]));
  return elsewhere.find((path) => !isReplaceable(path)) ?? elsewhere[0] ?? outside[0] ?? null;
}

function programsOnPath(name: string, environment: Environment): readonly string[] {
  const folders = (environment['PATH'] ?? '').split(delimiter).filter((folder) => isAbsolute(folder));
  return folders.map((folder) => join(folder, name)).filter(isProgram);
}

/** Returns the folders in which an agent may have written any file. */
function agentsFolders(environment: Environment): readonly string[] {
  return [environment['GITHUB_WORKSPACE'], environment['RUNNER_TEMP'], environment['TMPDIR'] ?? '/tmp'].filter(
    (folder): folder is string => folder !== undefined && folder !== '' && folder !== '/',
  );
}

/** Returns true if a path is in one of these folders, by its name or by its real path. */
function isWithinFolders(path: string, folders: readonly string[]): boolean {
  const below = (inner: string, outer: string): boolean => (inner + sep).startsWith(resolve(outer) + sep);
  return folders.some((folder) => below(resolve(path), folder) || below(realpathSync(path), folder));
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Returns true if this user can write to a path or to a folder on the way to it. */
function isReplaceable(path: string): boolean {
  const ways = new Set([resolve(path), resolveLinks(path)]);
  return [...ways].some((way) => listPathAndAncestors(way).some(isWritable));
}

/** Returns a path and all folders above it, with the path first. */
export function listPathAndAncestors(path: string): readonly string[] {
  const above = dirname(path);
  return above === path ? [path] : [path, ...listPathAndAncestors(above)];
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Returns the identity of a file; users cannot set its time of change (ctime). */
function identityOf(path: string): string {
  const { dev, ino, size, mtimeMs, ctimeMs } = statSync(path, { throwIfNoEntry: false }) ?? {};
  return [dev, ino, size, mtimeMs, ctimeMs].join(':');
}

function changed(path: string): UserError {
  return new UserError(
    'infrastructure',
    `${path} was changed or removed while this run used it, so it is no longer started: the agent or another program on this machine did it. Restore the program, or use a fresh runner, then re-run the workflow.`,
  );
}
