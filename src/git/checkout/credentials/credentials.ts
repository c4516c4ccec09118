import { existsSync } from 'node:fs';
import { realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname, resolve, sep } from 'node:path';
import { firstNames } from '../../../core/text/lists.ts';
import { oneLine } from '../../../core/text/one-line.ts';
import { UserError } from '../../../errors.ts';
import type { Log } from '../../../ports/machine.ts';
import {
  readNote,
  removeNote,
  renderConfig,
  writeNote,
  type NotedFile,
  type NotedSetting,
  type NotePlace,
} from './note.ts';
import { secretsOfSettings } from './values.ts';
import { findGitConfigs } from './git-configs.ts';
import { authorizationHeader, createGit, type Git } from '../../git.ts';
import { readLinked, writeRegular } from '../../regular-files.ts';
import type { Workspace } from '../workspace.ts';

interface HideOptions extends NotePlace {
  /** The job's token, of which actions/checkout makes its header. */
  readonly token: string;
  readonly log: Pick<Log, 'warning'>;
}

/** A file that was changed or taken away, as it was; `settings` are null where it is no git config. */
interface HiddenFile {
  readonly path: string;
  readonly folder: string;
  readonly mode: number;
  readonly content: Buffer;
  readonly settings: readonly Setting[] | null;
}

/**
 * Takes credentials out of the workspace's git config, and out of those of other checkouts in it: headers, helpers, keys,
 * passwords in URLs, and includes (newer versions of actions/checkout keep the header in an included file, which is moved
 * away as well). Warns of what could not be looked at.
 * The returned function puts every file back as it was. Meanwhile the credentials are in the memory of this process
 * alone: after a kill restoreCredentials puts back what the job's token gives.
 */
export async function hideCredentials(
  workspace: Workspace,
  options: HideOptions & {
    readonly env: NodeJS.ProcessEnv;
    readonly learnSecrets: (secrets: readonly string[]) => void;
  },
): Promise<() => Promise<void>> {
  const git = createGit({ folder: '/', env: options.env });
  const { configs, unread } = await configsOf(git, workspace, options.env);
  const { secrets: included, strange } = await includedSecrets(git, configs, options.env);
  warnOfUnread([...unread, ...strange], options.log);
  if (configs.length === 0) return () => Promise.resolve();
  const found = [...configs, ...included].flatMap(({ settings }) => (settings ?? []).filter(isCredential));
  options.learnSecrets(secretsOfSettings(found));

  const hidden = await Promise.all([...configs, ...included].map(readHidden));
  await writeNote(
    options,
    hidden.map((file) => noted(file, options.token)),
  );
  await Promise.all(included.map(({ path }) => rm(path, { force: true })));
  for (const config of configs)
    await rewrite(git, config).catch((error: unknown) => {
      throw error instanceof UserError ? error : notRemoved(config.path, error);
    });
  let isHidden = true;
  return async () => {
    if (!isHidden) return;
    const displaced: string[] = [];
    for (const file of hidden) if ((await putBack(file, file.content)) === 'displaced') displaced.push(file.path);
    warnOf(displaced, options.log);
    await removeNote(options);
    isHidden = false;
  };
}

/** After a kill: puts back what hideCredentials took away, as far as the job's token gives it, and warns of the rest. Does nothing when nothing is hidden. Safe to repeat, also after being killed half-way. Throws a UserError when the note is not what hideCredentials wrote. */
export async function restoreCredentials(options: HideOptions): Promise<void> {
  const files = await readNote(options);
  if (files === null) return;
  const missing: string[] = [];
  for (const file of files) {
    const config = file.settings === null ? null : renderConfig(file.settings, authorizationHeader(options.token));
    const end = config === null || config === '' ? 'put-back' : await putBack(file, config);
    if (end === 'displaced' || !file.isComplete) missing.push(file.path);
  }
  warnOf(missing, options.log);
  await removeNote(options);
}

/** Writes a file where it was. Only in the folder where it was: with a link in its place the credentials would go where the agent likes. */
async function putBack(
  { path, folder, mode }: Pick<HiddenFile, 'path' | 'folder' | 'mode'>,
  content: string | Buffer,
): Promise<'put-back' | 'no-folder' | 'displaced'> {
  const found = await stat(dirname(path)).catch(() => null);
  if (!found?.isDirectory()) return 'no-folder';
  if ((await realpath(dirname(path))) !== folder) return 'displaced';
  // An agent may have closed a folder in the work tree: that must not take the run's end with it.
  return await writeRegular(path, content, { mode }).then(
    () => 'put-back',
    () => 'displaced',
  );
}

