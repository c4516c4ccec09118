import { existsSync } from 'node:fs';
import { readdir, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve, sep } from 'node:path';
import { type MovedFolder, mapPathToCopy } from '../../../core/clean-clone/searched-upward.ts';
import { joinNames, toOneLine } from '../../../core/text/phrase.ts';
import { UserError } from '../../../errors.ts';
import type { Log } from '../../../ports/machine.ts';
import { createGit, type Git } from '../../git.ts';
import { readFollowingLinks, writeRegular } from '../../regular-files.ts';
import type { Workspace } from '../workspace.ts';
import { findGitConfigs } from './git-configs.ts';

/**
 * Minimum length of a secret, in characters; shorter values are ordinary words. A user name must have the length of a
 * token.
 */
const MIN_SECRET_CHARS = 8;

const MIN_TOKEN_CHARS = 20;

/** The conventional password when the token is the user name. */
const STAND_IN = 'x-oauth-basic';

/** Matches the file of Google's login action, by which a job can request tokens; git usually ignores it. */
const GOOGLE_LOGIN = /^gha-creds-[0-9a-f]+\.json$/;

/** The files of a checkout, and of other checkouts in it, that contain credentials. */
export interface FoundCredentials {
  /** Paths of config files. */
  readonly configs: readonly string[];
  /** Included files, SSH keys and the file of Google's login, which are secret as a whole. */
  readonly secretFiles: readonly string[];
  /** The secrets themselves. */
  readonly secrets: readonly string[];
}

/**
 * Finds the credentials in a workspace's git config, in those of other checkouts in it, and in the files that these
 * include: headers, helpers, keys, passwords in URLs. Changes nothing, and warns of every file that could not be read.
 */
export async function findCredentials(
  workspace: Workspace,
  { env, log }: { readonly env: NodeJS.ProcessEnv; readonly log: Pick<Log, 'warning'> },
): Promise<FoundCredentials> {
  const git = createGit({ folder: '/', env });
  const { configs, unread } = await configsOf(git, workspace, env);
  const { secrets: included, outOfReach } = await includedSecrets(git, configs, env);
  warnOfUnread([...unread, ...outOfReach], log);
  const found = [...configs, ...included].flatMap(({ settings }) => (settings ?? []).filter(isCredential));
  const atTop = await readdir(workspace.top).catch(() => []);
  const logins = atTop.filter((name) => GOOGLE_LOGIN.test(name)).map((name) => join(workspace.top, name));
  return {
    configs: configs.map(({ path }) => path),
    secretFiles: [...included.map(({ path }) => path), ...logins],
    secrets: secretsOfSettings(found),
  };
}

/**
 * Removes the credentials from a copy of the checkout: edits each copied config file (`moves` maps its folder) and
 * deletes each secret file. Throws a UserError if that fails.
 */
export async function removeCredentials(
  { configs, secretFiles }: FoundCredentials,
  { moves, env }: { readonly moves: readonly MovedFolder[]; readonly env: NodeJS.ProcessEnv },
): Promise<void> {
  const git = createGit({ folder: '/', env });
  const copyOf = (path: string): string | null => {
    const moved = mapPathToCopy(path, moves);
    return moved === path || !existsSync(moved) ? null : moved;
  };
  for (const path of secretFiles) {
    const copy = copyOf(path);
    if (copy !== null) await rm(copy, { force: true });
  }
  for (const path of configs) {
    const copy = copyOf(path);
    if (copy === null) continue;
    await rewrite(git, copy).catch((error: unknown) => {
      throw error instanceof UserError ? error : notRemoved(copy, error);
    });
  }
}

/** Maximum number of names in a warning. */
const MAX_WARNED_NAMES = 3;

function warnOfUnread(paths: readonly string[], log: Pick<Log, 'warning'>): void {
  if (paths.length > 0)
    log.warning(
      `Other checkouts in the work tree may hold git credentials that the agent can read, since these could not be searched: ${toOneLine(joinNames(paths, MAX_WARNED_NAMES), 600)}. Set "persist-credentials: false" on actions/checkout.`,
    );
}

