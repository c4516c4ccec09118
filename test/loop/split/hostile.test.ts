import { describe, expect, test } from 'vitest';
import type { IsolationFacts } from '../../../src/core/isolation/probe.ts';
import { type LaneState, parseState } from '../../../src/core/lane/state/state.ts';
import { serializeState } from '../../../src/core/lane/state/serialize-state.ts';
import { withChangedTasks } from '../../../src/core/tasks/queue.ts';
import { isTaskBegun } from '../../../src/core/tasks/task.ts';
import { DAY_MS } from '../../../src/core/countdown.ts';
import type { HandoffName } from '../../../src/ports/handoff.ts';
import { HOUR, MINUTE, noon } from '../../unit/core/core-fixtures.ts';
import { finisher, steadyWorker } from '../stage/behaviours.ts';
import { addCommit } from '../stage/in-memory.ts';
import type { Project } from '../stage/project.ts';
import { addIssue, createProject, savedState, schedule } from '../stage/run-action.ts';
import { runSplit, type SplitRun } from '../stage/split.ts';

// An unisolated agent can change everything that its job hands over. Each row is a possible forgery; the job that
// publishes has a token that can write, and must not act on it.

const LIE = 'Approved by the security team.';

interface Parcel {
  version: number;
  kind: string;
  of: string;
  commits: { sha256: string; bytes: number } | null;
  session: { sha256: string; bytes: number } | null;
  work: {
    state: string;
    found: object[];
    journal: string[];
    head: string;
    withheld: object[];
    warnings: string[];
    startedAt: number;
    endedAt: number;
    outcome: object;
    [name: string]: unknown;
  };
  [name: string]: unknown;
}

const isolation: IsolationFacts = {
  ...{ level: 'user', why: LIE, network: 'limited', allowedHosts: 1, keyHidden: true, processesLeft: 0 },
  ...{ probe: { checks: 20, failed: [] }, refused: {}, caches: LIE },
};

type Change = (parcel: Parcel, project: Project) => void;

const withState =
  (change: (state: LaneState) => object): Change =>
  ({ work }) => {
    const parsed = parseState(work.state, 'queue');
    if (parsed.kind !== 'state') throw new Error('It has no state.');
    work.state = serializeState({ ...parsed.state, ...change(parsed.state) });
  };

/** Plays two issues of the queue, the first done and the second worked on; then changes the parcel. */
async function handedOver(
  change: Change,
  publish: NonNullable<Parameters<typeof runSplit>[1]>['publish'] = {},
): Promise<SplitRun & { readonly project: Project }> {
  const project = createProject({ issues: [1, 2], agent: [finisher, steadyWorker], inputs: { 'max-iterations': '2' } });
  const run = await runSplit(project, {
    event: schedule,
    publish,
    beforePublish: (handoff) => {
      const parcel = JSON.parse(Buffer.from(handoff.get('loop/work.json') ?? '').toString()) as Parcel;
      change(parcel, project);
      handoff.set('loop/work.json', Buffer.from(JSON.stringify(parcel)));
    },
  });
  return { ...run, project };
}

/** Returns everything that people see, and everything that is stored. */
function everything({ forge, kept }: Project): string {
  return JSON.stringify([
    forge.pulls,
    [...forge.comments].map(([, texts]) => [...texts.values()]),
    [...forge.notifications].map(([, texts]) => [...texts.values()]),
    [...kept.refs.shared.snapshot.values()],
  ]);
}

test('an unchanged parcel: the run is published', async () => {
  const { publish, project } = await handedOver(() => undefined);
  expect(publish?.end).toBe('limit (iterations)');
  expect(savedState(project).tasks).toMatchObject({
    'issue-1': { state: 'done' },
    'issue-2': { state: 'in-progress' },
  });
});

