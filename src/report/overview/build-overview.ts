import { type LedgerDay, addLedgers, sumLedgerDays } from '../../core/lane/ledger.ts';
import type { LaneState } from '../../core/lane/state/state.ts';
import { isFeedback } from '../../core/feedback/subject.ts';
import type { JudgedLane } from '../../core/snapshot/judged.ts';
import type { QueuedEntry } from '../../core/snapshot/dashboard-record.ts';
import type { StoredRun } from '../../core/snapshot/stored-run.ts';
import { applyOrders } from '../../core/sharing/orders.ts';
import { isIssueTask, issueOfId, type LaneId, QUEUE, type TaskId } from '../../core/tasks/ids.ts';
import { getProgress } from '../../core/tasks/queue.ts';
import { isTaskBegun, isFinished, computeShownProgress, type TaskState } from '../../core/tasks/task.ts';
import { completeSentence } from '../../core/text/phrase.ts';
import { listStoredRequests } from '../sentences/feedback.ts';
import { computeBranchCost } from '../sentences/spend.ts';
import {
  type KnownTask,
  formatLaneOption,
  nameOfKnownTask,
  type Overview,
  type OverviewLane,
  listLaneWaits,
} from './lane-waits.ts';

const LAST_RUNS = 10;

/** A lane as a place stores it. */
export interface FoundLane {
  readonly lane: LaneId;
  readonly place: string;
  readonly stored: JudgedLane;
}

/** Facts about a repository, from its state and from GitHub. */
export interface OverviewFacts {
  readonly lanes: readonly FoundLane[];
  readonly runs: readonly { readonly place: string; readonly run: StoredRun }[];
  /** Open issues and entries of files, in the order of work; `written` is the state in the file. */
  readonly listed: readonly { readonly task: QueuedEntry; readonly written: TaskState }[];
  readonly github: GitHubFacts | null;
  /** Returns the first state of a lane without a stored one. */
  readonly initial: (lane: LaneId) => LaneState;
  /** The cooldown of a circuit in ms. */
  readonly cooldownMs: number;
  readonly problems: readonly string[];
}

/** Facts from GitHub about a repository. */
export interface GitHubFacts {
  readonly repository: string;
  readonly titles: ReadonlyMap<number, string>;
  readonly pullRequests: ReadonlyMap<LaneId, NonNullable<OverviewLane['pullRequest']>>;
}

/** Builds the overview that every view of the repository shows. */
export function buildOverview(facts: OverviewFacts, now: number): Overview {
  const { lanes, runs, github, problems } = facts;
  const known = { ...facts, ownLanes: new Set(lanes.map(({ lane }) => lane)), now };
  return {
    at: new Date(now).toISOString(),
    repository: github?.repository ?? null,
    branches: lanes.map((found) => overviewOf(found, known)),
    spend: addLedgers(lanes.map(ledgerOf), now).map((day) => ({ ...day })),
    runs: runs
      .map(runAt)
      .toSorted((one, other) => Date.parse(other.endedAt) - Date.parse(one.endedAt))
      .slice(0, LAST_RUNS),
    problems: [...problems],
  };
}

/** Returns a sentence about a state store that does not answer. The store `ref` is the git remote. */
export function describeUnreachablePlace(place: string, why: string): string {
  return `The ${place === 'ref' ? 'remote' : place} cannot be reached: ${completeSentence(why)}`;
}

/** Returns a sentence about a state that this version cannot read, because a newer one wrote it. */
export function describeNewerState(place: string, version: number): string {
  return `The state in the ${place} was written by a newer version of this program (version ${String(version)}), which this one cannot read and does not overwrite. Use that version.`;
}

function runAt({ place, run }: OverviewFacts['runs'][number]): Overview['runs'][number] {
  const { lane, runUrl, endedAt, outcome, tasks, iterations, costUsd, tokens } = run;
  // Runs of version 1 do not record iterations of unknown cost, so estimate their number.
  const unpriced = run.unpriced ?? (costUsd === 0 && tokens > 0 ? iterations : 0);
  return {
    ...{ branchId: lane, place, iterations, outcome: outcome.kind, reason: outcome.reason },
    ...{ costUsd: computeBranchCost({ costUsd, unpriced }), unpriced },
    url: runUrl || null,
    endedAt: new Date(endedAt).toISOString(),
    tasksDone: tasks.filter(({ state }) => state === 'done').length,
  };
}

