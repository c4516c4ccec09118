import { leftInWords, nextMark } from '../core/countdown.ts';
import { serializeWait } from '../core/journal/journal.ts';
import { leaseOf } from '../config/config.ts';
import { renewLease } from '../core/snapshot/changes.ts';
import type { Outcome } from '../core/outcome.ts';
import { afterWait, type Policy } from '../core/policy.ts';
import { stoppedBy, type Order } from '../core/sharing/orders.ts';
import { sentence } from '../core/text/sentence.ts';
import { formatInstant, MINUTE_MS } from '../core/time.ts';
import type { LaneState } from '../core/lane/state.ts';
import type { Work } from '../handover/work.ts';
import type { LoopDeps } from './deps.ts';

type Parked = Extract<Outcome, { kind: 'parked' }>;

/** Time between two questions of a waiting run whether somebody ordered it to stop. */
const ASK_MS = MINUTE_MS;

/** Time between two renewals of the claim of a run that waits beside its time. A claim lasts ten minutes longer than that. */
const CLAIM_MS = 5 * MINUTE_MS;

/** How a wait ended. `over`: with the work as it continues, and what bounds it now. `ended`: somebody wants the run to end. `unknown`: what the run may use cannot be found out. */
export type Waited =
  | { readonly kind: 'over'; readonly policy: Policy; readonly work: Work }
  | { readonly kind: 'ended'; readonly stoppedBy: string | null }
  | { readonly kind: 'unknown' };

/** Waits until the limit is over or the step's circuit may be probed, then asks what the run may use. The run keeps its lane meanwhile. */
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
  return askForMore(deps, { work, waitedFrom, reason: outcome.reason });
}

/** The claim's time begins again. Where there is none, or the store does not answer, nothing changes. */
async function renewClaim({ store, clock, ...run }: LoopDeps, { lane }: Work): Promise<void> {
  await store.update(renewLease(lane.id, leaseOf(run, clock.now())));
}

/** Asks what the run may use from now on, and says so in the journal. */
export async function askForMore(
  deps: LoopDeps,
  { work, waitedFrom, reason }: { readonly work: Work; readonly waitedFrom: number; readonly reason: Parked['reason'] },
): Promise<Waited> {
  const { clock, log, patience } = deps;
  const resumedAt = clock.now();
  const { maxRunMs, maxWaitMs } = afterWait(deps.config.policy, resumedAt - waitedFrom);
  // Without `on-limit: wait` the run waited for the circuit of a step, which does not change what it may use.
  const renewed =
    patience === null || deps.config.policy.onLimit === 'park'
      ? ({ kind: 'renewed', windows: work.state.windows, policy: deps.config.policy } as const)
      : await patience.renew(work, maxRunMs);
  if (renewed.kind === 'unavailable') {
    log.warning(`What this run may use now is unknown, so it ends here: ${sentence(renewed.why)}`);
    return { kind: 'unknown' };
  }
  // The run's time ends later now, and its claim must outlast it.
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
  return { kind: 'over', policy, work: { ...work, state: { ...work.state, windows } } };
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
