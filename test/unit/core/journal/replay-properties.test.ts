import fc from 'fast-check';
import { expect, test } from 'vitest';
import { kindOfDenialBy } from '../../../../src/agents/rules/shell-rules.ts';
import { changePolicy } from '../../../../src/config/agent-inputs.ts';
import { parseJournal } from '../../../../src/core/journal/parse-journal.ts';
import { replayDecisions, replayUnderPolicy } from '../../../../src/core/journal/replay.ts';
import { endRun } from '../../../../src/core/lane/settle/settle.ts';
import { HOUR, MINUTE, policy, task } from '../core-fixtures.ts';
import { record } from './journal-fixtures.ts';
import { runs } from '../../../runs.ts';

const kindOfDenial = kindOfDenialBy('claude');

const amount = fc.oneof(fc.constant(null), fc.double({ noNaN: true, noDefaultInfinity: true, min: 0, max: 1e9 }));
const play = fc.record({
  to: fc.constantFrom('a', 'b', 'c'),
  output: fc.record({
    completionIndicator: fc.boolean(),
    testOnly: fc.boolean(),
    question: fc.boolean(),
    tokens: amount,
    costUsd: amount,
    agentError: fc.option(
      fc.record({
        kind: fc.constantFrom('server' as const, 'auth' as const, 'unknown-session' as const),
        text: fc.string(),
      }),
      { freq: 8 },
    ),
    errors: fc.array(
      fc.constantFrom('a', 'b').map((fingerprint) => ({ text: fingerprint, fingerprint })),
      { maxLength: 2 },
    ),
    denials: fc.subarray([
      { tool: 'Bash', command: 'docker ps' },
      { tool: 'Bash', command: 'npm ci && npm test' },
      { tool: 'AskUserQuestion', command: null },
    ]),
    usageLimit: fc.option(
      fc.record({
        window: fc.constant('weekly' as const),
        resumeAt: fc.constantFrom(null, '2999-01-01T00:00:00.000Z'),
      }),
      { freq: 12 },
    ),
    sessionId: fc.constantFrom(null, 'one', 'two'),
    signal: fc.record({
      status: fc.constantFrom(null, 'IN_PROGRESS' as const, 'COMPLETE' as const, 'BLOCKED' as const),
      exitSignal: fc.constantFrom(null, true, false),
      tasksCompleted: fc.constantFrom(null, 0, 1),
    }),
  }),
  end: fc.constantFrom(
    { kind: 'exited', code: 0 } as const,
    { kind: 'exited', code: 0 } as const,
    { kind: 'timeout', of: 'call' } as const,
  ),
  verification: fc.constantFrom('passed' as const, 'failed' as const),
  fencedBlock: fc.boolean(),
  withheld: fc.array(fc.constantFrom('action.yml', '.github/x'), { maxLength: 2 }),
  checklist: fc.record({
    current: fc.constantFrom(null, 'open' as const, 'done' as const, 'gone' as const),
    done: fc.subarray(['issue-1', 'issue-2', 'issue-4', 'unknown']),
    finished: fc.nat(2),
    removed: fc.constantFrom(0, 0, 1),
    added: fc.nat(2),
  }),
  found: fc.oneof({ weight: 4, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: fc.constant([task(4)]) }),
  clockMs: fc.oneof(fc.integer({ min: 0, max: 5 * MINUTE }), fc.integer({ min: -2 * HOUR, max: 2 * HOUR })),
});

test('a journal replays to the same decisions, whatever agent and clock did, over several runs of a lane', () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(play, { maxLength: 12 }), { minLength: 1, maxLength: 4 }),
      fc.boolean(),
      (runs, verifies) => {
        const tasks = [task(1), task(2, { dependsOn: ['issue-1'] }), task(3, { optional: true })];
        let lane: Parameters<typeof record>[1] = { tasks, policy: { ...policy, verifies, maxRunMs: 100 * HOUR } };
        for (const script of runs) {
          const recorded = record(script, lane);
          const parsed = parseJournal(recorded.text);
          if (parsed.kind !== 'journal') throw new Error(JSON.stringify(parsed.problems));
          const { journal } = parsed;
          expect(replayDecisions(journal, () => kindOfDenial)).toEqual([]);
          // Under its own policy a run ends as it did.
          if (journal.end !== null)
            expect(replayUnderPolicy(journal, journal.start.policy, () => kindOfDenial)).toEqual({
              kind: 'ended',
              iterations: recorded.iterations,
              outcome: journal.end.outcome,
            });
          const now = recorded.now + 31 * MINUTE;
          lane = {
            ...lane,
            now,
            tree: recorded.tree,
            state:
              journal.end === null ? recorded.state : endRun(recorded.state, journal.end.outcome, 'head', recorded.now),
          };
        }
      },
    ),
    { numRuns: runs(200) },
  );
});

test('inputs and policy are two forms of the same: what is not set stays', () => {
  fc.assert(
    fc.property(fc.integer({ min: 60_000, max: 1e9 }), fc.integer({ min: 0, max: 1e9 }), (maxRunMs, cooldownMs) => {
      const recorded = { ...policy, maxRunMs, verifies: true, circuit: { ...policy.circuit, cooldownMs } };
      expect(changePolicy(recorded, {})).toEqual(recorded);
    }),
  );
});
