import { createHash, randomUUID } from 'node:crypto';
import { access, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { deflateSync, inflateSync } from 'node:zlib';
import type { ObjectId } from '../../core/evidence.ts';

/** Files of a tree by their path; folders are implied. */
export type FilesOf<Content> = ReadonlyMap<string, Content>;

/** A commit that contains exactly these files. */
export interface TreeCommit {
  readonly files: FilesOf<Uint8Array>;
  readonly subject: string;
  /** Lines `Name: value` below the subject. */
  readonly trailers: readonly string[];
  readonly parent: ObjectId | null;
  /** Instant in ms. */
  readonly now: number;
}

/** Maximum size of a snapshot, in bytes; anything larger is not ours. */
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_FILES = 20_000;
const FOLDER_MODE = '40000';

/**
 * Makes a commit of the files; no two calls make the same commit. Writes the missing objects directly, because git
 * commands for each update would cost more.
 */
export async function writeTreeCommit(objectsFolder: string, commit: TreeCommit): Promise<ObjectId> {
  const { files, subject, trailers, parent, now } = commit;
  const tree = await writeTree(objectsFolder, [...files]);
  const who = `ralph <ralph@localhost> ${String(Math.max(0, Math.floor(now / 1000)))} +0000`;
  // Without a random value, two machines could make the same commit at once, and both would believe that theirs was
  // accepted.
  const message = `${subject}\n\n${[...trailers, `Ralph-Write: ${randomUUID()}`].join('\n')}\n`;
  const lines = [
    `tree ${tree}`,
    ...(parent === null ? [] : [`parent ${parent}`]),
    `author ${who}`,
    `committer ${who}`,
    '',
    message,
  ];
  return await writeObject(objectsFolder, 'commit', Buffer.from(lines.join('\n')));
}

async function writeTree(
  objectsFolder: string,
  files: readonly (readonly [path: string, content: Uint8Array])[],
): Promise<ObjectId> {
  const folders = Map.groupBy(
    files.filter(([path]) => path.includes('/')),
    ([path]) => path.slice(0, path.indexOf('/')),
  );
  const entries: { readonly mode: string; readonly name: string; readonly id: ObjectId }[] = [];
  for (const [name, content] of files)
    if (!name.includes('/'))
      entries.push({ mode: '100644', name, id: await writeObject(objectsFolder, 'blob', content) });
  for (const [name, inner] of folders) {
    const id = await writeTree(
      objectsFolder,
      inner.map(([path, content]) => [path.slice(name.length + 1), content]),
    );
    entries.push({ mode: FOLDER_MODE, name, id });
  }
  // git's order: a folder is sorted as if its name ended with a slash.
  const sortKeyOf = ({ mode, name }: { readonly mode: string; readonly name: string }): string =>
    mode === FOLDER_MODE ? `${name}/` : name;
  entries.sort((one, other) => (sortKeyOf(one) < sortKeyOf(other) ? -1 : 1));
  const bytes = entries.flatMap(({ mode, name, id }) => [Buffer.from(`${mode} ${name}\0`), Buffer.from(id, 'hex')]);
  return await writeObject(objectsFolder, 'tree', Buffer.concat(bytes));
}

/**
 * Reads a fetched commit: its message and its files that are `wanted`. Throws Error if an object is missing or invalid.
 */
export async function readCommit(
  objectsFolder: string,
  id: ObjectId,
  wanted: (path: string) => boolean,
): Promise<{ readonly message: string; readonly files: FilesOf<Buffer> }> {
  const commit = (await readObject(objectsFolder, id, 'commit')).toString();
  const tree = /^tree ([0-9a-f]{40})$/m.exec(commit)?.[1] ?? '';
  const files = new Map<string, Buffer>();
  let bytes = 0;
  const visit = async (treeId: ObjectId, folder: string): Promise<void> => {
    for (const { mode, name, id: entry } of parseTreeEntries(await readObject(objectsFolder, treeId, 'tree'))) {
      const path = folder + name;
      if (mode === FOLDER_MODE && folder === '') await visit(entry, `${path}/`);
      if (!mode.startsWith('100') || !wanted(path)) continue;
      const content = await readObject(objectsFolder, entry, 'blob');
      bytes += content.length;
      if (bytes > MAX_BYTES || files.size === MAX_FILES) throw new Error('it is larger than any state of Ralph');
      files.set(path, content);
    }
  };
  await visit(tree, '');
  return { message: commit.slice(commit.indexOf('\n\n') + 2), files };
}

/** True if a commit exists here that git fetched or we wrote. */
export async function hasObject(objectsFolder: string, id: ObjectId): Promise<boolean> {
  return await access(pathOf(objectsFolder, id)).then(
    () => true,
    () => false,
  );
}

function parseTreeEntries(
  tree: Buffer,
): readonly { readonly mode: string; readonly name: string; readonly id: ObjectId }[] {
  const entries: { readonly mode: string; readonly name: string; readonly id: ObjectId }[] = [];
  for (let at = 0; at < tree.length;) {
    const end = tree.indexOf(0, at);
    const [mode = '', name = ''] = tree.subarray(at, end).toString().split(/ (.*)/s);
    entries.push({ mode, name, id: tree.subarray(end + 1, end + 21).toString('hex') });
    at = end + 21;
  }
  return entries;
}

type ObjectType = 'blob' | 'tree' | 'commit';

/** Reads a loose object: fetches are configured to keep each object in a file. */
async function readObject(objectsFolder: string, id: ObjectId, type: ObjectType): Promise<Buffer> {
  const bytes = inflateSync(await readFile(pathOf(objectsFolder, id)), { maxOutputLength: MAX_BYTES });
  const end = bytes.indexOf(0);
  if (!bytes.subarray(0, end).toString().startsWith(`${type} `)) throw new Error(`${id} is not a ${type}`);
  return bytes.subarray(end + 1);
}

/** Writes a loose object, as gitformat-loose describes it. */
async function writeObject(objectsFolder: string, type: ObjectType, content: Uint8Array): Promise<ObjectId> {
  const bytes = Buffer.concat([Buffer.from(`${type} ${String(content.length)}\0`), content]);
  const id = createHash('sha1').update(bytes).digest('hex');
  if (await hasObject(objectsFolder, id)) return id;
  const path = pathOf(objectsFolder, id);
  await mkdir(dirname(path), { recursive: true });
  const fresh = join(objectsFolder, `tmp_obj_${randomUUID()}`);
  await writeFile(fresh, deflateSync(bytes));
  await rename(fresh, path);
  return id;
}

function pathOf(objectsFolder: string, id: ObjectId): string {
  return join(objectsFolder, id.slice(0, 2), id.slice(2));
}
