import type { RunReport } from '../../handover/report.ts';
import { formatCount, formatTokens } from '../format.ts';
import { doneTasks, laneOf, tasksOf, workOf } from '../facts.ts';
import { nextStepsAtHome, renderSteps } from '../next/step.ts';
import { describeOutcome, renderHeadline } from './outcome-text.ts';
import { isolationLine } from './isolation.ts';
import { costNoun } from './spend.ts';

/**
 * Renders the last lines of a run at home in plain text: result, cost and next steps. Warnings are printed where they
 * arise.
 */
export function renderEndAtHome(report: RunReport): string {
  const { what } = describeOutcome(report);
  const work = workOf(report);
  const branch = laneOf(report)?.branch ?? null;
  const isolation = work?.isolation ?? null;
  return [
    `Ralph: ${renderHeadline(report, 'terminal')}`,
    ...what.split('\n').map((line) => line.replaceAll('`', '')),
    ...(work === null
      ? []
      : [
          `${formatCount(work.iterations.length, 'iteration')} · ${String(doneTasks(report).length)} of ${formatCount(tasksOf(report).length, 'task')} done · ${formatTokens(work.tokens)} tokens · ${costNoun(work)}`,
        ]),
    ...(isolation === null ? [] : [isolationLine(isolation).replaceAll('`', '')]),
    ...(work !== null && branch !== null && work.headSha !== null
      ? [`Look at it: git log -p ${work.baseBranch ?? 'HEAD'}..${branch}`, `Take it: git merge ${branch}`]
      : []),
    `Next: ${renderSteps(nextStepsAtHome(report), 'terminal')}`,
  ].join('\n');
}
