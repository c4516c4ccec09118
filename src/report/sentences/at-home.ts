import type { RunReport } from '../../handover/report.ts';
import { formatCount, formatTokens } from '../format.ts';
import { listDoneTasks, selectLaneReport, listLaneTasks, selectWorkedReport } from '../facts.ts';
import { suggestAtHome, renderSteps } from '../next/step.ts';
import { describeOutcome, renderHeadline } from './outcome-text.ts';
import { renderIsolation } from './isolation.ts';
import { renderCostNoun } from './spend.ts';

/**
 * Renders the last lines of a run at home in plain text: result, cost and next steps. Leaves out warnings, which are
 * printed as they arise.
 */
export function renderEndAtHome(report: RunReport): string {
  const { what } = describeOutcome(report);
  const work = selectWorkedReport(report);
  const branch = selectLaneReport(report)?.branch ?? null;
  const isolation = work?.isolation ?? null;
  return [
    `Ralph: ${renderHeadline(report, 'terminal')}`,
    ...what.split('\n').map((line) => line.replaceAll('`', '')),
    ...(work === null
      ? []
      : [
          `${formatCount(work.iterations.length, 'iteration')} · ${String(listDoneTasks(report).length)} of ${formatCount(listLaneTasks(report).length, 'task')} done · ${formatTokens(work.tokens)} tokens · ${renderCostNoun(work)}`,
        ]),
    ...(isolation === null ? [] : [renderIsolation(isolation).replaceAll('`', '')]),
    ...(work !== null && branch !== null && work.headSha !== null
      ? [`Look at it: git log -p ${work.baseBranch ?? 'HEAD'}..${branch}`, `Take it: git merge ${branch}`]
      : []),
    `Next: ${renderSteps(suggestAtHome(report), 'terminal')}`,
  ].join('\n');
}
