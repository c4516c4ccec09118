import { access, constants, rm, rmdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { FileChange } from '../../core/setup/ownership.ts';
import { type CheckoutFile, readCheckoutFile, describeSystemError, writeCheckoutFile } from '../command.ts';
import { findInputProblems } from '../../config/inputs.ts';
import { parseRunSettings, listSettingsPaths } from '../../config/settings/run-texts.ts';
import { nameSettingPlace } from '../../config/settings/settings.ts';
import type { FoundSetting } from '../../core/settings/effective.ts';

/** Files of a checkout by their paths in it. */
export type FilesRead = ReadonlyMap<string, CheckoutFile>;

/** Reads files of a checkout; a file that cannot be read is in the result as refused. */
export async function readFiles(folder: string, paths: readonly string[]): Promise<FilesRead> {
  return new Map(await Promise.all(paths.map(async (path) => [path, await readCheckoutFile(folder, path)] as const)));
}

/** Returns sentences about folders that need a change but are not writable. */
export async function describeLockedFolders(
  changes: readonly FileChange[],
  before: FilesRead,
): Promise<readonly string[]> {
  const places = changes.flatMap((change) => {
    const file = before.get(change.path);
    return 'before' in change && file !== undefined && file.kind !== 'refused' ? [dirname(file.realPath)] : [];
  });
  const folders = new Set(await Promise.all(places.map(nearestFolder)));
  const found = [...folders].map(async (folder) =>
    access(folder, constants.W_OK).then(
      () => [],
      (error: unknown) => [`${JSON.stringify(folder)} cannot be written to: ${describeSystemError(error)}.`],
    ),
  );
  return (await Promise.all(found)).flat();
}

/** Returns the folder itself, or its nearest parent that exists. */
async function nearestFolder(folder: string): Promise<string> {
  const isThere = await stat(folder).then(
    () => true,
    () => false,
  );
  return isThere || dirname(folder) === folder ? folder : nearestFolder(dirname(folder));
}

/** Changes files that were read before; returns sentences about those that could not be changed. */
export async function changeFiles(changes: readonly FileChange[], before: FilesRead): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const change of changes) {
    const file = before.get(change.path);
    if (file === undefined || file.kind === 'refused') continue;
    const why =
      'after' in change
        ? await writeCheckoutFile(file, change.after)
        : change.kind === 'delete'
          ? await removeWithEmptyFolders(file.realPath, change.path).then(() => null, describeSystemError)
          : null;
    if (why !== null) problems.push(`${change.path} could not be changed: ${why}.`);
  }
  return problems;
}

/** Removes a file, and the folders in its path that are empty afterwards. */
async function removeWithEmptyFolders(realPath: string, path: string): Promise<void> {
  await rm(realPath);
  let folder = dirname(realPath);
  for (let depth = path.split('/').length - 1; depth > 0; depth -= 1) {
    // A folder with other contents stays, and so do its parents, so stop here.
    if (!(await isRemoved(folder))) return;
    folder = dirname(folder);
  }
}

function isRemoved(folder: string): Promise<boolean> {
  return rmdir(folder).then(
    () => true,
    () => false,
  );
}

/**
 * The settings file of another Ralph that runs read, and the inputs that it sets. `problems` are sentences with file
 * and line.
 */
export interface LeftToFile {
  readonly path: string;
  readonly settings: readonly FoundSetting[];
  readonly problems: readonly string[];
}

/** The folder that `ralph init` sets up. */
const ROOT = '';

/** Returns the inputs that another Ralph's settings file in the checkout sets, or null if there is no such file. */
export function findSettingsLeftToFile(files: FilesRead): LeftToFile | null {
  const there = listSettingsPaths(ROOT).flatMap((path) => {
    const file = files.get(path);
    return file === undefined || file.kind === 'absent' ? [] : [{ path, file }];
  });
  const [first] = there;
  if (first === undefined) return null;
  const { read } = parseRunSettings(
    {},
    {
      texts: Object.fromEntries(there.flatMap(({ path, file }) => (file.kind === 'text' ? [[path, file.text]] : []))),
      unread: Object.fromEntries(
        there.flatMap(({ path, file }) => (file.kind === 'refused' ? [[path, file.why]] : [])),
      ),
    },
    ROOT,
  );
  const wrong = read.found.flatMap(({ input, text, places }) =>
    findInputProblems({ [input]: text.trim() }).map(
      ({ why }) => `${places.map(nameSettingPlace).join(' and ')} ${why}.`,
    ),
  );
  return { path: first.path, settings: read.found, problems: [...read.problems, ...wrong] };
}