function warnOf(paths: readonly string[], log: HideOptions['log']): void {
  if (paths.length > 0)
    log.warning(
      `Git credentials of the checkout could not be restored (${paths.join(', ')}). Check out again before a later step of this job uses git.`,
    );
}

/** Names that a warning has room for. */
const MOST_NAMES = 3;

function warnOfUnread(paths: readonly string[], log: HideOptions['log']): void {
  if (paths.length > 0)
    log.warning(
      `Other checkouts in the work tree may hold git credentials that the agent can read, since these could not be searched: ${oneLine(firstNames(paths, MOST_NAMES), 600)}. Set "persist-credentials: false" on actions/checkout.`,
    );
}

/** The file without what is secret in it. */
function noted({ path, folder, mode, settings }: HiddenFile, token: string): NotedFile {
  if (settings === null) return { path, folder, mode, settings: null, isComplete: false };
  const kept = settings.map((setting) => withoutSecret(setting, authorizationHeader(token)));
  const left = kept.flatMap(({ setting }) => (setting === null ? [] : [setting]));
  return { path, folder, mode, settings: left, isComplete: kept.every(({ isComplete }) => isComplete) };
}

function withoutSecret(
  { key, value }: Setting,
  header: string,
): { readonly setting: NotedSetting | null; readonly isComplete: boolean } {
  if (!isCredential({ key, value })) return { setting: { is: 'text', key, value }, isComplete: true };
  const url = withoutPassword({ key, value });
  if (url !== value) return { setting: { is: 'text', key, value: url }, isComplete: false };
  // A name with a password in it is a secret of its own.
  if (key.includes('@')) return { setting: null, isComplete: false };
  // An empty one takes back what was set before.
  if (value === null || value === '') return { setting: { is: 'text', key, value }, isComplete: true };
  return value === header && isHeaderKey(key)
    ? { setting: { is: 'token-header', key }, isComplete: true }
    : { setting: null, isComplete: false };
}

function isHeaderKey(key: string): boolean {
  return /^http\..*extraheader$/is.test(key);
}

interface Setting {
  readonly key: string;
  /** null: the key stands alone. */
  readonly value: string | null;
}

interface ConfigFile {
  readonly path: string;
  readonly settings: readonly Setting[];
  /** Folders outside of which it may not have files changed, since an agent of an earlier run may have written it; null: it is the job's own. */
  readonly reach: readonly string[] | null;
}

type FoundFile = Pick<HiddenFile, 'path' | 'settings'>;

/** The config files of all git directories there, as far as they hold something to hide, and what could not be read. */
async function configsOf(
  git: Git,
  workspace: Workspace,
  env: NodeJS.ProcessEnv,
): Promise<{ readonly configs: readonly ConfigFile[]; readonly unread: readonly string[] }> {
  const { own, nested, unsearched } = await findGitConfigs(workspace);
  const unread = [...unsearched];
  const configs: ConfigFile[] = await Promise.all(own.map((path) => readConfigFile(git, path, null)));
  // What git cannot read is of no use to it, and no reason to end a run: it may be there for a test.
  const reach = [workspace.top, ...(env['RUNNER_TEMP'] ? [await realpath(env['RUNNER_TEMP'])] : [])];
  for (const path of nested)
    if (await isIn(path, reach))
      await readConfigFile(git, path, reach).then(
        (config) => configs.push(config),
        () => unread.push(path),
      );
    else if (existsSync(path)) unread.push(path);
  const isSecret = (config: ConfigFile): boolean =>
    config.settings.some((setting) => isInclude(setting) || isCredential(setting));
  return { configs: configs.filter(isSecret), unread };
}

async function readConfigFile(git: Git, path: string, reach: ConfigFile['reach']): Promise<ConfigFile> {
  const found = await stat(path).catch(() => null);
  if (!found?.isFile()) return { path, settings: [], reach };
  const listed = await git.records(['config', '--file', path, '--no-includes', '--list', '-z']);
  return { path, settings: listed.map(parseSetting), reach };
}

/** Whether a file is there, in one of the folders, wherever links lead. */
async function isIn(path: string, folders: readonly string[]): Promise<boolean> {
  const real = await realpath(path).catch(() => null);
  return real !== null && folders.some((folder) => real.startsWith(`${folder}${sep}`));
}

function parseSetting(record: string): Setting {
  const at = record.indexOf('\n');
  return at === -1 ? { key: record, value: null } : { key: record.slice(0, at), value: record.slice(at + 1) };
}

function isInclude({ key }: Setting): boolean {
  return /^include(if\..*)?\.path$/is.test(key);
}

