import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { describe, expect, test } from 'vitest';
import type { LookAtGitHub, RepositoryAccess } from '../../../src/cli/arguments.ts';
import { overviewSchema } from '../../../src/report/overview/lane-waits.ts';
import { createLaneRecord, serializeRecord } from '../../../src/core/sharing/lane-record.ts';
import { noFeedback, type FeedbackItem } from '../../../src/core/feedback/memory.ts';
import { noChange } from '../../../src/core/lane/change.ts';
import { createInitialState, type LaneState } from '../../../src/core/lane/state/state.ts';
import { serializeState } from '../../../src/core/lane/state/serialize-state.ts';
import { withWaiting } from '../../../src/core/snapshot/snapshot.ts';
import { untouchedProgress } from '../../../src/core/tasks/queue.ts';
import { noon } from '../core/core-fixtures.ts';
import { ralph, settingsOf } from './fixture.ts';
import { at, createPlace, lease, MINUTE, placeWith, richState } from './state-fixture.ts';
import { publishedSchema } from '../../published-schema.ts';

test('the published JSON Schema is the one of the code (vitest -u writes it)', async () => {
  await expect(
    `${JSON.stringify(publishedSchema('ralph status --all --json', overviewSchema), null, 2)}\n`,
  ).toMatchFileSnapshot('../../../schemas/ralph-overview.schema.json');
});

test('the published JSON Schema accepts what is printed', async () => {
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  const validate = ajv.compile(publishedSchema('ralph status --all --json', overviewSchema));
  const place = placeWith(richState, { lease });
  place.put('nonsense', 'issue-7');
  const { out } = await ralph(['status', '--all', '--json'], '', at(place));
  const json = JSON.parse(out) as object;
  validate(json);
  expect(validate.errors).toBeNull();
  expect(json).toMatchObject({
    repository: null,
    branches: [
      {
        branchId: 'queue',
        waits: [
          { kind: 'run', until: '2026-11-21T12:50:00.000Z' },
          { kind: 'pause', on: 'octo [2Jcat', command: 'ralph resume' },
          { kind: 'circuit', until: '2026-11-21T12:10:00.000Z' },
          { kind: 'park', until: '2026-11-21T12:42:00.000Z' },
        ],
      },
      { kind: 'unreadable', branchId: 'issue-7' },
    ],
  });
});

test('GitHub is asked with the label and the branches that runs of the checkout have', async () => {
  const set = (input: string, text: string) => ({ input, text, origin: 'input', where: 'ralph.yml' }) as const;
  const settings = [set('task-label', 'agent-work'), set('branch-prefix', 'bot/')];
  const asked: string[] = [];
  const forge = {
    openIssuesWithLabel: (label: string) => Promise.resolve((asked.push(label), [])),
    pullRequestOf: (branch: string) => Promise.resolve((asked.push(branch), null)),
  };
  const look: LookAtGitHub = async (_checkout, see) => ({
    kind: 'seen',
    value: await see({ forge: forge as unknown as RepositoryAccess['forge'], repository: 'acme/shop' }),
  });
  const place = placeWith(createInitialState('queue', noon));
  settingsOf.set(import.meta.dirname, [{ workflow: 'ralph.yml', settings, problems: [] }]);
  await ralph(['status', '--all', '--dir', import.meta.dirname], '', at(place), { look });
  settingsOf.clear();
  expect(asked.toSorted()).toEqual(['agent-work', 'bot/queue']);
});

test.each([
  [['45'], '2026-11-21 12:25 UTC'],
  [['45', '90'], '2026-11-21 13:10 UTC'],
])('an open circuit cools down as workflows with a cooldown of %s minutes say', async (minutes, until) => {
  const circuit = {
    kind: 'open',
    totalOpens: 1,
    reason: 'no_progress',
    openedAt: noon - 20 * MINUTE,
    taskId: null,
  } as const;
  const cooldown = { input: 'circuit-cooldown-minutes', origin: 'input', where: 'ralph.yml' } as const;
  const effective = minutes.map((text) => ({ workflow: 'ralph.yml', settings: [{ ...cooldown, text }], problems: [] }));
  settingsOf.set(import.meta.dirname, effective);
  const place = placeWith({ ...createInitialState('queue', noon), circuit });
  const { out } = await ralph(['status', '--all', '--dir', import.meta.dirname], '', at(place));
  settingsOf.clear();
  expect(out).toContain(`its circuit is open (no_progress) until ${until}`);
});

