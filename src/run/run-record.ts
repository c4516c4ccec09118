import { createHmac, timingSafeEqual } from 'node:crypto';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FoundSetting } from '../core/settings/effective.ts';
import type { Claim } from '../core/sharing/lease.ts';
import { completeSentence } from '../core/text/phrase.ts';
import { getErrorMessage, UserError } from '../errors.ts';
import type { Work } from '../handover/intake.ts';
import { readPlainFileNow } from '../files/plain-file.ts';

/**
 * The record that main leaves on disk for post. `ended`: main did everything itself, except perhaps releasing lanes
 * that are still `claimed`.
 */
export interface RunRecord {
  readonly version: 2;
  readonly stage: 'gate' | 'work' | 'ended';
  readonly startedAt: number;
  /**
   * Digest of the variables in main's environment that direct git and this program to their servers; null if none is
   * set.
   */
  readonly steeringDigest: string | null;
  /** Digest of main's variables of OpenTelemetry; null if none is set, absent in records of an earlier version. */
  readonly collectorDigest?: string | null;
  /** The claims that this run may have made (it was about to) and may not have released. */
  readonly claimed: readonly Claim[];
  /** Settings in place of inputs, with which post publishes as main would; absent in records of an earlier version. */
  readonly settings?: readonly FoundSetting[];
  /** The work, or null until the loop begins. */
  readonly work: Work | null;
}

const FILE = 'run.json';

/**
 * Maximum size of a record, in bytes. A record contains tasks, a journal and two states; main never writes a larger
 * one.
 */
const MAX_RECORD_BYTES = 64 * 1024 * 1024;

/**
 * Writes the run's record, sealed, completely or not at all. A kill at any instant leaves the old one or the new one.
 * Throws a UserError if the disk cannot be written.
 */
export function writeRunRecord(folder: string, record: RunRecord, key: Buffer): void {
  const next = join(folder, `${FILE}.next`);
  const text = JSON.stringify(record);
  try {
    // Remove an existing file without opening it, because writing to a named pipe would wait forever.
    rmSync(next, { recursive: true, force: true });
    writeFileSync(next, `${sealOf(text, key)}\n${text}`, { mode: 0o600, flag: 'wx' });
    renameSync(next, join(folder, FILE));
  } catch (error) {
    throw new UserError(
      'infrastructure',
      `The run's record could not be written: ${completeSentence(getErrorMessage(error))} Do not remove the run's folder, and make sure its disk has free space.`,
      { cause: error },
    );
  }
}

/** Reads the run's record; returns null unless main of this run wrote it, byte for byte. */
export function readRunRecord(folder: string, key: Buffer): RunRecord | null {
  try {
    const content = readPlainFileNow(join(folder, FILE), MAX_RECORD_BYTES)?.bytes.toString() ?? '';
    const end = content.indexOf('\n');
    const text = content.slice(end + 1);
    const [found, made] = [Buffer.from(content.slice(0, Math.max(0, end))), Buffer.from(sealOf(text, key))];
    if (found.length !== made.length || !timingSafeEqual(found, made)) return null;
    const record = JSON.parse(text) as Partial<RunRecord> | null;
    return record?.version === 2 && typeof record.stage === 'string' ? (record as RunRecord) : null;
  } catch {
    return null;
  }
}

function sealOf(text: string, key: Buffer): string {
  return createHmac('sha256', key).update('run record\n').update(text).digest('hex');
}
