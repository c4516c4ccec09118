import { describe, expect, test } from 'vitest';
import { IS_DEEP, runs } from '../runs.ts';
import { suggestNextSteps } from '../../src/report/next/for-run.ts';
import { renderSteps } from '../../src/report/next/step.ts';
import { HOUR, MINUTE, noon } from '../unit/core/core-fixtures.ts';
import { finisher, steadyWorker } from './stage/behaviours.ts';
import {
  addIssue,
  commented,
  createProject,
  finishOnce,
  labeled,
  runOnce,
  savedState,
  storedRecord as recordOf,
  schedule,
  type Event,
  type Run,
} from './stage/run-action.ts';
import type { Project } from './stage/project.ts';
import { byChance, sideBySide, withSwitches, type Chooser } from './stage/side-by-side.ts';
import { counting, killAt, type Tap } from './stage/tap.ts';

const seeds = Array.from({ length: runs(200) }, (_, seed) => seed);

function atOnce(project: Project, events: readonly Event[], choose: Chooser): Promise<readonly Run[]> {
  return sideBySide(
    events.map((event) => (tap) => runOnce(project, { event, tap })),
    choose,
  );
}

describe('two runs of one lane on two machines', () => {
  const newProject = () => createProject({ issues: [1, 2], agent: [finisher] });

  /** Plays two scheduled runs at once; returns the problems, and whether one run was refused. */
  async function play(choose: Chooser): Promise<{ readonly problems: readonly string[]; readonly refused: boolean }> {
    const project = newProject();
    const runs = await atOnce(project, [schedule, schedule], choose);
    const workers = runs.filter(({ calls }) => calls > 0);
    const idle = runs.filter(({ calls }) => calls === 0);
    const problems: string[] = [];
    const expected = (what: string, isSo: boolean): void => {
      if (!isSo)
        problems.push(`${what}: ${runs.map(({ end, calls }) => `${end} after ${String(calls)} calls`).join(' and ')}`);
    };
    expected(
      'one works',
      workers.length === 1 && workers[0]?.end === 'complete (plan_complete)' && workers[0].calls === 2,
    );
    // A run that starts after everything is done is not refused.
    expected(
      'the other does not',
      idle.length === 1 && ['refused (another_run)', 'idle (all_done)'].includes(idle[0]?.end ?? ''),
    );
    expected('one pull request', project.forge.pulls.length === 1);
    // The state is saved with each of the two iterations, and at the end.
    expected('saved by one', savedState(project).sequence === 3 && recordOf(project).lease === null);
    expected('two calls are charged', savedState(project).ledger.reduce((sum, { calls }) => sum + calls, 0) === 2);
    expected('nothing is left to do', (await runOnce(project)).end === 'idle (all_done)');
    return { problems, refused: idle[0]?.end === 'refused (another_run)' };
  }

  test('with any order of calls, one works and the other is refused without a call', async () => {
    const played = [];
    for (const seed of seeds) played.push(await play(byChance(seed)));
    expect(
      played.flatMap(({ problems }, seed) => problems.map((problem) => `seed ${String(seed)}: ${problem}`)),
    ).toEqual([]);
    expect(played.filter(({ refused }) => refused).length).toBe(seeds.length);
  });

  test('with one stopped at any call of the gate, while the other continues to any of its own calls', async () => {
    const tap = counting();
    await runOnce(newProject(), { tap });
    const gate = tap.calls.indexOf('agent.prepare');
    const problems: string[] = [];
    let refused = 0;
    for (let first = 0; first <= gate; first += 1) {
      // A normal run tests a third of the positions, a different third for each `first`.
      for (let second = IS_DEEP ? 1 : 1 + (first % 3); second <= gate; second += IS_DEEP ? 1 : 3) {
        const played = await play(withSwitches(first, second));
        problems.push(
          ...played.problems.map((problem) => `${String(first)} calls, then ${String(second)}: ${problem}`),
        );
        refused += played.refused ? 1 : 0;
      }
    }
    expect(problems).toEqual([]);
    expect(refused * (IS_DEEP ? 1 : 3)).toBeGreaterThan(gate);
  });

  test('the refused one reports the holder of the lane, and the latest end of its lease', async () => {
    const project = newProject();
    const runs = await atOnce(project, [schedule, schedule], byChance(1));
    const refused = runs.find(({ end }) => end === 'refused (another_run)');
    expect(refused?.outcome).toMatchObject({
      message: expect.stringMatching(
        /^Another run is working on the queue: https:.*\/runs\/\d\. If it was killed, its claim ends at 2026-11-21 13:00 UTC at the latest\.$/,
      ) as string,
    });
  });
});

