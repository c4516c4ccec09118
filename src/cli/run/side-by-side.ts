import { outcomeKindsByTrouble, type OutcomeKind } from '../../core/outcome.ts';
import { formatCost, formatCount } from '../../report/format.ts';
import type { EndedLane, EndedRun } from './run.ts';

/** Returns the end of a run on these lanes: the worst outcome, and the sums. The list must not be empty. */
export function combineLanes(ended: readonly [EndedLane, ...(readonly EndedLane[])]): EndedRun {
  const lanes = ended.toSorted((one, other) => rankOf(one) - rankOf(other));
  const [worst = ended[0], ...others] = lanes;
  if (others.length === 0) return { ...worst, branches: lanes };
  const sum = (of: (lane: EndedLane) => number): number => lanes.reduce((total, lane) => total + of(lane), 0);
  const resumptions = lanes.flatMap(({ resumeAt }) => resumeAt ?? []).sort();
  const pushes = lanes.flatMap(({ pushed }) => pushed ?? []);
  return {
    ...{ outcome: worst.outcome, reason: worst.reason, branch: null, head: null },
    iterations: sum(({ iterations }) => iterations),
    tasksDone: sum(({ tasksDone }) => tasksDone),
    tasks: sum(({ tasks }) => tasks),
    costUsd: lanes.some(({ costUsd }) => costUsd === null) ? null : sum(({ costUsd }) => costUsd ?? 0),
    tokens: sum(({ tokens }) => tokens),
    resumeAt: resumptions[0] ?? null,
    pushed: pushes.length === 0 ? null : !pushes.includes(false),
    branches: lanes,
  };
}

/** Renders a line for each lane, those with problems first. */
export function renderLanes({ branches: lanes }: Pick<EndedRun, 'branches'>): string {
  return lanes
    .map(({ branch, outcome, reason, iterations, tasksDone, tasks, costUsd }) =>
      [
        `${branch ?? 'no branch'}: ${outcome} (${reason})`,
        formatCount(iterations, 'iteration'),
        `${String(tasksDone)} of ${formatCount(tasks, 'task')} done`,
        costUsd === null ? 'cost not known' : formatCost(costUsd),
      ].join(' · '),
    )
    .join('\n');
}

function rankOf({ outcome }: EndedLane): number {
  return outcomeKindsByTrouble.indexOf(outcome as OutcomeKind);
}
