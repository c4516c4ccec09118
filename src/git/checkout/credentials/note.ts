import { createHmac, timingSafeEqual } from 'node:crypto';
import { lstat, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { UserError } from '../../../errors.ts';
import { readRegular, writeRegular } from '../../regular-files.ts';

/** Where the note is, and what seals it: 32 bytes, the same in `post`. */
export interface NotePlace {
  readonly workFolder: string;
  readonly sealKey: Buffer;
}

/** A setting without what is secret in it; `value` is null where the key stands alone. */
export type NotedSetting =
  | { readonly is: 'text'; readonly key: string; readonly value: string | null }
  /** The header that the job's token gives. */
  | { readonly is: 'token-header'; readonly key: string };

/** What is on disk of a file whose credentials are hidden: everything but the credentials. */
export interface NotedFile {
  readonly path: string;
  /** Where its folder really is: a link in its place leads elsewhere. */
  readonly folder: string;
  /** Permissions only. */
  readonly mode: number;
  /** null: it is no git config, and nothing of it can be made again. */
  readonly settings: readonly NotedSetting[] | null;
  /** Whether all its credentials are what the job's token gives. */
  readonly isComplete: boolean;
}

const FILE = 'hidden-credentials.json';
/** A git config has some kilobytes; far more than that is not ours. */
const MAX_NOTE_BYTES = 16 * 1024 * 1024;

/** Writes the note, sealed, whole or not at all. */
export async function writeNote({ workFolder, sealKey }: NotePlace, files: readonly NotedFile[]): Promise<void> {
  const text = JSON.stringify({ version: 1, files });
  await writeRegular(join(workFolder, FILE), `${sealOf(text, sealKey)}\n${text}`, { mode: 0o600 });
}

/** Reads the note; null: there is none. Throws a UserError for what is not, byte for byte, what `writeNote` wrote. */
export async function readNote({ workFolder, sealKey }: NotePlace): Promise<readonly NotedFile[] | null> {
  const path = join(workFolder, FILE);
  const file = await readRegular(path, MAX_NOTE_BYTES);
  if (file === null) {
    if (await lstat(path).catch(() => null)) throw notOurs();
    return null;
  }
  const content = file.bytes.toString();
  const end = content.indexOf('\n');
  const text = content.slice(end + 1);
  const [found, made] = [Buffer.from(content.slice(0, Math.max(0, end))), Buffer.from(sealOf(text, sealKey))];
  if (found.length !== made.length || !timingSafeEqual(found, made)) throw notOurs();
  const note = JSON.parse(text) as { readonly version: number; readonly files: readonly NotedFile[] };
  if (note.version !== 1) throw notOurs();
  return note.files;
}

/** Nothing is hidden any more. */
export async function removeNote({ workFolder }: Pick<NotePlace, 'workFolder'>): Promise<void> {
  await rm(join(workFolder, FILE), { recursive: true, force: true });
}

/** The settings as a git config file; `header` is what the job's token gives. */
export function renderConfig(settings: readonly NotedSetting[], header: string): string {
  return settings
    .map((setting) => {
      const { key } = setting;
      const [first, last] = [key.indexOf('.'), key.lastIndexOf('.')];
      const inner = first === last ? '' : ` "${key.slice(first + 1, last).replaceAll(/["\\]/g, '\\$&')}"`;
      const value = setting.is === 'text' ? setting.value : header;
      return `[${key.slice(0, first)}${inner}]\n\t${key.slice(last + 1)}${value === null ? '' : ` = ${quoted(value)}`}\n`;
    })
    .join('');
}

function quoted(value: string): string {
  const escaped = value.replaceAll(/["\\]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\t', '\\t');
  return `"${escaped}"`;
}

function sealOf(text: string, key: Buffer): string {
  return createHmac('sha256', key).update('hidden credentials\n').update(text).digest('hex');
}

function notOurs(): UserError {
  return new UserError(
    'infrastructure',
    'the note of them is not what this run wrote. Check out again before a later step of this job uses git.',
  );
}
