import { describe, expect, test } from 'vitest';
import { recordHeadVerification } from '../../../../src/core/lane/verification.ts';
import { decideNextStep } from '../../../../src/core/lane/decide.ts';
import { retryTask } from '../../../../src/core/lane/settle/settle-circuit.ts';
import type { LaneState } from '../../../../src/core/lane/state/state.ts';
import { reopenDueTasks, setAside, computeNextTurn } from '../../../../src/core/tasks/ids.ts';
import { chooseNextTask, untouchedProgress } from '../../../../src/core/tasks/queue.ts';
import { DAY_MS } from '../../../../src/core/countdown.ts';
import {
  describeStep,
  HOUR,
  idle,
  MINUTE,
  noon,
  play,
  playAgain,
  policy,
  progress,
  task,
  type Play,
  type Played,
} from '../core-fixtures.ts';

const done = (more: Play = {}): Play => progress({ ...more, output: { signal: { status: 'COMPLETE' } } });
const saysDone: Play = { output: { signal: { status: 'COMPLETE', exitSignal: false, tasksCompleted: 1 } } };
const tasks = [task(1), task(2)];
const stateOf = ({ state }: Played, id: string): string => state.tasks[id]?.state ?? 'todo';
const asides = ({ verdicts }: Played) => verdicts.map((verdict) => verdict.setAside);

describe('a stuck task steps aside; the queue continues', () => {
  test('one that can never be done costs three calls, the other is done, and the run ends blocked', () => {
    const run = play([idle, idle, idle, done()], { tasks });
    expect(asides(run)).toEqual([null, null, 'no_progress', null]);
    expect([stateOf(run, 'issue-1'), stateOf(run, 'issue-2')]).toEqual(['stuck', 'finished']);
    expect(run.state.circuit).toMatchObject({ kind: 'closed', totalOpens: 0, noProgress: 0, probes: false });
    expect(describeStep(run.step)).toBe('blocked (needs_human)');
  });

  test('the iteration after it is the probe of the next: without progress the circuit opens', () => {
    const run = play([idle, idle, idle, idle], { tasks: [...tasks, task(3)] });
    expect(run.verdicts.map(({ circuit }) => circuit)).toEqual(['closed', 'half-open', 'half-open', 'open']);
    expect(run.state.circuit).toMatchObject({ kind: 'open', reason: 'no_progress', taskId: 'issue-2', totalOpens: 1 });
    expect(describeStep(run.step)).toBe('halted (circuit_open)');
  });

  test('with no other task the circuit opens as usual', () => {
    const run = play([idle, idle, idle], { tasks: [task(1), task(2, { obstacle: 'needs-approval' })] });
    expect(asides(run)).toEqual([null, null, null]);
    expect(describeStep(run.step)).toBe('halted (circuit_open)');
  });

  test.each<[string, Play]>([
    ['a permission that is missing', { output: { denials: [{ tool: 'Bash', command: 'docker ps' }] } }],
    ['a provider that fails', { output: { agentError: { kind: 'server', text: '529' } } }],
  ])('%s is nothing that a task can step aside from', (_, failing) => {
    const run = play([failing, failing, failing], { tasks });
    expect(asides(run).every((aside) => aside === null)).toBe(true);
    expect(describeStep(run.step)).toBe('halted (circuit_open)');
  });

  test('the probe of an open circuit goes to another task than the one that opened it', () => {
    const first = play([idle, idle, idle, idle], { tasks: [...tasks, task(3)] });
    const next = playAgain(first, [done()], { tasks: [...tasks, task(3)], gapMs: 31 * MINUTE });
    expect(stateOf(next, 'issue-3')).toBe('finished');
    expect(next.state.circuit.kind).toBe('closed');
  });
});

