import { addRun, measured } from '../core/lane/change.ts';
import {
  boundBehind,
  isHeldByReservation,
  isWorthWaiting,
  nextStep,
  startRun,
  type NextStep,
  type RunSoFar,
} from '../core/lane/decide.ts';
import { awaitingCheck } from '../core/lane/check.ts';
import { alsoDoneAs, settleOpenEnded } from '../core/open-ended/completion.ts';
import { publishedPrompt } from './prompt-documents.ts';
import { serializeEnd, serializeStart, serializeWithdrawal } from '../core/journal/journal.ts';
import { withdrawalWarning, withdrawTasks, type Withdrawal } from '../core/people/withdrawal.ts';
import { MINUTE_MS } from '../core/time.ts';
import type { LaneState } from '../core/lane/state.ts';
import type { Intake } from '../handover/intake.ts';
import type { Outcome } from '../core/outcome.ts';
import { stoppedBy, type Order } from '../core/sharing/orders.ts';
import { checkBase, checkHead, keepIgnoredFiles, putBackIgnoredFiles } from './clean-check.ts';
import { layMerge } from './feedback/merging.ts';
import { mergeRepairedBase } from './feedback/repaired-base.ts';
import { applySpelledOut } from './feedback/suggestions.ts';
import { iterate } from './iteration.ts';
import { openBranch, pushIteration } from './pushing.ts';
import { createOrderPoll } from './people/order-poll.ts';
import type { LoopDeps } from './deps.ts';
import { tidy } from './tidy.ts';
import { createTurns, takeFirst } from './turns.ts';
import { resume, waitForLimit, type Waited } from './waiting.ts';
import type { Work } from '../handover/work.ts';

type WorkIntake = Extract<Intake, { kind: 'work' }>;

