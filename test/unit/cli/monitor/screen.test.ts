import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { LocalPicture, Picture } from '../../../../src/cli/monitor/monitor-schema.ts';
import { measureWidth, type Size } from '../../../../src/cli/monitor/view/columns.ts';
import { layOutScreen } from '../../../../src/cli/monitor/view/screen.ts';
import {
  createScreenState,
  pressKey,
  withMessage,
  type ScreenState,
} from '../../../../src/cli/monitor/view/session.ts';
import { MINUTE_MS } from '../../../../src/core/countdown.ts';
import { noon } from '../../core/core-fixtures.ts';
import {
  allPicture,
  iso,
  knownLane,
  localPicture,
  localRun,
  overview,
  runStatus,
  stateOf,
  textOf,
  withRun,
} from './monitor-fixtures.ts';

const local = createScreenState('local');
const all = createScreenState('all');

const shown = (
  picture: Picture,
  [columns, rows]: readonly [number, number],
  session: ScreenState | null,
): readonly string[] => textOf(layOutScreen(picture, { columns, rows }, session, noon));

test('a line of the log is shown with its time alone', () => {
  const output = {
    file: 'ralph.log',
    at: iso(noon),
    lines: ['[2026-11-21 12:04:35] [INFO] Reading', '[INFO] as it is'],
  };
  const lines = shown(localPicture({ ...localRun, output }), [80, 24], null);
  expect(lines.slice(-2)).toEqual(['12:04:35 Reading', '[INFO] as it is']);
});

test('a cost that nobody counts is not shown as nothing', () => {
  const status = { ...runStatus, cost: { ...runStatus.cost, run: 0 } };
  const lines = shown(localPicture({ ...localRun, run: { kind: 'ours', status, isAlive: true } }), [80, 24], local);
  expect(lines[5]).toBe('cost     no known cost this run  [██░░░░░░░░] $3.20/$20.00 today');
  const unused = { ...status, calls: { ...status.calls, used: 0 } };
  const before = shown(
    localPicture({ ...localRun, run: { kind: 'ours', status: unused, isAlive: true } }),
    [80, 24],
    local,
  );
  expect(before[5]).toContain('$0.00/$5.00 this run');
});

test('the local run at 80×24', () => {
  expect(shown(localPicture(), [80, 24], local)).toEqual([
    'shop · ralph/queue · queue                                 12 min 5 s · PID 4711',
    'run      the agent works  iteration 3 of 10  this call: 40 s',
    'task     #12 Fix the login form',
    'tasks    [████░░░░░░] 2/5 done',
    'calls    [█░░░░░░░░░] 12/100 calls this hour',
    'cost     [██░░░░░░░░] $0.84/$5.00 this run  [██░░░░░░░░] $3.20/$20.00 today',
    'signals  done 1/2  test-only 0/3',
    'circuit  closed',
    `── iteration_2026-11-21_12-04-35_003.log ${'─'.repeat(39)}`,
    ...Array.from({ length: 14 }, (_, index) => `line ${String(index + 7)} of the agent`),
    'q quit  p pause  s stop  r retry  a all branches',
  ]);
});

test('the picture of the documents is that of the code', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../../docs/command-line.md'), 'utf8');
  const lines = shown(localPicture(), [80, 24], local);
  expect(page).toContain(lines.slice(0, 9).join('\n'));
  expect(page).toContain(lines.at(-1));
});

test('with room, all twenty lines, and the keys at the bottom', () => {
  const lines = shown(localPicture(), [120, 40], local);
  expect(lines).toHaveLength(40);
  expect(lines.slice(8, 10)).toEqual([
    `── iteration_2026-11-21_12-04-35_003.log ${'─'.repeat(79)}`,
    'line 1 of the agent',
  ]);
  expect(lines.slice(28)).toEqual([
    'line 20 of the agent',
    ...Array.from({ length: 10 }, () => ''),
    'q quit  p pause  s stop  r retry  a all branches',
  ]);
});

test('at 40×10, what says most', () => {
  expect(shown(localPicture(), [40, 10], local)).toEqual([
    'shop · ralph/queue · queue',
    '12 min 5 s · PID 4711',
    'run the agent works  iteration 3 of 10',
    '    this call: 40 s',
    'task #12 Fix the login form',
    'tasks [████░░░░░░] 2/5 done',
    'calls [█░░░░░░░░░] 12/100 calls this ho…',
    'cost [██░░░░░░░░] $0.84/$5.00 this run',
    '     [██░░░░░░░░] $3.20/$20.00 today',
    'q quit  p pause  s stop  r retry',
  ]);
});

