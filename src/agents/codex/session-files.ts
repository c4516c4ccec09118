import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ExportedSession, SessionPlace } from '../cli/cli.ts';
import { exportLines, foldLines, leftBehind, mayBeSession, type SessionForm } from '../cli/jsonl-session.ts';
import { keepOnly, listPlainFiles, placeFile } from '../cli/plain-files.ts';
import { asAmount, asObject, type JsonObject } from '../reading/json.ts';
import type { Hiding } from '../cli/signed-texts.ts';
import { UUID } from '../reading/session-id.ts';

/** See exportLines: the rollout, which is all that `resume` needs (0.169). */
export async function exportSession(
  { configFolder }: SessionPlace,
  { id, ...hiding }: { readonly id: string } & Hiding,
): Promise<ExportedSession> {
  if (!UUID.test(id)) return leftBehind('its id is not a UUID');
  const path = (await rolloutsOf(configFolder, id)).at(-1);
  return path === undefined
    ? leftBehind('it is missing, empty or not a plain file')
    : exportLines(join(configFolder, ...path), hiding, form);
}

/** Puts a rollout where `resume <id>` finds it; false when it cannot be one, or the id is none. */
export async function importSession(
  { configFolder }: SessionPlace,
  { id, content }: { readonly id: string; readonly content: Uint8Array },
): Promise<boolean> {
  if (!UUID.test(id) || !mayBeSession(content)) return false;
  // A second one of the same session could be the one that is found.
  for (const path of await rolloutsOf(configFolder, id)) await rm(join(configFolder, ...path), { force: true });
  await placeFile(configFolder, IMPORTED, { name: `rollout-${IMPORTED_AT}-${id}.jsonl`, content });
  return true;
}

/** Leaves nothing in the CLI's folder but conversations: instructions, variables and skills that an earlier call left there would count in this one. */
export async function resetHome(configFolder: string): Promise<void> {
  await keepOnly(configFolder, [SESSIONS]);
}

/** What a session has used so far; null: unknown. */
export async function tokensOf(configFolder: string, id: string): Promise<number | null> {
  if (!UUID.test(id)) return null;
  const path = (await rolloutsOf(configFolder, id).catch(() => [])).at(-1);
  return path === undefined
    ? null
    : foldLines<number | null>(join(configFolder, ...path), null, (last, entry) => totalIn(entry) ?? last);
}

const SESSIONS = 'sessions';

/** Any day will do. */
const IMPORTED = [SESSIONS, '2026', '01', '01'];
const IMPORTED_AT = '2026-01-01T00-00-00';

/** A run makes one or two; an agent that makes more is not followed into all of them. */
const MAX_DAYS = 400;

/** Files `sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`, the newest last. */
async function rolloutsOf(configFolder: string, id: string): Promise<readonly (readonly string[])[]> {
  let folders: readonly (readonly string[])[] = [[SESSIONS]];
  for (const digits of [/^\d{4}$/, /^\d\d$/, /^\d\d$/]) {
    const inner = await below(configFolder, folders, 'folder');
    folders = inner.filter((path) => digits.test(path.at(-1) ?? '')).slice(-MAX_DAYS);
  }
  const files = await below(configFolder, folders, 'file');
  return files.filter((path) => {
    const name = path.at(-1) ?? '';
    return name.startsWith('rollout-') && name.endsWith(`-${id}.jsonl`);
  });
}

async function below(
  root: string,
  folders: readonly (readonly string[])[],
  kind: 'file' | 'folder',
): Promise<readonly (readonly string[])[]> {
  const found = await Promise.all(
    folders.map(async (folder) => (await listPlainFiles(join(root, ...folder), kind)).map((name) => [...folder, name])),
  );
  return found.flat();
}

const form: SessionForm = {
  isMessage: ({ type }) => type === 'response_item',
  // Each prompt begins a turn.
  isPrompt: (entry) => entry['type'] === 'event_msg' && asObject(entry['payload'])?.['type'] === 'task_started',
  // It names the session.
  needsFirst: true,
};

function totalIn({ type, payload }: JsonObject): number | null {
  const event = asObject(payload);
  if (type !== 'event_msg' || event?.['type'] !== 'token_count') return null;
  const total = asObject(asObject(event['info'])?.['total_token_usage']);
  const input = asAmount(total?.['input_tokens']);
  const output = asAmount(total?.['output_tokens']);
  return input === null && output === null ? null : (input ?? 0) + (output ?? 0);
}
