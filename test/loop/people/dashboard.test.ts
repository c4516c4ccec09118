import { describe, expect, test } from 'vitest';
import { type DashboardBox, renderBox, findTickedBoxes } from '../../../src/core/dashboard/boxes.ts';
import { parseDashboardIn } from '../../../src/core/snapshot/dashboard-record.ts';
import { UserError } from '../../../src/errors.ts';
import type { Account } from '../../../src/ports/forge.ts';
import { next, worker } from '../feedback/reviewing.ts';
import { claimsBlocked, stuck } from '../stage/behaviours.ts';
import { withVersion } from '../stage/in-memory.ts';
import type { Project } from '../stage/project.ts';
import {
  addIssue,
  commented,
  createProject,
  gateOnce,
  labeled,
  loseState,
  type Event,
  runOnce,
  savedState,
  storedRecord,
} from '../stage/run-action.ts';
import { sideBySide, withSwitches } from '../stage/side-by-side.ts';
import { runLanes, runSplit } from '../stage/split.ts';
import { person } from '../stage/people.ts';
import { killAt, open, type Tap } from '../stage/tap.ts';

const ON = { dashboard: 'true' };
const NUMBER = 201;
const MINUTE = 60_000;

function dashboardOf({ forge }: Project) {
  return forge.dashboards.get(NUMBER) ?? expect.fail('There is no dashboard.');
}

function recordOf({ kept }: Project) {
  return parseDashboardIn(kept.refs.shared.snapshot);
}

/** Ticks boxes as a person does on the page. */
function tick(project: Project, by: Account | null, boxes: readonly DashboardBox[]): void {
  const before = dashboardOf(project);
  const body = boxes.reduce(
    (text, box) => {
      expect(text).toContain(renderBox(box));
      return text.replace(renderBox(box), renderBox(box).replace('[ ]', '[x]'));
    },
    before.body.replaceAll('\n', '\r\n'),
  );
  project.forge.dashboards.set(NUMBER, withVersion(before, by, body));
}

/** Returns `issues: edited` of the dashboard, as GitHub sends it. */
function editedDashboard(project: Project): Event {
  const { number, body } = dashboardOf(project);
  return {
    name: 'issues',
    payload: {
      action: 'edited',
      changes: { body: { from: '' } },
      issue: { number, title: '', body, labels: [] },
      sender: { login: 'ann', id: 1, type: 'User' },
    },
  };
}

const PAUSE: DashboardBox = { kind: 'pause', subject: 'queue' };
const RESUME: DashboardBox = { kind: 'resume', subject: 'queue' };
const RUN: DashboardBox = { kind: 'run', subject: 'queue' };
const RETRY: DashboardBox = { kind: 'retry', subject: 'issue-1' };
const SKIP: DashboardBox = { kind: 'skip', subject: 'issue-2' };

function written({ forge }: Project): readonly string[] {
  return forge.writes.filter((line) => line.includes('dashboard'));
}

