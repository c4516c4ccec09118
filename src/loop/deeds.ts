import type { RunSoFar } from '../core/lane/decide.ts';
import { ITERATED, knownAfter, type Deed, type Known } from '../core/loop/next-deed.ts';
import { serializeWithdrawal } from '../core/journal/journal.ts';
import type { Outcome } from '../core/outcome.ts';
import { withdrawalWarning, withdrawTasks, type Withdrawal } from '../core/people/withdrawal.ts';
import type { Policy } from '../core/policy.ts';
import type { Task } from '../core/tasks/task.ts';
import type { Work } from '../handover/work.ts';
import type { OpenedLane } from '../ports/repository.ts';
import { checkBase, checkHead } from './clean-check.ts';
import type { Advanced, LoopDeps } from './deps.ts';
import { prepareMerge } from './feedback/merging.ts';
import { mergeRepairedBase } from './feedback/repaired-base.ts';
import { applySuggestedChanges } from './feedback/suggestions.ts';
import { iterate } from './iteration.ts';
import type { createOrderPoll } from './people/order-poll.ts';
import { openBranch, pushIteration } from './pushing.ts';
import type { Turns } from './turns.ts';
import { askForMore, waitForLimit, type Waited } from './waiting.ts';

/** A run between two deeds. */
export interface RunNow {
  readonly work: Work;
  readonly soFar: RunSoFar;
  /** What bounds the run by now. */
  readonly policy: Policy;
  readonly known: Known;
}

/** A run, with what its deeds need. */
interface Setting {
  readonly deps: LoopDeps;
  readonly run: RunNow;
  readonly opened: OpenedLane;
  readonly turns: Turns;
  readonly askOrders: ReturnType<typeof createOrderPoll>;
}

/** Does a deed, and returns the run after it. */
export async function doDeed(setting: Setting, deed: Exclude<Deed, { kind: 'end' | 'break-off' }>): Promise<RunNow> {
  const { deps, run, opened } = setting;
  const { work, known } = run;
  switch (deed.kind) {
    case 'open-branch':
      return after(run, await openBranch(deps, work, opened.base), { stage: 'opened' });
    case 'check-base': {
      // A run that is stopped early must not wait for the base check.
      const signal = AbortSignal.any([deps.signal, deps.ending]);
      return after(run, await checkBase({ ...deps, signal }, work, opened.base), { stage: 'base-checked' });
    }
    case 'merge-repaired-base':
      return after(run, continuing(await mergeRepairedBase(deps, work, opened)), { stage: 'base-merged' });
    case 'apply-suggestions':
      return after(run, continuing(await applySuggestedChanges(deps, work)), { stage: 'suggestions-applied' });
    case 'push':
      return after(run, await push(deps, run), { stage: 'ready' });
    case 'ask-orders':
      return { ...run, known: { ...known, orders: await setting.askOrders(work.state) } };
    case 'look-at-people':
      return lookAtPeople(deps, run, deed.task);
    case 'check-head':
      return after(run, await checkHead(deps, work, deed), { isHeadChecked: true });
    case 'prepare-merge': {
      const made = await prepareMerge(deps, work, deed.task);
      if (made.kind === 'ready')
        return { ...run, known: { ...known, prepared: { task: deed.task.id, merge: made.merge } } };
      const isNew = made.work.head !== work.head;
      return after(run, continuing(made.work), isNew ? { stage: 'merged', isHeadChecked: false } : {});
    }
    case 'iterate':
      return iterateOnce(setting, deed);
    case 'wait':
      return afterWaiting(
        run,
        deed,
        await waitForLimit(deps, { work, outcome: deed.ending.outcome }, setting.askOrders),
      );
    case 'ask-for-more': {
      const waitedFrom = deps.clock.now();
      return afterWaiting(run, deed, await askForMore(deps, { work, waitedFrom, reason: 'calls_per_hour' }));
    }
  }
}

/** The run after a deed that took time, with what that made known. */
function after(run: RunNow, { work, end }: Advanced, news: Partial<Known>): RunNow {
  return { ...run, work, known: knownAfter(run.known, { ...news, failure: end }) };
}

function continuing(work: Work): Advanced {
  return { work, end: null };
}

async function push(deps: LoopDeps, { work, known }: RunNow): Promise<Advanced> {
  const pushed = await pushIteration(deps, work);
  return pushed.end !== null && known.stage === 'iterated'
    ? { work: pushed.work, end: await endOfPush(deps, pushed.work, pushed.end) }
    : pushed;
}

/** The end of a run whose push failed: by the person who closed the pull request or deleted the branch, if somebody did. */
async function endOfPush({ lookAtPeople: look }: LoopDeps, work: Work, end: Outcome): Promise<Outcome> {
  const by = (await look?.(work, null))?.lane ?? null;
  return by === null ? end : { kind: 'paused', reason: 'by_person', by };
}

async function lookAtPeople(deps: LoopDeps, run: RunNow, task: Task): Promise<RunNow> {
  const seen = (await deps.lookAtPeople?.(run.work, task)) ?? { task: null, lane: null };
  const known = { ...run.known, lookedFor: task.id };
  if (seen.task !== null) {
    const work = withdraw(deps, run.work, { task: task.id, why: seen.task });
    return after({ ...run, known }, continuing(work), {});
  }
  return { ...run, known, soFar: { ...run.soFar, stoppedBy: seen.lane ?? run.soFar.stoppedBy } };
}

/** Takes a task out of the run, and says so in the journal. */
function withdraw({ clock, log, appendJournal }: LoopDeps, work: Work, withdrawal: Withdrawal): Work {
  appendJournal(
    serializeWithdrawal({ version: 1, lane: work.lane.id, seenAt: clock.now(), withdrawals: [withdrawal] }),
  );
  const task = work.tasks.find(({ id }) => id === withdrawal.task);
  const warnings = task === undefined ? [] : [withdrawalWarning(task, withdrawal.why)];
  for (const warning of warnings) log.warning(warning);
  return { ...work, tasks: withdrawTasks(work.tasks, [withdrawal]), warnings: [...work.warnings, ...warnings] };
}

async function iterateOnce(
  { deps, run, opened, turns }: Setting,
  { step, startedAt, merge, orders }: Extract<Deed, { kind: 'iterate' }>,
): Promise<RunNow> {
  const { soFar } = run;
  const work: Work = { ...run.work, shown: step.task.id };
  await deps.showLive(work, { task: step.task, iteration: soFar.iterations + 1, orders });
  const turn = await turns.take(work.state, step.agent);
  const iterated = await iterate(deps, { work, soFar, step, turn, merge, opened, startedAt });
  return { ...run, ...iterated, known: ITERATED };
}

function afterWaiting(
  run: RunNow,
  { ending }: Extract<Deed, { kind: 'wait' | 'ask-for-more' }>,
  waited: Waited,
): RunNow {
  const known = { ...run.known, hasAskedForMore: true };
  switch (waited.kind) {
    case 'over':
      return after({ ...run, known, policy: waited.policy }, continuing(waited.work), {});
    case 'ended':
      // The run still cannot call; `stoppedBy` keeps it from waiting again.
      return { ...run, soFar: { ...run.soFar, stoppedBy: waited.stoppedBy ?? run.soFar.stoppedBy }, known };
    case 'unknown':
      return { ...run, known: knownAfter(known, { ending }) };
  }
}
