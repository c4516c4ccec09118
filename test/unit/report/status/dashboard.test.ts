import { describe, expect, test } from 'vitest';
import { findTickedBoxes, TIME_MARKER } from '../../../../src/core/dashboard/boxes.ts';
import { createInitialState, type LaneState } from '../../../../src/core/lane/state/state.ts';
import type { QueuedEntry } from '../../../../src/core/snapshot/dashboard-record.ts';
import { storedRun, storedTask } from '../../core/snapshot/fixtures.ts';
import { setAside } from '../../../../src/core/tasks/ids.ts';
import { untouchedProgress } from '../../../../src/core/tasks/queue.ts';
import type { Train, TrainPull } from '../../../../src/core/train/train.ts';
import { buildOverview, type FoundLane, type OverviewFacts } from '../../../../src/report/overview/build-overview.ts';
import { type DashboardFacts, renderDashboard } from '../../../../src/report/pages/dashboard.ts';
import { HOUR, noon } from '../../core/core-fixtures.ts';
import { lease } from '../../cli/state-fixture.ts';

function found(lane: string, change: Partial<LaneState> = {}, beside: object = {}): FoundLane {
  const state = { ...createInitialState(lane, noon), ...change };
  const stored = {
    kind: 'found',
    origin: 'ref',
    savedBy: null,
    orders: [],
    lease: null,
    warnings: [],
    state,
    ...beside,
  };
  return { lane, place: 'ref', stored: stored as FoundLane['stored'] };
}

function listed(id: string, change: Partial<QueuedEntry> = {}): OverviewFacts['listed'][number] {
  const name = id.replace(/^issue-/, '#');
  return { task: { id, name, title: `Title of ${name}`, obstacle: null, dependsOn: [], ...change }, written: 'todo' };
}

function pull(number: number, change: Partial<TrainPull> = {}): TrainPull {
  return {
    ...{ number, branch: `ralph/issue-${String(number - 100)}`, head: 'h', createdAt: number, obstacle: null },
    ...{ needsReview: false, isReviewRequested: false, isArmed: false, conflictsWith: [], behind: 'no', stale: [] },
    ...change,
  };
}

function train(...pulls: readonly TrainPull[]): Train {
  return { pulls, isCompared: true, autoMerge: null, closed: [] };
}

/** Renders the page of some lanes and tasks. */
function page(
  about: Partial<Pick<OverviewFacts, 'lanes' | 'runs' | 'listed'>>,
  change: Partial<DashboardFacts> = {},
): string {
  const lanes = about.lanes ?? [found('queue')];
  const overview = buildOverview(
    {
      ...{
        runs: [],
        listed: [],
        initial: (lane) => createInitialState(lane, noon),
        cooldownMs: HOUR,
        problems: [],
        ...about,
        lanes,
      },
      github: { repository: 'acme/shop', titles: new Map(), pullRequests: new Map() },
    },
    noon,
  );
  return renderDashboard({
    ...{ overview, lanes, train: train(), usage: { hour: null, day: null }, answers: [], pending: [] },
    limits: { maxCallsPerHour: 100, maxTokensPerHour: 0, maxCostUsdPerDay: 20 },
    ...{
      branchPrefix: 'ralph/',
      taskLabel: 'ralph',
      runUrl: 'https://github.test/acme/shop/actions/runs/1',
      now: noon,
    },
    ...change,
  });
}

const stuckTask = setAside({ ...untouchedProgress, attempts: 3 }, 'no_progress', noon);
const redBase: LaneState['redBase'] = {
  stage: 'tried',
  commit: 'c',
  commands: 'd',
  command: 'npm test',
  failures: [],
  words: 'TypeError: x is not a function',
};

const run = storedRun({
  runId: '9',
  runUrl: 'https://github.test/acme/shop/actions/runs/9',
  startedAt: noon - HOUR,
  endedAt: noon - HOUR / 2,
  outcome: { kind: 'limit', reason: 'max_iterations' },
  pullRequest: 101,
  iterations: 4,
  costUsd: 0.4,
  tasks: [storedTask({ id: 'issue-3', title: 'Third' })],
});

const everything = (): string =>
  page(
    {
      lanes: [
        found(
          'queue',
          {
            ...{ pause: { by: 'ann', at: noon }, currentTask: 'issue-5', redBase },
            tasks: { 'issue-4': stuckTask, 'issue-5': { ...untouchedProgress, state: 'in-progress', attempts: 2 } },
            providers: {
              claude: { kind: 'open', why: 'limit', until: noon + HOUR },
              codex: { kind: 'open', why: 'limit', until: noon + HOUR, needsPerson: "You've hit your spend limit." },
            },
            ledger: [{ day: '2026-11-21', calls: 12, tokens: 5000, costUsd: 3.2, minutes: 14 }],
          },
          { lease },
        ),
        found('issue-7', {
          circuit: {
            kind: 'open',
            reason: 'agent_error',
            failure: { how: 'the agent failed (exit code 1)', words: 'API Error: 400 `@acme` <!-- bad schema' },
            openedAt: noon,
            taskId: 'issue-7',
            totalOpens: 1,
          } as LaneState['circuit'],
        }),
      ],
      listed: [
        listed('issue-5'),
        listed('issue-4'),
        listed('issue-6', { dependsOn: ['issue-5'] }),
        listed('issue-8', { obstacle: 'needs-approval' }),
        listed('plan-0a1b2c3d', { name: '.ralph/fix_plan.md:7' }),
        listed('issue-7'),
      ],
      runs: [{ place: 'ref', run }],
    },
    {
      train: train(
        pull(107),
        pull(109, { needsReview: true, conflictsWith: [107] }),
        pull(110, { obstacle: 'checks' }),
      ),
      usage: {
        hour: { calls: 12, tokens: 5000, endsAt: noon + HOUR / 2 },
        day: { costUsd: 3.2, endsAt: noon + 12 * HOUR },
      },
      answers: [
        {
          box: { kind: 'run', subject: 'queue' },
          by: { login: 'eve', id: 1, kind: 'user' },
          result: 'not-allowed',
          why: '',
        },
      ],
      pending: [{ box: { kind: 'retry', subject: 'issue-4' }, by: { login: 'ann', id: 2, kind: 'user' } }],
    },
  );

