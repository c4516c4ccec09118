import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import { runStatusSchema } from '../../../src/core/local/status-document.ts';
import { runSchema } from '../../../src/cli/run/run.ts';
import { noOwnMachine, startOwnMachine } from '../../own-machine.ts';
import { startReceiver } from '../../e2e/outward/receiver.ts';
import { decodeSpans } from '../../otlp.ts';
import { processesWith } from '../processes/process-fixture.ts';
import { deepTest } from '../../runs.ts';

const program = join(inject('programs'), 'ralph.mjs');
const agent = join(inject('programs'), 'scripted-agent.mjs');
let folder = '';
let checkout = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ralph-home-'));
  checkout = join(folder, 'shop');
  await mkdir(join(checkout, '.ralph'), { recursive: true });
  await writeFile(join(checkout, 'README.md'), 'A shop\n');
  await writeFile(join(checkout, '.ralph/fix_plan.md'), '# Plan\n\n- [ ] Add a cart\n- [ ] Add a receipt\n');
  git('init', '--quiet', '--initial-branch=main');
  git('add', '--all');
  git('commit', '--quiet', '--message=First');
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

function git(...args: readonly string[]): string {
  const identity = ['-c', 'user.name=ann', '-c', 'user.email=ann@example.com'];
  return execFileSync('git', ['-C', checkout, ...identity, ...args], { encoding: 'utf8' }).trim();
}

interface Running {
  readonly ended: Promise<{ readonly code: number | null; readonly out: string }>;
  readonly kill: (signal: NodeJS.Signals) => void;
  /** Settles when the output contains this text. */
  readonly says: (text: string | RegExp) => Promise<void>;
}

/** Runs the command line from source, with the scripted agent and only this environment. */
function start(args: readonly string[], environment: Readonly<Record<string, string>> = {}): Running {
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: join(folder, 'home'),
    TMPDIR: folder,
    ANTHROPIC_API_KEY: 'sk-ant-api03-not-a-key',
    RALPH_PAUSE_MS: '10',
    ...environment,
  };
  const child = spawn(process.execPath, [program, 'run', '--isolation', 'none', '--agent-path', agent, ...args], {
    cwd: checkout,
    env,
  });
  let out = '';
  const listeners = new Set<() => void>();
  const hear = (chunk: Buffer): void => {
    out += chunk.toString();
    for (const listener of listeners) listener();
  };
  child.stdout.on('data', hear);
  child.stderr.on('data', hear);
  const ended = new Promise<{ code: number | null; out: string }>((resolve) => {
    child.on('close', (code) => {
      resolve({ code, out });
    });
  });
  return {
    ended,
    kill: (signal) => child.kill(signal),
    says: (text) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (typeof text === 'string' ? out.includes(text) : text.test(out)) resolve();
        };
        listeners.add(look);
        look();
        void ended.then(() => {
          reject(new Error(`It ended without ${String(text)}:\n${out}`));
        });
      }),
  };
}

const statusFile = async (): Promise<Record<string, unknown>> =>
  JSON.parse(await readFile(join(checkout, '.ralph/status.json'), 'utf8')) as Record<string, unknown>;
const workFolders = async (): Promise<readonly string[]> => {
  const homes = join(folder, 'home/.cache/ralph-action/home');
  const found = await readdir(homes).catch(() => []);
  return (await Promise.all(found.map((name) => readdir(join(homes, name))))).flat();
};