test('at 20×5, the little that fits', () => {
  expect(shown(localPicture(), [20, 5], local)).toEqual([
    'run the agent works',
    '    iteration 3 of …',
    '    this call: 40 s',
    'task #12 Fix the lo…',
    'q quit  p pause',
  ]);
});

test('as text, without keys and without empty lines', () => {
  const lines = shown(localPicture(), [80, 200], null);
  expect(lines).toHaveLength(29);
  expect(lines.at(-1)).toBe('line 20 of the agent');
});

const parked = { reason: 'usage_limit', resumeAt: iso(noon + 42 * MINUTE_MS + 10_000) };
const open = { kind: 'open' as const, reason: 'no_progress', openedAt: iso(noon - 10 * MINUTE_MS), totalOpens: 1 };
const none: LocalPicture = { ...localRun, run: { kind: 'none' }, output: null };
const other = (change: object): LocalPicture => ({
  ...none,
  state: null,
  run: {
    kind: 'other',
    status: {
      status: 'running',
      lastAction: 'executing',
      exitReason: null,
      iteration: 7,
      calls: null,
      at: null,
      ...change,
    },
    circuit: 'half-open',
  },
});

const beside = {
  ...runStatus,
  ...{ branchId: 'issue-7', iteration: 2, maxIterations: 5, task: { id: 'issue-7', title: 'Fix the cart' } },
};

