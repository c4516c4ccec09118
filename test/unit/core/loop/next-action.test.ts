import { expect, test } from 'vitest';
import { createRunSoFar, type RunSoFar } from '../../../../src/core/lane/decide.ts';
import { createInitialState, type LaneState } from '../../../../src/core/lane/state/state.ts';
import {
  FACTS_AFTER_ITERATION,
  updateFacts,
  decideLoopAction,
  FACTS_AT_START,
  type LoopAction,
  type LoopFacts,
  type LoopSituation,
} from '../../../../src/core/loop/next-action.ts';
import type { Outcome } from '../../../../src/core/outcome.ts';
import type { Policy } from '../../../../src/core/policy.ts';
import { UNDECIDED_FOR_TIME, type Proof } from '../../../../src/core/proof/proof.ts';
import type { Order } from '../../../../src/core/sharing/orders.ts';
import type { TaskProgress } from '../../../../src/core/tasks/task.ts';
import { HOUR, MINUTE, noon, policy, task } from '../core-fixtures.ts';

const fresh = createInitialState('queue', noon);
const head = { commit: 'c1', commands: 'verify' };
const worked: TaskProgress = {
  ...{ state: 'in-progress', attempts: 1, startedTree: 'a', doneCommit: null, reason: null, setAside: null },
};
const done: TaskProgress = { ...worked, state: 'done', doneCommit: 'c1' };
const finished: LaneState = { ...fresh, tasks: { 'issue-1': { ...done, state: 'finished' } } };
/** The task was done in an earlier run. */
const doneBefore: LaneState = { ...fresh, tasks: { 'issue-1': done } };
/** The task was finished earlier, and is done as soon as a verification of the head passes. */
const awaiting: LaneState = { ...fresh, tasks: { 'issue-1': { ...worked, unproven: true } } };
const passed = { ...head, kind: 'passed', command: null, exitCode: 0 } as const;
const usedUp: LaneState = {
  ...fresh,
  windows: { hour: { openedAt: noon - HOUR + 5 * MINUTE, calls: 100, tokens: 0 }, day: null },
};
const order = (kind: Order['kind'], by: string): Order => ({
  ...{ number: noon + 1, kind, task: null, run: null, by, from: 'comment', at: noon + 1 },
});
const merge = { conflicts: ['a.ts'], lockFiles: [], regeneratedByLoop: [], regenerated: [], verification: null };
const failure: Outcome = { kind: 'failed', reason: 'infrastructure', message: 'The branch moved.' };
const limit: Outcome = { kind: 'limit', reason: 'minutes' };

const complete = { outcome: 'complete', reason: 'plan_complete', at: noon, published: null } as const;

/** Returns the state of a lane whose branch contains work of these tasks. */
function withShares(state: LaneState, ids: readonly string[], proof?: Proof): LaneState {
  const tasks = Object.fromEntries(ids.map((id) => [id, { title: id, proof }]));
  return { ...state, change: { ...state.change, tasks } } as unknown as LaneState;
}

/** The differences from a run that has just begun, with one task and the documented policy. */
interface Change extends Omit<Partial<LoopSituation>, 'known' | 'run' | 'policy' | 'unreserved'> {
  readonly known?: Partial<LoopFacts>;
  readonly run?: Partial<RunSoFar>;
  readonly policy?: Partial<Policy>;
  readonly unreserved?: Partial<Policy>;
}

function actionIn({ known, run, policy: bounds, unreserved, ...change }: Change): LoopAction {
  const state = change.state ?? fresh;
  return decideLoopAction({
    ...{ state, tasks: [task(1)], now: noon, head, canLook: true, cancelled: false, endingBy: null },
    ...change,
    known: { ...FACTS_AT_START, ...known },
    run: { ...createRunSoFar(state, noon), ...run },
    policy: { ...policy, ...bounds },
    unreserved: unreserved === undefined ? null : { ...policy, ...unreserved },
  });
}

const verifies = { verifies: true };
const ready = { stage: 'ready' } as const;
/** The state after the first iteration, when people's orders and the task have been read. */
const asked = { ...ready, orders: [], lookedFor: 'issue-1' } as const;
const once = { iterations: 1, calls: 1 };
const waits = { onLimit: 'wait' } as const;
const ends = (outcome: Partial<Outcome>): object => ({ kind: 'end', ending: { outcome } });
const calls = { outcome: { kind: 'parked', reason: 'calls_per_hour', resumeAt: noon + 5 * MINUTE } };
const stepOpen: LaneState = { ...fresh, steps: { markers: [], circuits: { work: { failures: 1, openedAt: noon } } } };
const steps = { agentSteps: [{ name: 'work', marker: null, resetAfterMs: MINUTE, required: true, agent: null }] };
const stepWait = { outcome: { kind: 'parked', reason: 'step_circuit' } };
const byPerson = (by: string): object => ends({ kind: 'paused', reason: 'by_person', by });

