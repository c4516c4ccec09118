import {
  type AnsweredTick,
  hashPageContent,
  type Tick,
  findPageTicks,
  wordsOfBox,
} from '../../core/dashboard/boxes.ts';
import { isSameLabel, computeLabelChange } from '../../core/people/labels.ts';
import {
  changeDashboard,
  parseDashboardIn,
  dropTakenTicks,
  takeTicks,
  listTicksTakenBy,
} from '../../core/snapshot/dashboard-record.ts';
import { issueOfId, type LaneId, QUEUE } from '../../core/tasks/ids.ts';
import { listFirstNames } from '../../core/text/phrase.ts';
import { UserError } from '../../errors.ts';
import { type GateResult, gateResultOfLane, type SeenDashboard } from '../../handover/intake.ts';
import type { Account } from '../../ports/forge.ts';
import type { GateDeps } from '../deps.ts';
import { endAsUpdated } from '../lane/end-lane.ts';
import { isTrustedAccount } from '../people/trust.ts';
import { TASKS_PURPOSE } from '../tasks/sources.ts';
import { startIssueWork, startQueueWork, startQueueWorkOnLanes } from '../work.ts';
import { orderRetry, QUEUE_NOW } from './commands.ts';
import { saveOrder } from './save-order.ts';

/** The dashboard as this run has read it, after its ticks were obeyed; `seen` is null if it was not read. */
export interface ObeyedTicks {
  readonly seen: SeenDashboard | null;
  /** True if somebody asks for a run of the queue. */
  readonly wantsRun: boolean;
  /** The lanes with a retry. */
  readonly retried: readonly LaneId[];
}

export const NO_TICKS: ObeyedTicks = { seen: null, wantsRun: false, retried: [] };

/**
 * Reads the dashboard, and turns each tick by somebody with write permission into an order. Takes one request, and a
 * few more for each tick. Ignores a dashboard that people have closed. If several runs read it at once, each tick is
 * obeyed only by the run whose state update records it.
 */
export async function obeyTicks(deps: GateDeps): Promise<ObeyedTicks> {
  const { config, store, forge, runTag } = deps;
  if (!config.dashboard) return NO_TICKS;
  const known = await store.read();
  const record = known.kind === 'snapshot' ? parseDashboardIn(known.snapshot) : null;
  if (record === null || record.issue === null) return NO_TICKS;
  const read = await forge.readDashboard(record.issue.number);
  const issue = read.kind === 'granted' ? read.value : null;
  if (issue === null) return NO_TICKS;
  const { number, id, isOpen, body, edits } = issue;
  const page = { number, edits, revisions: isOpen ? issue.revisions : null };
  const taking = { runTag, now: deps.clock.now() };
  let taken = takeTicks(record, page, taking);
  if (taken !== record) {
    const message = 'dashboard: its ticks are obeyed';
    const updated = await store.update(changeDashboard((newest) => takeTicks(newest, page, taking), message));
    // The ticks are not lost, so return none: the run that writes the page at its end records them for the next run.
    if (updated.kind !== 'updated') return NO_TICKS;
    taken = updated.answer;
  }
  const judged: JudgedTick[] = [];
  for (const tick of listTicksTakenBy(taken, runTag)) judged.push(await judgeTick(deps, tick));
  if (judged.length > 0)
    await store.update(changeDashboard((newest) => dropTakenTicks(newest, runTag), 'dashboard: its ticks were judged'));
  for (const { answer } of judged)
    deps.log.info(
      `dashboard: ${wordsOfBox(answer.box)}, ticked by ${answer.by?.login ?? 'an unknown account'}: ${answer.result}`,
    );
  return {
    seen: {
      ...{ number, id, isOpen, edits, ticks: isOpen ? findPageTicks(issue, record.read).all : [] },
      content: hashPageContent(body),
      answers: judged.map(({ answer }) => answer),
    },
    wantsRun: judged.some(({ answer: { box, result } }) => box.kind === 'run' && result === 'obeyed'),
    retried: judged.flatMap(({ retried }) => retried ?? []),
  };
}

/** Does the work for which the ticks ask, or ends the run if they ask for no run. */
export async function followTicks(deps: GateDeps, { seen, wantsRun, retried }: ObeyedTicks): Promise<GateResult> {
  const obeyed = seen?.answers.filter(({ result }) => result === 'obeyed') ?? [];
  const updated = (message: string): GateResult => gateResultOfLane(deps, endAsUpdated(deps, message));
  if (obeyed.length === 0)
    return updated('The issue is not the open dashboard, or nobody with write permission has ticked a box.');
  if (wantsRun) return startQueueWorkOnLanes(deps, QUEUE_NOW);
  if (retried.includes(QUEUE))
    return gateResultOfLane(deps, await startQueueWork(deps, { asked: true, byHand: false, purpose: TASKS_PURPOSE }));
  const number = retried.map(issueOfId).find((issue) => issue !== null);
  return number === undefined
    ? updated(`Obeyed on the dashboard: ${listFirstNames(obeyed.map(({ box }) => wordsOfBox(box)))}.`)
    : gateResultOfLane(
        deps,
        await startIssueWork(deps, { number, redo: false, approvedText: null, triesLimits: true }),
      );
}

/** A tick and the lane of its retry; `retried` is null for any other tick. */
interface JudgedTick {
  readonly answer: AnsweredTick;
  readonly retried: LaneId | null;
}

async function judgeTick(deps: GateDeps, tick: Tick): Promise<JudgedTick> {
  const { by } = tick;
  try {
    if (by === null || !(await isTrustedAccount(deps, by)))
      return { answer: { ...tick, result: 'not-allowed', why: '' }, retried: null };
    const retried = await obeyTick(deps, tick, by);
    return { answer: { ...tick, result: 'obeyed', why: '' }, retried };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { answer: { ...tick, result: 'failed', why: error.message }, retried: null };
  }
}

/**
 * Obeys a tick of a person with write permission like their command. Returns the lane of a retry, or null for any other
 * tick.
 */
async function obeyTick(deps: GateDeps, { box: { kind, subject } }: Tick, { login }: Account): Promise<LaneId | null> {
  const by = { by: login, from: 'event' } as const;
  switch (kind) {
    case 'run':
      return null;
    case 'pause':
    case 'resume':
      await saveOrder(deps, subject, { kind, task: null, ...by });
      return null;
    case 'retry':
      return orderRetry(deps, subject, by);
    case 'skip':
      await takeLabelOff(deps, issueOfId(subject) ?? 0);
      return null;
  }
}

/** Removes an issue from the queue by removing its task label. */
async function takeLabelOff(deps: GateDeps, number: number): Promise<void> {
  const { forge, config } = deps;
  const issue = await forge.issue(number);
  const remove = issue?.labels.filter((name) => isSameLabel(name, config.taskLabel)) ?? [];
  if (issue === null || remove.length === 0)
    throw new UserError(
      'configuration',
      `#${String(number)} does not have the label "${config.taskLabel}".${config.issueQuery === null ? '' : ' If `issue-query` finds it, close it, or take from it what the query names.'}`,
    );
  const changed = await forge.changeLabels(number, {
    from: issue.labels,
    add: [],
    remove: [...remove, ...computeLabelChange(issue.labels, null).remove],
  });
  if (changed.kind === 'refused') throw new UserError('configuration', changed.why);
}
