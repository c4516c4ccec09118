import { createLease } from '../../config/config.ts';
import type { LaneState } from '../../core/lane/state/state.ts';
import { serializeState } from '../../core/lane/state/serialize-state.ts';
import {
  applyOrders,
  type OrderGiven,
  type OrderKind,
  findOrderSubject,
  listTasksToRetry,
} from '../../core/sharing/orders.ts';
import { orderInSnapshot, finishInSnapshot } from '../../core/snapshot/changes.ts';
import { toIssueLane, type LaneId, nameOfLane, QUEUE, type TaskId } from '../../core/tasks/ids.ts';
import { completeSentence } from '../../core/text/phrase.ts';
import { UserError } from '../../errors.ts';
import { type CommandAnswer, endIntake, createRunNotes, type Receipt, type EndIntake } from '../../handover/intake.ts';
import type { Updated } from '../../ports/state.ts';
import type { GateDeps } from '../deps.ts';
import { findBaseBranch, judgeLane, type KeptLane, loadLane, type RestoredLane, restoreLane } from '../lane/restore.ts';
import { findPrompt, findTaskFiles } from '../tasks/file-tasks.ts';
import { listTasks } from '../tasks/sources.ts';
import { listQueuedIssues } from '../tasks/queued-issues.ts';

/**
 * Saves the order for the lane's next run. The cache alone cannot keep orders, so there the state is changed as that
 * run would change it. Returns null if an earlier attempt of this run has already given the order. Throws a UserError
 * if the order cannot be saved.
 */
export async function saveOrder(
  deps: GateDeps,
  lane: LaneId,
  words: Omit<OrderGiven, 'run' | 'at'>,
): Promise<Receipt | null> {
  const { config, context, store, clock, log } = deps;
  const given: OrderGiven = { ...words, run: context.runId, at: clock.now() };
  if (config.stateStore === 'none')
    throw notKept(given, 'state-store is "none", so nothing is kept from run to run. Set `state-store: auto`');
  // Load the lane before anything is written, because a lane that this version cannot read gets no order.
  const kept = await loadLane({ lane, deps });
  const restored = judgeLane(kept, { lane, expected: false, elsewhere: [], deps });
  if (wasGiven(deps, kept, given)) {
    log.info(
      `order: an earlier attempt of this run gave it (this is attempt ${String(context.runAttempt)}), so it is not given again`,
    );
    return null;
  }
  const isCopied = config.stateStore === 'cache';
  if (isCopied) {
    const obeyed = await saveObeyed(deps, restored.state, given);
    await confirmSigned(deps, obeyed, given);
  } else {
    const why = explainOrderNotKept(await store.update(orderInSnapshot(lane, given)));
    if (why !== null) throw notKept(given, why, 'infrastructure');
  }
  log.info(`order: ${given.kind} for ${nameOfLane(lane)} by ${given.by}, kept`);
  // A run does not read the cache again, so a stop that is stored there becomes a pause.
  return { order: isCopied && given.kind === 'stop' ? 'pause' : given.kind, changed: changesAnything(restored, given) };
}

/** Returns the reason why an order was not kept, or null if it was kept. */
export function explainOrderNotKept(updated: Updated<string | null>): string | null {
  return updated.kind === 'updated' ? updated.answer : updated.why;
}

/**
 * Returns true if an earlier attempt of this run gave the order. With the cache alone, which keeps no orders, each
 * attempt but the first assumes so.
 */
function wasGiven({ config, context }: GateDeps, { restored }: KeptLane, given: OrderGiven): boolean {
  if (context.runAttempt === 1) return false;
  const orders = restored !== null && 'orders' in restored ? restored.orders : [];
  return (
    config.stateStore === 'cache' ||
    orders.some((one) => one.run === given.run && findOrderSubject(one) === findOrderSubject(given))
  );
}

/** Saves the state that the next run would have after obeying the order. */
async function saveObeyed({ store, clock, ...run }: GateDeps, state: LaneState, given: OrderGiven): Promise<LaneState> {
  const sequence = state.sequence + 1;
  const obeyed = applyOrders({ ...state, transcript: null, sequence, savedAt: clock.now() }, [
    { ...given, number: Math.max(given.at, state.ordersApplied + 1) },
  ]);
  const copy = { lane: state.lane, sequence, document: serializeState(obeyed) };
  const now = clock.now();
  const change = finishInSnapshot({ ...copy, saver: createLease(run, now), now, run: null, stored: null });
  const saved = await store.save({ ...copy, transcript: null }, change, run.runTag);
  if (saved.kind === 'not-kept')
    throw notKept(
      given,
      `with \`state-store: cache\` an order must be saved in the cache, and that failed (${saved.why}). Where the event's cache is read-only, give the order by hand (Actions → the workflow → Run workflow), or set \`state-store: auto\``,
    );
  return obeyed;
}

