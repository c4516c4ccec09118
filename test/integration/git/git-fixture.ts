import { createHash } from 'node:crypto';
import { cpSync, lstatSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll } from 'vitest';
import { git, NO_CLEANUP } from '../../../testbed/git.ts';
import { createSampleProject, startGitRemote, type GitRemote } from '../../../testbed/git-remote.ts';
import { createRepository, type Checkout } from '../../../src/git/checkout/checkout.ts';
import { locateQuarantine } from '../../../src/git/checkout/quarantine.ts';
import type { RepositorySandbox } from '../../../src/git/checkout/tree/agent-tree.ts';
import { locateTreeFolder } from '../../../src/git/checkout/tree/tree-folder.ts';
import type { PublishingRules } from '../../../src/git/inspection/inspection.ts';
import { createRemote } from '../../../src/git/remote/remote.ts';
import type { RemoteOptions } from '../../../src/git/remote/ask-remote.ts';
import { emptySnapshot } from '../../../src/core/snapshot/snapshot.ts';
import type { RefNetworkOptions } from '../../../src/git/refs/ref-network.ts';
import { createRefSnapshot } from '../../../src/git/refs/ref-snapshot.ts';
import type {
  Head,
  PlacedSnapshot,
  SnapshotPlace,
  StateUpdate,
  SnapshotSwap,
  Unavailable,
  WriteResult,
} from '../../../src/ports/state.ts';
import type { Log } from '../../../src/ports/machine.ts';
import type { IterationCommit } from '../../../src/ports/repository.ts';
import type { PushResult, Remote } from '../../../src/ports/remote.ts';
import { createSecretScanner } from '../../../src/secrets/scanner.ts';

export const TOKEN = 'ghs_0123456789abcdefghijABCDEFGHIJ012345';
export const READ_ONLY_TOKEN = 'read-only-token';
export const BRANCH = 'ralph/queue';

const ordinaryRules: PublishingRules = {
  allowProtectedPaths: [],
  maxPatchFiles: 300,
  maxPatchKib: 2048,
  secretValues: () => [],
  scanner: createSecretScanner(),
};

/** A push that builds on its start, or on main, by default. */
type ScenePush = Omit<Parameters<Remote['push']>[0], 'since'> & { readonly since?: string };
type SceneRemote = Omit<Remote, 'push'> & { push(push: ScenePush): Promise<PushResult> };

/** True if scenes reach their repository as a folder instead of over HTTP like a job. */
let isByFolder = false;

/**
 * Makes the following scenes reach their repository as a folder, for tests of this side only. A fetch over HTTP takes
 * ten more processes; other files test the protocol with a server.
 */
export function reachByFolder(): void {
  isByFolder = true;
}

/** Opens the agent's sandbox whose user works in the trees of scenes; null for the user of this process. */
let openAgentSandbox: ((root: string) => Promise<RepositorySandbox>) | null = null;

/** Gives each of the following scenes its own sandbox, to which its tree belongs. */
export function workIn(agentSandbox: NonNullable<typeof openAgentSandbox>): void {
  openAgentSandbox = agentSandbox;
}