describe('ralph run', () => {
  test('sends its spans where the standard variables say, and belongs to no job', async () => {
    await using receiver = await startReceiver();
    await start(['--once'], { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.origin }).ended;
    const spans = receiver.traces().flatMap(({ body }) => decodeSpans(body));
    expect(spans.map(({ name }) => name)).toEqual(['ralph run', 'ralph iteration', 'invoke_agent claude']);
    expect(receiver.traces()[0]?.body.toString('latin1')).not.toContain('cicd.pipeline');
  });

  test('a circuit that another Ralph left open keeps it from working until ralph reset circuit', async () => {
    const left = { state: 'OPEN', reason: 'No progress', opened_at: new Date().toISOString() };
    await writeFile(join(checkout, '.ralph/.circuit_breaker_state'), JSON.stringify(left));
    git('add', '--all');
    git('commit', '--quiet', '--message=Left');
    expect((await start(['--once']).ended).out).toContain('No call was made');
    execFileSync(process.execPath, [program, 'reset', 'circuit'], { cwd: checkout, encoding: 'utf8' });
    const { out } = await start(['--once']).ended;
    expect(out).toContain('▶ Iteration 1');
    expect(out).not.toContain('left its circuit open');
    expect((await start(['--once']).ended).out).toContain('▶ Iteration 1');
  });

  test('three runs continue where the one before ended, and leave a person their files, index and branch', async () => {
    await writeFile(join(checkout, 'README.md'), 'My own words\n');
    await writeFile(join(checkout, 'new.txt'), 'mine\n');
    git('add', 'new.txt');
    const before = git('status', '--porcelain');

    const first = await start(['--once']).ended;
    expect(first).toMatchObject({ code: 0, out: expect.stringContaining('1 iteration') as string });
    expect(first.out).not.toContain('::');
    expect(git('rev-list', '--count', 'main..ralph/queue')).toBe('1');

    const second = await start(['--max-iterations', '2', '--json']).ended;
    const printed = runSchema.parse(JSON.parse(second.out.slice(second.out.indexOf('\n{\n') + 1)));
    expect(printed).toMatchObject({ outcome: 'limit', iterations: 2, tasksDone: 1, branch: 'ralph/queue' });
    expect(second.out).toContain('session: resumed');

    const third = await start([]).ended;
    expect(third.out).toContain('2 of 2 tasks done');
    expect(git('show', 'ralph/queue:.ralph/fix_plan.md')).toContain('- [x] Add a receipt');
    expect(git('rev-parse', 'ralph/queue')).not.toBe(printed.head);

    expect(git('status', '--porcelain')).toBe(before);
    expect(git('branch', '--show-current')).toBe('main');
    expect(await readFile(join(checkout, 'README.md'), 'utf8')).toBe('My own words\n');
    expect(git('diff', '--name-only', 'main', 'ralph/queue').split('\n')).not.toContain('.ralph/status.json');
    expect(await workFolders()).toEqual(['key']);

    const { run, ...others } = await statusFile();
    expect(runStatusSchema.parse(run)).toMatchObject({
      doing: 'ended',
      outcome: { kind: 'complete' },
      tasks: { done: 2, all: 2 },
    });
    expect(others).toMatchObject({
      status: 'completed',
      loop_count: 1,
      calls_made_this_hour: 4,
      max_calls_per_hour: 100,
    });
    const logs = await readdir(join(checkout, '.ralph/logs'));
    expect(logs.filter((name) => name.startsWith('iteration_'))).toHaveLength(4);
    expect(await readFile(join(checkout, '.ralph/logs/ralph.log'), 'utf8')).toMatch(
      /^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] \[INFO\] /,
    );
  });

  test('once it is merged, the branch begins again', async () => {
    await start([]).ended;
    git('merge', '--quiet', '--ff-only', 'ralph/queue');
    const journal = await readFile(join(checkout, '.ralph/logs/journal.jsonl'), 'utf8');
    expect((await start([]).ended).out).toMatch(/Nothing to do|all_done|done/i);
    expect(await statusFile()).toMatchObject({
      ...{ exit_reason: 'all_done', loop_count: 4, calls_made_this_hour: 4, tasks_completed: 2, tasks_total: 2 },
    });
    expect(await readFile(join(checkout, '.ralph/logs/journal.jsonl'), 'utf8')).toBe(journal);
    await writeFile(
      join(checkout, '.ralph/fix_plan.md'),
      `${git('show', 'HEAD:.ralph/fix_plan.md')}\n- [ ] Add a shelf\n`,
    );
    git('commit', '--quiet', '--all', '--message=More');
    expect((await start([]).ended).out).toContain('is on ralph/queue');
    expect(git('log', '-1', '--format=%s', 'ralph/queue')).toMatch(/^Add a shelf/);
    expect(git('merge-base', 'main', 'ralph/queue')).toBe(git('rev-parse', 'main'));
  });

  test('--dry-run shows task, prompt and command line, calls nobody and changes nothing', async () => {
    const { code, out } = await start(['--dry-run'], { RALPH_SCRIPT: join(folder, 'never-read.json') }).ended;
    expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining('Add a cart') as string });
    expect(out).toContain('--output-format stream-json');
    expect(out).toContain('--max-budget-usd 5.0000');
    expect(out).toContain('---RALPH_STATUS---');
    expect(git('status', '--porcelain', '--ignored')).toBe('');
    expect(git('branch', '--list')).toBe('* main');
    expect(existsSync(join(folder, 'home'))).toBe(false);
  });

  test('--task works on one task alone', async () => {
    const ids = (await start(['--dry-run']).ended).out;
    expect(ids).toContain('Add a cart');
    const unknown = await start(['--task', 'plan-000000000000']).ended;
    expect(unknown).toMatchObject({
      code: 1,
      out: expect.stringContaining('There is no task plan-000000000000 that a run can work on. Nearest: ') as string,
    });
    expect(unknown.out).toMatch(/\.ralph\/fix_plan\.md:4 \(plan-[0-9a-f]{12}\)/);
    const dry = await start(['--task', '.ralph/fix_plan.md:4', '--dry-run']).ended;
    expect(dry.out).toMatch(/^Task: \.ralph\/fix_plan\.md:\d+: Add a receipt$/m);
    const absent = await start(['--task', '.ralph/fix_plan.md:9', '--dry-run']).ended;
    expect(absent).toMatchObject({ code: 2, out: expect.stringContaining('There is no task') as string });
    const { out } = await start(['--task', '.ralph/fix_plan.md:4']).ended;
    expect(out).toContain('Add a receipt');
    expect(git('show', 'ralph/queue:.ralph/fix_plan.md')).toContain('- [ ] Add a cart');
  });

  test.each([
    ['every task is done', '- [x] Add a cart\n', / Nearest: \.ralph\/fix_plan\.md:1 /],
    ['there is no task', 'Nothing yet.\n', / No tasks are known yet\./],
  ])('--task with a name of nothing is an error also if %s', async (_, plan, more) => {
    await writeFile(join(checkout, '.ralph/fix_plan.md'), plan);
    git('commit', '--quiet', '--all', '--message=Plan');
    for (const [code, ...options] of [[1], [2, '--dry-run']] as const) {
      const ended = await start(['--task', 'nope', ...options]).ended;
      expect(ended).toMatchObject({ code, out: expect.stringContaining('There is no task nope ') as string });
      expect(ended.out).toMatch(more);
    }
  });

  // Also tested by loop/others/lists.
  deepTest('an entry that another Ralph left as failed is tried again', async () => {
    const entry = { id: 'US-7', title: 'Add a shelf', status: 'failed', priority: 1 };
    await writeFile(join(checkout, '.ralph/prd.json'), JSON.stringify({ tasks: [entry] }));
    git('add', '--all');
    git('commit', '--quiet', '--message=Prd');
    expect((await start(['--once', '--task', 'US-7']).ended).out).toMatch(/▶ Iteration 1.*Add a shelf/);
  });

  test('a circuit that another Ralph left open is warned of once, with the time until which nothing is called', async () => {
    const left = { state: 'OPEN', reason: 'No progress', last_change: new Date().toISOString() };
    await writeFile(join(checkout, '.ralph/.circuit_breaker_state'), JSON.stringify(left));
    git('add', '--all');
    git('commit', '--quiet', '--message=Left');
    const dry = (await start(['--dry-run']).ended).out;
    expect(dry).toMatch(
      /^No call would be made until \d{4}-\d\d-\d\d \d\d:\d\d UTC \(in \d+ min\): halted \(circuit_open\)$/m,
    );
    const { out } = await start([]).ended;
    expect(out.match(/Another Ralph left its circuit open/g)).toHaveLength(1);
    expect(out).toContain('No call was made: another Ralph left its circuit open.');
    expect(out).not.toContain('in a row');
    expect(await statusFile()).toMatchObject({
      ...{ status: 'halted', exit_reason: 'circuit_open', run: { circuit: 'open', tasks: { done: 0, all: 2 } } },
    });
    expect(execFileSync(process.execPath, [program, 'status'], { cwd: checkout, encoding: 'utf8' })).toMatch(
      /circuit: +open \(no_progress\), left by another Ralph, since .*; cools down until .* UTC \(in \d+ min\), then one/,
    );
  });

  test('status.json says when the steps of a pipeline run, and when the agent does', async () => {
    const seen = join(folder, 'seen');
    const look = `cat ${checkout}/.ralph/status.json >> ${seen}`;
    await writeFile(
      join(checkout, '.ralph/config.json'),
      JSON.stringify({
        steps: [
          { type: 'command', name: 'before', config: { command: look } },
          { type: 'agent', name: 'work' },
          { type: 'command', name: 'after', config: { command: look } },
        ],
      }),
    );
    git('add', '--all');
    git('commit', '--quiet', '--message=Steps');
    const run = start(['--once'], { RALPH_PAUSE_MS: '2000' });
    await run.says('step before (command)');
    await expect.poll(async () => (await statusFile()).run).toMatchObject({ doing: 'agent', iteration: 1 });
    expect((await run.ended).code).toBe(0);
    const steps = (await readFile(seen, 'utf8')).match(/"doing": "\w+"/g);
    expect(steps).toEqual(['"doing": "steps"', '"doing": "steps"']);
    expect((await statusFile()).run).toMatchObject({ doing: 'ended', iteration: 1 });
  });

  test('a second run in the same checkout is refused with a sentence, and makes no call', async () => {
    const first = start([], { RALPH_PAUSE_MS: '30000' });
    await first.says('▶ Iteration 1');
    const second = await start([]).ended;
    expect(second).toMatchObject({
      code: 2,
      out: expect.stringContaining('Another ralph run is working in this checkout') as string,
    });
    first.kill('SIGTERM');
    await first.ended;
  });

  test('Ctrl-C once ends it after its iteration', async () => {
    const run = start([], { RALPH_PAUSE_MS: '1500' });
    await run.says('▶ Iteration 1');
    run.kill('SIGINT');
    await run.says('Press Ctrl-C again to end now');
    const { code, out } = await run.ended;
    expect(code).toBe(0);
    expect(out).toContain('Stopped by you (Ctrl-C) after 1 iteration');
    expect(git('rev-list', '--count', 'main..ralph/queue')).toBe('1');
    expect((await start(['--once']).ended).code).toBe(0);
  });

  test.each(['Copying main', 'prompt:', 'state:', 'agent:'])(
    'Ctrl-C after "%s" ends it before a call',
    async (line) => {
      const run = start([]);
      await run.says(line);
      run.kill('SIGINT');
      expect(await run.ended).toMatchObject({
        code: 0,
        out: expect.stringContaining('Stopped by you (Ctrl-C); no call was made.') as string,
      });
    },
  );

  test('Ctrl-C twice ends it at once, and leaves no process', async () => {
    const run = start([], { RALPH_PAUSE_MS: '30000' });
    await run.says('▶ Iteration 1');
    const { runTag } = JSON.parse(await readFile(join(checkout, '.ralph/state/run.1.json'), 'utf8')) as {
      runTag: string;
    };
    await expect.poll(() => processesWith(runTag)).not.toEqual([]);
    run.kill('SIGINT');
    await run.says('Press Ctrl-C again to end now');
    run.kill('SIGINT');
    const { out } = await run.ended;
    expect(out).toContain('Cancelled');
    expect(processesWith(runTag)).toEqual([]);
    expect(await workFolders()).toEqual(['key']);
    expect(await statusFile()).toMatchObject({ status: 'stopped' });
  });

  test('after a SIGKILL the next run takes over; what was finished is kept', async () => {
    const run = start([], { RALPH_PAUSE_MS: '1000' });
    await run.says('▶ Iteration 2');
    run.kill('SIGKILL');
    await run.ended;
    expect(git('rev-list', '--count', 'main..ralph/queue')).toBe('1');
    const next = await start([]).ended;
    expect(next.out).toContain('was killed. Its finished iterations are kept');
    expect(next.out).toContain('2 of 2 tasks done');
    expect(next.code).toBe(0);
  });

  test('a status.json that is a link is never written through, and the run continues', async () => {
    await writeFile(join(folder, 'precious'), 'mine');
    await symlink(join(folder, 'precious'), join(checkout, '.ralph/status.json'));
    const { code, out } = await start(['--once']).ended;
    expect(code).toBe(0);
    expect(out).toContain('.ralph/status.json cannot be written, so other programs cannot watch this run');
    expect(await readFile(join(folder, 'precious'), 'utf8')).toBe('mine');
  });

  describe('for a folder of the repository', () => {
    const shop = 'packages/shop';
    const itsFiles = ['fix_plan.md', 'logs', 'progress.json', 'status.json'];
    const listed = (path: string): Promise<readonly string[]> =>
      readdir(join(checkout, path)).then(
        (names) => names.sort(),
        () => [],
      );
    const monitor = (from: string): { readonly local: unknown } => {
      const args = [program, 'monitor', '--json', '--dir', join(checkout, from)];
      const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' });
      return JSON.parse(stdout) as { local: unknown };
    };
    beforeEach(async () => {
      await mkdir(join(checkout, shop, '.ralph'), { recursive: true });
      await writeFile(join(checkout, shop, '.ralph/fix_plan.md'), '- [ ] Add a till\n- [ ] Add a drawer\n');
      git('add', '--all');
      git('commit', '--quiet', '--message=A package');
    });

    test('its status and logs are there, its state is at the top, and the monitor finds it from both', async () => {
      // An earlier run for the whole repository leaves its state.
      await start(['--once']).ended;
      const { code, out } = await start(['--once', '--input', `working-directory=${shop}`]).ended;
      expect(code, out).toBe(0);
      expect(await listed(`${shop}/.ralph`)).toEqual(itsFiles);
      expect(await listed(`${shop}/.ralph/logs`)).toContain('journal.jsonl');
      expect(git('status', '--porcelain')).toBe('');
      expect(git('diff', '--name-only', 'main', 'ralph/queue')).not.toMatch(/status|progress|logs/);
      const shown = { folder: join(checkout, shop), run: { kind: 'ours', status: { task: { title: 'Add a till' } } } };
      for (const from of ['', shop])
        expect(monitor(from)).toMatchObject({ local: { ...shown, state: { branchId: 'queue' }, output: {} } });

      await start(['--once']).ended;
      expect(monitor('')).toMatchObject({ local: { folder: checkout, run: { kind: 'ours' }, state: {} } });
      expect(monitor(shop)).toMatchObject({ local: { ...shown, state: null } });
    });

    test('its leftovers there are not copied for the next run', async () => {
      await start(['--once', '--input', `working-directory=${shop}`]).ended;
      const run = start(['--once'], { RALPH_PAUSE_MS: '30000' });
      await run.says('▶ Iteration 1');
      const home = join(folder, 'home/.cache/ralph-action/home');
      const [name = ''] = await readdir(home);
      expect(await readdir(join(home, name, 'work/shop', shop, '.ralph'))).toEqual(['fix_plan.md']);
      run.kill('SIGINT');
      await run.says('Press Ctrl-C again to end now');
      run.kill('SIGINT');
      await run.ended;
    });

    test('a missing folder is not created, and the run continues', async () => {
      git('switch', '--quiet', '--create', 'without', 'main~1');
      const asked = ['--once', '--input', `working-directory=${shop}`, '--input', 'base-branch=main'];
      const { code, out } = await start(asked).ended;
      expect(code, out).toBe(0);
      expect(out).toContain(`${shop}/.ralph/status.json cannot be written, so other programs cannot watch this run`);
      expect(out).toContain(`The log is not kept in ${shop}/.ralph/logs`);
      expect(existsSync(join(checkout, 'packages'))).toBe(false);
    });

    test('tasks of it that are not committed are named', async () => {
      await writeFile(join(checkout, shop, '.ralph/fix_plan.md'), '- [ ] Add a lamp\n');
      const { out } = await start(['--once', '--input', `working-directory=${shop}`]).ended;
      expect(out).toContain(`commit ${shop}/.ralph/fix_plan.md first`);
    });
  });

  test('--push brings the branch to origin, never forced; without it nothing leaves', async () => {
    const origin = join(folder, 'origin.git');
    execFileSync('git', ['init', '--quiet', '--bare', origin]);
    git('remote', 'add', 'origin', origin);
    const heads = (): string => execFileSync('git', ['-C', origin, 'branch', '--list'], { encoding: 'utf8' }).trim();
    await start(['--once']).ended;
    expect(heads()).toBe('');
    expect(await start(['--once', '--push']).ended).toMatchObject({ code: 0 });
    expect(heads()).toBe('ralph/queue');
    git('push', '--quiet', '--force', 'origin', 'main:refs/heads/ralph/queue');
    git('commit', '--quiet', '--allow-empty', '--message=Elsewhere');
    git('push', '--quiet', '--force', 'origin', 'main:refs/heads/ralph/queue');
    const refused = await start(['--once', '--push']).ended;
    expect(refused).toMatchObject({ code: 1, out: expect.stringContaining('could not be pushed to origin') as string });
    expect(git('ls-remote', 'origin', 'refs/heads/ralph/queue')).toContain(git('rev-parse', 'main'));
  });

  test.skipIf(noOwnMachine !== null)(
    'as root the agent is isolated by namespaces, and the copy is gone afterwards',
    async () => {
      await using machine = await startOwnMachine(null);
      const [first = '', ...around] = machine.around;
      const asked = [program, 'run', '--once', '--dir', checkout, '--agent-path', agent];
      const { stdout } = await promisify(execFile)(first, [...around, process.execPath, ...asked], {
        env: {
          ...{ PATH: process.env.PATH ?? '', HOME: join(folder, 'home'), TMPDIR: folder },
          ANTHROPIC_API_KEY: 'sk-ant-api03-not-a-key',
        },
      });
      expect(stdout).toMatch(/Isolation: namespace — own user, processes, files and network; .*0 processes left/);
      expect(git('rev-list', '--count', 'main..ralph/queue')).toBe('1');
      expect(await workFolders()).toEqual(['key']);
    },
  );

  test('an impossible folder is reported before anything begins', async () => {
    git('switch', '--quiet', '--create', 'ralph/queue');
    expect(await start([]).ended).toMatchObject({
      code: 2,
      out: expect.stringContaining('Switch to the branch') as string,
    });
    git('switch', '--quiet', 'main');
    const wrong = await start(['--input', 'max-minutes=soon', '--once', '--max-iterations', '2']).ended;
    expect(wrong).toMatchObject({ code: 2, out: expect.stringContaining('--once and --max-iterations') as string });
    expect((await start(['--input', 'max-minutes=soon']).ended).out).toContain('max-minutes');
    expect(existsSync(join(checkout, '.ralph/state'))).toBe(false);
  });
});