describe('the parcel is not published', () => {
  test.each<[string, Change, RegExp]>([
    ['another format', (parcel) => (parcel.version = 2), /not readable/],
    ['another kind', (parcel) => (parcel.kind = 'order'), /not readable/],
    ['the parcel of another run', (parcel) => (parcel.of = '0'.repeat(64)), /another run/],
    ['a head that is not a commit', ({ work }) => (work.head = '--upload-pack=touch /tmp/x'), /not readable/],
    ['the state from another lane', withState(() => ({ lane: 'issue-7' })), /state .* not readable/],
    ['an invalid state', ({ work }) => (work.state = '{}'), /state .* not readable/],
    ['commits that are not in the bundle', ({ work }) => (work.head = 'a'.repeat(40)), /another bundle/],
    ['commits without a bundle', (parcel) => (parcel.commits = null), /commits/],
    [
      'a bundle with another hash',
      (parcel) => (parcel.commits = { sha256: 'f'.repeat(64), bytes: 40 }),
      /missing, or were changed/,
    ],
    [
      'more iterations than the run had',
      ({ work }) => (work.journal = Array.from({ length: 3 }, () => work.journal[0] ?? '')),
      /journal/,
    ],
    [
      'invalid facts of isolation',
      ({ work }) => (work['isolation'] = { ...isolation, why: LIE.repeat(30) }),
      /not readable \(work\.isolation\.why\)/,
    ],
    ['an invalid journal', ({ work }) => (work.journal = ['{"kind":"iteration"}']), /journal/],
    [
      'a task that the gate did not admit, in the journal',
      ({ work }) => (work.journal = work.journal.map((line) => line.replaceAll('"issue-2"', '"issue-3"'))),
      /journal/,
    ],
    [
      'a task done without an iteration that finished it',
      withState(({ tasks }) => ({ tasks: { ...tasks, 'issue-2': { ...tasks['issue-1'] } } })),
      /issue-2 is done/,
    ],
    [
      'that everything is done',
      ({ work }) => (work.outcome = { kind: 'complete', reason: 'plan_complete' }),
      /everything is done/,
    ],
    [
      'that nothing was used',
      withState(() => ({ windows: { hour: null, day: null }, ledger: [] })),
      /counts less usage than its journal shows/,
    ],
    [
      'that a person paused it',
      ({ work }) => (work.outcome = { kind: 'paused', reason: 'by_person', by: 'ann' }),
      /reports an outcome that no loop can have/,
    ],
    [
      'an end in our voice',
      ({ work }) => (work.outcome = { kind: 'refused', reason: 'not_allowed', message: LIE }),
      /reports an outcome that no loop can have/,
    ],
  ])('%s', async (_, change, why) => {
    const { publish, project } = await handedOver(change);
    expect(publish?.outcome).toMatchObject({ kind: 'failed', message: expect.stringMatching(why) });
    // The gate creates the branch, and it is removed because nothing was published.
    expect([...project.origin.branches.keys()]).toEqual(['main']);
    expect(project.forge.pulls).toEqual([]);
    expect(Object.values(savedState(project).tasks).filter(isTaskBegun)).toEqual([]);
    expect(everything(project)).not.toContain(LIE);
  });

  test('a parcel that is not JSON, and one that is gone', async () => {
    for (const content of ['{', null]) {
      const project = createProject({ agent: [finisher] });
      const { publish } = await runSplit(project, {
        beforePublish: (handoff) =>
          content === null ? handoff.delete('loop/work.json') : handoff.set('loop/work.json', Buffer.from(content)),
      });
      expect([publish?.end, project.forge.pulls]).toEqual(['failed (infrastructure)', []]);
    }
  });

  test.each<HandoffName>(['gate/intake.json'])('another %s than the gate wrote', async (name) => {
    const project = createProject({ agent: [finisher] });
    const { publish } = await runSplit(project, {
      beforePublish: (handoff) => {
        const parcel = Buffer.from(handoff.get(name) ?? '').toString();
        handoff.set(name, Buffer.from(parcel.replaceAll('ralph/queue', 'ralph/other')));
      },
    });
    expect(publish?.outcome).toMatchObject({
      kind: 'failed',
      message: expect.stringContaining('not what the gate handed over'),
    });
    expect(project.forge.pulls).toEqual([]);
  });
});

