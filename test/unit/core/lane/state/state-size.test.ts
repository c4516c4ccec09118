import { expect, test } from 'vitest';
import { createInitialState, MAX_STATE_BYTES, parseState } from '../../../../../src/core/lane/state/state.ts';
import { serializeState } from '../../../../../src/core/lane/state/serialize-state.ts';
import type { TaskProgress } from '../../../../../src/core/tasks/task.ts';

const done: TaskProgress = {
  state: 'done',
  attempts: 2,
  startedTree: 'a'.repeat(40),
  doneCommit: 'b'.repeat(40),
  reason: null,
  setAside: null,
};
const failed: TaskProgress = { ...done, state: 'failed', reason: 'max_iterations_per_task', doneCommit: null };

test.each([200, 600, 2_000])('of %i finished boxes none is forgotten, however large the state is', (many) => {
  const ids = Array.from({ length: many }, (_, n) => `plan-${String(n).padStart(12, '0')}`);
  const tasks = Object.fromEntries(ids.map((id, n) => [id, n % 50 === 7 ? failed : done]));
  const document = serializeState({ ...createInitialState('queue', 1), tasks });
  expect(Buffer.byteLength(document)).toBeLessThanOrEqual(MAX_STATE_BYTES);
  const parsed = parseState(document, 'queue');
  const kept = parsed.kind === 'state' ? parsed.state.tasks : {};
  for (const id of ids) expect([id, kept[id]?.state]).toEqual([id, tasks[id]?.state]);
});

test('100 tasks that wait for long protected paths stay, without the paths', () => {
  const needs = Array.from({ length: 5 }, () => 'p'.repeat(200));
  const waiting: TaskProgress = { ...done, state: 'blocked', reason: 'withheld', doneCommit: null, needs };
  const tasks = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`issue-${String(n)}`, waiting]));
  const document = serializeState({ ...createInitialState('queue', 1), tasks });
  expect(Buffer.byteLength(document)).toBeLessThanOrEqual(MAX_STATE_BYTES);
  const parsed = parseState(document, 'queue');
  expect(parsed.kind === 'state' ? Object.values(parsed.state.tasks).map(({ state }) => state) : []).toHaveLength(100);
});

test('a list of finished tasks that contains anything but ids makes the document unreadable', () => {
  const document = JSON.stringify({ ...createInitialState('queue', 1), done: [1] });
  expect(parseState(document, 'queue')).toMatchObject({
    kind: 'unreadable',
    why: expect.stringContaining('done') as string,
  });
});
