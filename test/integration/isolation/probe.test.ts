import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo, type ListenOptions } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { beforeAll, describe, expect, test } from 'vitest';
import { attemptNames, judgeProbe, parseProbeAnswer, type ProbeResults } from '../../../src/core/isolation/probe.ts';
import { findProbeCallCommand, sealOfPrograms } from '../../../src/isolation/namespaces/seal.ts';
import { LIST_OPEN_SCRIPT, probeSandbox, type ProbeRequest, type RunProbed } from '../../../src/isolation/probe.ts';
import { startOfProcess } from '../../../src/isolation/probe-attempts.ts';
import { collectOutput } from '../../../src/processes/collect-output.ts';

/** The user `nobody`, who owns none of the tests' files. */
const STRANGER = 65534;
const ALONE = [
  ...['setpriv', `--reuid=${String(STRANGER)}`, `--regid=${String(STRANGER)}`, '--clear-groups', '--no-new-privs'],
  ...['--inh-caps=-all', '--ambient-caps=-all', '--bounding-set=-all'],
  ...sealOfPrograms(),
];
const ALONE_IN_NAMESPACES = ['unshare', '--net', '--pid', '--fork', '--mount-proc', ...ALONE];

function canStart([file = '', ...args]: readonly string[]): boolean {
  return process.getuid?.() === 0 && spawnSync(file, [...args, 'true'], { timeout: 5_000 }).status === 0;
}

beforeAll(async () => {
  // The first program also loads the module that starts programs, here from its sources.
  await collectOutput(
    {
      ...{ file: 'true', args: [], cwd: '/', environment: {}, input: '', timeoutMs: 30_000 },
      family: { kind: 'group', graceMs: 0, leftover: 'end' },
    },
    1024,
  );
});

const noProgram: RunProbed = () => Promise.resolve({ end: { kind: 'not-started' } });

