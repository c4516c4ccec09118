import type { Outcome } from '../../core/outcome.ts';
import { sentence } from '../../core/text/sentence.ts';
import type { RunReport } from '../../handover/report.ts';
import { count, formatInstantFrom, formatTokens } from '../format.ts';
import { doneTasks, laneOf, settingOf, tasksOf, workOf } from '../facts.ts';
import { describeOutcome } from './outcome-text.ts';
import { isolationLine } from './isolation.ts';
import { costNoun } from './unknown-cost.ts';

/** The last lines of a run at home: what became of the work, what it cost, what to do next. Plain lines; warnings are said where they arise. */
export function renderEndAtHome(report: RunReport): string {
  const { title, what } = describeOutcome(report);
  const work = workOf(report);
  const branch = laneOf(report)?.branch ?? null;
  const isolation = work?.isolation ?? null;
  return [
    `Ralph: ${title}`,
    ...what.split('\n').map((line) => line.replaceAll('`', '')),
    ...(work === null
      ? []
      : [
          `${count(work.iterations.length, 'iteration')} · ${String(doneTasks(report).length)} of ${count(tasksOf(report).length, 'task')} done · ${formatTokens(work.tokens)} tokens · ${costNoun(work)}`,
        ]),
    ...(isolation === null ? [] : [isolationLine(isolation).replaceAll('`', '')]),
    ...(work !== null && branch !== null && work.headSha !== null
      ? [`Look at it: git log -p ${work.baseBranch ?? 'HEAD'}..${branch}`, `Take it: git merge ${branch}`]
      : []),
    `Next: ${nextAtHome(report, work)}`,
  ].join('\n');
}

/** What a person does next. */
function nextAtHome(report: RunReport, work: ReturnType<typeof workOf>): string {
  const { outcome, endedAt: now } = report;
  switch (outcome.kind) {
    case 'complete':
      return 'review the branch and merge it.';
    case 'parked':
      return `run again after ${formatInstantFrom(outcome.resumeAt, now)}${settingOf(report)?.policy.onLimit === 'park' ? ', or use --on-limit wait' : ''}.`;
    case 'limit':
      return 'run again to continue.';
    case 'paused':
      return outcome.reason === 'withdrawn' || outcome.by.startsWith('you')
        ? 'run again to continue.'
        : 'ralph resume, then run again.';
    case 'cancelled':
      return work?.iterations.some(({ evidence }) => evidence.end.kind === 'cancelled') === true
        ? 'run again to continue; the iteration that was running is lost.'
        : 'run again to continue.';
    case 'halted':
      return outcome.reason === 'circuit_open'
        ? `fix the cause, then ralph reset circuit and run again; without a reset one iteration tries again after ${formatInstantFrom(outcome.probeAt, now)}.`
        : 'fix the cause, then run again.';
    case 'blocked':
      if (outcome.reason === 'base_is_red') return 'repair the base branch, then run again.';
      return 'make the open tasks clearer, then ralph retry and run again.';
    case 'idle':
      return IDLE[outcome.reason];
    case 'refused':
      return 'run again when the other run has ended.';
    case 'failed':
      return sentence('do what the message says, then run again');
  }
}

const IDLE: Readonly<Record<Extract<Outcome, { kind: 'idle' }>['reason'], string>> = {
  no_tasks: 'add a task (ralph add "…") and commit it: what is not committed is not seen.',
  all_done: 'merge the branch, or add a task.',
  waiting_for_review: 'review the branch and merge it, or raise max-tasks-per-pr and max-lines-per-pr.',
  not_for_us: 'nothing to do.',
  answered: 'nothing to do.',
  updated: 'nothing to do.',
  no_such_label: 'create the label, or set task-label to the one that you use.',
};
