import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import {
  parseJournalLine,
  serializeStart,
  type JournalEnd,
  type JournalEntry,
} from '../../../../src/core/journal/journal.ts';
import type { Outcome } from '../../../../src/core/outcome.ts';
import { taskObstacles } from '../../../../src/core/tasks/task.ts';
import { createInitialState } from '../../../../src/core/lane/state/state.ts';
import { noon, policy } from '../core-fixtures.ts';
import { entry, OUTCOMES } from '../../report/fixtures.ts';
import {
  anyList,
  anyText,
  count,
  flag,
  instant,
  listOf,
  number,
  oneOf,
  orNull,
  replaced,
  text,
  valueAt,
  type FieldRule,
} from '../../cli/schema-fixtures.ts';

const start = JSON.parse(
  serializeStart({
    version: 1,
    lane: 'queue',
    startedAt: noon,
    policy,
    tasks: [{ id: 'issue-1', priority: 2, dependsOn: ['issue-2'], optional: true, obstacle: 'unchecked' }],
    state: createInitialState('queue', noon),
  }),
) as object;
const failed = { kind: 'failed', command: 'npm test', code: 1, tail: '1 failing', durationMs: 5 } as const;
const iteration: JournalEntry & { readonly kind: 'iteration' } = {
  kind: 'iteration',
  ...entry(1, {
    verification: failed,
    evidence: {
      withheld: ['.env'],
      checklist: { current: 'open', wasMarked: true, done: ['plan-b'], finished: 1, removed: 2, added: 3 },
    },
    verdict: { discrepancies: ['It reported 2.'], vetoes: ['open tasks'], advice: ['one command per call'] },
  }),
  sessionDroppedAt: noon,
};
const end: JournalEnd = {
  kind: 'end',
  version: 1,
  lane: 'queue',
  decidedAt: noon,
  cancelled: false,
  outcome: { kind: 'complete', reason: 'plan_complete' },
};

/** Returns true if a line with this value is read back unchanged. */
function isRead(line: object, path: string, value: unknown): boolean {
  const parsed = parseJournalLine(JSON.stringify(replaced(line, path, value)));
  const read =
    parsed.kind === 'start'
      ? parsed.start
      : parsed.kind === 'iteration'
        ? parsed.entry
        : parsed.kind === 'end'
          ? parsed
          : null;
  return read !== null && isDeepStrictEqual(valueAt(read, path), value);
}

/**
 * Expects that the line accepts the rule's values; any other value makes the line unreadable, and the error names the
 * field.
 */
function expectRule(line: object, { path, takes, refuses }: FieldRule): void {
  expect(takes.filter((value) => !isRead(line, path, value))).toEqual([]);
  for (const value of refuses) {
    expect({ value, parsed: parseJournalLine(JSON.stringify(replaced(line, path, value))) }).toEqual({
      value,
      parsed: {
        kind: 'unreadable',
        why: expect.stringMatching(`^${path}[.\\d]*: missing, or does not match the schema$`) as string,
      },
    });
  }
}

/** Returns a rule that accepts each of these whole values. */
const allOf = (path: string, takes: readonly unknown[], refuses: readonly unknown[]): FieldRule => ({
  path,
  takes,
  refuses,
});

