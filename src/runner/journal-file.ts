import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chainJournalLine, CHAIN_START } from '../core/journal/chain.ts';
import { getErrorMessage, UserError } from '../errors.ts';
import { completeSentence } from '../core/text/phrase.ts';
import { appendToPlainFile, readPlainFileNow } from '../files/plain-file.ts';

const JOURNAL = 'journal.jsonl';
const RECEIPT = 'receipt.json.gz';

/** A run's journal on disk. */
export interface JournalFile {
  /** Returns the path of the file; null until it has a line. */
  path(): string | null;
  /** Returns the hash of the last line; null until there is one. */
  hash(): string | null;
  /**
   * Adds a line, with the hash of the line before, in one write: a kill leaves at most the last line cut off, which
   * readers tolerate.
   */
  append(line: string): void;
  /**
   * Adds lines of the job log to the log file next to the journal, up to its maximum size. A line that cannot be
   * written is dropped.
   */
  keepLog(text: string): void;
  /** Keeps a patch in a file whose name begins with the journal's name. A patch that cannot be written is dropped. */
  keepPatch(name: string, patch: string): void;
  /** Keeps a receipt next to the journal, and returns its path. */
  keepReceipt(content: Uint8Array): string;
  /** Keeps the page about merged tasks in a file whose name begins with the journal's, and returns its path. */
  keepHistory(page: string): string;
}

/** Maximum number of patches that a run keeps. */
const MAX_KEPT_PATCHES = 20;

/** Maximum size of the kept log, in bytes. */
const MAX_KEPT_LOG_BYTES = 20 * 1024 * 1024;

/** Maximum size of a journal that is read back, in bytes. */
const MAX_JOURNAL_BYTES = 16 * 1024 * 1024;

/** Returns the text of the journal in `folder`; null if there is no file or it is too large to be a journal. */
export function readJournalFile(folder: string): string | null {
  return readPlainFileNow(join(folder, JOURNAL), MAX_JOURNAL_BYTES)?.bytes.toString() ?? null;
}

/** Creates the journal in `folder`. `onBegin` gets its path once, when the first line is written. */
export function createJournalFile(folder: string, onBegin: (path: string) => void): JournalFile {
  const file = join(folder, JOURNAL);
  let hash: string | null = null;
  let patches = 0;
  let logBytes = 0;
  return {
    path: () => (hash === null ? null : file),
    hash: () => hash,
    append: (line) => {
      const chained = chainJournalLine(line, hash ?? CHAIN_START);
      try {
        appendToPlainFile(file, `${chained}\n`, 0o600);
      } catch (error) {
        throw new UserError(
          'infrastructure',
          `The run's journal could not be written: ${completeSentence(getErrorMessage(error))} Do not remove the run's folder, and make sure its disk has free space.`,
          { cause: error },
        );
      }
      const isFirst = hash === null;
      hash = createHash('sha256').update(chained).digest('hex');
      if (isFirst) onBegin(file);
    },
    keepLog: (text) => {
      const room = MAX_KEPT_LOG_BYTES - logBytes;
      if (room <= 0) return;
      const lines = `${text}\n`;
      logBytes += Buffer.byteLength(lines);
      try {
        appendToPlainFile(
          `${file}.log`,
          logBytes > MAX_KEPT_LOG_BYTES ? '… The job log has the rest.\n' : lines,
          0o600,
        );
      } catch {
        // Ignore the error, because the job log has the line anyway.
      }
    },
    keepReceipt: (content) => {
      const path = join(folder, RECEIPT);
      writeFileSync(path, content, { mode: 0o600 });
      return path;
    },
    keepHistory: (page) => {
      const path = `${file}.history.html`;
      writeFileSync(path, page, { flag: 'wx', mode: 0o600 });
      return path;
    },
    keepPatch: (name, patch) => {
      if (patches >= MAX_KEPT_PATCHES) return;
      patches += 1;
      const plain = name.replace(/[^\w.-]+/g, '-').slice(0, 60);
      try {
        writeFileSync(`${file}.${String(patches)}-${plain}.patch`, patch, { flag: 'wx', mode: 0o600 });
      } catch {
        // Ignore the error, because the name of this work is reported anyway.
      }
    },
  };
}
