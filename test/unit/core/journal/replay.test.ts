import { describe, expect, test } from 'vitest';
import { kindOfDenialBy } from '../../../../src/agents/rules/shell-rules.ts';
import { changePolicy, parsePolicyInputs } from '../../../../src/config/agent-inputs.ts';
import { serializeEvent } from '../../../../src/core/journal/journal.ts';
import { parseJournal, type Journal } from '../../../../src/core/journal/parse-journal.ts';
import { replayDecisions, replayUnderPolicy, type Difference } from '../../../../src/core/journal/replay.ts';
import { idle, noon, policy, progress, task, type Play } from '../core-fixtures.ts';
import { record } from './journal-fixtures.ts';

const kindOfDenial = kindOfDenialBy('claude');

const done: Play = { output: { signal: { status: 'COMPLETE', exitSignal: false, tasksCompleted: 1 } } };

function journalOf(text: string): Journal {
  const parsed = parseJournal(text);
  if (parsed.kind !== 'journal') throw new Error(JSON.stringify(parsed.problems));
  return parsed.journal;
}

function withSet(journal: Journal, texts: Readonly<Record<string, string>>): string {
  const given = parsePolicyInputs(texts);
  if (given.kind === 'problems') throw new Error(JSON.stringify(given.problems));
  const answer = replayUnderPolicy(journal, changePolicy(journal.start.policy, given.inputs), () => kindOfDenial);
  return `${String(answer.iterations)}: ${'outcome' in answer ? `${answer.kind === 'waits' ? 'waits, ' : ''}${answer.outcome.kind} (${answer.outcome.reason})` : `${answer.kind} ${answer.taskId}`}`;
}

describe('a journal replays to the same decisions', () => {
  test.each<[string, readonly Play[]]>([
    ['a run that completes', [progress(), progress(done)]],
    ['a run that trips the circuit', [progress(), idle, idle, idle]],
    ['a run that is parked', [progress(), { output: { usageLimit: { window: 'weekly', resumeAt: null } } }]],
    ['a run that reaches its limit', Array.from({ length: 10 }, () => progress())],
    ['a run that was killed', [progress(), idle]],
    ['a run that never called', []],
  ])('%s', (_, script) => {
    const { text, iterations } = record(script, { policy: { ...policy, maxIterationsPerTask: 0 } });
    const journal = journalOf(text);
    expect(journal.entries).toHaveLength(iterations);
    expect(replayDecisions(journal, () => kindOfDenial)).toEqual([]);
  });
});

describe('a record that was changed is found', () => {
  const { text } = record([progress(), idle, idle, idle], {
    tasks: [task(1), task(2, { obstacle: 'needs-approval' })],
  });
  test.each<[string, (text: string) => string, Partial<Difference>]>([
    [
      'a verdict',
      (journal) => journal.replace('"progress":true', '"progress":false'),
      { line: 2, of: 'verdict.progress' },
    ],
    [
      'the content that an iteration left',
      (journal) =>
        journal.replace(/"after":\{"head":"[^"]*","tree":"[^"]*"\}/, '"after":{"head":"head-start","tree":"start"}'),
      { line: 2, of: 'verdict.progress' },
    ],
    [
      'the task of an iteration',
      (journal) => journal.replace('"taskId":"issue-1"', '"taskId":"issue-2"'),
      { line: 2, of: 'task' },
    ],
    [
      'the task that the rest worked on',
      (journal) => journal.replaceAll('"taskId":"issue-1"', '"taskId":"issue-2"'),
      { line: 2, of: 'task', recorded: 'issue-2', replayed: 'issue-1' },
    ],
    [
      'the outcome',
      (journal) => journal.replace('"circuitReason":"no_progress"', '"circuitReason":"same_error"'),
      { line: 6, of: 'outcome' },
    ],
    [
      'the policy',
      (journal) => journal.replace('"noProgress":3', '"noProgress":2'),
      { line: 3, of: 'verdict.circuit' },
    ],
  ])('%s', (_, change, difference) => {
    const changed = change(text);
    expect(changed).not.toBe(text);
    expect(replayDecisions(journalOf(changed), () => kindOfDenial)[0]).toMatchObject(difference);
  });

  test('a run that should have stopped, and one that should have gone on', () => {
    const stopped = replayDecisions(
      journalOf(text.replace('"maxIterations":10', '"maxIterations":1')),
      () => kindOfDenial,
    );
    expect(stopped[0]).toEqual({
      line: 3,
      of: 'task',
      recorded: 'issue-1',
      replayed: { kind: 'limit', reason: 'iterations' },
    });
    const patient = replayDecisions(journalOf(text.replace('"noProgress":3', '"noProgress":9')), () => kindOfDenial);
    expect(patient.at(-1)).toMatchObject({ line: 6, of: 'outcome', replayed: 'issue-1' });
  });

  test('but not fields in another order', () => {
    const outcome = /"outcome":(\{[^}]*\})/.exec(text)?.[1] ?? '';
    const reversed = JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(outcome) as object).reverse()));
    expect(reversed).not.toBe(outcome);
    expect(replayDecisions(journalOf(text.replace(outcome, reversed)), () => kindOfDenial)).toEqual([]);
  });
});

