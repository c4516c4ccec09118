import { lstat, readdir } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { MAX_SESSION_BYTES } from '../../core/lane/state/state.ts';
import { tryJson } from '../../core/text/try-json.ts';
import { UserError } from '../../errors.ts';
import { toLogLine } from '../../processes/output-tail.ts';
import { createAcpBase } from '../acp/cli.ts';
import type { AgentCli, CliCall, CliPlace, ExportedSession, SessionPlace } from '../cli/cli.ts';
import {
  removeAllBut,
  createEmptyExport,
  listPlainFiles,
  hasSessionSize,
  placeFile,
  readPlainFile,
  removeFile,
  SIGNED_SECRET,
} from '../cli/jsonl-session.ts';
import { hideSecrets, type TranscriptRedaction } from '../cli/signed-texts.ts';
import type { Dialect } from '../reading/agent-event.ts';
import { readClock } from '../reading/capped-bytes.ts';
import { asArray, asObject, type JsonObject } from '../reading/json-value.ts';
import { GATEWAY_PATH, findOpencodeAccess } from './access.ts';
import { findOpencodeGap, mapOpencodeServers, mapOpencodePermissions } from './tool-rules.ts';
import { opencodeAgent } from './agent.ts';
import { sumUsageSince } from './usage.ts';

/** OpenCode's folder for settings, below the config folder: created again for each call. */
const OWN_FOLDER = ['config', 'own'] as const;

/**
 * Names of disabled features. They would load or download files; `AUTOCOMPACT` would loop on a session that is too
 * long.
 */
const DISABLED_FEATURES = [
  ...['PROJECT_CONFIG', 'CLAUDE_CODE', 'EXTERNAL_SKILLS', 'AUTOUPDATE', 'MODELS_FETCH', 'LSP_DOWNLOAD'],
  ...['DEFAULT_PLUGINS', 'AUTOCOMPACT'],
];

/** A provider of models. `id` is OpenCode's name for the provider. */
interface Provider {
  readonly id: string;
  readonly key: string;
  readonly address: string;
  /** The package that connects to the provider; null if the id implies it. */
  readonly npm: string | null;
}

/** Folder of exported sessions. All sessions are in one database; exports from it and imports into it are files. */
const EXPORTED = 'exported';

const TO_IMPORT = 'to-import';

/** The folder of OpenCode's database. */
const DATA = ['data', 'opencode'] as const;

/** Matches the option for a variant of the model, which `opencode acp` takes as a setting of the session. */
const VARIANT = /(?<= |^)--variant[ =]([\w.-]+)(?= |$)/;

/** Matches an option of other commands; given one, `opencode acp` only prints its help. */
const UNKNOWN_OPTION = /^-(?!-(?:print-logs|log-level|pure|port|hostname|mdns|mdns-domain|cors|cwd)(?:=|$))/;

type Variables = Readonly<Record<string, string>>;

const SIGNED = Symbol('signed');

const SETTINGS = ['opencode.json', 'opencode.jsonc', '.opencode/opencode.json', '.opencode/opencode.jsonc'];

const PLUGINS = ['.opencode/plugin', '.opencode/plugins'];

const MAX_SETTINGS_BYTES = 1024 * 1024;

const base = createAcpBase('opencode', { parseText });

