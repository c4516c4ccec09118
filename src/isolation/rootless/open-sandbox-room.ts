import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, realpathSync } from 'node:fs';
import type { Server } from 'node:http';
import { createServer, type AddressInfo, type Server as Listener } from 'node:net';
import { join } from 'node:path';
import { messageOf } from '../../errors.ts';
import { oneLine } from '../../core/text/one-line.ts';
import { collectOutput, describeCollected } from '../../processes/collect-output.ts';
import { trustedProgram } from '../../processes/trusted-programs.ts';
import type { OpenedRoom } from '../room/open-room.ts';
import type { RoomOptions } from '../room/options.ts';
import { plannedRoom, writeRoomCopy } from '../room/record.ts';
import { Unavailable } from '../room/root.ts';
import { removeSandboxRoom, writeSandboxRecord } from './remove.ts';
import { sandboxRoomOf } from './sandbox-room-of.ts';
import { FILTER_PROGRAM, type SandboxFolders, type WorkerRequest } from './sandbox-worker.ts';
import { startWorker } from './start-worker.ts';
import { sandboxViewOf } from './view.ts';

interface SandboxOptions extends RoomOptions {
  /** Brings the library, once it is known that the rest is there; returns its `dist/index.js`. */
  readonly runtime: () => Promise<string>;
}

/** Where the library's bridges end in every room: it has no other ports. What is asked for first is the proxy. */
const INSIDE = { proxy: 3128, broker: 1080 } as const;
/** A path of a socket has 107 bytes, of which the library's name and our folder take 43. */
const MAX_FOLDER_CHARS = 64;
const TRIAL_MS = 20_000;
const MAX_WORDS_BYTES = 64 * 1024;

/**
 * Opens a room in the library's namespaces, for a user who has neither root nor sudo: it has its own processes, files
 * and network, and this very user. Changes no setting of the machine. Throws Unavailable, and leaves nothing, where that
 * cannot be done.
 */
export async function openSandboxRoom(options: SandboxOptions): Promise<OpenedRoom> {
  const programs = programsFor(options.environment);
  try {
    const library = await options.runtime();
    return await found(options, { library, programs, filter: true }).catch(async (error: unknown) => {
      // Ubuntu's profile for bubblewrap keeps the library's filter from its start. Without it sockets with a path can be
      // made, and none of anybody else's is to be seen.
      if (!messageOf(error).includes(FILTER_PROGRAM)) throw error;
      await removeSandboxRoom(options.runFolder);
      return await found(options, { library, programs, filter: false });
    });
  } catch (error) {
    await removeSandboxRoom(options.runFolder);
    throw error instanceof Unavailable ? error : new Unavailable(messageOf(error));
  }
}

type Programs = WorkerRequest['programs'];

/** Throws Unavailable where a program is missing, or this is not a user for it. */
function programsFor(environment: RoomOptions['environment']): Programs {
  if (process.platform !== 'linux') throw new Unavailable(`this works on Linux only, and this is ${process.platform}`);
  if (process.getuid?.() === 0) throw new Unavailable('this is for users without root');
  const path = (name: string, from: string): string => {
    const program = trustedProgram(name, environment);
    if (program === null) throw new Unavailable(`\`${name}\` is not installed (package ${from})`);
    return program;
  };
  return { bwrap: path('bwrap', 'bubblewrap'), socat: path('socat', 'socat'), bash: path('bash', 'bash') };
}

/** A folder, two sockets, the worker, and a first program. */
async function found(
  options: SandboxOptions,
  given: Pick<WorkerRequest, 'library' | 'programs' | 'filter'>,
): Promise<OpenedRoom> {
  const { runFolder, places } = options;
  const id = randomUUID();
  const folder = join(realpathSync(places.rooms), `ralph-room-${randomBytes(4).toString('hex')}`);
  if (folder.length > MAX_FOLDER_CHARS) throw new Unavailable(`the path of ${places.rooms} is too long for sockets`);
  writeSandboxRecord(runFolder, { version: 1, id, folder });
  const folders = foldersIn(folder);
  for (const path of [folder, ...Object.values({ ...folders })]) mkdirSync(path, { mode: 0o700 });
  // Later runs find the room by this copy if this run is killed.
  writeRoomCopy(plannedRoom(runFolder, folder));
  const free = [await listening(), await listening()] as const;
  const [proxy, broker] = free;
  try {
    const ports = { proxy: portOf(proxy), broker: portOf(broker) };
    const worker = await startWorker({ ...given, ...sandboxViewOf(options), ports, folders }, { ...options, id });
    const room = sandboxRoomOf({ id, folders, worker });
    await tryOut(room);
    const waiting = [
      { listener: proxy, inside: INSIDE.proxy },
      { listener: broker, inside: INSIDE.broker },
    ];
    return {
      level: 'sandbox',
      room,
      uid: process.getuid?.() ?? 0,
      gaps: [],
      listen: async (server) => {
        const next = waiting.shift();
        if (next === undefined) throw new Error('a room has two sockets: of the proxy, and of the broker');
        await takeOver(server, next.listener);
        return next.inside;
      },
      // Nothing else is there.
      limitNetwork: () => Promise.resolve(true),
      close: async () => {
        await room.end(0);
        await worker.close();
        for (const { listener } of waiting) listener.close();
        return { processes: await removeSandboxRoom(runFolder), things: [] };
      },
    };
  } catch (error) {
    for (const listener of free) listener.close();
    throw error;
  }
}

function foldersIn(folder: string): SandboxFolders {
  const at = (name: string): string => join(folder, name);
  return {
    ...{ home: at('home'), session: at('session'), trees: at('trees'), inbox: at('inbox') },
    ...{ temporary: at('tmp'), bridges: at('bridges') },
  };
}

/** Throws Unavailable with what was said where no program can be run in it. */
async function tryOut(room: OpenedRoom['room']): Promise<void> {
  const { end, stderr } = await collectOutput(
    {
      ...{ file: '/usr/bin/true', args: [], cwd: room.folders.trees, environment: {}, input: '' },
      timeoutMs: TRIAL_MS,
      family: { kind: 'room', room },
    },
    MAX_WORDS_BYTES,
  );
  if (end.kind === 'exited' && end.code === 0) return;
  const words = oneLine(stderr.toString().trim().split('\n').at(-1) ?? '', 200);
  throw new Unavailable(words === '' ? `a program in the sandbox ${describeCollected(end)}` : words);
}

/** A socket of ours that waits for its server. */
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