test('the probes of an open circuit try every task before they go back to one', () => {
  const denied: Play = { output: { denials: [{ tool: 'Bash', command: 'docker ps' }] } };
  const three = { tasks: [...tasks, task(3)] };
  const first = play([denied, denied], three);
  const second = playAgain(first, [denied], { ...three, gapMs: 31 * MINUTE });
  const third = playAgain(second, [done()], { ...three, gapMs: 31 * MINUTE });
  expect([first, second, third].map(({ state }) => state.circuit.kind)).toEqual(['open', 'open', 'closed']);
  expect(['issue-1', 'issue-2', 'issue-3'].map((id) => stateOf(third, id))).toEqual([
    'in-progress',
    'in-progress',
    'finished',
  ]);
});

describe('another turn', () => {
  const stuck = setAside(untouchedProgress, 'no_progress', noon);
  test.each([
    [1, 30 * MINUTE],
    [2, HOUR],
    [3, 2 * HOUR],
    [6, 16 * HOUR],
    [7, DAY_MS],
    [1000, DAY_MS],
  ])('after being set aside %i times in a row comes after %i ms', (times, waitMs) => {
    expect(computeNextTurn({ ...stuck, setAside: { times, at: noon } }, 30 * MINUTE)).toBe(noon + waitMs);
  });

  test('comes last in the order', () => {
    const progressById = { 'issue-1': stuck };
    const at = (now: number) => chooseNextTask(tasks, reopenDueTasks(progressById, 30 * MINUTE, now), null)?.id;
    expect([at(noon), at(noon + 30 * MINUTE)]).toEqual(['issue-2', 'issue-2']);
    expect(chooseNextTask([task(1)], reopenDueTasks(progressById, 30 * MINUTE, noon + 30 * MINUTE), null)?.id).toBe(
      'issue-1',
    );
    expect(chooseNextTask([task(1)], reopenDueTasks(progressById, 30 * MINUTE, noon - DAY_MS), null)).toBeNull();
  });

  test('is one call, opens no circuit, and doubles the wait', () => {
    const first = play([idle, idle, idle, done()], { tasks });
    const again = playAgain(first, [idle], { tasks, gapMs: 31 * MINUTE });
    expect(again.verdicts).toHaveLength(1);
    expect(again.state.tasks['issue-1']).toMatchObject({ state: 'stuck', attempts: 4, setAside: { times: 2 } });
    expect(again.state.circuit).toMatchObject({ kind: 'closed', totalOpens: 0 });
    expect(describeStep(again.step)).toBe('blocked (needs_human)');
  });

  test('continues with progress, and forgets what was', () => {
    const first = play([idle, idle, idle, done()], { tasks });
    const again = playAgain(first, [progress(), done()], { tasks, gapMs: 31 * MINUTE });
    expect(again.state.tasks['issue-1']).toMatchObject({ state: 'finished', setAside: null });
    expect(describeStep(again.step)).toBe('complete (plan_complete)');
  });

  test('is not done by what was changed for others in the meantime', () => {
    const first = play([idle, idle, idle, done()], { tasks });
    const again = playAgain(first, [saysDone], { tasks, gapMs: 31 * MINUTE });
    expect(again.verdicts[0]).toMatchObject({ nothingToDo: true, taskDone: false, setAside: 'nothing_to_do' });
    expect(stateOf(again, 'issue-1')).toBe('blocked');
  });

  test('spares no circuit a provider that fails', () => {
    const failing: Play = { output: { agentError: { kind: 'server', text: '500' } } };
    const first = play([idle, idle, idle, done()], { tasks });
    const again = playAgain(first, [failing, failing, failing, failing], { tasks, gapMs: 31 * MINUTE });
    expect(again.verdicts.map(({ circuit }) => circuit)).toEqual(['closed', 'closed', 'open']);
    expect(again.state.tasks['issue-1']).toMatchObject({ attempts: 3, setAside: { times: 1 } });
  });

  test('ends with max-iterations-per-task', () => {
    const bounds = { ...policy, maxIterationsPerTask: 4 };
    const first = play([idle, idle, idle, done()], { tasks, policy: bounds });
    const again = playAgain(first, [idle], { tasks, policy: bounds, gapMs: 31 * MINUTE });
    expect(again.state.tasks['issue-1']).toMatchObject({ state: 'failed', reason: 'max_iterations_per_task' });
  });
});