/** Creates a machine on which an action runs: the runner's files, and those made for the agent. */
async function createMachine() {
  // The folder is outside the tests' folder, which other users cannot enter.
  const folder = await mkdtemp('/tmp/ralph-probe-');
  const at = (...names: readonly string[]): string => join(folder, ...names);
  await chmod(folder, 0o755);
  for (const name of ['work', 'home', 'runner/temp/commands']) await mkdir(at(name), { recursive: true });
  for (const name of ['marker', 'runner/temp/commands/set_env_1']) await writeFile(at(name), '');
  spawnSync('git', ['init', '--quiet', at('work')], { timeout: 30_000 });
  // The process has a new group, so that signals to it do not reach this process.
  const action = spawn('sleep', ['600'], { stdio: 'ignore', detached: true });
  await once(action, 'spawn');
  const abstractSocket = `ralph-probe-${String(process.pid)}`;
  const servers = await Promise.all([
    listening({ port: 0, host: '127.0.0.1' }),
    listening({ port: 0, host: '127.0.0.1' }),
    listening({ path: `\0${abstractSocket}` }),
    listening({ path: at('daemon.sock') }),
  ]);
  const [port = 0, broker = 0] = servers.map((server) => (server.address() as AddressInfo).port);
  const pid = action.pid ?? 0;
  const request: ProbeRequest = {
    actionPid: pid,
    actionStarted: startOfProcess(pid),
    workFolder: at('work'),
    home: at('home'),
    given: [],
    runnerHome: at('runner'),
    runnerTemp: at('runner', 'temp'),
    commandFiles: [at('runner', 'temp', 'commands', 'set_env_1')],
    marker: at('marker'),
    otherLoopbackPort: port,
    abstractSocket,
    brokerPort: broker,
    proxyPort: null,
    // Tests make no connections outside this machine.
    outside: { address: '127.0.0.1', port },
    shownSockets: [at('daemon.sock')],
    openAtStart: ' 20',
    calls: findProbeCallCommand(),
    path: process.env['PATH'] ?? '',
  };
  return {
    folder,
    request,
    [Symbol.asyncDispose]: async () => {
      action.kill('SIGKILL');
      for (const server of servers) server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function listening(where: ListenOptions) {
  const server = createServer((socket) => {
    socket.on('error', () => undefined).end();
  });
  server.listen(where);
  await once(server, 'listening');
  return server;
}

describe('as the user of the action, with nothing in the way,', () => {
  test('it finds what is open, and what the agent needs', async () => {
    await using machine = await createMachine();
    const results = await probeSandbox(machine.request, collectOutput);
    expect(results).toMatchObject({
      'use files that were open when it was started': 'open',
      "read the action's environment": 'open',
      "read the action's memory map": 'open',
      "list the action's open files": 'open',
      'signal the action': 'open',
      "read the action's command line": 'open',
      "list the runner's home": 'open',
      "list the runner's temporary folder": 'open',
      "use the runner's file commands": 'open',
      "see the machine's /tmp": 'open',
      'connect to other machines directly': 'open',
      'send UDP to other machines': 'open',
      'connect to other local ports': 'open',
      "connect to the machine's abstract sockets": 'open',
      'use sockets of daemons in folders that are shown': 'open',
      'write to the work tree': 'open',
      'use git in the work tree': 'open',
      'write to its home': 'open',
      'write to /tmp': 'open',
      'reach the broker': 'open',
      'reach the proxy': 'absent',
    });
    expect(Object.keys(results).sort()).toEqual([...attemptNames].sort());
    expect(judgeProbe('namespace', 'limited', results).failed).toContain("read the action's environment");
  });

  test.skipIf(process.getuid?.() !== 0)('root can use everything that only it has (skipped for others)', async () => {
    await using machine = await createMachine();
    expect(await probeSandbox(machine.request, collectOutput)).toMatchObject({
      "read the action's memory": 'open',
      'become root with su': 'open',
      'write to /etc': 'open',
      'write to /usr/local/bin': 'open',
      'use capabilities': 'open',
    });
  });
});

describe('it finds closed', () => {
  test.each<[string, (request: ProbeRequest) => Partial<ProbeRequest>, object]>([
    [
      'what is not there',
      () => ({
        actionPid: 2 ** 22 + 1,
        ...{ workFolder: '/nowhere/work', home: '/nowhere/home', runnerHome: '/nowhere', runnerTemp: null },
        ...{ commandFiles: [], marker: '/nowhere/marker', abstractSocket: 'ralph-nobody-listens' },
      }),
      {
        "read the action's environment": 'closed',
        'signal the action': 'closed',
        "list the runner's home": 'closed',
        "list the runner's temporary folder": 'absent',
        "use the runner's file commands": 'closed',
        "see the machine's /tmp": 'closed',
        "connect to the machine's abstract sockets": 'closed',
        'write to the work tree': 'closed',
        'use git in the work tree': 'closed',
        'write to its home': 'closed',
      },
    ],
    [
      'a port on which nobody listens',
      () => ({ otherLoopbackPort: 1, brokerPort: 1, outside: { address: '127.0.0.1', port: 1 } }),
      {
        'connect to other local ports': 'closed',
        'reach the broker': 'closed',
        'connect to other machines directly': 'closed',
      },
    ],
    [
      "another process that has the action's id",
      () => ({ actionStarted: '1' }),
      {
        "read the action's environment": 'closed',
        'signal the action': 'closed',
        "read the action's command line": 'closed',
      },
    ],
    [
      'a folder in which nothing is but the way to what the sandbox has',
      ({ runnerTemp }) => ({ given: [join(runnerTemp ?? '', 'commands', 'a')] }),
      { "list the runner's home": 'closed', "list the runner's temporary folder": 'closed' },
    ],
  ])('%s', async (_, change, expected) => {
    await using machine = await createMachine();
    const request = { ...machine.request, ...change(machine.request) };
    expect(await probeSandbox(request, collectOutput)).toMatchObject(expected);
  });
});

test('a folder that is not a repository and an invalid port fail the checks that need them', async () => {
  await using machine = await createMachine();
  const results = await probeSandbox(
    { ...machine.request, workFolder: machine.request.home, proxyPort: 70_000 },
    collectOutput,
  );
  expect(judgeProbe('none', 'open', results).failed).toEqual(['use git in the work tree', 'reach the proxy']);
});

test('what hangs is not waited for, and proves nothing', async () => {
  await using machine = await createMachine();
  await using deaf = await createDeafServer();
  const results = await probeSandbox(
    { ...machine.request, brokerPort: deaf.port, outside: { address: '127.0.0.1', port: deaf.port } },
    () => new Promise(() => undefined),
  );
  expect(results).toMatchObject({ 'become root with su': 'closed', 'connect to other machines directly': 'open' });
  expect(judgeProbe('user', 'open', results).failed).toEqual(
    expect.arrayContaining(['become root with sudo', 'use git in the work tree', 'reach the broker']),
  );
});

/** Creates a port where connections are neither accepted nor refused: its queue is full, and its process is stopped. */
async function createDeafServer() {
  const server = spawn(
    process.execPath,
    [
      '-e',
      `const server = require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
        console.log(server.address().port);
        process.kill(process.pid, 'SIGSTOP');
      });`,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const [line] = (await once(server.stdout, 'data')) as [Buffer];
  const port = Number(line.toString());
  const waiting = Array.from({ length: 8 }, () => connect({ port, host: '127.0.0.1' }).on('error', () => undefined));
  // The queue accepts the first two.
  await Promise.all(waiting.slice(0, 2).map((socket) => once(socket, 'connect')));
  return {
    port,
    [Symbol.asyncDispose]: async () => {
      for (const socket of waiting) socket.destroy();
      server.kill('SIGKILL');
      await once(server, 'exit');
    },
  };
}

describe.skipIf(!canStart(ALONE))('as a user of its own (skipped: only root can try it, with setpriv)', () => {
  /** Returns the probe's answer from a process of that user. */
  async function answerOf(folder: string, request: ProbeRequest, start = ALONE): Promise<ProbeResults> {
    const [file = '', ...args] = start;
    const [node, program] = [join(folder, 'node'), join(folder, 'probe.mjs')];
    // The folder of this Node may be closed to other users.
    await copyFile(process.execPath, node);
    await build({
      stdin: {
        contents: `import { probeSandbox } from './src/isolation/probe.ts';
          import { collectOutput } from './src/processes/collect-output.ts';
          console.log(JSON.stringify(await probeSandbox({ ...JSON.parse(process.argv[2]), openAtStart: process.env.RALPH_OPEN_AT_START ?? null }, collectOutput)));
          process.exit();`,
        resolveDir: fileURLToPath(new URL('../../..', import.meta.url)),
      },
      ...{ outfile: program, bundle: true, platform: 'node', format: 'esm' },
      banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    });
    await Promise.all([chmod(node, 0o755), chmod(program, 0o644)]);
    const { end, stdout, stderr } = await collectOutput(
      {
        ...{
          file,
          args: [...args, '/bin/sh', '-c', LIST_OPEN_SCRIPT, 'sh', node, program, JSON.stringify(request)],
          cwd: '/',
          input: '',
        },
        environment: { PATH: request.path, HOME: request.home },
        timeoutMs: 30_000,
        family: { kind: 'group', graceMs: 0, leftover: 'end' },
      },
      1024 * 1024,
    );
    expect([end, stderr.toString()]).toEqual([{ kind: 'exited', code: 0 }, '']);
    const results = parseProbeAnswer(stdout.toString());
    if (results === null) throw new Error(`This is no answer: ${stdout.toString()}`);
    return results;
  }

  async function createAgentSandbox() {
    const machine = await createMachine();
    const { request } = machine;
    const owned = [request.workFolder, request.home];
    for (const path of owned) await chown(path, STRANGER, STRANGER);
    spawnSync('chown', ['-R', `${String(STRANGER)}:${String(STRANGER)}`, request.workFolder]);
    // The action does the same with the job's folder.
    if (request.runnerTemp !== null) await chmod(request.runnerTemp, 0o700);
    await chmod(join(machine.folder, 'runner'), 0o711);
    return machine;
  }

  test('all is closed that a user of its own closes, and what it needs works', async () => {
    await using agentSandbox = await createAgentSandbox();
    const results = await answerOf(agentSandbox.folder, agentSandbox.request);
    expect(judgeProbe('user', 'open', results).failed).toEqual([]);
    // The probe found the doors that only a namespace closes.
    expect(judgeProbe('namespace', 'limited', results).failed).toEqual(
      expect.arrayContaining([
        "read the action's command line",
        "see the machine's /tmp",
        'connect to other machines directly',
        'connect to other local ports',
        "connect to the machine's abstract sockets",
      ]),
    );
  });

  test.skipIf(!canStart(ALONE_IN_NAMESPACES))(
    'and with processes and a network of its own, so is the rest',
    async () => {
      await using agentSandbox = await createAgentSandbox();
      const request = { ...agentSandbox.request, outside: { address: '192.0.2.1', port: 53 } };
      expect(await answerOf(agentSandbox.folder, request, ALONE_IN_NAMESPACES)).toMatchObject({
        "read the action's command line": 'closed',
        'signal the action': 'closed',
        'connect to other machines directly': 'closed',
        'send UDP to other machines': 'closed',
        'connect to other local ports': 'closed',
        "connect to the machine's abstract sockets": 'closed',
        // The broker was not started.
        'reach the broker': 'closed',
      });
    },
  );

  test('what was forgotten is found: its rights, an open folder, a work tree of somebody else', async () => {
    await using agentSandbox = await createAgentSandbox();
    const { workFolder, home, runnerTemp } = agentSandbox.request;
    if (runnerTemp !== null) await chmod(runnerTemp, 0o755);
    for (const path of [workFolder, home]) await chown(path, 0, 0);
    const flags = ALONE.filter((flag) => !/no-new-privs|bounding-set/.test(flag));
    const grouped = flags.map((flag) => (flag === '--clear-groups' ? '--groups=0' : flag));
    const results = await answerOf(agentSandbox.folder, agentSandbox.request, grouped);
    expect(new Set(judgeProbe('user', 'open', results).failed)).toEqual(
      new Set([
        "list the runner's temporary folder",
        "use the runner's file commands",
        'use rights of groups',
        'gain rights by set-uid programs',
        'use capabilities',
        // A process that may gain rights cannot seal itself.
        "use the kernel's keys",
        'make sockets that no network namespace holds',
        // Git itself works there, with the settings of the sandbox's programs.
        'write to the work tree',
        'write to its home',
      ]),
    );
  });
});

test('a probe that cannot start programs says what it knows', async () => {
  await using machine = await createMachine();
  expect(judgeProbe('none', 'open', await probeSandbox(machine.request, noProgram)).failed).toEqual([
    'use git in the work tree',
  ]);
});