/** The CLI of OpenCode, which speaks the Agent Client Protocol; failed attempts are on stderr. */
export const opencodeCli: AgentCli = {
  ...opencodeAgent,
  ...base,
  usesConfigFolder: true,
  accessOf: findOpencodeAccess,
  // Example: `1.18.33`.
  printedVersion: /^(?<version>\d+\.\d+\.\d+\S*)$/,
  printsRetries: true,
  sessions: { export: exportOpenCodeSession, import: importOpenCodeSession },
  rulesGap: findOpencodeGap,
  unmappedServers: (servers) => mapOpencodeServers(servers, {}).unmapped,
  prepare: async (call, place) => {
    await refusePlugins(place);
    const environment = buildOpencodeEnvironment(call, place.configFolder);
    await resetOpenCodeHome(place.configFolder);
    await placeFile(place.configFolder, OWN_FOLDER, { name: 'opencode.json', content: '{}' });
    await importLocalSession(place, call.resume, environment);
    const [option, variant] = VARIANT.exec(call.extraArgs.join(' ')) ?? [];
    // Always set an effort, because OpenCode would otherwise choose the lowest one.
    const effort = variant ?? 'default';
    const options =
      option === undefined ? call.extraArgs : call.extraArgs.filter((arg) => !option.split(' ').includes(arg));
    const unknown = options.find((one) => UNKNOWN_OPTION.test(one));
    if (unknown !== undefined)
      throw new UserError(
        'configuration',
        `OpenCode is started as \`opencode acp\`, which does not know the option \`${toLogLine(unknown, 100)}\`. Remove it from \`agent-args\`: besides the options of \`opencode acp\` only \`--variant\` has a meaning.`,
      );
    const resume = call.resume !== null && isOpenCodeSession(call.resume) ? call.resume : null;
    // The model, the servers and their permissions are in the CLI's configuration.
    const talk = await base.prepare({ ...call, resume, model: null, servers: [], turnLimit: null, effort }, place);
    let startedAt = 0;
    return {
      ...talk,
      openReader: (listener) => {
        startedAt = readClock(listener.now);
        return talk.openReader(listener);
      },
      // `--pure` loads no other plugins. Only these logs report a failed attempt and its reason.
      args: ['acp', '--pure', '--print-logs', '--log-level', 'ERROR', ...options],
      environment,
      complete: async (transcript) => {
        // Check again, because a plugin may have been added during the call.
        const isRefused = await refusePlugins(place).then(
          () => false,
          () => true,
        );
        const session = isRefused ? null : await exportLocalSession(place, transcript.sessionId, environment);
        return talk.complete({ ...transcript, ...sumUsageSince(session, { since: startedAt, prices: place.prices }) });
      },
    };
  },
};

/**
 * Throws if the repository contains a plugin or may name one: OpenCode (1.18.33) runs it in spite of all flags, and so
 * an agent that may only edit files could run its own code.
 */
export async function refusePlugins({
  workFolder,
  alsoFolder,
  tree,
}: Pick<CliPlace, 'workFolder' | 'alsoFolder' | 'tree'>): Promise<void> {
  const within = relative(alsoFolder ?? workFolder, workFolder);
  for (const folder of foldersUp(join(tree, within), tree)) {
    const found = await pluginIn(folder);
    if (found !== null)
      throw new UserError(
        'configuration',
        `The repository has plugins for OpenCode, or a file that may name some: \`${relative(tree, found)}\`. OpenCode would run them whatever its settings are. Remove it from the branch, or use another agent.`,
      );
  }
}

function foldersUp(from: string, to: string): readonly string[] {
  const parent = dirname(from);
  return from === to || parent === from ? [from] : [from, ...foldersUp(parent, to)];
}

async function pluginIn(folder: string): Promise<string | null> {
  for (const path of PLUGINS.map((name) => join(folder, name))) {
    const names = await readdir(path).catch(() => []);
    if (names.some((name) => /\.[jt]s$/.test(name))) return path;
  }
  for (const path of SETTINGS.map((name) => join(folder, name))) if (await mayNamePlugins(path)) return path;
  return null;
}

/**
 * Returns true if a file may name plugins; also true, without reading, for anything but a plain file of a usual size.
 */
async function mayNamePlugins(path: string): Promise<boolean> {
  const stats = await lstat(path).catch(() => null);
  if (stats === null) return false;
  const text = await readPlainFile(path, async (file, size) =>
    size > MAX_SETTINGS_BYTES ? null : (await file.readFile()).toString('utf8'),
  );
  // Match any escape as well, because the word `plugin` may be written with escapes.
  return text === null ? stats.size > 0 : /plugin|\\u/i.test(text);
}

/**
 * Removes everything but sessions from the CLI's folder: settings, plugins and programs from an earlier call would
 * apply to this one.
 */
export async function resetOpenCodeHome(configFolder: string): Promise<void> {
  const [outer, inner] = DATA;
  await removeAllBut(configFolder, [EXPORTED, TO_IMPORT, outer]);
  await removeAllBut(join(configFolder, outer), [inner]);
  const names = await listPlainFiles(join(configFolder, ...DATA), 'file');
  await removeAllBut(
    join(configFolder, ...DATA),
    names.filter((name) => /^opencode\.db(-\w+)?$/.test(name)),
  );
}

