import { mkdir, mkdtemp, realpath, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { OpenPlaces } from '../../../../src/cli/lane/read-lane.ts';
import { pictureSchema, type Picture } from '../../../../src/cli/monitor/monitor-schema.ts';
import type { LastRun, MonitorWorld, Screen, ScreenEvent } from '../../../../src/cli/monitor/terminal-world.ts';
import { createInitialState } from '../../../../src/core/lane/state/state.ts';
import { serializeState } from '../../../../src/core/lane/state/serialize-state.ts';
import { createLaneRecord, serializeRecord } from '../../../../src/core/sharing/lane-record.ts';
import { emptyBudget } from '../../../../src/core/sharing/budget.ts';
import { untouchedProgress } from '../../../../src/core/tasks/queue.ts';
import { noon } from '../../core/core-fixtures.ts';
import { ralph, type CliRun } from '../fixture.ts';
import { at, createPlace, placeWith, richState, type Place } from '../state-fixture.ts';
import { iso, runStatus, textOf } from './monitor-fixtures.ts';
import { publishedSchema } from '../../../published-schema.ts';

let folder = '';
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'ralph-monitor-')));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

const put = async (path: string, content: string | object): Promise<void> => {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), typeof content === 'string' ? content : JSON.stringify(content));
};

/** The checkout is the test's folder. */
const here =
  (...places: readonly Place[]): OpenPlaces =>
  async (checkout) => {
    const opened = await at(...places)(checkout);
    return opened.kind === 'open' ? { ...opened, folder } : opened;
  };

const noTerminal: MonitorWorld = {
  openScreen: () => Promise.resolve(null),
  columns: () => 80,
  pause: () => Promise.reject(new Error('nothing changes here')),
  isAlive: (pid) => pid === runStatus.pid,
  lastRun: () => Promise.resolve(null),
};

const monitor = (args: readonly string[], open?: OpenPlaces, world: Partial<MonitorWorld> = {}): Promise<CliRun> =>
  ralph(['monitor', '--dir', folder, ...args], '', open, { monitor: { ...noTerminal, ...world } });

const json = async (...args: Parameters<typeof monitor>): Promise<Picture> =>
  JSON.parse((await monitor(['--json', ...args[0]], args[1], args[2])).out) as Picture;

test('the published JSON Schema is the one of the code (vitest -u writes it)', async () => {
  await expect(
    `${JSON.stringify(publishedSchema('ralph monitor --json', pictureSchema), null, 2)}\n`,
  ).toMatchFileSnapshot('../../../../schemas/ralph-monitor.schema.json');
});

describe('the published JSON Schema accepts what is printed', () => {
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  const validate = ajv.compile(publishedSchema('ralph monitor --json', pictureSchema));

  test('of a local run', async () => {
    await put('.ralph/status.json', { run: runStatus });
    await put('.ralph/progress.json', { status: 'executing', elapsed_seconds: 40 });
    await put('.ralph/logs/iteration_2026-11-21_12-04-35_003.log', 'one\ntwo\n');
    const directory = placeWith(richState, {}, emptyBudget, 'directory');
    const picture = await json([], here(directory));
    validate(picture);
    expect(validate.errors).toBeNull();
    expect(picture).toMatchObject({
      name: basename(folder),
      shows: 'local',
      local: {
        folder,
        run: { kind: 'ours', isAlive: true, status: { branchId: 'queue' } },
        agent: { elapsedSeconds: 40 },
        output: { file: 'iteration_2026-11-21_12-04-35_003.log', lines: ['one', 'two'] },
        state: { branchId: 'queue', places: [{ kind: 'branch', pause: { by: 'octo [2Jcat' } }] },
      },
    });
  });

  test('of all branches', async () => {
    const picture = await json([], here(placeWith(richState)));
    validate(picture);
    expect(validate.errors).toBeNull();
    expect(picture).toMatchObject({
      shows: 'all',
      local: null,
      all: { branches: [{ branchId: 'queue', place: 'ref' }] },
    });
  });
});

