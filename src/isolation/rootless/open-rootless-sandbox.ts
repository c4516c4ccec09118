import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, lstatSync, mkdirSync, readdirSync, realpathSync } from 'node:fs';
import { mkdir, readdir, rename } from 'node:fs/promises';
import type { Server } from 'node:http';
import { type AddressInfo, createServer, type Server as Listener } from 'node:net';
import { dirname, join } from 'node:path';
import { toOneLine } from '../../core/text/phrase.ts';
import { getErrorMessage, UserError } from '../../errors.ts';
import type { AgentSandbox } from '../../ports/agent-sandbox.ts';
import { collectOutput, describeCollected } from '../../processes/collect-output.ts';
import { findTrustedProgram } from '../../processes/trusted-programs.ts';
import { resolveRealFolder, listToolFolders } from '../namespaces/namespaces.ts';
import type { OpenedAgentSandbox } from '../namespaces/open-sandbox.ts';
import { createPlannedRecord, writeSandboxCopy } from '../namespaces/record.ts';
import type { AgentSandboxOptions } from '../namespaces/sandbox-of.ts';
import { SYSTEM_PATH, IsolationUnavailable } from '../namespaces/root.ts';
import { createLaunchFiles, quoteForShell } from '../namespaces/launch.ts';
import {
  removeClosedFolder,
  removeRootlessSandbox,
  writeRootlessRecord,
  endAgentSandbox,
  SANDBOX_TAG,
} from './remove.ts';
import {
  FILTER_PROGRAM,
  type RootlessFolders,
  type RuntimeWorker,
  startWorker,
  type WorkerRequest,
} from './runtime-worker.ts';

/** Names of the folders in which trees are created, again for each use. */
const TREES: readonly string[] = ['work', 'clean'];

/**
 * The system's programs and settings. Nothing else on the machine is visible: neither files nor sockets of other users
 * and services.
 */
const SYSTEM = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/etc', '/opt', '/nix'];

/** The paths that a sandbox with this user's own rights shows, and those in them that it hides; all paths are real. */
interface RuntimeView {
  readonly visible: readonly string[];
  readonly hidden: readonly string[];
}

interface RootlessOptions extends AgentSandboxOptions {
  /** Provides the library, once everything else is known to be there; returns its `dist/index.js`. */
  readonly runtime: () => Promise<string>;
}

/**
 * The ports at which the library's bridges end in every sandbox; there are no others. The first server that listens is
 * the proxy.
 */
const INSIDE = { proxy: 3128, broker: 1080 } as const;

/**
 * Maximum length of a sandbox's folder: the path of a socket has 107 bytes, of which the library's name and the folder
 * of the bridges take 43.
 */
const MAX_FOLDER_CHARS = 64;

const TRIAL_MS = 20_000;

const MAX_WORDS_BYTES = 64 * 1024;

/**
 * Opens a sandbox in the library's namespaces, for a user with neither root nor sudo. The sandbox has its own
 * processes, files and network, but runs as this user. Changes no setting of the machine. Throws IsolationUnavailable,
 * and leaves nothing behind, if that is impossible.
 */
export async function openRootlessSandbox(options: RootlessOptions): Promise<OpenedAgentSandbox> {
  const programs = programsFor(options.environment);
  try {
    const library = await options.runtime();
    return await createRootlessSandbox(options, { library, programs, filter: true }).catch(async (error: unknown) => {
      // Ubuntu's profile for bubblewrap prevents the library's filter from starting, so try again without it. Programs
      // can then create Unix sockets, but they see no socket of other users.
      if (!getErrorMessage(error).includes(FILTER_PROGRAM)) throw error;
      await removeRootlessSandbox(options.runFolder);
      return await createRootlessSandbox(options, { library, programs, filter: false });
    });
  } catch (error) {
    await removeRootlessSandbox(options.runFolder);
    throw error instanceof IsolationUnavailable ? error : new IsolationUnavailable(getErrorMessage(error));
  }
}

type Programs = WorkerRequest['programs'];

/**
 * Returns the paths of the programs; throws IsolationUnavailable if one is missing, for root, and on systems other than
 * Linux.
 */
