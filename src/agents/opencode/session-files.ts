import { join } from 'node:path';
import { MAX_SESSION_BYTES } from '../../core/lane/state.ts';
import { tryJson } from '../../core/text/try-json.ts';
import type { CliPlace, ExportedSession, SessionPlace } from '../cli/cli.ts';
import { leftBehind, mayBeSession, SIGNED_SECRET } from '../cli/jsonl-session.ts';
import { keepOnly, listPlainFiles, placeFile, readPlainFile, removeFile } from '../cli/plain-files.ts';
import { hideSecrets, type Hiding } from '../cli/signed-texts.ts';
import { asArray, asObject, type JsonObject } from '../reading/json.ts';
import { isSessionId } from './command-line.ts';

/** All its conversations are in one database: what leaves it, and what is to come into it, lies beside it as files. */
const EXPORTED = 'exported';
const TO_IMPORT = 'to-import';

/** Where its database is. */
const DATA = ['data', 'opencode'] as const;

type Variables = Readonly<Record<string, string>>;

/** Leaves nothing in the CLI's folder but conversations: settings, plugins and programs that an earlier call left there would count in this one. */
export async function resetHome(configFolder: string): Promise<void> {
  const [outer, inner] = DATA;
  await keepOnly(configFolder, [EXPORTED, TO_IMPORT, outer]);
  await keepOnly(join(configFolder, outer), [inner]);
  const names = await listPlainFiles(join(configFolder, ...DATA), 'file');
  await keepOnly(
    join(configFolder, ...DATA),
    names.filter((name) => /^opencode\.db(-\w+)?$/.test(name)),
  );
}

/** Writes the session down, as the CLI itself does it. What goes wrong shows when nothing is there to be exported. */
export async function writeDown(
  { configFolder, run }: Pick<CliPlace, 'configFolder' | 'run'>,
  id: string | null,
  environment: Variables,
): Promise<void> {
  if (id === null || !isSessionId(id)) return;
  await removeFile(configFolder, [EXPORTED], `${id}.json`);
  const { end, stdout } = await run(['export', id, '--pure'], environment);
  if (end.kind !== 'exited' || end.code !== 0 || !mayBeSession(stdout)) return;
  await placeFile(configFolder, [EXPORTED], { name: `${id}.json`, content: stdout });
}

/** Brings what `importSession` has put down into the CLI's database. */
export async function takeIn(
  { configFolder, run }: Pick<CliPlace, 'configFolder' | 'run'>,
  id: string | null,
  environment: Variables,
): Promise<void> {
  if (id === null || !isSessionId(id)) return;
  const path = join(configFolder, TO_IMPORT, `${id}.json`);
  const isThere = await readPlainFile(path, () => Promise.resolve(true));
  if (isThere === null) return;
  await run(['import', path, '--pure'], environment);
  await removeFile(configFolder, [TO_IMPORT], `${id}.json`);
}

/** Reads what was written down of a session, its secrets hidden. */
export async function exportSession(
  { configFolder }: SessionPlace,
  { id, ...hiding }: { readonly id: string } & Hiding,
): Promise<ExportedSession> {
  if (!isSessionId(id)) return leftBehind('its id is not one of OpenCode');
  const text = await readPlainFile(join(configFolder, EXPORTED, `${id}.json`), async (file, size) =>
    size > MAX_SESSION_BYTES ? null : (await file.readFile()).toString('utf8'),
  );
  if (text === null) return leftBehind('it is missing, empty, too large or not a plain file');
  const session = asObject(tryJson(text));
  if (asObject(session?.['info'])?.['id'] !== id || asArray(session?.['messages']).length === 0)
    return leftBehind('it contains no message');
  const redacted = redactedText(text, session, hiding);
  if (redacted === SIGNED) return leftBehind(SIGNED_SECRET);
  const content = Buffer.from(redacted ?? '');
  return redacted !== null && mayBeSession(content)
    ? { kind: 'exported', isCut: false, content }
    : leftBehind('it cannot be read without secrets');
}

/** Puts a session down for the next call that resumes it; false when it is empty or too large, or the id is none. */
export async function importSession(
  { configFolder }: SessionPlace,
  { id, content }: { readonly id: string; readonly content: Uint8Array },
): Promise<boolean> {
  if (!isSessionId(id) || !mayBeSession(content)) return false;
  await placeFile(configFolder, [TO_IMPORT], { name: `${id}.json`, content });
  return true;
}

const SIGNED = Symbol('signed');

/** Returns the text without secrets, null if nothing readable is left, or SIGNED if a secret is in signed content, which must not change. */
function redactedText(text: string, session: JsonObject | null, hiding: Hiding): string | null | typeof SIGNED {
  try {
    const hidden = hideSecrets(session ?? {}, hiding);
    if (hidden.kind === 'signed') return SIGNED;
    if (hidden.kind === 'unchanged') return text;
    return asObject(tryJson(hidden.json)) === null ? null : hidden.json;
  } catch (error) {
    // An agent may nest too deeply for us.
    if (error instanceof RangeError) return null;
    throw error;
  }
}