/** Lets the CLI export the session into a file, and returns it. If that fails, the file is missing. */
async function exportLocalSession(
  { configFolder, run }: Pick<CliPlace, 'configFolder' | 'run'>,
  id: string | null,
  environment: Variables,
): Promise<JsonObject | null> {
  if (id === null || !isOpenCodeSession(id)) return null;
  await removeFile(configFolder, [EXPORTED], `${id}.json`);
  const { end, stdout } = await run(['export', id, '--pure'], environment);
  if (end.kind !== 'exited' || end.code !== 0) return null;
  if (hasSessionSize(stdout)) await placeFile(configFolder, [EXPORTED], { name: `${id}.json`, content: stdout });
  return asObject(tryJson(stdout.toString('utf8')));
}

/** Imports the file that `importSession` stored into the CLI's database. */
async function importLocalSession(
  { configFolder, run }: Pick<CliPlace, 'configFolder' | 'run'>,
  id: string | null,
  environment: Variables,
): Promise<void> {
  if (id === null || !isOpenCodeSession(id)) return;
  const path = join(configFolder, TO_IMPORT, `${id}.json`);
  const isThere = await readPlainFile(path, () => Promise.resolve(true));
  if (isThere === null) return;
  await run(['import', path, '--pure'], environment);
  await removeFile(configFolder, [TO_IMPORT], `${id}.json`);
}

/** Reads the exported file of a session with its secrets hidden. */
async function exportOpenCodeSession(
  { configFolder }: SessionPlace,
  { id, ...hiding }: { readonly id: string } & TranscriptRedaction,
): Promise<ExportedSession> {
  if (!isOpenCodeSession(id)) return createEmptyExport('its id is not one of OpenCode');
  const text = await readPlainFile(join(configFolder, EXPORTED, `${id}.json`), async (file, size) =>
    size > MAX_SESSION_BYTES ? null : (await file.readFile()).toString('utf8'),
  );
  if (text === null) return createEmptyExport('it is missing, empty, too large or not a plain file');
  const session = asObject(tryJson(text));
  if (asObject(session?.['info'])?.['id'] !== id || asArray(session?.['messages']).length === 0)
    return createEmptyExport('it contains no message');
  const redacted = redactedText(text, session, hiding);
  if (redacted === SIGNED) return createEmptyExport(SIGNED_SECRET);
  const content = Buffer.from(redacted ?? '');
  return redacted !== null && hasSessionSize(content)
    ? { kind: 'exported', isCut: false, content }
    : createEmptyExport('it cannot be read without secrets');
}

/**
 * Stores a session for the next call that resumes it. Returns false if it is empty or too large, or the id is not
 * valid.
 */
async function importOpenCodeSession(
  { configFolder }: SessionPlace,
  { id, content }: { readonly id: string; readonly content: Uint8Array },
): Promise<boolean> {
  if (!isOpenCodeSession(id) || !hasSessionSize(content)) return false;
  await placeFile(configFolder, [TO_IMPORT], { name: `${id}.json`, content });
  return true;
}

/**
 * Returns the text without secrets, null if nothing readable is left, or SIGNED if a secret is in signed content, which
 * must not change.
 */