interface Known extends Omit<OverviewFacts, 'lanes' | 'runs' | 'problems'> {
  /** The existing lanes, whose issues are not in the queue. */
  readonly ownLanes: ReadonlySet<LaneId>;
  readonly now: number;
}

function overviewOf({ lane, place, stored }: FoundLane, known: Known): Overview['branches'][number] {
  if (stored.kind === 'found' || stored.kind === 'absent') return overviewLaneOf({ lane, place, stored }, known);
  const why =
    stored.kind === 'newer'
      ? describeNewerState(place, stored.version)
      : stored.kind === 'unavailable'
        ? describeUnreachablePlace(place, stored.why)
        : `The state in the ${place} cannot be read: ${completeSentence(stored.why)}`;
  return { kind: stored.kind, branchId: lane, place, why };
}

function overviewLaneOf(
  { lane, place, stored }: FoundLane & { readonly stored: Extract<JudgedLane, { kind: 'found' | 'absent' }> },
  { listed: all, github, ownLanes, initial, cooldownMs, now }: Known,
): OverviewLane {
  const kept = stored.kind === 'found' ? stored.state : initial(lane);
  const state = applyOrders(kept, stored.orders);
  const asked = state.feedback.items;
  const titleOf = (id: TaskId): string | null =>
    github?.titles.get(issueOfId(id) ?? 0) ??
    asked[id]?.title ??
    (Object.hasOwn(state.change.tasks, id) ? (state.change.tasks[id]?.title ?? null) : null);
  const isOfLane = (id: TaskId): boolean => (lane === QUEUE ? !ownLanes.has(id) : id === lane);
  const listed = new Map(all.filter(({ task }) => isOfLane(task.id)).map((one) => [one.task.id, one]));
  // GitHub no longer lists an issue that is closed or has lost its label, so leave it out.
  const worked = Object.keys(state.tasks).filter(
    (id) =>
      !isFeedback(id) &&
      isTaskBegun(getProgress(state.tasks, id)) &&
      (github === null || !isIssueTask(id) || listed.has(id) || isFinished(getProgress(state.tasks, id))),
  );
  // An answered request no longer waits, so leave it out.
  const unanswered = listStoredRequests(asked)
    .filter(({ isOpen }) => isOpen)
    .map(({ id }) => id);
  const ids = [
    ...new Set([...listed.keys(), ...unanswered, ...worked, ...(lane === QUEUE || github !== null ? [] : [lane])]),
  ];
  const tasks = ids.map((id): KnownTask => {
    const progress = computeShownProgress(getProgress(state.tasks, id));
    const { task, written } = listed.get(id) ?? { task: null, written: 'todo' };
    // The state of a task in runs takes precedence over that in the file, unless a person has checked it off.
    return { id, task, progress: written === 'done' ? { ...progress, state: 'done' } : progress };
  });
  const pullRequest = pullRequestOf(lane, state.lastRun?.published?.pullRequest ?? null, github);
  const { orders, lease } = stored;
  const ofLane = { state, stored: kept, orders, lease, tasks, pullRequest, sameLane: formatLaneOption(lane) };
  return {
    kind: 'branch',
    branchId: lane,
    place,
    pullRequest,
    tasks: tasks.map((each) => ({
      id: each.id,
      name: nameOfKnownTask(each, each.id),
      title: each.task?.title ?? titleOf(each.id),
      state: each.progress.state,
      attempts: each.progress.attempts,
      current: each.id === state.currentTask,
    })),
    waits: [...listLaneWaits({ ...ofLane, cooldownMs, now })],
    spend: sumLedgerDays(addLedgers([state.ledger], now)),
    warnings: [...stored.warnings],
  };
}

function pullRequestOf(
  lane: LaneId,
  published: { readonly number: number; readonly url: string } | null,
  github: GitHubFacts | null,
): OverviewLane['pullRequest'] {
  const onGitHub = github?.pullRequests.get(lane) ?? null;
  if (onGitHub !== null) return onGitHub;
  return published === null ? null : { number: published.number, url: published.url, title: null, state: null };
}

function ledgerOf({ stored }: FoundLane): readonly LedgerDay[] {
  return stored.kind === 'found' ? stored.state.ledger : [];
}