/** Matches the first call of that name after the agent has ended; comments are also written while it works. */
function inPublishing(at: string): (name: string) => boolean {
  let isPublishing = false;
  return (name) => {
    isPublishing ||= name === 'agent.sweep';
    return isPublishing && name === at;
  };
}

describe('post of a run that was killed, and the next run at the same time', () => {
  test.each(['agent.sweep', 'forge.pullRequestOf', 'forge.openPullRequest', 'cache.save', 'forge.upsertComment'])(
    'killed at %s: no work is done twice',
    async (at) => {
      for (const seed of seeds.slice(0, runs(40))) {
        const project = createProject({ issues: [1, 2], agent: [finisher] });
        const main = await runOnce(project, { tap: killAt(inPublishing(at), 'before') });
        const isEndStored = savedState(project).lastRun?.outcome === 'complete';
        const [post, next] = await sideBySide(
          [(tap: Tap) => finishOnce(project, main, { tap }), (tap: Tap) => runOnce(project, { tap })],
          byChance(seed),
        );
        expect(post?.end).toBe(isEndStored ? 'complete (plan_complete)' : 'cancelled (killed)');
        expect(['refused (another_run)', 'idle (all_done)', 'complete (plan_complete)']).toContain(next?.end);
        expect({ calls: project.script.calls.length, pulls: project.forge.pulls.length }).toEqual({
          calls: 2,
          pulls: 1,
        });
        expect(recordOf(project).lease).toBeNull();
        // Finished work is published without a call.
        expect(await runOnce(project)).toMatchObject({ calls: 0 });
        expect(await runOnce(project)).toMatchObject({ end: 'idle (all_done)', calls: 0 });
      }
    },
  );
});

describe('runs of two lanes', () => {
  /** Issue 2 already has its own lane, so the queue skips it. */
  async function twoLanes(inputs: Readonly<Record<string, string>>): Promise<Project> {
    const project = createProject({ issues: [1, 2], agent: [steadyWorker], inputs: { 'max-iterations': '1' } });
    await runOnce(project, { event: labeled(2) });
    project.inputs = inputs;
    return project;
  }
  const events = [schedule, commented('/ralph run', { issue: 2 })];

  test('do not block each other', async () => {
    for (const seed of seeds.slice(0, runs(50))) {
      const project = await twoLanes({});
      project.script.behaviours = [finisher];
      const runs = await atOnce(project, events, byChance(seed));
      expect(runs.map(({ end, calls }) => [end, calls])).toEqual([
        ['complete (plan_complete)', 1],
        ['complete (plan_complete)', 1],
      ]);
      expect(project.forge.pulls.map(({ branch }) => branch).sort()).toEqual(['ralph/issue-2', 'ralph/queue']);
    }
  });

  test('never make more calls together than max-calls-per-hour', async () => {
    const together = new Set<number>();
    for (const seed of seeds) {
      const project = await twoLanes({
        'max-calls-per-hour': '6',
        'max-iterations': '3',
        'max-iterations-per-task': '0',
      });
      for (let round = 0; round < 2; round += 1) await atOnce(project, events, byChance(seed + 1_000 * round));
      const inHour = project.script.calls.filter(({ at }) => project.clock.now() - at < HOUR).length;
      expect(inHour).toBeLessThanOrEqual(6);
      together.add(inHour);
    }
    expect(together).toEqual(new Set([6]));
  });

  test('even if one works on into the next hour, in which it may use only its reservation', async () => {
    const project = await twoLanes({ 'max-calls-per-hour': '4', 'max-iterations-per-task': '0' });
    project.script.behaviours = [(call) => ({ ...steadyWorker(call), minutes: 5 })];
    project.clock.advance(noon + 57 * MINUTE - project.clock.now());
    const nextHour = noon + HOUR + 2 * MINUTE;
    // The queue begins with three calls left; the other lane starts when the hour is over.
    await atOnce(project, events, (waiting) => Math.max(0, waiting.indexOf(project.clock.now() >= nextHour ? 1 : 0)));
    const inNextHour = project.script.calls.filter(({ at }) => at >= noon + HOUR && at < nextHour + HOUR);
    expect(inNextHour.length).toBeGreaterThan(1);
    expect(inNextHour.length).toBeLessThanOrEqual(4);
  });

  test('never spend more together than max-cost-usd-per-day plus the call that exceeds it', async () => {
    const callCost = 0.01;
    for (const seed of seeds.slice(0, runs(100))) {
      const project = await twoLanes({
        'max-cost-usd-per-day': '0.055',
        'max-cost-usd': '0.02',
        'max-iterations-per-task': '0',
      });
      for (let round = 0; round < 3; round += 1) await atOnce(project, events, byChance(seed + 1_000 * round));
      const spent = project.script.calls.length * callCost;
      expect(spent).toBeGreaterThan(0.04);
      expect(spent).toBeLessThanOrEqual(0.055 + callCost);
    }
  });
});

