import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { OpenPlaces } from '../../../src/cli/lane/read-lane.ts';
import { laneReportSchema } from '../../../src/cli/lane/lane-schema.ts';
import { createClosedCircuit } from '../../../src/core/lane/circuit.ts';
import { createLaneRecord, serializeRecord } from '../../../src/core/sharing/lane-record.ts';
import { createInitialState } from '../../../src/core/lane/state/state.ts';
import { serializeState } from '../../../src/core/lane/state/serialize-state.ts';
import { honourLeftCircuit } from '../../../src/core/others/left-circuit.ts';
import { withWaiting } from '../../../src/core/snapshot/snapshot.ts';
import { untouchedProgress } from '../../../src/core/tasks/queue.ts';
import { noon } from '../core/core-fixtures.ts';
import { ralph, settingsOf } from './fixture.ts';
import { runStatus } from './monitor/monitor-fixtures.ts';
import { at, createPlace, lease, MINUTE, placeWith, richBudget, richState } from './state-fixture.ts';

const status = (place: ReturnType<typeof placeWith>) => ralph(['status'], '', at(place));

describe('ralph status', () => {
  test('reports state and provenance, who works, pause, circuit, park, session, limits, tasks and the last ten changes', async () => {
    const { code, out, error } = await status(placeWith(richState, { lease }, richBudget));
    expect({ code, error }).toEqual({ code: 0, error: '' });
    expect(out.split('\n')).toEqual([
      'queue (ref): runs of the workflow',
      '  [███░░░] 1 of 2 tasks done',
      '    #13  in progress, 2 iterations (current)',
      '  state:        restored #41 (ref), saved 2026-11-21 11:00 UTC',
      '  works now:    https://github.com/acme/shop/actions/runs/98, until 2026-11-21 12:50 UTC (in 50 min) at the latest',
      '  pause:        by octo [2Jcat, since 2026-11-21 11:55 UTC; to continue: ralph resume',
      '  circuit:      open (no_progress) since 2026-11-21 11:40 UTC; cools down until 2026-11-21 12:10 UTC (in 10 min) by the default cooldown, then one iteration probes; to close it now: ralph reset circuit',
      '  parked:       usage_limit, continues from 2026-11-21 12:42 UTC (in 42 min)',
      '  session:      since 2026-11-21 10:30 UTC, last used 2026-11-21 11:30 UTC',
      '  this hour:    22 calls, 34.5k tokens, until 2026-11-21 12:30 UTC (in 30 min)',
      '  this day:     $8.20, until 2026-11-22 00:00 UTC (in 12 h 0 min)',
      '  reserved:     10 calls, $5.00 of these, by a run of queue (https://github.com/acme/shop/actions/runs/98)',
      '  last run:     waiting for a limit to reset: usage at the provider, 2026-11-21 11:00 UTC',
      '  pull request: https://github.com/acme/shop/pull/7',
      '  feedback:     1 review thread is open',
      '  Last changes:',
      ...Array.from(
        { length: 10 },
        (_, index) =>
          `    2026-11-21 11:${String(42 + index)} UTC  pause: working → paused (by person-${String(index + 2)} (comment))`,
      ),
      '',
    ]);
  });

  test('a circuit that a failed call opened quotes it', async () => {
    const failure = { how: 'the agent failed (exit code 1)', words: 'no such tool' };
    const circuit = {
      kind: 'open',
      totalOpens: 1,
      reason: 'agent_error',
      openedAt: noon,
      taskId: null,
      failure,
    } as const;
    const { out } = await status(placeWith({ ...richState, circuit }));
    expect(out).toContain('open (agent_error): the agent failed (exit code 1): `no such tool`, since 2026-11-21');
  });

  test('a change of a task names it as people do', async () => {
    const moved = { at: noon, subject: 'task' as const, from: 'issue-7 todo', to: 'in-progress', reason: 'started' };
    const { out } = await ralph(['status'], '', at(placeWith({ ...richState, transitions: [moved] })));
    expect(out).toContain('UTC  task: #7 todo → in-progress (started)\n');
  });

  test('a run that ended before it saved its state is named as in the monitor', async () => {
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'ralph-status-')));
    await mkdir(join(folder, '.ralph'));
    const run = {
      ...runStatus,
      updatedAt: new Date(noon).toISOString(),
      outcome: { kind: 'paused', reason: 'by_person' },
    };
    const shown = async (lane: string, startedAt: number): Promise<string> => {
      const document = { run: { ...run, branchId: lane, startedAt: new Date(startedAt).toISOString() } };
      await writeFile(join(folder, '.ralph', 'status.json'), JSON.stringify(document));
      const places: OpenPlaces = () =>
        Promise.resolve({ kind: 'open', folder, places: [placeWith(richState).at], person: 'octocat' });
      return (await ralph(['status'], '', places)).out;
    };
    expect(await shown('queue', noon)).toContain(
      'The last run here ended: stopped by a person, 2026-11-21 12:00 UTC; it saved no state.\n',
    );
    expect(await shown('issue-7', noon)).not.toContain('The last run here');
    expect(await shown('queue', noon - 24 * 60 * MINUTE)).not.toContain('The last run here');
    await rm(folder, { recursive: true });
  });

  test('a circuit that is one iteration short of opening is called as in the last changes', async () => {
    const change = { at: noon, subject: 'circuit', from: 'closed', to: 'half-open', reason: 'no_progress' } as const;
    const circuit = { ...createClosedCircuit(0), noProgress: 2 };
    const place = placeWith({ ...richState, circuit, transitions: [change] });
    expect((await ralph(['status'], '', at(place))).out).toContain(
      '  circuit:      half-open, 2 iterations without progress in a row\n',
    );
  });

  test('a lane that never ran', async () => {
    const { code, out } = await ralph(['status', '--issue', '7'], '', at(createPlace('ref')));
    expect(code).toBe(0);
    expect(out).toMatch(
      /^issue-7 \(ref\): runs of the workflow\n {2}state: +none yet\n {2}works now: +nobody\n {2}pause: +none\n {2}circuit: +closed\n/,
    );
  });

  test('shows the lane as its next run will find it, and the orders that this run obeys first', async () => {
    const { out } = await status(
      placeWith(richState, {
        orders: [
          { number: noon, kind: 'resume', task: null, run: null, by: 'octocat', from: 'comment', at: noon - MINUTE },
        ],
      }),
    );
    expect(out).toMatch(/^ {2}pause: +none$/m);
    expect(out).toMatch(
      /^ {2}waits: +resume, by octocat \(comment\), 2026-11-21 11:59 UTC: the next run obeys it first$/m,
    );
    expect(out).toContain('pause: paused → working (by octocat (comment))');
  });

  test('of orders about one thing shows the newest, which is what holds', async () => {
    const order = { task: null, run: null, by: 'octocat', from: 'comment', at: noon - MINUTE } as const;
    const { out } = await status(
      placeWith(richState, {
        orders: [
          { ...order, number: noon, kind: 'stop' },
          { ...order, number: noon + 1, kind: 'pause', by: 'ann' },
          { ...order, number: noon + 2, kind: 'resume' },
          { ...order, number: noon + 3, kind: 'reset-session' },
        ],
      }),
    );
    expect(out.match(/^ {2}waits: +[\w ]+, by \w+/gm)?.map((line) => line.replace(/ {2,}/g, ' '))).toEqual([
      ' waits: resume, by octocat',
      ' waits: reset session, by octocat',
    ]);
    expect(out).toMatch(/^ {2}pause: +none$/m);
  });

  test('shows the open tasks of the files with their titles, whether a run began them or not', async () => {
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'ralph-status-')));
    await writeFile(join(folder, '@fix_plan.md'), '- [x] Add a cart\n- [ ] Add a receipt\n');
    await writeFile(join(folder, 'PROMPT.md'), 'Work.');
    const open: OpenPlaces = async (checkout) => ({ ...(await at(createPlace('ref'))(checkout)), folder });
    const { out } = await ralph(['status'], '', open);
    await rm(folder, { recursive: true });
    expect(out).toContain(
      'queue (ref): runs of the workflow\n  [███░░░] 1 of 2 tasks done\n    @fix_plan.md:2  Add a receipt: to do\n',
    );
  });

  test('and what waits for a person on another branch', async () => {
    const progress = { ...untouchedProgress, state: 'blocked', attempts: 2, reason: 'status_blocked' } as const;
    const place = placeWith(richState, {}, richBudget);
    const document = serializeState({ ...createInitialState('issue-7', noon), tasks: { 'issue-7': progress } });
    place.put(serializeRecord({ ...createLaneRecord('issue-7'), sequence: 1, document }), 'issue-7');
    const answer = { lane: 'issue-7', task: 'issue-7', at: noon, attempts: 2, isAsked: false };
    await place.at.store.update((known) => ({ snapshot: withWaiting(known, [answer]), message: '', answer: null }));
    const { out } = await status(place);
    expect(out).toContain('    #7  blocked, 2 iterations\n');
  });

  test('an order that was obeyed does not wait', async () => {
    const { out } = await status(
      placeWith(
        { ...richState, ordersApplied: noon },
        { orders: [{ number: noon, kind: 'resume', task: null, run: null, by: 'octocat', from: 'comment', at: noon }] },
      ),
    );
    expect(out).not.toContain('waits:');
    expect(out).toMatch(/^ {2}pause: +by octo/m);
  });

  test.each([
    ['a lease that is over', { ...lease, acquiredAt: noon - 61 * MINUTE }],
    ['a lease of a clock that is days ahead', { ...lease, acquiredAt: noon + 48 * 60 * MINUTE }],
  ])('nobody works with %s', async (_, over) => {
    expect((await status(placeWith(richState, { lease: over }))).out).toMatch(/^ {2}works now: +nobody$/m);
  });

  test('two places are two lanes of one name: both are reported', async () => {
    const directory = placeWith({ ...createInitialState('queue', noon), sequence: 2 }, {}, undefined, 'directory');
    const { out } = await ralph(['status'], '', at(placeWith(richState), directory));
    expect([...out.matchAll(/restored (#\d+ \(\w+\))/g)].map(([, from]) => from)).toEqual([
      '#41 (ref)',
      '#2 (directory)',
    ]);
    const headings = (text: string): readonly string[] => [...text.matchAll(/^queue .*$/gm)].map(([line]) => line);
    expect(headings(out)).toEqual(['queue (ref): runs of the workflow', 'queue (directory): runs on this machine']);
    const alone = await ralph(['status'], '', at(createPlace('ref'), directory));
    expect(headings(alone.out)).toEqual(['queue (directory): runs on this machine']);
  });

  test.each([
    [[], ''],
    [['--issue', '7', '--remote', 'upstream'], ' --issue 7 --remote upstream'],
    [['--dir', "my brother's shop"], " --dir 'my brother'\\''s shop'"],
  ])('says what to type for this very lane: asked with %j', async (options, named) => {
    const issueLane = { ...richState, lane: 'issue-7' };
    const place = placeWith(richState);
    place.put(
      serializeRecord({ ...createLaneRecord('issue-7'), sequence: 41, document: serializeState(issueLane) }),
      'issue-7',
    );
    const { out } = await ralph(['status', ...options], '', at(place));
    expect(out).toContain(`; to continue: ralph resume${named}\n`);
    expect(out).toContain(`; to close it now: ralph reset circuit${named}\n`);
  });

  test.each<[string, string | null, number, string]>([
    ['with the cooldown of the settings', '45', 20, 'cools down until 2026-11-21 12:25 UTC (in 25 min), then'],
    ['that is over', '10', 20, 'has cooled down: the next run probes with one iteration; to close'],
    ['that is over by default', null, 31, 'has cooled down, by the default cooldown: the next run probes'],
  ])('a circuit that another Ralph left open, %s', async (_title, minutes, ago, words) => {
    const left = { path: '.ralph/.circuit_breaker_state', hash: 'a'.repeat(64) };
    const text = JSON.stringify({ state: 'OPEN', opened_at: new Date(noon - ago * MINUTE).toISOString() });
    const place = placeWith(honourLeftCircuit(createInitialState('queue', noon), { ...left, text }, noon).state);
    const setting = {
      input: 'circuit-cooldown-minutes',
      text: minutes ?? '',
      origin: 'file',
      where: '.ralphrc:1',
    } as const;
    if (minutes !== null)
      settingsOf.set(import.meta.dirname, [{ workflow: 'ralph.yml', settings: [setting], problems: [] }]);
    const { out } = await ralph(['status', '--dir', import.meta.dirname], '', at(place));
    settingsOf.clear();
    expect(out).toContain('open (no_progress), left by another Ralph, since 2026-11-21 11:');
    expect(out).toContain(words);
  });

  test("a server's message is one sentence", async () => {
    const ref = createPlace('ref');
    ref.place.outage = 'there is no such repository (git said: make sure the repository exists.)';
    expect((await status(ref)).error).toBe(
      'ralph status: The remote cannot be reached: there is no such repository (git said: make sure the repository exists.)\n',
    );
  });

  test("another person's text cannot steer the terminal", async () => {
    const { out } = await status(placeWith(richState));
    expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f\u202e]/);
  });

  test.each<[string, string, string]>([
    ['a newer record', '{"version":9}', 'was written by a newer version of this program (version 9)'],
    [
      'a newer document',
      JSON.stringify({
        version: 1,
        lane: 'queue',
        sequence: 3,
        document: '{"version":10,"lane":"queue"}',
        savedBy: null,
        lease: null,
        orders: [],
      }),
      'was written by a newer version of this program (version 10)',
    ],
    [
      'a document that is garbage',
      JSON.stringify({ version: 1, lane: 'queue', sequence: 3, document: '{', savedBy: null, lease: null, orders: [] }),
      'The state in the ref cannot be read: it is not a JSON object',
    ],
    ['a record that is garbage', 'nonsense', 'cannot be read'],
  ])('%s: why, and it ends with 1', async (_, text, why) => {
    const place = createPlace('ref');
    place.put(text);
    const { code, out, error } = await status(place);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(error).toMatch(/^ralph status: /);
    expect(error).toContain(why);
  });

  test('a place that cannot be reached does not hide the other one', async () => {
    const ref = createPlace('ref');
    ref.place.outage = 'the server cannot be reached';
    const { code, out, error } = await ralph(['status'], '', at(ref, placeWith(richState, {}, undefined, 'directory')));
    expect(code).toBe(1);
    expect(out).toContain('restored #41 (directory)');
    expect(error).toContain('the server cannot be reached');
  });

  test('counters that cannot be read count as used up, and it says so', async () => {
    const place = placeWith(richState);
    place.damageBudget();
    const { code, out } = await status(place);
    expect(code).toBe(0);
    expect(out).toMatch(/^ {2}this hour: +used up, until 2026-11-21 13:00 UTC/m);
    expect(out).toMatch(/^ {2}this day: +used up, until 2026-11-22 00:00 UTC/m);
    expect(out).toMatch(/^ {2}warning: +The repository's usage counters cannot be read/m);
  });

  test('instants beyond every calendar are reported anyway', async () => {
    const { code } = await status(
      placeWith(
        richState,
        {},
        { ...richBudget, windows: { hour: { openedAt: 8.64e15, calls: 1, tokens: 0 }, day: null } },
      ),
    );
    expect(code).toBe(0);
  });
});