describe('"nothing to do" is an answer', () => {
  test('without verify the task is set aside, and a person is asked: one call', () => {
    const run = play([saysDone], { tasks: [task(1)] });
    expect(run.verdicts[0]).toMatchObject({ nothingToDo: true, taskDone: false, setAside: 'nothing_to_do' });
    expect(run.state.tasks['issue-1']).toMatchObject({ state: 'blocked', reason: 'nothing_to_do', attempts: 1 });
    expect(run.state.circuit).toMatchObject({ kind: 'closed', noProgress: 0 });
    expect(describeStep(run.step)).toBe('blocked (needs_human)');
  });

  test('with verify it is verified, and done', () => {
    const run = play([{ ...saysDone, verification: 'passed' }], {
      tasks: [task(1)],
      policy: { ...policy, verifies: true },
    });
    expect(run.verdicts[0]).toMatchObject({ nothingToDo: true, taskDone: true, setAside: null });
    expect(describeStep(run.step)).toBe('complete (plan_complete)');
  });

  describe('of an item of the plan that was not ticked', () => {
    const item = task(1, { id: 'plan-a', source: { kind: 'plan', path: '.ralph/fix_plan.md', line: 1 } });
    const unticked = (signal: object): Play => ({ output: { signal }, checklist: { current: 'open' } });
    const says = unticked({ status: 'COMPLETE', exitSignal: false, tasksCompleted: 0 });

    test('one call, and a person is asked', () => {
      const run = play([says], { tasks: [item] });
      expect(run.verdicts[0]).toMatchObject({ nothingToDo: true, taskDone: false, setAside: 'nothing_to_do' });
      expect(run.state.circuit).toMatchObject({ kind: 'closed', noProgress: 0 });
      expect(describeStep(run.step)).toBe('blocked (needs_human)');
    });

    test('with verify it is verified, done, and remembered as unmarked', () => {
      const run = play([{ ...says, verification: 'passed' }], { tasks: [item], policy: { ...policy, verifies: true } });
      expect(run.verdicts[0]).toMatchObject({ nothingToDo: true, taskDone: true, progress: false });
      expect(run.state).toMatchObject({
        tasks: { 'plan-a': { unmarked: true } },
        circuit: { kind: 'closed', noProgress: 0 },
      });
      expect(describeStep(run.step)).toBe('complete (plan_complete)');
    });

    test.each([
      ['a finished task that its file does not show', { status: 'COMPLETE', exitSignal: false, tasksCompleted: 1 }],
      ['no end', { status: 'IN_PROGRESS', tasksCompleted: 0 }],
    ])('says nothing beside %s', (_, signal) => {
      const run = play([{ ...unticked(signal), verification: 'passed' }], {
        tasks: [item],
        policy: { ...policy, verifies: true },
      });
      expect(run.verdicts[0]).toMatchObject({ nothingToDo: false, taskDone: false });
    });
  });

  test('with a verify that fails a person is asked', () => {
    const run = play([{ ...saysDone, verification: 'failed' }], {
      tasks: [task(1)],
      policy: { ...policy, verifies: true },
    });
    expect(run.verdicts[0]).toMatchObject({ taskDone: false, setAside: 'nothing_to_do' });
  });

  test.each<[string, Play]>([
    ['files that it says it changed', { output: { signal: { status: 'COMPLETE', filesModified: 2 } } }],
    [
      'an error of the agent',
      { ...saysDone, output: { ...saysDone.output, agentError: { kind: 'other', text: 'x' } } },
    ],
    ['a call that ran out of time', { ...saysDone, end: { kind: 'timeout', of: 'call' } }],
    ['a status of BLOCKED', { output: { signal: { status: 'BLOCKED', tasksCompleted: 1 } } }],
    ['no claim', { output: { signal: { status: 'IN_PROGRESS', tasksCompleted: 0 } } }],
  ])('is not one beside %s', (_, iteration) => {
    expect(play([iteration], { tasks: [task(1)] }).verdicts[0]).toMatchObject({ nothingToDo: false });
  });

  test('does not count where nothing is required: there the claims of several iterations decide', () => {
    expect(play([saysDone], { tasks: [task(1, { optional: true })] }).verdicts[0]).toMatchObject({
      nothingToDo: false,
    });
  });

  test('nor is that nothing is left to do: what finishes a task opens no circuit', () => {
    const run = play([progress(), idle, idle, saysDone], { tasks: [task(1)] });
    expect(run.verdicts[3]).toMatchObject({ progress: false, nothingToDo: false, taskDone: true });
    expect(run.state.circuit).toMatchObject({ kind: 'closed', totalOpens: 0 });
    expect(describeStep(run.step)).toBe('complete (plan_complete)');
  });

  test('the queue continues with the next task at once', () => {
    const run = play([saysDone, done()], { tasks });
    expect([stateOf(run, 'issue-1'), stateOf(run, 'issue-2')]).toEqual(['blocked', 'finished']);
  });
});

