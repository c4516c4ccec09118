import fc from 'fast-check';
import { expect, test } from 'vitest';
import { nextStep, startRun } from '../../src/core/decide.ts';
import { parseJournalLine, serializeEntry, serializeStart, type JournalEntry, type JournalStart } from '../../src/core/journal.ts';
import { beginIteration, settle } from '../../src/core/settle.ts';
import { analysis, evidence, minute, noon, play, policy, progress, task } from './core-fixtures.ts';

const before = play([progress(), {}]);
const start: JournalStart = { version: 1, lane: 'queue', startedAt: noon, policy, tasks: [task(1, { body: '' })], state: before.state };
const facts = {
  analysis: analysis({ errors: [{ text: 'Error: x\n', fingerprint: 'x' }], signal: { status: 'COMPLETE', recommendation: 'a\u2028b "c"' }, usageLimit: { window: 'weekly', resumeAt: null } }),
  evidence: evidence('a', { to: 'b', verification: 'failed', end: { kind: 'timeout', of: 'call' } }),
};
const settled = settle(beginIteration(before.state, { taskId: 'issue-1', tree: 'a' }, policy, noon), { task: task(1), tasks: start.tasks, ...facts, startedAt: noon }, policy, noon + minute);
const entry: JournalEntry = { version: 1, lane: 'queue', iteration: 1, taskId: 'issue-1', taskTitle: 'Title 1', startedAt: noon, endedAt: noon + minute, ...facts, commit: 'abc', verdict: settled.verdict };

test('an iteration is one line, and is read back', () => {
  const line = serializeEntry(entry);
  expect(line).not.toContain('\n');
  expect(parseJournalLine(line)).toEqual({ kind: 'iteration', entry });
});

test('so is the start of a run', () => {
  const line = serializeStart(start);
  expect(line).not.toContain('\n');
  expect(parseJournalLine(line)).toEqual({ kind: 'start', start });
});

test('start and iteration are enough to make the decisions again', () => {
  const head = parseJournalLine(serializeStart(start));
  const line = parseJournalLine(serializeEntry(entry));
  if (head.kind !== 'start' || line.kind !== 'iteration') throw new Error('unreadable');
  const { tasks, policy: bounds } = head.start;
  const step = nextStep({ state: head.start.state, tasks, run: startRun(head.start.state, head.start.startedAt), policy: bounds, now: line.entry.startedAt });
  if (step.kind !== 'iterate') throw new Error('stopped');
  const begun = beginIteration(head.start.state, { taskId: step.task.id, tree: line.entry.evidence.before.tree }, bounds, line.entry.startedAt);
  const again = settle(begun, { task: step.task, tasks, analysis: line.entry.analysis, evidence: line.entry.evidence, startedAt: line.entry.startedAt }, bounds, line.entry.endedAt);
  expect(again).toEqual(settled);
});

test.each(['', 'null', '{}', serializeEntry(entry).slice(0, -20), serializeStart(start).replace('queue', 'issue-1')])('%j is unreadable', (line) => {
  expect(parseJournalLine(line).kind).toBe('unreadable');
});

test('no line makes the parser throw', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (line) => {
      expect(parseJournalLine(line).kind).toBe('unreadable');
    }),
  );
});