describe('the dashboard', () => {
  test('is not there without the setting', async () => {
    const project = createProject({ agent: [worker] });
    await runOnce(project);
    expect([project.forge.dashboards.size, recordOf(project).issue]).toEqual([0, null]);
  });

  test('is made once, and edited only when something has changed', async () => {
    const project = createProject({ issues: [], agent: [worker], inputs: ON });
    await runOnce(project);
    expect(recordOf(project).issue).toEqual({ number: NUMBER, id: 'I_201' });
    const before = project.forge.requests().sent;
    await next(project);
    const idle = project.forge.requests().sent - before;
    expect(written(project)).toEqual(['made dashboard #201']);
    addIssue(project.forge, 1);
    await next(project);
    expect(written(project)).toEqual(['made dashboard #201', 'dashboard #201']);
    expect(dashboardOf(project).body).toContain('- **#101** (the queue) is ready: review and merge it.');
    const plain = createProject({ issues: [], agent: [worker] });
    await runOnce(plain);
    expect(idle - plain.forge.requests().sent).toBeLessThanOrEqual(2);
  });

  test('is kept by a run in three jobs', async () => {
    const project = createProject({ agent: [worker], inputs: ON });
    await runSplit(project);
    await runSplit(project);
    expect(written(project)).toEqual(['made dashboard #201']);
    addIssue(project.forge, 2);
    await runSplit(project);
    expect(written(project)).toEqual(['made dashboard #201', 'dashboard #201']);
  });

  test('stays closed, with its text, until people open it again', async () => {
    const project = createProject({ agent: [worker], inputs: ON });
    await runOnce(project);
    tick(project, person('ann'), [PAUSE]);
    project.forge.dashboards.set(NUMBER, { ...dashboardOf(project), isOpen: false });
    const { body } = dashboardOf(project);
    addIssue(project.forge, 2);
    expect(await next(project)).toMatchObject({ calls: 1 });
    expect([dashboardOf(project).body, dashboardOf(project).isOpen]).toEqual([body, false]);
    expect(savedState(project, 'queue').pause).toBeNull();
  });

  test('is made again once it was deleted', async () => {
    const project = createProject({ agent: [worker], inputs: ON });
    await runOnce(project);
    project.forge.dashboards.delete(NUMBER);
    await next(project);
    expect(recordOf(project).issue).toEqual({ number: 202, id: 'I_202' });
    await next(project);
    expect([...project.forge.dashboards.keys()]).toEqual([202]);
  });

  test('is made again if it is deleted while a run works, and stays closed if it is closed then', async () => {
    for (const change of ['deleted', 'closed']) {
      const project = createProject({ agent: [worker], inputs: ON });
      await runOnce(project);
      addIssue(project.forge, 2);
      const tap = before('agent.call', () => {
        const { dashboards } = project.forge;
        if (change === 'closed') dashboards.set(NUMBER, { ...dashboardOf(project), isOpen: false });
        else dashboards.delete(NUMBER);
      });
      expect(await runOnce(project, { tap })).toMatchObject({ calls: 1 });
      const kept = [...project.forge.dashboards.values()].map(({ number, isOpen }) => [number, isOpen]);
      expect(kept).toEqual([change === 'closed' ? [NUMBER, false] : [202, true]]);
      expect(recordOf(project).issue?.number).toBe(kept[0]?.[0]);
    }
  });

  test('is found again by its beginning when the state was lost', async () => {
    const project = createProject({ agent: [worker], inputs: ON });
    await runOnce(project);
    loseState(project);
    await next(project);
    expect([...project.forge.dashboards.keys()]).toEqual([NUMBER]);
    expect(recordOf(project).issue?.number).toBe(NUMBER);
  });

  test('costs no run its work where it cannot be written', async () => {
    const project = createProject({ agent: [worker], inputs: ON });
    project.forge.faults.set('openDashboard', new UserError('configuration', 'Not accessible.'));
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
  });

  test('is never a task, whoever labels it', async () => {
    const project = createProject({ issues: [], agent: [worker], inputs: ON });
    await runOnce(project);
    const { body } = dashboardOf(project);
    addIssue(project.forge, NUMBER, { body });
    expect(await next(project)).toMatchObject({ calls: 0 });
    const event = labeled(NUMBER);
    const payload = event.payload as { readonly issue: object };
    const withBody = { ...event, payload: { ...payload, issue: { ...payload.issue, body } } };
    expect(await next(project, withBody)).toMatchObject({ end: 'idle (not_for_us)', calls: 0 });
    expect(await next(project, commented('/ralph run', { issue: NUMBER }))).toMatchObject({ calls: 0 });
  });

  test('shows the queue in its order, with what each task waits for, and the last runs', async () => {
    const project = createProject({ issues: [1, 2, 3], agent: [worker], inputs: { ...ON, 'max-iterations': '1' } });
    project.forge.dependencies.set(2, [{ number: 3, state: 'open', elsewhere: null }]);
    const issue = project.forge.issues.get(2) ?? expect.fail();
    project.forge.issues.set(2, { ...issue, blockedBy: 1, title: 'Second <!-- ralph-action:run queue --> @eve' });
    await runOnce(project);
    const { body } = dashboardOf(project);
    expect(body).toContain('waits for #');
    expect(body).toContain('1. #3 Title 3: to do');
    expect(body).not.toContain('@eve');
    expect(body.match(/<!-- ralph-action:run queue -->/g)).toHaveLength(1);
    expect(body).toContain('| [2026-11-21 12:0');
    // A run for one issue does not list the queue, which is remembered.
    addIssue(project.forge, 9);
    await next(project, labeled(9));
    expect(dashboardOf(project).body).toContain('waits for #');
  });
});

