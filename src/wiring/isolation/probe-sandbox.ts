import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, type ListenOptions, type Server } from 'node:net';
import { homedir } from 'node:os';
import { type IsolationFacts, judgeProbe, parseProbeAnswer } from '../../core/isolation/probe.ts';
import { parseListeningSockets } from '../../core/isolation/view.ts';
import { LIST_OPEN_SCRIPT, type ProbeRequest } from '../../isolation/probe.ts';
import { findProbeCallCommand } from '../../isolation/namespaces/seal.ts';
import type { OpenedAgentSandbox } from '../../isolation/namespaces/open-sandbox.ts';
import { readText, listToolFolders } from '../../isolation/namespaces/namespaces.ts';
import { startOfProcess } from '../../isolation/probe-attempts.ts';
import { collectOutput } from '../../processes/collect-output.ts';
import { locateTreeFolder } from '../../git/checkout/tree/tree-folder.ts';
import { buildSandboxOptions, createWorkerProgram } from './sandbox-place.ts';
import { withNamedWait } from '../../ports/waits.ts';
import type { World } from '../world.ts';

/** The network of the agent's sandbox; a port is null if none. */
interface SandboxNetwork {
  readonly network: IsolationFacts['network'];
  readonly brokerPort: number | null;
  readonly proxyPort: number;
}

/** An address reserved for documentation, where no host exists. */
const OUTSIDE = { address: '192.0.2.1', port: 80 };
/** Maximum time of the probe in ms: it takes half a second, more on a busy machine, plus the start of the program. */
const PROBE_MS = 10_000;
const MAX_ANSWER_BYTES = 64 * 1024;
const COMMAND_FILES = ['GITHUB_ENV', 'GITHUB_PATH', 'GITHUB_OUTPUT', 'GITHUB_STATE', 'GITHUB_STEP_SUMMARY'];

/**
 * Tries actions inside the agent's sandbox that must be impossible there; returns null if there is no readable answer.
 */
export async function probeAgentSandbox(
  world: World,
  { agentSandbox, level }: Pick<OpenedAgentSandbox, 'agentSandbox' | 'level'>,
  { network, brokerPort, proxyPort }: SandboxNetwork,
): Promise<IsolationFacts['probe']> {
  const { context, runFolder, environment, actionFolder } = world;
  const { visible } = buildSandboxOptions(world);
  const tree = locateTreeFolder('work', { top: context.workspace, workFolder: runFolder, agentSandbox });
  const marker = `/tmp/ralph-probe-${randomBytes(8).toString('hex')}`;
  const abstractSocket = `ralph-probe-${randomBytes(8).toString('hex')}`;
  const targets: Server[] = [];
  const open = async (where: ListenOptions): Promise<Server> => {
    const server = createServer((socket) => socket.destroy()).unref();
    targets.push(server);
    server.listen(where);
    await once(server, 'listening');
    return server;
  };
  try {
    writeFileSync(marker, '', { flag: 'wx' });
    const elsewhere = await open({ port: 0, host: '127.0.0.1' });
    await open({ path: `\0${abstractSocket}` });
    const path = environment['PATH'] ?? '';
    const request: ProbeRequest = {
      actionPid: process.pid,
      actionStarted: startOfProcess('self'),
      workFolder: agentSandbox.seenAt(tree),
      home: agentSandbox.folders.home,
      given: [
        ...[agentSandbox.seenAt(tree), ...Object.values<string>({ ...agentSandbox.folders }), runFolder, ...visible],
        ...listToolFolders(environment),
      ],
      runnerHome: homedir(),
      runnerTemp: context.temp,
      commandFiles: COMMAND_FILES.flatMap((name) => environment[name] ?? []),
      marker,
      otherLoopbackPort: (elsewhere.address() as AddressInfo).port,
      abstractSocket,
      brokerPort,
      proxyPort,
      outside: OUTSIDE,
      // Skip this at level `user`: all sockets are visible, and connecting to one could start the service behind it.
      shownSockets: level === 'user' ? [] : parseListeningSockets(readText('/proc/net/unix')),
      openAtStart: null,
      calls: findProbeCallCommand(),
      path,
    };
    const { file, args } = createWorkerProgram(actionFolder);
    const call: Parameters<typeof collectOutput>[0] = {
      file: '/bin/sh',
      args: ['-c', LIST_OPEN_SCRIPT, 'sh', file, ...args, 'probe'],
      cwd: agentSandbox.seenAt(tree),
      environment: { PATH: path, HOME: agentSandbox.folders.home },
      input: JSON.stringify(request),
      timeoutMs: PROBE_MS,
      family: { kind: 'sandbox', agentSandbox, tree },
    };
    const { stdout } = await withNamedWait("the agent's sandbox", () => collectOutput(call, MAX_ANSWER_BYTES));
    const answer = parseProbeAnswer(stdout.toString());
    return answer === null ? null : judgeProbe(level, network, answer);
  } finally {
    rmSync(marker, { force: true });
    for (const target of targets) target.close();
  }
}