function isCredential(setting: Setting): boolean {
  const secretKey =
    /^(http\.(.*\.)?(extraheader|cookiefile|sslkey)|credential\.(.*\.)?[a-z]+|core\.(askpass|sshcommand)|(url|http|lfs)\..*@.*)$/is;
  return secretKey.test(setting.key) || withoutPassword(setting) !== setting.value;
}

/** Settings whose value is a URL, or the name of a remote. */
const URL_KEY =
  /^((remote|submodule)\..*\.(url|pushurl|proxy|lfsurl|lfspushurl)|http\.(.*\.)?proxy|lfs\.(push)?url|branch\..*\.(remote|pushremote)|remote\.pushdefault)$/is;

/** The value of a URL setting without user name and password. */
function withoutPassword({ key, value }: Setting): string | null {
  return value !== null && URL_KEY.test(key)
    ? value.replace(/^(https?:\/\/|(?=[^/@]*:[^/@]*@)|[a-z][a-z0-9+.-]*:\/\/(?=[^/@]*:))[^/@]*(?:@[^/@]*)*@/i, '$1')
    : value;
}

/** Files outside of the repository that its config draws credentials from: includes (nested ones, too) and SSH keys. `strange`: those that are left alone, out of reach. */
async function includedSecrets(
  git: Git,
  configs: readonly ConfigFile[],
  env: NodeJS.ProcessEnv,
): Promise<{ readonly secrets: readonly FoundFile[]; readonly strange: readonly string[] }> {
  const secrets = new Map<string, FoundFile>();
  const strange = new Set<string>();
  const isReached = async (path: string, { reach }: ConfigFile): Promise<boolean> => {
    if (reach === null || (await isIn(path, reach))) return true;
    if (existsSync(path)) strange.add(path);
    return false;
  };
  const seen = new Set<string>();
  const waiting = [...configs];
  for (let config = waiting.pop(); config; config = waiting.pop()) {
    for (const { key, value } of config.settings) {
      if (value === null) continue;
      const keyFile =
        key === 'core.sshcommand'
          ? /\s-i\s+(?:"([^"]+)"|'([^']+)'|(\S+))/.exec(value)?.slice(1).find(Boolean)
          : undefined;
      if (keyFile && (await stat(keyFile).catch(() => null))?.isFile() && (await isReached(resolve(keyFile), config)))
        secrets.set(resolve(keyFile), { path: resolve(keyFile), settings: null });
      if (!isInclude({ key, value })) continue;
      const path = resolve(dirname(config.path), value.replace(/^~(?=\/)/, env['HOME'] ?? '~'));
      if (seen.has(path) || !(await isReached(path, config))) continue;
      seen.add(path);
      const included = await readConfigFile(git, path, config.reach);
      if (included.settings.some(isCredential)) secrets.set(path, included);
      waiting.push(included);
    }
  }
  return { secrets: [...secrets.values()], strange: [...strange] };
}

async function readHidden({ path, settings }: FoundFile): Promise<HiddenFile> {
  const { mode, bytes } = (await readLinked(path)) ?? unreadable(path);
  return { path, folder: await realpath(dirname(path)), mode, content: bytes, settings };
}

/** Edits a copy and moves it into place, so that at no instant the config is half written. */
async function rewrite(git: Git, { path, settings }: ConfigFile): Promise<void> {
  const fresh = `${path}.ralph`;
  const { bytes, mode } = (await readLinked(path)) ?? unreadable(path);
  await writeRegular(fresh, bytes, { mode });
  for (const key of new Set(
    settings.filter((setting) => isInclude(setting) || isCredential(setting)).map((setting) => setting.key),
  )) {
    await git.text(['config', '--file', fresh, '--unset-all', key]);
    const harmless = settings.filter((setting) => setting.key === key && withoutPassword(setting) !== setting.value);
    for (const setting of harmless)
      await git.text(['config', '--file', fresh, '--add', key, withoutPassword(setting) ?? '']);
  }
  const left = await readConfigFile(git, fresh, null);
  if (left.settings.some((setting) => isInclude(setting) || isCredential(setting))) throw notRemoved(path);
  await rename(fresh, path);
}

function notRemoved(path: string, cause?: unknown): UserError {
  return new UserError(
    'infrastructure',
    `Credentials could not be removed from ${path}. Set "persist-credentials: false" on actions/checkout.`,
    { cause },
  );
}

function unreadable(path: string): never {
  throw new UserError('infrastructure', `${path} cannot be read, so no credentials can be removed from it.`);
}
