import type { Outcome } from '../../../core/outcome.ts';
import type { RunReport } from '../../../handover/report.ts';

const NAMES: Readonly<Record<Outcome['reason'], string>> = {
  signal: 'cancelled',
  killed: 'killed',
  project_complete: 'complete, as the agent says',
  completion_signals: 'complete, as the agent says',
  plan_complete: 'complete',
  permission_denied: 'stopped: the agent was denied a tool',
  test_saturation: 'stopped: only tests changed',
  safety: 'stopped: the agent says that it is finished, and is not',
  circuit_open: 'stopped: the circuit is open',
  needs_human: 'blocked: a person must help',
  base_is_red: 'blocked: the base branch is red',
  calls_per_hour: 'waiting for a limit to reset: calls per hour',
  tokens_per_hour: 'waiting for a limit to reset: tokens per hour',
  cost_per_day: 'waiting for a limit to reset: cost per day',
  usage_limit: 'waiting for a limit to reset: usage at the provider',
  step_circuit: 'waiting to try the agent again',
  iterations: 'iteration limit',
  minutes: 'time limit',
  cost: 'cost limit',
  checks: 'more checks to look at',
  unverified: 'not verified yet',
  no_tasks: 'idle: there are no tasks',
  all_done: 'idle: all tasks are done',
  not_for_us: 'not for Ralph',
  answered: 'answered a command',
  waiting_for_review: 'waiting for review',
  updated: 'updated the tasks',
  no_such_label: 'idle: the task label does not exist',
  by_person: 'stopped by a person',
  withdrawn: 'stopped: its tasks were taken back',
  not_allowed: 'refused: no write permission',
  another_run: 'another run is at work',
  configuration: 'failed: configuration',
  infrastructure: 'failed: infrastructure',
};

/**
 * Names the end of a run in a few words, which begin like the headline of its report. Names codes of a newer version
 * unchanged.
 */
export function nameOutcome({ kind, reason }: { readonly kind: string; readonly reason: string }): string {
  const known: Readonly<Record<string, string>> = NAMES;
  return Object.hasOwn(known, reason) ? (known[reason] ?? '') : `${kind} (${reason})`;
}

/** Describes the answer to a command, or to the request for a plan, which takes a call. */
export function describeAnsweredRun({ kind }: Pick<RunReport, 'kind'>): string {
  return kind === 'worked'
    ? 'The requested plan, or the reason why none was made, is in a comment on the issue.'
    : 'The command was answered; no call was made.';
}