/** Iterates until a bound, a decision or a person ends it: intake → work. */
export async function loop(given: LoopDeps, intake: WorkIntake): Promise<Work> {
  let deps = given;
  const turns = createTurns(deps);
  const { policy } = deps.config;
  const first = await takeFirst(turns, { state: intake.state, policy, now: deps.clock.now() });
  let work = begin(deps, intake, { state: first.state, agent: first.opened.called });
  let soFar: RunSoFar = startRun(work.state, work.startedAt);
  const askOrders = createOrderPoll(deps);
  let orders: readonly Order[] = [];
  const giveBack = await deps.repository.hideCredentials();
  let takeBack = (): Promise<void> => Promise.resolve();
  let isKept = false;
  try {
    isKept = await keepIgnoredFiles(deps);
    takeBack = await deps.repository.handOver();
    // After how many iterations the head was checked: once between two of them is enough.
    let checkedAfter: number | null = null;
    // The same of what this run may use, where nothing had to end first.
    let askedAfter: number | null = null;
    /** The call before which people were looked at last. */
    let lookedBefore: string | null = null;
    for (let isReady = false; ;) {
      let { step, now, cancelled } = decide(deps, { work, soFar });
      // A run that ends anyhow needs not ask, and one that has just begun has obeyed every order.
      if (step.kind === 'iterate' && soFar.iterations > 0) {
        orders = await askOrders(work.state);
        const stopped = stoppedBy(work.state, orders);
        ({ step, now, cancelled } = decide(deps, { work, soFar: { ...soFar, stoppedBy: stopped } }));
      }
      const call = step.kind === 'iterate' ? `${String(soFar.iterations)} ${step.task.id}` : null;
      // The gate has just looked.
      const mayBeTakenBack = soFar.iterations > 0 || now - work.startedAt > MINUTE_MS;
      if (step.kind === 'iterate' && mayBeTakenBack && lookedBefore !== call && deps.lookAtPeople !== null) {
        lookedBefore = call;
        const seen = await deps.lookAtPeople(work, step.task);
        if (seen.task !== null) {
          work = withdraw(deps, work, { task: step.task.id, why: seen.task });
          continue;
        }
        if (seen.lane !== null) {
          soFar = { ...soFar, stoppedBy: seen.lane };
          ({ step, now, cancelled } = decide(deps, { work, soFar }));
        }
      }
      if (step.kind === 'stop') {
        const waited = await waitFor(deps, { work, soFar, outcome: step.outcome, askedAfter }, askOrders);
        askedAfter = soFar.iterations;
        if (waited?.kind === 'over') {
          ({ deps, work } = waited);
          continue;
        }
        if (waited?.kind === 'bound') work = { ...work, notWaited: waited.by };
        if (waited?.kind === 'ended' && waited.stoppedBy !== null) soFar = { ...soFar, stoppedBy: waited.stoppedBy };
        // What kept it from a call is still so; who ended the wait says why.
        if (waited?.kind === 'ended') ({ step, now, cancelled } = decide(deps, { work, soFar }));
      }
      // What was finished before may be done without a call.
      const mayStop = step.kind === 'stop' || awaitingCheck(work.state).includes(step.task.id);
      if (mayStop && checkedAfter !== soFar.iterations) {
        const head = await checkHead(deps, work, step.kind === 'stop' ? step.outcome : null);
        if (head.kind === 'impossible') return ended(deps, head.work, head.end);
        checkedAfter = soFar.iterations;
        // Decided again by what is known now: what was finished is done, or open again.
        if (head.kind === 'checked') {
          work = head.work;
          continue;
        }
      }
      if (step.kind === 'stop') {
        work = { ...(await tidy(deps, work)), outcome: step.outcome, endedAt: now };
        work = await endPrompt(deps, work);
        work = await reviewed(deps, work);
        deps.appendJournal(
          serializeEnd({ version: 1, lane: work.lane.id, decidedAt: now, cancelled, outcome: step.outcome }),
        );
        deps.record(work);
        return work;
      }
      if (!isReady) {
        const opened = await openBranch(deps, work, intake.opened.base);
        if (opened.end !== null) return ended(deps, opened.work, opened.end);
        // Who ends the run before its first iteration need not wait for this.
        const signal = AbortSignal.any([deps.signal, deps.ending]);
        const checked = await checkBase({ ...deps, signal }, opened.work, intake.opened.base);
        if (checked.end !== null) return ended(deps, checked.work, checked.end);
        const repaired = await mergeRepairedBase(deps, checked.work, intake.opened);
        work = await applySpelledOut(deps, repaired);
        const pushed = await pushIteration(deps, work);
        work = pushed.work;
        deps.record(work);
        if (pushed.end !== null) return ended(deps, work, pushed.end);
        isReady = true;
        // The first prompt says what is known now.
        continue;
      }
      const laid = await layMerge(deps, work, step.task);
      if (laid.kind === 'settled') {
        const isNew = laid.work.head !== work.head;
        const pushed = isNew ? await pushIteration(deps, laid.work) : { work: laid.work, end: null };
        work = pushed.work;
        deps.record(work);
        if (pushed.end !== null) return ended(deps, work, pushed.end);
        if (isNew) checkedAfter = null;
        continue;
      }
      // Tools may have taken all the time that was left.
      if (laid.merge !== null && laid.merge.remade.length > 0) ({ step, now } = decide(deps, { work, soFar }));
      if (step.kind === 'stop') continue;
      work = { ...work, shown: step.task.id };
      await deps.showLive(work, { task: step.task, iteration: soFar.iterations + 1, orders });
      const turn = await turns.take(work.state, step.agent);
      ({ work, soFar } = await iterate(deps, {
        work,
        soFar,
        step,
        turn,
        merge: laid.merge,
        opened: intake.opened,
        startedAt: now,
      }));
      const pushed = await pushIteration(deps, work);
      work = pushed.work;
      deps.record(work);
      if (pushed.end !== null) return ended(deps, work, await endOfPush(deps, work, pushed.end));
    }
  } finally {
    // Before the credentials are where the agent could read them: where it cannot be taken back, they stay hidden.
    await takeBack();
    if (isKept) await putBackIgnoredFiles(deps);
    await giveBack();
  }
}

/** The run continues without the task, and its journal says since when. */
function withdraw({ clock, log, appendJournal, record }: LoopDeps, work: Work, withdrawal: Withdrawal): Work {
  appendJournal(
    serializeWithdrawal({ version: 1, lane: work.lane.id, seenAt: clock.now(), withdrawals: [withdrawal] }),
  );
  const task = work.tasks.find(({ id }) => id === withdrawal.task);
  const warnings = task === undefined ? [] : [withdrawalWarning(task, withdrawal.why)];
  for (const warning of warnings) log.warning(warning);
  const left = { ...work, tasks: withdrawTasks(work.tasks, [withdrawal]), warnings: [...work.warnings, ...warnings] };
  record(left);
  return left;
}

