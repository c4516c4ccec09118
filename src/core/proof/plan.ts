import { isTestSettings } from '../review/look-at.ts';
import { countInTests, isTestFile, mayHoldTests } from '../review/test-files.ts';
import type { TaskId } from '../tasks/ids.ts';

/** A content of a file in git: its mode as an octal text, and the id of its object. */
export interface FileContent {
  readonly mode: string;
  readonly id: string;
}

/**
 * A file that a task's commits changed, with its content before the first and after the last of them; null where there
 * is no file. Texts are those of tests, null for other files.
 */
export interface TaskFile {
  readonly path: string;
  readonly before: FileContent | null;
  readonly after: FileContent | null;
  readonly textBefore: string | null;
  readonly textAfter: string | null;
}

/** The files that the commits of one task changed. */
export interface TaskChanges {
  readonly task: TaskId;
  readonly files: readonly TaskFile[];
}

/**
 * What to lay for the proof of a task's tests. `without`: files to take back, so that only its tests are left. `old`:
 * files to take back for its changed tests in their old form; empty if it changed none. `in-code`: it has tests in files
 * of code, which cannot be taken back alone. `none`: it has no new or changed tests, or changed nothing else.
 */
export type ProofPlan =
  | { readonly kind: 'none' }
  | { readonly kind: 'in-code' }
  | { readonly kind: 'prove'; readonly without: readonly TaskFile[]; readonly old: readonly TaskFile[] };

/** Plans the proof of a task's tests. */
export function planProof({ files }: TaskChanges): ProofPlan {
  const without = files.filter(({ path }) => !isTestFile(path) && !isTestSettings(path));
  const isTested = files.some(({ path, textAfter }) => isTestFile(path) && hasTests(path, textAfter));
  if (without.some(addsTestsToCode)) return { kind: 'in-code' };
  if (!isTested || without.length === 0) return { kind: 'none' };
  const isChanged = files.some(
    ({ path, textBefore, textAfter }) =>
      isTestFile(path) && textBefore !== null && hasTests(path, textBefore) && !isOnlyAdded(textBefore, textAfter ?? ''),
  );
  const old = files.filter(({ path, before }) => isTestFile(path) && before !== null);
  return { kind: 'prove', without, old: isChanged ? old : [] };
}

function hasTests(path: string, text: string | null): boolean {
  if (text === null) return false;
  const { tests, assertions } = countInTests(path, text);
  return tests + assertions > 0;
}

function addsTestsToCode({ path, textBefore, textAfter }: TaskFile): boolean {
  if (!mayHoldTests(path)) return false;
  const [before, after] = [textBefore, textAfter].map((text) => countInTests(path, text ?? ''));
  return (after?.tests ?? 0) > (before?.tests ?? 0) || (after?.assertions ?? 0) > (before?.assertions ?? 0);
}

/** Returns true if a text only gained lines, so that what it tested before is still in it. */
function isOnlyAdded(before: string, after: string): boolean {
  const wanted = before.split('\n');
  let at = 0;
  for (const line of after.split('\n')) if (line === wanted[at]) at += 1;
  return at === wanted.length;
}

/** Returns the lines that a task added to its tests. */
export function linesAddedToTests({ files }: TaskChanges): string {
  return files
    .flatMap(({ textBefore, textAfter }) => {
      const known = new Set((textBefore ?? '').split('\n'));
      return (textAfter ?? '').split('\n').filter((line) => !known.has(line));
    })
    .join('\n');
}
