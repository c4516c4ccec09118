import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { changePolicy, parsePolicyInputs } from '../../src/config/policy-inputs.ts';
import { parseJournal, type Journal } from '../../src/core/read-journal.ts';
import { replay, whatIf } from '../../src/core/replay.ts';
import { endRun } from '../../src/core/settle.ts';
import { hour, idle, minute, policy, progress, task, type Play } from './core-fixtures.ts';
import { record } from './journal-fixtures.ts';

const done: Play = { says: { signal: { status: 'COMPLETE', exitSignal: false, tasksCompleted: 1 } } };

function journalOf(text: string): Journal {
  const parsed = parseJournal(text);
  if (parsed.kind !== 'journal') throw new Error(JSON.stringify(parsed.problems));
  return parsed.journal;
}

function withSet(journal: Journal, texts: Readonly<Record<string, string>>): string {
  const given = parsePolicyInputs(texts);
  if (given.kind === 'problems') throw new Error(JSON.stringify(given.problems));
  const answer = whatIf(journal, changePolicy(journal.start.policy, given.inputs));
  return `${String(answer.iterations)}: ${answer.kind === 'ended' ? `${answer.outcome.kind} (${answer.outcome.reason})` : `${answer.kind} ${answer.taskId}`}`;
}

describe('a journal replays to the same decisions', () => {
  test.each<[string, readonly Play[]]>([
    ['a run that completes', [progress(), progress(done)]],
    ['a run that trips the circuit', [progress(), idle, idle, idle]],
    ['a run that is parked', [progress(), { says: { usageLimit: { window: 'weekly', resumeAt: null } } }]],
    ['a run that reaches its limit', Array.from({ length: 10 }, () => progress())],
    ['a run that was killed', [progress(), idle]],
    ['a run that never called', []],
  ])('%s', (_, script) => {
    const { text, iterations } = record(script, { policy: { ...policy, maxIterationsPerTask: 0 } });
    const journal = journalOf(text);
    expect(journal.entries).toHaveLength(iterations);
    expect(replay(journal)).toEqual([]);
  });

  const amount = fc.oneof(fc.constant(null), fc.double({ noNaN: true, noDefaultInfinity: true, min: 0, max: 1e9 }));
  const play = fc.record({
    to: fc.constantFrom('a', 'b', 'c'),
    says: fc.record({
      completionIndicator: fc.boolean(), testOnly: fc.boolean(), question: fc.boolean(), tokens: amount, costUsd: amount,
      agentError: fc.option(fc.record({ kind: fc.constantFrom('server' as const, 'auth' as const, 'unknown-session' as const), text: fc.string() }), { freq: 8 }),
      errors: fc.array(fc.constantFrom('a', 'b').map((fingerprint) => ({ text: fingerprint, fingerprint })), { maxLength: 2 }),
      denials: fc.oneof(fc.constant([]), fc.constant([{ tool: 'Bash', command: 'docker ps' }])),
      usageLimit: fc.option(fc.record({ window: fc.constant('weekly' as const), resumeAt: fc.constantFrom(null, '2999-01-01T00:00:00.000Z') }), { freq: 12 }),
      sessionId: fc.constantFrom(null, 'one', 'two'),
      signal: fc.record({ status: fc.constantFrom(null, 'IN_PROGRESS' as const, 'COMPLETE' as const, 'BLOCKED' as const), exitSignal: fc.constantFrom(null, true, false), tasksCompleted: fc.constantFrom(null, 0, 1) }),
    }),
    end: fc.constantFrom({ kind: 'exited', code: 0 } as const, { kind: 'exited', code: 0 } as const, { kind: 'timeout', of: 'call' } as const),
    verification: fc.constantFrom('passed' as const, 'failed' as const),
    fencedBlock: fc.boolean(),
    clockMs: fc.oneof(fc.integer({ min: 0, max: 5 * minute }), fc.integer({ min: -2 * hour, max: 2 * hour })),
  });

  test('whatever agent and clock did, over several runs of a lane', () => {
    fc.assert(
      fc.property(fc.array(fc.array(play, { maxLength: 12 }), { minLength: 1, maxLength: 4 }), fc.boolean(), (runs, verifies) => {
        const tasks = [task(1), task(2, { dependsOn: ['issue-1'] }), task(3, { optional: true })];
        let lane: Parameters<typeof record>[1] = { tasks, policy: { ...policy, verifies, maxRunMs: 100 * hour } };
        for (const script of runs) {
          const recorded = record(script, lane);
          const journal = journalOf(recorded.text);
          expect(replay(journal)).toEqual([]);
          // Under its own policy a run ends as it did.
          if (journal.end !== null) expect(whatIf(journal, journal.start.policy)).toEqual({ kind: 'ended', iterations: recorded.iterations, outcome: journal.end.outcome });
          const now = recorded.now + 31 * minute;
          lane = { ...lane, now, tree: recorded.tree, state: journal.end === null ? recorded.state : endRun(recorded.state, journal.end.outcome, 'head', recorded.now) };
        }
      }),
      { numRuns: 200 },
    );
  });
});

