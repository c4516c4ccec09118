import type { Snapshot } from '../core/evidence.ts';
import { moreToLookAt } from '../core/review/look-at.ts';
import { progressOf } from '../core/tasks/queue.ts';
import { iterationMessage, MAX_SUBJECT_CHARS, nameInMessage } from '../core/text/commit-message.ts';
import { plainTitle } from '../core/text/plain-text.ts';
import type { Work } from '../handover/work.ts';
import type { CommittedIteration } from '../ports/repository.ts';
import type { Iteration } from './call.ts';
import type { LoopDeps } from './deps.ts';

/** Content to commit; `summary`: what the agent says of it. */
interface Content {
  readonly before: Snapshot;
  readonly after: Snapshot;
  readonly summary: string | null;
}

/** Commits what an iteration has made so far; the work knows it. */
export async function commitWork(
  deps: LoopDeps,
  { work, soFar, step: { task }, turn }: Iteration,
  { before, after, summary }: Content,
): Promise<{ readonly work: Work; readonly committed: CommittedIteration }> {
  const { coAuthor } = turn.opened.agent;
  const committed = await deps.repository.commit({
    before,
    after,
    message: iterationMessage({
      title: plainTitle(task.title, MAX_SUBJECT_CHARS),
      name: nameInMessage(task),
      summary: deps.redact(summary ?? ''),
      earlier: Object.values(work.state.change.tasks).flatMap(({ summary: said }) => said ?? []),
      attempt: progressOf(work.state.tasks, task.id).attempts,
    }),
    trailers: {
      'Ralph-Run': deps.context.runId,
      'Ralph-Iteration': String(soFar.iterations + 1),
      'Ralph-Task': task.id,
      ...(deps.config.coAuthor && coAuthor !== null ? { 'Co-authored-by': coAuthor } : {}),
    },
  });
  return {
    committed,
    work: {
      ...work,
      head: committed.head,
      hasNewCommits: work.hasNewCommits || committed.commit !== null,
      withheld: [...work.withheld, ...committed.withheld],
      lookAt: moreToLookAt(work.lookAt, committed.lookAt),
    },
  };
}

/** What several commits of one iteration come to; the last one says how it ends. */
export function committedTogether(
  earlier: readonly CommittedIteration[],
  last: CommittedIteration,
): CommittedIteration {
  const all = [...earlier, last];
  return {
    ...last,
    commit: all.findLast(({ commit }) => commit !== null)?.commit ?? null,
    publishedPaths: [...new Set(all.flatMap(({ publishedPaths }) => publishedPaths))],
  };
}
