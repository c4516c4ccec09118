import { createHash } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { chainLine, CHAIN_START } from '../core/journal/chain.ts';
import { messageOf, UserError } from '../errors.ts';

/** A run's journal on disk. */
export interface JournalFile {
  /** Where it is; null until it has a line. */
  path(): string | null;
  /** Hash of its last line; null until it has one. */
  hash(): string | null;
  /** Adds a line, with the hash of the one before, in one write: a kill leaves at most the last line cut off, which readers tolerate. */
  append(line: string): void;
}

/** The journal in `folder`; `onBegin` gets its path once, when the first line is there. */
export function createJournalFile(folder: string, onBegin: (path: string) => void): JournalFile {
  const file = join(folder, 'journal.jsonl');
  let hash: string | null = null;
  return {
    path: () => (hash === null ? null : file),
    hash: () => hash,
    append: (line) => {
      const chained = chainLine(line, hash ?? CHAIN_START);
      try {
        appendFileSync(file, `${chained}\n`, { mode: 0o600 });
      } catch (error) {
        throw new UserError(
          'infrastructure',
          `The run's journal could not be written: ${messageOf(error)}. The run's folder must stay, and its disk needs free space.`,
          { cause: error },
        );
      }
      const isFirst = hash === null;
      hash = createHash('sha256').update(chained).digest('hex');
      if (isFirst) onBegin(file);
    },
  };
}
