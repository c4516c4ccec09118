import type { RunReport, TaskReport } from '../../handover/report.ts';
import {
  listDoneTasks,
  listIterations,
  selectLaneReport,
  findResumeInstant,
  listLaneTasks,
  selectWorkedReport,
} from '../facts.ts';
import { computeKnownCostUsd } from '../sentences/spend.ts';
import { renderStatusJson } from './status-json.ts';

/** The action's outputs, by the names in action.yml. */
export type Outputs = Readonly<Record<OutputName, string>>;

type OutputName =
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
  | 'history-path'
  | 'journal-path'
  | 'journal-hash'
  | 'receipt-path'
  | 'handed-over'
  | 'handoff-digest'
  | 'handoff-digests'
  | 'handoff-branches'
  | 'handoff-parallel'
  | 'status-json';

/** Builds the values of all outputs; an output that is unknown or does not exist is an empty string. */
export function buildOutputs(
  report: RunReport,
  journal: {
    readonly path: string | null;
    readonly hash: string | null;
    readonly receipt: string | null;
    readonly history: string | null;
  },
): Outputs {
  const lane = selectLaneReport(report);
  const work = selectWorkedReport(report);
  const done = listDoneTasks(report).length;
  const resumeAt = findResumeInstant(report.outcome);
  return {
    outcome: report.outcome.kind,
    reason: report.outcome.reason,
    iterations: String(listIterations(report).length),
    'tasks-done': String(done),
    'tasks-open': String(listLaneTasks(report).filter(isOpen).length),
    branch: lane?.branch ?? '',
    'head-sha': lane?.headSha ?? '',
    'pr-number': String(lane?.pullRequest?.number ?? ''),
    'pr-url': lane?.pullRequest?.url ?? '',
    circuit: lane?.circuit ?? '',
    'calls-remaining': String(lane?.callsRemaining ?? ''),
    'cost-usd': work === null ? '0.0000' : (computeKnownCostUsd(work)?.toFixed(4) ?? ''),
    tokens: String(work?.tokens ?? 0),
    'resume-at': resumeAt === null ? '' : new Date(resumeAt).toISOString(),
    'state-saved': String(work?.saved?.kind === 'saved'),
    'history-path': journal.history ?? '',
    'journal-path': journal.path ?? '',
    'journal-hash': journal.hash ?? '',
    'receipt-path': journal.receipt ?? '',
    'handed-over': 'false',
    'handoff-digest': '',
    'handoff-digests': '',
    'handoff-branches': '',
    'handoff-parallel': '',
    'status-json': renderStatusJson(report),
  };
}

/** Returns true if a task keeps the work from being complete; optional tasks do not. */
function isOpen({ task, progress }: TaskReport): boolean {
  return !task.optional && progress.state !== 'done';
}