test('an outcome whose sentences an earlier version joined without a full stop is the same, other words are not', () => {
  const denied: Play = { output: { agentError: { kind: 'billing', text: 'Credit balance is too low' } } };
  const { text } = record([progress(), denied]);
  const [now, before] = ['too low. Check its key', 'too low Check its key'];
  expect(text).toContain(now);
  const old = text.replace(now, before);
  expect(replayDecisions(journalOf(old), () => kindOfDenial)).toEqual([]);
  const other = replayDecisions(journalOf(old.replace(before, 'too high Check its key')), () => kindOfDenial);
  expect(other).toMatchObject([{ line: 4, of: 'outcome' }]);
});

describe('what if', () => {
  const tripped = journalOf(record([progress(), idle, idle, idle]).text);
  const limited = journalOf(
    record([progress(), progress(), progress()], { policy: { ...policy, maxIterations: 3 } }).text,
  );
  const costly = journalOf(
    record([progress({ output: { costUsd: 2 } }), progress({ output: { costUsd: 2 } }), progress(done)], {
      tasks: [task(1)],
    }).text,
  );
  const two = journalOf(record([progress(), progress(), progress(done)], { tasks: [task(1), task(2)] }).text);
  test.each<[string, Journal, Readonly<Record<string, string>>, string]>([
    ['nothing that matters were set', tripped, { session: 'fresh' }, '4: halted (circuit_open)'],
    ['the circuit were stricter', tripped, { 'circuit-no-progress': '2' }, '3: halted (circuit_open)'],
    ['the circuit were more patient', tripped, { 'circuit-no-progress': '5' }, '4: goes-on issue-1'],
    ['fewer iterations were allowed', limited, { 'max-iterations': '2' }, '2: limit (iterations)'],
    ['more iterations were allowed', limited, { 'max-iterations': '9' }, '3: goes-on issue-1'],
    ['money were bounded', costly, { 'max-cost-usd': '3.5' }, '2: limit (cost)'],
    ['calls of an hour were bounded', limited, { 'max-calls-per-hour': '1' }, '1: parked (calls_per_hour)'],
    ['a task got fewer iterations', two, { 'max-iterations-per-task': '1' }, '1: other-task issue-2'],
    [
      'several inputs were set',
      tripped,
      { 'circuit-no-progress': '5', 'max-iterations': '1' },
      '1: limit (iterations)',
    ],
  ])('%s', (_, journal, set, expected) => {
    expect(withSet(journal, set)).toBe(expected);
  });
});

describe('a run without an end is asked about', () => {
  const killed = record([progress({ minutes: 10 }), progress({ minutes: 20 }), progress({ minutes: 25 })], {
    policy: { ...policy, maxRunMs: 100 * 60_000 },
  }).text;
  const never = record([]).text;
  test.each<[string, string, Readonly<Record<string, string>>, string]>([
    ['at the end of its last iteration', killed, { 'max-minutes': '50' }, '3: limit (minutes)'],
    ['at its start, when it has none', never, {}, '0: goes-on issue-1'],
  ])('%s', (_, text, set, expected) => {
    expect(withSet(journalOf(text), set)).toBe(expected);
  });
});

test('a cancelled run ends as it did', () => {
  const text = `${record([progress()]).text}${serializeEvent({ kind: 'end', version: 1, lane: 'queue', decidedAt: noon, cancelled: true, outcome: { kind: 'cancelled', reason: 'signal' } })}\n`;
  expect(replayDecisions(journalOf(text), () => kindOfDenial)).toEqual([]);
  expect(withSet(journalOf(text), {})).toBe('1: cancelled (signal)');
});

test('a session that the CLI had forgotten is forgotten in the replay, too', () => {
  const unknown: Play = { output: { agentError: { kind: 'unknown-session', text: 'x' } } };
  const { text } = record([progress(), unknown]);
  // With the session the failure would be neutral; without it, it counts.
  const dropped = text.replace(/("iteration":2.*?"sessionDroppedAt":)null/, `$1${String(noon)}`);
  expect(dropped).not.toBe(text);
  const last = (journal: string) =>
    replayUnderPolicy(
      journalOf(journal),
      { ...policy, circuit: { ...policy.circuit, noProgress: 1 } },
      () => kindOfDenial,
    );
  expect(last(text)).toMatchObject({ kind: 'goes-on' });
  expect(last(dropped)).toMatchObject({ kind: 'ended', outcome: { reason: 'circuit_open' } });
});