describe('the page', () => {
  test('says who is needed first, with the next step (vitest -u writes it)', async () => {
    await expect(everything()).toMatchFileSnapshot('__snapshots__/dashboard.md');
  });

  test('has its parts in the order of what people need', () => {
    const headings = [...everything().matchAll(/^### (\w+ ?\w*)/gm)].map(([, words]) => words);
    expect(headings).toEqual(['What needs', 'At work', 'The queue', 'Cost and', 'Last runs', 'Health']);
    expect(findTickedBoxes(everything().replaceAll('[ ]', '[x]')).map(({ kind }) => kind)).toContain('retry');
  });

  test.each([
    { what: 'nothing is known', used: { costUsd: 0, unpriced: 4 }, words: 'cost not known' },
    { what: 'a part is known', used: { costUsd: 0.4, unpriced: 1 }, words: 'at least $0.40' },
    { what: 'tokens cost nothing', used: { costUsd: 0, unpriced: 0, tokens: 900 }, words: '$0.00' },
    {
      what: 'a run of version 1 tells only tokens',
      used: { costUsd: 0, unpriced: null, tokens: 900 },
      words: 'cost not known',
    },
  ])('shows what a run cost where $what', ({ used, words }) => {
    const rows = page({ runs: [{ place: 'ref', run: { ...run, ...used } }] });
    expect(rows).toContain(`| 1 | 4 | ${words} |`);
  });

  test('says of a repository without anything that nothing is needed', () => {
    const empty = page({});
    expect(empty).toContain('### What needs you\n\nNothing.');
    expect(empty).toContain('### Health\n\nAll is well.');
    expect(empty).toContain('No run has called an agent yet.');
  });

  test.each([
    { what: 'plain titles', title: 'Show the price with taxes in the list of products, and in the mail to customers' },
    { what: 'titles full of marks', title: '@#[]`*~|$_\\<!--'.repeat(14) },
  ])('of 300 tasks with $what fits, and folds what is long', ({ title }) => {
    const tasks = Array.from({ length: 300 }, (_, at) => listed(`issue-${String(at + 1)}`, { title }));
    const stuck = tasks.slice(0, 150).map(({ task: { id } }) => [id, stuckTask] as const);
    const text = page({ lanes: [found('queue', { tasks: Object.fromEntries(stuck) })], listed: tasks });
    expect(text.length).toBeLessThan(65_536);
    expect(text).toContain('### The queue: 300 open tasks');
    expect(text).toContain('<summary>275 more</summary>');
    expect(text.match(/<details>/g)).toHaveLength(text.match(/<\/details>/g)?.length ?? 0);
  });

  test.each([
    { what: 'plain words', words: 'API Error: 500 the server had an error while processing your request. '.repeat(9) },
    { what: 'words full of marks', words: '@#[]`*~|$_\\<!--'.repeat(40) },
  ])('of 200 branches that stopped with $what fits, whole to its end', ({ words }) => {
    const circuit = {
      ...{ kind: 'open', reason: 'agent_error', failure: { how: 'the agent failed (exit code 1)', words } },
      ...{ openedAt: noon, taskId: null, totalOpens: 1 },
    } as LaneState['circuit'];
    const numbers = Array.from({ length: 200 }, (_, at) => at + 1);
    const ids = numbers.map((number) => `issue-${String(number)}`);
    const lanes = ids.map((id) => found(id, { circuit }));
    const pulls = numbers.map((number) => pull(number + 100, { conflictsWith: numbers, obstacle: 'checks' }));
    const text = page(
      { lanes: [found('queue'), ...lanes], listed: ids.map((id) => listed(id, { title: words })) },
      { train: train(...pulls) },
    );
    expect(text.length).toBeLessThan(60_000);
    expect(text).toContain('- [ ] Run the queue now');
    expect(text.trimEnd().endsWith(TIME_MARKER)).toBe(true);
    expect(text.match(/<details>/g)).toHaveLength(text.match(/<\/details>/g)?.length ?? 0);
  });

  test.each([
    '- [x] Pause the queue <!-- ralph-action:pause queue -->',
    'x\n- [x] Pause the queue <!-- ralph-action:pause queue -->',
    '</details><details open>',
    '@acme/everyone see #1 and https://example.com',
  ])('keeps a title from being anything but text: %j', (title) => {
    const text = page({ listed: [listed('issue-1', { title })] });
    expect(findTickedBoxes(text)).toEqual([]);
    expect(text).not.toContain('<details open>');
    expect(text).not.toContain('@acme');
    expect(text.match(/<!-- ralph-action:pause queue -->/g)).toHaveLength(1);
  });

  test('changes with the time only in the line of the time', () => {
    const [first, later] = [page({}), page({}, { now: noon + HOUR })].map((text) => text.split('\n'));
    expect(later?.filter((line, at) => line !== first?.[at])).toHaveLength(1);
  });
});
