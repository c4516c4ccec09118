import fc from 'fast-check';
import { expect, test } from 'vitest';
import { kindOfDenialBy } from '../../../../src/agents/rules/shell-rules.ts';
import { changePolicy } from '../../../../src/config/agent-inputs.ts';
import { parseJournal } from '../../../../src/core/journal/parse-journal.ts';
import { replayDecisions, replayUnderPolicy } from '../../../../src/core/journal/replay.ts';
import { endRun } from '../../../../src/core/lane/settle/settle.ts';
import { HOUR, MINUTE, policy, task } from '../core-fixtures.ts';
import { anyPlay, record } from './journal-fixtures.ts';
import { runs } from '../../../runs.ts';

const kindOfDenial = kindOfDenialBy('claude');

test('a journal replays to the same decisions, whatever agent and clock did, over several runs of a lane', () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(anyPlay, { maxLength: 12 }), { minLength: 1, maxLength: 4 }),
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
