import { once } from 'node:events';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import type { SandboxManager } from '@anthropic-ai/sandbox-runtime';
import { messageOf } from '../../errors.ts';
import type { RoomFolders } from '../../ports/room.ts';
import { quoted } from '../room/launch.ts';
import { sealOfPrograms } from '../room/seal.ts';

/** Folders of a room that is made without root. */
export interface SandboxFolders extends RoomFolders {
  /** For temporary files; each program has a /tmp of its own, in memory. */
  readonly temporary: string;
  /** Sockets of the library. */
  readonly bridges: string;
}

/** What the worker is asked for; all paths absolute and real. */
export interface WorkerRequest {
  /** `dist/index.js` of the installed library, where nothing in the room can write. */
  readonly library: string;
  /** Where our process listens on 127.0.0.1. */
  readonly ports: { readonly proxy: number; readonly broker: number };
  readonly folders: SandboxFolders;
  /** What may be read besides the room. */
  readonly visible: readonly string[];
  /** What is not there although it lies in what may be read, but for what is named otherwise. */
  readonly hidden: readonly string[];
  readonly programs: { readonly bwrap: string; readonly socat: string; readonly bash: string };
  /** Whether programs are kept from making sockets with a path, by a filter of system calls. */
  readonly filter: boolean;
}

/** `argv` starts, in the room, the script that its variable RALPH_LAUNCH names. */
export type WorkerAnswer =
  | { readonly kind: 'ready'; readonly argv: readonly string[] }
  | { readonly kind: 'failed'; readonly why: string };

/** Named in a failure that the room can do without. */
export const FILTER_PROGRAM = 'apply-seccomp';

interface Library {
  readonly SandboxManager: Pick<typeof SandboxManager, 'initialize' | 'wrapWithSandboxArgv' | 'reset'>;
}

/** Asked by the first line of standard input: makes the bridges and the command line, says so in one line, and keeps them until the input ends. */
export async function sandboxWorker(load: (url: string) => Promise<unknown>): Promise<void> {
  const input = createInterface({ input: process.stdin });
  const over = once(input, 'close');
  const [line] = (await once(input, 'line')) as [string];
  // The action asks, and nobody else: what it wants is as it is written there.
  const request = JSON.parse(line) as WorkerRequest;
  const { SandboxManager: manager } = (await load(pathToFileURL(request.library).href)) as Library;
  const answer = await prepare(manager, request).catch((error: unknown): WorkerAnswer => ({
    kind: 'failed',
    why: messageOf(error),
  }));
  process.stdout.write(`${JSON.stringify(answer)}\n`);
  if (answer.kind === 'ready') await Promise.race([over, once(process, 'SIGTERM')]);
  await manager.reset();
  process.exit();
}

async function prepare(
  manager: Library['SandboxManager'],
  { library, ports, folders, visible, hidden, programs, filter }: WorkerRequest,
): Promise<WorkerAnswer> {
  const { home, session, trees, inbox, temporary, bridges } = folders;
  const writable = [home, session, trees, temporary].map(literal);
  await manager.initialize({
    network: {
      allowedDomains: [],
      deniedDomains: [],
      // The library puts nothing between its two bridges and these: whatever speaks there is asked.
      httpProxyPort: ports.proxy,
      socksProxyPort: ports.broker,
      allowAllUnixSockets: !filter,
    },
    filesystem: {
      denyRead: ['/', ...hidden.map(literal)],
      allowRead: [...[...visible, dirname(dirname(library)), inbox, bridges].map(literal), ...writable],
      allowWrite: writable,
      denyWrite: [],
    },
    bwrapPath: programs.bwrap,
    socatPath: programs.socat,
    // It looks for names to protect in the folder that it is started in, which is an empty one.
    ripgrep: { command: 'true' },
  });
  const { argv } = await manager.wrapWithSandboxArgv(
    `exec ${[...sealOfPrograms(), '/usr/bin/env', '-i', '/bin/sh'].map(quoted).join(' ')} "$RALPH_LAUNCH"`,
    programs.bash,
  );
  const words = argv.join(' ');
  // The library goes on without them and tells nobody.
  if (filter && !words.includes(`${FILTER_PROGRAM} `))
    return { kind: 'failed', why: `${FILTER_PROGRAM} is not there for this kind of processor` };
  return words.includes(' --unshare-net ') && (filter || words.includes(' --disable-userns '))
    ? { kind: 'ready', argv }
    : { kind: 'failed', why: 'programs in it could make namespaces of their own' };
}

/** Not a pattern, whatever is in it. */
function literal(path: string): { readonly path: string; readonly literal: true } {
  return { path, literal: true };
}
