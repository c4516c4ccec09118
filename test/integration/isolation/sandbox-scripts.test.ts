import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { buildSandboxGuard } from '../../../src/isolation/namespaces/namespaces.ts';
import { buildAgentSandbox } from '../../../src/isolation/namespaces/sandbox-of.ts';
import { findRoot } from '../../../src/isolation/namespaces/root.ts';
import {
  CHANGE_OWNER_SCRIPT,
  REVOKE_PASSAGE_SCRIPT,
  GRANT_PASSAGE_SCRIPT,
  REMOVE_SANDBOX_SCRIPT,
  RESERVATION_PREFIX,
} from '../../../src/isolation/namespaces/scripts.ts';
import { noOwnMachine, startOwnMachine, type OwnMachine } from '../../own-machine.ts';

const UID = 61_179;
const OTHER_UID = 61_178;
const NAME = `ralph-${UID}`;

describe.skipIf(noOwnMachine !== null)('as root', () => {
  let machine: OwnMachine;
  let base: string;
  beforeAll(async () => {
    machine = await startOwnMachine();
  });
  afterAll(() => machine[Symbol.asyncDispose]());
  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), 'ralph-scripts-'));
    chmodSync(base, 0o755);
    for (const name of ['programs', 'reservations']) mkdirSync(join(base, name));
  });
  afterEach(() => {
    rmSync(base, { recursive: true, force: true });
  });

  /** Runs a script with the test's programs first in the PATH. */
  function run(script: string, ...args: readonly string[]): string {
    const path = `PATH=${join(base, 'programs')}:$PATH\n`;
    return machine.run('unshare', '--ipc', 'sh', '-c', path + script, 'ralph', ...args);
  }

  function program(name: string, text: string): void {
    writeFileSync(join(base, 'programs', name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  }

  describe('REMOVE', () => {
    let agentSandbox: string;
    let reservation: string;
    beforeEach(() => {
      agentSandbox = join(base, 'ralph-sandbox-aaaaaaaa');
      for (const name of ['', 'home', 'session']) mkdirSync(join(agentSandbox, name));
      writeFileSync(join(agentSandbox, 'sandbox-record.json'), '{}');
      reservation = join(base, 'reservations', `${RESERVATION_PREFIX}${UID}`);
      symlinkSync(agentSandbox, reservation);
    });
    const remove = (remains = ''): readonly string[] =>
      run(
        REMOVE_SANDBOX_SCRIPT,
        join(base, 'reservations'),
        String(UID),
        NAME,
        remains,
        agentSandbox,
        join(base, 'session'),
      )
        .split('\n')
        .filter((line) => line !== '');

    test('leaves nothing, and may be repeated', () => {
      machine.run('useradd', '--system', '--uid', String(UID), '--user-group', '--no-create-home', NAME);
      expect(remove()).toEqual([]);
      expect(machine.run('sh', '-c', `grep -c ${NAME} /etc/passwd /etc/group; true`)).toMatch(/:0\n.*:0\n$/);
      expect(existsSync(agentSandbox)).toBe(false);
      expect(readdirSync(join(base, 'reservations'))).toEqual([]);
      expect(remove()).toEqual([]);
    });

    test('says what is left after it tried everything, and removes it the next time', () => {
      machine.run('useradd', '--system', '--uid', String(UID), '--user-group', '--no-create-home', NAME);
      program('userdel', 'exit 8');
      program('groupdel', 'exit 8');
      program('nft', '[ "$1" = list ]');
      program('iptables', 'case "$*" in *-L*) ;; *) exit 4 ;; esac');
      program('ip6tables', 'exit 4');
      expect(remove()).toEqual([
        expect.stringContaining(`nft delete table inet ralph_${UID}`),
        expect.stringContaining(`iptables -X RALPH_${UID}`),
        `the user ${NAME} (userdel ${NAME})`,
        `the group ${NAME} (groupdel ${NAME})`,
      ]);
      // The next run finds the record, and the id is not used again.
      expect(readdirSync(agentSandbox)).toEqual(['sandbox-record.json']);
      expect(existsSync(reservation)).toBe(true);
      rmSync(join(base, 'programs'), { recursive: true });
      expect(remove()).toEqual([]);
      expect(existsSync(agentSandbox)).toBe(false);
    });

    test('keeps the record where something else is left, also under the name of earlier versions', () => {
      writeFileSync(join(agentSandbox, 'room.json'), '{}');
      expect(remove('kept')).toEqual([]);
      expect(readdirSync(agentSandbox).sort()).toEqual(['room.json', 'sandbox-record.json']);
    });

    test('names a reservation that stays', () => {
      rmSync(reservation);
      mkdirSync(join(reservation, 'full'), { recursive: true });
      expect(remove()).toEqual([expect.stringContaining(reservation)]);
    });

    test('leaves no objects that processes shared', () => {
      const text = run(
        `make() { setpriv --reuid="$1" --regid="$1" --clear-groups ipcmk -M 64 -Q -S 1 > /dev/null; }
        make ${UID}; make ${OTHER_UID}
        ( ${REMOVE_SANDBOX_SCRIPT} )
        tail -qn +2 /proc/sysvipc/shm /proc/sysvipc/msg /proc/sysvipc/sem | grep -ow '${UID}\\|${OTHER_UID}' | sort -u`,
        ...[join(base, 'reservations'), String(UID), '', '', agentSandbox, ''],
      );
      expect(text).toBe(`${OTHER_UID}\n`);
    });
  });

  describe('CHANGE_OWNER', () => {
    let tree: string;
    let store: string;
    beforeEach(() => {
      [tree, store] = [join(base, 'tree'), join(base, 'store')];
      for (const path of [tree, join(tree, 'inner'), store]) mkdirSync(path, { mode: 0o755 });
    });
    const give = (): string => run(CHANGE_OWNER_SCRIPT, '0', `${UID}:${UID}`, `${UID}:${UID}`, tree);
    const uidOf = (...names: readonly string[]): number => lstatSync(join(base, ...names)).uid;

    test('follows no link', () => {
      writeFileSync(join(store, 'a'), 'a');
      linkSync(join(store, 'a'), join(store, 'b'));
      symlinkSync(store, join(tree, 'store'));
      symlinkSync(join(store, 'a'), join(tree, 'a'));
      give();
      expect(lstatSync(join(tree, 'a')).isSymbolicLink()).toBe(true);
      expect([uidOf('store'), uidOf('store', 'a'), uidOf('tree', 'a')]).toEqual([0, 0, UID]);
    });
  });

  describe.skipIf(spawnSync('setfacl', ['--version']).status !== 0)('REACH and CLOSE', () => {
    const list = (path: string): string => run('getfacl -cnp "$1"; stat -c %a "$1"', path);
    const reach = (uid: number, path: string): readonly string[] =>
      run(GRANT_PASSAGE_SCRIPT, String(uid), path).trim().split(' ');

    test.each([0o700, 0o750])('of several sandboxes the last leaves a folder as it was (%i)', (mode) => {
      const path = join(base, 'closed');
      mkdirSync(path);
      chmodSync(path, mode);
      const before = list(path);
      const ways = [UID, OTHER_UID].map((uid) => [uid, reach(uid, path)] as const);
      expect(ways.map(([, way]) => way)).toEqual([
        ['plain', path],
        ['plain', path],
      ]);
      for (const [uid, way] of ways) {
        expect(run(`setpriv --reuid=${uid} --regid=${uid} --clear-groups test -x "$1" && echo in`, path)).toBe('in\n');
        expect(run(REVOKE_PASSAGE_SCRIPT, String(uid), ...way)).toBe('');
      }
      expect(list(path)).toBe(before);
    });

    test.each([
      ['listed', 'user:1001:rwx'],
      ['listed', 'group:1001:r-x'],
      ['plain', 'default:user:1001:r-x'],
    ])('a list stays that was there (%s, %s)', (kind, entry) => {
      const path = join(base, 'closed');
      mkdirSync(path);
      chmodSync(path, 0o700);
      run('setfacl -m "$1" "$2"', entry, path);
      const before = list(path);
      const way = reach(UID, path);
      expect(way).toEqual([kind, path]);
      run(REVOKE_PASSAGE_SCRIPT, String(UID), ...way);
      expect(list(path)).toBe(before);
    });
  });

  test('a script has a bound of its own, for a sudo that we cannot end', async () => {
    const root = await findRoot({ PATH: process.env['PATH'] });
    expect(await root.run('tr "\\0" " " < /proc/$PPID/cmdline', [], { timeoutMs: 10_000 })).toMatch(
      /^\S*timeout -s KILL 9 \S*sh -c /,
    );
  });

  test.each([
    ['of this sandbox', `echo ${UID} > /run/ralph-sandbox`, 'in'],
    ['of another sandbox', `echo ${OTHER_UID} > /run/ralph-sandbox`, '97'],
    ['of none', 'rm -f /run/ralph-sandbox', '97'],
  ])('the guard lets through what is in the place %s', (_, make, said) => {
    machine.run('sh', '-c', make);
    expect(machine.run('sh', '-c', `sh -c '${buildSandboxGuard(UID)} echo in' 2>&1 || echo $?`)).toBe(`${said}\n`);
  });

  test('a home is made in the own sandbox and nowhere else', async () => {
    const root = await findRoot({ PATH: process.env['PATH'] });
    const folder = join(base, 'ralph-sandbox-aaaaaaaa');
    mkdirSync(join(folder, 'trees'), { recursive: true });
    const agentSandbox = buildAgentSandbox({
      ...{ root, runFolder: base, uid: UID, way: [], withTree: null, guard: buildSandboxGuard(UID), lost: () => null },
      record: {
        ...{ version: 2, uid: UID, folder, userName: '', run: null, isLeaving: false },
        ...{ given: [], opened: [], closed: [] },
      },
    });
    await expect(agentSandbox.refresh()).rejects.toThrow();
    expect(readdirSync(join(folder, 'trees'))).toEqual([]);
  });
});
