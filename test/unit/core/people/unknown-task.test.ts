import { expect, test } from 'vitest';
import { unknownTask } from '../../../../src/core/people/unknown-task.ts';

test.each<[string, string, readonly string[], string]>([
  [
    'the nearest come first',
    'issue-99',
    ['issue-1', 'issue-98', 'issue-9'],
    'There is no task #99 here. Nearest: #98, #9, #1.',
  ],
  [
    'five are named',
    'issue-99',
    [1, 2, 3, 4, 5, 6, 7].map((issue) => `issue-${String(issue)}`),
    'There is no task #99 here. Nearest: #1, #2, #3, #4, #5 and 2 more.',
  ],
  ['each but once', 'prd-US-2', ['prd-US-1', 'prd-US-1'], 'There is no task prd-US-2 here. Nearest: prd-US-1.'],
  ['none', 'issue-99', [], 'There is no task #99 here. There are none at all.'],
])('%s', (_, task, known, expected) => {
  expect(unknownTask(task, known, ' here')).toBe(expected);
});
