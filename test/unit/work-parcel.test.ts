import { expect, test } from 'vitest';
import type { IsolationFacts } from '../../src/core/isolation/probe.ts';
import type { HandedIntake } from '../../src/handover/intake.ts';
import { lostWork, receiveWork, serializeWork } from '../../src/handover/work-parcel.ts';
import { initialState } from '../../src/core/lane/state/state.ts';
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
    state: initialState('queue', noon),
    opened: { head: HEAD, base: { branch: 'main', commit: HEAD } },
    policy,
    claimedAt: noon,
  },
} as unknown as HandedIntake;

test('facts of isolation that are too many for a parcel are cut, and the run is taken', () => {
  const isolation: IsolationFacts = {
    ...{ level: 'namespace', network: 'limited', allowedHosts: 4, keyHidden: true, processesLeft: 0 },
    why: 'x'.repeat(2_000),
    probe: { checks: 200, failed: Array.from({ length: 200 }, (_, at) => `check ${String(at)}`) },
    refused: Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`host-${String(at)}:443`, at])),
  };
  const work = lostWork(handed, { outcome: { kind: 'cancelled', reason: 'killed' }, spent: 'nothing', now: noon });
  const text = serializeWork({ ...work, isolation }, { intake: handed, of: 'x', commits: null, session: null });
  const received = receiveWork(text, { handed, of: 'x', now: noon });
  if (received.kind !== 'work') throw new Error(JSON.stringify(received));
  expect(received.work.isolationFrom).toBe('loop-job');
  expect(received.work.isolation).toMatchObject({ level: 'namespace', refused: { 'host-499:443': 499 } });
  expect(Object.keys(received.work.isolation?.refused ?? {})).toHaveLength(100);
  expect(received.work.isolation?.probe?.failed).toHaveLength(100);
});
