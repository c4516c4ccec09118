import { createHash, randomUUID } from 'node:crypto';
import { access, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { deflateSync } from 'node:zlib';
import type { ObjectId } from '../../core/evidence.ts';
import type { CellRead } from '../../ports/state.ts';
import type { Git } from '../git.ts';

/** A stored text is at most this long, in bytes; the largest that is ever written is a record of 160 Ki characters. */
export const MAX_TEXT_BYTES = 256 * 1024;

/** The file of a state commit that holds the text. */
const FILE_NAME = 'state.json';

/** What a ref without a readable text answers with, so that its head is known and it can be replaced. */
const NO_TEXT = '{}';

/** A commit to make of one file; `depth` is the number of commits that its history will have, itself included. */
export interface FileCommit {
  readonly name: string;
  readonly fileName: string;
  readonly content: Uint8Array;
  readonly parent: ObjectId | null;
  readonly depth: number;
  /** Instant in ms. */
  readonly now: number;
}

/** Makes a commit that holds the text, in each of the folders. */
export async function commitText(
  objectsFolders: readonly string[],
  { text, ...commit }: Omit<FileCommit, 'fileName' | 'content'> & { readonly text: string },
): Promise<ObjectId> {
  return commitFile(objectsFolders, { ...commit, fileName: FILE_NAME, content: Buffer.from(text) });
}

/**
 * Makes a commit that holds the file and nothing else; never the same one twice.
 * Its three objects are written here: a git command for each save would cost more than all of this does.
 */
export async function commitFile(
  objectsFolders: readonly string[],
  { name, fileName, content, parent, depth, now }: FileCommit,
): Promise<ObjectId> {
  const blob = await writeObject(objectsFolders, 'blob', content);
  const tree = await writeObject(
    objectsFolders,
    'tree',
    Buffer.concat([Buffer.from(`100644 ${fileName}\0`), Buffer.from(blob, 'hex')]),
  );
  const who = `ralph <ralph@localhost> ${String(Math.max(0, Math.floor(now / 1000)))} +0000`;
  // Without a word of chance two machines could make the same commit at once, and both would think that theirs was taken.
  const message = `ralph state ${name}\n\n${DEPTH_TRAILER}: ${String(depth)}\nRalph-Write: ${randomUUID()}\n`;
  const lines = [
    `tree ${tree}`,
    ...(parent === null ? [] : [`parent ${parent}`]),
    `author ${who}`,
    `committer ${who}`,
    '',
    message,
  ];
  return await writeObject(objectsFolders, 'commit', Buffer.from(lines.join('\n')));
}

/** Whether a commit is there that git fetched or we wrote: a handful of objects, which git leaves in a file each. */
export async function hasObject(objectsFolder: string, id: ObjectId): Promise<boolean> {
  return await access(pathOf(objectsFolder, id)).then(
    () => true,
    () => false,
  );
}

/** Takes an object over into another folder. */
export async function copyObject(
  { from, to }: { readonly from: string; readonly to: string },
  id: ObjectId,
): Promise<void> {
  await layObject(to, id, await readFile(pathOf(from, id)));
}

/** A loose object, as gitformat-loose describes it. */
async function writeObject(
  objectsFolders: readonly string[],
  type: 'blob' | 'tree' | 'commit',
  content: Uint8Array,
): Promise<ObjectId> {
  const bytes = Buffer.concat([Buffer.from(`${type} ${String(content.length)}\0`), content]);
  const id = createHash('sha1').update(bytes).digest('hex');
  const packed = deflateSync(bytes);
  for (const folder of objectsFolders) await layObject(folder, id, packed);
  return id;
}

async function layObject(objectsFolder: string, id: ObjectId, packed: Buffer): Promise<void> {
  const path = pathOf(objectsFolder, id);
  await mkdir(dirname(path), { recursive: true });
  const fresh = join(objectsFolder, `tmp_obj_${randomUUID()}`);
  await writeFile(fresh, packed);
  await rename(fresh, path);
}

function pathOf(objectsFolder: string, id: ObjectId): string {
  return join(objectsFolder, id.slice(0, 2), id.slice(2));
}

const DEPTH_TRAILER = 'Ralph-Depth';

/** What a ref holds, and how long its history is; null when the commit does not say so: a person made it. */
export type TextOfRef = { readonly read: Extract<CellRead, { kind: 'found' }>; readonly depth: number | null } | null;

/** The texts of refs of this repository, in their order; null for one that does not exist. Whatever else a ref points to has no text. */
export async function readTexts(git: Git, refs: readonly string[]): Promise<readonly TextOfRef[]> {
  const { exitCode, stdout } = await git.answer(['cat-file', '--batch', '--buffer'], {
    input: refs.map((ref) => `${ref}\n${ref}:${FILE_NAME}\n`).join(''),
  });
  if (exitCode !== 0)
    throw new Error(`git cannot read what ${refs.join(', ')} point to: look at them, and delete what is not a state`);
  const found = parseObjects(stdout, 2 * refs.length);
  return refs.map((_, i) => {
    const [target, file] = [found[2 * i] ?? null, found[2 * i + 1] ?? null];
    if (target === null) return null;
    const text = file?.type === 'blob' && file.content.length <= MAX_TEXT_BYTES ? file.content.toString() : NO_TEXT;
    return {
      read: { kind: 'found', head: target.id, text },
      depth: target.type === 'commit' ? depthOf(target.content.subarray(0, 4096).toString()) : null,
    };
  });
}

interface FoundObject {
  readonly id: ObjectId;
  readonly type: string;
  readonly content: Buffer;
}

/** For each asked name a line `<id> <type> <bytes>` and the content, or a line that says that it is missing. */
function parseObjects(answer: Buffer, count: number): readonly (FoundObject | null)[] {
  let at = 0;
  return Array.from({ length: count }, () => {
    const end = answer.indexOf(10, at);
    const [, id = '', type = '', bytes = ''] =
      /^([0-9a-f]{40,64}) ([a-z]+) (\d+)$/.exec(answer.subarray(at, end).toString()) ?? [];
    const start = end + 1;
    at = id === '' ? start : start + Number(bytes) + 1;
    return id === '' ? null : { id, type, content: answer.subarray(start, at - 1) };
  });
}

function depthOf(commit: string): number | null {
  const depth = new RegExp(`^${DEPTH_TRAILER}: ([1-9]\\d{0,3})$`, 'm').exec(commit)?.[1];
  return depth === undefined ? null : Number(depth);
}
