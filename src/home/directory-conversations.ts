import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Conversations } from '../ports/state.ts';
import { getErrorMessage } from '../errors.ts';
import { usePlainFile } from '../files/plain-file.ts';

/** Creates a store that keeps conversations as files in a folder of this machine. */
export function createDirectoryConversations(place: {
  readonly folder: string;
  readonly maxBytes: number;
  /** Throws if the folder must not be read or written. */
  readonly check: () => void;
}): Conversations {
  const { folder, maxBytes, check } = place;
  const fileOf = (name: string): string => join(folder, `${name}.transcript`);
  return {
    read: async (name) => {
      try {
        check();
        const content = await usePlainFile(fileOf(name), (file, { size }) =>
          size > maxBytes ? null : file.readFile(),
        );
        return content === null
          ? { kind: 'unavailable', why: `${fileOf(name)} is not a transcript` }
          : { kind: 'found', content };
      } catch (error) {
        return (error as NodeJS.ErrnoException).code === 'ENOENT'
          ? { kind: 'absent' }
          : { kind: 'unavailable', why: getErrorMessage(error) };
      }
    },
    write: async (name, content) => {
      if (content.length > maxBytes) return { kind: 'not-kept', why: 'it is too large' };
      const beside = join(folder, `.${randomUUID()}.tmp`);
      try {
        check();
        await mkdir(folder, { recursive: true });
        try {
          await writeFile(beside, content, { flag: 'wx', mode: 0o600 });
          await rename(beside, fileOf(name));
        } finally {
          await rm(beside, { force: true });
        }
        return { kind: 'written' };
      } catch (error) {
        return { kind: 'not-kept', why: getErrorMessage(error) };
      }
    },
  };
}
