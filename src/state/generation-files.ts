import { createHash, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { link as hardLink, lstat, mkdir, open, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Head, NamedTexts, Unavailable, WriteResult } from '../ports/state.ts';
import { getErrorText } from '../errors.ts';
import { MINUTE_MS } from '../core/countdown.ts';
import { cutText } from '../core/text/phrase.ts';

export interface GenerationFilesOptions {
  /**
   * The folder of the files, created by the first write with a `.gitignore` that keeps it out of every commit. It must
   * be on a disk of this machine.
   */
  readonly folder: string;
  readonly now: () => number;
  /** Throws if the folder must not be read or written; called before each access. */
  readonly check?: () => void;
  /** Gives a file a second name; fails with EEXIST if that name is taken. */
  readonly link?: (existing: string, name: string) => Promise<void>;
}

/** Texts as files of one folder. */
export interface GenerationFiles extends NamedTexts {
  /** Returns the names under which texts are kept; empty if there is no folder. Throws if the folder cannot be read. */
  names(): Promise<readonly string[]>;
  /** Removes everything that is kept under a name. */
  remove(name: string): Promise<void>;
}

/**
 * The newest text under a name. `damagedAt` is the time at which its newest file got a size that no complete file has,
 * or null.
 */
interface Stored {
  readonly generation: number;
  readonly head: Head;
  readonly text: string;
  readonly damagedAt: number | null;
}

/** Maximum size of a text, far more than the state of any checkout. */
const MAX_BYTES = 32 * 1024 * 1024;
/** Number of newest generations that stay: more than others write between a writer's `link` and its next look. */
const KEPT = 8;
/** Maximum number of looks at the folder: files may be removed between a look and the opening of one of them. */
const MAX_LOOKS = 20;
/** Maximum time in ms for writing a file. */
const WRITING_MS = MINUTE_MS;
const NAME = /^[a-z0-9][a-z0-9-]{0,99}$/;
const FILE_NAME = /^([^.]+)\.([1-9]\d{0,14})\.json$/;
const TEMPORARY = /^\.[0-9a-f-]{36}\.tmp$/;

/**
 * Creates a store of texts in files `<name>.<generation>.json`. A complete file gets the next generation's name by
 * `link`, which fails if another process was faster: that is the compare-and-swap, and it needs no lock that a killed
 * process could leave behind.
 */
export function createGenerationFiles(options: GenerationFilesOptions): GenerationFiles {
  const { folder, now, check = () => undefined, link = hardLink } = options;
  return { read, write, names, remove };

  async function read(name: string): ReturnType<NamedTexts['read']> {
    return answered(async () => {
      const stored = await newest(name);
      return stored === null ? { kind: 'absent' } : { kind: 'found', head: stored.head, text: stored.text };
    });
  }

  async function names(): Promise<readonly string[]> {
    check();
    const found = (await readFolderEntries(folder)).flatMap((entry) => FILE_NAME.exec(entry.name)?.[1] ?? []);
    return [...new Set(found)];
  }

  async function remove(name: string): Promise<void> {
    for (const generation of await generationsOf(name)) await rm(fileOf(name, generation), { force: true });
  }

  async function write(name: string, expected: Head | null, text: string): Promise<WriteResult> {
    try {
      return await writeNewest(name, expected, Buffer.from(text));
    } catch (error) {
      return { kind: forbids.has(fileErrorCode(error)) ? 'refused' : 'unavailable', why: describe(error, folder) };
    }
  }

  async function writeNewest(name: string, expected: Head | null, content: Buffer): Promise<WriteResult> {
    if (content.length > MAX_BYTES) throw new Error(`the text is larger than ${MAX_BYTES / 1024} KiB`);
    const stored = await newest(name);
    if ((stored?.head ?? null) !== expected || isBeingWritten(stored)) return { kind: 'conflict' };
    await prepareFolder();
    const generation = (stored?.generation ?? 0) + 1;
    if (!(await publish(fileOf(name, generation), content))) return { kind: 'conflict' };
    if (!(await isInTime(name, generation))) {
      await rm(fileOf(name, generation), { force: true });
      return { kind: 'conflict' };
    }
    await syncFolder(folder);
    await tidy(name);
    return { kind: 'written', head: generationHeadOf(generation, content) };
  }

  async function newest(name: string): Promise<Stored | null> {
    if (!NAME.test(name)) throw new Error(`${JSON.stringify(cutText(name, 100))} cannot be the name of a state file`);
    for (let looked = 0; looked < MAX_LOOKS; looked += 1) {
      const [generation, previous] = await generationsOf(name);
      if (generation === undefined) return null;
      const top = await readGeneration(fileOf(name, generation));
      if (top.kind === 'gone') continue;
      if (top.kind === 'complete')
        return {
          generation,
          head: generationHeadOf(generation, top.content),
          text: top.content.toString(),
          damagedAt: null,
        };
      // Use the generation before a damaged newest one, but keep the newest number, so that the next write goes above
      // both.
      const before = previous === undefined ? null : await readGeneration(fileOf(name, previous));
      const content = before?.kind === 'complete' ? before.content : Buffer.alloc(0);
      return {
        generation,
        head: generationHeadOf(generation, content),
        text: content.toString(),
        damagedAt: top.modifiedAt,
      };
    }
    throw new Error(`${folder} changed ${MAX_LOOKS} times while it was read`);
  }

  /**
   * Returns true if another process may still be writing the newest file: without hard links a file has its name before
   * its content.
   */
  function isBeingWritten(stored: Stored | null): boolean {
    return stored !== null && stored.damagedAt !== null && Math.abs(now() - stored.damagedAt) < WRITING_MS;
  }

  /** Returns the generations of a name, highest first. */
  async function generationsOf(name: string): Promise<readonly number[]> {
    const generations: number[] = [];
    check();
    for (const entry of await readFolderEntries(folder)) {
      const [, text, generation] = FILE_NAME.exec(entry.name) ?? [];
      if (text !== name) continue;
      if (!entry.isFile()) throw new Error(`${join(folder, entry.name)} is not a plain file; remove it`);
      generations.push(Number(generation));
    }
    return generations.sort((a, b) => b - a);
  }

  /** Writes the complete content under a name if the name is free; returns false if it is taken. */
  async function publish(file: string, content: Buffer): Promise<boolean> {
    const temporary = join(folder, `.${randomUUID()}.tmp`);
    try {
      await writeNew(temporary, content);
      await link(temporary, file).catch((error: unknown) => {
        if (!withoutLinks.has(fileErrorCode(error))) throw error;
        return writeNew(file, content);
      });
      return true;
    } catch (error) {
      if (fileErrorCode(error) === 'EEXIST') return false;
      throw error;
    } finally {
      await rm(temporary, { force: true });
    }
  }

  /**
   * Returns true if a generation was published in time. A process that slept before its `link` may have taken the name
   * of a generation that others wrote and removed in the meantime; then there are `KEPT` newer ones.
   */
  async function isInTime(name: string, generation: number): Promise<boolean> {
    const [top = 0] = await generationsOf(name);
    return top >= generation && top < generation + KEPT;
  }

  /**
   * Removes old generations and leftovers of killed processes. The state does not depend on this, so failures are not
   * reported.
   */
  async function tidy(name: string): Promise<void> {
    try {
      for (const generation of (await generationsOf(name)).slice(KEPT))
        await rm(fileOf(name, generation), { force: true });
      for (const { name: file } of await readFolderEntries(folder)) {
        if (TEMPORARY.test(file) && (await lstat(join(folder, file))).mtimeMs < now() - WRITING_MS)
          await rm(join(folder, file), { force: true });
      }
    } catch {
      // Ignore errors, because the next write tries again.
    }
  }

  async function prepareFolder(): Promise<void> {
    check();
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, '.gitignore'), '*\n', { flag: 'wx' }).catch((error: unknown) => {
      if (fileErrorCode(error) !== 'EEXIST') throw error;
    });
  }

  function fileOf(name: string, generation: number): string {
    return join(folder, `${name}.${generation}.json`);
  }

  async function answered<Answer>(ask: () => Promise<Answer>): Promise<Answer | Unavailable> {
    try {
      return await ask();
    } catch (error) {
      return { kind: 'unavailable', why: describe(error, folder) };
    }
  }
}