function programsFor(environment: AgentSandboxOptions['environment']): Programs {
  if (process.platform !== 'linux')
    throw new IsolationUnavailable(`this works only on Linux, and this machine runs ${process.platform}`);
  if (process.getuid?.() === 0) throw new IsolationUnavailable('this is for users without root');
  const path = (name: string, from: string): string => {
    const program = findTrustedProgram(name, environment);
    if (program === null) throw new IsolationUnavailable(`\`${name}\` is not installed (package ${from})`);
    return program;
  };
  return { bwrap: path('bwrap', 'bubblewrap'), socat: path('socat', 'socat'), bash: path('bash', 'bash') };
}

/** Creates the folders, two sockets and the worker of a sandbox, and runs a first program in it. */
async function createRootlessSandbox(
  options: RootlessOptions,
  given: Pick<WorkerRequest, 'library' | 'programs' | 'filter'>,
): Promise<OpenedAgentSandbox> {
  const { runFolder, places } = options;
  const id = randomUUID();
  const folder = join(realpathSync(places.agentSandboxes), `ralph-sandbox-${randomBytes(4).toString('hex')}`);
  if (folder.length > MAX_FOLDER_CHARS)
    throw new IsolationUnavailable(`the path of ${places.agentSandboxes} is too long for sockets`);
  writeRootlessRecord(runFolder, { version: 1, id, folder });
  const folders = foldersIn(folder);
  for (const path of [folder, ...Object.values({ ...folders })]) mkdirSync(path, { mode: 0o700 });
  // Write a copy by which later runs find the sandbox if this run is killed.
  writeSandboxCopy(createPlannedRecord(runFolder, folder));
  const free = [await listening(), await listening()] as const;
  const [proxy, broker] = free;
  try {
    const ports = { proxy: portOf(proxy), broker: portOf(broker) };
    const worker = await startWorker({ ...given, ...runtimeViewOf(options), ports, folders }, { ...options, id });
    const agentSandbox = rootlessSandboxOf({ id, folders, worker });
    await tryOut(agentSandbox);
    const waiting = [
      { listener: proxy, inside: INSIDE.proxy },
      { listener: broker, inside: INSIDE.broker },
    ];
    return {
      level: 'sandbox',
      agentSandbox,
      uid: process.getuid?.() ?? 0,
      gaps: [],
      listen: async (server) => {
        const next = waiting.shift();
        if (next === undefined) throw new Error('a sandbox has two sockets: of the proxy, and of the broker');
        await takeOver(server, next.listener);
        return next.inside;
      },
      // Nothing to limit: the sandbox's network contains only the two servers.
      limitNetwork: () => Promise.resolve(true),
      close: async () => {
        await agentSandbox.end(0);
        await worker.close();
        for (const { listener } of waiting) listener.close();
        return { processes: await removeRootlessSandbox(runFolder), leftovers: [] };
      },
    };
  } catch (error) {
    for (const listener of free) listener.close();
    throw error;
  }
}

function foldersIn(folder: string): RootlessFolders {
  const at = (name: string): string => join(folder, name);
  return {
    ...{ home: at('home'), session: at('session'), trees: at('trees'), inbox: at('inbox') },
    ...{ temporary: at('tmp'), bridges: at('bridges') },
  };
}

/** Runs a program in the sandbox; throws IsolationUnavailable with the program's words if that fails. */
async function tryOut(agentSandbox: OpenedAgentSandbox['agentSandbox']): Promise<void> {
  const { end, stderr } = await collectOutput(
    {
      ...{ file: '/usr/bin/true', args: [], cwd: agentSandbox.folders.trees, environment: {}, input: '' },
      timeoutMs: TRIAL_MS,
      family: { kind: 'sandbox', agentSandbox },
    },
    MAX_WORDS_BYTES,
  );
  if (end.kind === 'exited' && end.code === 0) return;
  const words = toOneLine(stderr.toString().trim().split('\n').at(-1) ?? '', 200);
  throw new IsolationUnavailable(words === '' ? `a program in the sandbox ${describeCollected(end)}` : words);
}

/** Opens a socket that waits for its server. */
async function listening(): Promise<Listener> {
  const listener = createServer().listen(0, '127.0.0.1').unref();
  await once(listener, 'listening');
  return listener;
}