/** A sample repository on a real HTTP remote, and a clone of it as actions/checkout would leave it. */
export interface Scene {
  readonly server: GitRemote;
  /** The checkout as the job made it. */
  readonly checkout: string;
  /** The tree in which the agent works while a lane is open, otherwise the checkout. */
  readonly folder: string;
  readonly workFolder: string;
  readonly repository: SceneCheckout;
  readonly agentSandbox: RepositorySandbox | null;
  remote(change?: Partial<RemoteOptions>): SceneRemote;
  /** Opens another Repository on the same checkout, as a new process would. */
  reopen(
    rules?: Partial<PublishingRules>,
    folder?: string,
    workingDirectory?: string,
    signOff?: boolean,
  ): SceneCheckout;
  /** Opens another Repository on a different folder. */
  reopenIn(folder: string): SceneCheckout;
  /** Runs the agent's git in the folder. */
  git(...args: string[]): Promise<string>;
  /** Runs git in the repository from which the commits are pushed. */
  quarantineGit(...args: string[]): Promise<string>;
  /** Runs git in the server's bare repository. */
  serverGit(...args: string[]): Promise<string>;
  write(path: string, content: string | Buffer): Promise<void>;
  read(path: string): Promise<string>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * The server and workspace that every scene copies, so that a dozen git processes start per test file and not per test.
 */
let firstScene: Promise<string> | null = null;
afterAll(async () => {
  if (firstScene !== null) await rm(await firstScene, { recursive: true, force: true });
});

async function layFirstScene(): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'ralph-git-first-'));
  const seed = await mkdtemp(join(tmpdir(), 'ralph-git-seed-'));
  await createSampleProject(seed);
  await using server = await startGitRemote({ folder: join(root, 'server'), token: TOKEN });
  await server.importFrom(seed);
  await rm(seed, { recursive: true, force: true });
  await runGit(root, ['clone', '--quiet', server.repositoryFolder, join(root, 'workspace')]);
  return root;
}