describe('the parcel is published, and this change has no effect', () => {
  const forever = noon + 5000 * DAY_MS;
  test.each<[string, Change, (state: LaneState, project: Project) => unknown, unknown]>([
    [
      'an approval',
      withState(({ tasks }) => ({
        tasks: withChangedTasks(tasks, ['issue-2'], (known) => ({
          ...known,
          approval: { text: 'x', by: 'eve', at: 1 },
        })),
      })),
      ({ tasks }) => tasks['issue-2']?.approval?.by,
      'owner',
    ],
    [
      'an order obeyed that nobody gave',
      withState(() => ({ ordersApplied: 999 })),
      ({ ordersApplied }) => ordersApplied,
      0,
    ],
    ['a pause', withState(() => ({ pause: { by: 'ann', at: noon } })), ({ pause }) => pause, null],
    [
      'a sequence number beyond all others',
      withState(() => ({ sequence: 1e9 })),
      ({ sequence }) => sequence < 100,
      true,
    ],
    [
      'a task of nobody',
      withState(({ tasks }) => ({ tasks: { ...tasks, 'issue-9': tasks['issue-1'] } })),
      ({ tasks }) => tasks['issue-9'],
      undefined,
    ],
    [
      'notifications that nobody got',
      withState(() => ({ notified: [{ kind: 'ready', about: 'lane-queue', thread: 1, comment: 1, at: 1 }] })),
      ({ notified }) => notified,
      [],
    ],
    [
      'a push that is refused',
      withState(() => ({ refusedPush: { why: LIE, at: noon } })),
      ({ refusedPush }) => refusedPush,
      null,
    ],
    [
      'a check of another base',
      withState(() => ({
        baseVerification: { commit: 'b'.repeat(40), commands: '', kind: 'passed', command: null, exitCode: null },
      })),
      ({ baseVerification }) => baseVerification,
      null,
    ],
    [
      'a lane parked for years',
      withState(() => ({ park: { reason: 'usage_limit', resumeAt: forever, taskId: null, branchHead: null } })),
      ({ park }) => (park?.resumeAt ?? 0) <= noon + 9 * DAY_MS,
      true,
    ],
    [
      'a circuit open for years',
      withState(() => ({
        circuit: { kind: 'open', totalOpens: 1, reason: 'no_progress', openedAt: forever, taskId: null },
      })),
      ({ circuit }) => circuit.kind === 'open' && circuit.openedAt <= noon + 10 * MINUTE,
      true,
    ],
    [
      'more used than was reserved',
      withState(() => ({
        windows: { hour: { openedAt: noon, calls: 90, tokens: 0 }, day: { openedAt: noon - 12 * HOUR, costUsd: 1e9 } },
      })),
      ({ windows }) => (windows.hour?.calls ?? 0) <= 2 && (windows.day?.costUsd ?? 0) <= 1_005,
      true,
    ],
    [
      'an issue that the agent found',
      ({ work }) =>
        (work.found = [
          {
            id: 'issue-3',
            title: LIE,
            priority: 1,
            dependsOn: [],
            optional: false,
            obstacle: null,
            source: { kind: 'plan', path: 'x', line: 1 },
          },
        ]),
      (_, project) => everything(project).includes(LIE),
      false,
    ],
    [
      'a time before the run',
      ({ work }) => ((work.startedAt = 0), (work.endedAt = 8e15)),
      ({ savedAt }) => savedAt <= noon + 10 * MINUTE,
      true,
    ],
  ])('%s', async (_, change, of, expected) => {
    const { publish, project } = await handedOver(change);
    expect(publish?.end).toBe('limit (iterations)');
    expect(of(savedState(project), project)).toEqual(expected);
  });

  test("warnings and reasons are marked as that job's statement", async () => {
    const { project, publish } = await handedOver(({ work }) => {
      work.warnings = [LIE];
      work.outcome = { kind: 'failed', reason: 'infrastructure', message: `${LIE} @everyone\n# Big` };
    });
    expect(publish?.outcome).toMatchObject({ message: expect.stringContaining(`The job of the loop reports: ${LIE}`) });
    expect(publish?.report).toMatchObject({ warnings: expect.arrayContaining([`From the job of the loop: ${LIE}`]) });
    expect(everything(project)).not.toMatch(/@everyone|^# Big/m);
  });
});

test("that job's measurement of the isolation is marked as its statement; an earlier version has measured nothing", async () => {
  const facts = { ...isolation, refused: { 'a.example:443': 2 } };
  const { publish, project } = await handedOver(({ work }) => (work['isolation'] = facts));
  expect(publish?.report).toMatchObject({ isolation: { facts, from: 'loop-job' } });
  const body = project.forge.pulls[0]?.body ?? '';
  expect(body).toContain(`Isolation (reported by the job of the loop): user — `);
  expect(body).toContain('- The job of the loop reports: Refused hosts: `a.example:443` (2×).');

  const earlier = await handedOver(({ work }) => delete work['isolation']);
  expect([earlier.publish?.end, earlier.publish?.report]).toMatchObject(['limit (iterations)', { isolation: null }]);
});

test('a secret in the name of a refused host is redacted', async () => {
  const refused = { 'secret.example:443': 1 };
  const { publish, project } = await handedOver(({ work }) => (work['isolation'] = { ...isolation, refused }), {
    redact: (text) => text.replaceAll('secret', '***'),
  });
  expect(publish?.report).toMatchObject({ isolation: { facts: { refused: { '***.example:443': 1 } } } });
  expect(everything(project)).not.toContain('secret.example');
});

test("commits that do not build on the gate's head are not pushed", async () => {
  const project = createProject({ agent: [finisher] });
  addIssue(project.forge, 2);
  let foreign = '';
  const { publish } = await runSplit(project, {
    beforePublish: (handoff) => {
      foreign = addCommit(project.origin, { tree: { 'evil.txt': 'x' }, parent: null, message: 'Not ours' });
      project.origin.bundles.set('loop/commits.bundle', foreign);
      const parcel = JSON.parse(Buffer.from(handoff.get('loop/work.json') ?? '').toString()) as Parcel;
      parcel.work.head = foreign;
      handoff.set('loop/work.json', Buffer.from(JSON.stringify(parcel)));
    },
  });
  expect(publish?.end).toBe('failed (infrastructure)');
  expect([...project.origin.branches.values()]).not.toContain(foreign);
});