describe('every state of a local run', () => {
  test.each<[string, LocalPicture, readonly string[]]>([
    ['it starts', withRun({ doing: 'starting' }), ['run      starting  iteration 3 of 10']],
    [
      'another branch of it',
      { ...localRun, beside: [{ status: beside, isAlive: true }] },
      ['#7       the agent works  iteration 2 of 5  Fix the cart'],
    ],
    ['its steps', withRun({ doing: 'steps' }), ['run      the steps run  iteration 3 of 10']],
    ['verify', withRun({ doing: 'verify' }), ['run      verify runs  iteration 3 of 10']],
    [
      'it waits',
      withRun({ doing: 'waiting', resumeAt: iso(noon + 42 * MINUTE_MS + 10_000) }),
      ['run      waiting  iteration 3 of 10', 'waits    until 2026-11-21 12:42 UTC  in 42:10'],
    ],
    [
      'for hours',
      withRun({ doing: 'waiting', resumeAt: iso(noon + 3_723_000) }),
      ['waits    until 2026-11-21 13:02 UTC  in 1:02:03'],
    ],
    [
      'the wait is over',
      withRun({ doing: 'waiting', resumeAt: iso(noon - 1) }),
      ['waits    until 2026-11-21 11:59 UTC'],
    ],
    [
      'it ended',
      withRun({ doing: 'ended', outcome: { kind: 'complete', reason: 'plan_complete' } }, false),
      ['run      ended: complete  iteration 3 of 10'],
    ],
    [
      'it is gone',
      withRun({}, false),
      [
        'run      The run (PID 4711) is gone; its last update was at 2026-11-21 11:59 UTC',
        '         iteration 3 of 10',
      ],
    ],
    ['no task', withRun({ task: null }), ['task     none']],
    ['no tasks', withRun({ tasks: { done: 0, all: 0 } }), ['tasks    none']],
    [
      'no limits',
      withRun({
        calls: { used: 12, limit: 0 },
        cost: { run: 0.004, runLimit: 0, day: 3.2, dayLimit: 0 },
        signals: { done: 0, doneLimit: 0, testOnly: 2, testOnlyLimit: 0 },
      }),
      [
        'calls    12 calls this hour, no limit',
        'cost     < $0.01 this run, no limit  $3.20 today, no limit',
        'signals  done 0  test-only 2',
      ],
    ],
    [
      'a limit that is used up',
      withRun({ calls: { used: 104, limit: 100 } }),
      ['calls    [██████████] 104/100 calls this hour'],
    ],
    ['a probe', withRun({ circuit: 'half-open' }), ['circuit  half-open: one iteration probes']],
    ['an open circuit', withRun({ circuit: 'open' }), ['circuit  open']],
    [
      'a circuit that cools down after the run',
      { ...withRun({ doing: 'ended', circuit: 'open' }), state: stateOf({ circuit: open }) },
      ['circuit  open', 'cooldown no_progress: probe from 2026-11-21 12:20 UTC by default  in 20:00'],
    ],
    [
      'a circuit that a failed call opened',
      { ...none, state: stateOf({ circuit: { ...open, failure: 'the agent failed (exit code 1): `no such tool`' } }) },
      [
        'cooldown no_progress: probe from 2026-11-21 12:20 UTC by default  in 20:00',
        'failure  The agent failed (exit code 1): `no such tool`.',
      ],
    ],
    [
      'one that has cooled down',
      { ...none, state: stateOf({ circuit: { ...open, openedAt: iso(noon - 31 * MINUTE_MS) } }) },
      ['cooldown no_progress: over by the default cooldown, the next run probes'],
    ],
    [
      'parked',
      { ...withRun({ doing: 'ended' }), state: stateOf({ park: parked }) },
      ['parked   usage_limit, continues from 2026-11-21 12:42 UTC  in 42:10'],
    ],
    [
      'paused, with orders',
      {
        ...localRun,
        state: stateOf({
          pause: { by: 'Ann', at: iso(noon) },
          ordersWaiting: [{ order: 'stop', task: null, by: 'Ann', from: 'command-line', at: iso(noon) }],
          warnings: ['The state was repaired'],
        }),
      },
      [
        'paused   by Ann, 2026-11-21 12:00 UTC',
        'order    stop, by Ann: obeyed next',
        'warning  The state was repaired.',
        'q quit  p resume  s stop  r retry  a all branches',
      ],
    ],
    [
      'a status that cannot be read',
      { ...localRun, run: { kind: 'unreadable', why: '`.ralph/status.json` is not a JSON object.' } },
      ['shop · local run', 'run      `.ralph/status.json` is not a JSON object.'],
    ],
    [
      'no run, but an earlier one',
      { ...none, state: stateOf({ lastRun: { outcome: 'limit', reason: 'cost', at: iso(noon), pullRequest: null } }) },
      ['run      There is no local run now.', 'last run cost limit, 2026-11-21 12:00 UTC'],
    ],
    [
      'nothing at all',
      { ...none, state: null },
      ['run      No local run yet: "ralph run" starts one, and it shows here.'],
    ],
    [
      'another Ralph',
      other({}),
      [
        'shop · local run',
        'run      running  loop 7  this call: 40 s',
        'does     executing',
        'agent    Reading',
        'circuit  half-open: one iteration probes',
      ],
    ],
    [
      'another Ralph that has ended',
      other({ exitReason: 'project_complete', calls: { used: 3, limit: 100 }, at: '2026-11-21T13:00:00+01:00' }),
      [
        'run      running  loop 7  ended: project_complete  at 2026-11-21 12:00 UTC',
        'calls    [█░░░░░░░░░] 3/100 calls this hour',
      ],
    ],
  ])('%s', (_, picture, expected) => {
    const lines = shown(localPicture(picture), [80, 40], local);
    for (const line of expected) expect(lines.map((each) => each.trimStart())).toContain(line.trimStart());
  });

  test('a circuit that the run has closed does not cool down', () => {
    const lines = shown(localPicture({ ...localRun, state: stateOf({ circuit: open }) }), [80, 40], local);
    expect(lines.join('\n')).not.toContain('cooldown');
  });
});

