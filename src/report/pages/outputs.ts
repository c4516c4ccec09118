import { doneTasks, resumeInstant, type RunReport } from '../../handover/report.ts';
import { renderStatusJson } from './status-json.ts';

/** The action's outputs, by the names in action.yml. */
export type Outputs = Readonly<Record<OutputName, string>>;

export type OutputName =
  | 'outcome'
  | 'reason'
  | 'iterations'
  | 'tasks-done'
  | 'tasks-open'
  | 'branch'
  | 'head-sha'
  | 'pr-number'
  | 'pr-url'
  | 'circuit'
  | 'calls-remaining'
  | 'cost-usd'
  | 'tokens'
  | 'resume-at'
  | 'state-saved'
  | 'journal-path'
  | 'status-json';

/** Values of all outputs; an empty string stands for what is not known or does not exist. */
export function renderOutputs(report: RunReport, journalPath: string | null): Outputs {
  const done = doneTasks(report).length;
  const resumeAt = resumeInstant(report.outcome);
  return {
    outcome: report.outcome.kind,
    reason: report.outcome.reason,
    iterations: String(report.iterations.length),
    'tasks-done': String(done),
    'tasks-open': String(report.tasks.length - done),
    branch: report.branch ?? '',
    'head-sha': report.headSha ?? '',
    'pr-number': report.pullRequest === null ? '' : String(report.pullRequest.number),
    'pr-url': report.pullRequest?.url ?? '',
    circuit: report.circuit ?? '',
    'calls-remaining': report.callsRemaining === null ? '' : String(report.callsRemaining),
    'cost-usd': report.costUsd.toFixed(4),
    tokens: String(report.tokens),
    'resume-at': resumeAt === null ? '' : new Date(resumeAt).toISOString(),
    'state-saved': String(report.saved?.kind === 'saved'),
    'journal-path': journalPath ?? '',
    'status-json': renderStatusJson(report),
  };
}
