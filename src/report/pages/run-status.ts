import type { Outcome } from '../../core/outcome.ts';
import { viewCircuit } from '../../core/lane/circuit.ts';
import { usageAt } from '../../core/lane/windows.ts';
import type { RunStatus } from '../../core/local/run-status.ts';
import { statusDocument } from '../../core/local/status-document.ts';
import type { Policy } from '../../core/policy.ts';
import { countTasks } from '../../core/tasks/queue.ts';
import { nameOfTask, type Task } from '../../core/tasks/task.ts';
import { cut } from '../../core/text/cut.ts';
import type { Work } from '../../handover/work.ts';

/** How a local run stands. `work`: null before the loop. */
export interface StandsNow {
  readonly work: Pick<Work, 'lane' | 'tasks' | 'state' | 'journal'> | null;
  readonly lane: { readonly id: string; readonly branch: string };
  readonly doing: RunStatus['doing'];
  readonly task: Task | null;
  readonly policy: Policy;
  readonly startedAt: number;
  readonly now: number;
  readonly resumeAt: number | null;
  readonly outcome: Outcome | null;
  readonly pid: number;
}

/** The content of `.ralph/status.json`. */
export function renderStatusDocument(stands: StandsNow): object {
  const { work, policy, now } = stands;
  const usage = work === null ? { hour: null, day: null } : usageAt(work.state.windows, now);
  return statusDocument(runStatusOf(stands), {
    now,
    tokens: { used: usage.hour?.tokens ?? 0, limit: policy.maxTokensPerHour },
    hourEndsAt: usage.hour?.endsAt ?? null,
  });
}

function runStatusOf(stands: StandsNow): RunStatus {
  const { work, lane, doing, task, policy, startedAt, now, resumeAt, outcome, pid } = stands;
  const iso = (instant: number): string => new Date(instant).toISOString();
  const state = work?.state ?? null;
  const usage = state === null ? { hour: null, day: null } : usageAt(state.windows, now);
  const { done, all } = work === null ? { done: 0, all: 0 } : countTasks(work.tasks, work.state.tasks);
  const finished = work?.journal.length ?? 0;
  return {
    version: 1,
    pid,
    startedAt: iso(startedAt),
    updatedAt: iso(now),
    lane: lane.id,
    branch: cut(lane.branch, 250),
    doing,
    iteration: doing === 'agent' || doing === 'verify' || doing === 'steps' ? finished + 1 : finished,
    maxIterations: policy.maxIterations,
    task: task === null ? null : { id: cut(nameOfTask(task), 120), title: cut(task.title, 300) },
    tasks: { done, all },
    circuit: state === null ? 'closed' : viewCircuit(state.circuit, policy.circuit, now).kind,
    calls: { used: usage.hour?.calls ?? 0, limit: policy.maxCallsPerHour },
    cost: {
      run: work?.journal.reduce((sum, { analysis }) => sum + Math.max(0, analysis.costUsd ?? 0), 0) ?? 0,
      runLimit: policy.maxCostUsd,
      day: usage.day?.costUsd ?? 0,
      dayLimit: policy.maxCostUsdPerDay,
    },
    signals: {
      done: state?.signals.doneInARow ?? 0,
      doneLimit: policy.completionSignals,
      testOnly: state?.signals.testOnlyInARow ?? 0,
      testOnlyLimit: policy.testOnlyIterations,
    },
    resumeAt: resumeAt === null ? null : iso(resumeAt),
    outcome: outcome === null ? null : { kind: outcome.kind, reason: outcome.reason },
  };
}
