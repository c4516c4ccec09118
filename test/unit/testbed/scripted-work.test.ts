import { expect, test } from 'vitest';
import { isLastTask, writeStatusBlock, parseNamedTask, visitOf } from '../../../testbed/scripted-work.ts';
import { composePrompt } from '../../../src/core/prompt/prompt.ts';
import { promptParts, task } from '../core/core-fixtures.ts';

// The stand-ins read our prompts; this test keeps the two consistent.
test.each([
  { open: 2, last: false },
  { open: 1, last: true },
  { open: 11, last: false },
])('a prompt with $open open tasks names its task, and is about the last one: $last', ({ open, last }) => {
  const prompt = promptWith(open);
  expect(parseNamedTask(prompt)).toEqual({ id: 'issue-12', title: 'Say "hello" – twice', item: null });
  expect(isLastTask(prompt)).toBe(last);
});

test('a text without a task names none', () => {
  expect(parseNamedTask('do something')).toBeNull();
});

test('the first visit begins a task, the second finishes it in another file', () => {
  const [first, second] = [1, 2].map((number) => visitOf({ id: 'issue-12', title: 'x', item: null }, number));
  expect([first?.finishes, second?.finishes]).toEqual([false, true]);
  expect(first?.path).not.toBe(second?.path);
});

test.each([
  { finishes: true, exit: false, lines: ['STATUS: COMPLETE', 'TASKS_COMPLETED_THIS_LOOP: 1', 'EXIT_SIGNAL: false'] },
  {
    finishes: false,
    exit: false,
    lines: ['STATUS: IN_PROGRESS', 'TASKS_COMPLETED_THIS_LOOP: 0', 'EXIT_SIGNAL: false'],
  },
  { finishes: true, exit: true, lines: ['STATUS: COMPLETE', 'EXIT_SIGNAL: true'] },
])('a visit with finishes: $finishes and exit: $exit claims $lines', ({ finishes, exit, lines }) => {
  expect(writeStatusBlock({ finishes, exit, tests: 'NOT_RUN', recommendation: 'none' }).split('\n')).toEqual(
    expect.arrayContaining(lines),
  );
});

function promptWith(open: number): string {
  return composePrompt({
    ...promptParts,
    promptTemplate: '# Your task: be kind\n\nBe kind.',
    task: task(12, { title: 'Say "hello" – twice', body: 'Please.\n- Tasks: 0 done, 1 open' }),
    remaining: { all: open, done: 0, open, requiredOpen: open, failed: 0, blocked: 0, stuck: 0 },
  });
}
