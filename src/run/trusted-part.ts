import type { Config } from '../config/config.ts';
import { restoreRecordedFacts } from '../core/isolation/texts.ts';
import { countEntryCalls, type JournalEntry, parseJournalLine } from '../core/journal/journal.ts';
import { createInitialState, type LaneState, parseStateAt, createProbeState } from '../core/lane/state/state.ts';
import { serializeState } from '../core/lane/state/serialize-state.ts';
import { type Outcome, outcomeSchema } from '../core/outcome.ts';
import { MAX_CALLS_PER_ITERATION } from '../core/pipeline/pipeline.ts';
import { restoreLookAt } from '../core/review/look-at.ts';
import { limitTrustedLedger, mergeTrustedState } from '../core/sharing/trusted-state.ts';
import { applyOrders } from '../core/sharing/orders.ts';
import { listCeilings } from '../core/snapshot/proposals.ts';
import type { Snapshot } from '../core/snapshot/snapshot.ts';
import { getProgress, withChangedTasks } from '../core/tasks/queue.ts';
import { withCeilings } from '../core/tasks/stepping-aside.ts';
import { createRunNotes, type Work } from '../handover/intake.ts';
import type { RestoredState } from '../ports/state.ts';
import { type LaneAnswer, withAnswers } from '../core/sharing/waiting-issues.ts';

/**
 * The facts against which a record is checked. `restored` is the lane according to the store; it is null if the store
 * keeps nothing, or was not asked.
 */
export interface KnownFacts {
  readonly restored: RestoredState | null;
  /** The answers of lanes to issues, according to the store. Only those that the record has adopted are used. */
  readonly answers: readonly LaneAnswer[];
  /** The snapshot that the store keeps, or null if none was read. */
  readonly snapshot: Snapshot | null;
  readonly config: Pick<Config, 'policy' | 'stateStore'>;
  readonly runTag: string;
  readonly now: number;
}

/**
 * Returns the trusted part of the record. The agent could write to its folder, and a program that has read main's
 * environment can seal a record. The stored state decides; the record only says what to inspect, what to publish, and
 * what was used. None of its sentences are shown.
 */
export function selectTrustedPart(work: Work, known: KnownFacts): Work {
  const { restored, config, runTag, now } = known;
  const stored = storedState(work, known);
  const parsed = parseStateAt(serializeState(work.state), work.lane.id, now);
  const recorded = parsed.kind === 'state' ? parsed.state : stored;
  const kept = restored !== null && 'savedBy' in restored ? restored : null;
  const isAtWork = kept?.lease?.runTag === runTag;
  const end = kept?.savedBy === runTag && !isAtWork ? stored.lastRun : null;
  const headVerification = stored.headVerification;
  const journal = work.journal.flatMap(readEntry);
  return {
    ...work,
    outcome: trustedOutcome(work.outcome, { end, state: stored, cooldownMs: config.policy.circuit.cooldownMs }),
    notes: createRunNotes(config.stateStore === 'none' ? 'not kept (state-store: none)' : RESTORED),
    warnings: [FINISHED_BY_POST],
    // A record of an earlier version lacks the isolation, so it may be missing.
    isolation: restoreRecordedFacts(work.isolation),
    isolationFrom: 'record',
    waitSkippedBy: null,
    journal,
    withheld: work.withheld.map(({ path }) => ({ path, why: LEFT_OUT_BY_MAIN })),
    lookAt: restoreLookAt(work.lookAt),
    cleanVerification:
      work.cleanVerification?.commit === headVerification?.commit &&
      work.cleanVerification !== null &&
      headVerification !== null
        ? {
            ...work.cleanVerification,
            verification:
              headVerification.kind === 'passed'
                ? { kind: 'passed', durationMs: 0 }
                : {
                    kind: 'failed',
                    command: headVerification.command ?? '',
                    code: headVerification.exitCode,
                    tail: '',
                    durationMs: 0,
                  },
          }
        : null,
    stateBefore: {
      ...work.stateBefore,
      tasks: withChangedTasks(work.stateBefore.tasks, Object.keys(work.stateBefore.tasks), (known, id) => ({
        ...known,
        approval: getProgress(stored.tasks, id).approval,
      })),
      ledger: limitTrustedLedger(work.stateBefore.ledger, stored.ledger),
    },
    state: {
      ...mergeTrustedState(stored, recorded, {
        now,
        policy: { ...config.policy, callsPerIteration: mostCalls(journal) },
      }),
      // While the run holds its claim, no other run has saved, so trust the stored number. Otherwise keep the smaller
      // number, so that an old state is refused.
      sequence: isAtWork ? stored.sequence : Math.min(stored.sequence, recorded.sequence),
    },
    lastPublished: { ...work.lastPublished, state: stored },
  };
}

/** Returns the maximum number of calls of one iteration, according to the recorded journal. */
function mostCalls(journal: Work['journal']): number {
  const calls = journal.map(countEntryCalls);
  return Math.min(Math.max(1, ...calls), MAX_CALLS_PER_ITERATION);
}

const FINISHED_BY_POST =
  'The main step did not finish this report. Its list of iterations and files comes from a record on the machine that a program of the same user could have changed; the commits, what is done, and what is approved do not.';

const RESTORED = 'restored by the main step';

const LEFT_OUT_BY_MAIN = "left out by the main step; the main step's log says why";

/** Returns the state against which the run's own state is checked, with only the orders that the run has obeyed. */
function storedState({ lane, state }: Work, { restored, answers, snapshot, now }: KnownFacts): LaneState {
  switch (restored?.kind) {
    case 'found':
    case 'unreadable':
    case 'absent': {
      const begun = restored.kind === 'unreadable' ? createProbeState(lane.id, now) : createInitialState(lane.id, now);
      const obeyed = restored.orders.filter(({ number }) => number <= state.ordersApplied);
      const left = answers.filter(({ task }) => getProgress(state.tasks, task).answer !== undefined);
      const stored = applyOrders(withAnswers(restored.kind === 'found' ? restored.state : begun, left, []), obeyed);
      return withCeilings(stored, listCeilings(snapshot, Object.keys(state.tasks)));
    }
    default:
      return { ...createInitialState(lane.id, now), ordersApplied: state.ordersApplied };
  }
}

/** Returns the entry if it has the form of an iteration, otherwise nothing, so that it is not shown. */
function readEntry(entry: JournalEntry): readonly JournalEntry[] {
  const line = parseJournalLine(JSON.stringify({ ...entry, kind: 'iteration' }));
  return line.kind === 'iteration' ? [line.entry] : [];
}

interface StoredEnd {
  /** The end as main has saved it, or null if main has saved none. */
  readonly end: LaneState['lastRun'];
  readonly state: LaneState;
  readonly cooldownMs: number;
}

/**
 * Returns the outcome of a run that post finishes, as main has saved it. The record can only say that the run was
 * cancelled or failed.
 */
function trustedOutcome(recorded: Outcome, { end, state, cooldownMs }: StoredEnd): Outcome {
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
  // Some outcomes need a sentence, which is not saved, so treat these as killed.
  return known.success ? known.data : KILLED;
}

const KILLED: Outcome = { kind: 'cancelled', reason: 'killed' };

const CANCELLED: Outcome = { kind: 'cancelled', reason: 'signal' };

const MAIN_FAILED: Outcome = {
  kind: 'failed',
  reason: 'infrastructure',
  message:
    "The main step could not publish everything that this run made, so the post step did. The main step's log says why. The next run verifies everything that is not known to be done.",
};
