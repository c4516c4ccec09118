import { describe, expect, test } from 'vitest';
import { parseBudgetIn } from '../../src/core/snapshot/snapshot.ts';
import { createMarkedProject, listStepsBehindCall } from './stage/faults/behind-the-call.ts';
import { faultRows } from './stage/faults/fault-rows.ts';
import { history } from './stage/in-memory.ts';
import { createBegunProject, isAllMoneyBooked, playFault } from './stage/faults/play-fault.ts';
import type { Project } from './stage/project.ts';

describe('a fault, and the ends of this run and the next one', () => {
  test.each(faultRows)('$title $happened: $thisRun; then $nextRun', async (row) => {
    const { project, thisRun, nextRun, reported, cost, isReached } = await playFault(row);
    expect({ thisRun, nextRun }).toEqual({ thisRun: row.thisRun, nextRun: row.nextRun });
    expect(reported).toMatch(row.reported);
    expect(isReached).toBe(true);
    expect(isAllMoneyBooked(row, cost), JSON.stringify(cost)).toBe(true);
    expect(problemsOf(project)).toEqual([]);
    // A run that may still work keeps its reservation until its claim ends.
    if (row.title !== 'another run' && !nextRun.startsWith('refused')) expect(reservationsOf(project)).toEqual([]);
  });
});

test('every step between the end of a call and the end of its run has a fault', async () => {
  const withTests = async (): Promise<Project> => {
    const project = await createBegunProject();
    project.inputs = { verify: 'npm test' };
    return project;
  };
  const walked = [await listStepsBehindCall(withTests), await listStepsBehindCall(createMarkedProject)];
  const known = faultRows.flatMap(({ fails }) => (fails === undefined ? [] : [`${fails.job}: ${fails.step}`]));
  for (const job of ['one', 'loop', 'publish'] as const)
    for (const step of walked.flatMap((steps) => steps[job])) expect(known).toContain(`${job}: ${step}`);
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
