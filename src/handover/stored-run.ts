import type { VerificationRecord } from '../core/lane/state/state.ts';
import type { Outcome } from '../core/outcome.ts';
import { spentBetween } from '../core/sharing/budget.ts';
import { MAX_TASKS_OF_RUN, type StoredRun } from '../core/snapshot/stored-run.ts';
import { progressOf } from '../core/tasks/queue.ts';
import { shownProgress } from '../core/tasks/task.ts';
import { oneLine } from '../core/text/phrase.ts';
import type { Work } from './intake.ts';

/** Facts about a run's end that its work lacks. */
interface RunEnding {
  readonly context: Pick<StoredRun, 'runId' | 'runAttempt' | 'runUrl'>;
  readonly outcome: Outcome;
  readonly requestedBy: string | null;
  readonly headSha: string | null;
  readonly pullRequest: number | null;
  /** See `StoredRun`. */
  readonly journal: string | null;
  readonly redact: (text: string) => string;
}

/** Returns what the repository remembers of a run. Texts of people and agents are redacted and cut. */
export function storedRunOf(work: Work, ending: RunEnding): StoredRun {
  const { context, outcome, requestedBy, headSha, pullRequest, journal, redact } = ending;
  const { state, stateBefore, lane } = work;
  const words = (text: string, max: number): string => oneLine(redact(text), max);
  const worked = new Set(work.journal.map(({ taskId }) => taskId));
  return {
    version: 1,
    lane: lane.id,
    runId: context.runId,
    runAttempt: context.runAttempt,
    runUrl: words(context.runUrl, 500),
    requestedBy: requestedBy === null ? null : words(requestedBy, 100),
    startedAt: work.startedAt,
    endedAt: work.endedAt,
    outcome: { kind: outcome.kind, reason: outcome.reason },
    agent: { name: words(work.agent.name, 60), version: words(work.agent.version, 60) },
    base: work.base,
    head: headSha,
    pullRequest,
    baseVerification: resultOf(state.baseVerification),
    headVerification: resultOf(state.headVerification),
    tasks: work.tasks
      .filter(({ id }) => worked.has(id))
      .slice(0, MAX_TASKS_OF_RUN)
      .map(({ id, title }) => ({
        id: id.slice(0, 200),
        title: words(title, 200),
        state: shownProgress(progressOf(state.tasks, id)).state,
      })),
    iterations: work.journal.length,
    ...spentBetween(stateBefore, state),
    journal,
  };
}

function resultOf(verification: VerificationRecord | null): StoredRun['headVerification'] {
  return verification === null ? null : { commit: verification.commit, result: verification.kind };
}
