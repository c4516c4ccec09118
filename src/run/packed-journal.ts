import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { StoredRun } from '../core/snapshot/stored-run.ts';
import { selectLinesUpTo } from '../core/journal/chain.ts';

/**
 * Returns a journal in its stored form: gzip in base64, up to the line whose hash the state names. Returns null without
 * that line, or if the journal contains a secret, because redaction would break the chain of hashes.
 */
export function packJournal(
  text: string | null,
  { lastHash, redact }: { readonly lastHash: string | null; readonly redact: (text: string) => string },
): string | null {
  const lines = text === null || lastHash === null ? null : selectLinesUpTo(text, lastHash, hashText);
  return lines === null || redact(lines) !== lines ? null : gzipSync(lines, { level: 9 }).toString('base64');
}

/**
 * Returns the receipt of a run as a file that can be signed: the output of `ralph receipt --json`, packed with gzip.
 */
export async function packReceipt(run: StoredRun): Promise<Uint8Array> {
  const { parseReceiptRecord, serializeReceipts } = await import('../core/receipt/receipt.ts');
  const journal = run.journal === null ? null : gunzipSync(Buffer.from(run.journal, 'base64')).toString();
  const receipt = parseReceiptRecord(run, journal);
  return gzipSync(serializeReceipts(receipt === null ? [] : [receipt]), { level: 9 });
}

/** Returns the SHA-256 of a text in hex digits, by which the journal's lines are chained. */
export function hashText(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