/** A branch that a person deleted is not a push that failed. */
async function endOfPush({ lookAtPeople }: LoopDeps, work: Work, end: Outcome): Promise<Outcome> {
  const by = (await lookAtPeople?.(work, null))?.lane ?? null;
  return by === null ? end : { kind: 'paused', reason: 'by_person', by };
}

/** Where the prompt is done, it is so in the form as well that this branch gives its documents: once it is merged, nothing new is asked for. */
async function endPrompt(deps: LoopDeps, work: Work): Promise<Work> {
  const taskId = work.journal.at(-1)?.taskId ?? null;
  const { outcome, endedAt } = work;
  const state = settleOpenEnded(work.state, { outcome, taskId, commit: work.head }, endedAt);
  if (taskId === null || state === work.state) return { ...work, state };
  const merged = await publishedPrompt(deps).catch(() => null);
  return { ...work, state: merged === null ? state : alsoDoneAs(state, taskId, merged.id) };
}

/** Waits where that is worth it; null: there is nothing to wait for, or nobody who would. */
async function waitFor(
  deps: LoopDeps,
  {
    work,
    soFar,
    outcome,
    askedAfter,
  }: { readonly work: Work; readonly soFar: RunSoFar; readonly outcome: Outcome; readonly askedAfter: number | null },
  askOrders: ReturnType<typeof createOrderPoll>,
): Promise<Waited | null> {
  const { patience, clock, signal } = deps;
  if (deps.ending.aborted) return null;
  const now = clock.now();
  const own = deps.config.policy;
  // Behind a limit there is more to use, for who can ask for it. What earlier waits made of its time holds anyhow.
  const { maxRunMs, maxWaitMs } = own;
  const asks = patience !== null && own.onLimit === 'wait';
  const policy = asks ? { ...patience.policy, maxRunMs, maxWaitMs } : { ...own, onLimit: 'park' as const };
  const situation = { run: { ...soFar, cancelled: signal.aborted }, policy, now };
  const by = outcome.kind === 'parked' && policy.onLimit === 'wait' ? boundBehind(outcome, situation) : null;
  if (by !== null) return { kind: 'bound', by };
  if (isWorthWaiting(outcome, situation)) return waitForLimit(deps, { work, outcome }, askOrders);
  // The window that it reserved in may have ended before its first call.
  const mayGrow = askedAfter !== soFar.iterations && own.maxIterations < policy.maxIterations;
  return mayGrow && isHeldByReservation(outcome, situation)
    ? resume(deps, { work, waitedFrom: now, reason: 'calls_per_hour' })
    : null;
}

/** The pull request is about all that the branch has, also of earlier runs. */
async function reviewed({ repository, signal }: LoopDeps, work: Work): Promise<Work> {
  const review = signal.aborted ? null : await repository.review().catch(() => null);
  if (review === null) return work;
  const { change } = work.state;
  return { ...work, lookAt: review.lookAt, state: { ...work.state, change: measured(change, review) } };
}

/** No decision of the loop's: the journal ends without one, as that of a run that failed. */
function ended(deps: LoopDeps, work: Work, outcome: Outcome): Work {
  const end: Work = { ...work, outcome, endedAt: deps.clock.now() };
  deps.record(end);
  return end;
}

function decide(
  { clock, signal, ending, config }: LoopDeps,
  { work: { state, tasks }, soFar }: { readonly work: Work; readonly soFar: RunSoFar },
): { readonly step: NextStep; readonly now: number; readonly cancelled: boolean } {
  const now = clock.now();
  const cancelled = signal.aborted;
  const stoppedBy = soFar.stoppedBy ?? (ending.aborted ? String(ending.reason) : null);
  const run = { ...soFar, cancelled, stoppedBy };
  return { step: nextStep({ state, tasks, run, policy: config.policy, now }), now, cancelled };
}

/** What an intake is as work, before the first call. */
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
    // What stands on disk while the loop runs: true if this process is killed.
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
