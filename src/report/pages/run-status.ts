import type { Outcome } from '../../core/outcome.ts';
import { viewCircuit } from '../../core/lane/circuit.ts';
import { measureUsageAt } from '../../core/lane/windows.ts';
import { type RunStatus, buildLocalStatus } from '../../core/local/status-document.ts';
import type { Policy } from '../../core/policy.ts';
import { countTasks } from '../../core/tasks/queue.ts';
import { isListedTask, nameOfTask, type Task } from '../../core/tasks/task.ts';
import { cutText } from '../../core/text/phrase.ts';
import { DAY_MS, HOUR_MS } from '../../core/countdown.ts';
import type { Work } from '../../handover/intake.ts';

/**
 * The state of a local run. `work` contains what this run knows about its lane; its journal is null before the loop.
 */
export interface LocalRunState {
  readonly work: (Pick<Work, 'tasks' | 'state'> & { readonly journal: Work['journal'] | null }) | null;
  /** The last status of the previous run, for facts that this run does not know, or null if none. */
  readonly before: RunStatus | null;
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

/** Builds the content of `.ralph/status.json`. */
export function buildStatusDocument(stands: LocalRunState): object {
  const { work, policy, now } = stands;
  const usage = work === null ? { hour: null, day: null } : measureUsageAt(work.state.windows, now);
  return buildLocalStatus(runStatusOf(stands), {
    now,
    tokens: { used: usage.hour?.tokens ?? 0, limit: policy.maxTokensPerHour },
    hourEndsAt: usage.hour?.endsAt ?? null,
  });
}

function runStatusOf(stands: LocalRunState): RunStatus {
  const { work, lane, doing, task, policy, startedAt, now, resumeAt, outcome, pid } = stands;
  const iso = (instant: number): string => new Date(instant).toISOString();
  const state = work?.state ?? null;
  const known = work === null ? withoutLane(stands) : knownNowOf(work, stands);
  const journal = work?.journal ?? null;
  // A run that ends before its first call has no iterations, so keep the count of the run before.
  const finished = journal === null ? (stands.before?.iteration ?? 0) : journal.length;
  return {
    version: 1,
    pid,
    startedAt: iso(startedAt),
    updatedAt: iso(now),
    branchId: lane.id,
    branch: cutText(lane.branch, 250),
    doing,
    iteration: doing === 'agent' || doing === 'verify' || doing === 'steps' ? finished + 1 : finished,
    maxIterations: policy.maxIterations,
    task: task === null ? null : { id: cutText(nameOfTask(task), 120), title: cutText(task.title, 300) },
    tasks: known.tasks,
    circuit: known.circuit,
    calls: { used: known.calls, limit: policy.maxCallsPerHour },
    cost: {
      run: journal?.reduce((sum, { analysis }) => sum + Math.max(0, analysis.costUsd ?? 0), 0) ?? 0,
      runLimit: policy.maxCostUsd,
      day: known.costOfDay,
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

interface KnownNow extends Pick<RunStatus, 'tasks' | 'circuit'> {
  readonly calls: number;
  readonly costOfDay: number;
}

function knownNowOf({ tasks, state }: NonNullable<LocalRunState['work']>, { policy, now }: LocalRunState): KnownNow {
  const { hour, day } = measureUsageAt(state.windows, now);
  return {
    tasks: countTasks(tasks.filter(isListedTask), state.tasks),
    circuit: viewCircuit(state.circuit, policy.circuit, now).kind,
    calls: hour?.calls ?? 0,
    costOfDay: day?.costUsd ?? 0,
  };
}

function withoutLane({ before, now }: LocalRunState): KnownNow {
  if (before === null) return { tasks: { done: 0, all: 0 }, circuit: 'closed', calls: 0, costOfDay: 0 };
  const at = Date.parse(before.updatedAt);
  return {
    ...{ tasks: before.tasks, circuit: before.circuit },
    calls: now - at < HOUR_MS ? before.calls.used : 0,
    costOfDay: Math.floor(at / DAY_MS) === Math.floor(now / DAY_MS) ? before.cost.day : 0,
  };
}
