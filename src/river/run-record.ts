import { mkdtempSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LaneId } from '../core/tasks/ids.ts';
import type { Work } from '../handover/work.ts';
import { messageOf, UserError } from '../errors.ts';

/** What main leaves on disk for post. `ended`: main did everything itself, but for giving back a lane that is still `claimed`. */
export interface RunRecord {
  readonly version: 1;
  readonly stage: 'gate' | 'work' | 'ended';
  readonly startedAt: number;
  /** The lane that this run may have claimed: it was about to, and has not given it back for certain; null: none. */
  readonly claimed: LaneId | null;
  /** null until the loop begins. */
  readonly work: Work | null;
}

const FILE = 'run.json';

/** Creates this run's private folder below the runner's temp folder; throws a UserError when it cannot. */
export function createRunFolder(temp: string): string {
  try {
    return mkdtempSync(join(temp, 'ralph-run-'));
  } catch (error) {
    throw new UserError(
      'infrastructure',
      `No folder can be made in RUNNER_TEMP, which is "${temp}": ${messageOf(error)}. It must be an existing folder that the runner may write to.`,
      { cause: error },
    );
  }
}

/** Writes the run's record, whole or not at all: a kill at any instant leaves the old one or the new one. Throws a UserError when it cannot. */
export function writeRunRecord(folder: string, record: RunRecord): void {
  const next = join(folder, `${FILE}.next`);
  try {
    writeFileSync(next, JSON.stringify(record), { mode: 0o600 });
    renameSync(next, join(folder, FILE));
  } catch (error) {
    throw new UserError(
      'infrastructure',
      `The run's record could not be written: ${messageOf(error)}. The run's folder must stay, and its disk needs free space.`,
      { cause: error },
    );
  }
}

/** Reads the run's record back; null when main wrote none or it is not one. */
export function readRunRecord(folder: string): RunRecord | null {
  try {
    const record = JSON.parse(readFileSync(join(folder, FILE), 'utf8')) as Partial<RunRecord> | null;
    return record?.version === 1 && typeof record.stage === 'string' ? (record as RunRecord) : null;
  } catch {
    return null;
  }
}
