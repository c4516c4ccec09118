import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, open, readdir, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { inflateSync } from 'node:zlib';
import type { StoredObjects } from '../../../core/work-tree/handed-over.ts';
import { removeTree } from '../../remove-tree.ts';

/** A pack and its index end with the hash of all that is before. */
const PACKED = /^pack-([0-9a-f]+)\.(?:pack|idx)$/;
/** A larger object outside of a pack is not looked at, and so not kept. */
const LARGEST_SINGLE_BYTES = 256 * 1024 * 1024;
/** Single objects that are read at the same time. */
const AT_ONCE = 64;

/** The objects in a folder of a git directory. */
export async function listObjects(objects: string): Promise<StoredObjects> {
  const packs: Record<string, StoredObjects['packs'][string]> = {};
  for (const name of await namesIn(join(objects, 'pack'))) {
    const digits = PACKED.exec(name)?.[1]?.length;
    if (digits !== undefined) packs[name] = await withFile(join(objects, 'pack', name), (file) => endOf(file, digits));
  }
  const folders = (await namesIn(objects)).filter(isFanOut);
  const single = await Promise.all(
    folders.map(async (folder) => (await namesIn(join(objects, folder))).map((rest) => folder + rest).filter(isId)),
  );
  return { packs, single: single.flat() };
}

/**
 * Removes all objects but those that were there `before` and are still what they were; false: some of them are not,
 * and none stay. Nobody else may be there: who could write the files could have changed what an id stands for.
 */
export async function keepObjects(objects: string, before: StoredObjects): Promise<boolean> {
  const folders = (await readdir(objects, { withFileTypes: true })).filter(
    (entry) => entry.isDirectory() && (entry.name === 'pack' || isFanOut(entry.name)),
  );
  const wanted = new Map<string, (file: FileHandle) => Promise<boolean>>();
  for (const [name, end] of Object.entries(before.packs))
    wanted.set(`pack/${name}`, (file) => isPackAsBefore(file, end));
  for (const id of before.single) wanted.set(`${id.slice(0, 2)}/${id.slice(2)}`, (file) => isObject(file, id));
  let kept = 0;
  for (const { name: folder } of folders) {
    // An agent may have closed it, or opened it to everybody.
    await chmod(join(objects, folder), 0o755);
    const entries = await readdir(join(objects, folder), { withFileTypes: true });
    for (let at = 0; at < entries.length; at += AT_ONCE)
      await Promise.all(
        entries.slice(at, at + AT_ONCE).map(async (entry) => {
          const path = join(objects, folder, entry.name);
          const isAsBefore = wanted.get(`${folder}/${entry.name}`);
          if (isAsBefore !== undefined && entry.isFile() && (await check(path, isAsBefore))) kept += 1;
          else await removeTree(path);
        }),
      );
  }
  if (kept === wanted.size) return true;
  for (const { name } of folders) await removeTree(join(objects, name));
  return false;
}

async function check(path: string, body: (file: FileHandle) => Promise<boolean>): Promise<boolean> {
  await chmod(path, 0o444);
  return await withFile(path, body).catch(() => false);
}

async function isPackAsBefore(file: FileHandle, before: StoredObjects['packs'][string]): Promise<boolean> {
  const digits = before.checksum.length;
  const now = await endOf(file, digits);
  if (now.bytes !== before.bytes || now.checksum !== before.checksum) return false;
  const hash = createHash(algorithmOf(digits));
  const all = file.createReadStream({
    start: 0,
    end: now.bytes - digits / 2 - 1,
    autoClose: false,
    highWaterMark: 2 ** 20,
  });
  for await (const chunk of all as AsyncIterable<Buffer>) hash.update(chunk);
  return hash.digest('hex') === before.checksum;
}

async function isObject(file: FileHandle, id: string): Promise<boolean> {
  const { size } = await file.stat();
  if (size > LARGEST_SINGLE_BYTES) return false;
  const content = inflateSync(await file.readFile(), { maxOutputLength: LARGEST_SINGLE_BYTES });
  return createHash(algorithmOf(id.length)).update(content).digest('hex') === id;
}

async function endOf(file: FileHandle, digits: number): Promise<StoredObjects['packs'][string]> {
  const { size } = await file.stat();
  const { buffer } = await file.read(Buffer.alloc(digits / 2), 0, digits / 2, size - digits / 2);
  return { bytes: size, checksum: buffer.toString('hex') };
}

function algorithmOf(digits: number): 'sha1' | 'sha256' {
  return digits === 64 ? 'sha256' : 'sha1';
}

function isFanOut(name: string): boolean {
  return /^[0-9a-f]{2}$/.test(name);
}

function isId(name: string): boolean {
  return /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(name);
}

/** None where there is no such folder. */
async function namesIn(folder: string): Promise<readonly string[]> {
  return await readdir(folder).catch(() => []);
}

async function withFile<T>(path: string, body: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    return await body(file);
  } finally {
    await file.close();
  }
}
