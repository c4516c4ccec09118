import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import type { Readable } from 'node:stream';
import { MINUTE_MS } from '../core/countdown.ts';
import { UserError } from '../errors.ts';
import { withNamedWait } from '../ports/waits.ts';
import { type CollectedEnd, collectOutput, describeCollected } from '../processes/collect-output.ts';
import { buildTrustedPath, findTrustedProgram } from '../processes/trusted-programs.ts';
import { type Conversation, startConversation } from './conversation.ts';
import { decodeNames, encodeNames } from './names.ts';
import { writeRegular } from './regular-files.ts';

/** The answer of a git command; `exitCode` is -1 if it was ended for exceeding its time or output limit. */
export interface GitAnswer {
  readonly exitCode: number;
  readonly stdout: Buffer;
  readonly stderr: string;
}

/**
 * The options of a command. `variables` are added to its environment. After `timeoutMs`, the command is ended with
 * every process that it started.
 */
interface GitOptions {
  readonly input?: string | Buffer | Readable;
  readonly variables?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

/** The only way in which this program runs git, bound to a folder and a git directory. */
export interface Git {
  /** Returns the answer; never throws because of git's exit code. */
  answer(args: readonly string[], options?: GitOptions): Promise<GitAnswer>;
  /** Returns standard output without the last line feed; throws UserError unless git exits with 0. */
  text(args: readonly string[], options?: GitOptions): Promise<string>;
  /** Returns standard output split at NUL; throws UserError unless git exits with 0. */
  records(args: readonly string[], options?: GitOptions): Promise<readonly string[]>;
  /**
   * Works like `records`, for output that contains file names. Names that are not UTF-8 can be passed back to git
   * unchanged.
   */
  names(args: readonly string[], options?: GitOptions): Promise<readonly string[]>;
  /** Opens a command that answers questions while it runs. */
  open(args: readonly string[]): Conversation;
}

/**
 * The surroundings of commands. `variables` contain GIT_DIR and similar ones. Errors never contain a text of `hide`.
 * `configuration: 'own'` is the only exception to the settings below: the person who runs this on their machine reaches
 * the server with their own git configuration, credential helpers and ssh. It is only for a repository that we made
 * ourselves, and for reading settings, which starts no program.
 */
interface GitSetup {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly variables?: Readonly<Record<string, string>>;
  readonly hide?: readonly string[];
  readonly configuration?: 'none' | 'own';
  /** Removes named pipes for which a slow command may wait in vain. */
  readonly unblock?: () => Promise<unknown>;
}

/**
 * Binds git to a folder. Every command gets a minimal environment and the settings below, which override config files.
 */
export function createGit(setup: GitSetup): Git {
  findGit(setup.env);
  const isOwn = setup.configuration === 'own';
  const base = {
    ...(isOwn
      ? { ...withoutRepository(setup.env), ...ownVariables }
      : { ...selectKeptVariables(setup.env), PATH: buildTrustedPath(setup.env), ...fixedVariables }),
    ...setup.variables,
  };
  const settings = isOwn ? ownSettings : fixedSettings;

  const call = (args: readonly string[], variables: GitOptions['variables']) => ({
    file: findGit(setup.env),
    args: [...settings, ...args],
    cwd: setup.folder,
    environment: { ...base, ...variables },
    family: { kind: 'group', graceMs: GRACE_MS, leftover: 'keep' } as const,
  });
  const unblock = (): void => void setup.unblock?.().catch(() => undefined);

  async function answer(args: readonly string[], options: GitOptions = {}): Promise<GitAnswer> {
    const slow = setTimeout(unblock, SLOW_MS);
    const timeoutMs =
      options.timeoutMs ?? (NETWORK_COMMANDS.has(commandOf(args)) ? NETWORK_TIMEOUT_MS : LOCAL_TIMEOUT_MS);
    const program = { ...call(args, options.variables), input: encodeGitInput(options.input), timeoutMs };
    const { end, stdout, stderr } = await withNamedWait(`git ${commandOf(args)}`, () =>
      collectOutput(program, MAX_OUTPUT_BYTES),
    ).finally(() => {
      clearTimeout(slow);
    });
    const why = end.kind === 'exited' ? '' : `it ${whyEnded(end, timeoutMs)}\n`;
    return {
      exitCode: end.kind === 'exited' ? end.code : -1,
      stdout,
      stderr: hidden(`${why}${stderr.toString()}`, setup.hide ?? []),
    };
  }

  async function bytes(args: readonly string[], options?: GitOptions): Promise<Buffer> {
    const { exitCode, stdout, stderr } = await answer(args, options);
    if (exitCode !== 0)
      throw new UserError(
        'infrastructure',
        `git ${args[0] ?? ''} failed in ${setup.folder} (exit code ${exitCode}): ${lastLinesOfError(stderr)}`,
      );
    return stdout;
  }

  return {
    answer,
    text: async (args, options) => (await bytes(args, options)).toString().replace(/\n$/, ''),
    records: async (args, options) => splitRecords((await bytes(args, options)).toString()),
    names: async (args, options) => splitRecords(decodeNames(await bytes(args, options))),
    open: (args) =>
      startConversation(call(args, {}), {
        slowMs: SLOW_MS,
        unblock,
        longestMs: LOCAL_TIMEOUT_MS,
        mostBytes: MAX_OUTPUT_BYTES,
      }),
  };
}

/** Returns the end of git's standard error: at most 10 lines and 1,000 characters. */
export function lastLinesOfError(stderr: string): string {
  return stderr.trim().split('\n').slice(-10).join('\n').slice(-1000) || 'no message';
}

/** Returns the remote's lines from the output of a push. A server names each rule and file in a separate line. */
export function parseRemoteWords(stderr: string): string {
  return stderr.trim().split('\n').slice(-200).join('\n').slice(-16_000) || 'no message';
}

/** The command that only fetches refs: no tags, no FETCH_HEAD, no maintenance. */
export const FETCH_REFS_ONLY = [
  'fetch',
  '--quiet',
  '--no-tags',
  '--no-write-fetch-head',
  '--no-auto-maintenance',
] as const;

/** Options that keep a file at the path that its side of a merge gave it, even if the other side moved the folder. */
const BY_FILE = ['-c', 'merge.directoryRenames=false'] as const;

/** The command that merges two commits as objects. */
export const MERGE_ALONE = [...BY_FILE, 'merge-tree', '--write-tree', '--no-messages'] as const;

/**
 * Returns variables that authenticate one command at `url`. They keep the token out of arguments and files. The setting
 * is limited to the URL, so no other server receives it.
 */
export function buildAuthVariables(url: string, token: string): Record<string, string> {
  // An absolute path is a person's own repository on this machine, so it needs no credentials.
  if (isAbsolute(url)) return { GIT_ALLOW_PROTOCOL: 'file' };
  if (token === '') return { GIT_ALLOW_PROTOCOL: 'http:https' };
  return {
    GIT_ALLOW_PROTOCOL: 'http:https',
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: `http.${url}.extraheader`,
    // Send the same header as actions/checkout.
    GIT_CONFIG_VALUE_0: `AUTHORIZATION: basic ${encodeBasicCredentials(token)}`,
  };
}

/** Returns basic credentials with the user name that GitHub documents for tokens of apps. */
export function encodeBasicCredentials(token: string): string {
  return Buffer.from(`x-access-token:${token}`).toString('base64');
}

/** Maximum time of a network command, in ms: it may transfer a whole history. */
const NETWORK_TIMEOUT_MS = 10 * MINUTE_MS;

/** Returns the command among git's arguments, such as `fetch`, which settings (`-c NAME=VALUE`) may precede. */
function commandOf([first = '', , ...others]: readonly string[]): string {
  return first === '-c' ? commandOf(others) : first;
}

const NETWORK_COMMANDS: ReadonlySet<string> = new Set(['fetch', 'push', 'ls-remote']);

/** Maximum time of a local command, in ms; a slower one is blocked, for example by a named pipe in place of a file. */
const LOCAL_TIMEOUT_MS = MINUTE_MS;

/** Time in ms after which a command is slow; most take a hundredth of it. */
const SLOW_MS = 2_000;

/** Time in ms for git to clean up after SIGTERM. */
const GRACE_MS = 200;

const MAX_OUTPUT_BYTES = 256 * 1024 * 1024;

/** Disables everything in a repository's config or attributes that names a program, a server or another file. */
const fixedSettings = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.attributesFile=/dev/null',
  'core.sshCommand=false',
  'core.askPass=',
  'core.pager=cat',
  'core.alternateRefsCommand=true',
  'core.splitIndex=false',
  'core.commitGraph=false',
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

/**
 * Variables of every restricted git. They allow no protocol unless the command does, because a "promisor" remote in a
 * hostile config must not make git fetch by itself.
 */
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

/** The part of `fixedSettings` that does not restrict a person who reaches a server with one of our repositories. */
const ownSettings = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.pager=cat',
  'gc.auto=0',
  'maintenance.auto=false',
  'protocol.ext.allow=never',
].flatMap((setting) => ['-c', setting]);

