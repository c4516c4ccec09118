import { createSocket } from 'node:dgram';
import { constants, readFileSync } from 'node:fs';
import { lstat, open, readdir, rm, type FileHandle } from 'node:fs/promises';
import { connect, type NetConnectOpts } from 'node:net';
import { join } from 'node:path';
import type { CheckResult } from '../core/isolation/probe.ts';

// What a process may try, each try leaving nothing behind: `open` where it worked, `closed` for every refusal.

/** A file without a name, which is gone with its descriptor. Node has no name for it. */
const NAMELESS = 0o20000000 | constants.O_DIRECTORY;
/** Whatever lies there is neither waited for nor followed. */
const CAREFULLY = constants.O_NONBLOCK | constants.O_NOFOLLOW;

/** Opens a file for reading. */
export function tryToOpen(path: string): Promise<CheckResult> {
  return tried(() => opened(path, constants.O_RDONLY | CAREFULLY));
}

/** Reads the beginning of a file; an empty one is as good as closed. */
export function tryToRead(path: string): Promise<CheckResult> {
  const hasBytes = async (file: FileHandle): Promise<boolean> => (await file.read(Buffer.alloc(1))).bytesRead > 0;
  return tried(() => opened(path, constants.O_RDONLY | CAREFULLY, hasBytes));
}

/** Opens a file to append to it. */
export function tryToAppend(path: string): Promise<CheckResult> {
  return tried(() => opened(path, constants.O_WRONLY | constants.O_APPEND | CAREFULLY));
}

/** Lists a folder, and looks for more in it than the names of `expected`. */
export function tryToList(path: string, expected: ReadonlySet<string>): Promise<CheckResult> {
  return tried(async () => (await readdir(path)).some((name) => !expected.has(name)));
}

/** Makes a file in a folder. */
export function tryToWriteIn(folder: string): Promise<CheckResult> {
  return tried(async () => {
    try {
      return await opened(folder, constants.O_WRONLY | NAMELESS);
    } catch (error) {
      // A file system, or a kernel, that knows no files without a name.
      if (!['EOPNOTSUPP', 'EISDIR', 'EINVAL'].includes(codeOf(error))) throw error;
    }
    const path = join(folder, `.ralph-probe-${String(process.pid)}`);
    await opened(path, 'wx');
    await rm(path, { force: true });
    return true;
  });
}

/** Looks whether something is there. */
export function tryToSee(path: string): Promise<CheckResult> {
  return tried(() => lstat(path).then(() => true));
}

/** Connects to a port or a socket, until `signal` ends it. */
export function tryToConnect(to: NetConnectOpts, signal: AbortSignal): Promise<CheckResult> {
  return new Promise((resolve) => {
    const socket = connect({ ...to, signal });
    socket.once('connect', () => {
      resolve('open');
      socket.destroy();
    });
    socket.on('error', () => resolve('closed'));
  });
}

/** Sends a datagram, which nobody need answer. */
export function tryToSend(to: {
  readonly address: string;
  readonly port: number;
  readonly signal: AbortSignal;
}): Promise<CheckResult> {
  return new Promise((resolve) => {
    const socket = createSocket({ type: 'udp4', signal: to.signal });
    socket.on('error', () => resolve('closed'));
    socket.send('x', to.port, to.address, (error) => resolve(error === null ? 'open' : 'closed'));
  });
}

/** Asks whether a signal could be sent to a process. */
export function tryToSignal(pid: number): CheckResult {
  try {
    process.kill(pid, 0);
    return 'open';
  } catch {
    return 'closed';
  }
}

/** When a process began, in clock ticks since the machine started, which no other process of its id shares; null: it cannot be seen. */
export function startOfProcess(pid: number | 'self'): string | null {
  try {
    const stat = readFileSync(`/proc/${String(pid)}/stat`, 'latin1');
    // The name stands in brackets and may hold anything, also brackets.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    return null;
  }
}

/** Any of several ways. */
export async function tryAny(results: readonly Promise<CheckResult>[]): Promise<CheckResult> {
  return (await Promise.all(results)).includes('open') ? 'open' : 'closed';
}

async function tried(works: () => Promise<boolean>): Promise<CheckResult> {
  return (await works().catch(() => false)) ? 'open' : 'closed';
}

/** What a file is good for that could be opened. */
async function opened(
  path: string,
  flags: string | number,
  works: (file: FileHandle) => Promise<boolean> = () => Promise.resolve(true),
): Promise<boolean> {
  const file = await open(path, flags, 0o600);
  try {
    return await works(file);
  } finally {
    await file.close();
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