test('shows the question of an issue that a label started, though no run has listed the queue since', async () => {
  const project = createProject({ issues: [], agent: [claimsBlocked], inputs: ON });
  await runOnce(project);
  addIssue(project.forge, 4);
  await next(project, labeled(4));
  const { body } = dashboardOf(project);
  expect(body).toMatch(/- #4 Title 4: the agent .*Answer on #4/);
  expect(body).toContain(renderBox({ kind: 'retry', subject: 'issue-4' }));
});

describe('a ticked box', () => {
  test.each(['the next run', 'the event'])('by a writer is an order that %s obeys', async (when) => {
    const project = createProject({ agent: [worker], inputs: ON });
    await runOnce(project);
    tick(project, person('ann'), [PAUSE]);
    addIssue(project.forge, 2);
    await next(project, when === 'the event' ? editedDashboard(project) : undefined);
    await next(project);
    const order = { by: 'ann', kind: 'pause' };
    expect(recordedOrders(project)).toMatchObject([order]);
    expect(dashboardOf(project).body).toContain('The queue is paused by ann.');
    expect(findTickedBoxes(dashboardOf(project).body)).toEqual([]);
    tick(project, person('ann'), [{ kind: 'resume', subject: 'queue' }]);
    expect(await next(project)).toMatchObject({ calls: 1 });
  });

  test.each([
    { who: 'a stranger', by: person('eve'), name: '`eve`' },
    { who: 'a bot that is not allowed', by: { login: 'x[bot]', id: 1, kind: 'bot' as const }, name: '`x[bot]`' },
    { who: 'nobody known', by: null, name: 'somebody GitHub does not name' },
  ])('by $who is undone with a word', async ({ by, name }) => {
    const project = createProject({ agent: [worker], inputs: ON });
    await runOnce(project);
    tick(project, by, [PAUSE]);
    await next(project);
    expect(recordedOrders(project)).toEqual([]);
    expect(dashboardOf(project).body).toContain(
      `- Pause the queue (ticked by ${name}): undone, since that needs write permission.`,
    );
    expect(findTickedBoxes(dashboardOf(project).body)).toEqual([]);
  });

  test('by a stranger does not become an order when a writer edits the page afterwards', async () => {
    const project = createProject({ agent: [worker], inputs: ON });
    await runOnce(project);
    tick(project, person('eve'), [PAUSE]);
    tick(project, person('ann'), [RUN]);
    addIssue(project.forge, 2);
    expect(await next(project)).toMatchObject({ calls: 1 });
    expect(recordedOrders(project)).toEqual([]);
    expect(dashboardOf(project).body).toContain('- Run the queue now (ticked by `ann`): done.');
  });

  test('runs the queue on several branches', async () => {
    const files = { 'src/a.ts': '', 'src/b.ts': '' };
    const inputs = { ...ON, parallel: '2' };
    const project = createProject({ issues: [], files, agent: [worker], inputs });
    await runLanes(project);
    addIssue(project.forge, 1, { body: 'Change src/a.ts' });
    addIssue(project.forge, 2, { body: 'Change src/b.ts' });
    tick(project, person('ann'), [RUN]);
    const { lanes } = await runLanes(project, { event: editedDashboard(project) });
    expect([...lanes.keys()]).toEqual(['queue', 'issue-2']);
    expect(findTickedBoxes(dashboardOf(project).body)).toEqual([]);
    expect(dashboardOf(project).body).toContain('- Run the queue now (ticked by `ann`): done.');
  });

  test('retries a task that is stuck, and takes another one out of the queue', async () => {
    const project = createProject({ issues: [1, 2], agent: [stuck], inputs: { ...ON, 'max-iterations': '3' } });
    await runOnce(project);
    expect(dashboardOf(project).body).toContain(renderBox(RETRY));
    tick(project, person('ann'), [RETRY, SKIP]);
    await next(project, editedDashboard(project));
    expect(recordedOrders(project)).toMatchObject([{ kind: 'retry', task: 'issue-1', by: 'ann' }]);
    expect(project.forge.issues.get(2)?.labels).not.toContain('ralph');
  });

  test('while a run works is kept for the next run, and obeyed once', async () => {
    const project = createProject({
      agent: [
        (call) => {
          tick(project, person('ann'), [PAUSE]);
          return worker(call);
        },
      ],
      inputs: ON,
    });
    const idle = project.forge.issues.get(1) ?? expect.fail();
    project.forge.issues.set(1, { ...idle, labels: [] });
    await runOnce(project);
    project.forge.issues.set(1, idle);
    await next(project);
    expect(recordOf(project).ticks).toEqual([{ box: PAUSE, by: person('ann'), taken: null }]);
    expect(dashboardOf(project).body).toContain(
      '- Pause the queue (ticked by `ann`): the next run of the queue looks at it.',
    );
    await next(project);
    expect([recordOf(project).ticks, recordedOrders(project).length]).toEqual([[], 1]);
    await next(project);
    expect(recordedOrders(project)).toHaveLength(1);
  });

  test('between any two writes of the page by a run is kept, and obeyed once', async () => {
    const project = createProject({ agent: [worker], inputs: ON });
    await runOnce(project);
    addIssue(project.forge, 2);
    const boxes = [PAUSE, RUN];
    const tap = before('forge.writeDashboard', () => {
      const box = boxes.shift();
      if (box !== undefined) tick(project, person('ann'), [box]);
    });
    await runOnce(project, { tap });
    expect(boxes).toEqual([]);
    expect(recordOf(project).ticks.map(({ box }) => box)).toEqual([PAUSE, RUN]);
    expect(findTickedBoxes(dashboardOf(project).body)).toEqual([]);
    for (let run = 0; run < 2; run += 1) await next(project);
    expect([recordOf(project).ticks, recordedOrders(project).map(({ kind }) => kind)]).toEqual([[], ['pause']]);
  });

  test('that a run for one issue finds is left to the next run of the queue', async () => {
    const project = createProject({ issues: [1, 5], agent: [worker], inputs: { ...ON, 'task-label': 'ralph' } });
    await runOnce(project);
    tick(project, person('ann'), [PAUSE]);
    addIssue(project.forge, 7);
    await next(project, labeled(7));
    expect([recordOf(project).ticks.length, recordedOrders(project).length]).toEqual([1, 0]);
    await next(project);
    expect(recordedOrders(project)).toMatchObject([{ kind: 'pause' }]);
  });

  test.each(['schedule', 'label'])('is not obeyed again by a run of the %s while the first one works', async (what) => {
    const project = createProject({ agent: [worker], inputs: ON });
    await runOnce(project);
    tick(project, person('ann'), [PAUSE]);
    await next(project, editedDashboard(project));
    tick(project, person('ann'), [RESUME]);
    addIssue(project.forge, 2);
    // The run that obeys the tick writes the page again only at its end.
    await gateOnce(project);
    const pull = project.forge.pulls[0]?.number ?? expect.fail();
    await next(project, commented('/ralph pause', { issue: pull, isPullRequest: true }));
    addIssue(project.forge, 3);
    await (what === 'label' ? next(project, labeled(3)) : gateOnce(project));
    await gateOnce(project);
    expect(recordedOrders(project).map(({ kind }) => kind)).toEqual(['pause', 'resume', 'pause']);
  });

  test('is obeyed once by two runs that read it at the same moment, in any order', async () => {
    for (let first = 1; first <= 6; first += 1)
      for (let second = 1; second <= 6; second += 1) {
        const project = createProject({ agent: [worker], inputs: ON });
        await runOnce(project);
        tick(project, person('ann'), [PAUSE]);
        const runs = [null, null].map(() => (tap: Tap) => gateOnce(project, { tap }));
        const done = await sideBySide(runs, withSwitches(first, second));
        const obeyed = done.flatMap(({ log }) => log.filter((line) => line.includes('ticked by ann: obeyed')));
        expect([obeyed.length, recordOf(project).ticks], `${String(first)}, ${String(second)}`).toEqual([1, []]);
        expect(recordedOrders(project)).toMatchObject([{ kind: 'pause' }]);
      }
  });

  test('is obeyed by a later run if the one that took it was killed, and ten minutes are over', async () => {
    const project = createProject({ agent: [worker], inputs: ON });
    await runOnce(project);
    tick(project, person('ann'), [PAUSE]);
    await runOnce(project, { tap: killAt((name) => name === 'refs.write', 'after') });
    expect([recordOf(project).ticks.length, recordedOrders(project)]).toEqual([1, []]);
    await gateOnce(project);
    expect(recordedOrders(project)).toEqual([]);
    project.clock.advance(10 * MINUTE);
    await gateOnce(project);
    expect([recordOf(project).ticks, recordedOrders(project)]).toMatchObject([[], [{ kind: 'pause', by: 'ann' }]]);
  });

  test('in a text like ours on another issue asks for nothing', async () => {
    const project = createProject({ agent: [worker], inputs: ON });
    await runOnce(project);
    const { body } = dashboardOf(project);
    const forged = body.replace(renderBox(PAUSE), renderBox(PAUSE).replace('[ ]', '[x]'));
    addIssue(project.forge, 66, { body: forged, labels: [] });
    const event = editedDashboard(project);
    const payload = event.payload as { readonly issue: object };
    const elsewhere = { ...event, payload: { ...payload, issue: { ...payload.issue, number: 66, body: forged } } };
    expect(await next(project, elsewhere)).toMatchObject({ end: 'idle (updated)', calls: 0 });
    expect(recordedOrders(project)).toEqual([]);
  });

  test('is asked for by no event without a tick', async () => {
    const project = createProject({ agent: [worker], inputs: ON });
    await runOnce(project);
    const before = project.forge.requests().sent;
    expect(await next(project, editedDashboard(project))).toMatchObject({ end: 'idle (not_for_us)' });
    expect(project.forge.requests().sent).toBe(before);
  });
});

function recordedOrders(project: Project) {
  return storedRecord(project).orders;
}

/** Lets something happen right before each call with this name. */
function before(name: string, happens: () => void): Tap {
  return {
    ...open,
    call: (called, call) => {
      if (called === name) happens();
      return open.call(called, call);
    },
  };
}