describe('orders', () => {
  test('ralph stop says that a run which works now ends after its iteration', async () => {
    const place = placeWith(richState, { lease });
    expect((await ralph(['stop'], '', at(place))).out).toMatch(
      /^Order saved \(ref\): stop\. The next run of the queue obeys it before anything else; a run in progress now ends after its current iteration, and one of three jobs at its end\./,
    );
    expect(place.record().orders).toMatchObject([{ kind: 'stop', by: 'Ann Other' }]);
  });

  test.each([['12'], ['#12'], ['issue-12']])('ralph retry %s is about that task alone', async (name) => {
    const place = placeWith(richState);
    const { code, out } = await ralph(['retry', name], '', at(place));
    expect(code).toBe(0);
    expect(out).toMatch(/retry issue-12, by Ann Other/);
    expect(place.record().orders).toMatchObject([{ kind: 'retry', task: 'issue-12' }]);
  });

  test.each([
    ['US-003', 'prd-US-003'],
    ['.ralph/fix_plan.md:2', /^plan-[0-9a-f]{12}$/],
  ])('ralph retry %s is about the task that is shown so', async (name, id) => {
    const folder = await mkdtemp(join(tmpdir(), 'ralph-retry-'));
    await mkdir(join(folder, '.ralph'));
    await writeFile(join(folder, '.ralph/fix_plan.md'), '# Plan\n- [ ] Add a cart\n');
    const failed = { state: 'failed', attempts: 8, startedTree: null, doneCommit: null } as const;
    const tasks = { 'prd-US-003': { ...failed, reason: 'max_iterations_per_task', setAside: null } } as const;
    const place = placeWith({ ...richState, tasks });
    const open: OpenPlaces = async (asked) => ({ ...(await at(place)(asked)), folder });
    expect(await ralph(['retry', name], '', open)).toMatchObject({ code: 0, error: '' });
    const [given] = place.record().orders;
    expect(given?.task).toMatch(id);
    await rm(folder, { recursive: true });
  });

  test('ralph retry of what can be no task is refused, and nothing is ordered', async () => {
    const place = placeWith(richState);
    const { code, error } = await ralph(['retry', ' '], '', at(place));
    expect({ code, error }).toMatchObject({ code: 2, error: expect.stringContaining('" " is not a task') });
    expect(place.record().orders).toEqual([]);
  });

  test.each([
    ['a task that no run worked on', ['retry', '99'], 'No run of the queue has worked on #99. Nearest: #12, #13.'],
    [
      'a task with a branch of its own',
      ['retry', '7'],
      'No run of the queue has worked on #7. Nearest: #12, #13. It has a branch of its own: add --issue 7.',
    ],
    ['a name of nothing', ['retry', '../x'], 'There is no task ../x in the queue or in .ralph/fix_plan.md, '],
    ['an entry of no file', ['retry', 'prd-US-1'], 'There is no task prd-US-1 in the queue or in .ralph/fix_plan.md, '],
    ...[['pause'], ['resume'], ['stop'], ['reset', 'circuit'], ['reset', 'session'], ['retry', '99']].map(
      (args): [string, readonly string[], string] => [
        `${args.join(' ')} of an issue without a branch of its own`,
        [...args, '--issue', '99'],
        '--issue: #99 does not have a branch of its own yet, so it cannot take an order. These have one: #7.',
      ],
    ),
  ])('%s is an error that names what exists, and nothing is ordered', async (_, args, why) => {
    const place = placeWith(richState);
    place.put(serializeRecord(createLaneRecord('issue-7')), 'issue-7');
    const { code, out, error } = await ralph(args, '', at(place));
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(error).toContain(`ralph ${args[0] ?? ''}: ${why}`);
    expect(place.record().orders).toEqual([]);
  });

  test('of a task that a run may be working on now are kept', async () => {
    const [reservation] = richBudget.reservations;
    if (reservation === undefined) throw new Error('no reservation');
    const budget = { ...richBudget, reservations: [{ ...reservation, tasks: ['issue-99'] }] };
    const place = placeWith(richState, { lease }, budget);
    expect((await ralph(['retry', '99'], '', at(place))).code).toBe(0);
  });

  test('of a task of a place that cannot be read are not refused for that', async () => {
    const place = placeWith(richState, { document: 'nonsense' });
    expect((await ralph(['retry', '99'], '', at(place))).error).not.toContain('There is no task');
  });

  test.each([
    [['pause'], 'pause', 'pause'],
    [['resume'], 'resume', 'resume'],
    [['reset', 'circuit'], 'reset circuit', 'reset-circuit'],
    [['reset', 'session'], 'reset session', 'reset-session'],
    [['retry'], 'retry', 'retry'],
  ] as const)('ralph %s leaves the order with who gave it', async (args, words, kind) => {
    const place = placeWith(richState, { lease });
    const { code, out, error } = await ralph(args, '', at(place));
    expect({ code, error }).toEqual({ code: 0, error: '' });
    expect(out).toMatch(
      new RegExp(
        `^Order saved \\(ref\\): ${words}\\. The next run of the queue obeys it before anything else; a run in progress now continues to its end\\. Runs in Actions obey it when their \`state-store\` is \`auto\` \\(the default\\) or \`ref\`\\.\n\nqueue`,
      ),
    );
    expect(out).toContain(`${words}, by Ann Other (command-line), 2026-11-21 12:00 UTC`);
    const { orders, lease: kept, document } = place.record();
    expect(orders).toEqual([
      { kind, task: null, run: null, by: 'Ann Other', from: 'command-line', at: noon, number: noon },
    ]);
    // The document and the lease are unchanged.
    expect({ kept, document }).toEqual({ kept: lease, document: serializeState(richState) });
  });

  test('stop at home says what the run there does, and nothing of jobs', async () => {
    const { out } = await ralph(['stop'], '', at(createPlace('directory')));
    expect(out).toContain(
      'Order saved (directory): stop. The next "ralph run" obeys it before anything else; one at work now ends after its current iteration.\n',
    );
  });

  test('are kept in every place', async () => {
    const [ref, directory] = [createPlace('ref'), createPlace('directory')];
    const { out } = await ralph(['pause'], '', at(ref, directory));
    expect(out).toContain('Order saved (ref and directory): pause.');
    expect(ref.record().orders).toEqual(directory.record().orders);
  });

  test('say where they could not be kept, show the others, and end with 1', async () => {
    const ref = createPlace('ref');
    ref.place.outage = 'the server cannot be reached';
    const { code, out, error } = await ralph(['pause'], '', at(ref, createPlace('directory')));
    expect(code).toBe(1);
    expect(out).toContain(
      'Order saved (directory): pause. The next "ralph run" obeys it before anything else; one at work now continues to its end.\n',
    );
    expect(error).toBe(
      'ralph pause: the order could not be saved in the ref, and nothing was changed there: the server cannot be reached\n',
    );
  });

  test('that are kept nowhere print nothing else', async () => {
    const place = createPlace('ref');
    place.put('{"version":9}');
    const { code, out, error } = await ralph(['reset', 'circuit'], '', at(place));
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(error).toContain('newer version');
  });

  test('that are not kept everywhere report every place to a program', async () => {
    const [ref, newer] = [createPlace('ref'), createPlace('directory')];
    ref.place.outage = 'the server cannot be reached';
    newer.put('{"version":9}');
    const { code, out, error } = await ralph(['pause', '--json'], '', at(ref, newer, createPlace('directory')));
    expect(code).toBe(1);
    expect(laneReportSchema.parse(JSON.parse(out)).places.map(({ kind }) => kind)).toEqual([
      'unavailable',
      'newer',
      'branch',
    ]);
    expect(error.split('\n')).toHaveLength(3);
  });

  test('of somebody with a long or odd name are readable anyway', async () => {
    const place = createPlace('ref');
    const { code } = await ralph(['pause'], '', () =>
      Promise.resolve({
        kind: 'open',
        folder: import.meta.dirname,
        places: [place.at],
        person: `\u001b[2J${'界'.repeat(300)}\n`,
      }),
    );
    expect(code).toBe(0);
    const [order] = place.record().orders;
    expect(order?.by).toBe(`${'界'.repeat(99)}…`);
  });
});
