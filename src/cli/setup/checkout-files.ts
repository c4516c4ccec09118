import { rm } from 'node:fs/promises';
import type { FileChange } from '../../core/setup/ownership.ts';
import { readCheckoutFile, writeCheckoutFile, type CheckoutFile } from '../checkout-file.ts';
import { reasonOf } from '../input.ts';

/** Files of a checkout by their path in it. */
export type FilesRead = ReadonlyMap<string, CheckoutFile>;

/** Reads files of a checkout; one that cannot be read is in the answer as refused. */
export async function readFiles(folder: string, paths: readonly string[]): Promise<FilesRead> {
  return new Map(await Promise.all(paths.map(async (path) => [path, await readCheckoutFile(folder, path)] as const)));
}

/** Makes the changes of files that were read before; sentences about those that could not be made. */
export async function changeFiles(changes: readonly FileChange[], before: FilesRead): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const change of changes) {
    const file = before.get(change.path);
    if (file === undefined || file.kind === 'refused') continue;
    const why =
      'after' in change
        ? await writeCheckoutFile(file, change.after)
        : change.kind === 'delete'
          ? await rm(file.realPath).then(() => null, reasonOf)
          : null;
    if (why !== null) problems.push(`${change.path} could not be changed: ${why}.`);
  }
  return problems;
}