describe('the screen', () => {
  test('the local run, if there is or was one', async () => {
    await put('.ralph/status.json', { run: { ...runStatus, pid: 1 } });
    expect((await json([], here(createPlace('ref')))).local?.run).toMatchObject({ kind: 'ours', isAlive: false });
  });

  test('all branches when that is asked for', async () => {
    await put('.ralph/status.json', { run: runStatus });
    expect((await json(['--all'], here(createPlace('ref')))).shows).toBe('all');
  });

  test('the directory where there is nothing else', async () => {
    const picture = await json([], here(placeWith(richState, {}, emptyBudget, 'directory')));
    expect(picture).toMatchObject({ shows: 'local', local: { run: { kind: 'none' }, state: { branchId: 'queue' } } });
  });

  test('a run of another Ralph, without git', async () => {
    await put('.ralph/status.json', {
      loop_count: 7,
      status: 'running',
      calls_made_this_hour: 3,
      max_calls_per_hour: 9,
    });
    await put('.ralph/.circuit_breaker_state', { state: 'OPEN' });
    expect((await json([])).local?.run).toMatchObject({
      kind: 'other',
      circuit: 'open',
      status: { iteration: 7, calls: { used: 3, limit: 9 } },
    });
  });

  test('the first Ralphs, which kept their files beside the prompt', async () => {
    await put('status.json', { loop_count: 7, status: 'running' });
    await put('logs/ralph.log', 'said\n');
    expect((await json([])).local).toMatchObject({ run: { kind: 'other' }, output: { lines: ['said'] } });
  });

  test('the run of a folder above', async () => {
    await put('.ralph/status.json', { run: runStatus });
    await mkdir(join(folder, 'packages/api'), { recursive: true });
    const { out } = await ralph(
      ['monitor', '--json', '--dir', join(folder, 'packages/api')],
      '',
      here(createPlace('ref')),
    );
    expect((JSON.parse(out) as Picture).local?.folder).toBe(folder);
  });

  describe('where runs work for folders of the checkout', () => {
    const shop = 'packages/shop';
    const minutesAgo = new Date(noon - 300_000);
    const last = { folder: shop, pid: runStatus.pid, startedAt: Date.parse(runStatus.startedAt) };
    const seenFrom = async (from: string, lastRun: LastRun | null = last): Promise<NonNullable<Picture['local']>> => {
      const directory = placeWith(richState, {}, emptyBudget, 'directory');
      const { out } = await ralph(['monitor', '--json', '--dir', join(folder, from)], '', here(directory), {
        monitor: { ...noTerminal, lastRun: () => Promise.resolve(lastRun) },
      });
      const { local } = JSON.parse(out) as Picture;
      if (local === null) throw new Error(out);
      return local;
    };
    const branchOf = ({ run }: NonNullable<Picture['local']>): string | null =>
      run.kind === 'ours' ? run.status.branch : null;
    const putRun = async (at: string, change: object, when = new Date(noon)): Promise<void> => {
      await put(join(at, '.ralph/status.json'), { run: { ...runStatus, ...change } });
      await utimes(join(folder, at, '.ralph/status.json'), when, when);
    };
    beforeEach(async () => {
      await put('.ralph/state/queue.1.json', '{}');
      await put(join(shop, '.ralph/fix_plan.md'), '- [ ] Add a cart');
      await mkdir(join(folder, shop, 'src'));
    });

    test.each(['', 'packages', shop, `${shop}/src`])(
      'the last run is found from "%s", with its state',
      async (from) => {
        await putRun(shop, { branch: 'ralph/shop' });
        const local = await seenFrom(from);
        expect(local.folder).toBe(join(folder, shop));
        expect(branchOf(local)).toBe('ralph/shop');
        expect(local.state).not.toBeNull();
      },
    );

    test('leftovers of an older run at the top are not mistaken for it, nor are its logs', async () => {
      await putRun('', { branch: 'ralph/old', startedAt: minutesAgo.toISOString() }, minutesAgo);
      await put('.ralph/logs/ralph.log', 'old\n');
      await putRun(shop, { branch: 'ralph/shop' });
      const local = await seenFrom('');
      expect([branchOf(local), local.output]).toEqual(['ralph/shop', null]);
      expect(local.state).not.toBeNull();
    });

    test('leftovers in another folder are shown there, without the state of the last run', async () => {
      await putRun(shop, { branch: 'ralph/shop' });
      await putRun('packages/api', { branch: 'ralph/api', pid: 1 });
      const local = await seenFrom('packages/api');
      expect([branchOf(local), local.state]).toEqual(['ralph/api', null]);
    });

    test('of another Ralph at the top that wrote later, the state is not ours', async () => {
      await putRun(shop, {}, minutesAgo);
      await put('.ralph/status.json', { loop_count: 7, status: 'running' });
      expect(await seenFrom('')).toMatchObject({ folder, run: { kind: 'other' }, state: null });
    });

    test('while a run has not said anything yet, the one before it goes without the state', async () => {
      await putRun('', {});
      expect(await seenFrom('', { ...last, pid: 2, folder: '' })).toMatchObject({ run: { kind: 'ours' }, state: null });
    });

    test('a folder behind a link, or outside of the checkout, is not a place of a run', async () => {
      const outside = await realpath(await mkdtemp(join(tmpdir(), 'ralph-elsewhere-')));
      await mkdir(join(outside, '.ralph'));
      await writeFile(join(outside, '.ralph/status.json'), JSON.stringify({ run: runStatus }));
      await symlink(outside, join(folder, 'link'));
      for (const at of ['link', relative(folder, outside)])
        expect(await seenFrom('', { ...last, folder: at })).toMatchObject({ folder, run: { kind: 'none' } });
      await rm(outside, { recursive: true });
    });
  });

  test('nothing to show ends with 2', async () => {
    const { code, out, error } = await monitor(['--once']);
    expect([code, out]).toEqual([2, '']);
    expect(error).toContain('There is nothing to show');
    expect(error).toContain('There is no checkout.');
  });

  test('a folder that does not exist ends with 2, also where a run further up could be shown', async () => {
    await mkdir(join(folder, '.ralph'), { recursive: true });
    await writeFile(join(folder, '.ralph/status.json'), JSON.stringify({ run: runStatus }));
    for (const args of [['--once'], ['--all', '--once'], []]) {
      const { code, out, error } = await ralph(['monitor', '--dir', join(folder, 'nope'), ...args]);
      expect([code, out]).toEqual([2, '']);
      expect(error).toContain('nope" does not exist.');
    }
  });

  test('no checkout for all branches ends with 2', async () => {
    expect(await monitor(['--all', '--once'])).toMatchObject({
      code: 2,
      error: expect.stringContaining('no checkout'),
    });
  });

  test('every wrong argument at once', async () => {
    const { code, error } = await monitor(['--onse', '--json=x', 'queue', '--remote']);
    expect(code).toBe(2);
    for (const part of ['Did you mean --once?', '--remote needs a value', '--json takes no value', '"queue"'])
      expect(error).toContain(part);
  });
});

