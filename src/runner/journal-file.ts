import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf, UserError } from '../errors.ts';

/** A run's journal on disk. */
export interface JournalFile {
  /** Where it is; null until it has a line. */
  path(): string | null;
  /** Adds a line in one write: a kill leaves at most the last line cut off, which readers tolerate. */
  append(line: string): void;
}

/** The journal in `folder`; `onBegin` gets its path once, when the first line is there. */
export function createJournalFile(folder: string, onBegin: (path: string) => void): JournalFile {
  const file = join(folder, 'journal.jsonl');
  let begun = false;
  return {
    path: () => (begun ? file : null),
    append: (line) => {
      try {
        appendFileSync(file, `${line}\n`, { mode: 0o600 });
      } catch (error) {
        throw new UserError(
          'infrastructure',
          `The run's journal could not be written: ${messageOf(error)}. The run's folder must stay, and its disk needs free space.`,
          { cause: error },
        );
      }
      if (!begun) onBegin(file);
      begun = true;
    },
  };
}
