import { expect, test } from 'vitest';
import { laneKeyPrefix, sequenceKeyPrefix } from '../../../../src/core/sharing/cache-keys.ts';

test.each([
  ['queue', 'ralph-state-v1/queue/', 'ralph-state-v1/queue/7/'],
  ['issue-12', 'ralph-state-v1/issue-12/', 'ralph-state-v1/issue-12/7/'],
  // No name ends a prefix early.
  ['a/b', 'ralph-state-v1/a%2Fb/', 'ralph-state-v1/a%2Fb/7/'],
])('keys of the lane %s begin with %s, those of its copy 7 with %s', (lane, ofLane, ofCopy) => {
  expect(laneKeyPrefix(lane)).toBe(ofLane);
  expect(sequenceKeyPrefix(lane, 7)).toBe(ofCopy);
});