function redactedText(
  text: string,
  session: JsonObject | null,
  hiding: TranscriptRedaction,
): string | null | typeof SIGNED {
  try {
    const hidden = hideSecrets(session ?? {}, hiding);
    if (hidden.kind === 'signed') return SIGNED;
    if (hidden.kind === 'unchanged') return text;
    return asObject(tryJson(hidden.json)) === null ? null : hidden.json;
  } catch (error) {
    // Drop sessions that are nested too deeply for this program, because an agent may write such sessions.
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/**
 * Returns the agent's environment. `given` cannot change the location of its files, its rules, or the server that gets
 * its key.
 */
export function buildOpencodeEnvironment(
  {
    environment: given,
    model,
    allowedTools,
    servers,
  }: Pick<CliCall, 'environment' | 'model' | 'allowedTools' | 'servers'>,
  configFolder: string,
): Record<string, string> {
  const { mcp, permission } = mapOpencodeServers(servers, given).own;
  const flags = DISABLED_FEATURES.map((name): [string, string] => [`OPENCODE_DISABLE_${name}`, '1']);
  return {
    NO_COLOR: '1',
    // Drop OpenCode's own variables, which would apply in addition to Ralph's. An empty folder would mean the work
    // folder.
    ...Object.fromEntries(Object.entries(given).filter(([name]) => !name.startsWith('OPENCODE_'))),
    ...Object.fromEntries(flags),
    ...foldersIn(configFolder),
    OPENCODE_CONFIG_DIR: join(configFolder, ...OWN_FOLDER),
    OPENCODE_CONFIG_CONTENT: JSON.stringify({
      autoupdate: false,
      share: 'disabled',
      snapshot: false,
      mcp,
      // Continue the turn after a refused call.
      experimental: { continue_loop_on_deny: true },
      // Without this, OpenCode requests a title from a model.
      agent: { title: { disable: true } },
      permission: mapOpencodePermissions(allowedTools, permission),
      ...providerSettings(impliedProvider(given), model),
    }),
  };
}

/**
 * Returns true if an id has the CLI's own form: ids come from an agent's output or stored state, and no other id may
 * become part of a path or an argument.
 */
export function isOpenCodeSession(id: string): boolean {
  return /^ses_[A-Za-z0-9]{26}$/.test(id);
}

function foldersIn(configFolder: string): Variables {
  return {
    XDG_DATA_HOME: join(configFolder, 'data'),
    XDG_CONFIG_HOME: join(configFolder, 'config'),
    XDG_STATE_HOME: join(configFolder, 'state'),
    XDG_CACHE_HOME: join(configFolder, 'cache'),
  };
}

/** Returns the provider, or null if no key implies one. */
function impliedProvider(environment: Variables): Provider | null {
  const of = (prefix: string) => ({
    key: environment[`${prefix}_API_KEY`] ?? '',
    address: environment[`${prefix}_BASE_URL`] ?? '',
  });
  const [anthropic, openai] = [of('ANTHROPIC'), of('OPENAI')];
  if (anthropic.key !== '') return { id: 'anthropic', ...anthropic, npm: null };
  if (openai.key === '') return null;
  // With OpenAI's id, OpenCode would use OpenAI's newer API, regardless of the package.
  return openai.address.endsWith(GATEWAY_PATH)
    ? { id: 'gateway', ...openai, npm: '@ai-sdk/openai-compatible' }
    : { id: 'openai', ...openai, npm: null };
}

/** Returns the model with the name of its provider, which is omitted if there is only one. */
function namedModel(model: string, provider: Provider | null): string {
  return provider === null || model.startsWith(`${provider.id}/`) ? model : `${provider.id}/${model}`;
}

/** Returns settings with exactly one provider, because the CLI has built-in providers that need no key. */
function providerSettings(provider: Provider | null, model: string | null): object {
  if (provider === null) return model === null ? {} : { model };
  const { id, key, address, npm } = provider;
  const named = model === null ? null : namedModel(model, provider);
  return {
    enabled_providers: [id],
    ...(named === null ? {} : { model: named, small_model: named }),
    provider: {
      [id]: {
        ...(npm === null ? {} : { npm, name: id }),
        options: { baseURL: address, apiKey: key },
        // Lists the model, because OpenCode may not know it; for a known model, this entry changes nothing.
        ...(named === null ? {} : { models: { [named.slice(id.length + 1)]: {} } }),
      },
    },
  };
}

/** Parses a line on stderr: `--print-logs` prints each failed attempt, and nothing else says why the CLI waits. */
function parseText(line: string): ReturnType<Dialect['parseText']> {
  if (!/^timestamp=\S+ level=ERROR .{0,200}?\bmessage="stream error" /.test(line)) return null;
  const cause = /\berror\.error="((?:[^"\\]|\\.){0,2000})"/.exec(line)?.[1] ?? 'stream error';
  return { kind: 'retry', cause: cause.replace(/\\(.)/g, '$1'), status: null };
}
