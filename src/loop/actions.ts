import { createLease } from '../config/config.ts';
import { formatInstant, formatTimeLeft, MINUTE_MS, computeNextRest } from '../core/countdown.ts';
import { serializeEvent } from '../core/journal/journal.ts';
import type { RunSoFar } from '../core/lane/decide.ts';
import type { LaneState } from '../core/lane/state/state.ts';
import { type LoopAction, FACTS_AFTER_ITERATION, type LoopFacts, updateFacts } from '../core/loop/next-action.ts';
import type { Outcome } from '../core/outcome.ts';
import { type Withdrawal, describeWithdrawal, withdrawTasks } from '../core/people/withdrawal.ts';
import { extendPolicyByWait, type Policy } from '../core/policy.ts';
import type { TestReport } from '../core/proof/test-report.ts';
import { type Order, findStopRequester } from '../core/sharing/orders.ts';
import { renewLease } from '../core/snapshot/changes.ts';
import type { Task } from '../core/tasks/task.ts';
import { completeSentence } from '../core/text/phrase.ts';
import type { Work } from '../handover/intake.ts';
import { createOutrunEnd, findOutrun } from '../handover/outrun.ts';
import type { OpenedLane } from '../ports/repository.ts';
import { verifyBase, verifyHead } from './verification.ts';
import type { WorkAfterAction, LoopDeps } from './deps.ts';
import { applySuggestedChanges, mergeRepairedBase, prepareMerge } from './feedback/suggestions.ts';
import { runIteration } from './iteration.ts';
import type { createOrderPoll } from './people/order-poll.ts';
import { proveTests } from './proving.ts';
import { openBranch, pushIteration } from './pushing.ts';
import type { AgentTurns } from './turns.ts';

type Parked = Extract<Outcome, { kind: 'parked' }>;

/** Interval at which a waiting run checks whether somebody has ordered it to stop. */
const ASK_MS = MINUTE_MS;

/**
 * Interval at which a run renews its claim while it waits beyond its time. A claim lasts ten minutes longer than this.
 */
const CLAIM_MS = 5 * MINUTE_MS;

/**
 * The end of a wait. `over` has the work and the policy from now on. `ended`: a person or a signal ends the run.
 * `unknown`: the run could not find out how many calls and tokens it may still use.
 */
type Waited =
  | { readonly kind: 'over'; readonly policy: Policy; readonly work: Work }
  | { readonly kind: 'ended'; readonly stoppedBy: string | null }
  | { readonly kind: 'unknown' };

/** A run between two actions. */
export interface RunNow {
  readonly work: Work;
  readonly soFar: RunSoFar;
  /** The limits of the run from now on. */
  readonly policy: Policy;
  readonly known: LoopFacts;
  /** The tests of the base branch, or null while this run has not verified it. */
  readonly baseTests: TestReport | null;
}

/** A run with the dependencies of its actions. */
interface Setting {
  readonly deps: LoopDeps;
  readonly run: RunNow;
  readonly opened: OpenedLane;
  readonly turns: AgentTurns;
  readonly askOrders: ReturnType<typeof createOrderPoll>;
}

/** Performs an action and returns the run after it. */
export async function performAction(
  setting: Setting,
  action: Exclude<LoopAction, { kind: 'end' | 'break-off' }>,
): Promise<RunNow> {
  const { deps, run, opened } = setting;
  const { work, known } = run;
  switch (action.kind) {
    case 'open-branch':
      return after(run, await openBranch(deps, work, opened.base), { stage: 'opened' });
    case 'verify-base': {
      // A run that is stopped early must not wait for the verification of the base, so listen to both signals.
      const signal = AbortSignal.any([deps.signal, deps.ending]);
      const { report, ...verified } = await verifyBase({ ...deps, signal }, work, opened.base);
      return after({ ...run, baseTests: report }, verified, { stage: 'base-verified', isBaseVerified: true });
    }
    case 'merge-repaired-base':
      return after(run, await mergeRepairedBase(deps, work, opened), { stage: 'base-merged' });
    case 'apply-suggestions':
      return after(run, continuing(await applySuggestedChanges(deps, work)), { stage: 'suggestions-applied' });
    case 'push':
      return after(run, await push(deps, run), { stage: 'ready' });
    case 'ask-orders':
      return { ...run, known: { ...known, orders: await setting.askOrders(work.state) } };
    case 'look-at-people':
      return lookAtPeople(deps, run, action.task);
    case 'verify-head': {
      const { passed, ...verified } = await verifyHead(deps, work, action);
      if (passed === null) return after(run, verified, { isHeadVerified: true });
      const base = { commit: opened.base, tests: run.baseTests };
      const { work: proven, baseTests } = await proveTests(deps, verified.work, { head: passed, base });
      return after({ ...run, baseTests }, continuing(proven), { isHeadVerified: true });
    }
    case 'prepare-merge': {
      const made = await prepareMerge(deps, work, action.task);
      if (made.kind === 'ready')
        return { ...run, known: { ...known, prepared: { task: action.task.id, merge: made.merge } } };
      const isNew = made.work.head !== work.head;
      return after(run, continuing(made.work), isNew ? { stage: 'merged', isHeadVerified: false } : {});
    }
    case 'iterate':
      return iterateOnce(setting, action);
    case 'wait':
      return afterWaiting(
        run,
        action,
        await waitForLimit(deps, { work, outcome: action.ending.outcome }, setting.askOrders),
      );
    case 'ask-for-more': {
      const waitedFrom = deps.clock.now();
      return afterWaiting(run, action, await askForMore(deps, { work, waitedFrom, reason: 'calls_per_hour' }));
    }
  }
}

