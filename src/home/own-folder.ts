import { randomUUID } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

/** What stands where a file of ours belongs. */
type Place = 'free' | 'file' | 'other';

/** A folder of the checkout that holds files of ours, in which nothing is ever written through a link. */
export interface OwnFolder {
  /** Replaces a file, whole or not at all; throws where something else than a file is in its place. */
  readonly replace: (name: string, text: string) => void;
  /** Makes an empty file that its owner alone may read, in place of the one before; throws likewise. */
  readonly begin: (name: string) => void;
  /** Adds to a file; throws likewise. Returns its new size in bytes. */
  readonly append: (name: string, text: string) => number;
  readonly path: string;
}

/** Makes the folder where there is none; throws where a part of its path below `top` is a link or no folder. `hides`: a `.gitignore` in it keeps all of it out of git. */
export function openOwnFolder(
  top: string,
  parts: readonly string[],
  { hides }: { readonly hides: boolean },
): OwnFolder {
  let path = realpathSync(top);
  for (const part of parts) {
    path = join(path, part);
    if (placeOf(path) === 'free') mkdirSync(path);
    refuseOthers(path);
  }
  if (hides && placeOf(join(path, '.gitignore')) === 'free')
    writeFileSync(join(path, '.gitignore'), '*\n', { flag: 'wx' });
  return {
    path,
    replace: (name, text) => {
      const file = join(path, name);
      if (placeOf(file) === 'other') throw new Error(`${file} is a link, a folder or a pipe, so it is not written`);
      const beside = join(path, `.${name}.${randomUUID()}`);
      try {
        writeFileSync(beside, text, { flag: 'wx', mode: 0o644 });
        renameSync(beside, file);
      } finally {
        rmSync(beside, { force: true });
      }
    },
    begin: (name) => {
      const file = join(path, name);
      if (placeOf(file) === 'other') throw new Error(`${file} is a link, a folder or a pipe, so it is not written`);
      rmSync(file, { force: true });
      writeFileSync(file, '', { flag: 'wx', mode: 0o600 });
    },
    append: (name, text) => {
      const file = join(path, name);
      const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
      // A link or a pipe in its place is refused, and not waited for.
      const handle = openSync(file, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o644);
      try {
        if (!fstatSync(handle).isFile()) throw new Error(`${file} is not a file, so it is not written`);
        writeFileSync(handle, text);
        return fstatSync(handle).size;
      } finally {
        closeSync(handle);
      }
    },
  };
}

/** Throws where a part of a path below `top` is there and is a link or not a folder; what is missing is not made. */
export function checkOwnFolder(top: string, parts: readonly string[]): void {
  let path = realpathSync(top);
  for (const part of parts) {
    path = join(path, part);
    if (placeOf(path) !== 'free') refuseOthers(path);
  }
}

function refuseOthers(path: string): void {
  const found = lstatSync(path);
  if (found.isSymbolicLink()) throw new Error(`${path} is a link; put a folder in its place`);
  if (!found.isDirectory()) throw new Error(`${path} is not a folder; put a folder in its place`);
}

function placeOf(path: string): Place {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return 'free';
  return found.isFile() ? 'file' : 'other';
}
