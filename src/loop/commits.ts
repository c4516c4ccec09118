import type { TreeSnapshot } from '../core/evidence.ts';
import type { LockFile } from '../core/feedback/conflict/lock-tools.ts';
import { combineLookAt } from '../core/review/look-at.ts';
import { getProgress } from '../core/tasks/queue.ts';
import type { Task } from '../core/tasks/task.ts';
import { buildIterationMessage, MAX_SUBJECT_CHARS, formatTaskName } from '../core/text/commit-message.ts';
import { toPlainTitle } from '../core/text/phrase.ts';
import { OUTSIDE_WORK_TREE } from '../core/work-tree/answers.ts';
import type { Work } from '../handover/intake.ts';
import type { CommittedIteration } from '../ports/repository.ts';
import type { Iteration } from './call.ts';
import type { LoopDeps } from './deps.ts';
import { regenerateLockFiles } from './feedback/lock-files.ts';

/** Content to commit; `summary` is the agent's own. */
interface Content {
  readonly before: TreeSnapshot;
  readonly after: TreeSnapshot;
  readonly summary: string | null;
}

/** A commit with the result for each lock file of a merge, and the files in which it leaves new conflict markers. */
export interface CommitResult extends CommittedIteration {
  readonly lockFiles: readonly LockFile[];
  readonly marked: readonly string[];
}

/**
 * Commits what an iteration has made so far. In a merge, regenerates the lock files first; if one cannot be regenerated
 * or the run is cancelled, still keeps what the agent resolved.
 */
export async function commitWork(
  deps: LoopDeps,
  { work, soFar, step: { task }, turn, merge }: Iteration,
  { before, after, summary }: Content,
): Promise<{ readonly work: Work; readonly committed: CommitResult }> {
  const { coAuthor } = turn.opened.agent;
  const lockFiles =
    merge === null || merge.regeneratedByLoop.length === 0 ? null : await regenerateLockFiles(deps, work);
  const committed = await deps.repository.commit({
    before,
    after: lockFiles === null ? after : await deps.repository.snapshot(),
    message: writeCommitMessage(deps, work, { task, summary }),
    trailers: {
      'Ralph-Run': deps.context.runId,
      'Ralph-Iteration': String(soFar.iterations + 1),
      'Ralph-Task': task.id,
      ...(deps.config.coAuthor && coAuthor !== null ? { 'Co-authored-by': coAuthor } : {}),
    },
  });
  for (const { name, patch } of committed.beside) deps.keepPatch(deps.redact(name), deps.redact(patch));
  const marked = committed.lookAt.filter(({ kind }) => kind === 'conflict-markers').flatMap(({ files }) => files);
  return {
    committed: { ...committed, lockFiles: lockFiles ?? [], marked: marked.map(({ path }) => path) },
    work: addCommitToWork(work, committed),
  };
}

/** Returns the commit message of a task. */
export function writeCommitMessage(
  { redact }: Pick<LoopDeps, 'redact'>,
  { state }: Work,
  { task, summary }: { readonly task: Task } & Pick<Content, 'summary'>,
): string {
  return buildIterationMessage({
    title: toPlainTitle(redact(task.title), MAX_SUBJECT_CHARS),
    name: redact(formatTaskName(task)),
    summary: redact(summary ?? ''),
    earlier: Object.values(state.change.tasks).flatMap(({ summary: said }) => said ?? []),
    attempt: getProgress(state.tasks, task.id).attempts,
  });
}

/** Returns the work after a commit. */
export function addCommitToWork(work: Work, committed: CommittedIteration): Work {
  return {
    ...work,
    head: committed.head,
    hasNewCommits: work.hasNewCommits || committed.commit !== null,
    withheld: withoutDuplicates([
      ...work.withheld,
      ...committed.withheld,
      ...committed.beside.map(({ name }) => ({ path: name, why: OUTSIDE_WORK_TREE })),
    ]),
    lookAt: combineLookAt(work.lookAt, committed.lookAt),
  };
}

/** Removes duplicates, so that people read about a file once per run. */
function withoutDuplicates(files: Work['withheld']): Work['withheld'] {
  return [...new Map(files.map((file) => [JSON.stringify([file.path, file.why]), file])).values()];
}

/** Combines the commits of one iteration; the last one determines how the iteration ends. */
export function joinCommits(earlier: readonly CommitResult[], last: CommitResult): CommitResult {
  const all = [...earlier, last];
  return {
    ...last,
    commit: all.findLast(({ commit }) => commit !== null)?.commit ?? null,
    withheld: withoutDuplicates(all.flatMap(({ withheld }) => withheld)),
    beside: all.flatMap(({ beside }) => beside),
    newlyIgnored: [...new Set(all.flatMap(({ newlyIgnored }) => newlyIgnored))],
    publishedPaths: [...new Set(all.flatMap(({ publishedPaths }) => publishedPaths))],
    marked: all.reduce<readonly string[]>(
      (paths, { marked, publishedPaths }) => [...paths.filter((path) => !publishedPaths.includes(path)), ...marked],
      [],
    ),
    merge: all.some(({ merge }) => merge === 'made') ? 'made' : last.merge,
    lockFiles: all.findLast(({ lockFiles }) => lockFiles.length > 0)?.lockFiles ?? [],
  };
}
