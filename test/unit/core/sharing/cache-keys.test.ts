import { expect, test } from 'vitest';
import {
  formatLaneKeyPrefix,
  formatSequenceKeyPrefix,
  sequenceOfKey,
} from '../../../../src/core/sharing/cache-keys.ts';

test.each([
  ['queue', 'ralph-state-v1/queue/', 'ralph-state-v1/queue/7/'],
  ['issue-12', 'ralph-state-v1/issue-12/', 'ralph-state-v1/issue-12/7/'],
  // A lane's name cannot end the prefix early.
  ['a/b', 'ralph-state-v1/a%2Fb/', 'ralph-state-v1/a%2Fb/7/'],
])('keys of the lane %s begin with %s, those of its copy 7 with %s', (lane, ofLane, ofCopy) => {
  expect(formatLaneKeyPrefix(lane)).toBe(ofLane);
  expect(formatSequenceKeyPrefix(lane, 7)).toBe(ofCopy);
});

test.each<[string, number | null]>([
  [`${formatSequenceKeyPrefix('queue', 41)}1-1-1700000000000`, 41],
  [`${formatSequenceKeyPrefix('queue', 0)}x`, 0],
  [`${formatSequenceKeyPrefix('queue-2', 41)}x`, null],
  [formatLaneKeyPrefix('queue'), null],
  [`${formatLaneKeyPrefix('queue')}41`, null],
  [`${formatLaneKeyPrefix('queue')}-1/x`, null],
  [`${formatLaneKeyPrefix('queue')}1e3/x`, null],
  [`${formatLaneKeyPrefix('queue')}${'9'.repeat(16)}/x`, null],
])('the key %s says number %j', (key, expected) => {
  expect(sequenceOfKey('queue', key)).toBe(expected);
});