async function takeOver(server: Server, listener: Listener): Promise<void> {
  server.listen(listener);
  await once(server, 'listening');
  server.unref();
}

function portOf(listener: Listener): number {
  return (listener.address() as AddressInfo).port;
}

/**
 * Returns the visible and hidden paths of a sandbox made without root. This user's rights apply there, so this user's
 * own files are not shown.
 */
function runtimeViewOf({
  visible,
  hidden,
  runFolder,
  worker,
  environment,
}: Omit<AgentSandboxOptions, 'places'>): RuntimeView {
  const real = (paths: readonly string[]): readonly string[] => [...new Set(paths.flatMap(resolveRealFolder))];
  const shown = real([
    ...visible,
    dirname(worker.file),
    ...worker.args.filter((arg) => arg.startsWith('/')).map(dirname),
    ...listToolFolders(environment),
  ]);
  return {
    // Do not resolve the system's folders: links at the top of a merged /usr stay links.
    visible: [...SYSTEM.filter((path) => existsSync(path)), ...shown],
    // Leave out visible paths, because the library shows a path that is both visible and hidden.
    hidden: real([...hidden, ...ownIn('/opt'), runFolder]).filter((path) => !shown.includes(path)),
  };
}

/** Returns the entries of this user in a folder of programs, such as a runner with its credentials. */
function ownIn(folder: string): readonly string[] {
  const uid = process.getuid?.();
  return (existsSync(folder) ? readdirSync(folder) : [])
    .map((name) => join(folder, name))
    .filter((path) => lstatSync(path, { throwIfNoEntry: false })?.uid === uid || existsSync(join(path, '.runner')));
}

/** Creates the AgentSandbox from a ready worker. `id` tags the processes that keep programs in the sandbox. */
function rootlessSandboxOf({
  id,
  folders,
  worker,
}: {
  readonly id: string;
  readonly folders: RootlessFolders;
  readonly worker: RuntimeWorker;
}): AgentSandbox {
  const { home, session, trees, inbox, temporary } = folders;
  const launches = createLaunchFiles(inbox);
  return {
    folders: { home, session, trees, inbox },
    enter: (program) => {
      if (worker.isLost()) return Promise.reject(lost());
      // Arguments and values go into a file, because the library's command line and variables have a maximum length.
      const words = [program.file, ...program.args].map(quoteForShell).join(' ');
      const environment = { ...program.environment, TMPDIR: onDisk(program.environment['TMPDIR'], temporary) };
      const launch = launches.write({ ...program, environment }, `set -- ${words}\n`);
      const [file, ...args] = worker.argv;
      return Promise.resolve({
        ...{ file, args, cwd: '/' },
        environment: { LC_ALL: 'C', PATH: SYSTEM_PATH, [SANDBOX_TAG]: id, RALPH_LAUNCH: launch },
      });
    },
    seenAt: (tree) => tree,
    end: async (graceMs) => {
      const left = await endAgentSandbox(id, { graceMs, tag: SANDBOX_TAG });
      launches.clear();
      return left;
    },
    refresh: async () => {
      const newHome = join(trees, 'ralph-home');
      // Remove other entries of the folder above the clean clone, whose settings would apply to the clone.
      const strange = (await readdir(trees)).filter((name) => !TREES.includes(name)).map((name) => join(trees, name));
      for (const path of strange) await removeClosedFolder(path);
      for (const folder of [temporary, newHome]) {
        // Move the folder before removing it, which works even if its owner cannot enter it.
        const old = `${folder}.${randomUUID()}`;
        await rename(folder, old).catch(() => undefined);
        await mkdir(folder, { mode: 0o700 });
        await removeClosedFolder(old);
      }
      return newHome;
    },
    // Both do nothing, because the files already belong to this user.
    give: () => Promise.resolve(),
    takeBack: () => Promise.resolve(false),
  };
}

/** Returns the folder for temporary files: a program's own /tmp is in memory and is lost when the program ends. */
function onDisk(asked: string | undefined, temporary: string): string {
  return asked === undefined || asked === '/tmp' ? temporary : asked;
}

function lost(): UserError {
  return new UserError(
    'infrastructure',
    "The agent's sandbox was ended while the run used it, by another program on this machine. Work finished before that is published. Re-run the workflow.",
  );
}