/**
 * Variables of every git: it must not prompt, because nobody would answer, and its output must be in English, so that
 * it can be parsed.
 */
const ownVariables = { LC_ALL: 'C', GIT_TERMINAL_PROMPT: '0', GIT_EDITOR: 'false', GIT_PAGER: 'cat' };

/**
 * Variables that a hook or a wrapper of git may have set for another repository: those of `git rev-parse
 * --local-env-vars` that are not the person's settings.
 */
const repositoryVariables: ReadonlySet<string> = new Set([
  'GIT_ALTERNATE_OBJECT_DIRECTORIES',
  'GIT_OBJECT_DIRECTORY',
  'GIT_DIR',
  'GIT_WORK_TREE',
  'GIT_IMPLICIT_WORK_TREE',
  'GIT_GRAFT_FILE',
  'GIT_INDEX_FILE',
  'GIT_NO_REPLACE_OBJECTS',
  'GIT_REPLACE_REF_BASE',
  'GIT_PREFIX',
  'GIT_SHALLOW_FILE',
  'GIT_COMMON_DIR',
  'GIT_NAMESPACE',
]);

function withoutRepository(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && !repositoryVariables.has(entry[0]),
    ),
  );
}

/** Variables that a self-hosted runner needs to reach its server, none of which could carry a token. */
const keptVariables = [
  'HOME',
  'TMPDIR',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'ALL_PROXY',
  'http_proxy',
  'https_proxy',
  'no_proxy',
  'all_proxy',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'GIT_SSL_CAINFO',
];

