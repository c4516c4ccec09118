import { existsSync } from 'node:fs';
import { delimiter, join, resolve, sep } from 'node:path';
import { UserError } from '../user-error.ts';

/** What a git command answered; `exitCode` is -1 when it was ended for taking too long or saying too much. */
export interface GitAnswer {
  readonly exitCode: number;
  readonly stdout: Buffer;
  readonly stderr: string;
}

/** `variables` are added to the command's environment. */
export interface GitOptions {
  readonly input?: string | Buffer;
  readonly variables?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

/** The one way in which this program runs git, bound to a folder and a git directory. */
export interface Git {
  /** Never throws for what git answers. */
  answer(args: readonly string[], options?: GitOptions): Promise<GitAnswer>;
  /** Standard output without the last line feed; throws UserError unless git ends with 0. */
  text(args: readonly string[], options?: GitOptions): Promise<string>;
  /** Standard output cut at NUL; throws UserError unless git ends with 0. */
  records(args: readonly string[], options?: GitOptions): Promise<readonly string[]>;
}

/** Where commands run: `variables` hold GIT_DIR and the like, `hide` are texts that no error may repeat. */
export interface GitPlace {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly variables?: Readonly<Record<string, string>>;
  readonly hide?: readonly string[];
}

/** Binds git to a place. Every command gets a minimal environment and the settings below, which beat any config file. */
export function createGit(place: GitPlace): Git {
  const program = findGit(place.env);
  const base = { ...keep(place.env), ...fixedVariables, ...place.variables };

  async function answer(args: readonly string[], options: GitOptions = {}): Promise<GitAnswer> {
    // Loaded at the first command: a run that ends before one need not wait for it.
    const { execa } = await import('execa');
    const result = await execa(program, [...fixedSettings, ...args], {
      cwd: place.folder,
      env: { ...base, ...options.variables },
      extendEnv: false,
      ...(options.input === undefined ? { stdin: 'ignore' as const } : { input: options.input }),
      encoding: 'buffer',
      stripFinalNewline: false,
      timeout: options.timeoutMs ?? defaultTimeoutMs,
      maxBuffer: maxOutputBytes,
      reject: false,
    });
    // Without an exit code git was not found or was ended by us; execa's sentence then says why (its first line repeats the arguments).
    const why = result.exitCode === undefined ? `${result.timedOut ? 'it took too long' : (result.originalMessage ?? 'it was ended')}\n` : '';
    return { exitCode: result.exitCode ?? -1, stdout: Buffer.from(result.stdout), stderr: hidden(why + Buffer.from(result.stderr).toString(), place.hide ?? []) };
  }

  async function bytes(args: readonly string[], options?: GitOptions): Promise<Buffer> {
    const { exitCode, stdout, stderr } = await answer(args, options);
    if (exitCode !== 0) throw new UserError('infrastructure', `git ${args[0] ?? ''} failed in ${place.folder} (exit code ${exitCode}): ${lastWords(stderr)}`);
    return stdout;
  }

  return {
    answer,
    text: async (args, options) => (await bytes(args, options)).toString().replace(/\n$/, ''),
    records: async (args, options) => splitRecords(await bytes(args, options)),
  };
}

/** The end of what git said on standard error: at most 10 lines and 1,000 characters. */
export function lastWords(stderr: string): string {
  return stderr.trim().split('\n').slice(-10).join('\n').slice(-1000) || 'it said nothing';
}

/**
 * Variables that authenticate one command at `url`. They keep the token out of arguments and files,
 * and the setting is scoped to the URL, so no other server is ever sent it.
 */
export function authorization(url: string, token: string): Record<string, string> {
  if (token === '') return { GIT_ALLOW_PROTOCOL: 'http:https' };
  return {
    GIT_ALLOW_PROTOCOL: 'http:https',
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: `http.${url}.extraheader`,
    GIT_CONFIG_VALUE_0: `AUTHORIZATION: basic ${basicCredentials(token)}`,
  };
}

/** The user name is the one that GitHub documents for tokens of apps. */
export function basicCredentials(token: string): string {
  return Buffer.from(`x-access-token:${token}`).toString('base64');
}

const defaultTimeoutMs = 10 * 60_000;
const maxOutputBytes = 256 * 1024 * 1024;

/** Everything in a repository's config or attributes that names a program, a server or another file, put out of action. */
const fixedSettings = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.attributesFile=/dev/null',
  'core.sshCommand=false',
  'core.askPass=',
  'core.pager=cat',
  'core.alternateRefsCommand=true',
  'core.splitIndex=false',
  'credential.helper=',
  'commit.gpgSign=false',
  'diff.external=',
  'gc.auto=0',
  'maintenance.auto=false',
  'protocol.ext.allow=never',
  'http.followRedirects=false',
  'submodule.recurse=false',
  'fetch.recurseSubmodules=false',
  'index.sparse=false',
  'safe.directory=*',
].flatMap((setting) => ['-c', setting]);

/** No protocol is allowed unless the command says so: a "promisor" remote in a hostile config must not make git fetch by itself. */
const fixedVariables = {
  LC_ALL: 'C',
  GIT_TERMINAL_PROMPT: '0',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_NO_LAZY_FETCH: '1',
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_ALLOW_PROTOCOL: 'none',
  GIT_EDITOR: 'false',
  GIT_PAGER: 'cat',
};

/** What a self-hosted runner needs to reach its server, and nothing that could carry a token. */
const keptVariables = ['PATH', 'HOME', 'TMPDIR', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'no_proxy', 'all_proxy', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'GIT_SSL_CAINFO'];

function keep(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(keptVariables.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])));
}

/**
 * Absolute path of git. Hosted runners have `~/.local/bin` early on PATH, where an agent could leave a "git" of its own
 * for us to run with the token; so folders outside of the home folder are looked at first.
 */
function findGit(env: NodeJS.ProcessEnv): string {
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder.startsWith('/'));
  const home = env['HOME'] ? resolve(env['HOME']) + sep : null;
  const atHome = (folder: string): boolean => home !== null && home !== '//' && (resolve(folder) + sep).startsWith(home);
  const ordered = [...folders.filter((folder) => !atHome(folder)), ...folders.filter(atHome)];
  const found = ordered.map((folder) => join(folder, 'git')).find((path) => existsSync(path));
  if (!found) throw new UserError('infrastructure', `git was not found on PATH (${env['PATH'] ?? 'not set'}). Install git 2.38 or newer on the runner.`);
  return found;
}

function splitRecords(bytes: Buffer): readonly string[] {
  const records = bytes.toString().split('\0');
  if (records.at(-1) === '') records.pop();
  return records;
}

function hidden(text: string, secrets: readonly string[]): string {
  return secrets.filter((secret) => secret !== '').reduce((rest, secret) => rest.replaceAll(secret, '***'), text);
}