test.each<[string, Change, object]>([
  // Work begun on the branch is finished, whatever becomes due in the meantime
  ['the run begins', {}, { kind: 'open-branch' }],
  ['the branch is open', { known: { stage: 'opened' } }, { kind: 'verify-base' }],
  ['the base is verified', { known: { stage: 'base-verified' } }, { kind: 'merge-repaired-base' }],
  ['a repaired base is merged', { known: { stage: 'base-merged' } }, { kind: 'apply-suggestions' }],
  ['suggested changes are applied', { known: { stage: 'suggestions-applied' } }, { kind: 'push' }],
  ['a merge needed no call', { known: { stage: 'merged' }, run: once }, { kind: 'push' }],
  ['an iteration is over', { known: FACTS_AFTER_ITERATION, run: once }, { kind: 'push' }],
  ['… and the run is cancelled', { known: FACTS_AFTER_ITERATION, run: once, cancelled: true }, { kind: 'push' }],
  ['… and its time is over', { known: { stage: 'opened' }, now: noon + HOUR }, { kind: 'verify-base' }],
  [
    '… and it cannot continue',
    { known: { ...FACTS_AFTER_ITERATION, failure }, run: once },
    { kind: 'break-off', outcome: failure },
  ],

  // Before a call
  ['the branch is ready', { known: ready }, { kind: 'prepare-merge', task: { id: 'issue-1' } }],
  [
    'the work tree is ready',
    { known: { ...ready, prepared: { task: 'issue-1', merge } }, now: noon + 7 },
    { kind: 'iterate', step: { kind: 'iterate', task: { id: 'issue-1' } }, merge, startedAt: noon + 7, orders: [] },
  ],
  [
    'the work tree is ready for another task',
    { known: { ...ready, prepared: { task: 'issue-2', merge } } },
    { kind: 'prepare-merge', task: { id: 'issue-1' } },
  ],
  ['behind an iteration', { known: ready, run: once }, { kind: 'ask-orders' }],
  [
    'nobody ordered anything',
    { known: { ...ready, orders: [] }, run: once },
    { kind: 'look-at-people', task: { id: 'issue-1' } },
  ],
  [
    'people were looked at for another task',
    { known: { ...asked, lookedFor: 'issue-2' }, run: once },
    { kind: 'look-at-people', task: { id: 'issue-1' } },
  ],
  ['this job cannot look', { known: { ...ready, orders: [] }, run: once, canLook: false }, { kind: 'prepare-merge' }],
  ['people were looked at', { known: asked, run: once }, { kind: 'prepare-merge' }],
  ['the first call is long after the gate', { now: noon + MINUTE + 1 }, { kind: 'ask-orders' }],
  [
    '… and nobody ordered anything',
    { known: { ...FACTS_AT_START, orders: [] }, now: noon + MINUTE + 1 },
    { kind: 'look-at-people' },
  ],
  ['… but not that long', { now: noon + MINUTE }, { kind: 'open-branch' }],
  [
    'an order that the next run obeys',
    { known: { ...asked, orders: [order('pause', 'ann')], prepared: { task: 'issue-1', merge: null } }, run: once },
    { kind: 'iterate', merge: null, orders: [{ by: 'ann' }] },
  ],

  // A task that was finished before may be done without a call
  [
    'a finished task awaits a check',
    { state: awaiting, policy: verifies },
    { kind: 'verify-head', subject: head, finished: [] },
  ],
  ['… which no verify can be', { state: awaiting }, { kind: 'open-branch' }],
  ['… which was made', { state: awaiting, policy: verifies, known: { isHeadVerified: true } }, { kind: 'open-branch' }],
  [
    '… and another task is open',
    { state: awaiting, policy: verifies, tasks: [task(1), task(2)] },
    { kind: 'open-branch' },
  ],
  [
    '… and people were not looked at',
    { state: awaiting, policy: verifies, known: { ...ready, orders: [] }, run: once },
    { kind: 'look-at-people' },
  ],

  // People end the run
  ['somebody orders a stop', { known: { ...asked, orders: [order('stop', 'ann')] }, run: once }, byPerson('ann')],
  ['the pull request was closed', { known: asked, run: { ...once, stoppedBy: 'bob' } }, byPerson('bob')],
  ['somebody at home ends it', { endingBy: 'carl' }, byPerson('carl')],
  [
    'the order and somebody at home',
    { known: { ...asked, orders: [order('stop', 'ann')] }, run: once, endingBy: 'carl' },
    byPerson('ann'),
  ],
  [
    'all three',
    { known: { ...asked, orders: [order('stop', 'ann')] }, run: { ...once, stoppedBy: 'bob' }, endingBy: 'carl' },
    byPerson('bob'),
  ],
  [
    'it is cancelled',
    { cancelled: true, now: noon + 7 },
    { kind: 'end', ending: { outcome: { kind: 'cancelled' }, decidedAt: noon + 7, cancelled: true } },
  ],

  // Before the end
  ['no task', { tasks: [] }, ends({ kind: 'idle' })],
  ['all is done', { state: finished, policy: verifies }, { kind: 'verify-head', subject: head, finished: ['issue-1'] }],
  ['… and nothing verifies it', { state: finished }, ends({ kind: 'complete' })],
  [
    '… and its head was checked',
    { state: finished, policy: verifies, known: { isHeadVerified: true } },
    ends({ kind: 'complete' }),
  ],
  [
    '… and its head passed before',
    { state: { ...finished, headVerification: passed }, policy: verifies },
    ends({ kind: 'complete' }),
  ],
  [
    '… and a run that was ended has left its proof',
    { state: { ...withShares(finished, ['issue-1'], UNDECIDED_FOR_TIME), headVerification: passed }, policy: verifies },
    { kind: 'verify-head', finished: ['issue-1'] },
  ],
  [
    '… and a run that was complete had no time for its proof',
    {
      state: { ...withShares(finished, ['issue-1'], UNDECIDED_FOR_TIME), headVerification: passed, lastRun: complete },
      policy: verifies,
    },
    ends({ kind: 'complete' }),
  ],
  [
    '… and another head passed before',
    { state: { ...finished, headVerification: { ...passed, commit: 'c0' } }, policy: verifies },
    { kind: 'verify-head' },
  ],
  [
    '… and its head failed before',
    { state: { ...finished, headVerification: { ...passed, kind: 'failed' } }, policy: verifies },
    { kind: 'verify-head' },
  ],
  [
    '… and it was so before the run',
    { state: withShares(doneBefore, ['issue-1', 'issue-2']), policy: verifies },
    { kind: 'verify-head', finished: ['issue-1'] },
  ],
  [
    '… and nothing of it is on the branch',
    { state: doneBefore, policy: verifies },
    { kind: 'verify-head', finished: [] },
  ],
  ['… and the run is cancelled', { state: finished, policy: verifies, cancelled: true }, ends({ kind: 'cancelled' })],
  [
    'one of two is done as time is over',
    { state: finished, tasks: [task(1), task(2)], policy: verifies, now: noon + HOUR },
    { kind: 'verify-head', finished: ['issue-1'] },
  ],
  ['nothing is done as time is over', { policy: verifies, now: noon + HOUR }, ends(limit)],
  [
    'a task awaits a check as time is over',
    { state: awaiting, policy: verifies, now: noon + HOUR },
    { kind: 'verify-head' },
  ],
  [
    '… and another one was done before the run',
    {
      state: withShares({ ...awaiting, tasks: { ...awaiting.tasks, 'issue-2': done } }, ['issue-1', 'issue-2']),
      policy: verifies,
      now: noon + HOUR,
    },
    { kind: 'verify-head', finished: [] },
  ],
  [
    '… and verify failed in the work tree',
    {
      state: { ...awaiting, lastIteration: { verification: 'failed', hints: [] } } as unknown as LaneState,
      policy: verifies,
      now: noon + HOUR,
    },
    ends(limit),
  ],

  // A limit that ends soon
  ['a limit, where runs wait', { state: usedUp, policy: waits, unreserved: waits }, { kind: 'wait', ending: calls }],
  [
    '… and what the run reserved is used as well',
    { state: usedUp, policy: { ...waits, maxIterations: 1 }, unreserved: waits, run: once, known: asked },
    { kind: 'wait', ending: calls },
  ],
  [
    '… where runs park',
    { state: usedUp, policy: { maxRunMs: 5 * MINUTE }, unreserved: {} },
    { kind: 'end', ending: calls, waitSkippedBy: null },
  ],
  [
    '… where nobody can be asked for more',
    { state: usedUp, policy: waits },
    { kind: 'end', ending: calls, waitSkippedBy: null },
  ],
  [
    '… where no time is left behind it',
    { state: usedUp, policy: { ...waits, maxRunMs: 5 * MINUTE }, unreserved: waits },
    { kind: 'end', ending: calls, waitSkippedBy: 'minutes' },
  ],
  [
    '… where time beside the run is left behind it',
    { state: usedUp, policy: { ...waits, maxRunMs: 5 * MINUTE, maxWaitMs: HOUR }, unreserved: waits },
    { kind: 'wait' },
  ],
  [
    '… where earlier waits have used up the time beside the run',
    { state: usedUp, policy: { ...waits, maxRunMs: 5 * MINUTE }, unreserved: { ...waits, maxWaitMs: HOUR } },
    { kind: 'end', waitSkippedBy: 'minutes' },
  ],
  [
    '… and somebody ended the wait',
    { state: usedUp, policy: { ...waits, maxRunMs: 5 * MINUTE }, unreserved: waits, run: { stoppedBy: 'ann' } },
    { kind: 'end', ending: calls, waitSkippedBy: null },
  ],
  [
    '… and somebody at home ended it',
    { state: usedUp, policy: waits, unreserved: waits, endingBy: 'ann' },
    { kind: 'end' },
  ],
  ['a step can be probed in a moment', { state: stepOpen, policy: steps }, { kind: 'wait', ending: stepWait }],
  [
    '… and what the run may do is used',
    { state: stepOpen, policy: { ...steps, maxIterations: 1 }, run: once },
    { kind: 'end', ending: stepWait },
  ],
  [
    '… where runs wait and nobody can be asked for more',
    { state: stepOpen, policy: { ...steps, ...waits, maxIterations: 1 }, run: once },
    { kind: 'end', ending: stepWait },
  ],
  [
    '… and what the run reserved is used, where runs park',
    { state: stepOpen, policy: { ...steps, maxIterations: 1 }, unreserved: steps, run: once },
    { kind: 'end', ending: stepWait },
  ],
  [
    'what the run reserved is used',
    { policy: { ...waits, maxIterations: 1 }, unreserved: waits, run: once },
    { kind: 'ask-for-more', ending: { outcome: { kind: 'limit', reason: 'iterations' } } },
  ],
  [
    '… and more was asked for',
    { policy: { ...waits, maxIterations: 1 }, unreserved: waits, run: once, known: { hasAskedForMore: true } },
    ends({ kind: 'limit' }),
  ],
  [
    '… and somebody asks it to end',
    { policy: { ...waits, maxIterations: 1 }, unreserved: waits, run: { ...once, stoppedBy: 'ann' } },
    ends({ kind: 'limit' }),
  ],
  ['… where runs park', { policy: { maxIterations: 1 }, unreserved: {}, run: once }, ends({ kind: 'limit' })],
  [
    'what the run may cost is used',
    { policy: { ...waits, maxCostUsd: 1 }, unreserved: { ...waits, maxCostUsd: 9 }, run: { ...once, costUsd: 1 } },
    ends({ kind: 'limit', reason: 'cost' }),
  ],
  [
    'what all runs may do is used',
    { policy: { ...waits, maxIterations: 1 }, unreserved: { ...waits, maxIterations: 1 }, run: once },
    { kind: 'end', ending: { outcome: { kind: 'limit', reason: 'iterations' } }, waitSkippedBy: null },
  ],

  // The budget is unknown: the run ends as decided before the wait, although it could call by now
  [
    'an end that stands',
    { known: { ...ready, ending: { outcome: limit, decidedAt: noon - 7, cancelled: false } } },
    { kind: 'end', ending: { outcome: limit, decidedAt: noon - 7, cancelled: false }, waitSkippedBy: null },
  ],
  [
    '… behind a verification of the head',
    {
      known: { ...ready, ending: { outcome: limit, decidedAt: noon - 7, cancelled: false } },
      state: finished,
      policy: verifies,
    },
    { kind: 'verify-head', finished: ['issue-1'] },
  ],
])('%s', (_, situation, expected) => {
  expect(actionIn(situation)).toMatchObject(expected);
});

test('an action that takes time makes old what people ordered and did, how the work tree lies, and an end that stood', () => {
  const known: LoopFacts = {
    ...{ ...FACTS_AT_START, ...asked, isHeadVerified: true, hasAskedForMore: true },
    prepared: { task: 'issue-1', merge: null },
    ending: { outcome: limit, decidedAt: noon, cancelled: false },
  };
  const old = { lookedFor: null, orders: null, prepared: null, ending: null };
  expect(updateFacts(known, { stage: 'merged' })).toEqual({ ...known, ...old, stage: 'merged' });
});

test('an iteration makes all of it old, but that there is something to push', () => {
  expect(FACTS_AFTER_ITERATION).toEqual({ ...FACTS_AT_START, stage: 'iterated' });
});