function selectKeptVariables(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(keptVariables.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])));
}

/** The oldest version with all options that are used here. */
const OLDEST_GIT = [2, 38] as const;

/**
 * Returns the problem of a git by the version that it prints (`git version 2.34.1`), or null if there is no problem or
 * the text is unreadable.
 */
export function findGitVersionProblem(named: string): string | null {
  const [, major = '', minor = ''] = /^git version (\d+)\.(\d+)/.exec(named) ?? [];
  const [oldestMajor, oldestMinor] = OLDEST_GIT;
  const isOld = Number(major) < oldestMajor || (Number(major) === oldestMajor && Number(minor) < oldestMinor);
  return major === '' || !isOld
    ? null
    : `The runner has ${named.trim()}, which is too old. Install git ${OLDEST_GIT.join('.')} or newer.`;
}

/** Returns true if git is installed. */
export function hasGit(env: NodeJS.ProcessEnv): boolean {
  return findTrustedProgram('git', env) !== null;
}

/** Returns the absolute path of git. Throws a UserError if git is missing, or was changed since it was found. */
function findGit(env: NodeJS.ProcessEnv): string {
  const found = findTrustedProgram('git', env);
  if (found === null)
    throw new UserError(
      'infrastructure',
      `git was not found on PATH (${env['PATH'] ?? 'not set'}). Install git ${OLDEST_GIT.join('.')} or newer on the runner.`,
    );
  return found;
}

/** Returns the reason why git ended, as the rest of a sentence that begins with "git". */
function whyEnded(end: CollectedEnd, timeoutMs: number): string {
  return end.kind === 'timeout' ? `took too long (more than ${String(timeoutMs / 1000)} s)` : describeCollected(end);
}

/** Returns the input as bytes. Names that are not UTF-8 become their original bytes again. */
function encodeGitInput(input: GitOptions['input']): string | Buffer | Readable {
  return typeof input === 'string' && !input.isWellFormed() ? encodeNames(input) : (input ?? '');
}

function splitRecords(text: string): readonly string[] {
  const records = text.split('\0');
  if (records.at(-1) === '') records.pop();
  return records;
}

function hidden(text: string, secrets: readonly string[]): string {
  return secrets.filter((secret) => secret !== '').reduce((rest, secret) => rest.replaceAll(secret, '***'), text);
}

export interface BareRepositoryOptions extends Pick<GitSetup, 'env' | 'hide' | 'configuration' | 'unblock'> {
  /** A folder outside of the checkout. */
  readonly workFolder: string;
  /** Another folder of objects to read from, and a list of its commits whose past is missing. */
  readonly borrow?: { readonly objects: string; readonly shallow: string } | null;
  /** A folder in which the objects outlive the repository. */
  readonly keepObjectsIn?: string;
}

/**
 * Runs `body` in a temporary bare repository whose config, hooks and refs are only ours. Creates it without `git init`,
 * which would copy templates.
 */
export async function withBareRepository<T>(
  { workFolder, borrow = null, keepObjectsIn, ...setup }: BareRepositoryOptions,
  body: (git: Git, gitFolder: string) => Promise<T>,
): Promise<T> {
  await mkdir(workFolder, { recursive: true });
  const folder = await mkdtemp(join(workFolder, 'bare-'));
  const objects = keepObjectsIn ?? join(folder, 'objects');
  try {
    await Promise.all([mkdir(join(objects, 'info'), { recursive: true }), mkdir(join(folder, 'refs'))]);
    await Promise.all([
      writeRegular(join(folder, 'HEAD'), 'ref: refs/heads/none\n'),
      writeRegular(join(folder, 'config'), '[core]\n\trepositoryformatversion = 0\n\tbare = true\n'),
    ]);
    if (borrow !== null) {
      await writeRegular(join(objects, 'info', 'alternates'), `${borrow.objects}\n`);
      if (borrow.shallow !== '') await writeRegular(join(folder, 'shallow'), borrow.shallow);
    }
    return await body(
      createGit({ ...setup, folder, variables: { GIT_DIR: folder, GIT_OBJECT_DIRECTORY: objects } }),
      folder,
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Returns the variables by which git makes commits in somebody's name. */
export function buildIdentityVariables({
  name,
  email,
}: {
  readonly name: string;
  readonly email: string;
}): Record<string, string> {
  return { GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email, GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: email };
}

/** The identity of commits that never leave the machine. */
export const LOCAL_IDENTITY = buildIdentityVariables({ name: 'ralph', email: 'ralph@localhost' });
