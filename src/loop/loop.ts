import { addRun } from '../core/lane/change.ts';
import { checkSubject } from '../core/lane/check.ts';
import { startRun } from '../core/lane/decide.ts';
import type { LaneState } from '../core/lane/state.ts';
import { nextDeed, NOTHING_KNOWN, type LoopSituation } from '../core/loop/next-deed.ts';
import { serializeStart } from '../core/journal/journal.ts';
import type { WorkIntake } from '../handover/handed.ts';
import type { Work } from '../handover/work.ts';
import { doDeed, type RunNow } from './deeds.ts';
import type { LoopDeps } from './deps.ts';
import { breakOff, concludeRun } from './ending.ts';
import { createOrderPoll } from './people/order-poll.ts';
import { createTurns, takeFirst } from './turns.ts';

/** Iterates until a bound, a decision or a person ends it: intake → work. `nextDeed` says what comes next; this does it and asks again. */
export async function loop(given: LoopDeps, intake: WorkIntake): Promise<Work> {
  const leaveTree = await given.repository.layTree(given.signal);
  try {
    const { policy } = given.config;
    const turns = createTurns(given);
    const first = await takeFirst(turns, { state: intake.state, policy, now: given.clock.now() });
    const work = begin(given, intake, { state: first.state, agent: first.opened.called });
    let run: RunNow = { work, soFar: startRun(work.state, work.startedAt), policy, known: NOTHING_KNOWN };
    const setting = { turns, askOrders: createOrderPoll(given), opened: intake.opened };
    for (;;) {
      // Waiting changes what bounds the run.
      const deps: LoopDeps = { ...given, config: { ...given.config, policy: run.policy } };
      const deed = nextDeed(situationOf(deps, run));
      if (deed.kind === 'end') return await concludeRun(deps, run.work, deed);
      if (deed.kind === 'break-off') return breakOff(deps, run.work, deed.outcome);
      const next = await doDeed({ ...setting, deps, run }, deed);
      if (next.work !== run.work) deps.record(next.work);
      run = next;
    }
  } finally {
    await leaveTree();
  }
}

function situationOf(
  { clock, config, sha256, signal, ending, lookAtPeople, patience }: LoopDeps,
  { work, soFar, policy, known }: RunNow,
): LoopSituation {
  return {
    ...{ known, policy, run: soFar, state: work.state, tasks: work.tasks, stateBefore: work.stateBefore },
    now: clock.now(),
    cancelled: signal.aborted,
    endingBy: ending.aborted ? String(ending.reason) : null,
    head: checkSubject(config.verify, { commit: work.head, sha256 }),
    canLook: lookAtPeople !== null,
    unreserved: patience?.policy ?? null,
  };
}

/** Turns an intake into the work of a run that has not called yet. */
export function beginWork(
  intake: WorkIntake,
  { state, agent, now }: { readonly state: LaneState; readonly agent: Work['agent']; readonly now: number },
): Work {
  return {
    lane: intake.lane,
    tasks: intake.tasks,
    notes: intake.notes,
    stateBefore: intake.state,
    state: { ...state, change: addRun(state.change, intake.lane.start.kind !== 'continue') },
    journal: [],
    headVerification: null,
    base: intake.opened.head,
    head: intake.opened.head,
    remoteHead: intake.lane.start.kind === 'continue' ? intake.lane.start.remoteHead : null,
    safe: { state: intake.state, iterations: 0 },
    hasNewCommits: false,
    withheld: [],
    lookAt: [],
    warnings: [],
    isolation: null,
    isolationFrom: 'this-job',
    shown: null,
    notWaited: null,
    agent,
    startedAt: intake.claimedAt,
    endedAt: now,
    // This is on disk while the loop runs, and is true if the process is killed.
    outcome: { kind: 'cancelled', reason: 'killed' },
  };
}

function begin(deps: LoopDeps, intake: WorkIntake, first: Pick<Work, 'state' | 'agent'>): Work {
  const work = beginWork(intake, { ...first, now: deps.clock.now() });
  deps.record(work);
  deps.appendJournal(
    serializeStart({
      version: 1,
      lane: work.lane.id,
      startedAt: work.startedAt,
      policy: deps.config.policy,
      tasks: work.tasks,
      state: work.state,
    }),
  );
  return work;
}
