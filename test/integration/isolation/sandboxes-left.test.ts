import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { NO_REMAINS, type AgentSandboxRecord } from '../../../src/core/isolation/sandbox-record.ts';
import { openAgentSandbox } from '../../../src/isolation/namespaces/open-sandbox.ts';
import { makeReachable, type AgentSandboxOptions } from '../../../src/isolation/namespaces/sandbox-of.ts';
import {
  createPlannedRecord,
  readAgentSandboxRecord,
  writeSandboxCopy,
  writeAgentSandboxRecord,
} from '../../../src/isolation/namespaces/record.ts';
import { removeAbandoned, removeAgentSandbox } from '../../../src/isolation/namespaces/remove.ts';
import { findRoot } from '../../../src/isolation/namespaces/root.ts';
import { RESERVATION_PREFIX } from '../../../src/isolation/namespaces/scripts.ts';
import { removeRunSandboxes } from '../../../src/wiring/isolation/isolated.ts';
import { noOwnMachine, startOwnMachine } from '../../own-machine.ts';
import { createRunnerFolders } from './sandbox-fixture.ts';

const OPEN = JSON.stringify(new URL('../../../src/isolation/namespaces/open-sandbox.ts', import.meta.url).href);
/** Opens a sandbox, gives it a tree, reports that, and stays. */
const MAIN = `
  const { mkdirSync } = await import('node:fs');
  const { join } = await import('node:path');
  const { openAgentSandbox } = await import(${OPEN});
  const options = JSON.parse(process.argv[1]);
  const opened = await openAgentSandbox('namespace', options);
  const tree = join(opened.agentSandbox.folders.trees, 'work');
  mkdirSync(tree);
  await opened.agentSandbox.give(tree);
  console.log('given');
  setInterval(() => undefined, 1000);
`;

const REMOVE_DEAD = JSON.stringify(new URL('../../../src/wiring/isolation/isolated.ts', import.meta.url).href);
/** Leaves the record of a dead run in a folder, does what main does first, and prints whether the folder is still there. */
const LATER_MAIN = `
  const { existsSync, mkdirSync, writeFileSync } = await import('node:fs');
  const [folder, name, record] = process.argv.slice(1);
  mkdirSync(folder);
  writeFileSync(folder + '/' + name, record);
  const { removeDeadSandboxes } = await import(${REMOVE_DEAD});
  await removeDeadSandboxes({ PATH: process.env.PATH });
  console.log(existsSync(folder));
`;

type Main = ChildProcessByStdio<null, Readable, null>;

const mains: Main[] = [];
let options: Awaited<ReturnType<typeof createRunnerFolders>>;
beforeEach(async () => {
  options = await createRunnerFolders();
});
afterEach(async () => {
  await Promise.all(mains.splice(0).map(kill));
  rmSync(options.base, { recursive: true, force: true });
});

