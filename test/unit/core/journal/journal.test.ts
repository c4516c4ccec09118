import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  parseJournalLine,
  serializeEntry,
  serializeEvent,
  serializeStart,
  type JournalEnd,
  type JournalEntry,
  type JournalStart,
} from '../../../../src/core/journal/journal.ts';
import { beginIteration, settleIteration } from '../../../../src/core/lane/settle/settle.ts';
import { STATE_VERSION } from '../../../../src/core/lane/state/state.ts';
import { analysis, evidence, MINUTE, noon, play, policy, progress, task } from '../core-fixtures.ts';
import { OUTCOMES } from '../../report/fixtures.ts';

const before = play([progress(), {}]);
const start: JournalStart = {
  version: 1,
  lane: 'queue',
  startedAt: noon,
  policy,
  tasks: [{ id: 'issue-1', priority: 3, dependsOn: [], optional: false, obstacle: null }],
  state: before.state,
};
const facts = {
  analysis: analysis({
    errors: [{ text: 'Error: x\n', fingerprint: 'x' }],
    signal: { status: 'COMPLETE', recommendation: 'a\u2028b "c"' },
    usageLimit: { window: 'weekly', resumeAt: null },
  }),
  evidence: evidence('a', {
    to: 'b',
    checklist: { current: 'open', added: 1 },
    verification: 'failed',
    end: { kind: 'timeout', of: 'call' },
  }),
};
const settled = settleIteration(
  beginIteration(before.state, { taskId: 'issue-1', tree: 'a', agent: 'claude' }, policy, noon),
  { task: task(1), tasks: start.tasks, ...facts, denials: [], startedAt: noon },
  policy,
  noon + MINUTE,
);
const entry: JournalEntry = {
  version: 1,
  lane: 'queue',
  iteration: 1,
  taskId: 'issue-1',
  taskTitle: 'Title 1',
  agent: 'codex',
  passedOver: [{ name: 'claude', why: 'limit', until: noon + 60 * MINUTE }],
  startedAt: noon,
  taskTree: 'a',
  sessionDroppedAt: null,
  madeAgain: null,
  endedAt: noon + MINUTE,
  ...facts,
  found: [{ id: 'plan-b', priority: 2, dependsOn: [], optional: false, obstacle: null }],
  commit: 'abc',
  verdict: settled.verdict,
  lines: null,
};

test('an iteration is one line, and is read back', () => {
  const line = serializeEntry(entry);
  expect(line).not.toContain('\n');
  expect(parseJournalLine(line)).toEqual({ kind: 'iteration', entry });
});

test('of a task that it found it holds no text', () => {
  expect(
    serializeEntry({ ...entry, found: [task(1, { title: 'A secret title', body: 'A secret body' })] }),
  ).not.toContain('secret');
});

test('one from a version that did not record tasks in files is read as one without any', () => {
  const {
    found,
    evidence: { checklist, ...oldEvidence },
    verdict: { alsoDone, ...oldVerdict },
    ...old
  } = entry;
  expect({ found, checklist, alsoDone }).toMatchObject({
    found: [{ id: 'plan-b' }],
    checklist: { added: 1 },
    alsoDone: [],
  });
  const parsed = parseJournalLine(
    JSON.stringify({ kind: 'iteration', ...old, evidence: oldEvidence, verdict: oldVerdict }),
  );
  expect(parsed).toEqual({
    kind: 'iteration',
    entry: { ...entry, found: [], evidence: { ...oldEvidence, checklist: null } },
  });
});

test('so is the start of a run', () => {
  const line = serializeStart(start);
  expect(line).not.toContain('\n');
  expect(parseJournalLine(line)).toEqual({ kind: 'start', start });
});

test('and its end', () => {
  for (const outcome of OUTCOMES) {
    const end: JournalEnd = { kind: 'end', version: 1, lane: 'queue', decidedAt: noon, cancelled: false, outcome };
    expect(parseJournalLine(serializeEvent(end))).toEqual(end);
  }
});

test('of a task the start holds what decisions read, and no text', () => {
  const line = serializeStart({ ...start, tasks: [task(1, { title: 'A secret title', body: 'A secret body' })] });
  expect(line).not.toContain('secret');
  expect(parseJournalLine(line)).toEqual({ kind: 'start', start });
});

test.each(['', 'null', '{}', serializeEntry(entry).slice(0, -20), serializeStart(start).replace('queue', 'issue-1')])(
  '%j is unreadable',
  (line) => {
    expect(parseJournalLine(line).kind).toBe('unreadable');
  },
);

test.each<[string, string, string]>([
  ['not JSON', '{', 'it is not JSON'],
  ['JSON that is not an object', 'null', 'it is not a line of a journal'],
  [
    'a field inside a part',
    serializeEntry(entry).replace('"fileCount":1', '"fileCount":-1'),
    'evidence.fileCount: missing, or does not match the schema',
  ],
  [
    'two fields',
    serializeEntry(entry).replace('"taskId"', '"task"').replace('"taskTitle"', '"title"'),
    'taskId, taskTitle: missing, or does not match the schema',
  ],
  [
    'many fields: five are named',
    '{"kind":"iteration"}',
    'version, lane, iteration, taskId, taskTitle: missing, or does not match the schema',
  ],
  [
    'a state of a newer version',
    JSON.stringify({
      ...(JSON.parse(serializeStart(start)) as object),
      state: JSON.stringify({ version: STATE_VERSION + 1, lane: 'queue' }),
    }),
    'the state in it cannot be read: a newer version wrote it',
  ],
  [
    'a state from another lane',
    JSON.stringify({ ...(JSON.parse(serializeStart(start)) as object), lane: 'issue-1' }),
    'the state in it cannot be read: it belongs to another branch',
  ],
])('it says what is wrong: %s', (_, line, why) => {
  expect(parseJournalLine(line)).toEqual({ kind: 'unreadable', why });
});

test('no line makes the parser throw', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (line) => {
      expect(parseJournalLine(line).kind).toBe('unreadable');
    }),
  );
});
