import { chmod, copyFile, mkdir, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { UserError } from '../../errors.ts';
import { createGit, type Git } from '../git.ts';
import type { Workspace } from './workspace.ts';

interface HideOptions {
  readonly workFolder: string;
  readonly env: NodeJS.ProcessEnv;
}

/** A file that was changed or taken away, and where its original is kept. */
interface HiddenFile {
  readonly path: string;
  readonly savedAs: string;
  readonly mode: number;
}

/**
 * Takes credentials out of the workspace's git config: headers, helpers, keys, passwords in URLs, and includes
 * (newer versions of actions/checkout keep the header in an included file, which is moved away as well).
 * The returned function puts every file back as it was, and so does restoreCredentials after a kill.
 * This keeps them from `git config` and `git push`; an agent that searches the whole disk as the same user can find the copies.
 */
export async function hideCredentials(workspace: Workspace, options: HideOptions): Promise<() => Promise<void>> {
  const restore = (): Promise<void> => restoreCredentials(options.workFolder);
  // A run that was killed may have left some hidden.
  await restore();
  const git = createGit({ folder: '/', env: options.env });
  const configs = await configsOf(git, workspace);
  const included = await includedSecrets(git, configs, options.env);
  if (configs.length === 0) return restore;

  await save(options.workFolder, [...configs.map((config) => config.path), ...included]);
  await Promise.all(included.map((path) => rm(path, { force: true })));
  for (const config of configs) await rewrite(git, config);
  return restore;
}

/** Puts back what hideCredentials took away; does nothing when nothing is hidden. Safe to repeat, also after being killed half-way. */
export async function restoreCredentials(workFolder: string): Promise<void> {
  const record = await readFile(recordFile(workFolder), 'utf8').catch(() => null);
  if (record === null) return;
  for (const { path, savedAs, mode } of JSON.parse(record) as readonly HiddenFile[]) {
    if (!(await stat(dirname(path)).catch(() => null))) continue;
    const fresh = `${path}.ralph`;
    await rm(fresh, { recursive: true, force: true });
    await copyFile(savedAs, fresh);
    await chmod(fresh, mode);
    await rename(fresh, path);
  }
  await rm(recordFile(workFolder));
  await rm(savedFolder(workFolder), { recursive: true, force: true });
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

/** Keeps the originals and a record of them before anything is changed. */
async function save(workFolder: string, paths: readonly string[]): Promise<void> {
  const folder = savedFolder(workFolder);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const files = await Promise.all(
    paths.map(async (path, i): Promise<HiddenFile> => {
      const savedAs = join(folder, String(i));
      await copyFile(path, savedAs);
      await chmod(savedAs, 0o600);
      return { path, savedAs, mode: (await stat(path)).mode & 0o777 };
    }),
  );
  await writeFile(`${recordFile(workFolder)}.new`, JSON.stringify(files), { mode: 0o600 });
  await rename(`${recordFile(workFolder)}.new`, recordFile(workFolder));
}

/** Edits a copy and moves it into place, so that at no instant the config is half written. */
async function rewrite(git: Git, { path, settings }: ConfigFile): Promise<void> {
  const fresh = `${path}.ralph`;
  await copyFile(path, fresh);
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

function recordFile(workFolder: string): string {
  return join(workFolder, 'hidden-credentials.json');
}

function savedFolder(workFolder: string): string {
  return join(workFolder, 'hidden-credentials');
}
