import { expect, test } from 'vitest';
import { isSandboxGone, NO_REMAINS, describeRemains } from '../../../../src/core/isolation/sandbox-record.ts';

test.each([
  [NO_REMAINS, null],
  [{ processes: ['sh (7)'], leftovers: [] }, 'Processes of the agent are still there: sh (7). Restart the runner.'],
  [
    { processes: [], leftovers: ['the user ralph-60800 (userdel ralph-60800)', 'the folder /x (rm -rf /x)'] },
    "The agent's sandbox could not be removed completely. As root, remove the rest on this machine: the user ralph-60800 (userdel ralph-60800); the folder /x (rm -rf /x).",
  ],
])('people learn what to do about leftovers (%#)', (remains, sentence) => {
  expect(describeRemains(remains)).toBe(sentence);
  expect(isSandboxGone(remains)).toBe(sentence === null);
});
