import { join } from 'node:path';
import type { ExportedSession, SessionPlace } from '../cli/cli.ts';
import { exportLines, leftBehind, mayBeSession } from '../cli/jsonl-session.ts';
import { placeFile, realPathOfFolder } from '../cli/plain-files.ts';
import { asArray, asObject, type JsonObject } from '../reading/json.ts';
import type { Hiding } from '../cli/signed-texts.ts';
import { UUID } from '../reading/session-id.ts';
import { projectSlug } from './project-slug.ts';

/**
 * Reads a transcript, its secrets hidden; a long one begins at a later prompt, which `--resume` takes for the
 * beginning (2.1.197 and 2.1.330): each line but the first names its parent, and the CLI takes one whose parent is gone
 * for the first. Files of subagents and of long tool results are left behind: the conversation is whole without them, and
 * names them by paths of this run only.
 */
export async function exportSession(
  folders: SessionPlace,
  { id, ...hiding }: { readonly id: string } & Hiding,
): Promise<ExportedSession> {
  if (!isSessionId(id)) return leftBehind('its id is not a UUID');
  const path = join(folders.configFolder, ...(await transcriptFolders(folders)), `${id}.jsonl`);
  return exportLines(path, hiding, { isMessage, isPrompt });
}

/** Puts a transcript where `--resume <id>` finds it; returns false if it is empty or too large, or if the id is not valid. */
export async function importSession(
  folders: SessionPlace,
  { id, content }: { readonly id: string; readonly content: Uint8Array },
): Promise<boolean> {
  if (!isSessionId(id) || !mayBeSession(content)) return false;
  await placeFile(folders.configFolder, await transcriptFolders(folders), { name: `${id}.jsonl`, content });
  return true;
}

/** An id comes out of an agent's output or stored state; only a UUID may become part of a path or an argument. */
export function isSessionId(id: string): boolean {
  return UUID.test(id);
}

async function transcriptFolders({ workFolder }: SessionPlace): Promise<readonly string[]> {
  return ['projects', projectSlug(await realPathOfFolder(workFolder))];
}

function isMessage({ type }: JsonObject): boolean {
  return type === 'user' || type === 'assistant';
}

/** A turn of ours. A tool's result is the user's turn as well, but without its call in front of it the API refuses it. */
function isPrompt({ type, isSidechain, isMeta, message }: JsonObject): boolean {
  if (type !== 'user' || isSidechain === true || isMeta === true) return false;
  const content = asObject(message)?.['content'];
  if (typeof content === 'string') return true;
  const blocks = asArray(content);
  return blocks.length > 0 && blocks.every((block) => asObject(block)?.['type'] === 'text');
}
