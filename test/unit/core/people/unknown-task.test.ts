import { expect, test } from 'vitest';
import { describeUnknownTask } from '../../../../src/core/people/named-task.ts';

test.each<[string, string, readonly string[], string]>([
  ['the nearest come first', 'issue-99', ['issue-1', 'issue-98', 'issue-9'], 'It is not here. Nearest: #98, #9, #1.'],
  [
    'five are named',
    'issue-99',
    [1, 2, 3, 4, 5, 6, 7].map((issue) => `issue-${String(issue)}`),
    'It is not here. Nearest: #1, #2, #3, #4, #5 and 2 more.',
  ],
  ['each but once', 'prd-US-2', ['prd-US-1', 'prd-US-1'], 'It is not here. Nearest: prd-US-1.'],
  ['none', 'issue-99', [], 'It is not here. No tasks are known yet.'],
])('%s', (_, task, known, expected) => {
  expect(describeUnknownTask(task, known, 'It is not here.')).toBe(expected);
});
