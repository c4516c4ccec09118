import { constants } from 'node:fs';
import { mkdir, open, realpath, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** A transcript larger than this stays behind: the next call begins a fresh session. */
export const MAX_TRANSCRIPT_BYTES = 8 * 1024 * 1024;

/** Where Claude Code keeps its transcripts: `CLAUDE_CONFIG_DIR`, and the folder that it is started in. */
export interface SessionPlace {
  readonly configFolder: string;
  readonly workFolder: string;
}

/** Copies a transcript into `folder`, changed by `redact` line by line (what looks like the beginning of a key must not swallow the rest); false when there is none, or it is no plain file of at most 8 MiB. */
export async function exportSession(place: SessionPlace, session: { readonly id: string; readonly folder: string; readonly redact: (text: string) => string }): Promise<boolean> {
  return isSessionId(session.id) && copy({ from: await transcriptPath(place, session.id), to: join(session.folder, `${session.id}.jsonl`), change: (text) => text.split('\n').map(session.redact).join('\n') });
}

/** Puts a transcript from `folder` where `--resume <id>` finds it; false as for `exportSession`. */
export async function importSession(place: SessionPlace, session: { readonly id: string; readonly folder: string }): Promise<boolean> {
  return isSessionId(session.id) && copy({ from: join(session.folder, `${session.id}.jsonl`), to: await transcriptPath(place, session.id), change: (text) => text });
}

/** An id comes out of an agent's output or stored state; only a UUID may become part of a path or an argument. */
export function isSessionId(id: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id);
}

/** Name of the folder in which Claude Code (2.1.197 and 2.1.330) keeps the transcripts of `folder`, a path without symbolic links. */
export function projectSlug(folder: string): string {
  const slug = folder.replace(/[^A-Za-z0-9]/g, '-');
  if (slug.length <= 200) return slug;
  let hash = 0;
  for (let index = 0; index < folder.length; index++) hash = (hash * 31 + folder.charCodeAt(index)) | 0;
  return `${slug.slice(0, 200)}-${Math.abs(hash).toString(36)}`;
}

async function transcriptPath({ configFolder, workFolder }: SessionPlace, id: string): Promise<string> {
  return join(configFolder, 'projects', projectSlug(await realpath(workFolder)), `${id}.jsonl`);
}

async function copy({ from, to, change }: { readonly from: string; readonly to: string; readonly change: (text: string) => string }): Promise<boolean> {
  const text = await readTranscript(from);
  if (text === null) return false;
  await mkdir(dirname(to), { recursive: true });
  await writeFile(to, change(text), { mode: 0o600 });
  return true;
}

async function readTranscript(path: string): Promise<string | null> {
  // The agent can write here: a link to another file must not be followed, a pipe must not be waited for.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch((error: unknown) => {
    if (isAbsent(error)) return null;
    throw error;
  });
  if (file === null) return null;
  try {
    const stat = await file.stat();
    return stat.isFile() && stat.size > 0 && stat.size <= MAX_TRANSCRIPT_BYTES ? await file.readFile('utf8') : null;
  } finally {
    await file.close();
  }
}

function isAbsent(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : '';
  return code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP' || code === 'ENXIO';
}