describe('all branches', () => {
  test('at 80×24', () => {
    const lines = shown(allPicture, [80, 24], all);
    expect(lines.filter((line) => line !== '')).toEqual([
      'acme/shop · all branches                              as of 2026-11-21 12:00 UTC',
      '2 branches, 1 task waiting for a person',
      '› queue                paused        [█████░░░░░] 1/2 done  #4 open',
      '  issue-7 (directory)  ready         [░░░░░░░░░░] 0/1 done',
      '  issue-8              unavailable',
      'Ralph: the queue https://github.com/acme/shop/pull/4',
      'paused by octocat; to continue: ralph resume',
      '• #12 Fix the login form: needs a person, gave up after 5 iterations; ralph ret…',
      'Last 31 days: $1.50, 6 calls, 1.0k tokens, 30 min of agent time',
      'q quit  p pause/resume  s stop  r retry  a local run  ↑↓ choose',
    ]);
    expect(lines).toHaveLength(24);
  });

  test('why a branch cannot be read, when it is chosen', () => {
    expect(shown(allPicture, [80, 24], { ...all, selected: 2 })).toContain('The remote cannot be reached: no answer.');
  });

  test('more branches than rows: the chosen one is among them', () => {
    const [lane] = overview.branches;
    if (lane === undefined) throw new Error('no lane');
    const lanes = Array.from({ length: 50 }, (_, index) => ({ ...lane, branchId: `issue-${String(index + 1)}` }));
    const picture = { ...allPicture, all: { ...overview, branches: lanes } };
    for (const selected of [0, 25, 49])
      expect(shown(picture, [40, 10], { ...all, selected }).filter((line) => line.startsWith('›'))).toEqual([
        expect.stringMatching(new RegExp(`^› issue-${String(selected + 1)} `)),
      ]);
  });

  test('before anything is read, and when nothing can be', () => {
    expect(shown({ ...allPicture, all: null }, [80, 24], all)[1]).toBe('Reading all branches …');
    expect(shown({ ...allPicture, all: null, problems: ['No checkout.'] }, [80, 24], all)[1]).toBe('No checkout.');
  });
});

describe('below the picture', () => {
  const receipt =
    'Order saved (directory): pause. The next "ralph run" obeys it before anything else; one at work now continues to its end.';

  test('a message stands above the keys', () => {
    expect(shown(localPicture(), [80, 24], withMessage(local, receipt, 'good')).slice(-3)).toEqual([
      'Order saved (directory): pause. The next "ralph run" obeys it before anything',
      'else; one at work now continues to its end.',
      'q quit  p pause  s stop  r retry  a all branches',
    ]);
  });

  test('or in their place, where there is little room', () => {
    expect(shown(localPicture(), [20, 5], withMessage(local, receipt, 'good')).slice(-2)).toEqual([
      'Order saved',
      '(directory): pause.',
    ]);
  });

  test('a question', () => {
    const asking = pressKey(local, 'r', localPicture()).session;
    expect(shown(localPicture(), [80, 24], asking).at(-2)).toBe('Give #11 all its attempts again? y/n');
  });
});

describe('at any size, no line is wider and no picture higher than the terminal', () => {
  const wide = withRun({
    task: { id: 'issue-12', title: '登录表单 👩 💻 ❤️ 日本語 '.repeat(8) },
    branch: `ralph/${'x'.repeat(200)}`,
  });
  const pictures: readonly (readonly [string, Picture, ScreenState])[] = [
    ['local', localPicture(), local],
    [
      'wide',
      localPicture({
        ...wide,
        output: { file: '日本語.log', at: iso(noon), lines: Array.from({ length: 20 }, () => '한국어 👍 '.repeat(20)) },
        state: stateOf({ ...knownLane, warnings: ['w '.repeat(200), 'x'.repeat(300)], circuit: open, park: parked }),
      }),
      withMessage(local, '日本語 '.repeat(50), 'bad'),
    ],
    ['gone', localPicture(withRun({}, false)), local],
    ['all', { ...allPicture, problems: ['GitHub cannot be asked. '.repeat(10)] }, all],
  ];
  const sizes: readonly Size[] = [1, 2, 5, 20, 40, 49, 50, 79, 80, 120].flatMap((columns) =>
    [1, 2, 3, 5, 10, 12, 24, 40].map((rows) => ({ columns, rows })),
  );
  test.each(pictures)('%s', (_, picture, session) => {
    for (const size of sizes) {
      const lines = layOutScreen(picture, size, session, noon);
      expect(lines.length).toBeLessThanOrEqual(size.rows);
      expect(lines.length).toBeGreaterThan(0);
      for (const line of lines) expect(measureWidth(line)).toBeLessThanOrEqual(size.columns);
    }
  });

  test('no room at all', () => {
    expect(layOutScreen(localPicture(), { columns: 0, rows: 0 }, local, noon)).toEqual([]);
  });
});

test('bars are coloured by how near the limit is', () => {
  const lookOf = (used: number): string | undefined =>
    layOutScreen(
      localPicture(withRun({ ...runStatus, calls: { used, limit: 100 } })),
      { columns: 80, rows: 24 },
      local,
      noon,
    )
      .find((line) => line[0]?.text === 'calls')
      ?.find(({ text }) => text.startsWith('['))?.look;
  expect([0, 79, 80, 99, 100].map(lookOf)).toEqual(['good', 'good', 'warning', 'warning', 'bad']);
});