describe('a status.json that cannot be read is reported, and ends --once with 1', () => {
  test.each<[string, () => Promise<void>, string]>([
    ['garbage', () => put('.ralph/status.json', '\u0000\u001b[2J'), 'contains NUL bytes'],
    ['half written', () => put('.ralph/status.json', '{"run": {"ver'), 'is not a JSON object'],
    ['huge', () => put('.ralph/status.json', `"${'x'.repeat(2_000_000)}"`), 'is larger than 1 MiB'],
    [
      'a folder',
      async () => {
        await mkdir(join(folder, '.ralph/status.json'), { recursive: true });
      },
      'is not a file',
    ],
    [
      'a link that leads out',
      async () => {
        await mkdir(join(folder, '.ralph'));
        await symlink('/etc/hostname', join(folder, '.ralph/status.json'));
      },
      'leads out of the checkout',
    ],
    [
      'a pipe',
      async () => {
        await mkdir(join(folder, '.ralph'));
        execFileSync('mkfifo', [join(folder, '.ralph/status.json')]);
      },
      'is not a file',
    ],
  ])('%s', async (_, prepare, why) => {
    await prepare();
    const { code, out, error } = await monitor(['--once']);
    expect(code).toBe(1);
    // The text may be wrapped; the reason is printed once.
    expect(out.replace(/\s+/g, ' ')).toContain(why);
    expect(error).toBe('');
    expect((await monitor(['--json'])).error).toContain(why);
  });
});