/** Starts another run's process on this machine; it ends with the test. */
function startMain(): Main {
  const main = spawn(process.execPath, ['--input-type=module', '-e', MAIN, JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  mains.push(main);
  return main;
}

async function kill(main: Main): Promise<void> {
  if (main.exitCode !== null || main.signalCode !== null) return;
  const ended = once(main, 'exit');
  main.kill('SIGKILL');
  await ended;
}

/** Returns the options of a later run in the same places. */
function nextRun(): AgentSandboxOptions {
  const runFolder = join(options.base, 'runner', '_work', '_temp', 'next-run');
  mkdirSync(runFolder);
  return { ...options, runFolder };
}

function expectNothingLeft(): void {
  expect(readdirSync(options.places.agentSandboxes)).toEqual([]);
  expect(readdirSync(options.places.reservations)).toEqual([]);
  expect(existsSync(join(options.runFolder, 'sandbox-record.json'))).toBe(false);
}

describe.skipIf(noOwnMachine !== null)('a main that is killed', () => {
  test('while root makes the sandbox leaves nothing that is not on record', async () => {
    const lock = spawn('flock', [options.places.reservations, 'sh', '-c', 'echo locked; cat'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    await once(lock.stdout, 'data');
    const main = startMain();
    await expect.poll(() => readdirSync(options.places.agentSandboxes)).toHaveLength(1);
    await expect.poll(() => isWaiting(options.places.reservations)).toBe(true);
    await kill(main);
    lock.stdin.end();
    // A clean-up that root began is completed.
    const [agentSandbox = ''] = readdirSync(options.places.agentSandboxes).map((name) =>
      join(options.places.agentSandboxes, name),
    );
    await expect.poll(() => statSync(agentSandbox).mode & 0o777).toBe(0o750);
    expect(readdirSync(options.places.reservations)).toHaveLength(1);
    expect(await removeAgentSandbox(options.runFolder, options)).toEqual(NO_REMAINS);
    expectNothingLeft();
  });

  test('and whose record is lost leaves nothing that the next run does not remove', async () => {
    const main = startMain();
    await once(main.stdout, 'data');
    await kill(main);
    rmSync(options.runFolder, { recursive: true });
    const { checkout } = options;
    const next = await openAgentSandbox('namespace', nextRun());
    expect(lstatSync(join(checkout, 'a.txt')).uid).toBe(process.getuid?.());
    expect(readdirSync(options.places.agentSandboxes)).toHaveLength(1);
    await next.close();
    expectNothingLeft();
  });

  test('is left to its post step as long as that can come', async () => {
    const main = startMain();
    await once(main.stdout, 'data');
    await kill(main);
    const next = await openAgentSandbox('namespace', nextRun());
    expect(readdirSync(options.places.agentSandboxes)).toHaveLength(2);
    await next.close();
    expect(await removeAgentSandbox(options.runFolder, options)).toEqual(NO_REMAINS);
    expectNothingLeft();
  });

  test('a run that lives keeps its sandbox, also where its record is lost', async () => {
    const main = startMain();
    await once(main.stdout, 'data');
    rmSync(options.runFolder, { recursive: true });
    const next = await openAgentSandbox('namespace', nextRun());
    await next.close();
    expect(readdirSync(options.places.agentSandboxes)).toHaveLength(1);
    expect(readdirSync(options.places.reservations)).toHaveLength(1);
    await kill(main);
    await (
      await openAgentSandbox('namespace', {
        ...options,
        runFolder: join(options.base, 'runner', '_work', '_temp', 'next-run'),
      })
    ).close();
    expectNothingLeft();
  });

  test('before the machine was started again keeps no id from others, and is removed', async () => {
    const main = startMain();
    await once(main.stdout, 'data');
    await kill(main);
    for (const name of readdirSync(options.places.reservations)) rmSync(join(options.places.reservations, name));
    expect(await removeAgentSandbox(options.runFolder, options)).toEqual(NO_REMAINS);
    expectNothingLeft();
  });
});

describe.skipIf(noOwnMachine !== null)('a sandbox that could not be removed', () => {
  test('stays on record, and no other takes its place', async () => {
    const opened = await openAgentSandbox('namespace', options);
    const [reservation = ''] = readdirSync(options.places.reservations).map((name) =>
      join(options.places.reservations, name),
    );
    rmSync(reservation);
    // The reservation belongs to another run.
    symlinkSync(options.base, reservation);
    const remains = await opened.close();
    expect(remains.leftovers).toEqual([expect.stringContaining('ralph-sandbox-')]);
    const record = readAgentSandboxRecord(options);
    await expect(openAgentSandbox('user', options)).rejects.toThrow(/still there.*ralph-sandbox-/);
    expect(readAgentSandboxRecord(options)).toEqual(record);
    rmSync(reservation);
    expect(await removeAgentSandbox(options.runFolder, options)).toEqual(NO_REMAINS);
    expectNothingLeft();
  });

  test('by the earlier version that made it is removed by the next run, with its user id', async () => {
    const folder = join(options.places.agentSandboxes, 'ralph-room-aaaaaaaa');
    mkdirSync(join(folder, 'home'), { recursive: true });
    symlinkSync(folder, join(options.places.reservations, 'ralph-room-61180'));
    writeFileSync(join(folder, 'room.json'), JSON.stringify(recordOf(folder, 61_180)));
    await (await openAgentSandbox('namespace', nextRun())).close();
    expectNothingLeft();
  });

  test('is removed with the one of the level that was tried after it', async () => {
    const { agentSandboxes } = options.places;
    const folders = ['aaaaaaaa', 'bbbbbbbb'].map((name) => join(agentSandboxes, `ralph-sandbox-${name}`));
    const [first = '', second = ''] = folders;
    for (const folder of folders) mkdirSync(folder);
    writeAgentSandboxRecord(options, recordOf(first, null));
    const sandbox = { version: 1, id: '0b0e6a3e-7c3c-4d5e-9d55-2f1f0c7b1a11', folder: second };
    writeFileSync(join(options.runFolder, 'sandbox.json'), JSON.stringify(sandbox));
    expect(await removeRunSandboxes(options, process.env)).toEqual(NO_REMAINS);
    expect(readdirSync(agentSandboxes)).toEqual([]);
    expect(readdirSync(options.runFolder)).toEqual([]);
  });
});

describe('a sandbox of a dead run', () => {
  test('that was made without root is removed without it, and one whose run lives is not', async () => {
    const { agentSandboxes } = options.places;
    const dead = join(agentSandboxes, 'ralph-sandbox-aaaaaaaa');
    const alive = join(agentSandboxes, 'ralph-sandbox-bbbbbbbb');
    for (const folder of [dead, alive]) {
      mkdirSync(join(folder, 'home', 'closed'), { recursive: true });
      writeSandboxCopy(createPlannedRecord(options.runFolder, folder));
    }
    chmodSync(join(dead, 'home', 'closed'), 0);
    const planned = createPlannedRecord(options.runFolder, dead);
    if (planned.run === null) throw new Error('this machine does not say which processes live');
    writeSandboxCopy({ ...planned, run: { ...planned.run, process: { ...planned.run.process, started: '1' } } });
    await removeAbandoned(() => Promise.reject(new Error('no root here')), options);
    expect(readdirSync(agentSandboxes)).toEqual(['ralph-sandbox-bbbbbbbb']);
  });

  test.each([
    ['of an earlier version is removed as well', { folder: 'ralph-room-aaaaaaaa', record: 'room.json' }],
    ['is removed', { folder: 'ralph-sandbox-aaaaaaaa', record: 'sandbox-record.json' }],
    ['stays if its folder has another name', { folder: 'someone-elses-aaaaaaaa', record: 'room.json' }],
  ])('%s', async (_, { folder: name, record }) => {
    const { agentSandboxes } = options.places;
    const folder = join(agentSandboxes, name);
    mkdirSync(folder);
    writeFileSync(join(folder, record), JSON.stringify(recordOf(folder, null)));
    await removeAbandoned(() => Promise.reject(new Error('no root here')), options);
    expect(readdirSync(agentSandboxes)).toEqual(name.startsWith('ralph-') ? [] : [name]);
  });
});

describe.skipIf(noOwnMachine !== null)('the next main, of whatever purpose,', () => {
  test.each([
    ['removes what a dead run left', 'ralph-sandbox-aaaaaaaa', 'sandbox-record.json', 'false'],
    ['removes what a dead run of an earlier version left', 'ralph-room-aaaaaaaa', 'room.json', 'false'],
    ['leaves other folders alone', 'rooms-aaaaaaaa', 'room.json', 'true'],
  ])('%s', async (_, name, record, isThere) => {
    await using machine = await startOwnMachine();
    const folder = join('/var/tmp', name);
    const given = [folder, record, JSON.stringify(recordOf(folder, null))];
    expect(machine.run(process.execPath, '--input-type=module', '-e', LATER_MAIN, ...given)).toBe(`${isThere}\n`);
  });
});

describe.skipIf(noOwnMachine !== null)('two sandboxes of users under one home', () => {
  test('the last one gives the home its permissions back', async () => {
    const home = join(options.base, 'runner');
    for (const folder of [options.base, home, options.checkout]) chmodSync(folder, 0o755);
    const root = await findRoot(options.environment);
    const open = async (name: string, uid: number): Promise<string> => {
      const runFolder = join(options.base, `run-${name}`);
      const folder = join(options.places.agentSandboxes, `ralph-sandbox-${name}`);
      for (const path of [runFolder, folder]) mkdirSync(path);
      symlinkSync(folder, join(options.places.reservations, `${RESERVATION_PREFIX}${uid}`));
      const record = recordOf(folder, uid);
      writeAgentSandboxRecord({ runFolder }, record);
      await makeReachable(
        { root, runFolder, uid, record, way: [], withTree: null, guard: '', lost: () => null },
        options,
      );
      return runFolder;
    };
    const mode = (): number => statSync(home).mode & 0o777;
    const one = await open('aaaaaaaa', 61_180);
    expect(mode()).toBe(0o700);
    const other = await open('bbbbbbbb', 61_181);
    expect(await removeAgentSandbox(one, options)).toEqual(NO_REMAINS);
    expect(mode()).toBe(0o700);
    expect(await removeAgentSandbox(other, options)).toEqual(NO_REMAINS);
    expect(mode()).toBe(0o755);
    expect(readdirSync(options.places.reservations)).toEqual([]);
  });
});

/** A process of a run before this machine was started. */
const DEAD = { pid: 1, started: '0', namespace: 'n', boot: 'b', parent: null };

function recordOf(folder: string, uid: number | null): AgentSandboxRecord {
  const run = { folder: options.runFolder, process: DEAD };
  return { version: 2, uid, folder, userName: '', given: [], opened: [], closed: [], run, isLeaving: false };
}

/** Returns true if a process waits for the lock of a folder. */
function isWaiting(folder: string): boolean {
  const { ino } = statSync(folder);
  return readFileSync('/proc/locks', 'utf8')
    .split('\n')
    .some((line) => line.includes('->') && line.includes(`:${ino} `));
}
