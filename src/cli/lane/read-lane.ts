import { createInitialState, type LaneState } from '../../core/lane/state/state.ts';
import { type Budget, emptyBudget, type ParsedBudget, sumWindows } from '../../core/sharing/budget.ts';
import { computeExpiry, blocksOtherHolder, type Lease, type LeaseHolder } from '../../core/sharing/lease.ts';
import { applyOrders, listOpenOrders, type Order } from '../../core/sharing/orders.ts';
import { type LaneAnswer, withAnswers } from '../../core/sharing/waiting-issues.ts';
import { listLaneAnswers, parseBudgetIn } from '../../core/snapshot/snapshot.ts';
import type { LaneId } from '../../core/tasks/ids.ts';
import { isTaskBegun, computeShownProgress } from '../../core/tasks/task.ts';
import { mapTexts } from '../../core/text/redact.ts';
import { completeSentence } from '../../core/text/phrase.ts';
import { DAY_MS, HOUR_MS } from '../../core/countdown.ts';
import type { ReadSnapshot, RestoredState, StateStore, Unavailable } from '../../ports/state.ts';
import { describeNewerState, describeUnreachablePlace } from '../../report/overview/build-overview.ts';
import { quoteFailure } from '../../report/facts.ts';
import { toPlainLine } from '../arguments.ts';
import type { ReportedLane, LaneStatusReport, PlaceReport } from './lane-schema.ts';
import { viewLane } from '../../core/snapshot/judged.ts';

/** A place that keeps the state of lanes: `ref` on the remote, `directory` in the checkout. */
export interface StatePlace {
  readonly name: string;
  readonly store: Pick<StateStore, 'read' | 'update'>;
  /** Returns the lanes that have state or a branch in this place. */
  lanes(): Promise<FoundLanes>;
}

/** The lanes of a place. `trace` changes whenever a state or a branch of the place changes. */
type FoundLanes = { readonly kind: 'lanes'; readonly lanes: readonly LaneId[]; readonly trace: string } | Unavailable;

/**
 * The facts about a checkout that the state commands need: its top folder, its places (at least one, except for `ralph
 * status`), and the name of the person who gives orders.
 */
export type OpenedPlaces =
  | { readonly kind: 'open'; readonly folder: string; readonly places: readonly StatePlace[]; readonly person: string }
  /**
   * `folder` is the top folder of a checkout without any state yet; it is null if there is no checkout or no such
   * remote.
   */
  | { readonly kind: 'missing'; readonly folder: string | null; readonly why: string };

/**
 * Finds the places of the checkout that contains `folder`; a null `remote` means `origin`, if that exists. Sends no
 * request to a server.
 */
export type OpenPlaces = (checkout: {
  readonly folder: string;
  readonly remote: string | null;
}) => Promise<OpenedPlaces>;

const SHOWN_TRANSITIONS = 10;

/** Maximum length of a text, enough for a server's message and advice about it. */
const MAX_TEXT_CHARS = 600;

/** The last instant whose year has four digits. */
const lastInstant = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Reads the state of a lane in each place. Every text in the report is one clean line. */
export async function readLane(lane: LaneId, places: readonly StatePlace[], now: number): Promise<LaneStatusReport> {
  const read = await Promise.all(places.map((place) => readPlace(lane, place, now)));
  return mapTexts({ branchId: lane, at: iso(now), places: read }, (text) => toPlainLine(text, MAX_TEXT_CHARS));
}

/** Returns the state of a lane in a place's snapshot. */
export function restoreLaneState(
  place: string,
  read: ReadSnapshot,
  { lane, now }: { readonly lane: LaneId; readonly now: number },
): RestoredState {
  if (read.kind === 'none') return { kind: 'unavailable', why: 'nothing is kept there' };
  if (read.kind === 'unavailable') return read;
  return viewLane(read.snapshot, lane, { place, now });
}

async function readPlace(lane: LaneId, { name: place, store }: StatePlace, now: number): Promise<PlaceReport> {
  const read = await store.read();
  const restored = restoreLaneState(place, read, { lane, now });
  const [counters, answers] =
    read.kind === 'snapshot' ? [parseBudgetIn(read.snapshot, now), listLaneAnswers(read.snapshot)] : [null, []];
  switch (restored.kind) {
    case 'unavailable':
      return { kind: 'unavailable', place, why: describeUnreachablePlace(place, restored.why) };
    case 'newer':
      return { kind: 'newer', place, why: describeNewerState(place, restored.version) };
    case 'absent':
      // The place answered, so a warning means that its state is unusable: report it as unreadable.
      if (restored.warnings.length > 0) return { kind: 'unreadable', place, why: restored.warnings.join(' ') };
      return {
        kind: 'branch',
        place,
        saved: null,
        ...reportOf(createInitialState(lane, now), { ...restored, counters, answers, now }),
      };
    case 'unreadable':
      return {
        kind: 'unreadable',
        place,
        why: `The state in the ${place} cannot be read: ${completeSentence(restored.why)} The next run begins with one probe iteration.`,
      };
    case 'found': {
      const { state, origin } = restored;
      const saved = { sequence: state.sequence, origin, at: iso(state.savedAt) };
      return { kind: 'branch', place, saved, ...reportOf(state, { ...restored, counters, answers, now }) };
    }
  }
}

