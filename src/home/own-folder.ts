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
import type { Folder } from '../core/folder.ts';

/** What stands where a file of ours belongs. */
type Place = 'free' | 'file' | 'other';

/** The folder of a person's checkout that a run works for; `top` is the checkout's own. */
export interface WorkedFolder {
  readonly top: string;
  readonly folder: Folder;
}

/** A folder of the checkout that holds files of ours, in which nothing is ever written through a link. */
export interface OwnFolder {
  /** Replaces a file, whole or not at all; throws where something else than a file is in its place. */
  readonly replace: (name: string, text: string) => void;
  /** Makes an empty file that its owner alone may read, in place of the one before; throws likewise. */
  readonly begin: (name: string) => void;
  /** Adds to a file; throws likewise. Returns its new size in bytes. */
  readonly append: (name: string, text: string) => number;
  /** Gives a file another name, in place of the one that has it; throws likewise. */
  readonly rename: (name: string, to: string) => void;
  readonly path: string;
}

/** Makes a folder of ours, such as `.ralph` and `logs`, where there is none; the folder that it is in must be there. Throws where a part of the path below `top` is a link or no folder. `hides`: a `.gitignore` in it keeps all of it out of git. */
export function openOwnFolder(
  { top, folder }: WorkedFolder,
  own: readonly string[],
  { hides }: { readonly hides: boolean },
): OwnFolder {
  let path = realpathSync(top);
  const theirs = folder.split('/').filter((part) => part !== '');
  for (const [index, part] of [...theirs, ...own].entries()) {
    path = join(path, part);
    if (placeOf(path) === 'free') {
      if (index < theirs.length) throw new Error(`${path} does not exist`);
      mkdirSync(path);
    }
    refuseOthers(path);
  }
  if (hides && placeOf(join(path, '.gitignore')) === 'free')
    writeFileSync(join(path, '.gitignore'), '*\n', { flag: 'wx' });
  /** Its path; throws where something else than a file is in its place. */
  const fileOf = (name: string): string => {
    const file = join(path, name);
    if (placeOf(file) === 'other') throw new Error(`${file} is a link, a folder or a pipe, so it is not written`);
    return file;
  };
  return {
    path,
    replace: (name, text) => {
      const file = fileOf(name);
      const beside = join(path, `.${name}.${randomUUID()}`);
      try {
        writeFileSync(beside, text, { flag: 'wx', mode: 0o644 });
        renameSync(beside, file);
      } finally {
        rmSync(beside, { force: true });
      }
    },
    begin: (name) => {
      const file = fileOf(name);
      rmSync(file, { force: true });
      writeFileSync(file, '', { flag: 'wx', mode: 0o600 });
    },
    append: (name, text) => {
      const file = fileOf(name);
      const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
      // A link or a pipe that has come into its place since is refused as well, and not waited for.
      const handle = openSync(file, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o644);
      try {
        if (!fstatSync(handle).isFile()) throw new Error(`${file} is not a file, so it is not written`);
        writeFileSync(handle, text);
        return fstatSync(handle).size;
      } finally {
        closeSync(handle);
      }
    },
    rename: (name, to) => {
      renameSync(fileOf(name), fileOf(to));
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
