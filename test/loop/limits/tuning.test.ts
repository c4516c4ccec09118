import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { kindOfDenialBy } from '../../../src/agents/rules/shell-rules.ts';
import { changePolicy } from '../../../src/config/agent-inputs.ts';
import { parseJournal } from '../../../src/core/journal/parse-journal.ts';
import { listStoredRuns } from '../../../src/core/snapshot/stored-run.ts';
import { effectOfLimits, selectReplayableRuns } from '../../../src/core/tuning/tuning.ts';
import { finisher, steadyWorker, stuck } from '../stage/behaviours.ts';
import { createProject, runOnce } from '../stage/run-action.ts';
import { HOUR } from '../../unit/core/core-fixtures.ts';

test('the journals that runs store are replayed: with their own limits nothing changes, with others what they say', async () => {
  const project = createProject({
    issues: [1, 2, 3],
    agent: [finisher, stuck, steadyWorker, stuck, stuck, stuck, stuck, stuck, finisher, stuck],
    inputs: { verify: 'npm test', 'max-iterations': '4' },
  });
  for (let run = 0; run < 4; run += 1) {
    await runOnce(project);
    project.clock.advance(HOUR);
  }
  const stored = listStoredRuns(project.kept.refs.shared.snapshot);
  const journals = stored.flatMap(({ journal }) => {
    const parsed = parseJournal(gunzipSync(Buffer.from(journal ?? '', 'base64')).toString());
    return parsed.kind === 'journal' ? [parsed.journal] : [];
  });
  const replays = selectReplayableRuns(journals, kindOfDenialBy);
  expect(stored.length).toBeGreaterThan(2);
  expect(replays.journals).toHaveLength(stored.length);
  const none = { iterations: 0, costUsd: 0, unpriced: 0 };
  expect(effectOfLimits(replays, (policy) => policy)).toEqual({
    ...{ runs: 0, saved: none, lost: [], later: none, undecided: 0 },
  });
  const strict = effectOfLimits(replays, (policy) => changePolicy(policy, { circuit: { noProgress: 1 } }));
  expect(strict.saved.iterations).toBeGreaterThan(0);
  const short = effectOfLimits(replays, (policy) => changePolicy(policy, { maxIterations: 1 }));
  expect({ saved: short.saved, lost: short.lost }).toEqual({ saved: none, lost: [] });
  expect(short.later.iterations).toBe(journals.reduce((sum, { entries }) => sum + Math.max(0, entries.length - 1), 0));
});