/**
 * Checks the signature of parts that a cache keeps only if they are signed with the agent's key, which this job may
 * lack.
 */
async function confirmSigned({ store }: GateDeps, obeyed: LaneState, given: OrderGiven): Promise<void> {
  const part = SIGNED_PARTS[given.kind];
  if (part === null || obeyed[part] === null) return;
  const { lane: back } = await store.restore(obeyed.lane);
  if (back.kind === 'found' && back.state[part] === null)
    throw notKept(
      given,
      "with `state-store: cache` it counts only when it is signed with the agent's key, which this job does not have. Pass the key to this job as well, or set `state-store: auto`",
    );
}

/** The part of a cached state that must be signed for an order to take effect. */
const SIGNED_PARTS: Readonly<Record<OrderKind, 'pause' | 'leftCircuit' | null>> = {
  pause: 'pause',
  resume: null,
  stop: 'pause',
  retry: null,
  // Without the signature, a run would respect again a circuit that another Ralph left open.
  'reset-circuit': 'leftCircuit',
  'reset-session': null,
  request: null,
};

function changesAnything({ state, claimedBy }: RestoredLane, { kind, task }: OrderGiven): boolean {
  switch (kind) {
    case 'pause':
      return state.pause === null;
    case 'stop':
      return state.pause === null || claimedBy !== null;
    case 'resume':
      return state.pause !== null;
    case 'retry':
      return listTasksToRetry(state, task).length > 0;
    case 'reset-circuit':
      return (
        state.circuit.kind === 'open' ||
        state.circuit.noProgress + state.circuit.errorStreaks.length + state.circuit.denials + state.circuit.decline > 0
      );
    case 'reset-session':
      return state.session !== null;
    case 'request':
      return true;
  }
}

function notKept({ kind }: OrderGiven, why: string, whose: UserError['kind'] = 'configuration'): UserError {
  return new UserError(
    whose,
    `The order "${kind.replace('-', ' ')}" could not be kept: ${completeSentence(why)} Nothing was changed.`,
  );
}

/** Reports the state of the lane, as an answer to the person who asked. */
export async function reportStatus(deps: GateDeps, id: LaneId, answer: CommandAnswer | null): Promise<EndIntake> {
  const { config, forge } = deps;
  const { restored, listed } = await listLane(deps, id);
  deps.log.info(`state: ${restored.note}`);
  const branch = config.branchPrefix + id;
  return {
    ...endIntake({ kind: 'idle', reason: 'answered' }),
    answer,
    lane: {
      id,
      branch,
      baseBranch: await findBaseBranch(deps),
      start: { kind: 'fresh' },
      pullRequest: await forge.pullRequestOf(branch),
    },
    ...listed,
    notes: createRunNotes(restored.note, { warnings: restored.warnings, claimedBy: restored.claimedBy }),
  };
}

/** Returns the ids of the lane's tasks, listed now or worked on before, or null if not all of them can be read. */
export async function readKnownTaskIds(deps: GateDeps, id: LaneId): Promise<readonly TaskId[] | null> {
  const { listed } = await listLane(deps, id);
  return listed.tasks.some(({ obstacle }) => obstacle === 'unreadable')
    ? null
    : [
        ...listed.tasks.map((task) => task.id),
        ...Object.keys(listed.state.tasks),
        ...Object.keys(listed.state.feedback.items),
      ];
}

async function listLane(deps: GateDeps, id: LaneId) {
  const { config } = deps;
  const branches = await deps.remote.branches(config.branchPrefix);
  const restored = await restoreLane({
    lane: id,
    expected: branches[config.branchPrefix + id] !== undefined,
    elsewhere: [],
    deps,
  });
  const issues = await listQueuedIssues(deps);
  const isQueue = id === QUEUE;
  const listed = await listTasks(
    deps,
    {
      requested: isQueue ? 'by-queue' : 'by-name',
      issues: isQueue ? issues : issues.filter(({ number }) => toIssueLane(number) === id),
      files: isQueue ? await findTaskFiles(deps) : null,
      prompt: isQueue && config.taskSources.includes('prompt') ? await findPrompt(deps) : null,
    },
    { branches, state: restored.state },
  );
  return { restored, listed };
}
