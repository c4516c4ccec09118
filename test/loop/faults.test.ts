import { describe, expect, test } from 'vitest';
import { parseBudgetIn } from '../../src/core/snapshot/snapshot.ts';
import { faultRows } from './stage/fault-rows.ts';
import { history } from './stage/in-memory.ts';
import { playFault } from './stage/play-fault.ts';
import type { Project } from './stage/project.ts';

describe('a fault, and the ends of this run and the next one', () => {
  test.each(faultRows)('$title $happened: $thisRun; then $nextRun', async (row) => {
    const { project, thisRun, nextRun, reported, cost } = await playFault(row);
    expect({ thisRun, nextRun }).toEqual({ thisRun: row.thisRun, nextRun: row.nextRun });
    expect(reported).toMatch(row.reported);
    expect(cost.reported).toBeCloseTo(cost.real, 6);
    expect(problemsOf(project)).toEqual([]);
    if (row.title !== 'another run') expect(reservationsOf(project)).toEqual([]);
  });
});

/** Returns the reservations that runs never settled. */
function reservationsOf({ kept, clock }: Project): readonly unknown[] {
  const parsed = parseBudgetIn(kept.refs.shared.snapshot, clock.now());
  return parsed.kind === 'budget' ? parsed.budget.reservations : [];
}

/** Returns the problems that no fault may cause. */
function problemsOf({ forge, origin }: Project): readonly string[] {
  const kept = ['main', 'ralph/queue'].flatMap((branch) => history(origin.commits, origin.branches.get(branch) ?? ''));
  const byHand = [...origin.commits].flatMap(([id, { message }]) => (message === 'By hand' ? [id] : []));
  const open = forge.pulls.filter(({ state }) => state === 'open');
  return [
    ...(open.length === 1 ? [] : [`${String(open.length)} open pull requests`]),
    ...(byHand.every((id) => kept.includes(id)) ? [] : ["a person's commit is lost"]),
  ];
}
