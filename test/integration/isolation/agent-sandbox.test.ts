import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { NO_REMAINS } from '../../../src/core/isolation/sandbox-record.ts';
import { listUserProcesses } from '../../../src/isolation/namespaces/seal.ts';
import { removeAgentSandbox } from '../../../src/isolation/namespaces/remove.ts';
import { openAgentSandbox } from '../../../src/isolation/namespaces/open-sandbox.ts';
import { noOwnMachine } from '../../own-machine.ts';
import { createSandboxScene, createRunnerFolders, type SandboxScene } from './sandbox-fixture.ts';

// A sandbox with its own user changes the machine's list of users, so whole runs test it on a separate machine.
describe.skipIf(noOwnMachine !== null)('a sandbox of namespaces', () => {
  let scene: SandboxScene;
  beforeAll(async () => {
    scene = await createSandboxScene('namespace');
  });
  afterAll(() => scene[Symbol.asyncDispose]());

  test('has a user of its own, who owns the work tree and may do nothing else', async () => {
    const { output } = await scene.run(
      'id -u; id -G; whoami; cat a.txt; echo; echo b > b.txt; grep -E "^(NoNewPrivs|CapBnd|CapEff)" /proc/self/status',
    );
    const uid = String(scene.opened.uid);
    expect(output.split('\n').map((line) => line.replace('\t', ' '))).toEqual(
      expect.arrayContaining([uid, 'ralph', 'NoNewPrivs: 1', 'CapEff: 0000000000000000', 'CapBnd: 0000000000000000']),
    );
    expect(output).toContain('hello');
    expect(lstatSync(join(scene.tree, 'b.txt')).uid).toBe(scene.opened.uid);
    expect(existsSync(join(scene.checkout, 'b.txt'))).toBe(false);
  });

  test('keeps what is written to its standard input, its exit code and its folder', async () => {
    const { end, output } = await scene.run('cat; pwd; exit 7', { input: 'a prompt\n' });
    expect(output).toBe(`a prompt\n${scene.checkout}\n`);
    expect(end).toEqual({ kind: 'exited', code: 7 });
  });

  test.each([
    ['the job’s temporary folder', () => `ls ${join(scene.work, '_temp')}`],
    ['another checkout', () => `cat ${join(scene.work, 'other', 'other', 'secret.txt')}`],
    ['homes', () => 'ls /home/* /root'],
    ['the run’s own folder', () => `ls ${scene.options.runFolder}`],
    [
      'processes of the machine',
      () => `kill -0 ${String(process.pid)} 2>/dev/null && cat /proc/${String(process.pid)}/environ`,
    ],
    ['sockets of daemons', () => 'ls /run/docker.sock /run/dbus /var/run/docker.sock'],
  ])('does not have %s', async (_, script) => {
    const { end } = await scene.run(script());
    expect(end).not.toEqual({ kind: 'exited', code: 0 });
  });

  test.each([
    '/usr/local/bin',
    '/etc',
    '/usr/share',
    '/opt',
    '/',
    '/run',
    '/var/lib',
    '/dev',
    '/proc/sys/kernel',
    '/sys',
  ])('cannot write in %s', async (folder) => {
    expect((await scene.run(`touch ${folder}/ralph-was-here`)).end).not.toEqual({ kind: 'exited', code: 0 });
  });

  test("reaches one of Ralph's servers, and no other", async () => {
    const served = createServer((_, response) => response.end('ours'));
    const other = createServer((_, response) => response.end('not ours'));
    const port = await scene.opened.listen(served);
    const otherPort = await new Promise<number>((resolve) => {
      other.listen(0, '127.0.0.1', () => {
        resolve((other.address() as { port: number }).port);
      });
    });
    const get = `node -e "fetch('http://127.0.0.1:'+process.argv[1]).then(r=>r.text()).then(console.log,e=>console.log(e.cause.code))"`;
    expect(
      (
        await scene.run(
          `PATH=$PATH:${process.execPath.replace(/\/[^/]*$/, '')}; ${get} ${String(port)}; ${get} ${String(otherPort)}`,
        )
      ).output,
    ).toBe('ours\nECONNREFUSED\n');
    other.close();
    served.close();
  });

  test('what it kept comes back for us to read and to clear, whatever modes it was given, and no link is followed', async () => {
    const { agentSandbox } = scene.opened;
    const { session } = agentSandbox.folders;
    const outside = join(scene.tree, 'outside');
    const seen = join(agentSandbox.seenAt(scene.tree), 'outside');
    await agentSandbox.give(session);
    await scene.run(
      `cd '${session}'; mkdir -p a/b; echo talk > a/b/talk; echo x > '${seen}'; chmod 400 '${seen}'
      ln -s '${seen}' a/link; chmod 000 a/b/talk a/b a`,
    );
    expect(await agentSandbox.takeBack(session)).toBe(true);
    const modeOf = (path: string): string => (lstatSync(path).mode & 0o777).toString(8);
    expect(['a', 'a/b', 'a/b/talk'].map((name) => modeOf(join(session, name)))).toEqual(['700', '700', '600']);
    expect(modeOf(outside)).toBe('400');
    expect(lstatSync(join(session, 'a/b/talk')).uid).toBe(process.getuid?.());
  });

  test('its environment is what we give it and what a shell adds', async () => {
    const { output } = await scene.run('env');
    const names = output
      .trim()
      .split('\n')
      .map((line) => line.split('=')[0])
      .sort();
    expect(names.filter((name) => !['PWD', 'OLDPWD', '_', 'SHLVL'].includes(name ?? ''))).toEqual(['HOME', 'PATH']);
    expect(readdirSync(scene.opened.agentSandbox.folders.inbox).filter((name) => name.startsWith('launch'))).toEqual(
      [],
    );
  });

  test('no process outlives the program that started it, whatever it does', async () => {
    const { end } = await scene.run(`
      trap '' TERM HUP INT
      setsid sh -c 'trap "" TERM HUP; sleep 3001' &
      (setsid env -i sh -c 'sleep 3002 & exit' &)
      nohup setsid sleep 3003 > /dev/null 2>&1 &
      sleep 0.2
      exit 0`);
    expect(end).toEqual({ kind: 'exited', code: 0 });
    expect(listUserProcesses(scene.opened.uid)).toEqual([]);
  });

  test('a program that takes too long ends with all of its own, also one that forks without end', async () => {
    const { end } = await scene.run('trap "" TERM; f() { while :; do (sleep 60 &); done; }; f & f & wait', {
      timeoutMs: 300,
    });
    expect(end).toEqual({ kind: 'timeout' });
    expect(listUserProcesses(scene.opened.uid)).toEqual([]);
  });

  test('refresh() leaves nothing of what was put into temporary folders', async () => {
    await scene.run('mkdir -p /tmp/a/b; echo x > /tmp/a/b/c; echo x > /var/tmp/d; echo x > /dev/shm/e');
    const home = await scene.opened.agentSandbox.refresh();
    const { output } = await scene.run(
      `ls -Ad /tmp/a /var/tmp/d /dev/shm/e ${home}/* 2>/dev/null; touch ${home}/mine && echo mine`,
    );
    expect(output.split('\n').filter((line) => line !== '' && !line.endsWith(':'))).toEqual(['mine']);
  });
});

