import { gzipSync } from 'node:zlib';
import { withRun } from '../../../../src/core/snapshot/stored-run.ts';
import { HOUR, idle, noon, policy, progress, task, type Play } from '../../core/core-fixtures.ts';
import { record } from '../../core/journal/journal-fixtures.ts';
import { storedRun } from '../../core/snapshot/fixtures.ts';
import { createPlace, type Place } from '../state-fixture.ts';

/** An iteration without progress that costs a dollar. */
export const stuck: Play = { ...idle, output: { costUsd: 1 } };

/** An iteration that finishes its task. */
const finishes: Play = progress({
  output: { costUsd: 2, signal: { status: 'COMPLETE', exitSignal: false, tasksCompleted: 1 } },
});

/** Four runs that the circuit ended, and one that finished its task after two idle iterations. */
export const scripts: readonly (readonly Play[])[] = [
  ...Array.from({ length: 4 }, () => [progress(), stuck, stuck, stuck]),
  [stuck, stuck, finishes],
];

/** Returns a journal as it is stored. */
export function packed(script: readonly Play[], at = 0): string {
  const start = { policy: { ...policy, maxIterationsPerTask: 0 }, tasks: [task(at + 1)], now: noon + at * HOUR };
  const { text } = record(script, start);
  return gzipSync(text).toString('base64');
}

/** Creates a place that remembers a run with each of these journals. */
export async function placeWithRuns(journals: readonly (string | null)[]): Promise<Place> {
  const place = createPlace('ref');
  for (const [index, journal] of journals.entries()) {
    const run = storedRun({ runId: String(index), endedAt: noon + index, journal });
    await place.at.store.update((snapshot) => ({ snapshot: withRun(snapshot, run), message: 'a run', answer: null }));
  }
  return place;
}