describe('orders that people give while a run works', () => {
  test('are kept at any moment, and the next run obeys', async () => {
    const kinds = [commented('/ralph pause', { issue: 1 }), commented('/ralph reset session', { issue: 1 })];
    for (const seed of seeds) {
      const project = createProject({ agent: [steadyWorker], inputs: { 'max-iterations': '2' } });
      const [worker, ...orders] = await atOnce(project, [schedule, ...kinds], byChance(seed));
      expect(orders.map(({ end }) => end)).toEqual(['idle (answered)', 'idle (answered)']);
      expect(
        recordOf(project)
          .orders.map(({ kind, by }) => `${kind} by ${by}`)
          .sort(),
      ).toEqual(['pause by ann', 'reset-session by ann']);
      expect(['limit (iterations)', 'paused (by_person)']).toContain(worker?.end);
      expect(await runOnce(project)).toMatchObject({ end: 'paused (by_person)', calls: 0, outcome: { by: 'ann' } });

      await runOnce(project, { event: commented('/ralph resume', { issue: 1 }) });
      const resumed = await runOnce(project);
      expect(resumed).toMatchObject({ end: 'limit (iterations)', calls: 2 });
      // A session that began after the order is kept.
      const reset = recordOf(project).orders.find(({ kind }) => kind === 'reset-session')?.number ?? 0;
      expect(project.script.calls.at(-2)?.resume).toBe(
        (worker?.work?.stateBefore.ordersApplied ?? 0) >= reset ? 'session-1' : null,
      );
      expect(savedState(project)).toMatchObject({
        pause: null,
        ordersApplied: recordOf(project).orders.at(-1)?.number,
      });
      expect(
        savedState(project)
          .transitions.filter(({ subject }) => subject === 'pause')
          .map(({ to, reason }) => [to, reason]),
      ).toEqual([
        ['paused', 'by ann (comment)'],
        ['working', 'by ann (comment)'],
      ]);
    }
  });
});

test('the schedule and a person ask for the same issue at the same moment: it is worked on once', async () => {
  const problems: string[] = [];
  for (const seed of seeds.slice(0, runs(100))) {
    const project = createProject({ issues: [1, 2], agent: [finisher] });
    const runs = await atOnce(project, [schedule, labeled(2)], byChance(seed));
    const worked = runs.flatMap(({ work }) => work?.journal.map(({ taskId }) => taskId) ?? []);
    const closing = project.forge.pulls.filter(({ body }) => body.includes('Closes #2'));
    if (worked.filter((task) => task === 'issue-2').length !== 1 || closing.length !== 1)
      problems.push(
        `seed ${String(seed)}: ${runs.map(({ end, calls }) => `${end} after ${String(calls)} calls`).join(' and ')}`,
      );
  }
  expect(problems).toEqual([]);
});

test('and only once when the queue comes to it right after its first one was claimed', async () => {
  const problems: string[] = [];
  for (const seed of seeds) {
    const project = createProject({ issues: [1, 2], agent: [finisher], inputs: { 'max-iterations': '1' } });
    const runs = await atOnce(project, [schedule, labeled(1), labeled(2)], byChance(seed));
    const worked = runs.flatMap(({ work }) => work?.journal.map(({ taskId }) => taskId) ?? []);
    if (new Set(worked).size !== worked.length) problems.push(`seed ${String(seed)}: ${worked.join(', ')}`);
  }
  expect(problems).toEqual([]);
});

