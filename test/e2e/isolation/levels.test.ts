import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { describe, expect, inject, test } from 'vitest';
import { ACTION_FOLDER, events } from '../../../testbed/testbed.ts';
import { noOwnMachine, sudoUser } from '../../own-machine.ts';
import { deepTest, IS_DEEP, rows } from '../../runs.ts';
import { createScene } from '../e2e-fixture.ts';
import { runSplit } from '../split-fixture.ts';

/** The rights of a container's root, and those of an ordinary user. */
const WITHOUT_MOUNTS = ['setpriv', '--bounding-set=-sys_admin,-net_admin,-sys_ptrace', '--'];
const WITHOUT_USERS = [
  // The level `testbed` needs bwrap, which some machines have.
  ...['bash', '-c', '[ ! -e /usr/bin/bwrap ] || mount --bind /dev/null /usr/bin/bwrap; exec "$@"', 'bash'],
  ...['setpriv', '--bounding-set=-sys_admin,-net_admin,-sys_ptrace,-setuid,-setgid', '--'],
];
/** Asks a proxy for a host that is not allowed. */
const ASK_ELSEWHERE = `
  exec 3<> "/dev/tcp/127.0.0.1/\${HTTPS_PROXY##*:}"
  printf 'CONNECT evil.example:443 HTTP/1.1\\r\\nHost: evil.example:443\\r\\n\\r\\n' >&3
  head -1 <&3 > answer.txt`;