describe.skipIf(noOwnMachine !== null)('a service of the job', () => {
  /** Starts a service that echoes its input once the other side has ended. */
  async function startService(): Promise<{ readonly port: number } & AsyncDisposable> {
    const server = createTcpServer({ allowHalfOpen: true }, (socket) => {
      socket.on('error', () => undefined);
      void text(socket).then(
        (words) => socket.end(`${words} back`),
        () => undefined,
      );
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return {
      port: (server.address() as AddressInfo).port,
      [Symbol.asyncDispose]: async () => {
        server.close();
        await once(server, 'close');
      },
    };
  }

  const asking = `
    const socket = require('net').connect({ port: +process.argv[1], host: process.argv[2], allowHalfOpen: true });
    socket.on('error', (error) => console.log(error.code)).on('connect', () => socket.end('there and'));
    socket.setEncoding('utf8').on('data', (words) => console.log(words));`;
  const ask = (port: number): string => `'${process.execPath}' -e "${asking}" ${String(port)} 127.0.0.1`;

  test('is reached where its port was named, and no other port is', async () => {
    await using service = await startService();
    await using other = await startService();
    await using scene = await createSandboxScene('namespace', [service.port]);
    const { output } = await scene.run(`${ask(service.port)}; ${ask(service.port)}; ${ask(other.port)}`);
    expect(output).toBe('there and back\nthere and back\nECONNREFUSED\n');
    const ours = createServer((_, response) => response.end());
    expect(await scene.opened.listen(ours)).not.toBe(service.port);
    ours.close();
  });

  test('that does not run is a connection that ends', async () => {
    const { port } = await startService().then(async (service) => {
      await service[Symbol.asyncDispose]();
      return service;
    });
    await using scene = await createSandboxScene('namespace', [port]);
    expect((await scene.run(ask(port))).output).not.toContain('back');
  });
});

describe.skipIf(noOwnMachine !== null)('leftovers of a sandbox', () => {
  test('closing it gives everything back and removes it', async () => {
    const { base, ...options } = await createRunnerFolders();
    const opened = await openAgentSandbox('namespace', options);
    const tree = join(opened.agentSandbox.folders.trees, 'work', 'shop');
    mkdirSync(tree, { recursive: true });
    await opened.agentSandbox.give(tree);
    expect(await opened.close()).toEqual(NO_REMAINS);
    expect(readdirSync(options.places.agentSandboxes)).toEqual([]);
    expect(readdirSync(options.places.reservations)).toEqual([]);
    expect(existsSync(join(options.runFolder, 'sandbox-record.json'))).toBe(false);
    rmSync(base, { recursive: true });
  });

  test('the conversation stays in the run’s folder, for the post step', async () => {
    const { base, ...options } = await createRunnerFolders();
    const opened = await openAgentSandbox('namespace', options);
    writeFileSync(join(opened.agentSandbox.folders.session, 'talk'), 'words');
    await opened.agentSandbox.give(opened.agentSandbox.folders.session);
    await opened.close();
    expect(readFileSync(join(options.runFolder, 'agent', 'talk'), 'utf8')).toBe('words');
    expect(lstatSync(join(options.runFolder, 'agent', 'talk')).uid).toBe(process.getuid?.());
    rmSync(base, { recursive: true });
  });

  test('removing a sandbox twice, or a missing one, does nothing', async () => {
    const { base, ...options } = await createRunnerFolders();
    expect(await removeAgentSandbox(options.runFolder, options)).toEqual(NO_REMAINS);
    const opened = await openAgentSandbox('namespace', options);
    await opened.close();
    expect(await removeAgentSandbox(options.runFolder, options)).toEqual(NO_REMAINS);
    rmSync(base, { recursive: true });
  });

  test('a record that somebody wrote into the run’s folder leads nowhere', async () => {
    const { base, ...options } = await createRunnerFolders();
    for (const record of [
      '',
      '{',
      '[]',
      '{"version":1,"uid":0,"folder":"/","userName":"","given":["/"],"opened":[],"closed":[]}',
    ]) {
      writeFileSync(join(options.runFolder, 'sandbox-record.json'), record);
      expect(await removeAgentSandbox(options.runFolder, options)).toEqual(NO_REMAINS);
    }
    rmSync(base, { recursive: true });
  });

  test('two sandboxes at once have different users', async () => {
    await using one = await createSandboxScene('namespace');
    await using other = await createSandboxScene('namespace');
    expect(one.opened.uid).not.toBe(other.opened.uid);
    await one.run('sleep 0.1');
    expect((await other.run('echo still here')).output).toBe('still here\n');
  });

  test('a closed folder above the sandbox is opened for its user, or named before a call', async () => {
    const { base, ...options } = await createRunnerFolders();
    chmodSync(base, 0o700);
    const asAgent = ['--clear-groups', 'test', '-x', options.places.agentSandboxes];
    const entered = await openAgentSandbox('user', options).then(
      async (opened) => {
        const { status } = spawnSync('setpriv', [`--reuid=${String(opened.uid)}`, ...asAgent]);
        await opened.close();
        return status === 0 ? 'entered' : 'closed';
      },
      (error: unknown) => String(error),
    );
    expect(entered).toMatch(/^entered$|ralph-sandbox-test-\w+ is closed to other users, and setfacl is not installed/);
    expect(statSync(base).mode & 0o777).toBe(0o700);
    rmSync(base, { recursive: true });
  });

  test('file commands are closed to its user, also beside a program in the temporary folder, and opened again', async () => {
    const { base, ...folders } = await createRunnerFolders();
    const [temp, tools, commands] = ['', 'tools', '_runner_file_commands'].map((name) =>
      join(base, 'runner', '_work', '_temp', name),
    ) as [string, string, string];
    const [tool, command] = [join(tools, 'agent'), join(commands, 'set_env_1')];
    for (const folder of [tools, commands]) mkdirSync(folder);
    for (const file of [tool, command]) writeFileSync(file, '');
    chmodSync(base, 0o755);
    const environment = { ...folders.environment, RUNNER_TEMP: temp, GITHUB_ENV: command };
    const opened = await openAgentSandbox('user', { ...folders, environment, visible: [tools] });
    const asAgent = [`--reuid=${String(opened.uid)}`, '--clear-groups', 'test', '-r'];
    const reads = [tool, command].map((path) => spawnSync('setpriv', [...asAgent, path]).status === 0);
    await opened.close();
    expect(reads).toEqual([true, false]);
    expect(statSync(commands).mode & 0o777).toBe(0o755);
    rmSync(base, { recursive: true });
  });

  test('a machine without the programs for it says which one is missing, and keeps nothing', async () => {
    const { base, ...options } = await createRunnerFolders();
    const nowhere = { ...options, places: { ...options.places, agentSandboxes: join(base, 'not-there') } };
    await expect(openAgentSandbox('namespace', nowhere)).rejects.toThrow(/not-there|No such file/);
    expect(readdirSync(options.places.reservations)).toEqual([]);
    rmSync(base, { recursive: true });
  });
});
