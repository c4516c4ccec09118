import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { tryJson } from '../../core/text/try-json.ts';
import type { ExportedSession, SessionPlace } from '../cli/cli.ts';
import { exportLines, foldLines, leftBehind, mayBeSession } from '../cli/jsonl-session.ts';
import { keepOnly, listPlainFiles, placeFile, readPlainFile, realPathOfFolder } from '../cli/plain-files.ts';
import { asObject, type JsonObject } from '../reading/json.ts';
import type { Hiding } from '../cli/signed-texts.ts';
import { UUID } from '../reading/session-id.ts';

/** Where it keeps everything, folders of projects, and the name of the file in each that says whose it is. */
const HOME = '.gemini';
const FOLDERS = [HOME, 'tmp'];
const OWNER = '.project_root';
const CHATS = 'chats';
const KEPT = ['settings.json', 'tmp', 'projects.json'];
/** An agent can make as many as it likes. */
const MAX_PROJECTS = 100;
const MAX_HEAD_BYTES = 8 * 1024;

/** Reads a transcript, its secrets hidden. Later lines change earlier ones, so a long one cannot be cut. */
export async function exportSession(
  place: SessionPlace,
  { id, ...hiding }: { readonly id: string } & Hiding,
): Promise<ExportedSession> {
  if (!UUID.test(id)) return leftBehind('its id is not a UUID');
  const folder = join(place.configFolder, ...FOLDERS, await projectFolder(place), CHATS);
  let left = leftBehind('it is missing, empty or not a plain file');
  for (const path of await chatsOf(folder, id)) {
    const exported = await exportLines(path, hiding, { isMessage, isPrompt: null });
    if (exported.kind === 'exported') return exported;
    left = exported;
  }
  return left;
}

/**
 * Removes files of a session without a message: a CLI that goes on with one writes into the file that it found, and leaves
 * another behind that holds nothing but a newer date, by which the next start would take it.
 */
export async function removeEmptyChats(place: SessionPlace, id: string | null): Promise<void> {
  if (id === null || !UUID.test(id)) return;
  const folder = join(place.configFolder, ...FOLDERS, await projectFolder(place), CHATS);
  for (const path of await chatsOf(folder, id))
    if (await foldLines(path, true, (isEmpty, entry) => isEmpty && !isMessage(entry))) await rm(path, { force: true });
}

/** Puts a transcript where `--resume <id>` finds it; false when it is empty or too large, or the id is none. */
export async function importSession(
  place: SessionPlace,
  { id, content }: { readonly id: string; readonly content: Uint8Array },
): Promise<boolean> {
  if (!UUID.test(id) || !mayBeSession(content)) return false;
  const folder = [...FOLDERS, await projectFolder(place)];
  await placeFile(place.configFolder, folder, { name: OWNER, content: await realPathOfFolder(place.workFolder) });
  await placeFile(place.configFolder, [...folder, CHATS], { name: `session-imported-${shortOf(id)}.jsonl`, content });
  // Of two files of one session the CLI takes the one that says it is newer.
  const chats = join(place.configFolder, ...folder, CHATS);
  const others = (await listPlainFiles(chats, 'any')).filter(
    (name) => isOf(id, name) && !name.startsWith('session-imported-'),
  );
  await Promise.all(others.map((name) => rm(join(chats, name), { recursive: true, force: true })));
  return true;
}

/** Leaves nothing in its folder but conversations and our settings: rules, hooks or servers that an earlier call left there would count in this one. */
export async function resetHome(configFolder: string, settings: object): Promise<void> {
  await placeFile(configFolder, [HOME], { name: 'settings.json', content: JSON.stringify(settings) });
  await keepOnly(join(configFolder, HOME), KEPT);
  // Programs of its own, and what it would remember of a project.
  const projects = join(configFolder, ...FOLDERS);
  for (const name of await listPlainFiles(projects, 'any')) await keepOnly(join(projects, name), [OWNER, CHATS]);
}

/**
 * The folder of the project by what says whose it is; one of ours where there is none. The CLI looks there as well before
 * it makes a name of its own.
 */
async function projectFolder({ configFolder, workFolder }: SessionPlace): Promise<string> {
  const owner = await realPathOfFolder(workFolder);
  const root = join(configFolder, ...FOLDERS);
  const names = (await listPlainFiles(root, 'folder')).slice(0, MAX_PROJECTS);
  for (const name of names) if ((await textOf(join(root, name, OWNER)))?.trim() === owner) return name;
  return `ralph-${createHash('sha256').update(owner).digest('hex').slice(0, 16)}`;
}

/** Paths of the files of a session, the newest first. */
async function chatsOf(folder: string, id: string): Promise<readonly string[]> {
  const names = (await listPlainFiles(folder, 'file')).filter((name) => isOf(id, name) && name.endsWith('.jsonl'));
  const ids = await Promise.all(names.map((name) => sessionIdIn(join(folder, name))));
  return names
    .filter((_, at) => ids[at] === id)
    .map((name) => join(folder, name))
    .reverse();
}

/** A file of the session with this id, or of one whose id begins like it. */
function isOf(id: string, name: string): boolean {
  return (
    name.startsWith('session-') && (name.endsWith(`-${shortOf(id)}.jsonl`) || name.endsWith(`-${shortOf(id)}.json`))
  );
}

function shortOf(id: string): string {
  return id.slice(0, 8);
}

/** What the first line says. */
async function sessionIdIn(path: string): Promise<unknown> {
  const [line = ''] = ((await textOf(path)) ?? '').split('\n');
  return asObject(tryJson(line))?.['sessionId'];
}

/** The beginning of a file. */
async function textOf(path: string): Promise<string | null> {
  return readPlainFile(path, async (file, size) => {
    const buffer = Buffer.alloc(Math.min(size, MAX_HEAD_BYTES));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    return buffer.toString('utf8', 0, bytesRead);
  });
}

function isMessage({ type }: JsonObject): boolean {
  return type === 'user' || type === 'gemini';
}
