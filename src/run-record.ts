import { mkdtempSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Work } from './loop/work.ts';

/** What main leaves on disk for post. `ended`: main did everything itself. */
export interface RunRecord {
  readonly version: 1;
  readonly stage: 'gate' | 'work' | 'ended';
  /** Every process of the agent carries it. */
  readonly mark: string;
  readonly startedAt: number;
  /** null until the loop begins. */
  readonly work: Work | null;
}

const FILE = 'run.json';

/** Creates this run's private folder below the runner's temp folder. */
export function createRunFolder(temp: string): string {
  return mkdtempSync(join(temp, 'ralph-run-'));
}

/** Writes the run's record, whole or not at all: a kill at any instant leaves the old one or the new one. */
export function writeRunRecord(folder: string, record: RunRecord): void {
  const next = join(folder, `${FILE}.next`);
  writeFileSync(next, JSON.stringify(record), { mode: 0o600 });
  renameSync(next, join(folder, FILE));
}

/** Reads the run's record back; null when main wrote none or it is not one. */
export function readRunRecord(folder: string): RunRecord | null {
  try {
    const record = JSON.parse(readFileSync(join(folder, FILE), 'utf8')) as Partial<RunRecord> | null;
    return record?.version === 1 && typeof record.stage === 'string' && typeof record.mark === 'string' ? (record as RunRecord) : null;
  } catch {
    return null;
  }
}