describe('a task that says BLOCKED', () => {
  const blocked: Play = { output: { signal: { status: 'BLOCKED', exitSignal: false } } };
  const asks: Play = { output: { signal: { status: 'BLOCKED', exitSignal: false, asks: 'EUR or USD?' } } };
  const reasonOf = ({ state }: Played, id: string): unknown => state.tasks[id]?.reason;

  test.each([
    [
      'twice in a row, is left to a person, and the queue continues',
      [blocked, blocked, done()],
      'status_blocked',
      'finished',
    ],
    ['with a question, waits for the answer at once', [asks, done()], 'status_blocked', 'finished'],
    ['once, without a question, has another call', [blocked, done(), done()], null, 'finished'],
  ])('%s', (_, script, reason, other) => {
    const run = play(script, { tasks });
    expect([reasonOf(run, 'issue-1'), stateOf(run, 'issue-2')]).toEqual([reason, other]);
    expect(describeStep(run.step)).toBe(reason === null ? 'complete (plan_complete)' : 'blocked (needs_human)');
  });

  test('is asked twice where there is nothing else to do', () => {
    expect(describeStep(play([asks], {}).step)).toBe('iterate');
    expect(describeStep(play([asks, asks], {}).step)).toBe('blocked (needs_human)');
    expect(stateOf(play([asks, done()], {}), 'issue-1')).toBe('finished');
  });

  test('says nothing of the next one', () => {
    const run = play([asks, blocked], { tasks });
    expect(stateOf(run, 'issue-2')).toBe('in-progress');
    expect(describeStep(run.step)).toBe('iterate');
  });

  test('feeds the circuit: where every task says so it is not the tasks', () => {
    const run = play([asks, asks, asks, asks], { tasks: [1, 2, 3, 4, 5].map((number) => task(number)) });
    expect(describeStep(run.step)).toBe('halted (circuit_open)');
    expect(run.verdicts).toHaveLength(4);
  });
});

