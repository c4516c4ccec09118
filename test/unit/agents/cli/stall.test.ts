import { describe, expect, test } from 'vitest';
import {
  type CallEvent,
  type RetryingCall,
  trackRetrying,
  computeStallInstant,
  describeStall,
} from '../../../../src/agents/cli/stall-watch.ts';

const SECOND = 1_000;
const STALL = 180 * SECOND;

/**
 * An event at a second of the call: a retry with its delay in seconds (null if it is not reported), or another event.
 */
type Moment = readonly [second: number, event: number | null | CallEvent];

const said: CallEvent = { kind: 'work', line: 'hi' };

describe('a call stalls', () => {
  test.each<[string, readonly Moment[], number | null]>([
    ['never before its first event', [], null],
    ['never by silence', [[0, said]], null],
    ['not yet while it may be answered', [[10, 1]], null],
    [
      'not yet while a slow model may answer the last try',
      [
        [10, 1],
        [100, 30],
      ],
      null,
    ],
    [
      'while it waits until its time is over',
      [
        [10, 1],
        [160, 40],
      ],
      190,
    ],
    ['at the very end of a wait', [[10, 180]], 190],
    ['in a wait that is longer than its time', [[10, 3_600]], 190],
    [
      'at once by a retry that comes too late',
      [
        [10, 1],
        [400, 1],
      ],
      190,
    ],
    [
      'no more when the agent speaks',
      [
        [10, 3_600],
        [20, said],
      ],
      null,
    ],
    [
      'counted from the first retry behind the last word',
      [
        [10, 1],
        [100, said],
        [110, 1],
        [200, 3_600],
      ],
      290,
    ],
    [
      'not yet while a try is on its way',
      [
        [10, null],
        [100, { kind: 'try', line: '' }],
      ],
      null,
    ],
    [
      'when the next one fails behind its time',
      [
        [10, null],
        [100, { kind: 'try', line: '' }],
        [400, null],
      ],
      190,
    ],
    ['never by a first try', [[10, { kind: 'try', line: '' }]], null],
    [
      'in a wait of unknown length',
      [
        [10, null],
        [20, null],
      ],
      190,
    ],
  ])('%s', (_when, moments, second) => {
    const last = moments.reduce<RetryingCall | null>((retrying, [at, event]) => {
      return trackRetrying(retrying, eventOf(event), at * SECOND);
    }, null);
    expect(computeStallInstant(last, STALL)).toBe(second === null ? null : second * SECOND);
  });
});

function eventOf(event: Moment[1]): CallEvent {
  if (typeof event === 'object' && event !== null) return event;
  const waitMs = event === null ? null : event * SECOND;
  return { kind: 'retry', line: '', retry: { status: 529, cause: 'overloaded', waitMs } };
}

test.each([
  [60_000, '1 minute'],
  [90_000, '1.5 minutes'],
  [6_000, '0.1 minutes'],
])('%i ms are %s', (stallMs, words) => {
  expect(describeStall({ status: null, cause: null }, stallMs)).toContain(`retried for ${words}, so`);
});
