import { createHash, randomUUID } from 'node:crypto';
import { lstat, mkdir, rename, rm, writeFile, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { completeSentence } from '../core/text/phrase.ts';
import { getErrorMessage, UserError } from '../errors.ts';
import type { HandoffFolder, HandoffName } from '../ports/handoff.ts';
import { usePlainFile } from '../files/plain-file.ts';

const MIB = 1024 * 1024;
/**
 * Maximum sizes in bytes. A parcel contains tasks, a journal and a state; GitHub accepts files of up to 100 MB and
 * pushes of up to 2 GB.
 */
const MAX_SIZES: Readonly<Record<HandoffName, number>> = {
  'gate/intake.json': 32 * MIB,
  'gate/session.sealed': 64 * MIB,
  'loop/work.json': 64 * MIB,
  'loop/commits.bundle': 512 * MIB,
  'loop/commits.next.bundle': 512 * MIB,
  'loop/session.sealed': 64 * MIB,
  'loop/journal.jsonl': 16 * MIB,
  'loop/beside.patch': 16 * MIB,
};

/** Returns the functions that read and write the hand-over folder at `path`; the first write makes the directory. */
export function createHandoffFolder(path: string): HandoffFolder {
  async function opened<T>(name: HandoffName, use: (file: FileHandle, bytes: number) => Promise<T>): Promise<T | null> {
    const at = join(path, name);
    const folder = await lstat(dirname(at)).catch(() => null);
    if (folder?.isDirectory() !== true) return null;
    return usePlainFile(at, (file, { size }) => (size <= MAX_SIZES[name] ? use(file, size) : null)).catch(() => null);
  }

  async function pathOf(name: HandoffName): Promise<string> {
    const at = join(path, name);
    await mkdir(dirname(at), { recursive: true, mode: 0o700 });
    return at;
  }

  return {
    read: (name) => opened(name, (file) => file.readFile()),
    fingerprint: (name) =>
      opened(name, async (file, bytes) => {
        const hash = createHash('sha256');
        for await (const part of file.createReadStream({ autoClose: false })) hash.update(part as Buffer);
        return { sha256: hash.digest('hex'), bytes };
      }),
    write: async (name, content) => {
      try {
        const at = await pathOf(name);
        const fresh = `${at}.${randomUUID()}`;
        await writeFile(fresh, content, { flag: 'wx', mode: 0o600 });
        await rename(fresh, at);
      } catch (error) {
        throw new UserError(
          'infrastructure',
          `${name} cannot be written in the folder of the input handoff-path, ${path}: ${completeSentence(getErrorMessage(error))} It must be a folder that the runner may write to.`,
          { cause: error },
        );
      }
    },
    pathOf,
    move: (from, to) => rename(join(path, from), join(path, to)),
    remove: async (name) => {
      await rm(join(path, name), { recursive: true, force: true });
    },
  };
}
