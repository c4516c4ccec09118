import { type FileHandle, lstat, mkdir, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { MAX_SESSION_BYTES } from '../../core/lane/state/state.ts';
import { tryJson } from '../../core/text/try-json.ts';
import { asObject, type JsonObject } from '../reading/json-value.ts';
import type { ExportedSession } from './cli.ts';
import { hideSecrets, type TranscriptRedaction } from './signed-texts.ts';
import { usePlainFile } from '../../files/plain-file.ts';

/** The form of the lines in one CLI's transcripts. */
export interface SessionForm {
  readonly isMessage: (entry: JsonObject) => boolean;
  /**
   * Returns true if a shortened transcript may begin here, and nowhere else; null if no transcript may be shortened.
   */
  readonly isPrompt: ((entry: JsonObject) => boolean) | null;
  /** Set if the first line describes the whole session and stays in a shortened transcript. */
  readonly needsFirst?: true;
}

/**
 * Exports a transcript of JSON lines without secrets. The export has at most MAX_SESSION_BYTES; it begins at the first
 * prompt from which the rest fits.
 */
export async function exportLines(
  path: string,
  hiding: TranscriptRedaction,
  form: SessionForm,
): Promise<ExportedSession> {
  const tail = await readPlainFile(path, (file, size) => readTail(file, size, form));
  if (tail === null) return createEmptyExport('it is missing, empty or not a plain file');
  if (tail.isCut && form.isPrompt === null) return createEmptyExport(TOO_LARGE);
  const kept = tryKeepLines(tail, hiding, form);
  if (kept === null) return createEmptyExport(SIGNED_SECRET);
  const { content, hasMessage } = kept;
  if (!hasMessage)
    return createEmptyExport(
      tail.isCut
        ? `its last prompt and the answer to it are larger than ${String(MAX_MEBIBYTES)} MiB`
        : 'it contains no message',
    );
  // Check the size again, because decoding makes bytes longer that are not UTF-8.
  if (content.length > MAX_SESSION_BYTES) return createEmptyExport(TOO_LARGE);
  return { kind: 'exported', isCut: tail.isCut, content };
}

/** The reason for leaving out a whole session. */
export const SIGNED_SECRET = 'a secret is in what its provider signed or encrypted';

/** Returns an export without content. `why` completes "The transcript is not kept: …". */
export function createEmptyExport(why: string): ExportedSession {
  return { kind: 'left-behind', why };
}

/** Returns true if the size is possible for a transcript. */
export function hasSessionSize(content: Uint8Array): boolean {
  return content.length > 0 && content.length <= MAX_SESSION_BYTES;
}

/**
 * Folds the kept lines of a transcript into one value. Returns `start` if there is no transcript or it may not be read.
 */
export async function foldLines<T>(path: string, start: T, fold: (folded: T, entry: JsonObject) => T): Promise<T> {
  const tail = await readPlainFile(path, (file, size) => readTail(file, size, {})).catch(() => null);
  let folded = start;
  for (const line of linesOf(tail?.bytes ?? Buffer.alloc(0))) {
    const entry = parseEntry(line);
    if (entry !== null) folded = fold(folded, entry);
  }
  return folded;
}

const MAX_MEBIBYTES = MAX_SESSION_BYTES / (1024 * 1024);

const TOO_LARGE = `it is larger than ${String(MAX_MEBIBYTES)} MiB`;

/** Maximum size of a first line that is kept. */
const MAX_FIRST_BYTES = 1024 * 1024;

/** Whole lines at the end of a transcript. */
interface Tail {
  /** The first line of a shortened transcript, if it is needed; empty otherwise. */
  readonly first: Buffer;
  readonly bytes: Buffer;
  readonly isCut: boolean;
}

/** Reads the last MAX_SESSION_BYTES at most; the rest of a larger file is never in memory. */
async function readTail(
  file: FileHandle,
  size: number,
  { needsFirst }: Pick<SessionForm, 'needsFirst'>,
): Promise<Tail> {
  const isCut = size > MAX_SESSION_BYTES;
  const first = isCut && needsFirst === true ? await readFirst(file) : Buffer.alloc(0);
  // Read one extra byte, which shows whether a line begins exactly at the limit.
  const buffer = Buffer.alloc(isCut ? MAX_SESSION_BYTES - first.length + 1 : size);
  const { bytesRead } = await file.read(buffer, 0, buffer.length, size - buffer.length);
  const bytes = buffer.subarray(0, bytesRead);
  return { first, bytes: isCut ? bytes.subarray(lineBreakIndex(bytes, 0) + 1) : bytes, isCut };
}

async function readFirst(file: FileHandle): Promise<Buffer> {
  const buffer = Buffer.alloc(MAX_FIRST_BYTES);
  const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
  return buffer.subarray(0, buffer.subarray(0, bytesRead).indexOf('\n') + 1);
}

function tryKeepLines(...[tail, hiding, form]: Parameters<typeof keepLines>): ReturnType<typeof keepLines> | null {
  try {
    return keepLines(tail, hiding, form);
  } catch (error) {
    if (error instanceof SignedSecret) return null;
    throw error;
  }
}

/**
 * Yields the lines to keep. A line that is not JSON is left out: the CLI was killed while writing it and cannot read it
 * either.
 */
function keepLines(
  { first, bytes, isCut }: Tail,
  hiding: TranscriptRedaction,
  { isMessage, isPrompt }: SessionForm,
): { readonly content: Buffer; readonly hasMessage: boolean } {
  const head = first.toString().trim();
  const entry = parseEntry(head);
  const firstLine = entry === null ? null : redactLine(head, entry, hiding);
  const kept: Buffer[] = firstLine === null ? [] : [Buffer.from(`${firstLine}\n`)];
  let hasBegun = !isCut;
  let hasMessage = false;
  for (const line of linesOf(bytes)) {
    const entry = parseEntry(line);
    hasBegun ||= entry !== null && isPrompt?.(entry) === true;
    const redacted = entry !== null && hasBegun ? redactLine(line, entry, hiding) : null;
    if (redacted === null) continue;
    kept.push(Buffer.from(`${redacted}\n`));
    hasMessage ||= entry !== null && isMessage(entry);
  }
  return { content: Buffer.concat(kept), hasMessage };
}

/** Yields lines one by one: together, they would take several times the memory as text. */
function* linesOf(bytes: Buffer): Generator<string> {
  for (let start = 0; start < bytes.length;) {
    const end = lineBreakIndex(bytes, start);
    yield bytes.toString('utf8', start, end);
    start = end + 1;
  }
}

/** Returns the index of the line's break; the last line may have none. */
function lineBreakIndex(bytes: Buffer, start: number): number {
  const end = bytes.indexOf('\n', start);
  return end < 0 ? bytes.length : end;
}

function parseEntry(line: string): JsonObject | null {
  return asObject(tryJson(line));
}

/**
 * Returns the line without secrets, or null if nothing readable is left of it. Throws SignedSecret if the whole session
 * has to be left out.
 */
function redactLine(line: string, entry: JsonObject, hiding: TranscriptRedaction): string | null {
  try {
    // Keep a line without escapes that redacting does not change: its texts are in it as they are.
    if (!line.includes('\\') && hiding.redact(line) === line) return line;
    const hidden = hideSecrets(entry, hiding);
    if (hidden.kind === 'signed') throw new SignedSecret();
    if (hidden.kind === 'unchanged') return line;
    return parseEntry(hidden.json) === null ? null : hidden.json;
  } catch (error) {
    // Drop lines that are nested too deeply for this program, because an agent may write such lines.
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/**
 * Thrown for a secret in signed content: without that block, or with a changed one, the provider would refuse the
 * session.
 */
class SignedSecret extends Error {}

/**
 * Returns the result of `read` for a file in a folder that an agent can write; null if it is absent, empty or not a
 * plain file.
 */
export async function readPlainFile<T>(
  path: string,
  read: (file: FileHandle, size: number) => Promise<T> | null,
): Promise<T | null> {
  return usePlainFile(path, (file, { size }) => (size > 0 ? read(file, size) : null)).catch((error: unknown) => {
    if (isAbsent(error)) return null;
    throw error;
  });
}

/** Writes a file below a folder that an agent can write, and removes anything in the way, above all links. */
export async function placeFile(
  root: string,
  [...folders]: readonly string[],
  file: { readonly name: string; readonly content: Uint8Array | string },
): Promise<void> {
  await mkdir(root, { recursive: true });
  let folder = root;
  for (const name of folders) {
    folder = join(folder, name);
    await makeFolder(folder);
  }
  const path = join(folder, file.name);
  await rm(path, { recursive: true, force: true });
  await writeFile(path, file.content, { mode: 0o600, flag: 'wx' });
}

/** Removes the entry of this name below a folder that an agent can write. */
export async function removeFile(root: string, [...folders]: readonly string[], name: string): Promise<void> {
  let folder = root;
  for (const part of folders) {
    folder = join(folder, part);
    const stats = await lstat(folder).catch(() => null);
    // Do not follow a link, behind which another entry would be removed.
    if (stats?.isDirectory() !== true) return;
  }
  await rm(join(folder, name), { recursive: true, force: true });
}

/** Removes all entries but those with one of the names from a folder that an agent can write. */
export async function removeAllBut(folder: string, kept: readonly string[]): Promise<void> {
  const names = (await listPlainFiles(folder, 'any')).filter((name) => !kept.includes(name));
  await Promise.all(names.map((name) => rm(join(folder, name), { recursive: true, force: true })));
}

/** Returns the names of entries in a folder that an agent can write, in order; links are only included with `any`. */
export async function listPlainFiles(folder: string, kind: 'file' | 'folder' | 'any'): Promise<readonly string[]> {
  const stats = await lstat(folder).catch(() => null);
  if (stats?.isDirectory() !== true) return [];
  const entries = await readdir(folder, { withFileTypes: true });
  return entries
    .filter((entry) => kind === 'any' || (kind === 'file' ? entry.isFile() : entry.isDirectory()))
    .map(({ name }) => name)
    .sort();
}

async function makeFolder(folder: string): Promise<void> {
  const stats = await lstat(folder).catch(() => null);
  if (stats?.isDirectory() === true) return;
  await rm(folder, { force: true });
  await mkdir(folder);
}

function isAbsent(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : '';
  return code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP' || code === 'ENXIO';
}

/** Returns the real path of a folder, or the one that it had if it no longer exists. */
export async function realPathOfFolder(path: string): Promise<string> {
  return await realpath(path).catch(async () =>
    dirname(path) === path ? path : join(await realPathOfFolder(dirname(path)), basename(path)),
  );
}