interface Found {
  readonly orders: readonly Order[];
  readonly lease: Lease | null;
  readonly warnings: readonly string[];
  /** The counters, or null if they cannot be read. */
  readonly counters: ParsedBudget | null;
  readonly answers: readonly LaneAnswer[];
  readonly now: number;
}

/** A lease holder that equals the holder of no lease. */
const nobody: LeaseHolder = { runTag: '', runId: '', runAttempt: 1 };

function reportOf(
  stored: LaneState,
  { orders, lease, warnings, counters, answers, now }: Found,
): Omit<ReportedLane, 'kind' | 'place' | 'saved'> {
  const state = applyOrders(withAnswers(stored, answers, []), orders);
  const { circuit, pause, park, session, lastRun } = state;
  const problem =
    counters?.kind === 'budget'
      ? counters.problem
      : "The repository's usage counters cannot be read: a newer version of this program wrote them.";
  return {
    working:
      lease === null || !blocksOtherHolder(lease, nobody, now)
        ? null
        : { runId: lease.runId, runUrl: lease.runUrl, since: iso(lease.acquiredAt), until: iso(computeExpiry(lease)) },
    circuit:
      circuit.kind === 'closed'
        ? { kind: 'closed', noProgress: circuit.noProgress, totalOpens: circuit.totalOpens }
        : {
            ...{
              kind: 'open',
              reason: circuit.reason,
              openedAt: iso(circuit.openedAt),
              totalOpens: circuit.totalOpens,
            },
            ...(circuit.failure === undefined ? {} : { failure: quoteFailure(circuit.failure) }),
          },
    pause: pause === null ? null : { by: pause.by, at: iso(pause.at) },
    park: park === null || park.resumeAt <= now ? null : { reason: park.reason, resumeAt: iso(park.resumeAt) },
    session:
      session === null ? null : { ...session, startedAt: iso(session.startedAt), lastUsedAt: iso(session.lastUsedAt) },
    currentTask: state.currentTask,
    tasks: Object.entries(state.tasks)
      .filter(([, task]) => isTaskBegun(task))
      .map(([id, task]) => ({
        id,
        title: Object.hasOwn(state.change.tasks, id) ? (state.change.tasks[id]?.title ?? null) : null,
        state: computeShownProgress(task).state,
        attempts: task.attempts,
      })),
    lastRun:
      lastRun === null
        ? null
        : {
            outcome: lastRun.outcome,
            reason: lastRun.reason,
            at: iso(lastRun.at),
            pullRequest: lastRun.published?.pullRequest?.url ?? null,
          },
    usage: counters?.kind === 'budget' ? usageOf(counters.budget, now) : null,
    feedback: Object.entries(state.feedback.items).map(([id, { kind, title, answer }]) => ({
      id,
      kind,
      title,
      state: answer?.kind ?? 'open',
    })),
    ordersWaiting: listOpenOrders(stored, orders).map(({ kind, task, by, from, at }) => ({
      order: kind,
      task,
      by,
      from,
      at: iso(at),
    })),
    transitions: state.transitions
      .slice(-SHOWN_TRANSITIONS)
      .map((transition) => ({ ...transition, at: iso(transition.at) })),
    warnings: [...warnings, ...(problem === null ? [] : [problem])],
  };
}

/** Returns the usage of each budget window as a run that begins now would see it. */
function usageOf(budget: Budget, now: number): ReportedLane['usage'] {
  const { hour, day } = sumWindows(budget, '', now);
  const counts = (reservation: Budget['reservations'][number]): boolean => {
    const alone = sumWindows({ ...emptyBudget, reservations: [reservation] }, '', now);
    return alone.hour !== null || alone.day !== null;
  };
  return {
    hour: hour === null ? null : { calls: hour.calls, tokens: hour.tokens, endsAt: iso(hour.openedAt + HOUR_MS) },
    day: day === null ? null : { costUsd: day.costUsd, endsAt: iso((Math.floor(day.openedAt / DAY_MS) + 1) * DAY_MS) },
    reservations: budget.reservations
      .filter(counts)
      .map(({ lane, runUrl, calls, tokens, costUsd, expiresAt }) => ({
        branchId: lane,
        runUrl,
        calls,
        tokens,
        costUsd,
        expiresAt: iso(expiresAt),
      })),
  };
}

function iso(instant: number): string {
  return new Date(Math.min(instant, lastInstant)).toISOString();
}
