import { createSocket } from 'node:dgram';
import { constants, readFileSync } from 'node:fs';
import { lstat, open, readdir, rm, type FileHandle } from 'node:fs/promises';
import { connect, type NetConnectOpts } from 'node:net';
import { join } from 'node:path';
import type { AttemptResult } from '../core/isolation/probe.ts';

// Each function tries one action of a process and leaves nothing behind. The result is `open` if it worked, and
// `closed` for every refusal.

/** Flags for a file without a name (O_TMPFILE), which disappears with its descriptor; Node has no constant for them. */
const NAMELESS = 0o20000000 | constants.O_DIRECTORY;
/** Flags with which opening neither waits nor follows links, regardless of the kind of file. */
const CAREFULLY = constants.O_NONBLOCK | constants.O_NOFOLLOW;

/** Opens a file for reading. */
export function tryToOpen(path: string): Promise<AttemptResult> {
  return tried(() => opened(path, constants.O_RDONLY | CAREFULLY));
}

/** Reads the beginning of a file; returns `closed` for an empty file. */
export function tryToRead(path: string): Promise<AttemptResult> {
  const hasBytes = async (file: FileHandle): Promise<boolean> => (await file.read(Buffer.alloc(1))).bytesRead > 0;
  return tried(() => opened(path, constants.O_RDONLY | CAREFULLY, hasBytes));
}

/** Opens a file to append to it. */
export function tryToAppend(path: string): Promise<AttemptResult> {
  return tried(() => opened(path, constants.O_WRONLY | constants.O_APPEND | CAREFULLY));
}

/** Lists a folder and returns `open` if it contains names that are not in `expected`. */
export function tryToList(path: string, expected: ReadonlySet<string>): Promise<AttemptResult> {
  return tried(async () => (await readdir(path)).some((name) => !expected.has(name)));
}

/** Creates a file in a folder. */
export function tryToWriteIn(folder: string): Promise<AttemptResult> {
  return tried(async () => {
    try {
      return await opened(folder, constants.O_WRONLY | NAMELESS);
    } catch (error) {
      // These codes mean that the file system or the kernel does not support files without a name.
      if (!['EOPNOTSUPP', 'EISDIR', 'EINVAL'].includes(attemptErrorCode(error))) throw error;
    }
    const path = join(folder, `.ralph-probe-${String(process.pid)}`);
    await opened(path, 'wx');
    await rm(path, { force: true });
    return true;
  });
}

/** Checks whether a path exists. */
export function tryToSee(path: string): Promise<AttemptResult> {
  return tried(() => lstat(path).then(() => true));
}

/** Connects to a port or a socket until `signal` aborts. */
export function tryToConnect(to: NetConnectOpts, signal: AbortSignal): Promise<AttemptResult> {
  return new Promise((resolve) => {
    const socket = connect({ ...to, signal });
    socket.once('connect', () => {
      resolve('open');
      socket.destroy();
    });
    socket.on('error', () => resolve('closed'));
  });
}

/** Sends a datagram, which needs no answer. */
export function tryToSend(to: {
  readonly address: string;
  readonly port: number;
  readonly signal: AbortSignal;
}): Promise<AttemptResult> {
  return new Promise((resolve) => {
    const socket = createSocket({ type: 'udp4', signal: to.signal });
    socket.on('error', () => resolve('closed'));
    socket.send('x', to.port, to.address, (error) => resolve(error === null ? 'open' : 'closed'));
  });
}

/** Checks whether a signal could be sent to a process. */
export function tryToSignal(pid: number): AttemptResult {
  try {
    process.kill(pid, 0);
    return 'open';
  } catch {
    return 'closed';
  }
}

/**
 * Returns the start of a process in clock ticks since boot, which no other process with its id shares, or null if the
 * process cannot be seen.
 */
export function startOfProcess(pid: number | 'self'): string | null {
  try {
    const stat = readFileSync(`/proc/${String(pid)}/stat`, 'latin1');
    // Parse from the last parenthesis, because the name is in parentheses and may contain them itself.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    return null;
  }
}

/** Returns `open` if any of the results is `open`. */
export async function combineAttempts(results: readonly Promise<AttemptResult>[]): Promise<AttemptResult> {
  return (await Promise.all(results)).includes('open') ? 'open' : 'closed';
}

async function tried(works: () => Promise<boolean>): Promise<AttemptResult> {
  return (await works().catch(() => false)) ? 'open' : 'closed';
}

/** Opens a file. Returns true if `works` succeeds on it. */
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

function attemptErrorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
