import type { Outcome } from '../../core/outcome.ts';
import type { RunReport } from '../../handover/report.ts';
import { formatInstantFrom } from '../format.ts';
import { iterationsOf, settingOf } from '../facts.ts';
import { command, step, type NextStep } from './step.ts';

const RUN_TO_CONTINUE = step('rerun', ' to continue');
const THEN_RUN = step('rerun', '', ', then ');
const AND_RUN = step('rerun', '', ' and ');
const REVIEW_AND_MERGE = [step('review', 'the branch'), step('merge', 'it', ' and ')];
const NOTHING = [step('nothing', ' to do')];

/** Returns what a person can do after a run on their own machine, where nothing starts by itself. */
export function nextStepsAtHome(report: RunReport): readonly NextStep[] {
  const { outcome, endedAt: now } = report;
  switch (outcome.kind) {
    case 'complete':
      return REVIEW_AND_MERGE;
    case 'parked': {
      const run = step('rerun', ` after ${formatInstantFrom(outcome.resumeAt, now)}`);
      return settingOf(report)?.policy.onLimit === 'park' ? [run, step('set', 'use --on-limit wait', ', or ')] : [run];
    }
    case 'limit':
      return [RUN_TO_CONTINUE];
    case 'paused':
      return outcome.reason === 'withdrawn' || outcome.by.startsWith('you')
        ? [RUN_TO_CONTINUE]
        : [command('resume'), THEN_RUN];
    case 'cancelled':
      return iterationsOf(report).some(({ evidence }) => evidence.end.kind === 'cancelled')
        ? [RUN_TO_CONTINUE, step('note', 'the iteration that was running is lost', '; ')]
        : [RUN_TO_CONTINUE];
    case 'halted': {
      if (outcome.reason !== 'circuit_open') return [step('fix', 'the cause'), THEN_RUN];
      const probe = `without a reset one iteration tries again after ${formatInstantFrom(outcome.probeAt, now)}`;
      const reset: NextStep = { ...command('reset circuit'), joint: ', then ' };
      return [step('fix', 'the cause'), reset, AND_RUN, step('wait', probe, '; ')];
    }
    case 'blocked':
      return outcome.reason === 'base_is_red'
        ? [step('fix', 'the base branch'), THEN_RUN]
        : [step('simplify', 'the open tasks clearer'), { ...command('retry'), joint: ', then ' }, AND_RUN];
    case 'idle':
      return IDLE[outcome.reason];
    case 'refused':
      return [step('rerun', ' when the other run has ended')];
    case 'failed':
      return [step('follow', 'the message says'), THEN_RUN];
  }
}

const IDLE: Readonly<Record<Extract<Outcome, { kind: 'idle' }>['reason'], readonly NextStep[]>> = {
  no_tasks: [
    step('set', 'add a task (ralph add "…") and commit it'),
    step('note', 'what is not committed is not seen', ': '),
  ],
  all_done: [step('merge', 'the branch'), step('set', 'add a task', ', or ')],
  waiting_for_review: [...REVIEW_AND_MERGE, step('raise', 'max-tasks-per-pr and max-lines-per-pr', ', or ')],
  no_such_label: [step('set', 'create the label, or set task-label to the one that you use')],
  not_for_us: NOTHING,
  answered: NOTHING,
  updated: NOTHING,
};
