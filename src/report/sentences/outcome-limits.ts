import { policyInputs } from '../../config/agent-inputs.ts';
import { MINUTE_MS } from '../../core/countdown.ts';
import type { Outcome, RunBound } from '../../core/outcome.ts';
import { formatTasksDone } from '../../core/tasks/queue.ts';
import { cutText } from '../../core/text/phrase.ts';
import type { RunReport } from '../../handover/report.ts';
import {
  listAllTasks,
  listDoneTasks,
  isScheduled,
  listIterations,
  selectReportSetting,
  listLaneTasks,
  selectWorkedReport,
} from '../facts.ts';
import type { Words } from '../next/step.ts';
import { formatCount, formatCost, formatInstantFrom, formatTokens } from '../format.ts';
import { YOU_ARE_NEEDED } from './trouble.ts';

/**
 * An outcome's headline without a full stop, and a description. `backticks` mark code, in which values are untrusted
 * text.
 */
export interface OutcomeText {
  readonly title: Words;
  readonly what: string;
}

/** Returns `2 of 3 tasks done`. */
export function describeProgress(report: RunReport): string {
  return formatTasksDone(listDoneTasks(report).length, listLaneTasks(report).length);
}

/** Describes a parked run: the limit for which it waits, and when work continues. */
export function describeParked(outcome: Extract<Outcome, { kind: 'parked' }>, report: RunReport): OutcomeText {
  const { needsPerson } = { needsPerson: undefined, ...outcome };
  if (needsPerson !== undefined)
    return {
      title: ['Waiting for a limit of the provider', YOU_ARE_NEEDED],
      what: `The provider says: \`${cutText(needsPerson, 300).replaceAll('`', "'")}\`. One call tries again after ${formatInstantFrom(outcome.resumeAt, report.endedAt)}.${waitSkippedBy(report)}`,
    };
  return {
    title: [outcome.reason === 'step_circuit' ? 'Waiting to try the agent again' : 'Waiting for a limit to reset'],
    what: `${whyParked(outcome, report)} Work ${isScheduled(report) && report.runUrl !== '' ? 'continues' : 'can continue'} after ${formatInstantFrom(outcome.resumeAt, report.endedAt)}.${waitSkippedBy(report)}`,
  };
}

/** Explains why a run did not wait for the limit although it should have; empty if nothing prevented the wait. */
function waitSkippedBy(report: RunReport): string {
  switch (selectWorkedReport(report)?.waitSkippedBy ?? null) {
    case 'iterations':
      return ` The run did not wait for that: it has made all the iterations that \`${policyInputs.maxIterations.name}\` allows.`;
    case 'minutes':
      return ` The run did not wait for that: \`${policyInputs.maxRunMs.name}\` would leave no time for a call.`;
    case 'cost':
      return ` The run did not wait for that: it has spent what \`${policyInputs.maxCostUsd.name}\` allows.`;
    case null:
      return '';
  }
}

/** The words for a full window, because windows do not distinguish used from reserved amounts. */
const USED_OR_RESERVED = 'used up, or reserved by other runs';

function whyParked(outcome: Extract<Outcome, { kind: 'parked' }>, report: RunReport): string {
  const policy = selectReportSetting(report)?.policy;
  switch (outcome.reason) {
    case 'calls_per_hour':
      return `The hourly limit of ${policy ? formatCount(policy.maxCallsPerHour, 'call') : 'calls'} is ${USED_OR_RESERVED}.`;
    case 'tokens_per_hour':
      return `The hourly limit of ${policy ? `${formatTokens(policy.maxTokensPerHour)} tokens` : 'tokens'} is ${USED_OR_RESERVED}.`;
    case 'cost_per_day':
      return `Today's budget${policy ? ` of ${formatCost(policy.maxCostUsdPerDay)}` : ''} is ${USED_OR_RESERVED}.`;
    case 'step_circuit':
      return outcome.step === null
        ? "No step of the pipeline may call the agent: each one's own circuit is open after failures in a row."
        : `The step \`${outcome.step.replaceAll('`', "'")}\` of the pipeline failed several times in a row, so its circuit is open. It is required, so nothing can be finished without it.`;
    case 'usage_limit':
      return (policy?.agents.length ?? 1) > 1
        ? 'None of the agents can be called for now: a usage limit is reached.'
        : "The provider's usage limit is reached.";
  }
}

/** Describes a run that ended at one of its own limits, or with a head that was not verified. */
export function describeLimit(reason: RunBound | 'unverified', report: RunReport): OutcomeText {
  if (reason === 'unverified') return describeUnseenHead(report);
  const policy = selectReportSetting(report)?.policy;
  const limits = {
    iterations: {
      title: ['Iteration limit'],
      value: formatCount(policy?.maxIterations ?? listIterations(report).length, 'iteration'),
    },
    minutes: {
      title: ['Time limit'],
      value: policy ? formatCount(Math.round(policy.maxRunMs / MINUTE_MS), 'minute') : 'its time',
    },
    cost: { title: ['Cost limit'], value: policy ? formatCost(policy.maxCostUsd) : 'its budget' },
  } as const;
  const { title, value } = limits[reason];
  return { title, what: `Stopped at the limit of ${value} for one run.` };
}

/** Describes a head that differs from the loop's because the server refused a file, or people have pushed commits. */
function describeUnseenHead(report: RunReport): OutcomeText {
  const isRefused = listAllTasks(report).some(({ progress: { state, refused } }) => state !== 'done' && refused);
  return isRefused
    ? {
        title: ['Not finished yet'],
        what: 'The git server refused a file, so the branch lacks it: the next run continues with its task.',
      }
    : {
        title: ['Not verified yet'],
        what: 'Somebody pushed while this run worked, and its commits are merged with theirs: the next run verifies the result, without a call.',
      };
}
