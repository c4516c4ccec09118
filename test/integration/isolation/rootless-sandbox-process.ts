import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { judgeProbe, parseProbeAnswer } from '../../../src/core/isolation/probe.ts';
import { LIST_OPEN_SCRIPT, type ProbeRequest } from '../../../src/isolation/probe.ts';
import { removeRootlessSandbox } from '../../../src/isolation/rootless/remove.ts';
import { openRootlessSandbox } from '../../../src/isolation/rootless/open-rootless-sandbox.ts';
import type { OpenedAgentSandbox } from '../../../src/isolation/namespaces/open-sandbox.ts';
import type { AgentSandboxOptions } from '../../../src/isolation/namespaces/sandbox-of.ts';
import { findProbeCallCommand } from '../../../src/isolation/namespaces/seal.ts';
import { startOfProcess } from '../../../src/isolation/probe-attempts.ts';
import { collectOutput } from '../../../src/processes/collect-output.ts';
import { findTrustedProgram } from '../../../src/processes/trusted-programs.ts';

// A runner's process for a user without rights. It reads requests as lines of JSON on standard input, `{ "do": …, … }`,
// and answers each with one line. Its only argument is its folder.

const [, , base = ''] = process.argv;
const at = (...names: readonly string[]): string => join(base, ...names);
const root = dirname(dirname(dirname(import.meta.dirname)));
const entry = JSON.stringify(join(root, 'src', 'entries', 'sandbox-worker.ts'));
const asked: string[] = [];
let opened: OpenedAgentSandbox | null = null;

const broker = createHttpServer((request, response) => {
  request.resume().on('end', () => {
    response.write('a');
    setTimeout(() => response.end('b'), 100);
  });
});
const proxy = createHttpServer().on('connect', ({ url }, socket) => {
  asked.push(String(url));
  socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
});

interface RunRequest {
  readonly script: string;
  readonly input?: string;
  readonly signal?: AbortSignal;
  readonly environment?: Readonly<Record<string, string>>;
}

const works = {
  missing: () => ['bwrap', 'socat', 'curl'].filter((name) => findTrustedProgram(name, process.env) === null),
  open: async ({ bwrap }: { readonly bwrap?: string }) => {
    const environment = bwrap === undefined ? process.env : { PATH: withBwrap(bwrap), TMPDIR: '/nowhere' };
    try {
      opened = await openRootlessSandbox({
        ...options(),
        environment: { ...environment, HOME: at('home') },
        runtime: () => Promise.resolve(fileURLToPath(import.meta.resolve('@anthropic-ai/sandbox-runtime'))),
      });
    } catch (error) {
      return { why: String(error instanceof Error ? error.message : error) };
    }
    mkdirSync(tree(), { recursive: true });
    const ports = [await opened.listen(proxy), await opened.listen(broker)];
    return { level: opened.level, uid: opened.uid, folders: opened.agentSandbox.folders, ports };
  },
  run: (request: RunRequest) => run(request),
  background: (request: RunRequest) => {
    void run(request);
    return Promise.resolve('started');
  },
  /** Runs a program that the sandbox asks to end as soon as it has created the file `ready`. */
  endWhile: async ({
    graceMs,
    ready,
    ...request
  }: RunRequest & { readonly graceMs: number; readonly ready: string }) => {
    const ran = run(request);
    while (!existsSync(ready)) await sleep(20);
    return { left: await agentSandbox().end(graceMs), ...(await ran) };
  },
  /** Runs a program that is cancelled as soon as it has created the file `ready`. */
  cancel: async ({ ready, ...request }: RunRequest & { readonly ready: string }) => {
    const cancel = new AbortController();
    const ran = run({ ...request, signal: cancel.signal });
    while (!existsSync(ready)) await sleep(20);
    cancel.abort();
    return ran;
  },
  end: ({ graceMs }: { readonly graceMs: number }) => agentSandbox().end(graceMs),
  refresh: () => agentSandbox().refresh(),
  asked: () => asked,
  services: async () => {
    const service = createServer(() => undefined).listen(0, '127.0.0.1');
    const socket = createServer(() => undefined).listen(at('socket'));
    await Promise.all([once(service, 'listening'), once(socket, 'listening')]);
    return (service.address() as AddressInfo).port;
  },
  probe: async () => {
    const stranger = createServer(() => undefined).listen(0, '127.0.0.1');
    const abstract = createServer(() => undefined).listen({ path: `\0${base}` });
    await Promise.all([once(stranger, 'listening'), once(abstract, 'listening')]);
    const { file, args } = options().worker;
    const request: ProbeRequest = {
      ...{ actionPid: process.pid, actionStarted: startOfProcess('self'), workFolder: tree() },
      home: agentSandbox().folders.home,
      given: [tree(), ...Object.values(agentSandbox().folders), root],
      ...{ runnerHome: at('home'), runnerTemp: at('temp'), commandFiles: [at('temp', 'env')], marker: at('secret') },
      ...{ otherLoopbackPort: (stranger.address() as AddressInfo).port, abstractSocket: base },
      ...{ brokerPort: 1080, proxyPort: 3128, outside: { address: '192.0.2.1', port: 80 } },
      ...{ shownSockets: [], openAtStart: null, calls: findProbeCallCommand(), path: process.env['PATH'] ?? '' },
    };
    const { out, error } = await run(
      { script: LIST_OPEN_SCRIPT.replace('"$@"', '"$0" "$@"'), input: JSON.stringify(request) },
      [file, ...args, 'probe'],
    );
    const answer = parseProbeAnswer(out);
    return answer === null ? { error } : { answer, ...judgeProbe('sandbox', 'limited', answer) };
  },
  close: async () => opened?.close(),
  remove: () => removeRootlessSandbox(at('run')),
  /** Returns this user's processes whose command line contains `mark`. */
  running: ({ mark }: { readonly mark: string }) =>
    readdirSync('/proc').filter(
      (name) => /^\d+$/.test(name) && name !== String(process.pid) && commandLine(name).includes(mark),
    ).length,
  exists: ({ path }: { readonly path: string }) => {
    try {
      return readdirSync(path);
    } catch {
      return null;
    }
  },
  die: () => process.kill(process.pid, 'SIGKILL'),
};

