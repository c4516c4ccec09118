import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import { addIssue } from '../../../testbed/github/state.ts';
import { untouchedProgress } from '../../../src/core/tasks/queue.ts';
import { createInitialState, type LaneState } from '../../../src/core/lane/state/state.ts';
import { serializeState } from '../../../src/core/lane/state/serialize-state.ts';
import type { LedgerDay } from '../../../src/core/lane/ledger.ts';
import { createLaneRecord, type LaneRecord } from '../../../src/core/sharing/lane-record.ts';
import { emptySnapshot, withRecord } from '../../../src/core/snapshot/snapshot.ts';
import { DAY_MS } from '../../../src/core/countdown.ts';
import { createRefSnapshot } from '../../../src/git/refs/ref-snapshot.ts';
import { runGit } from '../git/git-fixture.ts';
import { now, openForge, TOKEN } from '../github/github-fixture.ts';
import { withoutWaits } from './without-waits.ts';

let folder = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ralph-cli-github-'));
  await runGit(folder, ['init', '-q']);
  await runGit(folder, ['remote', 'add', 'origin', 'git@github.com:octo/demo.git']);
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly error: string;
}

/** Runs the command line from source in the checkout, as a separate process with only this environment. */
function ralph(args: readonly string[], environment: Readonly<Record<string, string>>): Promise<Ended> {
  return new Promise((resolve) => {
    const env = { PATH: process.env.PATH ?? '', HOME: folder, TMPDIR: folder, ...environment };
    execFile(
      process.execPath,
      [join(inject('programs'), 'ralph.mjs'), ...args],
      { cwd: folder, env },
      (error, out, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code), out, error: withoutWaits(stderr) });
      },
    );
  });
}

/** Returns a day's usage. */
const used = (day: string, costUsd: number, calls: number): LedgerDay => ({
  day,
  calls,
  tokens: 1000 * calls,
  costUsd,
  minutes: 2 * calls,
});

/** Creates a bare repository with these states of runs, and makes it the checkout's remote. */
async function server(
  states: readonly LaneState[],
  records: Readonly<Record<string, Partial<LaneRecord>>> = {},
): Promise<void> {
  const url = join(folder, 'server.git');
  await runGit(folder, ['init', '-q', '--bare', url]);
  await runGit(folder, ['config', `url.${url}.pushInsteadOf`, 'git@github.com:octo/demo.git']);
  const workFolder = join(folder, 'snapshot');
  await mkdir(workFolder);
  const place = createRefSnapshot({ url, access: { kind: 'own' }, workFolder, env: process.env, now: () => now });
  let snapshot = emptySnapshot;
  for (const state of states) {
    const record = {
      ...createLaneRecord(state.lane),
      sequence: state.sequence,
      document: serializeState(state),
      ...records[state.lane],
    };
    snapshot = withRecord(snapshot, record);
  }
  const from = { kind: 'snapshot', head: null, snapshot: emptySnapshot } as const;
  expect(await place.write({ from, snapshot, message: 'states' })).toMatchObject({ kind: 'written' });
}

