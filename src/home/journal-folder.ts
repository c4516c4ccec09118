import { messageOf } from '../errors.ts';
import { openOwnFolder, type WorkedFolder } from './own-folder.ts';

/** The folder of the run's journal, with an empty one in place of that of the run before; `instead` where `.ralph/logs` cannot hold it, which is warned of. */
export function openJournalFolder(
  worked: WorkedFolder,
  { instead, warn }: { readonly instead: string; readonly warn: (text: string) => void },
): string {
  try {
    const folder = openOwnFolder(worked, ['.ralph', 'logs'], { hides: true });
    folder.begin('journal.jsonl');
    return folder.path;
  } catch (error) {
    warn(`The journal is not kept in .ralph/logs, and is gone when this run ends: ${messageOf(error)}.`);
    return instead;
  }
}