interface Setting {
  readonly key: string;
  /** The value, or null if the key has no `=`. */
  readonly value: string | null;
}

interface ConfigFile {
  readonly path: string;
  readonly settings: readonly Setting[];
  /**
   * Limits the editing of files that this config names to these folders, because an agent of an earlier run may have
   * written the config; null means no limit, for the job's own config.
   */
  readonly editableFolders: readonly string[] | null;
}

/** A file with credentials; `settings` is null if it is not a git config. */
interface FoundFile {
  readonly path: string;
  readonly settings: readonly Setting[] | null;
}

/**
 * Returns the config files with secrets, of all git directories in the workspace, and the files that could not be read.
 */
async function configsOf(
  git: Git,
  workspace: Workspace,
  env: NodeJS.ProcessEnv,
): Promise<{ readonly configs: readonly ConfigFile[]; readonly unread: readonly string[] }> {
  const { own, nested, unsearched } = await findGitConfigs(workspace);
  const unread = [...unsearched];
  const configs: ConfigFile[] = await Promise.all(own.map((path) => readConfigFile(git, path, null)));
  // A file that git cannot read has no effect on git, so it does not end the run: it may belong to a test.
  const editableFolders = [
    workspace.top,
    ...(env['RUNNER_TEMP'] ? [await realpath(env['RUNNER_TEMP']).catch(() => env['RUNNER_TEMP'] ?? '')] : []),
  ];
  for (const path of nested)
    if (await isIn(path, editableFolders))
      await readConfigFile(git, path, editableFolders).then(
        (config) => configs.push(config),
        () => unread.push(path),
      );
    else if (existsSync(path)) unread.push(path);
  const isSecret = (config: ConfigFile): boolean =>
    config.settings.some((setting) => isInclude(setting) || isCredential(setting));
  return { configs: configs.filter(isSecret), unread };
}

async function readConfigFile(
  git: Git,
  path: string,
  editableFolders: ConfigFile['editableFolders'],
): Promise<ConfigFile> {
  const stats = await stat(path).catch(() => null);
  if (!stats?.isFile()) return { path, settings: [], editableFolders };
  const listed = await git.records(['config', '--file', path, '--no-includes', '--list', '-z']);
  return { path, settings: listed.map(parseSetting), editableFolders };
}

/** Returns true if a file is in one of the folders once all links are resolved. */
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

/** Keys of the settings whose value is a URL or the name of a remote. */
const URL_KEY =
  /^((remote|submodule)\..*\.(url|pushurl|proxy|lfsurl|lfspushurl)|http\.(.*\.)?proxy|lfs\.(push)?url|branch\..*\.(remote|pushremote)|remote\.pushdefault)$/is;

/** Returns the value of a URL setting without user name and password. */
function withoutPassword({ key, value }: Setting): string | null {
  return value !== null && URL_KEY.test(key)
    ? value.replace(/^(https?:\/\/|(?=[^/@]*:[^/@]*@)|[a-z][a-z0-9+.-]*:\/\/(?=[^/@]*:))[^/@]*(?:@[^/@]*)*@/i, '$1')
    : value;
}

/**
 * Returns the files outside of the repository from which its config draws credentials: includes (also nested ones) and
 * SSH keys. `outOfReach` are the files outside of a config's editable folders, which stay as they are.
 */
