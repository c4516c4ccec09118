import { describe, expect, test } from 'vitest';
import { HOUR, MINUTE } from '../../unit/core/core-fixtures.ts';
import { finisher, steadyWorker, stuck } from '../stage/behaviours.ts';
import type { Project } from '../stage/project.ts';
import {
  addIssue,
  commented,
  createProject,
  labeled,
  runOnce,
  putRecord,
  savedState,
  storedRecord,
  schedule,
  senderOf,
  warningsIn,
  type Event,
  type Run,
} from '../stage/run-action.ts';
import { runSplit } from '../stage/split.ts';
import { open, type Tap } from '../stage/tap.ts';

const ordersOf = (project: Project, lane: string): readonly string[] =>
  storedRecord(project, lane).orders.map(({ kind }) => kind);
const answerOn = ({ forge }: Project, issue: number): string =>
  [...(forge.comments.get(issue)?.values() ?? [])].join('\n');

describe('a command on an issue affects', () => {
  /** Labels issue 2, whose lane's circuit opens before anything is pushed, so that it has no branch. */
  const withoutBranch = async (): Promise<Project> => {
    const project = createProject({ issues: [1, 2], agent: [stuck] });
    expect(await runOnce(project, { event: labeled(2) })).toMatchObject({ end: 'halted (circuit_open)', calls: 3 });
    expect([...project.origin.branches.keys()]).toEqual(['main']);
    return project;
  };

  test('its own lane, though that has no branch yet', async () => {
    const project = await withoutBranch();
    await runOnce(project, { event: commented('/ralph status', { issue: 2 }) });
    expect(answerOn(project, 2)).toMatch(/issue #2\*\*[^]*open/);
    await runOnce(project, { event: commented('/ralph reset circuit', { issue: 2 }) });
    expect([ordersOf(project, 'issue-2'), ordersOf(project, 'queue')]).toEqual([['reset-circuit'], []]);
    project.script.behaviours = [finisher];
    expect(await runOnce(project, { event: commented('/ralph run', { issue: 2 }) })).toMatchObject({
      end: 'complete (plan_complete)',
      calls: 1,
    });
  });

  test('its own lane, though its state cannot be read', async () => {
    const project = await withoutBranch();
    const { cache } = project.kept;
    putRecord(project, { ...storedRecord(project, 'issue-2'), document: '{"version":3,"lane":"issue-2"}' });
    cache.saved.clear();
    await runOnce(project, { event: commented('/ralph pause', { issue: 2 }) });
    expect([ordersOf(project, 'issue-2'), ordersOf(project, 'queue')]).toEqual([['pause'], []]);
  });

  test('the queue, which works on every issue without a lane', async () => {
    const project = await withoutBranch();
    await runOnce(project, { event: commented('/ralph pause', { issue: 1 }) });
    expect([ordersOf(project, 'issue-2'), ordersOf(project, 'queue')]).toEqual([[], ['pause']]);
    expect(await runOnce(project, { event: schedule })).toMatchObject({ end: 'paused (by_person)', calls: 0 });
  });

  test('no lane, if the issue lacks the label: the queue is not paused by accident', async () => {
    const project = createProject({ issues: [1] });
    addIssue(project.forge, 5, { labels: ['bug'] });
    // A typing error in a comment does not fail the workflow.
    for (const command of ['pause', 'retry']) {
      expect(await runOnce(project, { event: commented(`/ralph ${command}`, { issue: 5 }) })).toMatchObject({
        end: 'idle (answered)',
      });
      expect(answerOn(project, 5)).toMatch(/\*\*Not done\.\*\*[^]*does not have the label/);
    }
    expect(await runOnce(project, { event: dispatched('retry 5') })).toMatchObject({ end: 'failed (configuration)' });
    expect(ordersOf(project, 'queue')).toEqual([]);
  });

  describe('after its own lane was published and its branch deleted, so that the queue works on it', () => {
    const over = async (): Promise<Project> => {
      const project = createProject({ issues: [2], agent: [steadyWorker], inputs: { 'max-iterations': '1' } });
      await runOnce(project, { event: labeled(2) });
      project.origin.branches.delete('ralph/issue-2');
      return project;
    };

    test('the queue', async () => {
      const project = await over();
      await runOnce(project, { event: commented('/ralph stop', { issue: 2 }) });
      expect([ordersOf(project, 'issue-2'), ordersOf(project, 'queue')]).toEqual([[], ['stop']]);
      expect(await runOnce(project, { event: schedule })).toMatchObject({ end: 'paused (by_person)', calls: 0 });
    });

    test('its own lane once the issue is closed: the status reports how it ended', async () => {
      const project = await over();
      addIssue(project.forge, 2, { state: 'closed' });
      await runOnce(project, { event: commented('/ralph status', { issue: 2 }) });
      expect(answerOn(project, 2)).toMatch(/issue #2\*\*[^]*Last run: iteration limit/);
    });

    test('its own lane while that is paused', async () => {
      const project = await over();
      const pull = project.forge.pulls[0]?.number ?? 0;
      await runOnce(project, { event: commented('/ralph pause', { issue: pull, isPullRequest: true }) });
      await runOnce(project, { event: commented('/ralph resume', { issue: 2 }) });
      expect([ordersOf(project, 'issue-2'), ordersOf(project, 'queue')]).toEqual([['pause', 'resume'], []]);
    });
  });

  test('the lane of the pull request with the comment, though its branch is gone', async () => {
    const project = createProject({ issues: [1, 2], agent: [finisher] });
    await runOnce(project, { event: labeled(2) });
    const pull = project.forge.pulls[0]?.number ?? 0;
    project.origin.branches.delete('ralph/issue-2');
    await runOnce(project, { event: commented('/ralph pause', { issue: pull, isPullRequest: true }) });
    expect([ordersOf(project, 'issue-2'), ordersOf(project, 'queue')]).toEqual([['pause'], []]);
  });
});

describe('the budget of a run', () => {
  test('is waited for while others have reserved it, but not until the end of the hour or day', async () => {
    const project = createProject({ issues: [1, 2], agent: [finisher], inputs: { 'max-cost-usd': '0' } });
    let other = null as ReturnType<typeof runOnce> | null;
    await runOnce(project, {
      event: labeled(2),
      onRecord: () => {
        other ??= runOnce(project, { event: schedule });
      },
    });
    const parked = await other;
    // The order comes while the first run holds the whole day's budget; its lease, an hour long, is the latest moment
    // at which it returns the rest.
    expect(parked).toMatchObject({ end: 'parked (cost_per_day)', calls: 0, outcome: { reason: 'cost_per_day' } });
    expect(
      (parked as unknown as { readonly outcome: { readonly resumeAt: number } }).outcome.resumeAt,
    ).toBeLessThanOrEqual(project.clock.now() + HOUR);
  });

  test('and its time starts when it takes the lane', async () => {
    const project = createProject({ issues: [1], agent: [stuck], inputs: { 'max-minutes': '20' } });
    const run = await runOnce(project, {
      prepare: (checkout) => {
        const open = checkout.openLane.bind(checkout);
        checkout.openLane = async (lane) => {
          project.clock.advance(12 * MINUTE);
          return open(lane);
        };
      },
    });
    expect((run.work?.endedAt ?? 0) - (run.work?.startedAt ?? 0)).toBeLessThan(20 * MINUTE);
    expect(run.work?.startedAt).toBeLessThan(project.clock.now() - 12 * MINUTE);
  });
});

const dispatched = (command: string): Event => ({
  name: 'repository_dispatch',
  payload: { action: 'ralph', client_payload: { command }, sender: senderOf('ann') },
});

describe('a retry', () => {
  /** Lets issues 1 and 2 fail on the queue, after one iteration each. */
  const withFailures = async (inputs: Readonly<Record<string, string>> = {}): Promise<Project> => {
    const project = createProject({
      issues: [1, 2],
      agent: [steadyWorker],
      inputs: { 'max-iterations-per-task': '1', ...inputs },
    });
    expect(await runOnce(project, { event: schedule })).toMatchObject({ end: 'blocked (needs_human)', calls: 2 });
    project.script.behaviours = [finisher];
    return project;
  };
  const statesOf = (project: Project): readonly string[] =>
    ['issue-1', 'issue-2'].map((id) => savedState(project).tasks[id]?.state ?? 'todo');

  test('is the only way to try these again', async () => {
    const project = await withFailures();
    expect(await runOnce(project, { event: schedule })).toMatchObject({ end: 'blocked (needs_human)', calls: 0 });
  });

  test.each<[string, Event, readonly string[]]>([
    ['by a dispatch: all', dispatched('retry'), ['done', 'done']],
    ['by a dispatch: one', dispatched('retry 2'), ['failed', 'done']],
    ['on an issue: that one', commented('/ralph retry', { issue: 1 }), ['done', 'failed']],
    ['on an issue, of another one', commented('/ralph retry #2', { issue: 1 }), ['failed', 'done']],
  ])('%s, and the lane works on it at once', async (_, event, states) => {
    const project = await withFailures();
    await runOnce(project, { event });
    expect(statesOf(project)).toEqual(states);
    expect(project.script.calls).toHaveLength(2 + states.filter((state) => state === 'done').length);
  });

  test.each([
    ['an issue', '9', 'There is no task #9. Nearest: #1, #2. Nothing was changed.'],
    [
      'an entry of a file',
      'plan-3f9a12c0',
      'There is no task plan-3f9a12c0 in the queue. Nearest: #1, #2. Nothing was changed.',
    ],
  ])('of %s that does not exist is an error, which names the possible ones', async (_, name, why) => {
    const project = await withFailures();
    expect(await runOnce(project, { event: commented(`/ralph retry ${name}`, { issue: 1 }) })).toMatchObject({
      end: 'idle (answered)',
    });
    expect(answerOn(project, 1)).toMatch(/\*\*Not done\.\*\*/);
    expect(answerOn(project, 1).replaceAll('\u200b', '')).toContain(why);
    const run = await runOnce(project, { event: dispatched(`retry ${name}`) });
    expect(run).toMatchObject({ end: 'failed (configuration)', calls: 0 });
    expect(run.outcome).toMatchObject({ message: why });
    expect([ordersOf(project, 'queue'), statesOf(project)]).toEqual([[], ['failed', 'failed']]);
  });

  test("on the queue's pull request affects the whole queue", async () => {
    const project = await withFailures();
    const pull = project.forge.pulls[0]?.number ?? 0;
    await runOnce(project, { event: commented('/ralph retry', { issue: pull, isPullRequest: true }) });
    expect(statesOf(project)).toEqual(['done', 'done']);
  });

  test('is kept while another run has the lane, and the answer says so', async () => {
    const project = await withFailures();
    addIssue(project.forge, 3);
    project.script.behaviours = [steadyWorker];
    let refused: Promise<Awaited<ReturnType<typeof runOnce>>> | null = null;
    await runOnce(project, {
      event: schedule,
      onRecord: () => {
        refused ??= runOnce(project, { event: commented('/ralph retry 1', { issue: 1 }) });
      },
    });
    expect(await (refused as unknown as Promise<object>)).toMatchObject({ end: 'refused (another_run)', calls: 0 });
    expect(answerOn(project, 1)).toContain('Kept for another try');
    project.script.behaviours = [finisher];
    await runOnce(project, { event: schedule });
    expect(statesOf(project)).toEqual(['done', 'failed']);
  });

  test('during the first run of three jobs finds a branch without a state, and does not call that a loss', async () => {
    const project = createProject({ issues: [1], agent: [finisher] });
    const statuses: Run[] = [];
    const tap: Tap = {
      ...open,
      call: async (name, call) => {
        if (name === 'agent.call')
          statuses.push(await runOnce(project, { event: commented('/ralph status', { issue: 1 }) }));
        return call();
      },
    };
    await runSplit(project, { loop: { tap } });
    expect(statuses).toHaveLength(1);
    expect(warningsIn(statuses[0] ?? null)).toEqual([]);
  });

  test('of a done task does nothing, and says so', async () => {
    const project = createProject({ issues: [1], agent: [finisher] });
    await runOnce(project, { event: labeled(1) });
    expect(await runOnce(project, { event: commented('/ralph retry', { issue: 1 }) })).toMatchObject({
      end: 'idle (all_done)',
      calls: 0,
    });
    expect(answerOn(project, 1)).toContain('Nothing to try again');
  });

  test('waits for the end of a pause', async () => {
    const project = await withFailures();
    await runOnce(project, { event: dispatched('pause') });
    expect(await runOnce(project, { event: dispatched('retry') })).toMatchObject({
      end: 'paused (by_person)',
      calls: 0,
    });
    await runOnce(project, { event: dispatched('resume') });
    await runOnce(project, { event: schedule });
    expect(statesOf(project)).toEqual(['done', 'done']);
  });

  test('without stored state starts a run', async () => {
    const project = createProject({ issues: [1], agent: [finisher], inputs: { 'state-store': 'none' } });
    expect(await runOnce(project, { event: dispatched('retry') })).toMatchObject({
      end: 'complete (plan_complete)',
      calls: 1,
    });
  });

  test('works as well if only the cache keeps the state', async () => {
    const project = await withFailures({ 'state-store': 'cache' });
    await runOnce(project, { event: dispatched('retry') });
    expect(statesOf(project)).toEqual(['done', 'done']);
  });
});

test('where the cache alone keeps the state, a pause that this job cannot sign is refused, with advice on how to fix it', async () => {
  const project = createProject({ issues: [1], inputs: { 'state-store': 'cache' } });
  project.kept.cache.signed = false;
  const run = await runOnce(project, { event: commented('/ralph pause', { issue: 1 }) });
  expect(run.end).toBe('failed (configuration)');
  expect(JSON.stringify(run.outcome)).toContain("signed with the agent's key, which this job does not have");
});

describe('a second attempt of the same run', () => {
  test.each<[string, Readonly<Record<string, string>>]>([
    ['the ref', {}],
    ['the cache alone', { 'state-store': 'cache' }],
  ])('gives no order twice (%s), and answers with the state of the lane', async (_, inputs) => {
    const project = createProject({ issues: [1], inputs });
    const event = commented('/ralph pause', { issue: 1 });
    await runOnce(project, { event });
    await runOnce(project, { event: commented('/ralph resume', { issue: 1 }) });
    const again = await runOnce(project, { event, againOf: 1 });
    expect(again.end).toBe('idle (answered)');
    expect(again.log).toContainEqual(
      expect.stringContaining('an earlier attempt of this run gave it (this is attempt 2)'),
    );
    project.script.behaviours = [finisher];
    expect(await runOnce(project, { event: schedule })).toMatchObject({ end: 'complete (plan_complete)' });
  });

  test('gives an order that the first one could not keep', async () => {
    const project = createProject({ issues: [1] });
    const event = commented('/ralph pause', { issue: 1 });
    project.kept.refs.outages.set('write', 'no answer');
    expect(await runOnce(project, { event })).toMatchObject({ end: 'failed (infrastructure)' });
    project.kept.refs.outages.clear();
    expect(await runOnce(project, { event, againOf: 1 })).toMatchObject({ end: 'idle (answered)' });
    expect(ordersOf(project, 'queue')).toEqual(['pause']);
  });

  test('of work reads the current state of everything', async () => {
    const project = createProject({ issues: [1], agent: [finisher] });
    await runOnce(project, { event: schedule });
    expect(await runOnce(project, { event: schedule, againOf: 1 })).toMatchObject({ end: 'idle (all_done)', calls: 0 });
  });

  test.each<[string, Event]>([
    ['of a label', labeled(1)],
    ['of /ralph run', commented('/ralph run', { issue: 1 })],
  ])('%s does not repeat the work of the first one', async (_, event) => {
    const project = createProject({ issues: [1], agent: [finisher] });
    await runOnce(project, { event });
    expect(await runOnce(project, { event, againOf: 1 })).toMatchObject({ end: 'idle (all_done)', calls: 0 });
    expect(await runOnce(project, { event })).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
  });

  test("of a label continues with the rest of the first one's work", async () => {
    const project = createProject({ issues: [1], agent: [steadyWorker], inputs: { 'max-iterations': '1' } });
    await runOnce(project, { event: labeled(1) });
    project.script.behaviours = [finisher];
    expect(await runOnce(project, { event: labeled(1), againOf: 1 })).toMatchObject({
      end: 'complete (plan_complete)',
      calls: 1,
    });
  });
});

describe('permission for commands', () => {
  test.each<[string, string, Readonly<Record<string, string>>, readonly string[]]>([
    ['a person with write access: eyes, and one answer', 'ann', {}, ['eyes on comment 7', 'comment on #1']],
    ['anybody else: thumbs down, and no comment', 'eve', {}, ['-1 on comment 7']],
    ['a bot that nobody named: thumbs down, and no comment', 'helper[bot]', {}, ['-1 on comment 7']],
    ['a bot that is allowed', 'helper[bot]', { 'allowed-bots': 'helper[bot]' }, ['eyes on comment 7', 'comment on #1']],
  ])('%s', async (_, login, inputs, writes) => {
    const project = createProject({ issues: [1], inputs });
    project.forge.accounts.set('helper[bot]', { login: 'helper[bot]', id: 1, kind: 'bot' });
    await runOnce(project, { event: commented('/ralph stop', { issue: 1, login }) });
    expect(project.forge.writes).toEqual(writes);
    expect(ordersOf(project, 'queue')).toEqual(writes.length === 1 ? [] : ['stop']);
  });

  test('an unknown command gets eyes, the help and the nearest one, in the one comment', async () => {
    const project = createProject({ issues: [1] });
    for (const word of ['retyr', 'retyr', 'halt'])
      await runOnce(project, { event: commented(`/ralph ${word}`, { issue: 1 }) });
    expect(project.forge.comments.get(1)?.size).toBe(1);
    expect(answerOn(project, 1)).toContain('/ralph retry');
  });
});
