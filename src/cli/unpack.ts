import { gunzipSync } from 'node:zlib';
import { MAX_JOURNAL_TEXT_CHARS } from '../core/snapshot/stored-run.ts';

/** Unpacks gzip. Returns an empty text for anything else; an empty text cannot be a journal or a receipt. */
export function unpackGzip(bytes: Uint8Array, maxOutputLength: number): string {
  try {
    return gunzipSync(bytes, { maxOutputLength }).toString();
  } catch {
    return '';
  }
}

/** Unpacks the journal of a stored run; returns an empty text if it is damaged. */
export function unpackJournal(packed: string): string {
  return unpackGzip(Buffer.from(packed, 'base64'), MAX_JOURNAL_TEXT_CHARS);
}