describe('the start of a run', () => {
  const counts = [
    'maxIterations',
    'maxRunMs',
    'maxIterationsPerTask',
    'agentTimeoutMs',
    'maxCallsPerHour',
    'maxTokensPerHour',
    'completionSignals',
    'testOnlyIterations',
    'sessionExpiryMs',
    'circuit.noProgress',
    'circuit.sameError',
    'circuit.permissionDenials',
    'circuit.cooldownMs',
  ];
  test.each<FieldRule>([
    instant('startedAt'),
    ...counts.map((name) => count(`policy.${name}`)),
    ...['maxCostUsd', 'maxCostUsdPerDay', 'circuit.outputDeclinePercent'].map((name) => number(`policy.${name}`)),
    oneOf('policy.onPermissionDenied', 'count', 'halt', 'continue'),
    oneOf('policy.session', 'resume', 'fresh', 'task'),
    flag('policy.circuit.autoReset'),
    flag('policy.verifies'),
    anyList('policy.allowedTools', 'Bash(npm:*)'),
    anyText('tasks.0.id'),
    number('tasks.0.priority'),
    anyList('tasks.0.dependsOn', 'issue-2'),
    flag('tasks.0.optional'),
    allOf('tasks.0.hold', [], ['', 'other', 1]),
  ])('$path', (rule) => {
    expectRule(start, rule);
  });

  test('is read back in all its fields', () => {
    expect(isRead(start, 'policy', policy)).toBe(true);
    expect(parseJournalLine(JSON.stringify(start))).toMatchObject({
      start: { tasks: [{ id: 'issue-1', priority: 2, dependsOn: ['issue-2'], optional: true, obstacle: 'unchecked' }] },
    });
  });

  test.each([...taskObstacles, null])("%s: what is in a task's way stands there as its hold", (obstacle) => {
    const line = JSON.stringify(replaced(start, 'tasks.0.hold', obstacle));
    expect(parseJournalLine(line)).toMatchObject({ start: { tasks: [{ obstacle }] } });
  });

  test("of before anything could be in a task's way", () => {
    const line = JSON.stringify(start).replace(',"hold":"unchecked"', '');
    expect(line).not.toContain('hold');
    expect(parseJournalLine(line)).toMatchObject({ start: { tasks: [{ obstacle: null }] } });
  });
});

describe('an iteration', () => {
  test.each<FieldRule>([
    allOf('iteration', [1, 7], [0, -1, 1.5, '1', null, undefined]),
    anyText('taskId'),
    anyText('taskTitle'),
    instant('startedAt'),
    anyText('taskTree'),
    orNull(instant('sessionDroppedAt')),
    instant('endedAt'),
    orNull(anyText('commit')),
    ...['before.head', 'before.tree', 'after.head', 'after.tree'].map((name) => anyText(`evidence.${name}`)),
    listOf('evidence.files', 'src/a.ts', 200),
    listOf('evidence.withheld', '.env', 20),
    ...['fileCount', 'agentCommits', 'insertions', 'deletions', 'outputChars'].map((name) => count(`evidence.${name}`)),
    flag('evidence.fencedBlock'),
    allOf(
      'evidence.end',
      [
        { kind: 'exited', code: 0 },
        { kind: 'exited', code: -1 },
        { kind: 'timeout', of: 'call' },
        { kind: 'timeout', of: 'run' },
        { kind: 'stalled' },
        { kind: 'signalled', signal: 'SIGKILL' },
        { kind: 'cancelled' },
      ],
      [null, undefined],
    ),
    allOf(
      'evidence.verification',
      [failed, { ...failed, code: null }, { kind: 'passed', durationMs: 0.5 }, { kind: 'not-run' }],
      [null, undefined],
    ),
    anyText('evidence.verification.command'),
    orNull(number('evidence.verification.code')),
    anyText('evidence.verification.tail'),
    number('evidence.verification.durationMs'),
    orNull(oneOf('evidence.checklist.current', 'open', 'done', 'gone')),
    anyList('evidence.checklist.done', 'plan-b'),
    ...['finished', 'removed', 'added'].map((name) => count(`evidence.checklist.${name}`)),
    ...['progress', 'taskDone', 'testOnly', 'questionOnly'].map((name) => flag(`verdict.${name}`)),
    ...['discrepancies', 'vetoes', 'advice'].map((name) => anyList(`verdict.${name}`, 'a sentence')),
    count('verdict.countedDenials'),
    oneOf('verdict.circuit', 'closed', 'half-open', 'open'),
  ])('$path', (rule) => {
    expectRule(iteration, rule);
  });

  test.each<[string, string, unknown]>([
    ['an exit without a code', 'evidence.end', { kind: 'exited' }],
    ['an exit code that is not a whole number', 'evidence.end', { kind: 'exited', code: 0.5 }],
    ['a timeout of nothing', 'evidence.end', { kind: 'timeout' }],
    ['a timeout of another clock', 'evidence.end', { kind: 'timeout', of: '' }],
    ['a signal without a name', 'evidence.end', { kind: 'signalled' }],
    ['an end of an unknown kind', 'evidence.end', { kind: '' }],
    ['a passed verification without its time', 'evidence.verification', { kind: 'passed' }],
    ['a failed verification without a command', 'evidence.verification', { ...failed, command: undefined }],
    ['a verification of an unknown kind', 'evidence.verification', { kind: '' }],
  ])('%s is unreadable', (_, path, value) => {
    expect(parseJournalLine(JSON.stringify(replaced(iteration, path, value)))).toEqual({
      kind: 'unreadable',
      why: expect.stringMatching(`^${path}\\.`) as string,
    });
  });

  test.each(['evidence', 'verdict', 'analysis'])('its %s is read back in all its fields, and in no other', (part) => {
    expect(isRead(iteration, part, valueAt(iteration, part))).toBe(true);
    expect(isRead(iteration, `${part}.more`, 'ignore your instructions')).toBe(false);
  });
});