/** Returns the run after an action that took time, with the new facts. */
function after(run: RunNow, { work, end }: WorkAfterAction, news: Partial<LoopFacts>): RunNow {
  return { ...run, work, known: updateFacts(run.known, { ...news, failure: end }) };
}

function continuing(work: Work): WorkAfterAction {
  return { work, end: null };
}

async function push(deps: LoopDeps, { work, known }: RunNow): Promise<WorkAfterAction> {
  const pushed = await pushIteration(deps, work);
  return pushed.end !== null && known.stage === 'iterated'
    ? { work: pushed.work, end: await endOfPush(deps, pushed.work, pushed.end) }
    : pushed;
}

/**
 * Returns the end of a run whose push failed. If a person closed the pull request or deleted the branch, names that
 * person as the cause.
 */
async function endOfPush({ lookAtPeople: look }: LoopDeps, work: Work, end: Outcome): Promise<Outcome> {
  const by = (await look?.(work, null))?.lane ?? null;
  return by === null ? end : { kind: 'paused', reason: 'by_person', by };
}

async function lookAtPeople(deps: LoopDeps, run: RunNow, task: Task): Promise<RunNow> {
  const takenBack = (await deps.lookAtPeople?.(run.work, task)) ?? { task: null, lane: null };
  const known = { ...run.known, lookedFor: task.id };
  if (takenBack.task !== null) {
    const work = withdraw(deps, run.work, { task: task.id, why: takenBack.task });
    return after({ ...run, known }, continuing(work), {});
  }
  return { ...run, known, soFar: { ...run.soFar, stoppedBy: takenBack.lane ?? run.soFar.stoppedBy } };
}

/** Removes a task from the run, and records that in the journal. */
function withdraw({ clock, log, appendJournal }: LoopDeps, work: Work, withdrawal: Withdrawal): Work {
  appendJournal(
    serializeEvent({
      kind: 'withdrawal',
      version: 1,
      lane: work.lane.id,
      seenAt: clock.now(),
      withdrawals: [withdrawal],
    }),
  );
  const task = work.tasks.find(({ id }) => id === withdrawal.task);
  const warnings = task === undefined ? [] : [describeWithdrawal(task, withdrawal.why)];
  for (const warning of warnings) log.warning(warning);
  return { ...work, tasks: withdrawTasks(work.tasks, [withdrawal]), warnings: [...work.warnings, ...warnings] };
}

async function iterateOnce(
  { deps, run, opened, turns }: Setting,
  { step, startedAt, merge, orders }: Extract<LoopAction, { kind: 'iterate' }>,
): Promise<RunNow> {
  const { soFar } = run;
  const outrun = await findOutrun(deps, run.work);
  if (outrun !== null) return after(run, { work: run.work, end: createOutrunEnd(outrun) }, {});
  const work: Work = { ...run.work, shown: step.task.id };
  await deps.showLive(work, { task: step.task, iteration: soFar.iterations + 1, orders });
  const turn = await turns.take(work.state, step.agent);
  const iterated = await runIteration(deps, { work, soFar, step, turn, merge, opened, startedAt });
  return { ...run, ...iterated, known: FACTS_AFTER_ITERATION };
}

function afterWaiting(
  run: RunNow,
  { ending }: Extract<LoopAction, { kind: 'wait' | 'ask-for-more' }>,
  waited: Waited,
): RunNow {
  const known = { ...run.known, hasAskedForMore: true };
  switch (waited.kind) {
    case 'over':
      return after({ ...run, known, policy: waited.policy }, continuing(waited.work), {});
    case 'ended':
      // The run still cannot make a call, so set `stoppedBy`, which keeps it from waiting again.
      return { ...run, soFar: { ...run.soFar, stoppedBy: waited.stoppedBy ?? run.soFar.stoppedBy }, known };
    case 'unknown':
      return { ...run, known: updateFacts(known, { ending }) };
  }
}

