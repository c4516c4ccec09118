import { createHash } from 'node:crypto';
import { lstat, mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MAX_SESSION_BYTES, MAX_STATE_BYTES } from '../core/lane/state/state.ts';
import { tryJson } from '../core/text/try-json.ts';
import type { FoundCopy, PartialCopy, Seal } from '../ports/state.ts';
import { getErrorText } from '../errors.ts';
import type { LaneId } from '../core/tasks/ids.ts';
import { MAX_CLOSED_BYTES } from './seal.ts';

/**
 * A stored copy's description of itself: the sha256 (hex) of each file by its path, and the lane and number of the
 * state.
 */
interface Manifest {
  readonly version: 1;
  readonly lane: LaneId;
  readonly sequence: number;
  readonly files: Readonly<Record<string, string>>;
  /** Signature of all fields above; null, or missing in copies of earlier versions, if the copy is not signed. */
  readonly signature?: string | null;
}

type Sign = Seal['sign'];

export type ReadCopy =
  | { readonly kind: 'intact'; readonly copy: FoundCopy & { readonly lane: LaneId } }
  | { readonly kind: 'refused'; readonly why: string };

/** Writes `copy` into the new folder `target`; throws an Error with a reason for people if the copy cannot be kept. */
export async function writeStateFolder(target: string, copy: PartialCopy, sign: Sign): Promise<void> {
  const { lane, sequence, document, transcript } = copy;
  if (document !== null && Buffer.byteLength(document) > MAX_STATE_BYTES)
    throw new Error(`the state document is larger than ${String(MAX_STATE_BYTES / 1024)} KiB`);
  const contents = new Map<string, Uint8Array>([
    ...(document === null ? [] : [[DOCUMENT_NAME, Buffer.from(document)] as const]),
    ...(transcript === null ? [] : [[TRANSCRIPT_NAME, transcript.content] as const]),
  ]);
  const files = Object.fromEntries([...contents].map(([path, content]) => [path, sha256(content)]));
  const manifest: Manifest = { version: 1, lane, sequence, files };
  const signature = sign(signedText(manifest));
  contents.set(MANIFEST_NAME, Buffer.from(JSON.stringify({ ...manifest, signature } satisfies Manifest)));
  await mkdir(target, { recursive: true });
  for (const [path, content] of contents) await writeFile(join(target, path), content);
}

/**
 * Reads the result of `writeStateFolder`; refuses the whole copy if anything is missing, added, changed, linked or too
 * large.
 */
export async function readStateFolder(source: string, sign: Sign): Promise<ReadCopy> {
  try {
    const contents = await readStateFiles(source, MAX_FOLDER_BYTES);
    const manifest = parseManifest(contents.get(MANIFEST_NAME));
    contents.delete(MANIFEST_NAME);
    if (manifest === null) return { kind: 'refused', why: 'its manifest is missing or unreadable' };
    const document = contents.get(DOCUMENT_NAME) ?? null;
    if (document !== null && document.length > MAX_STATE_BYTES)
      return { kind: 'refused', why: 'its state document is too large' };
    for (const [path, content] of contents) {
      if (manifest.files[path] !== sha256(content))
        return { kind: 'refused', why: `its file ${path} differs from the manifest` };
    }
    const missing = Object.keys(manifest.files).find((path) => !contents.has(path));
    if (missing !== undefined) return { kind: 'refused', why: 'a file from its manifest is missing' };
    const transcript = contents.get(TRANSCRIPT_NAME) ?? null;
    const { lane, sequence, signature = null } = manifest;
    return {
      kind: 'intact',
      copy: {
        lane,
        sequence,
        document: document?.toString('utf8') ?? null,
        transcript: transcript === null ? null : { sha256: sha256(transcript), content: transcript },
        signed: signature !== null && signature === sign(signedText(manifest)),
      },
    };
  } catch (error) {
    return { kind: 'refused', why: getErrorText(error) };
  }
}

const DOCUMENT_NAME = 'state.json';
const TRANSCRIPT_NAME = 'transcript';
const MANIFEST_NAME = 'manifest.json';
const MAX_MANIFEST_BYTES = 64 * 1024;
/** Maximum size of a copy's folder; earlier versions kept transcripts unsealed, in up to 200 files. */
const MAX_FOLDER_BYTES = MAX_STATE_BYTES + MAX_MANIFEST_BYTES + Math.max(MAX_CLOSED_BYTES, MAX_SESSION_BYTES);
const MAX_FILES = 200;

/**
 * Reads all files below `root` by their `/` path; throws for anything but plain files with plain names, and above
 * `maxBytes`.
 */
async function readStateFiles(root: string, maxBytes: number): Promise<Map<string, Buffer>> {
  const files = new Map<string, Buffer>();
  let bytes = 0;
  const visit = async (folder: string): Promise<void> => {
    for (const name of await readdir(join(root, folder))) {
      const path = folder === '' ? name : `${folder}/${name}`;
      if (!PLAIN_NAME.test(name) || name.includes('..')) throw new Error('it contains a file with an unsafe name');
      // Use `lstat`, with which a link is refused and never followed, and a pipe is never opened.
      const entry = await lstat(join(root, path));
      if (entry.isDirectory()) {
        await visit(path);
        continue;
      }
      if (!entry.isFile() || entry.nlink > 1) throw new Error(`${path} is a link or a special file`);
      bytes += entry.size;
      if (bytes > maxBytes) throw new Error(`it is larger than ${String(Math.floor(maxBytes / (1024 * 1024)))} MiB`);
      if (files.size === MAX_FILES) throw new Error(`it contains more than ${String(MAX_FILES)} files`);
      files.set(path, await readFile(join(root, path)));
    }
  };
  await visit('');
  return files;
}

const PLAIN_NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,200}$/;

function signedText({ version, lane, sequence, files }: Manifest): string {
  const entries = Object.entries(files).sort(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify([version, lane, sequence, entries]);
}

function sha256(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

function parseManifest(content: Buffer | undefined): Manifest | null {
  if (content === undefined || content.length > MAX_MANIFEST_BYTES) return null;
  const value = tryJson(content.toString('utf8')) as
    | { readonly [Field in keyof Manifest]?: unknown }
    | null
    | undefined;
  const isManifest =
    value?.version === 1 &&
    typeof value.lane === 'string' &&
    Number.isSafeInteger(value.sequence) &&
    typeof value.files === 'object' &&
    value.files !== null &&
    (value.signature === undefined || value.signature === null || typeof value.signature === 'string');
  return isManifest ? (value as Manifest) : null;
}