async function includedSecrets(
  git: Git,
  configs: readonly ConfigFile[],
  env: NodeJS.ProcessEnv,
): Promise<{ readonly secrets: readonly FoundFile[]; readonly outOfReach: readonly string[] }> {
  const secrets = new Map<string, FoundFile>();
  const outOfReach = new Set<string>();
  const isEditable = async (path: string, { editableFolders }: ConfigFile): Promise<boolean> => {
    if (editableFolders === null || (await isIn(path, editableFolders))) return true;
    if (existsSync(path)) outOfReach.add(path);
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
      if (keyFile && (await stat(keyFile).catch(() => null))?.isFile() && (await isEditable(resolve(keyFile), config)))
        secrets.set(resolve(keyFile), { path: resolve(keyFile), settings: null });
      if (!isInclude({ key, value })) continue;
      const path = resolve(dirname(config.path), value.replace(/^~(?=\/)/, env['HOME'] ?? '~'));
      if (seen.has(path) || !(await isEditable(path, config))) continue;
      seen.add(path);
      const included = await readConfigFile(git, path, config.editableFolders);
      if (included.settings.some(isCredential)) secrets.set(path, included);
      waiting.push(included);
    }
  }
  return { secrets: [...secrets.values()], outOfReach: [...outOfReach] };
}

/**
 * The edited content of config files by their original one: all trees of a lane have the same files, so each is edited
 * only once.
 */
const rewritten = new Map<string, Buffer>();

/** Edits a copy and moves it into place, so that the config is never half written. */
async function rewrite(git: Git, path: string): Promise<void> {
  if (!(await stat(path)).isFile()) return;
  const fresh = `${path}.ralph`;
  const { bytes, mode } = (await readFollowingLinks(path)) ?? unreadable(path);
  const before = bytes.toString('latin1');
  const known = rewritten.get(before);
  await writeRegular(fresh, known ?? bytes, { mode });
  if (known === undefined) {
    await removeFrom(git, fresh, path);
    rewritten.set(before, ((await readFollowingLinks(fresh)) ?? unreadable(fresh)).bytes);
  }
  await rename(fresh, path);
}

/** Removes the secret settings from the file `fresh`; errors name `path`. */
async function removeFrom(git: Git, fresh: string, path: string): Promise<void> {
  const { settings } = await readConfigFile(git, fresh, null);
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

/** Returns the passwords and tokens in headers, in URLs (also in those of keys) and in credential helpers. */
export function secretsOfSettings(settings: readonly Setting[]): readonly string[] {
  const found = settings.flatMap(({ key, value }) => [
    ...secretsOfUrl(key),
    ...secretsOfUrl(value ?? ''),
    ...(/^http\..*extraheader$/is.test(key) ? secretsOfHeader(value ?? '') : []),
    ...(/^credential\./i.test(key) ? secretsOfHelper(value ?? '') : []),
  ]);
  return [...new Set(found)].filter((secret) => secret.length >= MIN_SECRET_CHARS && secret !== STAND_IN);
}

/** Returns the secrets of `https://user:password@host`, with any scheme or none. */
function secretsOfUrl(text: string): readonly string[] {
  const [, password = ''] = /(?:^|\/\/|\.)[^/@:\s]*:([^/\s]*)@/.exec(text) ?? [];
  // GitHub accepts a token as user name or as password, so look at both.
  const [, user = ''] = /https?:\/\/([^/@:\s]*)(?::[^/\s]*)?@/i.exec(text) ?? [];
  return [...spellingsOf(password), ...(user.length >= MIN_TOKEN_CHARS ? spellingsOf(user) : [])];
}

/** Returns the password as written and percent-decoded, as a URL may contain it. */
function spellingsOf(text: string): readonly string[] {
  try {
    return [text, decodeURIComponent(text)];
  } catch {
    return [text];
  }
}

/** Returns the secrets of `Authorization: Basic …`, `PRIVATE-TOKEN: …`; other headers contain no secret. */
function secretsOfHeader(header: string): readonly string[] {
  const [, scheme = '', secret = ''] =
    /^[^:]*(?:auth|token|key|secret|password)[^:]*:\s*(?:(\S+)\s+)?(\S+)\s*$/i.exec(header) ?? [];
  if (scheme.toLowerCase() !== 'basic') return [secret];
  const decoded = Buffer.from(secret, 'base64').toString();
  return [secret, decoded.slice(decoded.indexOf(':') + 1)];
}

/** Returns the password in a helper that is a script. */
function secretsOfHelper(command: string): readonly string[] {
  return [...command.matchAll(/password=["']?([^\s"';]+)/g)].map(([, password = '']) => password);
}
