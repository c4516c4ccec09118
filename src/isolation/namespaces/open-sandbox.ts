import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, realpathSync } from 'node:fs';
import type { Server } from 'node:http';
import { type AddressInfo, connect, createServer, type Server as Listener, type Socket } from 'node:net';
import { join } from 'node:path';
import type { FailedLevel } from '../../core/isolation/probe.ts';
import { describeRemains, SANDBOX_UIDS, type SandboxRemains } from '../../core/isolation/sandbox-record.ts';
import { forbidsPrograms } from '../../core/isolation/view.ts';
import { getErrorMessage } from '../../errors.ts';
import type { AgentSandbox } from '../../ports/agent-sandbox.ts';
import { joinSockets } from '../egress/tunnel.ts';
import { buildNamespaces, buildSandboxGuard, readText } from './namespaces.ts';
import { createPlannedRecord, writeSandboxCopy, writeAgentSandboxRecord } from './record.ts';
import { removeAbandoned, removeAgentSandbox } from './remove.ts';
import { type SandboxFoundation, makeReachable, buildAgentSandbox, type AgentSandboxOptions } from './sandbox-of.ts';
import { findRoot, type RootAccess, IsolationUnavailable } from './root.ts';
import { LIST_UNREADABLE_SCRIPT, LIMIT_NETWORK_SCRIPT, NAME_USER_SCRIPT, RESERVE_USER_SCRIPT } from './scripts.ts';
import { listUserProcesses, sealOfPrograms } from './seal.ts';

/** A relay that forwards connections until it is closed. */
interface Relay {
  close(): void;
}

const MAX_CONNECTIONS = 256;

/** Idle time after which a half-closed connection is closed. */
const LINGER_MS = 60_000;

/** A sandbox in which programs can run. */
export interface OpenedAgentSandbox {
  readonly level: FailedLevel['level'];
  readonly agentSandbox: AgentSandbox;
  readonly uid: number;
  /** Sentences about the parts of this machine that are wrongly open or closed to the sandbox. */
  readonly gaps: readonly string[];
  /** Makes a server reachable from the sandbox at 127.0.0.1 and returns the port there; for at most two servers. */
  listen(server: Server): Promise<number>;
  /**
   * Limits the sandbox's network to these ports and replaces earlier limits; returns false if this machine cannot do
   * that.
   */
  limitNetwork(ports: readonly number[]): Promise<boolean>;
  /** Ends every process in the sandbox and removes the sandbox; returns the remains. */
  close(): Promise<SandboxRemains>;
}

const TRIED_UIDS = 40;

const SERVERS = 2;

/**
 * Opens a sandbox; throws IsolationUnavailable if this machine cannot have a sandbox of that level. Leftovers of the
 * attempt that cannot be removed stay on record.
 */
export async function openAgentSandbox(
  level: 'namespace' | 'user',
  options: AgentSandboxOptions,
): Promise<OpenedAgentSandbox> {
  const root = await findRoot(options.environment);
  const { runFolder, places } = options;
  if (forbidsPrograms(realpathSync(places.agentSandboxes), readText('/proc/self/mountinfo')))
    throw new IsolationUnavailable(
      `${places.agentSandboxes} is mounted with \`noexec\`, and so is the folder beside the runner's checkouts`,
    );
  // Remove an earlier sandbox first, because a record describes only one.
  const earlier = describeRemains(await removeAgentSandbox(runFolder, options));
  if (earlier !== null) throw new IsolationUnavailable(`a sandbox of this run is still there. ${earlier}`);
  // Ignore errors, because leftovers of other runs must not stop this run.
  await removeAbandoned(() => Promise.resolve(root), options).catch(() => undefined);
  try {
    const foundation = await createFoundation(root, options);
    return level === 'namespace' ? await openNamespaces(foundation, options) : await openUser(foundation, options);
  } catch (error) {
    // Ignore errors: leftovers stay on record, and the run reports them at its end.
    await removeAgentSandbox(runFolder, options).catch(() => undefined);
    throw error instanceof IsolationUnavailable ? error : new IsolationUnavailable(getErrorMessage(error));
  }
}

/** Reserves a user id and creates the sandbox's folders. */
async function createFoundation(
  root: RootAccess,
  { runFolder, places }: AgentSandboxOptions,
): Promise<SandboxFoundation> {
  const folder = join(realpathSync(places.agentSandboxes), `ralph-sandbox-${randomBytes(4).toString('hex')}`);
  const planned = createPlannedRecord(runFolder, folder);
  writeAgentSandboxRecord({ runFolder }, planned);
  mkdirSync(folder, { mode: 0o700 });
  writeSandboxCopy(planned);
  const owner = String(root.owner.uid);
  const taken = await root.run(RESERVE_USER_SCRIPT, [owner, folder, places.reservations, ...candidates(runFolder)]);
  const uid = Number(taken);
  const record = { ...planned, uid };
  writeAgentSandboxRecord({ runFolder }, record);
  return { root, runFolder, uid, record, way: [], withTree: null, guard: '', lost: () => null };
}

