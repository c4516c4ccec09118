import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import type { Server as Listener } from 'node:net';
import { dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { toOneLine } from '../../core/text/phrase.ts';
import { findCallNumbers } from '../../core/isolation/sandbox/system-calls.ts';
import {
  parseMountedDisks,
  HIDDEN_FOLDERS,
  isWithin,
  createSandboxView,
  type TopEntry,
} from '../../core/isolation/view.ts';
import { receiveServers } from '../../processes/process-tree.ts';
import { runProgram } from '../../processes/run-program.ts';
import { SYSTEM_PATH, IsolationUnavailable, withSystemPath, type RootAccess } from './root.ts';
import type { SandboxFoundation, AgentSandboxOptions } from './sandbox-of.ts';
import { KEEP_NAMESPACES_SCRIPT, REPLACE_PATH_SCRIPT } from './scripts.ts';

/** Namespaces that live as long as the process that keeps them. */
interface Namespaces {
  /** The command that runs a program as root in the namespaces, to be put before the program. */
  readonly way: readonly string[];
  readonly withTree: NonNullable<SandboxFoundation['withTree']>;
  /** Sockets that listen on 127.0.0.1 in the namespaces, in the order of the requested ports. */
  readonly listeners: readonly Listener[];
  /** Sentences about the parts of this machine that are wrongly open or closed to the namespaces. */
  readonly gaps: readonly string[];
  readonly lost: () => string | null;
  /** Ends the namespaces and everything in them. */
  end(): Promise<void>;
}

const START_MS = 15_000;
const END_MS = 3_000;
/**
 * Returns shell commands that exit with 97 outside this user's sandbox: the process that kept the sandbox may have
 * ended, and its id may belong to another process.
 */
export function buildSandboxGuard(uid: number): string {
  return `read -r ralph_uid 2> /dev/null < /run/ralph-sandbox; [ "$ralph_uid" = ${String(uid)} ] || exit 97\n`;
}

/**
 * Creates namespaces of mounts, processes, IPC, host name and network as root, without a user namespace. Throws
 * IsolationUnavailable.
 */
export async function buildNamespaces(
  { root, record, uid, runFolder }: Pick<SandboxFoundation, 'root' | 'record' | 'uid' | 'runFolder'>,
  options: AgentSandboxOptions,
  ports: readonly number[],
): Promise<Namespaces> {
  const places = { root: join(record.folder, 'root'), stage: join(record.folder, 'stage') };
  const { staged, links, ...view } = createSandboxView(
    planOf(options, { folder: record.folder, uid, runFolder }),
    places,
  );
  const checkout = realpathSync(options.checkout);
  const fstab = join(runFolder, 'sandbox.fstab');
  writeFileSync(fstab, view.fstab, { mode: 0o600 });
  const unshare = String(findCallNumbers(process.arch)?.unshare ?? -1);
  const programs = [...ownFolders(options), ...installFolders(options.environment)].flatMap(resolveRealFolder);
  const closed = staged.filter(isClosed);
  const taken = closed.filter((path) => programs.includes(path)).map((path) => String(staged.indexOf(path)));
  const keeper = await startKeeper(root, [
    ...[String(uid), fstab, places.root, places.stage, unshare, String(root.owner.uid), taken.join()],
    ...[String(staged.length), ...staged],
    ...links.flatMap(({ path, target }) => [path, target]),
  ]);
  const target = [root.program('nsenter'), '--target', keeper.pid] as const;
  try {
    const way = [...target, '--mount', '--pid', '--ipc', '--uts', '--net', '--'];
    return {
      way,
      withTree: {
        place: checkout,
        way: (tree) => {
          const apart = [...way, root.program('unshare'), '--mount', '--propagation', 'private', '--'];
          return [
            ...apart,
            root.program('sh'),
            '-c',
            withSystemPath(REPLACE_PATH_SCRIPT),
            'ralph-sandbox',
            tree,
            checkout,
          ];
        },
      },
      listeners: await listenIn(root, [...target, '--net', '--'], { ...options, ports }),
      gaps: [
        ...keeper.open.map(
          (path) =>
            `The agent can reach sockets of this machine's daemons in ${path}: the file system there cannot be mounted in a way that prevents it.`,
        ),
        ...closed
          .filter((path) => !programs.includes(path) || keeper.unmapped.includes(path))
          .map((path) => `The agent cannot use what is in ${path}: the folder is closed to other users.`),
      ],
      lost: keeper.lost,
      end: keeper.end,
    };
  } catch (error) {
    await keeper.end();
    throw error;
  }
}

/**
 * Starts the first process of the namespaces. It ends with its input, and so with this process, even if this process is
 * killed.
 */
async function startKeeper(
  root: RootAccess,
  args: readonly string[],
): Promise<
  Pick<Namespaces, 'lost' | 'end'> & {
    readonly pid: string;
    readonly open: readonly string[];
    readonly unmapped: readonly string[];
  }
> {
  const { file, args: given } = root.command([
    'unshare',
    ...['--mount', '--propagation', 'private', '--pid', '--ipc', '--uts', '--net', '--fork', '--kill-child=KILL', '--'],
    // Prefer bash, which reaps processes whose parents have ended; the plain shell of small images does not, but
    // suffices.
    root.program(existsSync('/bin/bash') ? 'bash' : 'sh'),
    '-c',
    withSystemPath(KEEP_NAMESPACES_SCRIPT),
    'ralph-sandbox',
    ...args,
  ]);
  const input = new PassThrough();
  const firstOutput = Promise.withResolvers<string>();
  let words = '';
  let isOver = false;
  const over = runProgram({
    file,
    args: given,
    cwd: '/',
    environment: { LC_ALL: 'C', PATH: SYSTEM_PATH },
    input,
    timeoutMs: Number.MAX_SAFE_INTEGER,
    signal: null,
    family: { kind: 'group', graceMs: 0, leftover: 'end' },
    outputs: [
      (chunk) => {
        firstOutput.resolve(chunk.toString().trim());
      },
      (chunk) => {
        words = (words + chunk.toString()).slice(-2_000);
      },
    ],
  }).then(() => {
    isOver = true;
    firstOutput.resolve('');
  });
  const end = async (): Promise<void> => {
    input.end();
    await Promise.race([over, sleep(END_MS, undefined, { ref: false })]);
  };
  const [pid = '', ...lines] = (await Promise.race([firstOutput.promise, sleep(START_MS, '', { ref: false })])).split(
    '\n',
  );
  const named = (kind: string): readonly string[] =>
    lines.flatMap((line) => (line.startsWith(`${kind} `) ? [line.slice(kind.length + 1)] : []));
  if (/^\d+$/.test(pid))
    return {
      pid,
      open: named('open'),
      unmapped: [...named('open'), ...named('other')],
      end,
      lost: () =>
        isOver
          ? "The agent's sandbox was ended while the run used it, by another program on this machine. Work finished before that is published. Re-run the workflow."
          : null,
    };
  await end();
  throw new IsolationUnavailable(
    toOneLine(words.trim().split('\n')[0] ?? '', 200) || 'namespaces could not be made in time',
  );
}

async function listenIn(
  root: RootAccess,
  way: readonly [string, ...string[]],
  { worker, ports }: Pick<AgentSandboxOptions, 'worker'> & { readonly ports: readonly number[] },
): Promise<readonly Listener[]> {
  const asUs: readonly string[] = [
    ...[root.program('setpriv'), `--reuid=${String(root.owner.uid)}`, `--regid=${String(root.owner.gid)}`],
    ...['--clear-groups', '--no-new-privs', root.program('env'), '-i', 'NODE_CHANNEL_FD=0'],
    worker.file,
    ...worker.args,
    'listen',
    ...ports.map(String),
  ];
  const opener = { ...root.command([...way, ...asUs]), timeoutMs: START_MS };
  return receiveServers(opener, ports.length).catch((error: unknown) => {
    throw new IsolationUnavailable(`no server can listen in the sandbox's network (${String(error)})`);
  });
}

/** Returns the parts of this machine that the sandbox's user sees. */
function planOf(
  { checkout, hidden, visible, worker, environment }: AgentSandboxOptions,
  { folder, uid, runFolder }: { readonly folder: string; readonly uid: number; readonly runFolder: string },
): Parameters<typeof createSandboxView>[0] {
  const real = (paths: readonly string[]): readonly string[] => [...new Set(paths.flatMap(resolveRealFolder))];
  const replaced = Object.fromEntries(
    [
      ['passwd', `ralph:x:${String(uid)}:${String(uid)}::${folder}/home:/bin/sh`] as const,
      ['group', `ralph:x:${String(uid)}:`] as const,
    ].map(([name, line]) => {
      const file = join(folder, 'inbox', name);
      writeFileSync(file, `${readText(`/etc/${name}`)}\n${line}\n`);
      chmodSync(file, 0o644);
      return [`/etc/${name}`, file];
    }),
  );
  const shown = real([...ownFolders({ visible, worker }), ...listToolFolders(environment)]);
  const given = ['home', 'session', 'trees', 'inbox'].map((name) => `${folder}/${name}`);
  const closed = real([...HIDDEN_FOLDERS, ...hidden, runFolder, ...[...given, ...shown].flatMap(closedAbove)]);
  return {
    top: readdirSync('/', { withFileTypes: true }).map((entry): TopEntry => {
      const path = `/${entry.name}`;
      if (entry.isSymbolicLink()) return { name: entry.name, kind: 'link', target: readlinkSync(path) };
      return { name: entry.name, kind: entry.isDirectory() ? 'folder' : 'other', target: '' };
    }),
    disks: parseMountedDisks(readText('/proc/self/mountinfo')).filter((path) => resolveRealFolder(path).length > 0),
    hidden: closed,
    // Mount only folders that are hidden, replaced or closed to other users; other folders are visible anyway.
    readOnly: shown.filter((path) => closed.some((outer) => isWithin(path, outer)) || isOwn(path) || isClosed(path)),
    handed: [`${folder}/inbox`],
    writable: [`${folder}/home`, `${folder}/session`, `${folder}/trees`],
    places: real([checkout]),
    replaced,
  };
}

/** Returns the folders that contain the programs of the action and of the agent. */
function ownFolders({ visible, worker }: Pick<AgentSandboxOptions, 'visible' | 'worker'>): readonly string[] {
  return [...visible, dirname(worker.file), ...worker.args.filter((arg) => arg.startsWith('/')).map(dirname)];
}

/** Returns true if a folder cannot be listed and entered by everybody; also true for a missing folder. */
function isClosed(path: string): boolean {
  return ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o005) !== 0o005;
}