describe('who waits for whom', () => {
  const base = createInitialState('queue', noon - MINUTE);
  const stuck = { ...untouchedProgress, attempts: 3 };
  const asked = (kind: 'changed' | null): FeedbackItem => ({
    ...{ kind: 'thread', title: 'ann on src/a.ts:3: Rename it.', url: null, rounds: 1, asked: '7' },
    answer: kind === null ? null : { kind, commit: null, words: null, isOurs: false, at: noon, posted: true },
  });
  const lines = async (change: Partial<LaneState>, record = {}): Promise<readonly string[]> => {
    const place = placeWith({ ...base, sequence: 1, ...change }, record);
    const { out } = await ralph(['status', '--all'], '', at(place));
    return out.split('\n').slice(2, out.split('\n').indexOf('', 2));
  };

  test.each<[string, Partial<LaneState>, readonly string[]]>([
    ['nothing to do', {}, ['queue  idle          no tasks']],
    [
      'a pull request that was asked for more',
      {
        tasks: { 'issue-1': { ...stuck, state: 'done' }, 'thread-7': { ...stuck, state: 'done' } },
        feedback: { ...noFeedback, items: { 'thread-7': asked('changed'), 'thread-9': asked(null) } },
      },
      ['queue  ready         1 of 2 tasks done', '  thread-9 ann on src/a.ts:3: Rename it.: to do'],
    ],
    ['all done', { tasks: { 'issue-1': { ...stuck, state: 'done' } } }, ['queue  done          1 of 1 task done']],
    [
      'an open circuit',
      { circuit: { kind: 'open', totalOpens: 1, reason: 'no_progress', openedAt: noon - 20 * MINUTE, taskId: null } },
      [
        'queue  circuit open  no tasks',
        '  its circuit is open (no_progress) until 2026-11-21 12:10 UTC (in 10 min); to close it now: ralph reset circuit',
      ],
    ],
    [
      'a circuit that has cooled down',
      { circuit: { kind: 'open', totalOpens: 1, reason: 'no_progress', openedAt: noon - 31 * MINUTE, taskId: null } },
      [
        'queue  circuit open  no tasks',
        '  its circuit is open (no_progress) and has cooled down: the next run probes with one iteration',
      ],
    ],
    [
      'a limit',
      { park: { reason: 'usage_limit', resumeAt: noon + 42 * MINUTE, taskId: null, branchHead: null } },
      ['queue  parked        no tasks', '  parked (usage_limit) until 2026-11-21 12:42 UTC (in 42 min)'],
    ],
    [
      'people',
      {
        tasks: {
          'issue-1': { ...stuck, state: 'failed', reason: 'max_iterations_per_task' },
          'issue-2': { ...stuck, state: 'blocked', reason: 'nothing_to_do' },
          'issue-3': { ...stuck, state: 'blocked', reason: 'status_blocked' },
          'issue-4': { ...stuck, state: 'stuck', reason: 'no_progress' },
          'prd-T5': { ...stuck, state: 'failed', reason: null, attempts: 0 },
        },
        change: noChange,
      },
      [
        'queue  stuck         0 of 5 tasks done',
        '  #1: needs a person, gave up after 3 iterations; ralph retry 1',
        '  #2: needs a person, the agent found nothing to change; ralph retry 2',
        '  #3: needs a person, the agent cannot continue without a person; ralph retry 3',
        '  #4: needs a person, set aside after 3 iterations, since nothing changed; ralph retry 4',
        '  prd-T5: needs a person, marked as failed by an earlier Ralph; ralph retry prd-T5',
      ],
    ],
  ])('%s', async (_, change, expected) => {
    expect(await lines(change)).toEqual(expected);
  });

  test('an order that the next run obeys', async () => {
    const order = { number: noon, kind: 'reset-session', task: null, run: null, by: 'octo', from: 'comment', at: noon };
    expect(await lines({}, { orders: [order] })).toContain('  the next run obeys: reset session, by octo');
  });
});

test('lanes of the checkout are shown beside those of the remote', async () => {
  const directory = createPlace('directory');
  const state = { ...createInitialState('issue-7', noon), sequence: 1 };
  directory.put(
    serializeRecord({ ...createLaneRecord('issue-7'), sequence: 1, document: serializeState(state) }),
    'issue-7',
  );
  const { out } = await ralph(['status', '--all'], '', at(createPlace('ref'), directory));
  expect(out).toMatch(/: 2 branches\n\nqueue {15}[^]*\nissue-7 \(directory\) {2}ready/);
});

test('an issue with a branch of its own shows what the queue has left of it', async () => {
  const stands = { ...untouchedProgress, state: 'failed', attempts: 3, reason: 'max_iterations_per_task' } as const;
  const ref = createPlace('ref');
  for (const [lane, tasks] of [
    ['queue', { 'issue-7': stands }],
    ['issue-7', {}],
  ] as const)
    ref.put(
      serializeRecord({
        ...{ ...createLaneRecord(lane), sequence: 1 },
        document: serializeState({ ...createInitialState(lane, noon), sequence: 1, tasks }),
      }),
      lane,
    );
  const left = { lane: 'queue', task: 'issue-7', at: noon, attempts: 3, isAsked: false };
  await ref.at.store.update((known) => ({ snapshot: withWaiting(known, [left]), message: '', answer: null }));
  const { out } = await ralph(['status', '--all'], '', at(ref));
  expect(out).toContain('  #7: needs a person, gave up after 3 iterations; ralph retry 7 --issue 7\n');
});

test('--all and --issue exclude each other', async () => {
  expect(await ralph(['status', '--all', '--issue', '7'], '', at(createPlace('ref')))).toMatchObject({
    code: 2,
    error: expect.stringContaining('--all and --issue cannot be used together') as string,
  });
});

test('only status takes --all', async () => {
  expect((await ralph(['pause', '--all'], '', at(createPlace('ref')))).error).toContain('there is no option --all');
});

test.each([
  ['status', ['status', '--all']],
  ['monitor', ['monitor', '--all', '--once']],
])('%s counts nothing where the only place cannot be reached, and says why once', async (_, args) => {
  const ref = createPlace('ref');
  ref.place.outage = 'the server cannot be reached';
  const { code, out, error } = await ralph(args, '', at(ref));
  expect(code).toBe(1);
  expect(out).not.toMatch(/0 branches|nothing/);
  expect(`${out}${error}`.match(/the server cannot be reached/g)).toHaveLength(1);
});
