import type { Config } from '../config/config.ts';
import { recordedFacts } from '../core/isolation/texts.ts';
import { callsOf, parseJournalLine, type JournalEntry } from '../core/journal/journal.ts';
import { recordedLookAt } from '../core/review/look-at.ts';
import { outcomeSchema, type Outcome } from '../core/outcome.ts';
import { MAX_CALLS_PER_ITERATION } from '../core/pipeline/pipeline.ts';
import { believedBefore, believedState } from '../core/sharing/believed.ts';
import { applyOrders } from '../core/sharing/orders.ts';
import { initialState, parseStateAt, probeState, serializeState, type LaneState } from '../core/lane/state.ts';
import type { Work } from '../handover/work.ts';
import type { RestoredState } from '../ports/state.ts';

/** What the record is held against. `restored`: what the store knows of the lane; null: it keeps nothing, or was not asked. */
export interface Known {
  readonly restored: RestoredState | null;
  readonly config: Pick<Config, 'policy' | 'stateStore'>;
  readonly runTag: string;
  readonly now: number;
}

/**
 * The record as far as it is believed: it lay where the agent could write, and who has read main's environment can seal
 * it. What holds is the stored state; the record says what there is to inspect and to publish, and what was used. None of
 * its sentences are ours.
 */
export function believedWork(work: Work, known: Known): Work {
  const { restored, config, runTag, now } = known;
  const stored = storedState(work, restored, now);
  const parsed = parseStateAt(serializeState(work.state), work.lane.id, now);
  const recorded = parsed.kind === 'state' ? parsed.state : stored;
  const kept = restored !== null && 'savedBy' in restored ? restored : null;
  const isAtWork = kept?.lease?.runTag === runTag;
  const end = kept?.savedBy === runTag && !isAtWork ? stored.lastRun : null;
  const headCheck = stored.headCheck;
  const journal = work.journal.flatMap(readEntry);
  return {
    ...work,
    outcome: believedOutcome(work.outcome, { end, state: stored, cooldownMs: config.policy.circuit.cooldownMs }),
    notes: {
      restored: config.stateStore === 'none' ? 'not kept (state-store: none)' : RESTORED,
      warnings: [],
      notices: [],
      claimedBy: null,
      found: [],
      checks: null,
      held: null,
    },
    warnings: [FINISHED_BY_POST],
    // That of an earlier version has none.
    isolation: recordedFacts(work.isolation),
    isolationFrom: 'record',
    notWaited: null,
    journal,
    withheld: work.withheld.map(({ path }) => ({ path, why: LEFT_OUT })),
    lookAt: recordedLookAt(work.lookAt),
    headVerification:
      work.headVerification?.commit === headCheck?.commit && work.headVerification !== null && headCheck !== null
        ? {
            ...work.headVerification,
            verification:
              headCheck.kind === 'passed'
                ? { kind: 'passed', durationMs: 0 }
                : {
                    kind: 'failed',
                    command: headCheck.command ?? '',
                    code: headCheck.exitCode,
                    tail: '',
                    durationMs: 0,
                  },
          }
        : null,
    stateBefore: {
      ...work.stateBefore,
      approvals: stored.approvals,
      ledger: believedBefore(work.stateBefore.ledger, stored.ledger),
    },
    state: {
      ...believedState(stored, recorded, { now, policy: { ...config.policy, callsPerIteration: mostCalls(journal) } }),
      // While the claim stands nobody else has saved. Where it does not, a number that is not newer is refused.
      sequence: isAtWork ? stored.sequence : Math.min(stored.sequence, recorded.sequence),
    },
    safe: { ...work.safe, state: stored },
  };
}

/** What one iteration can have called for, as far as those show that the record has. */
function mostCalls(journal: Work['journal']): number {
  const calls = journal.map(callsOf);
  return Math.min(Math.max(1, ...calls), MAX_CALLS_PER_ITERATION);
}

const FINISHED_BY_POST =
  'The main step did not finish this report. Its list of iterations and files comes from a record on the machine that a program of the same user could have changed; the commits, what is done, and what is approved do not.';
const RESTORED = 'restored by the main step';
const LEFT_OUT = "left out by the main step; the main step's log says why";

/** What the run's own state is held against: with the orders that it has obeyed, and no other. */
function storedState({ lane, state }: Work, restored: RestoredState | null, now: number): LaneState {
  switch (restored?.kind) {
    case 'found':
    case 'unreadable':
    case 'absent': {
      const begun = restored.kind === 'unreadable' ? probeState(lane.id, now) : initialState(lane.id, now);
      const obeyed = restored.orders.filter(({ number }) => number <= state.ordersApplied);
      return applyOrders(restored.kind === 'found' ? restored.state : begun, obeyed);
    }
    default:
      return { ...initialState(lane.id, now), ordersApplied: state.ordersApplied };
  }
}

/** What is no iteration in form is not shown. */
function readEntry(entry: JournalEntry): readonly JournalEntry[] {
  const line = parseJournalLine(JSON.stringify({ ...entry, kind: 'iteration' }));
  return line.kind === 'iteration' ? [line.entry] : [];
}

interface StoredEnd {
  /** How main has saved that it ended; null: it has not. */
  readonly end: LaneState['lastRun'];
  readonly state: LaneState;
  readonly cooldownMs: number;
}

/** How a run ended that post finishes: as main has saved. The record says no more than that it was cancelled, or failed. */
function believedOutcome(recorded: Outcome, { end, state, cooldownMs }: StoredEnd): Outcome {
  const kind = end === null ? recorded.kind : end.outcome;
  if (kind === 'failed') return MAIN_FAILED;
  if (end === null) return recorded.kind === 'cancelled' && recorded.reason === 'signal' ? CANCELLED : KILLED;
  const { park, circuit } = state;
  const known = outcomeSchema.safeParse({
    kind,
    reason: end.reason,
    ...(park === null ? {} : { resumeAt: park.resumeAt }),
    ...(circuit.kind === 'open'
      ? { circuitReason: circuit.reason, tripped: 'this-run', probeAt: circuit.openedAt + cooldownMs }
      : {}),
  });
  // Some ends have a sentence of their own, which nobody has saved.
  return known.success ? known.data : KILLED;
}

const KILLED: Outcome = { kind: 'cancelled', reason: 'killed' };
const CANCELLED: Outcome = { kind: 'cancelled', reason: 'signal' };
const MAIN_FAILED: Outcome = {
  kind: 'failed',
  reason: 'infrastructure',
  message:
    "The main step could not publish all that this run made, and the post step finished it. The main step's log says why. The next run verifies what is not known to be done.",
};
