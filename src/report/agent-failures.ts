import { type CallFailure, describeFailure } from '../core/analysis/failure-words.ts';
import type { JournalEntry } from '../core/journal/journal.ts';
import type { RunReport } from '../handover/report.ts';
import { listIterations, selectLaneReport } from './facts.ts';
import { formatCount } from './format.ts';

/**
 * Describes how the last failed call failed, in this run or the one that opened the circuit, with its own words in
 * `backticks`; null when no call failed.
 */
export function describeLastFailure(report: RunReport): string | null {
  const last = listIterations(report).findLast(({ verdict }) => verdict.agentFailed);
  if (last !== undefined) return quoteAgentFailure(last);
  const failure = selectLaneReport(report)?.failure ?? null;
  return failure === null ? null : quoteFailure(failure);
}

/** Returns text such as `the agent failed (exit code 1): ` followed by the agent's own words in `backticks`. */
export function quoteAgentFailure({ analysis, evidence }: JournalEntry): string {
  return quoteFailure(describeFailure({ analysis, end: evidence.end }));
}

/** Returns how a call failed, with its own words in `backticks`. */
export function quoteFailure({ how, words }: CallFailure): string {
  return words === null ? how : `${how}: \`${words.replaceAll('`', "'")}\``;
}

/** Returns the warning about failed calls; empty if failed calls ended the run, because the outcome reports them. */
export function warnOfFailedCalls(report: RunReport): readonly string[] {
  const { outcome } = report;
  if (outcome.reason === 'circuit_open' && outcome.circuitReason === 'agent_error' && outcome.tripped === 'this-run')
    return [];
  const failed = listIterations(report).filter(({ verdict }) => verdict.agentFailed);
  const last = failed.at(-1);
  if (last === undefined) return [];
  const where = failed.length === 1 ? `Iteration ${String(last.iteration)}` : formatCount(failed.length, 'iteration');
  return [`⚠️ ${where} came to nothing: ${quoteAgentFailure(last)}`];
}
