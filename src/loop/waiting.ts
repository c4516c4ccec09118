import { leftInWords, nextMark } from '../core/countdown.ts';
import { serializeWait } from '../core/journal/journal.ts';
import { leaseOf } from '../config/config.ts';
import { renew } from '../core/snapshot/changes.ts';
import type { Outcome, RunBound } from '../core/outcome.ts';
import { afterWait } from '../core/policy.ts';
import { stoppedBy, type Order } from '../core/sharing/orders.ts';
import { sentence } from '../core/text/sentence.ts';
import { formatInstant, MINUTE_MS } from '../core/time.ts';
import type { LaneState } from '../core/lane/state.ts';
import type { Work } from '../handover/work.ts';
import type { LoopDeps } from './deps.ts';

type Parked = Extract<Outcome, { kind: 'parked' }>;

/** So often a run that waits asks whether somebody ordered it to stop. */
const ASK_MS = MINUTE_MS;

/** So often one that waits beside its time takes its claim anew, which lasts as long as that and ten minutes. */
const CLAIM_MS = 5 * MINUTE_MS;

/** How a wait ended. `over`: with the work as it goes on, and the deps with what bounds it now. `ended`: somebody wants the run to end. `bound`: it was not waited, since a bound of the run would let it make no call then. */
export type Waited =
  | { readonly kind: 'over'; readonly deps: LoopDeps; readonly work: Work }
  | { readonly kind: 'ended'; readonly stoppedBy: string | null }
  | { readonly kind: 'bound'; readonly by: RunBound }
  | { readonly kind: 'unknown' };

/** Waits until the limit is over, or the step's circuit may be probed; then asks what the run may use. The lane stays this run's. */
export async function waitForLimit(
  deps: LoopDeps,
  { work, outcome }: { readonly work: Work; readonly outcome: Parked },
  askOrders: (state: LaneState) => Promise<readonly Order[]>,
): Promise<Waited> {
  const { clock, log, signal, ending, sleep } = deps;
  const waitedFrom = clock.now();
  const totalMs = outcome.resumeAt - waitedFrom;
  log.info(`${reasonOf(outcome)}. Waiting until ${formatInstant(outcome.resumeAt)} (${leftInWords(totalMs)}) …`);
  await deps.showWait(work, outcome);
  const ended = AbortSignal.any([signal, ending]);
  const isBeside = deps.config.policy.maxWaitMs > 0;
  let claimedAt = waitedFrom;
  let mark = nextMark(totalMs);
  for (;;) {
    const leftMs = outcome.resumeAt - clock.now();
    if (leftMs <= 0) break;
    if (leftMs <= mark) {
      deps.sayLeft(`Still waiting: ${leftInWords(leftMs)} left.`);
      mark = nextMark(leftMs);
    }
    await sleep(Math.min(leftMs, ASK_MS, leftMs > mark ? leftMs - mark : leftMs), ended);
    if (ended.aborted) return { kind: 'ended', stoppedBy: null };
    const stopped = stoppedBy(work.state, await askOrders(work.state));
    if (stopped !== null) return { kind: 'ended', stoppedBy: stopped };
    if (isBeside && clock.now() - claimedAt >= CLAIM_MS) {
      await renewClaim(deps, work);
      claimedAt = clock.now();
    }
  }
  return resume(deps, { work, waitedFrom, reason: outcome.reason });
}

/** The claim's time begins again. Where there is none, or the store does not answer, nothing changes. */
async function renewClaim({ store, clock, ...run }: LoopDeps, { lane }: Work): Promise<void> {
  await store.update(renew(lane.id, leaseOf(run, clock.now())));
}

/** Asks what the run may use from now on, and says so in the journal. */
export async function resume(
  deps: LoopDeps,
  { work, waitedFrom, reason }: { readonly work: Work; readonly waitedFrom: number; readonly reason: Parked['reason'] },
): Promise<Waited> {
  const { clock, log, patience } = deps;
  const resumedAt = clock.now();
  const { maxRunMs, maxWaitMs } = afterWait(deps.config.policy, resumedAt - waitedFrom);
  // What was waited for without `on-limit: wait` is the circuit of a step, which says nothing of what may be used.
  const renewed =
    patience === null || deps.config.policy.onLimit === 'park'
      ? ({ kind: 'renewed', windows: work.state.windows, policy: deps.config.policy } as const)
      : await patience.renew(work, maxRunMs);
  if (renewed.kind === 'unavailable') {
    log.warning(`What this run may use now is unknown, so it ends here: ${sentence(renewed.why)}`);
    return { kind: 'unknown' };
  }
  // The claim outlives the time that is left now.
  if (maxRunMs !== deps.config.policy.maxRunMs) await renewClaim(deps, work);
  const { windows } = renewed;
  const policy = { ...renewed.policy, maxRunMs, maxWaitMs };
  const { maxIterations, maxCostUsd } = policy;
  deps.appendJournal(
    serializeWait({
      ...{ version: 1, lane: work.lane.id, waitedFrom, resumedAt, reason },
      ...{ windows, maxIterations, maxCostUsd },
    }),
  );
  const resumed: Work = { ...work, state: { ...work.state, windows } };
  deps.record(resumed);
  return { kind: 'over', deps: { ...deps, config: { ...deps.config, policy } }, work: resumed };
}

function reasonOf(outcome: Parked): string {
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
        ? "No step of the pipeline may call the agent, since each one's own circuit is open"
        : `Nothing can be finished while the circuit of the required step ${outcome.step} is open`;
  }
}
