import { join } from 'node:path';
import { mapTexts } from '../../core/text/redact.ts';
import { tryJson } from '../../core/text/try-json.ts';
import { projectSlug } from '../claude/project-slug.ts';
import type { ExportedSession, SessionPlace } from '../cli/cli.ts';
import { exportLines, leftBehind, mayBeSession } from '../cli/jsonl-session.ts';
import { keepOnly, listPlainFiles, placeFile, readPlainFile, realPathOfFolder } from '../cli/plain-files.ts';
import { asAmount, asObject, asString, type JsonObject } from '../reading/json.ts';
import type { Hiding } from '../cli/signed-texts.ts';
import { UUID } from '../reading/session-id.ts';

/** Reads a transcript, its secrets hidden. Each line names the one before it, back to the first: a long one is not cut. */
export async function exportSession(
  place: SessionPlace,
  { id, ...hiding }: { readonly id: string } & Hiding,
): Promise<ExportedSession> {
  if (!UUID.test(id)) return leftBehind('its id is not a UUID');
  return exportLines(await transcriptPath(place, id), hiding, { isMessage, isPrompt: null });
}

/** Puts a transcript where `--resume <id>` finds it; false when it is empty or too large, or the id is none. */
export async function importSession(
  place: SessionPlace,
  { id, content }: { readonly id: string; readonly content: Uint8Array },
): Promise<boolean> {
  if (!UUID.test(id) || !mayBeSession(content)) return false;
  const folder = await realPathOfFolder(place.workFolder);
  const text = movedTo(folder, Buffer.from(content).toString('utf8'));
  if (text === null || !mayBeSession(Buffer.from(text))) return false;
  await placeFile(place.configFolder, foldersFor(folder), { name: `${id}.jsonl`, content: text });
  return true;
}

/** What the session had used before a call: the CLI prints sums. null: nothing, or unknown. */
export async function tokensOf(place: SessionPlace, id: string | null): Promise<number | null> {
  if (id === null || !UUID.test(id)) return null;
  const text = await readPlainFile(await transcriptPath(place, id), async (file, size) =>
    size > MAX_READ_BYTES ? null : (await file.readFile()).toString('utf8'),
  );
  return text === null ? null : text.split('\n').reduce((sum, line) => sum + tokensIn(line), 0);
}

/** Leaves nothing in its folder but conversations: settings, skills and extensions that an earlier call left there would count in this one. */
export async function resetHome({ configFolder }: SessionPlace): Promise<void> {
  await keepOnly(configFolder, [PROJECTS]);
  // Beside the conversations of a project, what it would remember.
  for (const project of await listPlainFiles(join(configFolder, PROJECTS), 'folder'))
    await keepOnly(join(configFolder, PROJECTS, project), [CHATS]);
}

const PROJECTS = 'projects';
const CHATS = 'chats';
const MAX_READ_BYTES = 64 * 1024 * 1024;

async function transcriptPath({ configFolder, workFolder }: SessionPlace, id: string): Promise<string> {
  return join(configFolder, ...foldersFor(await realPathOfFolder(workFolder)), `${id}.jsonl`);
}

function foldersFor(workFolder: string): readonly string[] {
  return [PROJECTS, projectSlug(workFolder), CHATS];
}

/** A session of another folder is not found, unless its lines name this one. */
function movedTo(folder: string, text: string): string | null {
  try {
    const lines = text.split('\n').map((line) => {
      const entry = asObject(tryJson(line));
      const from = asString(entry?.['cwd']);
      if (entry === null || from === null || from === folder || !/^\/./.test(from)) return line;
      return JSON.stringify(mapTexts(entry, (value) => value.replaceAll(from, folder)));
    });
    return lines.join('\n');
  } catch (error) {
    // An agent may nest too deeply for us.
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** One answer of the model is a line of its telemetry. */
function tokensIn(line: string): number {
  if (!line.includes('"qwen-code.api_response"')) return 0;
  const payload = asObject(asObject(tryJson(line))?.['systemPayload']);
  return asAmount(asObject(payload?.['uiEvent'])?.['total_token_count']) ?? 0;
}

function isMessage({ type }: JsonObject): boolean {
  return type === 'user' || type === 'assistant';
}
