import { posix } from 'node:path';
import { PROGRESS_PLACES } from '../../core/prompt/places.ts';
import { createPathMatcher, toRootPath, type Folder } from '../../core/folder.ts';
import { EARLY_STATE, taskFilePaths } from '../../core/tasks/files/form/root-plan.ts';

/**
 * Files that need a person's permission to change: they decide what runs on GitHub or in the next agent, or who must
 * review.
 */
const protectedGlobs = [
  '.github',
  '.github/**',
  'action.yml',
  'action.yaml',
  'CODEOWNERS',
  'docs/CODEOWNERS',
  '**/.claude',
  '**/.claude/**',
  '**/.mcp.json',
  '**/.gitattributes',
  '.gitmodules',
  // A settings file, which decides about the next run.
  '.ralphrc',
  '.ralph/.ralphrc',
];

/** State files of other Ralph loops, in `.ralph/` or, in their first versions, at the root. */
const STATE_OF_OTHERS: readonly string[] = [
  ...EARLY_STATE,
  '.claude_session_id',
  '.ralph_session',
  '.ralph_session_history',
];

/** The loop's own files in any `.ralph/` folder; everything else there belongs to the user. */
export const LOOP_STATE: readonly string[] = [
  ...['state', 'logs', 'status.json', 'journal*.jsonl', 'progress.json'],
  ...STATE_OF_OTHERS,
];

const loopState = createPathMatcher([
  ...[...LOOP_STATE, 'state/**', 'logs/**'].map((name) => `**/.ralph/${name}`),
  ...STATE_OF_OTHERS,
  // A message to the loop, which reads and removes it.
  '**/.ralph-complete',
]);

/**
 * The agent's notebook and the task files, including those that the loop creates from them. They are published like any
 * file, but changing only these is not progress.
 */
const agentNotes: readonly string[] = [
  '.ralph/learnings.md',
  '.ralph/learnings_archive.md',
  '.ralph/learnings/**',
  '.ralph/prd_archive.json',
  ...PROGRESS_PLACES,
  ...Object.values(taskFilePaths).flat(),
];

/** Returns the globs of the notes of a run that works in this folder. */
export function listNoteGlobs(folder: Folder): readonly string[] {
  return agentNotes.map((path) => toRootPath(folder, path));
}

/** Returns true for files that are neither measured nor ever committed. */
export function isLoopState(path: string): boolean {
  return loopState(path);
}

const isProtectedName = createPathMatcher([...protectedGlobs, '**/.git', '**/.git/**']);

/**
 * Returns true for paths that may be published only if a glob of `allow-protected-paths` names them, in any form that
 * some file system treats as equal.
 */
export function isProtected(path: string): boolean {
  return isProtectedName(path) || isProtectedName(lenientForm(path));
}

/**
 * Returns the name as the most lenient file systems compare it: without letter case, width, invisible characters,
 * trailing dots and blanks, or a short form of `.git`.
 */
function lenientForm(path: string): string {
  return path
    .normalize('NFKC')
    .replace(/[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}]/gu, '')
    .split('/')
    .map((name) =>
      name
        .replace(/[. ]+$/, '')
        .replace(/^git~\d+$/i, '.git')
        .replace(/:.*$/, ''),
    )
    .join('/');
}

/**
 * Returns true if a link at `path` could lead out of the work tree or into `.git`. Also returns true for a target that
 * goes up after going down, because the folder in between may be a link.
 */
export function leavesWorkTree(path: string, target: string): boolean {
  if (target === '' || target.startsWith('/') || target.includes('\0')) return true;
  const steps = target.split('/').filter((step) => step !== '' && step !== '.');
  const up = steps.findIndex((step) => step !== '..');
  const ups = up === -1 ? steps.length : up;
  const depth = path.split('/').length - 1;
  if (ups > depth || steps.slice(ups).includes('..')) return true;
  return /^\.git(\/|$)/i.test(posix.join(posix.dirname(path), target));
}
