import { lstat, realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseFoundStatus } from '../../../core/local/found-status.ts';
import { readCheckoutFile } from '../../checkout-file.ts';
import type { LastRun } from '../screen-port.ts';

/** Where a local run leaves its files: in `.ralph/`, or, as the first Ralphs did, beside the prompt. */
export interface LocalFolder {
  /** Absolute. */
  readonly folder: string;
  /** `.ralph/`, or nothing. */
  readonly prefix: string;
  /** Whether what `.ralph/state` at the top keeps may be this run's; `readLocal` looks closer. */
  readonly isLast: boolean;
}

/**
 * The one folder whose run is watched from `folder`: the nearest one, up to `top`, in which a run has left its files. What
 * reaches the top finds the checkout's last run, which may work for any folder, or the run of another Ralph at the top:
 * the one that wrote its status last. All paths are absolute, and without links.
 */
export async function findLocalFolder(
  folder: string,
  { top, last }: { readonly top: string; readonly last: LastRun | null },
): Promise<LocalFolder> {
  const lastFolder = last === null ? null : await realFolder(top, last.folder);
  const isLast = (at: string): boolean => (lastFolder ?? top) === at;
  let withRalph: string | null = null;
  for (let at = folder; ; at = dirname(at)) {
    const isTop = at === top || dirname(at) === at;
    const prefix = await prefixIn(at);
    const here = prefix === null ? [] : [{ folder: at, prefix, isLast: isLast(at) }];
    if (!isTop && here[0] !== undefined) return here[0];
    if (await isFolder(join(at, '.ralph'))) withRalph ??= at;
    if (!isTop) continue;
    const elsewhere =
      lastFolder === null || lastFolder === at || (await prefixIn(lastFolder)) !== '.ralph/'
        ? []
        : [{ folder: lastFolder, prefix: '.ralph/', isLast: true }];
    // Where no run has left anything, the state is all there is.
    return (await newest([...elsewhere, ...here])) ?? { folder: withRalph ?? folder, prefix: '.ralph/', isLast: true };
  }
}

/** Where in a folder a run has left its files; null: none has. */
async function prefixIn(folder: string): Promise<string | null> {
  for (const name of ['status.json', 'progress.json', 'logs'])
    if ((await lstat(join(folder, '.ralph', name)).catch(() => null)) !== null) return '.ralph/';
  return (await saysLoop(folder)) ? '' : null;
}

/** Whether a `status.json` that could be anybody's is that of a Ralph. */
async function saysLoop(folder: string): Promise<boolean> {
  const file = await readCheckoutFile(folder, 'status.json');
  if (file.kind !== 'text') return false;
  const found = parseFoundStatus(file.text);
  return found.kind === 'other' && found.run.iteration !== null;
}

/** The first of those that were written at the same time. */
async function newest(places: readonly LocalFolder[]): Promise<LocalFolder | null> {
  const written = places.map(async (place) => ({
    place,
    at: (await lstat(join(place.folder, `${place.prefix}status.json`)).catch(() => null))?.mtimeMs ?? 0,
  }));
  return (await Promise.all(written)).toSorted((a, b) => b.at - a.at)[0]?.place ?? null;
}

/** A folder of the checkout by a path that a file gives; null: there is none, or a link is on the way. */
async function realFolder(top: string, path: string): Promise<string | null> {
  const wanted = join(top, path);
  const real = await realpath(wanted).catch(() => null);
  return real === wanted && `${wanted}/`.startsWith(`${top}/`) && (await isFolder(wanted)) ? wanted : null;
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isDirectory() === true;
}