export async function setScene(rules: Partial<PublishingRules> = {}): Promise<Scene> {
  const root = await mkdtemp(join(tmpdir(), 'ralph-git-'));
  // A synchronous copy: otherwise each file would wait for another thread.
  cpSync(await (firstScene ??= layFirstScene()), root, { recursive: true, preserveTimestamps: true });
  const server = await startGitRemote({ folder: join(root, 'server'), token: TOKEN, readOnlyToken: READ_ONLY_TOKEN });
  const url = isByFolder ? server.repositoryFolder : server.url;
  const checkout = join(root, 'workspace');
  /** The tree in which the agent works, or null before one is laid. */
  let opened: string | null = null;
  const workFolder = join(root, 'runner-temp');
  const config = join(checkout, '.git', 'config');
  await writeFile(config, (await readFile(config, 'utf8')).replace(/(?<=url = ).*/, url));

  /** The wiring does the same. */
  const learned: string[] = [];
  const withSecrets = (all: PublishingRules): PublishingRules => ({
    ...all,
    secretValues: () => [...all.secretValues(), ...learned, TOKEN],
  });

  const agentSandbox = openAgentSandbox === null ? null : await openAgentSandbox(root);
  const reopen = (
    changed: Partial<PublishingRules> = {},
    at = checkout,
    workingDirectory = '',
    signOff = false,
  ): SceneCheckout => {
    const repository = createRepository({
      folder: at,
      workingDirectory,
      agentSandbox: () => Promise.resolve(agentSandbox),
      remote: { url, token: TOKEN },
      workFolder,
      rules: withSecrets({ ...ordinaryRules, ...rules, ...changed }),
      identity: { name: 'ralph', email: 'ralph@example.com' },
      signOff,
      env: { PATH: process.env['PATH'], HOME: root },
      log: silent,
      learnSecrets: (secrets) => void learned.push(...secrets),
    });
    return layingTrees(repository, (isLaid) => (opened = isLaid ? at : null));
  };

  const folderNow = (): string =>
    opened === null
      ? checkout
      : locateTreeFolder('work', { top: opened, workFolder, agentSandbox: agentSandbox?.agentSandbox ?? null });
  return {
    server,
    checkout,
    get folder() {
      return folderNow();
    },
    workFolder,
    repository: reopen(),
    agentSandbox,
    remote: (change = {}) => {
      const remote = createRemote({
        url,
        token: TOKEN,
        branchPrefix: 'ralph/',
        baseBranch: null,
        folder: '',
        workFolder,
        quarantineFolder: locateQuarantine(workFolder),
        rules: withSecrets({ ...ordinaryRules, ...rules }),
        identity: { name: 'ralph', email: 'ralph@example.com' },
        coAuthors: [],
        signer: null,
        env: { PATH: process.env['PATH'], HOME: root },
        log: silent,
        retryAfterMs: 1,
        ...change,
      });
      return {
        ...remote,
        push: async (push) =>
          remote.push({
            since:
              push.start.kind === 'continue'
                ? push.start.remoteHead
                : await runGit(server.repositoryFolder, ['rev-parse', 'main']),
            ...push,
          }),
      };
    },
    reopen,
    reopenIn: (at) => reopen({}, at),
    git: (...args) => runGit(folderNow(), args),
    quarantineGit: (...args) => runGit(checkout, args, { GIT_DIR: locateQuarantine(workFolder) }),
    serverGit: (...args) => runGit(server.repositoryFolder, args),
    async write(path, content) {
      await mkdir(dirname(join(folderNow(), path)), { recursive: true });
      await writeFile(join(folderNow(), path), content);
    },
    read: (path) => readFile(join(folderNow(), path), 'utf8'),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** Behaves like the loop: a lane that is opened gets its tree before anything reads it. */
function layingTrees(repository: Checkout, laid: (isLaid: boolean) => void): SceneCheckout {
  let leave = (): Promise<void> => Promise.resolve();
  return {
    ...repository,
    openLane: async (...lane) => {
      const answer = await repository.openLane(...lane);
      leave = await repository.checkOutTree(new AbortController().signal);
      laid(true);
      return answer;
    },
    leave: async () => {
      await leave();
      laid(false);
    },
  };
}

/** A checkout whose `leave` ends the work in the tree. */
export interface SceneCheckout extends Checkout {
  leave(): Promise<void>;
}

/** Opens the lane, lets `agent` work, and commits. */
export async function iterate(
  scene: Scene,
  agent: () => Promise<unknown>,
  repository = scene.repository,
  trailers: IterationCommit['trailers'] = { 'Ralph-Iteration': '1' },
) {
  const before = await repository.snapshot();
  await agent();
  const after = await repository.snapshot();
  const change = await repository.compare(before, after);
  const committed = await repository.commit({ ...messageFor(before, after), trailers });
  return { before, after, change, committed };
}

export function messageFor(before: IterationCommit['before'], after: IterationCommit['after']): IterationCommit {
  return { before, after, message: 'Add a feature', trailers: { 'Ralph-Iteration': '1' } };
}

export async function openFresh(scene: Scene, repository = scene.repository) {
  return await repository.openLane({ branch: BRANCH, baseBranch: 'main', start: { kind: 'fresh' } });
}

export async function runGit(
  folder: string,
  args: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): Promise<string> {
  const env = {
    PATH: process.env['PATH'] ?? '',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_NAME: 'agent',
    GIT_AUTHOR_EMAIL: 'agent@example.com',
    GIT_COMMITTER_NAME: 'agent',
    GIT_COMMITTER_EMAIL: 'agent@example.com',
    ...NO_CLEANUP,
    ...variables,
  };
  return await git(folder, args, { env });
}

/** Returns kind, mode, owner, time and content of everything in a folder, by path, to prove that it was only read. */
export function stateOf(folder: string, but: RegExp | null = null): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  const look = (at: Buffer, path: string): void => {
    if (but?.test(path) === true) return;
    const { mode, uid, gid, mtimeMs } = lstatSync(at);
    const kind = mode & 0o170000;
    const content =
      kind === 0o100000
        ? createHash('sha256').update(readFileSync(at)).digest('hex')
        : kind === 0o120000
          ? readlinkSync(at)
          : '';
    // The time of a folder is left out, because a temporary lock file changes it.
    found[path] = [mode.toString(8), uid, gid, kind === 0o040000 ? '' : mtimeMs, content].join(' ');
    if (kind !== 0o040000) return;
    for (const name of readdirSync(at, { encoding: 'buffer' }))
      look(Buffer.concat([at, Buffer.from('/'), name]), path === '' ? name.toString() : `${path}/${name.toString()}`);
  };
  look(Buffer.from(folder), '');
  return found;
}

/** The state on a remote, whose single file is the text of a lane. */
export interface OneText {
  readonly place: SnapshotPlace;
  read(): Promise<
    { readonly kind: 'found'; readonly head: Head; readonly text: string } | { readonly kind: 'absent' } | Unavailable
  >;
  /** Replaces the text at `expected`; null creates it. */
  write(expected: Head | null, text: string): Promise<WriteResult>;
  carry(expected: Head | null, text: string): StateUpdate;
}

/** The file with the text. */
export const TEXT_FILE = 'lanes/queue.json';

/** Opens the state of a remote as another machine would: each call makes a new work folder below `root`. */
export async function openState(
  remote: { readonly url: string },
  root: string,
  change: Partial<RefNetworkOptions> = {},
): Promise<OneText> {
  const workFolder = await mkdtemp(join(root, 'machine-'));
  const place = createRefSnapshot({
    url: remote.url,
    access: { kind: 'token', token: TOKEN },
    workFolder,
    env: { PATH: process.env['PATH'], HOME: root },
    now: () => 1_790_000_000_000,
    retryAfterMs: 1,
    ...change,
  });
  const seen = new Map<Head | null, PlacedSnapshot>();
  const swapOf = (head: Head | null, text: string): SnapshotSwap => {
    const from = seen.get(head) ?? { kind: 'snapshot', head, snapshot: emptySnapshot };
    return { from, snapshot: new Map([...from.snapshot, [TEXT_FILE, text]]), message: 'queue: a text' };
  };
  return {
    place,
    read: async () => {
      const read = await place.read(null);
      if (read.kind === 'known') throw new Error('nothing was known');
      if (read.kind === 'unavailable') return read;
      seen.set(read.head, read);
      if (read.head === null) return { kind: 'absent' };
      return { kind: 'found', head: read.head, text: read.snapshot.get(TEXT_FILE) ?? '' };
    },
    write: async (expected, text) => {
      const swap = swapOf(expected, text);
      const written = await place.write(swap);
      if (written.kind === 'written')
        seen.set(written.head, { kind: 'snapshot', head: written.head, snapshot: swap.snapshot });
      return written;
    },
    carry: (expected, text) => {
      const update = place.carry(swapOf(expected, text));
      if (update === null) throw new Error('it cannot go along');
      return update;
    },
  };
}

/**
 * The fate of a request: passed on, answered with a status (a redirect leads to the server), cut, never answered, or
 * executed with the answer lost.
 */
export type Passage = 'open' | number | 'cut' | 'silent' | 'answer lost';

/** Starts a proxy to a git server; `guard` decides about each request. */
export async function startWay(
  server: { readonly url: string },
  guard: (path: string) => Promise<Passage>,
): Promise<{ readonly url: string; [Symbol.asyncDispose](): Promise<void> }> {
  const target = new URL(server.url);
  const way = createServer((question, answer) => void pass(question, answer));
  async function pass(question: IncomingMessage, answer: ServerResponse): Promise<void> {
    const passage = await guard(question.url ?? '');
    if (passage === 'silent') return;
    if (typeof passage === 'number')
      return void answer.writeHead(passage, { location: new URL(question.url ?? '', target).href }).end();
    if (passage === 'cut') return void question.socket.destroy();
    question.pipe(
      request(
        {
          host: target.hostname,
          port: target.port,
          path: question.url,
          method: question.method,
          headers: question.headers,
        },
        (reply) => {
          if (passage === 'answer lost') return void reply.resume().on('end', () => question.socket.destroy());
          answer.writeHead(reply.statusCode ?? 500, reply.headers);
          reply.pipe(answer);
        },
      ),
    );
  }
  await new Promise<void>((listening) => way.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${(way.address() as AddressInfo).port}${target.pathname}`,
    async [Symbol.asyncDispose]() {
      way.closeAllConnections();
      await new Promise((closed) => way.close(closed));
    },
  };
}

const silent: Log = {
  info: () => undefined,
  warning: () => undefined,
  error: () => undefined,
  group: (_, body) => body(),
};