test('no text of a file steers the terminal', async () => {
  await put('.ralph/status.json', {
    run: { ...runStatus, branch: 'ralph/\u001b[2J', task: { id: 'issue-12', title: 'a\u001b]0;x\u0007\u202eb\nc' } },
  });
  await put('.ralph/progress.json', { status: 'executing', last_output: '\u001b[2J' });
  const { out } = await monitor(['--once']);
  expect(out.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  expect(out).toContain('#12 a ]0;x b c');
});

test('--once prints one picture as text', async () => {
  await put('.ralph/status.json', { run: runStatus });
  await put('.ralph/logs/iteration_2026-11-21_12-04-35_003.log', 'one\ntwo\n');
  expect(await monitor(['--once'])).toMatchObject({
    code: 0,
    error: '',
    out: expect.stringMatching(/^\S+ · ralph\/queue · queue .* PID 4711\nrun {6}the agent works[^]*\none\ntwo\n$/),
  });
});

describe('without a terminal', () => {
  test('of several branches, until all are over; those of an earlier run are not shown', async () => {
    const ended = { doing: 'ended', outcome: { kind: 'complete', reason: 'plan_complete' } } as const;
    const beside = (lane: string, change: object): Promise<void> =>
      put(`.ralph/logs/${lane}/status.json`, { run: { ...runStatus, branchId: lane, ...change } });
    await put('.ralph/status.json', { run: { ...runStatus, ...ended } });
    await beside('issue-12', { task: null });
    await beside('issue-7', ended);
    await beside('issue-8', { startedAt: iso(Date.parse(runStatus.startedAt) - 1) });
    let now = noon;
    const pause = async (ms: number): Promise<void> => {
      now += ms;
      await beside('issue-12', { ...ended, task: null });
    };
    const { out } = await ralph(['monitor', '--dir', folder], '', undefined, {
      monitor: { ...noTerminal, pause },
      now: () => now,
    });
    expect(out.split('\n').filter((line) => line.includes('#') && !line.includes('task:'))).toEqual([
      '12:00:00  #7: ended: complete  iteration 3 of 10  Fix the login form',
      '12:00:00  #12: the agent works  iteration 3 of 10',
      '12:00:02  #12: ended: complete  iteration 3 of 10',
    ]);
  });

  test('a line for each change, until the run is over', async () => {
    await put('.ralph/status.json', { run: runStatus });
    let now = noon;
    const changes = [
      () => Promise.resolve(),
      () => put('.ralph/status.json', { run: { ...runStatus, doing: 'verify', calls: { used: 13, limit: 100 } } }),
      () => put('.ralph/status.json', '{"run"'),
      () =>
        put('.ralph/status.json', {
          run: {
            ...runStatus,
            doing: 'ended',
            outcome: { kind: 'complete', reason: 'plan_complete' },
            calls: { used: 13, limit: 100 },
          },
        }),
    ];
    const pause = async (ms: number): Promise<void> => {
      now += ms;
      await changes.shift()?.();
    };
    const { code, out } = await ralph(['monitor', '--dir', folder], '', undefined, {
      monitor: { ...noTerminal, pause },
      now: () => now,
    });
    expect(code).toBe(0);
    expect(out.split('\n')).toEqual([
      '12:00:00  run: the agent works  iteration 3 of 10',
      '12:00:00  task: #12 Fix the login form',
      '12:00:00  tasks: [████░░░░░░] 2/5 done',
      '12:00:00  calls: [█░░░░░░░░░] 12/100 calls this hour',
      '12:00:00  cost: [██░░░░░░░░] $0.84/$5.00 this run  [██░░░░░░░░] $3.20/$20.00 today',
      '12:00:00  signals: done 1/2  test-only 0/3',
      '12:00:00  circuit: closed',
      '12:00:02  run: verify runs  iteration 3 of 10',
      '12:00:02  calls: [█░░░░░░░░░] 13/100 calls this hour',
      '12:00:04  run: ended: complete  iteration 3 of 10',
      '',
    ]);
    expect(changes).toEqual([]);
  });

  test('in a checkout where nothing has run yet, the first run is waited for', async () => {
    const empty: OpenPlaces = () => Promise.resolve({ kind: 'missing', folder, why: 'there is no remote.' });
    let now = noon;
    const ended = { ...runStatus, doing: 'ended', outcome: { kind: 'complete', reason: 'plan_complete' } };
    const changes = [() => Promise.resolve(), () => put('.ralph/status.json', { run: ended })];
    const pause = async (ms: number): Promise<void> => {
      now += 2 * ms;
      await changes.shift()?.();
    };
    const { code, out } = await ralph(['monitor', '--dir', folder], '', empty, {
      monitor: { ...noTerminal, pause },
      now: () => now,
    });
    expect(code).toBe(0);
    expect(out).toMatch(/^12:00:00 {2}run: No local run yet: [^\n]+\n12:00:04 {2}run: ended: complete/);
    expect(changes).toEqual([]);
    await rm(join(folder, '.ralph'), { recursive: true });
    expect(await monitor(['--once'], empty)).toMatchObject({ code: 2, out: '' });
  });

  test('a vanished run is reported, and ends the monitor', async () => {
    await put('.ralph/status.json', { run: { ...runStatus, pid: 1 } });
    expect(await monitor([])).toMatchObject({ code: 0, out: expect.stringContaining('The run (PID 1) is gone') });
  });

  test('all branches: what changed, and not that time goes by', async () => {
    const place = placeWith(richState);
    let now = noon;
    let pauses = 0;
    const pause = async (ms: number): Promise<void> => {
      now += ms;
      pauses += 1;
      if (pauses === 3) place.place.outage = 'the network is down';
      if (pauses > 40) throw new Error('enough');
      await new Promise((resolve) => setImmediate(resolve));
    };
    let out = '';
    await expect(
      ralph(['monitor', '--dir', folder], '', here(place), { monitor: { ...noTerminal, pause }, now: () => now }).then(
        (run) => {
          out = run.out;
        },
      ),
    ).rejects.toThrow('enough');
    expect(out).toBe('');
  });
});

/** Waits until the screen shows a text. */
interface Until {
  readonly kind: 'until';
  readonly text: string;
}
const until = (text: string): Until => ({ kind: 'until', text });

/** Creates a terminal that records the screen before each event of the script; `q` is pressed at the end. */
function fakeScreen(
  script: readonly (string | (() => Promise<void>) | ScreenEvent | Until)[],
  passes: (ms: number) => void = () => undefined,
): { readonly screen: Screen; readonly seen: string[][]; isClosed: boolean } {
  const left = [...script];
  const seen: string[][] = [];
  let drawn: readonly string[] = [];
  const fake = {
    seen,
    isClosed: false,
    screen: {
      size: () => ({ columns: 80, rows: 24 }),
      draw: (lines: Parameters<Screen['draw']>[0]) => {
        drawn = textOf(lines);
      },
      next: async (ms: number): Promise<ScreenEvent> => {
        passes(ms);
        seen.push([...drawn]);
        // Background work gets its turn.
        for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        const what = left.shift();
        if (typeof what === 'object' && what.kind === 'until') {
          if (!drawn.join('\n').includes(what.text)) left.unshift(what);
          if (seen.length > 2000) throw new Error(`never shown: ${what.text}`);
          return { kind: 'tick' };
        }
        if (typeof what === 'string') return { kind: 'key', key: what };
        if (typeof what === 'function') await what();
        else if (what !== undefined) return what;
        return left.length === 0 && what === undefined ? { kind: 'key', key: 'q' } : { kind: 'tick' };
      },
      close: () => {
        fake.isClosed = true;
      },
    },
  };
  return fake;
}

describe('on a terminal', () => {
  const tick: ScreenEvent = { kind: 'tick' };
  const followed = async (
    fake: ReturnType<typeof fakeScreen>,
    open?: OpenPlaces,
    args: readonly string[] = [],
    now = (): number => noon,
  ): Promise<CliRun> =>
    ralph(['monitor', '--dir', folder, ...args], '', open, {
      monitor: { ...noTerminal, openScreen: () => Promise.resolve(fake.screen) },
      now,
    });

  test('it follows the files, and gives the terminal back', async () => {
    await put('.ralph/status.json', { run: runStatus });
    const fake = fakeScreen([
      tick,
      () => put('.ralph/status.json', { run: { ...runStatus, iteration: 4 } }),
      tick,
      { kind: 'resize' },
    ]);
    expect(await followed(fake)).toEqual({ code: 0, out: '', error: '' });
    expect(fake.isClosed).toBe(true);
    expect(fake.seen.map((lines) => /iteration \d+/.exec(lines.join('\n'))?.[0])).toEqual(
      ['3', '3', '4', '4', '4'].map((number) => `iteration ${number}`),
    );
  });

  test('within two seconds also what leaves no trace where it looks', async () => {
    await put('.ralph/status.json', { run: runStatus });
    let now = noon;
    let isAlive = true;
    const fake = fakeScreen(
      [
        () => {
          isAlive = false;
          return Promise.resolve();
        },
        ...Array.from({ length: 4 }, () => tick),
      ],
      (ms) => {
        now += ms;
      },
    );
    await ralph(['monitor', '--dir', folder], '', undefined, {
      monitor: { ...noTerminal, openScreen: () => Promise.resolve(fake.screen), isAlive: () => isAlive },
      now: () => now,
    });
    expect(fake.seen.at(-1)?.join('\n')).toContain('PID 4711) is gone');
  });

  test('a half-written line is not shown', async () => {
    await put('.ralph/status.json', { run: runStatus });
    let now = noon;
    const fake = fakeScreen(
      [() => put('.ralph/status.json', '{"run":'), ...Array.from({ length: 5 }, () => tick)],
      (ms) => {
        now += ms;
      },
    );
    await followed(fake, undefined, [], () => now);
    const isBroken = fake.seen.map((lines) => lines.join('\n').includes('is not a JSON object'));
    expect(isBroken[1]).toBe(false);
    expect(isBroken.at(-1)).toBe(true);
  });

  test('p gives the order only to the folder, and reports its result', async () => {
    await put('.ralph/status.json', { run: runStatus });
    const [ref, directory] = [
      createPlace('ref'),
      placeWith({ ...createInitialState('queue', noon), sequence: 1 }, {}, emptyBudget, 'directory'),
    ];
    const fake = fakeScreen([tick, 'p', until('Order saved'), tick]);
    await followed(fake, here(ref, directory));
    expect(directory.record().orders).toMatchObject([{ kind: 'pause', by: 'Ann Other', from: 'command-line' }]);
    expect(ref.record()).toMatchObject({ orders: [], document: null });
    const last = fake.seen.at(-1) ?? [];
    expect(last).toContain('paused   by Ann Other, 2026-11-21 12:00 UTC');
    expect(last).toContain('Order saved (directory): pause. The next "ralph run" obeys it before anything');
    expect(last.at(-1)).toContain('p resume');
  });

  test('r asks, and y retries', async () => {
    await put('.ralph/status.json', { run: runStatus });
    const directory = placeWith(
      {
        ...createInitialState('queue', noon),
        sequence: 1,
        tasks: {
          'issue-12': { ...untouchedProgress, attempts: 3, state: 'failed', reason: 'max_iterations_per_task' },
        },
      },
      {},
      emptyBudget,
      'directory',
    );
    const question = 'Give #12 (Fix the login form) all its attempts again? y/n';
    const fake = fakeScreen([
      tick,
      'r',
      until(question),
      'n',
      until('No order was given.'),
      'r',
      'y',
      until('Order saved'),
      tick,
    ]);
    await followed(fake, here(directory));
    expect(fake.seen.filter((lines) => lines.at(-2) === question).length).toBeGreaterThan(1);
    expect(directory.record().orders).toMatchObject([{ kind: 'retry', task: 'issue-12' }]);
  });

  test('an order that could not be kept says why', async () => {
    await put('.ralph/status.json', { run: runStatus });
    const directory = placeWith({ ...createInitialState('queue', noon), sequence: 1 }, {}, emptyBudget, 'directory');
    const fake = fakeScreen([
      () => {
        directory.place.outage = 'the disk is full';
        return Promise.resolve();
      },
      's',
      until('the disk is full'),
      tick,
    ]);
    await followed(fake, here(directory));
    expect(fake.seen.at(-1)?.join(' ')).toContain('the disk is full');
  });

  test('an order that is on its way at q arrives, and its result is printed', async () => {
    await put('.ralph/status.json', { run: runStatus });
    const directory = placeWith({ ...createInitialState('queue', noon), sequence: 1 }, {}, emptyBudget, 'directory');
    const fake = fakeScreen([tick, 's']);
    // The place answers only after the terminal is restored.
    const closed = Promise.withResolvers<null>();
    const screen: Screen = {
      ...fake.screen,
      close: () => {
        fake.screen.close();
        closed.resolve(null);
      },
    };
    const slow: Place = {
      ...directory,
      at: { ...directory.at, lanes: async () => closed.promise.then(() => directory.at.lanes()) },
    };
    const { code, out } = await ralph(['monitor', '--dir', folder], '', here(slow), {
      monitor: { ...noTerminal, openScreen: () => Promise.resolve(screen) },
    });
    expect(fake.seen.at(-1)).toContain('stop: being given …');
    expect([code, fake.isClosed]).toEqual([0, true]);
    expect(out).toContain('Order saved (directory): stop.');
    expect(directory.record().orders).toMatchObject([{ kind: 'stop' }]);
  });

  test('a changes to all branches, which are read behind the picture', async () => {
    await put('.ralph/status.json', { run: runStatus });
    const fake = fakeScreen([tick, 'a', until('› queue'), 'p', until('Order saved (ref)'), 'a', tick]);
    const ref = placeWith({ ...createInitialState('queue', noon), sequence: 1 });
    await followed(fake, here(ref));
    expect(fake.seen[2]?.slice(0, 2)).toEqual([`${basename(folder)} · all branches`, 'Reading all branches …']);
    expect(ref.record().orders).toMatchObject([{ kind: 'pause' }]);
    expect(fake.seen.at(-1)?.join('\n')).toContain('PID 4711');
  });

  test('what changes on the remote is read within two seconds, for one question in two seconds', async () => {
    const ref = placeWith({ ...createInitialState('queue', noon), sequence: 1 });
    let asked = 0;
    const counted: Place = {
      ...ref,
      at: {
        ...ref.at,
        lanes: () => {
          asked += 1;
          return ref.at.lanes();
        },
        store: {
          ...ref.at.store,
          read: () => {
            if (changedAt > 0) readAt = Math.min(readAt, now);
            return ref.at.store.read();
          },
        },
      },
    };
    let now = noon;
    let changedAt = 0;
    let readAt = Infinity;
    let [askedBefore, askedAfter] = [0, 0];
    const quiet = Array.from({ length: 40 }, () => tick);
    const fake = fakeScreen(
      [
        until('› queue'),
        tick,
        () => {
          askedBefore = asked;
          return Promise.resolve();
        },
        ...quiet,
        async () => {
          askedAfter = asked;
          changedAt = now;
          const pause = { by: 'ann', at: noon };
          const document = serializeState({ ...createInitialState('queue', noon), sequence: 2, pause });
          ref.put(serializeRecord({ ...createLaneRecord('queue'), sequence: 2, document }));
        },
        until('paused'),
      ],
      (ms) => {
        now += ms;
      },
    );
    await followed(fake, here(counted), [], () => now);
    expect(readAt - changedAt).toBeLessThanOrEqual(2500);
    // The screen was refreshed 40 times at intervals of half a second.
    expect(askedAfter - askedBefore).toBeGreaterThan(7);
    expect(askedAfter - askedBefore).toBeLessThanOrEqual(10);
  });

  test('a remote that does not answer leaves the picture as it was, and says so', async () => {
    const ref = placeWith({ ...createInitialState('queue', noon), sequence: 1 });
    let now = noon;
    const fake = fakeScreen(
      [
        () => {
          ref.place.outage = 'the network is down';
          return Promise.resolve();
        },
        until('the network is down'),
        tick,
      ],
      (ms) => {
        now += ms;
      },
    );
    await followed(fake, here(ref), [], () => now);
    expect(now).toBeGreaterThan(noon + 10_000);
    expect(fake.seen.at(-1)?.[0]).toContain('all branches');
  });

  test('an error gives the terminal back before it is thrown on', async () => {
    await put('.ralph/status.json', { run: runStatus });
    const fake = fakeScreen([() => Promise.reject(new Error('a defect'))]);
    await expect(followed(fake)).rejects.toThrow('a defect');
    expect(fake.isClosed).toBe(true);
  });
});

test('of many logs, one that is written on is followed', async () => {
  await put('.ralph/status.json', { run: runStatus });
  for (let number = 0; number < 400; number += 1)
    await put(`.ralph/logs/${String(number).padStart(4, '0')}.log`, 'old\n');
  await put('.ralph/logs/ralph.log', 'newest\n');
  await utimes(join(folder, '.ralph/logs/ralph.log'), noon, noon);
  expect((await json([])).local?.output).toMatchObject({ file: 'ralph.log', lines: ['newest'] });
});
