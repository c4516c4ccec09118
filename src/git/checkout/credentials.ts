import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { UserError } from '../../errors.ts';
import { createGit, type Git } from '../git.ts';
import { readLinked, readRegular, writeRegular } from '../regular-files.ts';
import type { Workspace } from './workspace.ts';

interface HideOptions {
  readonly workFolder: string;
  readonly env: NodeJS.ProcessEnv;
  /** 32 bytes, the same in `post`: what is on disk of the originals meanwhile is encrypted with it. */
  readonly sealKey: Buffer;
}

/** A file that was changed or taken away, as it was. */
interface HiddenFile {
  readonly path: string;
  readonly mode: number;
  readonly content: Buffer;
}

/**
 * Takes credentials out of the workspace's git config: headers, helpers, keys, passwords in URLs, and includes
 * (newer versions of actions/checkout keep the header in an included file, which is moved away as well).
 * The returned function puts every file back as it was, and so does restoreCredentials after a kill.
 * Meanwhile they are in the memory of this process, and on disk only encrypted.
 */
export async function hideCredentials(workspace: Workspace, options: HideOptions): Promise<() => Promise<void>> {
  // A run that was killed may have left some hidden.
  await restoreCredentials(options);
  const git = createGit({ folder: '/', env: options.env });
  const configs = await configsOf(git, workspace);
  const included = await includedSecrets(git, configs, options.env);
  if (configs.length === 0) return () => Promise.resolve();

  const hidden = await readAll([...configs.map((config) => config.path), ...included]);
  await save(options, hidden);
  await Promise.all(included.map((path) => rm(path, { force: true })));
  for (const config of configs) await rewrite(git, config);
  let isHidden = true;
  return async () => {
    if (!isHidden) return;
    await putBack(options, hidden);
    isHidden = false;
  };
}

/** Puts back what hideCredentials took away; does nothing when nothing is hidden. Safe to repeat, also after being killed half-way. Throws a UserError when what was kept is not what hideCredentials wrote. */
export async function restoreCredentials(options: Pick<HideOptions, 'workFolder' | 'sealKey'>): Promise<void> {
  const sealed = await readRegular(sealedFile(options.workFolder));
  if (sealed !== null) await putBack(options, unseal(sealed.bytes, options.sealKey));
}

async function putBack({ workFolder }: Pick<HideOptions, 'workFolder'>, hidden: readonly HiddenFile[]): Promise<void> {
  for (const { path, content, mode } of hidden) {
    if (!(await stat(dirname(path)).catch(() => null))) continue;
    await writeRegular(path, content, { mode });
  }
  await rm(sealedFile(workFolder), { recursive: true, force: true });
}

interface Setting {
  readonly key: string;
  readonly value: string;
}

interface ConfigFile {
  readonly path: string;
  readonly settings: readonly Setting[];
}

/** The config files of the repository and of its submodules, as far as they hold something to hide. */
async function configsOf(git: Git, workspace: Workspace): Promise<readonly ConfigFile[]> {
  const modules = await readdir(join(workspace.commonFolder, 'modules'), { recursive: true }).catch(() => []);
  const paths = new Set([
    join(workspace.commonFolder, 'config'),
    join(workspace.commonFolder, 'config.worktree'),
    join(workspace.gitFolder, 'config.worktree'),
    ...modules
      .filter((name) => /(^|\/)config(\.worktree)?$/.test(name))
      .map((name) => join(workspace.commonFolder, 'modules', name)),
  ]);
  const configs = await Promise.all([...paths].map((path) => readConfigFile(git, path)));
  return configs.filter((config) => config.settings.some((setting) => isInclude(setting) || isCredential(setting)));
}

async function readConfigFile(git: Git, path: string): Promise<ConfigFile> {
  const found = await stat(path).catch(() => null);
  if (!found?.isFile()) return { path, settings: [] };
  const listed = await git.records(['config', '--file', path, '--no-includes', '--list', '-z']);
  return { path, settings: listed.map(parseSetting) };
}

function parseSetting(record: string): Setting {
  const at = record.indexOf('\n');
  return at === -1 ? { key: record, value: '' } : { key: record.slice(0, at), value: record.slice(at + 1) };
}

