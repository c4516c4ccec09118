import { describe, expect, test } from 'vitest';
import { parseRecord } from '../../src/core/lane-record.ts';
import { hour, minute } from '../unit/core-fixtures.ts';
import { finisher, stuck } from './behaviours.ts';
import type { Project } from './project.ts';
import { addIssue, commented, createProject, labeled, runOnce, schedule } from './river.ts';

const ordersOf = ({ kept }: Project, lane: string): readonly string[] => {
  const parsed = parseRecord(kept.refs.cells.get(lane)?.text ?? '', lane);
  return parsed.kind === 'record' ? parsed.record.orders.map(({ kind }) => kind) : [];
};
const answerOn = ({ forge }: Project, issue: number): string => [...(forge.comments.get(issue)?.values() ?? [])].join('\n');

describe('whom a command on an issue is about', () => {
  /** Issue 2 was labelled, and its lane's circuit opened before anything was pushed: there is no branch. */
  const withoutBranch = async (): Promise<Project> => {
    const project = createProject({ issues: [1, 2], agent: [stuck] });
    expect(await runOnce(project, { event: labeled(2) })).toMatchObject({ end: 'halted (circuit_open)', calls: 3 });
    expect([...project.origin.branches.keys()]).toEqual(['main']);
    return project;
  };

  test('its own lane, though that has no branch yet', async () => {
    const project = await withoutBranch();
    await runOnce(project, { event: commented('/ralph status', { issue: 2 }) });
    expect(answerOn(project, 2)).toMatch(/lane `issue-2`[^]*open/);
    await runOnce(project, { event: commented('/ralph reset circuit', { issue: 2 }) });
    expect([ordersOf(project, 'issue-2'), ordersOf(project, 'queue')]).toEqual([['reset-circuit'], []]);
    project.script.behaviours = [finisher];
    expect(await runOnce(project, { event: commented('/ralph run', { issue: 2 }) })).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
  });

  test('the queue, which works on every issue without a lane', async () => {
    const project = await withoutBranch();
    await runOnce(project, { event: commented('/ralph pause', { issue: 1 }) });
    expect([ordersOf(project, 'issue-2'), ordersOf(project, 'queue')]).toEqual([[], ['pause']]);
    expect(await runOnce(project, { event: schedule })).toMatchObject({ end: 'paused (by_person)', calls: 0 });
  });

  test('nobody, when it has not the label: the queue is not paused by accident', async () => {
    const project = createProject({ issues: [1] });
    addIssue(project.forge, 5, { labels: ['bug'] });
    expect(await runOnce(project, { event: commented('/ralph pause', { issue: 5 }) })).toMatchObject({ end: 'failed (configuration)' });
    expect(answerOn(project, 5)).toContain('does not have the label');
    expect(ordersOf(project, 'queue')).toEqual([]);
  });

  test('the lane of the pull request that it stands on, though the branch is gone', async () => {
    const project = createProject({ issues: [1, 2], agent: [finisher] });
    await runOnce(project, { event: labeled(2) });
    const pull = project.forge.pulls[0]?.number ?? 0;
    project.origin.branches.delete('ralph/issue-2');
    await runOnce(project, { event: commented('/ralph pause', { issue: pull, isPullRequest: true }) });
    expect([ordersOf(project, 'issue-2'), ordersOf(project, 'queue')]).toEqual([['pause'], []]);
  });
});

describe('what a run may use', () => {
  test('is waited for when others have reserved it, and not until the hour or day is over', async () => {
    const project = createProject({ issues: [1, 2], agent: [finisher], inputs: { 'max-cost-usd-per-day': '20' } });
    let parked: Awaited<ReturnType<typeof runOnce>> | null = null;
    await runOnce(project, {
      event: labeled(2),
      onRecord: async () => { parked ??= await runOnce(project, { event: schedule }); },
    });
    // Asked for while the first one held all of the day: an hour from its claim is the latest moment for it to give the rest back.
    expect(parked).toMatchObject({ end: 'parked (cost_per_day)', calls: 0, outcome: { reason: 'cost_per_day' } });
    expect((parked as unknown as { readonly outcome: { readonly resumeAt: number } }).outcome.resumeAt).toBeLessThanOrEqual(project.clock.now() + hour);
  });

  test('and its time counts from the moment in which it took the lane', async () => {
    const project = createProject({ issues: [1], agent: [stuck], inputs: { 'max-minutes': '20' } });
    const run = await runOnce(project, { prepare: (checkout) => {
      const open = checkout.openLane.bind(checkout);
      checkout.openLane = async (lane) => {
        project.clock.advance(12 * minute);
        return open(lane);
      };
    } });
    expect((run.work?.endedAt ?? 0) - (run.work?.startedAt ?? 0)).toBeLessThan(20 * minute);
    expect(run.work?.startedAt).toBeLessThan(project.clock.now() - 12 * minute);
  });
});