/**
 * Returns the outermost folder above a path that other users cannot pass, if any. In the sandbox an empty folder
 * replaces it.
 */
function closedAbove(path: string): readonly string[] {
  const above = dirname(path);
  if (above === path) return [];
  const outer = closedAbove(above);
  const isClosed = outer.length === 0 && ((statSync(above, { throwIfNoEntry: false })?.mode ?? 0) & 0o001) === 0;
  return isClosed ? [above] : outer;
}

/** Returns true if a path is below a folder that the sandbox replaces with its own. */
function isOwn(path: string): boolean {
  return ['/tmp', '/var/tmp', '/run', '/dev/shm'].some((folder) => isWithin(path, folder));
}

/**
 * Returns the folders of the tools on PATH. For a folder `bin`, returns its parent, unless that is the home folder or a
 * private folder in it.
 */
export function listToolFolders(environment: AgentSandboxOptions['environment']): readonly string[] {
  const home = environment['HOME'] ?? '';
  const paths = (environment['PATH'] ?? '').split(':').filter((path) => path.startsWith('/'));
  const ofPath = paths.map((path) => {
    const above = dirname(path);
    const isPrivate = above === home || above === '/' || /\/\.(local|cargo|config)$/.test(above);
    return path.endsWith('/bin') && !isPrivate ? above : path;
  });
  return [...ofPath, ...installFolders(environment)].filter((path) => path !== home);
}

/** Returns the folders that contain only installed tools. */
function installFolders(environment: AgentSandboxOptions['environment']): readonly string[] {
  const home = environment['HOME'] ?? '';
  const named = ['RUSTUP_HOME', 'NVM_DIR', 'JAVA_HOME', 'GOROOT', 'DOTNET_ROOT', 'ANDROID_HOME', 'pythonLocation'];
  return [
    ...[...named, 'RUNNER_TOOL_CACHE'].map((name) => environment[name] ?? ''),
    ...(home === '' ? [] : [join(home, '.rustup')]),
  ];
}

/** Returns the folder's real path, or an empty list if the path is not a folder. */
export function resolveRealFolder(path: string): readonly string[] {
  try {
    const real = realpathSync(path);
    return path.startsWith('/') && real !== '/' && statSync(real).isDirectory() ? [real] : [];
  } catch {
    return [];
  }
}

/** Returns a file's text without trailing whitespace, or an empty string if it cannot be read. */
export function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8').trimEnd();
  } catch {
    return '';
  }
}
