import { constants } from 'node:fs';
import { mkdir, open, realpath, rm, writeFile, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { mapTexts } from '../../core/text/redact.ts';
import { MAX_SESSION_BYTES } from '../../core/lane/state.ts';
import { tryJson } from '../../core/text/try-json.ts';
import type { ExportedSession, SessionPlace } from '../cli/cli.ts';
import { projectSlug } from './project-slug.ts';

/**
 * Reads a transcript, its texts changed by `redact`, at most `maxSessionBytes` of it: a longer one begins
 * at the first prompt that fits, which `--resume` takes for the beginning (2.1.197 and 2.1.330). Files of subagents and
 * of long tool results are left behind: the conversation is whole without them, and names them by paths of this run only.
 */
export async function exportSession(
  folders: SessionPlace,
  session: { readonly id: string; readonly redact: (text: string) => string },
): Promise<ExportedSession> {
  if (!isSessionId(session.id)) return leftBehind('its id is not a UUID');
  const tail = await readPlainFile(await transcriptPath(folders, session.id), readTail);
  if (tail === null) return leftBehind('it is missing, empty or not a plain file');
  const { content, hasMessage } = keepLines(tail, session.redact);
  if (!hasMessage)
    return leftBehind(
      tail.isCut
        ? `its last prompt and the answer to it are larger than ${MAX_MEBIBYTES} MiB`
        : 'it contains no message',
    );
  // Bytes that are no UTF-8 have grown when they were read.
  if (content.length > MAX_SESSION_BYTES) return leftBehind(`it is larger than ${MAX_MEBIBYTES} MiB`);
  return { kind: 'exported', isCut: tail.isCut, content };
}

/** Puts a transcript where `--resume <id>` finds it; false when it is empty or larger than `maxSessionBytes`, or the id is none. */
export async function importSession(
  folders: SessionPlace,
  { id, content }: { readonly id: string; readonly content: Uint8Array },
): Promise<boolean> {
  if (!isSessionId(id) || content.length === 0 || content.length > MAX_SESSION_BYTES) return false;
  const path = await transcriptPath(folders, id);
  await mkdir(dirname(path), { recursive: true });
  // Whatever an agent put in its place is not opened.
  await rm(path, { recursive: true, force: true });
  await writeFile(path, content, { mode: 0o600, flag: 'wx' });
  return true;
}

/** An id comes out of an agent's output or stored state; only a UUID may become part of a path or an argument. */
export function isSessionId(id: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id);
}

const MAX_MEBIBYTES = MAX_SESSION_BYTES / (1024 * 1024);

function leftBehind(why: string): ExportedSession {
  return { kind: 'left-behind', why };
}

async function transcriptPath({ configFolder, workFolder }: SessionPlace, id: string): Promise<string> {
  return join(configFolder, 'projects', projectSlug(await realpath(workFolder)), `${id}.jsonl`);
}

/** Whole lines at the end of a transcript. */
interface Tail {
  readonly bytes: Buffer;
  readonly isCut: boolean;
}

/** The last `maxSessionBytes` at most, whatever the size: the rest is never in memory. */
async function readTail(file: FileHandle, size: number): Promise<Tail> {
  const isCut = size > MAX_SESSION_BYTES;
  // One byte more tells whether a line begins exactly at the limit.
  const buffer = Buffer.alloc(isCut ? MAX_SESSION_BYTES + 1 : size);
  const { bytesRead } = await file.read(buffer, 0, buffer.length, size - buffer.length);
  const bytes = buffer.subarray(0, bytesRead);
  return { bytes: isCut ? bytes.subarray(endOfLine(bytes, 0) + 1) : bytes, isCut };
}

/** The lines to keep. One that is no JSON is left out: the CLI was killed while it wrote it, and cannot read it either. */
function keepLines(
  { bytes, isCut }: Tail,
  redact: (text: string) => string,
): { readonly content: Buffer; readonly hasMessage: boolean } {
  const kept: Buffer[] = [];
  let hasBegun = !isCut;
  let hasMessage = false;
  for (const line of linesOf(bytes)) {
    const entry = parseEntry(line);
    hasBegun ||= entry !== null && isPrompt(entry);
    const redacted = entry !== null && hasBegun ? redactLine(line, entry, redact) : null;
    if (redacted === null) continue;
    kept.push(Buffer.from(`${redacted}\n`));
    hasMessage ||= entry?.type === 'user' || entry?.type === 'assistant';
  }
  return { content: Buffer.concat(kept), hasMessage };
}

/** One after another: as text, all of them would take several times the memory. */
function* linesOf(bytes: Buffer): Generator<string> {
  for (let start = 0; start < bytes.length;) {
    const end = endOfLine(bytes, start);
    yield bytes.toString('utf8', start, end);
    start = end + 1;
  }
}

/** Where the line's break is; the last line may have none. */
function endOfLine(bytes: Buffer, start: number): number {
  const end = bytes.indexOf('\n', start);
  return end < 0 ? bytes.length : end;
}

/** What we know of a line. Each but the first of a conversation names its parent; the CLI takes one whose parent is gone for the first. */
interface Entry {
  readonly type?: unknown;
  readonly isSidechain?: unknown;
  readonly isMeta?: unknown;
  readonly message?: { readonly content?: unknown } | null;
}

function parseEntry(line: string): Entry | null {
  const value = tryJson(line);
  return typeof value === 'object' && !Array.isArray(value) ? value : null;
}

/** A turn of ours. A tool's result is the user's turn as well, but without its call in front of it the API refuses it. */
function isPrompt({ type, isSidechain, isMeta, message }: Entry): boolean {
  if (type !== 'user' || isSidechain === true || isMeta === true) return false;
  const content = message?.content;
  return (
    typeof content === 'string' ||
    (Array.isArray(content) &&
      content.length > 0 &&
      content.every((block) => (block as { type?: unknown } | null)?.type === 'text'))
  );
}

/** null when nothing readable is left of it. */
function redactLine(line: string, entry: Entry, redact: (text: string) => string): string | null {
  try {
    // Without an escape in the line, what is in its texts is in the line as well.
    if (!line.includes('\\') && redact(line) === line) return line;
    let changes = 0;
    // Text by text: what looks like the beginning of a private key must not swallow the rest of the line.
    const redacted = mapTexts(entry, (text) => {
      const rest = redact(text);
      if (rest !== text) changes += 1;
      return rest;
    });
    // The names of properties are left, which a tool's input may choose.
    const whole = redact(changes > 0 ? JSON.stringify(redacted) : line);
    return parseEntry(whole) === null ? null : whole;
  } catch (error) {
    // An agent may write lines that are nested too deeply for us.
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** What `read` makes of the file; null when it is absent, empty or no plain file. */
async function readPlainFile<T>(
  path: string,
  read: (file: FileHandle, size: number) => Promise<T> | null,
): Promise<T | null> {
  // The agent can write here: a link to another file must not be followed, a pipe must not be waited for.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    (error: unknown) => {
      if (isAbsent(error)) return null;
      throw error;
    },
  );
  if (file === null) return null;
  try {
    const stat = await file.stat();
    return stat.isFile() && stat.size > 0 ? await read(file, stat.size) : null;
  } finally {
    await file.close();
  }
}

function isAbsent(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : '';
  return code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP' || code === 'ENXIO';
}