describe('a label whose work cannot begin now is not lost: the answer says so, and the next scheduled run works on the issue', () => {
  const answerOn = ({ forge }: Project, issue: number): string =>
    JSON.stringify([...(forge.comments.get(issue) ?? [])]);

  test('a limit is reached', async () => {
    const project = createProject({
      issues: [1, 2],
      agent: [finisher],
      inputs: { 'max-calls-per-hour': '1', 'max-iterations': '1' },
    });
    await runOnce(project);
    expect(await runOnce(project, { event: labeled(2) })).toMatchObject({ end: 'parked (calls_per_hour)', calls: 0 });
    expect(answerOn(project, 2)).toContain('Nothing to do: the next scheduled run after that works on the issue.');
    project.clock.advance(HOUR);
    const next = await runOnce(project);
    expect(next.work?.journal.map(({ taskId }) => taskId)).toEqual(['issue-2']);
  });

  test('another run has the issue, and ends without finishing it', async () => {
    const project = createProject({ issues: [1], agent: [steadyWorker], inputs: { 'max-iterations': '1' } });
    // The queue's run is working when the label is added.
    const [queue, label] = await atOnce(project, [schedule, labeled(1)], (waiting) =>
      Math.max(0, waiting.indexOf(project.script.calls.length === 0 ? 0 : 1)),
    );
    expect(queue).toMatchObject({ end: 'limit (iterations)', calls: 1 });
    expect(label).toMatchObject({ end: 'refused (another_run)', calls: 0 });
    expect(label?.report && renderSteps(suggestNextSteps(label.report), 'log')).toContain(
      'Nothing to do: the next scheduled run picks up what is left.',
    );
    const next = await runOnce(project);
    expect(next.work?.journal.map(({ taskId }) => taskId)).toEqual(['issue-1']);
  });
});

test('a task that another lane has just claimed is left to it; the task worked on instead has its text', async () => {
  const instead: boolean[] = [];
  for (const seed of seeds.slice(0, runs(60))) {
    const project = createProject({ issues: [1, 2], agent: [finisher], inputs: { 'max-iterations': '1' } });
    await atOnce(project, [schedule, labeled(1)], byChance(seed));
    for (const { prompt } of project.script.calls) expect(prompt).toMatch(/Body [12]/);
    instead.push(project.script.calls.some(({ prompt }) => prompt.includes('Body 2')));
  }
  expect(instead).toContain(true);
});

describe('an attempt of a run whose first one vanished with its machine', () => {
  /** The queue's run disappears in its first call, and its post step never runs. */
  async function vanished(inputs: Readonly<Record<string, string>> = {}): Promise<Project> {
    const project = createProject({
      issues: [1, 2, 3],
      agent: [finisher],
      inputs: { 'max-iterations': '2', ...inputs },
    });
    const killed = await runOnce(project, { tap: killAt((name) => name === 'agent.call', 'before') });
    expect(killed.end).toBe('cancelled (killed)');
    project.clock.advance(MINUTE);
    return project;
  }

  test('blocks others with what it had reserved, and they report the end of its lease', async () => {
    const project = await vanished();
    const other = await runOnce(project, { event: labeled(2) });
    expect(other).toMatchObject({ end: 'refused (another_run)', calls: 0 });
    expect(JSON.stringify(other.outcome)).toMatch(/its claim ends at \d{4}-\d\d-\d\d \d\d:\d\d UTC at the latest/);
  });

  test('no longer blocks others, and what it had reserved counts as used', async () => {
    const project = await vanished({ 'max-calls-per-hour': '4' });
    project.inputs = { ...project.inputs, 'max-iterations': '1' };
    expect(await runOnce(project, { againOf: 1 })).toMatchObject({ end: 'limit (iterations)', calls: 1 });
    expect(await runOnce(project, { event: labeled(2) })).toMatchObject({ calls: 1 });
    // Two of the four calls were lost with the machine.
    expect(await runOnce(project)).toMatchObject({ end: 'parked (calls_per_hour)', calls: 0 });
  });

  test('unblocks others as soon as GitHub says that it has ended, though many later runs are still at work', async () => {
    const project = await vanished({ 'max-cost-usd-per-day': '100' });
    for (const issue of [11, 12, 13, 14]) {
      addIssue(project.forge, issue);
      const event = labeled(issue);
      await runOnce(project, { event, tap: killAt((name) => name === 'agent.call', 'before') });
    }
    for (const run of ['2', '3', '4', '5']) project.forge.endedAttempts.set(run, 0);
    project.forge.endedAttempts.set('1', 1);
    expect(await runOnce(project)).toMatchObject({ calls: 2 });
    // The lane that an event is about comes first, whatever else is held.
    project.forge.endedAttempts.set('5', 1);
    expect(await runOnce(project, { event: labeled(14) })).toMatchObject({ calls: 1 });
  });

  test('unblocks the others also if it cannot work itself', async () => {
    const project = await vanished({ 'max-calls-per-hour': '2' });
    expect(await runOnce(project, { againOf: 1 })).toMatchObject({ end: 'parked (calls_per_hour)', calls: 0 });
    project.inputs = { ...project.inputs, 'max-calls-per-hour': '4' };
    expect(await runOnce(project, { event: labeled(2) })).toMatchObject({ calls: 1 });
  });
});
