import type { AgentName } from '../core/agent-names.ts';
import { countUnpriced } from '../core/journal/journal.ts';
import type { VerificationRecord } from '../core/lane/state/state.ts';
import type { Outcome } from '../core/outcome.ts';
import { hasLabel, lifecycleLabels } from '../core/people/labels.ts';
import { measureSpent } from '../core/sharing/budget.ts';
import { MAX_LABEL_CHARS, MAX_LABELS_OF_TASK, MAX_TASKS_OF_RUN, type StoredRun } from '../core/snapshot/stored-run.ts';
import { getProgress } from '../core/tasks/queue.ts';
import { computeShownProgress, type Task } from '../core/tasks/task.ts';
import { toOneLine } from '../core/text/phrase.ts';
import type { Work } from './intake.ts';

/** Facts about a run's end that its work lacks. */
interface RunEnding {
  /** The configured agents in their order, each with its model. */
  readonly agents: readonly { readonly name: AgentName; readonly model: string | null }[];
  readonly context: Pick<StoredRun, 'runId' | 'runAttempt' | 'runUrl'>;
  readonly outcome: Outcome;
  readonly requestedBy: string | null;
  readonly headSha: string | null;
  readonly pullRequest: number | null;
  /** The number of requests, as in `StoredRun`. */
  readonly requests: number | null;
  readonly journal: string | null;
  readonly redact: (text: string) => string;
}

/** Returns the stored record of a run. Texts of people and agents are redacted and cut. */
export function buildStoredRun(work: Work, ending: RunEnding): StoredRun {
  const { agents, context, outcome, requestedBy, headSha, pullRequest, requests, journal, redact } = ending;
  const { state, stateBefore, lane } = work;
  const words = (text: string, max: number): string => toOneLine(redact(text), max);
  const worked = new Set(work.journal.map(({ taskId }) => taskId));
  const called = work.journal.at(-1)?.agent ?? null;
  const model = (agents.find(({ name }) => name === called) ?? agents[0])?.model ?? null;
  const { costUsd, ...used } = measureSpent(stateBefore, state);
  return {
    version: 2,
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
      .map((task) => {
        const progress = getProgress(state.tasks, task.id);
        const { approval = null } = progress;
        return {
          id: task.id.slice(0, 200),
          title: words(task.title, 200),
          state: computeShownProgress(progress).state,
          labels: labelsOf(task).map((label) => words(label, MAX_LABEL_CHARS)),
          askedBy: approval === null ? null : words(approval.by, 100),
          askedAt: approval?.at ?? null,
          textHash: approval?.text ?? null,
        };
      }),
    iterations: work.journal.length,
    ...used,
    costUsd: Math.round(costUsd * 1e6) / 1e6,
    branch: lane.branch.slice(0, 255),
    baseBranch: lane.baseBranch.slice(0, 255),
    model: model === null ? null : words(model, 100),
    isolation: isolationOf(work, words),
    unpriced: countUnpriced(work.journal),
    requests,
    journalHash: state.journalHash,
    journal,
  };
}

function isolationOf({ isolation }: Work, words: (text: string, max: number) => string): StoredRun['isolation'] {
  if (isolation === null) return null;
  const { level, network, keyHidden, probe } = isolation;
  const failed = probe?.failed.map((name) => words(name, 300)) ?? [];
  return { level, network, keyHidden, probe: probe === null ? null : { checks: probe.checks, failed } };
}

/** Returns the labels that people gave an issue, without those that this program sets. */
function labelsOf({ source }: Task): readonly string[] {
  if (source.kind !== 'issue') return [];
  return source.labels.filter((label) => !hasLabel(Object.keys(lifecycleLabels), label)).slice(0, MAX_LABELS_OF_TASK);
}

function resultOf(verification: VerificationRecord | null): StoredRun['headVerification'] {
  return verification === null ? null : { commit: verification.commit, result: verification.kind };
}