describe('a record that was changed is found', () => {
  const { text } = record([progress(), idle, idle, idle], { tasks: [task(1), task(2)] });
  test.each<[string, (text: string) => string, { readonly line: number; readonly of: string }]>([
    ['a verdict', (journal) => journal.replace('"progress":true', '"progress":false'), { line: 2, of: 'verdict.progress' }],
    ['the content that an iteration left', (journal) => journal.replace(/"after":\{"head":"[^"]*","tree":"[^"]*"\}/, '"after":{"head":"head-start","tree":"start"}'), { line: 2, of: 'verdict.progress' }],
    ['the task of an iteration', (journal) => journal.replace('"taskId":"issue-1"', '"taskId":"issue-2"'), { line: 2, of: 'task' }],
    ['the outcome', (journal) => journal.replace('"circuitReason":"no_progress"', '"circuitReason":"same_error"'), { line: 6, of: 'outcome' }],
    ['the policy', (journal) => journal.replace('"noProgress":3', '"noProgress":2'), { line: 3, of: 'verdict.circuit' }],
  ])('%s', (_, change, difference) => {
    const changed = change(text);
    expect(changed).not.toBe(text);
    expect(replay(journalOf(changed))[0]).toMatchObject(difference);
  });
});

describe('what if', () => {
  const tripped = journalOf(record([progress(), idle, idle, idle]).text);
  const limited = journalOf(record([progress(), progress(), progress()], { policy: { ...policy, maxIterations: 3 } }).text);
  const costly = journalOf(record([progress({ says: { costUsd: 2 } }), progress({ says: { costUsd: 2 } }), progress(done)], { tasks: [task(1)] }).text);
  const two = journalOf(record([progress(), progress(), progress(done)], { tasks: [task(1), task(2)] }).text);
  test.each<[string, Journal, Readonly<Record<string, string>>, string]>([
    ['nothing that matters were set', tripped, { session: 'fresh' }, '4: halted (circuit_open)'],
    ['the circuit were stricter', tripped, { 'cb-no-progress': '2' }, '3: halted (circuit_open)'],
    ['the circuit were more patient', tripped, { 'cb-no-progress': '5' }, '4: goes-on issue-1'],
    ['fewer iterations were allowed', limited, { 'max-iterations': '2' }, '2: limit (iterations)'],
    ['more iterations were allowed', limited, { 'max-iterations': '9' }, '3: goes-on issue-1'],
    ['money were bounded', costly, { 'max-cost-usd': '3.5' }, '2: limit (cost)'],
    ['calls of an hour were bounded', limited, { 'max-calls-per-hour': '1' }, '1: parked (calls_per_hour)'],
    ['a task got fewer iterations', two, { 'max-iterations-per-task': '1' }, '1: other-task issue-2'],
    ['several inputs were set', tripped, { 'cb-no-progress': '5', 'max-iterations': '1' }, '1: limit (iterations)'],
  ])('%s', (_, journal, set, expected) => {
    expect(withSet(journal, set)).toBe(expected);
  });
});

test('inputs and policy are two forms of the same: what is not set stays', () => {
  fc.assert(
    fc.property(fc.integer({ min: 60_000, max: 1e9 }), fc.integer({ min: 0, max: 1e9 }), (maxRunMs, cooldownMs) => {
      const recorded = { ...policy, maxRunMs, verifies: true, circuit: { ...policy.circuit, cooldownMs } };
      expect(changePolicy(recorded, {})).toEqual(recorded);
    }),
  );
});
