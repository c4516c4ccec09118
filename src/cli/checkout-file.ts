import { randomUUID } from 'node:crypto';
import { lstat, mkdir, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path';
import { reasonOf } from './input.ts';

/** A text file of a checkout. `place` is where it really is. */
export type CheckoutFile =
  | { readonly kind: 'text'; readonly text: string; readonly realPath: string }
  | { readonly kind: 'absent'; readonly realPath: string }
  | RefusedFile;

/** `why` continues from the file's name: `is no file`; `line` from 1, null: of the file as a whole. */
interface RefusedFile {
  readonly kind: 'refused';
  readonly line: number | null;
  readonly why: string;
}

/** A longer file would not be read by a run either. */
const MAX_BYTES = 1024 * 1024;

/** Reads a file below `folder`; a link that leads out is not followed, and a file that is not text is refused: writing it again would damage it. */
export async function readCheckoutFile(folder: string, path: string): Promise<CheckoutFile> {
  try {
    const root = await realpath(folder);
    const realPath = await realPathOf(join(root, path));
    if (!isInside(root, realPath)) return refused(`leads out of the checkout, to ${JSON.stringify(realPath)}`);
    const found = await stat(realPath).catch(absent);
    if (found === null) return { kind: 'absent', realPath };
    if (!found.isFile()) return refused('is no file');
    if (found.size > MAX_BYTES) return refused('is larger than 1 MiB, so no run reads it');
    return textOf(await readFile(realPath), realPath);
  } catch (error) {
    return refused(`cannot be read: ${reasonOf(error)}`);
  }
}

/**
 * Writes a file that was read before, whole or not at all, and keeps its mode; null when it is written, else why not.
 * What somebody else has written in between stays.
 */
export async function writeCheckoutFile(
  file: Exclude<CheckoutFile, { kind: 'refused' }>,
  text: string,
): Promise<string | null> {
  const beside = join(dirname(file.realPath), `.${basename(file.realPath)}.${randomUUID()}.new`);
  try {
    await mkdir(dirname(file.realPath), { recursive: true });
    const mode = (await stat(file.realPath).catch(absent))?.mode;
    const handle = await open(beside, 'wx', mode === undefined ? 0o644 : mode & 0o777);
    try {
      // The mode above is cut by the umask.
      if (mode !== undefined) await handle.chmod(mode & 0o777);
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    const now = await readFile(file.realPath, 'utf8').catch(absent);
    if (now !== (file.kind === 'text' ? file.text : null)) return 'it was changed in the meantime: try again';
    await rename(beside, file.realPath);
    return null;
  } catch (error) {
    return reasonOf(error);
  } finally {
    await rm(beside, { force: true });
  }
}

/** Where a path leads, also when its last parts do not exist yet; a link to nowhere throws. */
async function realPathOf(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    absent(error);
    if ((await lstat(path).catch(absent)) !== null) throw error;
    return join(await realPathOf(dirname(path)), basename(path));
  }
}

function isInside(root: string, realPath: string): boolean {
  const path = relative(root, realPath);
  return path !== '..' && !path.startsWith(`..${sep}`) && !isAbsolute(path);
}

/** Null for "there is no such file"; any other error continues. */
function absent(error: unknown): null {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  return null;
}

/** What holds NUL bytes may decode (UTF-16 does), but no run reads it. */
function textOf(bytes: Uint8Array, realPath: string): CheckoutFile {
  const nul = bytes.indexOf(0);
  if (nul !== -1)
    return refused(
      'contains NUL bytes, so no run reads it: remove them, or save it as UTF-8',
      bytes.subarray(0, nul).filter((byte) => byte === LINE_FEED).length + 1,
    );
  try {
    return { kind: 'text', text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes), realPath };
  } catch {
    return refused('is not UTF-8 text: save it as UTF-8');
  }
}

const LINE_FEED = 0x0a;

function refused(why: string, line: number | null = null): RefusedFile {
  return { kind: 'refused', line, why };
}
