import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ExportedSession, SessionPlace } from '../cli/cli.ts';
import { exportLines, foldLines, leftBehind, mayBeSession, type SessionForm } from '../cli/jsonl-session.ts';
import { placeFile } from '../cli/plain-files.ts';
import { asAmount, asObject, asString, type JsonObject } from '../reading/json.ts';
import type { Hiding } from '../cli/signed-texts.ts';
import { UUID } from '../reading/session-id.ts';
import { CACHE, SETTINGS } from './command-line.ts';

/** See exportLines: the session's events, which are all that `--resume` needs (1.0.102). */
export async function exportSession(
  { configFolder }: SessionPlace,
  { id, ...hiding }: { readonly id: string } & Hiding,
): Promise<ExportedSession> {
  if (!UUID.test(id)) return leftBehind('its id is not a UUID');
  return exportLines(eventsOf(configFolder, id), hiding, form);
}

/** Puts events where `--resume <id>` finds them; false when they cannot be a session's, or the id is none. */
export async function importSession(
  { configFolder }: SessionPlace,
  { id, content }: { readonly id: string; readonly content: Uint8Array },
): Promise<boolean> {
  if (!UUID.test(id) || !mayBeSession(content)) return false;
  // What stands beside the events is read as well.
  await rm(join(configFolder, SESSIONS, id), { recursive: true, force: true });
  await placeFile(configFolder, [SESSIONS, id], { name: EVENTS, content });
  return true;
}

/** Tokens that a session has used since an instant; null: unknown. */
export function tokensSince(configFolder: string, id: string, since: number): Promise<number | null> {
  return foldLines<number | null>(eventsOf(configFolder, id), null, (sum, entry) => {
    const used = usedIn(entry, since);
    return used === null ? sum : (sum ?? 0) + used;
  });
}

/** Leaves nothing of what an agent may have put among the CLI's settings for its next start. A folder that is not there stays so. */
export async function resetSettings(configFolder: string): Promise<void> {
  const names = await readdir(configFolder).catch(() => null);
  if (names === null) return;
  for (const name of names)
    if (name !== SESSIONS && name !== CACHE) await rm(join(configFolder, name), { recursive: true, force: true });
  await placeFile(configFolder, [], { name: 'settings.json', content: JSON.stringify(SETTINGS) });
}

const SESSIONS = 'session-state';
const EVENTS = 'events.jsonl';

function eventsOf(configFolder: string, id: string): string {
  return join(configFolder, SESSIONS, id, EVENTS);
}

const form: SessionForm = {
  isMessage: ({ type }) => type === 'user.message' || type === 'assistant.message',
  isPrompt: ({ type }) => type === 'user.message',
  // It names the session.
  needsFirst: true,
};

/** Tokens of the cache are a part of the input. */
function usedIn({ type, timestamp, data }: JsonObject, since: number): number | null {
  if (type !== 'session.usage_record' || !(Date.parse(asString(timestamp) ?? '') >= since)) return null;
  const usage = asObject(asObject(data)?.['usage']);
  const input = asAmount(usage?.['inputTokens']);
  const output = asAmount(usage?.['outputTokens']);
  return input === null && output === null ? null : (input ?? 0) + (output ?? 0);
}