describe.skipIf(noOwnMachine !== null)('the level of isolation', () => {
  // Also tested by isolation/sandboxes and unit/core/isolation/level.
  deepTest('auto is namespace where there is root', async () => {
    await using scene = await createScene({ level: 'auto' });
    scene.openIssue('Add a test');
    const run = await scene.run({ inputs: { 'max-iterations': '1' } });
    expect(run.summary, run.main.log).toContain('Isolation: namespace — own user, processes, files and network');
  });

  const user = sudoUser(inject('programs'), ACTION_FOLDER);
  test.runIf(user !== null).each(rows(1, ['auto', 'user']))(
    'a user with sudo gets it without being root, and all files are given back (%s)',
    async (level) => {
      await using scene = await createScene({ level, user });
      scene.openIssue('Add a test');
      const run = await scene.run({ inputs: { verify: 'npm test' } });
      expect(run.outputs['outcome'], run.main.log).toBe('complete');
      expect(run.summary).toContain(`Isolation: ${level === 'auto' ? 'namespace' : level} — own user`);
      expect(run.summary).toContain('0 processes left');
      const left = 'ls -A /var/tmp /run | grep ralph; grep -c ralph /etc/passwd; find "$0" ! -uid 1001; true';
      expect(scene.own?.run('sh', '-c', left, run.machine)).toBe('0\n');
    },
  );

  /** This needs bash, since other shells drop variables with dashes in their names. */
  const masked = (mask: string): readonly string[] => ['bash', '-c', `umask ${mask}; exec "$@"`, 'bash'];
  test.runIf(user !== null).each(
    rows(2, [
      ['namespace', '077'],
      ['user', '027'],
      ['namespace', '027'],
      ['user', '077'],
    ]),
  )('works at %s with any umask of the runner (%s), and gives all files back', async (level, mask) => {
    await using scene = await createScene({ level, user, through: masked(mask) });
    scene.openIssue('Add a test');
    const run = await scene.run({ inputs: { verify: 'npm test' } });
    expect(run.outputs['outcome'], run.main.log).toBe('complete');
    // Some machines have no firewall for the other level.
    if (level === 'namespace') expect(run.main.log).not.toContain('::warning::');
    expect(
      scene.own?.run('sh', '-c', 'ls -A /var/tmp /run | grep ralph; find "$0" ! -uid 1001; true', run.machine),
    ).toBe('');
  });

  test.runIf(user !== null)('if no program may be started from /var/tmp, the sandbox is elsewhere', async () => {
    await using scene = await createScene({ level: 'namespace', user });
    scene.own?.run('mount', '-o', 'remount,noexec', '/var/tmp');
    scene.openIssue('Add a test');
    const run = await scene.run({ inputs: { verify: 'npm test' } });
    expect(run.outputs['outcome'], run.main.log).toBe('complete');
    expect(
      scene.own?.run(
        'sh',
        '-c',
        'ls -A "$0/_ralph" /var/tmp /run | grep -E "ralph-(sandbox|room)-"; true',
        run.machine,
      ),
    ).toBe('');
  });

  test('in a container auto means user, and the summary says what is not limited', async () => {
    await using scene = await createScene({ level: 'auto', through: WITHOUT_MOUNTS });
    const issue = scene.openIssue('Add a test');
    const run = await scene.run({ event: events.labeled(issue), inputs: { 'max-iterations': '1' } });
    expect(run.outputs['outcome'], run.main.log).toBe('limit');
    expect(run.summary).toContain('Isolation: user — own user; NO network limit');
    expect(run.summary).toContain('Stronger isolation is not available here');
    expect(run.main.log).toContain("Nothing limits the agent's network on this runner");
  });

  // Also tested by unit/core/isolation/level.
  deepTest('namespace by name ends the run before a call where it is not available', async () => {
    await using scene = await createScene({ level: 'namespace', through: WITHOUT_MOUNTS });
    scene.openIssue('Add a test');
    const run = await scene.run();
    expect(run).toMatchObject({ calls: 0, outputs: { outcome: 'failed', reason: 'configuration' } });
    expect(run.main.log).toContain('`isolation: namespace` is not available on this runner');
  });

  // unit/core/isolation/level tests the other rows.
  test.each(
    rows(1, [
      ['auto', 'api.example.com', '`allowed-hosts` cannot be enforced on this runner'],
      ['user', 'none', '`isolation: user` is not available on this runner (`user`: no firewall can be set up here'],
      ['none', 'api.example.com', 'With `isolation: none` the agent reaches the whole network'],
    ]),
  )(
    'isolation: %s and allowed-hosts: %s end the run before a call if nothing limits the network',
    async (level, hosts, why) => {
      await using scene = await createScene({ level, through: WITHOUT_MOUNTS });
      scene.openIssue('Add a test');
      const run = await scene.run({ inputs: { 'allowed-hosts': hosts } });
      expect(run).toMatchObject({ calls: 0, outputs: { outcome: 'failed', reason: 'configuration' } });
      expect(run.main.log).toContain(why);
    },
  );

  test('if no isolation works, a scheduled run continues with a warning, and a labelled one does not', async () => {
    await using scene = await createScene({ level: 'auto', through: WITHOUT_USERS });
    const issue = scene.openIssue('Add a test');
    const scheduled = await scene.run({ inputs: { 'max-iterations': '1' } });
    expect(scheduled.outputs['outcome'], scheduled.main.log).toBe('limit');
    expect(scheduled.main.log).toContain('No isolation is available here');
    expect(scheduled.summary).toContain('Isolation: none');
    const labeled = await scene.run({ event: events.labeled(issue) });
    expect(labeled).toMatchObject({ outputs: { outcome: 'failed', reason: 'configuration' } });
    expect(labeled.main.log).toContain('or accept the risk with `isolation: none`');
  });

  test.each([['', '403', 'Refused hosts: '], ...(IS_DEEP ? [['any', '502', 'all hosts allowed']] : [])])(
    'a host that is not allowed is refused and counted (allowed-hosts: "%s")',
    async (hosts = '', answer = '', shown = '') => {
      await using scene = await createScene({ level: 'namespace' });
      scene.openIssue('Add a test');
      const run = await scene.run({
        inputs: { 'max-iterations': '1', 'allowed-hosts': hosts },
        agent: [{ kind: 'shell', script: ASK_ELSEWHERE }],
      });
      expect(await scene.testbed.git('show', 'ralph/queue:answer.txt'), run.main.log).toContain(answer);
      expect(run.summary).toContain(shown);
    },
  );

  // Also tested by integration/isolation/agent-sandbox.
  deepTest('a service of the job is reached where its port is named, by the agent and by verify', async () => {
    await using scene = await createScene({ level: 'namespace' });
    scene.openIssue('Add a test');
    const service = createServer((socket) => socket.on('error', () => undefined).end('ready\n'));
    service.listen(0, '127.0.0.1');
    await once(service, 'listening');
    const { port } = service.address() as AddressInfo;
    const ask = `head -1 < /dev/tcp/127.0.0.1/${String(port)}`;
    const run = await scene.run({
      inputs: { 'allowed-hosts': `localhost:${String(port)}`, verify: `${ask} | grep ready` },
      agent: [{ kind: 'work' }, { kind: 'shell', script: `${ask} > answer.txt` }, { kind: 'work' }],
    });
    service.close();
    expect(run.outputs['outcome'], run.main.log).toBe('complete');
    expect(run.summary).toContain('own user, processes, files and network');
  });

  // Also tested by isolation/sandboxes, workflows/three-jobs and unit/core/isolation/texts.
  deepTest('three jobs: the loop is isolated, and the job that publishes says whose word that is', async () => {
    await using scene = await createScene({ level: 'namespace' });
    scene.openIssue('Greet');
    const { loop, publish } = await runSplit(scene);
    expect(publish?.outputs['outcome'], loop?.main.log).toBe('complete');
    expect(publish?.summary).toContain('Isolation (reported by the job of the loop): namespace — own user');
  });
});