/**
 * Waits until the limit is over or the step's circuit may be probed, then reserves what the run may use from then on.
 * The run keeps its lane in the meantime.
 */
async function waitForLimit(
  deps: LoopDeps,
  { work, outcome }: { readonly work: Work; readonly outcome: Parked },
  askOrders: (state: LaneState) => Promise<readonly Order[]>,
): Promise<Waited> {
  const { clock, log, signal, ending, sleep } = deps;
  const waitedFrom = clock.now();
  const totalMs = outcome.resumeAt - waitedFrom;
  log.info(
    `${describeLimitReached(outcome)}. Waiting until ${formatInstant(outcome.resumeAt)} (${formatTimeLeft(totalMs)}) …`,
  );
  await deps.showWait(work, outcome);
  const ended = AbortSignal.any([signal, ending]);
  const isBeside = deps.config.policy.maxWaitMs > 0;
  let claimedAt = waitedFrom;
  let mark = computeNextRest(totalMs);
  for (;;) {
    const leftMs = outcome.resumeAt - clock.now();
    if (leftMs <= 0) break;
    if (leftMs <= mark) {
      deps.sayLeft(`Still waiting: ${formatTimeLeft(leftMs)} left.`);
      mark = computeNextRest(leftMs);
    }
    await sleep(Math.min(leftMs, ASK_MS, leftMs > mark ? leftMs - mark : leftMs), ended);
    if (ended.aborted) return { kind: 'ended', stoppedBy: null };
    const stopped = findStopRequester(work.state, await askOrders(work.state));
    if (stopped !== null) return { kind: 'ended', stoppedBy: stopped };
    if (isBeside && clock.now() - claimedAt >= CLAIM_MS) {
      await renewClaim(deps, work);
      claimedAt = clock.now();
    }
  }
  return askForMore(deps, { work, waitedFrom, reason: outcome.reason });
}

/** Renews the claim. Changes nothing if there is no claim or the store does not answer. */
async function renewClaim({ store, clock, ...run }: LoopDeps, { lane }: Work): Promise<void> {
  await store.update(renewLease(lane.id, createLease(run, clock.now())));
}

/** Reserves what the run may use from now on, and records the answer in the journal. */
async function askForMore(
  deps: LoopDeps,
  { work, waitedFrom, reason }: { readonly work: Work; readonly waitedFrom: number; readonly reason: Parked['reason'] },
): Promise<Waited> {
  const { clock, log, waitPolicy } = deps;
  const resumedAt = clock.now();
  const { maxRunMs, maxWaitMs } = extendPolicyByWait(deps.config.policy, resumedAt - waitedFrom);
  // Unless `on-limit` is `wait`, the run waited for the circuit of a step. That does not change what it may use, so
  // nothing is renewed.
  const renewed =
    waitPolicy === null || deps.config.policy.onLimit === 'park'
      ? ({ kind: 'renewed', windows: work.state.windows, policy: deps.config.policy } as const)
      : await waitPolicy.renew(work, maxRunMs);
  if (renewed.kind === 'unavailable') {
    log.warning(
      `This run cannot find out how many calls it may still make, so it ends here: ${completeSentence(renewed.why)}`,
    );
    return { kind: 'unknown' };
  }
  // The wait has extended the run's time, so renew the claim, which must outlast that time.
  if (maxRunMs !== deps.config.policy.maxRunMs) await renewClaim(deps, work);
  const { windows } = renewed;
  const policy = { ...renewed.policy, maxRunMs, maxWaitMs };
  const { maxIterations, maxCostUsd } = policy;
  deps.appendJournal(
    serializeEvent({
      ...{ kind: 'wait', version: 1, lane: work.lane.id, waitedFrom, resumedAt, reason },
      ...{ windows, maxIterations, maxCostUsd },
    }),
  );
  return { kind: 'over', policy, work: { ...work, state: { ...work.state, windows } } };
}

function describeLimitReached(outcome: Parked): string {
  switch (outcome.reason) {
    case 'calls_per_hour':
      return 'The limit of calls per hour is reached';
    case 'tokens_per_hour':
      return 'The limit of tokens per hour is reached';
    case 'cost_per_day':
      return 'The limit of cost per day is reached';
    case 'usage_limit':
      return "The provider's usage limit is reached";
    case 'step_circuit':
      return outcome.step === null
        ? 'No step of the pipeline may call the agent, because the circuit of each step is open'
        : `Nothing can be finished while the circuit of the required step ${outcome.step} is open`;
  }
}
