import { expect, test } from 'vitest';
import type { IsolationFacts } from '../../src/core/isolation/probe.ts';
import type { HandedIntake } from '../../src/handover/intake.ts';
import { createLostWork, receiveWork, serializeWork } from '../../src/handover/work-parcel.ts';
import { createInitialState } from '../../src/core/lane/state/state.ts';
import { noon } from './core/core-fixtures.ts';
import { policy } from './report/fixtures.ts';

const HEAD = 'a'.repeat(40);

/** The part of a gate's hand-over that is compared with a parcel without an iteration. */
const handed = {
  remoteHead: null,
  shown: null,
  intake: {
    lane: { id: 'queue' },
    tasks: [],
    notes: {},
    state: createInitialState('queue', noon),
    opened: { head: HEAD, base: { branch: 'main', commit: HEAD } },
    policy,
    claimedAt: noon,
    proposes: null,
  },
} as unknown as HandedIntake;

test('facts of isolation that are too many for a parcel are cut, and the run is taken', () => {
  const isolation: IsolationFacts = {
    ...{ level: 'namespace', network: 'limited', allowedHosts: 4, keyHidden: true, processesLeft: 0, caches: null },
    why: 'x'.repeat(2_000),
    probe: { checks: 200, failed: Array.from({ length: 200 }, (_, at) => `check ${String(at)}`) },
    refused: Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`host-${String(at)}:443`, at])),
  };
  const work = createLostWork(handed, {
    outcome: { kind: 'cancelled', reason: 'killed' },
    spent: 'nothing',
    now: noon,
  });
  const text = serializeWork({ ...work, isolation }, { intake: handed, of: 'x', commits: null, session: null });
  const received = receiveWork(text, { handed, of: 'x', now: noon });
  if (received.kind !== 'work') throw new Error(JSON.stringify(received));
  expect(received.work.isolationFrom).toBe('loop-job');
  expect(received.work.isolation).toMatchObject({ level: 'namespace', refused: { 'host-499:443': 499 } });
  expect(Object.keys(received.work.isolation?.refused ?? {})).toHaveLength(100);
  expect(received.work.isolation?.probe?.failed).toHaveLength(100);
});

const asked = { ...handed, intake: { ...handed.intake, proposes: 'text' } };
const answered = {
  ...createLostWork(asked, { outcome: { kind: 'idle', reason: 'answered' }, spent: 'nothing', now: noon }),
  proposal: { text: 'text', words: 'These are the sub-tasks.' },
};
const receivedOf = (
  work: typeof answered,
  of: HandedIntake,
  commits: { sha256: string; bytes: number } | null = null,
) =>
  receiveWork(serializeWork(work, { intake: of, of: 'x', commits, session: null }), { handed: of, of: 'x', now: noon });

test('the words of a proposal are handed over; what they are about is known from the gate', () => {
  const received = receivedOf({ ...answered, proposal: { text: 'forged', words: 'Words' } }, asked);
  expect(received).toMatchObject({ kind: 'work', work: { proposal: { text: 'text', words: 'Words' } } });
});

test.each<[string, ReturnType<typeof receivedOf>, RegExp]>([
  [
    'commits',
    receivedOf({ ...answered, head: 'b'.repeat(40) }, asked, { sha256: 'c'.repeat(64), bytes: 1 }),
    /asked for a proposal only/,
  ],
  [
    'completed tasks',
    receivedOf({ ...answered, outcome: { kind: 'complete', reason: 'plan_complete' } }, asked),
    /an outcome that no loop can have/,
  ],
  ['an answer that nobody asked for', receivedOf(answered, handed), /an outcome that no loop can have/],
  [
    'words without an end',
    receivedOf({ ...answered, proposal: { text: 'text', words: 'x'.repeat(65_537) } }, asked),
    /not readable/,
  ],
])('a loop that was asked for a proposal hands over %s: nothing of it counts', (_what, received, why) => {
  expect(received).toEqual({ kind: 'unusable', why: expect.stringMatching(why) as string });
});

test('words of an agent count only in a run that was asked for a proposal', () => {
  const received = receivedOf({ ...answered, outcome: { kind: 'idle', reason: 'no_tasks' } }, handed);
  expect(received).toMatchObject({ kind: 'work', work: { proposal: null } });
});