describe('ralph status --all', () => {
  const at = Date.now();
  const daysAgo = (days: number): string => new Date(at - days * DAY_MS).toISOString().slice(0, 10);
  const queue: LaneState = {
    ...createInitialState('queue', at),
    sequence: 3,
    tasks: {
      'issue-1': { ...untouchedProgress, state: 'done', attempts: 1 },
      'issue-2': { ...untouchedProgress, state: 'failed', attempts: 8, reason: 'max_iterations_per_task' },
    },
    ledger: [used(daysAgo(40), 99, 99), used(daysAgo(2), 2, 3), used(daysAgo(1), 4, 5)],
  };
  const own: LaneState = {
    ...createInitialState('issue-5', at),
    sequence: 2,
    pause: { by: 'octo', at },
    tasks: { 'issue-5': { ...untouchedProgress, state: 'in-progress', attempts: 2 } },
    ledger: [used(daysAgo(1), 1, 2)],
  };
  const lease: LaneRecord['lease'] = {
    runTag: 'm',
    runId: '98',
    runAttempt: 1,
    runUrl: 'https://github.com/octo/demo/actions/runs/98',
    acquiredAt: at - 10 * 60_000,
    durationMs: 3 * 60 * 60_000,
  };

  test('with a token: titles, what waits for what, and the spend of all lanes together', async () => {
    await using world = await openForge();
    const issue = (title: string, body = '') =>
      addIssue(world.github.state, { title, body, labels: ['ralph'], author: 'octo' }, now);
    ['Sign in', 'Pay'].forEach((title) => issue(title));
    issue('Ship', 'Depends on #2');
    issue('Greet');
    issue('Own lane');
    await server([queue, own], { queue: { lease } });
    const { code, out, error } = await ralph(['status', '--all'], {
      GITHUB_TOKEN: TOKEN,
      GITHUB_API_URL: world.github.url,
    });
    expect({ code, error }).toEqual({ code: 0, error: '' });
    const [heading, ...lines] = out.split('\n');
    expect(heading).toMatch(/^octo\/demo, .* UTC: 2 branches, 1 at work, 1 task waiting for a person$/);
    expect(lines.map((line) => line.replace(/until .* at the latest/, 'until then'))).toEqual([
      '',
      'queue    works         1 of 4 tasks done',
      '  a run is working on it, until then: https://github.com/octo/demo/actions/runs/98',
      '  #2 Pay: needs a person, gave up after 8 iterations; ralph retry 2',
      '  #3 Ship: waits for #2',
      '  #4 Greet: to do',
      '',
      'issue-5  paused        0 of 1 task done',
      '  paused by octo; to continue: ralph resume --issue 5',
      '  #5 Own lane: in progress, 2 iterations',
      '',
      'Spending of the last 31 days: $7.00, 10 calls, 10.0k tokens, 20 min of agent time',
      `  ${daysAgo(2)}  ██████████                $2.00  3 calls`,
      `  ${daysAgo(1)}  ████████████████████████  $5.00  7 calls`,
      '',
    ]);
  });

  test('a pull request whose tasks are all done waits for its review', async () => {
    await using world = await openForge();
    await world.forge.openPullRequest({ title: 'Sign in', body: '', head: 'ralph/queue', base: 'main', draft: false });
    const tasks = { 'issue-9': { ...untouchedProgress, state: 'done' as const, attempts: 1 } };
    await server([{ ...queue, tasks }]);
    const { out } = await ralph(['status', '--all'], { GITHUB_TOKEN: TOKEN, GITHUB_API_URL: world.github.url });
    expect(out.split('\n').slice(0, 5)).toEqual([
      expect.stringMatching(/: 1 branch, 1 pull request to review$/),
      '',
      'queue  to review     1 of 1 task done',
      `  pull request #1 Sign in (open)  ${world.github.url}/octo/demo/pull/1`,
      '  waits for a review of #1',
    ]);
  });

  test('without a token: what the states know, and what a token would add', async () => {
    await server([queue, own], { queue: { lease } });
    const { code, out, error } = await ralph(['status', '--all'], {});
    expect({ code, error }).toEqual({ code: 0, error: '' });
    expect(out).toContain('\n  #2: needs a person, gave up after 8 iterations; ralph retry 2\n\nissue-5');
    expect(out).toMatch(/\n\nSet GITHUB_TOKEN to see titles/);
  });

  test('a lane that has a branch alone, and the plan of the checkout', async () => {
    await server([]);
    await runGit(folder, ['-c', 'user.name=a', '-c', 'user.email=a@b.c', 'commit', '-q', '--allow-empty', '-m', 'x']);
    await runGit(folder, ['push', '-q', 'origin', 'HEAD:refs/heads/ralph/issue-7', 'HEAD:refs/heads/ralph/other']);
    await mkdir(join(folder, '.ralph'));
    await writeFile(join(folder, '.ralph/fix_plan.md'), '- [x] Greet\n- [ ] Wave\n');
    const { out } = await ralph(['status', '--all'], {});
    expect(out).toMatch(
      /: 2 branches\n\nqueue +ready +1 of 2 tasks done\n {2}\.ralph\/fix_plan\.md:2 Wave: to do\n\nissue-7 +ready/,
    );
    expect(out).toContain('Spending of the last 31 days: nothing\n');
  });

  test('before the first run, and with a token that is not good', async () => {
    await using world = await openForge();
    await server([]);
    const { code, out, error } = await ralph(['status', '--all', '--json'], {
      GITHUB_TOKEN: 'ghs_other',
      GITHUB_API_URL: world.github.url,
    });
    expect(JSON.parse(out)).toMatchObject({
      repository: null,
      branches: [{ branchId: 'queue', tasks: [], waits: [] }],
      spend: [],
    });
    expect({ code, error }).toEqual({
      code: 1,
      error: expect.stringMatching(/^ralph status: GitHub cannot be asked for titles: /) as string,
    });
  });

  test('a server that cannot be reached ends with 1', async () => {
    await runGit(folder, ['remote', 'set-url', 'origin', join(folder, 'nowhere.git')]);
    expect(await ralph(['status', '--all'], {})).toMatchObject({
      code: 1,
      error: expect.stringContaining('ralph status: The remote cannot be reached:') as string,
    });
  });
});