describe('a task that was finished and waits for a verification of the head', () => {
  const verifying = { ...policy, verifies: true };
  const red = { commit: 'x', commands: 'y', kind: 'failed', command: 'npm test', exitCode: 1 } as const;
  const three = [...tasks, task(3, { optional: true })];
  /** Plays iterations in which task 1 is finished and task 2 may be half done; then the verification of the head fails. */
  const afterRed = (half: readonly Play[]): Played => {
    const run = play([done({ verification: 'passed' }), ...half], { tasks: three, policy: verifying });
    return { ...run, state: recordHeadVerification(run.state, { record: red, finished: ['issue-1'] }, run.now) };
  };
  const nextOf = ({ state, run, now }: Played, of = three): unknown => {
    const step = decideNextStep({ state, tasks: of, run, policy: verifying, now });
    return step.kind === 'iterate' ? step.task.id : step.outcome.reason;
  };
  const halfDone = progress({ verification: 'failed', output: { signal: { status: 'IN_PROGRESS' } } });
  const idleRed: Play = { output: { signal: { status: 'IN_PROGRESS' } } };

  test('comes behind what is open and before what is optional', () => {
    expect(nextOf(afterRed([]))).toBe('issue-2');
    expect(nextOf(afterRed([]), [task(1), task(3, { optional: true })])).toBe('issue-1');
    expect(nextOf(afterRed([halfDone]))).toBe('issue-2');
  });

  test('gets no call while another that is set aside may be why the work tree is red', () => {
    const only = [task(1), task(2)];
    const stuck = play([done({ verification: 'passed' }), halfDone, idleRed, idleRed], {
      tasks: only,
      policy: verifying,
    });
    const failing = (state: LaneState, failingSince: number | null): LaneState => ({
      ...recordHeadVerification(state, { record: red, finished: ['issue-1'] }, noon),
      tasks: {
        ...state.tasks,
        'issue-2': setAside(state.tasks['issue-2'] ?? untouchedProgress, 'no_progress', stuck.now),
      },
      change: { ...state.change, failingSince },
    });
    const reopened = (state: LaneState): LaneState => ({
      ...state,
      tasks: {
        ...state.tasks,
        'issue-1': { ...(state.tasks['issue-1'] ?? untouchedProgress), state: 'in-progress', unproven: true },
      },
    });
    expect(nextOf({ ...stuck, state: reopened(failing(stuck.state, 3)) }, only)).toBe('needs_human');
    expect(nextOf({ ...stuck, state: reopened(failing(stuck.state, null)) }, only)).toBe('issue-1');
    expect(nextOf({ ...stuck, state: reopened(failing(stuck.state, 3)) }, [task(1)])).toBe('issue-1');
  });

  test.each<[string, Play, true | undefined]>([
    ['changes nothing', idleRed, true],
    ['changes something and does not finish', halfDone, undefined],
    ['says BLOCKED', { output: { signal: { status: 'BLOCKED' } } }, undefined],
    ['finishes it', done({ verification: 'passed' }), undefined],
  ])('whose call %s', (_, call, unproven) => {
    const run = afterRed([]);
    const again = play([call], { state: run.state, tasks: [task(1)], policy: verifying, tree: run.tree, now: run.now });
    expect(again.state.tasks['issue-1']?.unproven).toBe(unproven);
  });

  test('is forgotten when a person asks for a retry', () => {
    expect(retryTask(afterRed([]).state, 'issue-1', 'retry', noon).tasks['issue-1']).toEqual(untouchedProgress);
  });
});

test('what passes in the work tree on the very commit that failed in a clean clone is not done', () => {
  const verifying = { ...policy, verifies: true };
  const run = play([done({ verification: 'passed' })], { policy: verifying });
  const record = {
    commit: `head-${run.tree}`,
    commands: 'y',
    kind: 'failed',
    command: 'npm test',
    exitCode: 1,
  } as const;
  const state = recordHeadVerification(run.state, { record, finished: ['issue-1'] }, run.now);
  const again = (call: Play, from: LaneState): Played =>
    play([call], { state: from, policy: verifying, tree: run.tree, now: run.now });
  const claim: Play = { ...saysDone, verification: 'passed' };
  expect(again(claim, state).verdicts[0]).toMatchObject({ taskDone: false, nothingToDo: false });
  expect(again(claim, { ...state, headVerification: null }).verdicts[0]).toMatchObject({ taskDone: true });
  expect(again(done({ verification: 'passed' }), state).verdicts[0]).toMatchObject({ taskDone: true });
});