/** Returns user ids that are unused on this machine. Two runs that begin at once start with different ids. */
function candidates(runFolder: string): readonly string[] {
  const known = readText('/etc/passwd');
  const { first, last } = SANDBOX_UIDS;
  const count = last - first + 1;
  const start = createHash('sha256').update(runFolder).digest().readUInt32BE() % count;
  return Array.from({ length: TRIED_UIDS }, (_, nth) => first + ((start + nth * 7) % count))
    .filter((uid) => !known.includes(`:${String(uid)}:`) && listUserProcesses(uid).length === 0)
    .map(String);
}

async function openNamespaces(
  foundation: SandboxFoundation,
  options: AgentSandboxOptions,
): Promise<OpenedAgentSandbox> {
  const { localPorts } = options;
  // Bind the requested ports first, because a free port (0) could take one of them.
  const namespaces = await buildNamespaces(foundation, options, [...localPorts, ...Array<number>(SERVERS).fill(0)]);
  const agentSandbox = buildAgentSandbox({ ...foundation, ...namespaces, guard: buildSandboxGuard(foundation.uid) });
  const free = [...namespaces.listeners];
  const relays = free.splice(0, localPorts.length).map((listener, nth) => relayTo(localPorts[nth] ?? 0, listener));
  return {
    level: 'namespace',
    agentSandbox,
    uid: foundation.uid,
    gaps: [...namespaces.gaps, ...gapsOfPrograms()],
    listen: async (server) => {
      const listener = free.pop();
      if (listener === undefined) throw new Error(`a sandbox has ${String(SERVERS)} sockets`);
      return await listenOn(server, listener);
    },
    // Nothing to limit: the sandbox's network contains only the listening sockets.
    limitNetwork: () => Promise.resolve(true),
    close: async () => {
      await namespaces.end();
      for (const relay of relays) relay.close();
      for (const listener of free) listener.close();
      return await removeAgentSandbox(options.runFolder, options);
    },
  };
}

async function openUser(foundation: SandboxFoundation, options: AgentSandboxOptions): Promise<OpenedAgentSandbox> {
  const { root, runFolder } = foundation;
  await makeReachable(foundation, options);
  const { worker } = options;
  const needed = [worker.file, ...worker.args.filter((arg) => arg.startsWith('/'))];
  const closed = await root.run(LIST_UNREADABLE_SCRIPT, [String(foundation.uid), ...needed]);
  if (closed !== '') throw new IsolationUnavailable(`${closed.trim().split('\n').join(', ')} is closed to other users`);
  const uid = String(foundation.uid);
  const userName = `ralph-${uid}`;
  const unnamed = foundation.record;
  foundation.record = { ...unnamed, userName };
  writeAgentSandboxRecord({ runFolder }, foundation.record);
  const named = await root.run(NAME_USER_SCRIPT, [uid, userName, `${unnamed.folder}/home`]);
  if (named === '') {
    foundation.record = unnamed;
    writeAgentSandboxRecord({ runFolder }, unnamed);
  }
  return {
    level: 'user',
    agentSandbox: buildAgentSandbox(foundation),
    uid: foundation.uid,
    gaps: gapsOfPrograms(),
    listen: (server) => listenOn(server, 0),
    limitNetwork: (ports) =>
      root.run(LIMIT_NETWORK_SCRIPT, [uid, [...ports, ...options.localPorts].join(', ')]).then(
        () => true,
        () => false,
      ),
    close: () => removeAgentSandbox(runFolder, options),
  };
}

/** Returns sentences about the gaps of a sandbox on a machine without a program that can seal it. */
function gapsOfPrograms(): readonly string[] {
  return sealOfPrograms().length > 0
    ? []
    : [
        "Nothing on this machine can take the kernel's keys and sockets of other kinds from the agent: install perl or python3.",
      ];
}

/** Makes a server listen on an existing socket, or on a new one on 127.0.0.1 (0). */
async function listenOn(server: Server, at: Listener | 0): Promise<number> {
  if (at === 0) server.listen(0, '127.0.0.1');
  else server.listen(at);
  await once(server, 'listening');
  server.unref();
  return (server.address() as AddressInfo).port;
}

/** Takes over a listening socket and forwards its connections to a port on this machine's 127.0.0.1. */
function relayTo(port: number, at: Listener): Relay {
  const open = new Set<Socket>();
  const keep = (socket: Socket): void => {
    open.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => open.delete(socket));
  };
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const service = connect({ host: '127.0.0.1', port, allowHalfOpen: true, noDelay: true });
    for (const socket of [client, service]) keep(socket);
    joinSockets(client, service, LINGER_MS);
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.listen(at).unref();
  return {
    close: () => {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}