/** Error codes for a user without write access, which a retry does not change. */
const forbids: ReadonlySet<string> = new Set(['EACCES', 'EPERM', 'EROFS']);

/** Error codes of `link` on file systems without hard links. */
const withoutLinks: ReadonlySet<string> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/**
 * Returns the head of a generation. Its hash distinguishes two texts with the same number, which can exist after files
 * were removed.
 */
function generationHeadOf(generation: number, content: Buffer): Head {
  return `${generation}-${createHash('sha256').update(content).digest('hex').slice(0, 16)}`;
}

async function readFolderEntries(folder: string) {
  try {
    if ((await lstat(folder)).isSymbolicLink()) throw new Error(`${folder} is a link; put a folder in its place`);
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (fileErrorCode(error) === 'ENOENT') return [];
    throw error;
  }
}

type Content =
  | { readonly kind: 'complete'; readonly content: Buffer }
  | { readonly kind: 'damaged'; readonly modifiedAt: number }
  | { readonly kind: 'gone' };

async function readGeneration(file: string): Promise<Content> {
  try {
    // Neither follow a link nor wait for a pipe, which may have replaced the file since the look at the folder.
    await using handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const { size, mtimeMs } = await handle.stat();
    if (size === 0 || size > MAX_BYTES) return { kind: 'damaged', modifiedAt: mtimeMs };
    return { kind: 'complete', content: await handle.readFile() };
  } catch (error) {
    if (fileErrorCode(error) === 'ENOENT') return { kind: 'gone' };
    throw error;
  }
}

async function writeNew(file: string, content: Buffer): Promise<void> {
  await using handle = await open(file, 'wx');
  try {
    await handle.writeFile(content);
    await handle.sync();
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  }
}

/** Writes a folder to the disk, because a new name survives a power cut only together with its folder. */
async function syncFolder(folder: string): Promise<void> {
  // Skip this on Windows, which cannot open folders and keeps names without it.
  if (process.platform === 'win32') return;
  await using handle = await open(folder, 'r');
  await handle.sync();
}

function fileErrorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

const causes: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file would be larger than this process may write',
  EACCES: 'this user has no write access there',
  EPERM: 'this user has no write access there',
  EROFS: 'it is on a read-only file system',
  ENOTDIR: 'a part of its path is a file',
  EMFILE: 'too many files are open',
};

function describe(error: unknown, folder: string): string {
  const cause = causes[fileErrorCode(error)];
  if (cause !== undefined) return `${folder}: ${cause}`;
  return getErrorText(error);
}