for (const name of ['sandboxes', 'run', 'home', 'temp', 'opt/runner/work']) mkdirSync(at(name), { recursive: true });
writeFileSync(at('secret'), 'sk-secret');
writeFileSync(at('temp', 'env'), '');
writeFileSync(at('opt', 'runner', 'credentials'), 'sk-secret');
for await (const line of createInterface({ input: process.stdin })) {
  const { do: work, ...request } = JSON.parse(line) as { readonly do: keyof typeof works };
  const answer: unknown = await works[work](request as never);
  process.stdout.write(`${JSON.stringify({ answer })}\n`);
}
process.exit();

/** Returns the tree in which its programs work. */
function tree(): string {
  return join(agentSandbox().folders.trees, 'work', 'shop');
}

function options(): AgentSandboxOptions {
  return {
    environment: process.env,
    runFolder: at('run'),
    checkout: at('opt', 'runner', 'work'),
    hidden: [at('home'), at('temp'), at('opt', 'runner')],
    visible: [dirname(process.execPath), root, at('opt')],
    localPorts: [],
    worker: {
      file: process.execPath,
      args: ['-e', `import(${entry}).then((m) => m.runSandboxWorker(process.argv.slice(1), (url) => import(url)))`],
    },
    places: { agentSandboxes: at('sandboxes'), reservations: at('sandboxes') },
  };
}

async function run({ script, input = '', signal, environment = {} }: RunRequest, words: readonly string[] = []) {
  const { end, stdout, stderr } = await collectOutput(
    {
      ...{
        file: '/bin/bash',
        args: ['-c', script, ...words],
        cwd: agentSandbox().folders.trees,
        input,
        timeoutMs: 60_000,
      },
      ...(signal === undefined ? {} : { signal }),
      environment: {
        ...{ PATH: `/usr/bin:/bin:${dirname(process.execPath)}`, HOME: agentSandbox().folders.home, TMPDIR: '/tmp' },
        ...environment,
      },
      family: { kind: 'sandbox', agentSandbox: agentSandbox() },
    },
    1024 * 1024,
  );
  return { end, out: stdout.toString().trim(), error: stderr.toString().trim() };
}

function agentSandbox(): OpenedAgentSandbox['agentSandbox'] {
  if (opened === null) throw new Error('there is no sandbox');
  return opened.agentSandbox;
}

/** Returns a PATH with a bubblewrap of the test's. */
function withBwrap(script: string): string {
  const folder = at(`programs-${String(process.hrtime.bigint())}`);
  mkdirSync(folder);
  writeFileSync(join(folder, 'bwrap'), script.replaceAll('BWRAP', findTrustedProgram('bwrap', process.env) ?? ''), {
    mode: 0o755,
  });
  for (const name of ['socat', 'bash']) symlinkSync(findTrustedProgram(name, process.env) ?? '', join(folder, name));
  return folder;
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