function isInclude({ key }: Setting): boolean {
  return /^include(if\..*)?\.path$/is.test(key);
}

function isCredential(setting: Setting): boolean {
  const secretKey =
    /^(http\.(.*\.)?(extraheader|cookiefile|sslkey)|credential\.(.*\.)?[a-z]+|core\.(askpass|sshcommand)|url\..*@.*\.(pushinsteadof|insteadof))$/is;
  return secretKey.test(setting.key) || withoutPassword(setting) !== setting.value;
}

/** The value of a URL setting without user name and password. */
function withoutPassword({ key, value }: Setting): string {
  return /^((remote|submodule)\..*\.(url|pushurl)|http\.(.*\.)?proxy)$/is.test(key)
    ? value.replace(/^(https?:\/\/)[^/@]*(?:@[^/@]*)*@/i, '$1')
    : value;
}

/** Files outside of the repository that its config draws credentials from: includes (nested ones, too) and SSH keys. */
async function includedSecrets(
  git: Git,
  configs: readonly ConfigFile[],
  env: NodeJS.ProcessEnv,
): Promise<readonly string[]> {
  const secrets = new Set<string>();
  const seen = new Set<string>();
  const waiting = [...configs];
  for (let config = waiting.pop(); config; config = waiting.pop()) {
    for (const { key, value } of config.settings) {
      const keyFile =
        key === 'core.sshcommand'
          ? /\s-i\s+(?:"([^"]+)"|'([^']+)'|(\S+))/.exec(value)?.slice(1).find(Boolean)
          : undefined;
      if (keyFile && (await stat(keyFile).catch(() => null))?.isFile()) secrets.add(resolve(keyFile));
      if (!isInclude({ key, value })) continue;
      const path = resolve(dirname(config.path), value.replace(/^~(?=\/)/, env['HOME'] ?? '~'));
      if (seen.has(path)) continue;
      seen.add(path);
      const included = await readConfigFile(git, path);
      if (included.settings.some(isCredential)) secrets.add(path);
      waiting.push(included);
    }
  }
  return [...secrets];
}

function readAll(paths: readonly string[]): Promise<HiddenFile[]> {
  return Promise.all(
    paths.map(async (path) => {
      const { mode, bytes } = (await readLinked(path)) ?? unreadable(path);
      return { path, mode, content: bytes };
    }),
  );
}

/** Keeps the originals for a `post` after a kill, before anything is changed. */
async function save({ workFolder, sealKey }: HideOptions, hidden: readonly HiddenFile[]): Promise<void> {
  await writeRegular(sealedFile(workFolder), seal(hidden, sealKey), { mode: 0o600 });
}

const IV_BYTES = 12;
const TAG_BYTES = 16;

function seal(hidden: readonly HiddenFile[], key: Buffer): Buffer {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, iv);
  const text = JSON.stringify(hidden.map((file) => ({ ...file, content: file.content.toString('base64') })));
  const encrypted = Buffer.concat([cipher.update(text), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), encrypted]);
}

function unseal(sealed: Buffer, key: Buffer): readonly HiddenFile[] {
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
    decipher.setAuthTag(sealed.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
    const text = Buffer.concat([decipher.update(sealed.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
    const files = JSON.parse(text.toString()) as readonly { path: string; mode: number; content: string }[];
    return files.map((file) => ({ ...file, content: Buffer.from(file.content, 'base64') }));
  } catch (error) {
    throw new UserError(
      'infrastructure',
      'what was kept of them is not what this run wrote. Later steps of this job that use git need a checkout of their own.',
      { cause: error },
    );
  }
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
    for (const setting of harmless) await git.text(['config', '--file', fresh, '--add', key, withoutPassword(setting)]);
  }
  const left = await readConfigFile(git, fresh);
  if (left.settings.some((setting) => isInclude(setting) || isCredential(setting)))
    throw new UserError(
      'infrastructure',
      `Credentials could not be taken out of ${path}. Set "persist-credentials: false" on actions/checkout.`,
    );
  await rename(fresh, path);
}

function unreadable(path: string): never {
  throw new UserError('infrastructure', `${path} cannot be read, so no credentials can be taken out of it.`);
}

function sealedFile(workFolder: string): string {
  return join(workFolder, 'hidden-credentials.sealed');
}