describe('ralph tasks', () => {
  test.each(['GITHUB_TOKEN', 'GH_TOKEN'])(
    'with %s lists the labelled issues among the tasks of the files',
    async (name) => {
      await using world = await openForge();
      const issue = (title: string, body: string, ...labels: string[]) =>
        addIssue(world.github.state, { title, body, labels, author: 'octo' }, now);
      issue('Pay', 'Depends on #2', 'ralph');
      issue('Sign in', '', 'ralph', 'P0');
      issue('Other', '');
      issue('Ship', '', 'ralph', 'ralph:needs-approval');
      await mkdir(join(folder, '.ralph'));
      await writeFile(join(folder, '.ralph/fix_plan.md'), '- [ ] Greet\n');
      const { code, out, error } = await ralph(['tasks'], { [name]: TOKEN, GITHUB_API_URL: world.github.url });
      expect({ code, error }).toEqual({ code: 0, error: '' });
      expect(out).toMatch(
        /^4 tasks: 0 done, 4 open\n\n.*\n.* #2 +Sign in\n.* #1 +Pay {2}\(waits for #2\)\n.* #4 +Ship\n.*fix_plan\.md:1 +Greet\n\nProblems:\n.*#4 was changed after it was approved/,
      );
    },
  );

  test('with another label', async () => {
    await using world = await openForge();
    addIssue(world.github.state, { title: 'Bug', body: '', labels: ['bug'], author: 'octo' }, now);
    const { out } = await ralph(['tasks', '--json', '--task-label', 'bug'], {
      GH_TOKEN: TOKEN,
      GITHUB_API_URL: world.github.url,
    });
    expect(JSON.parse(out)).toEqual({
      tasks: [
        { id: 'issue-1', title: 'Bug', source: 'issue', state: 'todo', priority: 2, optional: false, dependsOn: [] },
      ],
      problems: [],
    });
  });

  test('with a bad token says so, and lists the files anyway', async () => {
    await using world = await openForge();
    const { code, out } = await ralph(['tasks'], { GITHUB_TOKEN: 'ghs_other', GITHUB_API_URL: world.github.url });
    expect(code).toBe(0);
    expect(out).toMatch(/^No tasks found in [^]*Problems:\n {2}issues: /);
  });

  test('sends the token to no server that only the checkout names', async () => {
    await runGit(folder, ['remote', 'set-url', 'origin', 'https://git.example.invalid/octo/demo.git']);
    expect((await ralph(['tasks'], { GITHUB_TOKEN: TOKEN })).out).toMatch(
      /is on git\.example\.invalid\. To send the token there/,
    );
  });
});