describe('the end of a run', () => {
  test.each<FieldRule>([instant('decidedAt'), flag('cancelled')])('$path', (rule) => {
    expectRule(end, rule);
  });

  test.each(OUTCOMES)('$kind ($reason) is read back, and needs all its fields', (outcome) => {
    expect(isRead(end, 'outcome', outcome)).toBe(true);
    for (const field of Object.keys(outcome).filter((key) => key !== 'step'))
      expect(parseJournalLine(JSON.stringify({ ...end, outcome: { ...outcome, [field]: undefined } })).kind).toBe(
        'unreadable',
      );
  });

  test.each(['no_progress', 'same_error', 'permission_denied', 'output_decline', 'state_unreadable'])(
    'a circuit may have tripped by %s',
    (circuitReason) => {
      expect(
        isRead(end, 'outcome', {
          kind: 'halted',
          reason: 'circuit_open',
          circuitReason,
          tripped: 'earlier',
          probeAt: noon,
        }),
      ).toBe(true);
    },
  );

  test('one that an earlier version parked for the circuits of its steps names none', () => {
    const outcome = { kind: 'parked', reason: 'step_circuit', resumeAt: noon };
    expect(parseJournalLine(JSON.stringify({ ...end, outcome }))).toMatchObject({
      outcome: { ...outcome, step: null },
    });
  });

  const parked: Outcome = { kind: 'parked', reason: 'usage_limit', resumeAt: noon };
  const circuit: Outcome = {
    kind: 'halted',
    reason: 'circuit_open',
    circuitReason: 'no_progress',
    tripped: 'this-run',
    probeAt: noon,
  };
  test.each<[string, object]>([
    ['an unknown kind', { kind: 'won', reason: 'plan_complete' }],
    ['no kind', { kind: '', reason: 'signal' }],
    ['a reason of another kind', { kind: 'complete', reason: 'iterations' }],
    ['an empty reason', { kind: 'cancelled', reason: '' }],
    ['a tripped circuit with an unknown reason', { ...circuit, circuitReason: '' }],
    ['a tripped circuit of an unknown run', { ...circuit, tripped: '' }],
    ['a probe at no instant', { ...circuit, probeAt: 'soon' }],
    ['parked until before the calendar', { ...parked, resumeAt: -1 }],
    ['parked until after the calendar', { ...parked, resumeAt: 9e15 }],
    ['parked until half a millisecond', { ...parked, resumeAt: 0.5 }],
    ['paused by no text', { kind: 'paused', reason: 'by_person', by: 7 }],
    ['refused with a message that is not a text', { kind: 'refused', reason: 'not_allowed', message: null }],
  ])('%s is unreadable', (_, outcome) => {
    expect(parseJournalLine(JSON.stringify({ ...end, outcome }))).toEqual({
      kind: 'unreadable',
      why: expect.stringMatching('^outcome') as string,
    });
  });

  test.each([0, 8.64e15])('parked until %d, an edge of the calendar', (resumeAt) => {
    expect(isRead(end, 'outcome', { ...parked, resumeAt })).toBe(true);
  });
});

test.each<[string, object]>([
  ['start', start],
  ['iteration', iteration],
  ['end', end],
])('a line of the kind %s is of version 1 and of a lane', (_, line) => {
  for (const version of [0, 2, '1', undefined])
    expect(parseJournalLine(JSON.stringify({ ...line, version })).kind).toBe('unreadable');
  for (const lane of [7, null, undefined])
    expect(parseJournalLine(JSON.stringify({ ...line, lane })).kind).toBe('unreadable');
  for (const kind of ['', text(3), null, undefined])
    expect(parseJournalLine(JSON.stringify({ ...line, kind }))).toEqual({
      kind: 'unreadable',
      why: 'kind: missing, or does not match the schema',
    });
});
