import { z } from 'zod';
import type { Immutable } from '../../immutable.ts';
import { isLockFile } from '../../review/lock-files.ts';
import { LOCK_TOOLS, MAX_LOCK_FILES, MAX_LOCK_PATH_CHARS } from './lock-tools.ts';

/** What came of making a lock file again; all but `made` leave it as it was. */
const lockResults = ['made', 'missing', 'failed', 'timeout', 'cancelled', 'marked', 'elsewhere', 'withheld'] as const;

const lockFileSchema = z.object({
  path: z.string().max(MAX_LOCK_PATH_CHARS).refine(isLockFile),
  tool: z.enum(LOCK_TOOLS),
  result: z.enum(lockResults),
});

export const lockFilesSchema = z.array(lockFileSchema).max(MAX_LOCK_FILES);

/** A lock file that conflicted, and what came of making it again. */
export type LockFile = Immutable<z.infer<typeof lockFileSchema>>;

export type LockResult = LockFile['result'];

/** What came of one lock file, as a sentence part in which `backticks` mark code. */
export function lockFileWords({ path, tool, result }: LockFile): string {
  const file = `\`${path.replaceAll('`', "'")}\``;
  return result === 'made'
    ? `\`${tool}\` made ${file} again`
    : `\`${tool}\` ${WHY[result]}, so it did not make ${file} again`;
}

const WHY: Readonly<Record<Exclude<LockResult, 'made'>, string>> = {
  missing: 'is not installed here',
  failed: 'failed',
  timeout: 'did not end in time',
  cancelled: 'was cancelled with the run',
  marked: 'left conflict markers',
  elsewhere: 'changed more than the lock file',
  withheld: 'wrote what must not be published',
};
