import { computeAverageCost } from '../../core/lane/ledger.ts';
import type { LaneState } from '../../core/lane/state/state.ts';
import type { LaneFiles, WaitingTask } from '../../core/parallel/choose-lanes.ts';
import { countAffordableLanes } from '../../core/parallel/shares.ts';
import { mayServeOtherLanes } from '../../core/sharing/elsewhere.ts';
import { runTagOfLane } from '../../core/sharing/lease.ts';
import { toIssueLane, type LaneId, nameOfLane, QUEUE } from '../../core/tasks/ids.ts';
import { completeSentence, joinNames, capitalizeFirst } from '../../core/text/phrase.ts';
import { UserError } from '../../errors.ts';
import { type GateResult, type Intake, type LaneIntake, gateResultOfLane } from '../../handover/intake.ts';
import type { Issue } from '../../ports/forge.ts';
import type { GateDeps } from '../deps.ts';
import { hashOfText } from '../people/trust.ts';
import { forecastIssue } from '../tasks/forecast.ts';
import { TASKS_PURPOSE, createOwnRequest, type WorkRequest } from '../tasks/sources.ts';
import {
  type ClaimedWork,
  endChangedTooOften,
  keepLeftCircuit,
  MAX_CLAIM_TRIES,
  type OpenedBeside,
  openOrRelease,
  type Preview,
  previewLane,
  readSettings,
  type SettingsInCheckout,
  buildWantedClaim,
} from './admit.ts';
import { claimLanes, releaseLane } from './claim.ts';
import { type AdmissibleLane, decideOnLane, type EndWithoutCall } from './decide.ts';
import { type LaneCandidates, type LanePlan, type PlannedLane, planLanes } from './plan-lanes.ts';
import { continueIssueLane, MAX_EXAMINED_LANES, needsUnnotifiedPerson, rememberResting } from './waiting-pulls.ts';

/**
 * Maximum number of unfinished lanes that are examined in addition to a queue with work; each takes about five
 * requests.
 */
const MAX_BESIDE_QUEUE = 2;

/** A planned lane, and the tag under which this run claims it. */
interface TaggedLane extends PlannedLane {
  readonly runTag: string;
}

/** Admits work or ends the run: decides on the lane as it is now, and makes this run the only one that works on it. */
export async function admitWork(deps: GateDeps, request: WorkRequest): Promise<Intake> {
  let restored: LaneState['tasks'] = {};
  const { intake } = await admitLanes(deps, request, async () => {
    const decided = await decideOnLane(deps, request);
    const forecast = await forecastIssue(deps, request, decided);
    if (decided.kind === 'end') {
      const { intake: end } = decided;
      await keepLeftCircuit(deps, end, decided.kept);
      const continued = await continueIssueLane(deps, decided, admitWork);
      return { kind: 'end', intake: continued ?? { ...end, notes: { ...end.notes, forecast } } };
    }
    restored = decided.restoredTasks;
    const lane = { request, decided: { ...decided, notes: { ...decided.notes, forecast } } };
    return { kind: 'lanes', lanes: [lane], files: [], waiting: [] };
  });
  const [issue] = request.issues;
  if (request.purpose.kind !== 'proposal' || intake.kind === 'end' || issue === undefined) return intake;
  // The run only reads the issue, so leave the lane's tasks as they were restored.
  const state = { ...intake.state, tasks: restored };
  return { ...intake, state, pipeline: null, proposes: hashOfText(issue, deps.sha256) };
}

/** Admits the queue's work, on several lanes in parallel if `parallel` and the tasks allow that. */
export async function admitQueue(deps: GateDeps, request: WorkRequest): Promise<GateResult> {
  return deps.config.parallel === 1 || request.purpose.kind !== 'tasks'
    ? admitAlone(deps, request)
    : admitLanes(deps, request, () => planForQueue(deps, request));
}

/** Admits work on a pull request that needs it, and in parallel the queue's work if the two do not conflict. */
export async function admitUrgent(
  deps: GateDeps,
  request: WorkRequest,
  queue: WorkRequest | null,
): Promise<GateResult> {
  return deps.config.parallel === 1 || queue === null || isOnQueue({ request })
    ? admitAlone(deps, request)
    : admitLanes(deps, request, () => planBeside(deps, request, queue));
}

/**
 * Decides on the queue as it is now, without claiming anything. Logs the lanes that a run would work on in parallel,
 * and the tasks that would wait.
 */
export async function previewLanes(deps: GateDeps, request: WorkRequest): Promise<Preview> {
  if (deps.config.parallel === 1) return previewLane(deps, request);
  const planned = await planForQueue(deps, request);
  if (planned.kind === 'end') return planned;
  const [first, ...others] = planned.lanes;
  if (first === undefined) throw new Error('nothing was planned for a queue with work');
  const { state } = first.decided;
  const limits = {
    windows: state.windows,
    policy: deps.config.policy,
    costOfCallUsd: computeAverageCost(state.ledger),
    atOnce: deps.config.parallel,
  };
  const working = [first, ...others].slice(0, countAffordableLanes(planned.lanes.length, limits));
  const held = announceLanes(deps, planned, { working, isShort: working.length < planned.lanes.length });
  const { lane, tasks } = withoutWaiting(first, held);
  return { kind: 'work', lane, tasks, state, notes: first.decided.notes };
}

async function admitAlone(deps: GateDeps, request: WorkRequest): Promise<GateResult> {
  return gateResultOfLane(deps, await admitWork(deps, request));
}

type Planned<Made = EndWithoutCall['intake']> =
  | (LanePlan & { readonly kind: 'lanes' })
  | { readonly kind: 'end'; readonly intake: Made };

async function admitLanes(
  deps: GateDeps,
  request: WorkRequest,
  plan: () => Promise<Planned<Intake>>,
): Promise<GateResult> {
  const settings = new Map<boolean, SettingsInCheckout>();
  for (let tried = 0; tried < MAX_CLAIM_TRIES; tried += 1) {
    const planned = await plan();
    if (planned.kind === 'end') return gateResultOfLane(deps, planned.intake);
    // Check the settings now: nothing is claimed yet, so a mistake in them costs nothing.
    for (const lane of planned.lanes)
      if (!settings.has(isOnQueue(lane))) settings.set(isOnQueue(lane), await readSettings(deps, lane.request));
    const admitted = await claimAndOpen(deps, planned, (lane) => settings.get(isOnQueue(lane)) ?? null);
    if (admitted !== 'changed') return admitted;
  }
  return gateResultOfLane(deps, endChangedTooOften(deps, request));
}

function isOnQueue({ request }: Pick<PlannedLane, 'request'>): boolean {
  return request.id === QUEUE;
}

async function planForQueue(each: GateDeps, request: WorkRequest): Promise<Planned> {
  const deps = withSharedAnswers(each);
  const decided = await decideOnLane(deps, request);
  if (decided.kind === 'end') await keepLeftCircuit(deps, decided.intake, decided.kept);
  const { queue, unfinished, unnotified } = await candidatesOf(deps, request, decided);
  const planned = await planLanes(deps, request.issues, { urgent: null, queue, unfinished });
  if (planned.lanes.length > 0) return { ...planned, kind: 'lanes' };
  if (decided.kind !== 'end') throw new Error('nothing was planned for a queue with work');
  return { kind: 'end', intake: unnotified ?? decided.intake };
}

async function planBeside(each: GateDeps, request: WorkRequest, queue: WorkRequest): Promise<Planned> {
  const deps = withSharedAnswers(each);
  const urgent = await decideOnLane(deps, request);
  if (urgent.kind === 'end') return { kind: 'end', intake: urgent.intake };
  const others = await candidatesOf(deps, queue, await decideOnLane(deps, queue));
  // The lane of this request is the urgent one, so it is not unfinished work in addition.
  const unfinished = others.unfinished.filter((one) => one.request.id !== request.id);
  const known = { urgent: { request, decided: urgent }, queue: others.queue, unfinished };
  return { ...(await planLanes(deps, queue.issues, known)), kind: 'lanes' };
}

/** Returns the ports for one plan. They send each request that is the same for all lanes only once. */
function withSharedAnswers(deps: GateDeps): GateDeps {
  const { remote } = deps;
  const branches = new Map<string, ReturnType<typeof remote.branches>>();
  let obstacle: ReturnType<typeof remote.pushObstacle> | null = null;
  return {
    ...deps,
    remote: {
      branches: (prefix) => {
        const known = branches.get(prefix) ?? remote.branches(prefix);
        branches.set(prefix, known);
        return known;
      },
      pushObstacle: (branch) =>
        branch === null ? (obstacle ??= remote.pushObstacle(null)) : remote.pushObstacle(branch),
      deleteBranch: (branch) => remote.deleteBranch(branch),
    },
  };
}

/** Returns the queue's lane, if it has work, and the unfinished lanes of its issues. */
async function candidatesOf(
  deps: GateDeps,
  request: WorkRequest,
  decided: AdmissibleLane | EndWithoutCall,
): Promise<Pick<LaneCandidates, 'queue' | 'unfinished'> & { readonly unnotified: EndWithoutCall['intake'] | null }> {
  if (decided.kind === 'end') {
    const mayContinue = mayServeOtherLanes(decided.intake.outcome);
    // If the queue itself has no work, the run can afford to examine more lanes.
    const continuable = mayContinue
      ? decided.continuable.slice(0, Math.max(deps.config.parallel, MAX_EXAMINED_LANES))
      : [];
    return { queue: null, ...(await decideOnUnfinished(deps, continuable)) };
  }
  const continuable = decided.look.continuable.slice(0, MAX_BESIDE_QUEUE);
  return { queue: { request, decided }, ...(await decideOnUnfinished(deps, continuable)) };
}

/** Decides on the queue's issues whose own lanes have unfinished work. */
async function decideOnUnfinished(
  deps: GateDeps,
  continuable: readonly Issue[],
): Promise<{ readonly unfinished: readonly PlannedLane[]; readonly unnotified: EndWithoutCall['intake'] | null }> {
  const unfinished: PlannedLane[] = [];
  const resting: LaneId[] = [];
  let unnotified: EndWithoutCall['intake'] | null = null;
  for (const issue of continuable) {
    const request = createOwnRequest(issue, TASKS_PURPOSE);
    const decided = await decideOnLane(deps, request);
    if (decided.kind === 'admissible') unfinished.push({ request, decided });
    else if (unnotified === null && needsUnnotifiedPerson(deps, decided.intake)) unnotified = decided.intake;
    else if (decided.intake.outcome.reason === 'all_done') resting.push(toIssueLane(issue.number));
  }
  await rememberResting(deps, resting);
  return { unfinished, unnotified };
}

/**
 * Claims the planned lanes with one update, and opens the claimed ones. Returns `changed` if the first one must be
 * decided on again.
 */
async function claimAndOpen(
  deps: GateDeps,
  plan: LanePlan,
  settingsOf: (lane: PlannedLane) => SettingsInCheckout | null,
): Promise<GateResult | 'changed'> {
  const tagged = plan.lanes.map((lane): TaggedLane => ({
    ...lane,
    runTag: plan.lanes.length === 1 ? deps.runTag : runTagOfLane(deps.runTag, lane.request.id),
  }));
  const [first, ...others] = tagged;
  const read = first === undefined ? null : settingsOf(first);
  if (first === undefined || read === null) throw new Error('nothing was planned, or the settings were not read');
  const claiming = (some: readonly TaggedLane[]): void => {
    deps.claiming(some.map(({ request, runTag }) => ({ lane: request.id, runTag })));
  };
  claiming(tagged);
  const { policy } = read;
  const wanted = (lane: TaggedLane) =>
    buildWantedClaim({ ...deps, runTag: lane.runTag, policy }, lane.request, lane.decided);
  const [claim, ...claims] = await claimLanes({ ...deps, config: { ...deps.config, policy } }, [
    wanted(first),
    ...others.map(wanted),
  ]);
  // Nothing is claimed, so no later end of the run has to release anything.
  if (claim.kind !== 'claimed') claiming([]);
  if (claim.kind === 'refused')
    return gateResultOfLane(first, { ...first.decided.end(claim.outcome), notes: first.decided.notes });
  if (claim.kind !== 'claimed') return 'changed';
  const taken = others.flatMap((lane, at) => {
    const one = claims[at];
    const own = settingsOf(lane);
    return one?.kind === 'claimed' && own !== null ? [{ lane, claimed: { claim: one, read: own } }] : [];
  });
  claiming([first, ...taken.map(({ lane }) => lane)]);
  const isShort = claim.windows !== null && claims.some(({ kind }) => kind === 'dropped');
  const working = [first, ...taken.map(({ lane }) => lane)];
  const held = announceLanes(deps, plan, { working, isShort });
  const release = async (): Promise<void> => {
    for (const { lane } of taken) await releaseLane({ ...deps, runTag: lane.runTag }, lane.request.id);
  };
  const own = { ...deps, runTag: first.runTag };
  const intake = await openOrRelease(own, withoutWaiting(first, held), { claim, read, beside: null }).catch(
    async (error: unknown) => {
      await release();
      throw error;
    },
  );
  if (intake.kind === 'end') {
    await release();
    return gateResultOfLane(first, intake);
  }
  let known: OpenedBeside = { base: intake.opened.base, fresh: freshOf(intake) };
  const beside: LaneIntake[] = [];
  for (const { lane, claimed } of taken) {
    const opened = await openBeside({ ...deps, runTag: lane.runTag }, withoutWaiting(lane, held), {
      ...claimed,
      beside: known,
    });
    if (opened === null) continue;
    beside.push({ intake: opened, runTag: lane.runTag });
    known = { ...known, fresh: known.fresh ?? freshOf(opened) };
  }
  return { intake, runTag: first.runTag, beside, over: null };
}

/**
 * Logs the lanes that a run works on, and the tasks that wait for them, which it returns. `isShort` is true if a limit
 * allows fewer lanes than planned.
 */
function announceLanes(
  { log, config }: Pick<GateDeps, 'log' | 'config'>,
  { lanes, files, waiting }: LanePlan,
  { working, isShort }: { readonly working: readonly PlannedLane[]; readonly isShort: boolean },
): readonly WaitingTask[] {
  const isWorkedOn = ({ lane }: { readonly lane: LaneId }): boolean =>
    working.some(({ request }) => request.id === lane);
  const held = waiting.filter(isWorkedOn);
  if (isShort)
    log.info(`The limits of this run are enough for ${String(working.length)} of ${String(lanes.length)} branches.`);
  if (working.length > 1) for (const line of linesFor(files.filter(isWorkedOn), held, config)) log.info(line);
  return held;
}

/** Returns the lane. If it is the queue's lane, leaves out the tasks that wait, which its warnings name. */
function withoutWaiting(lane: PlannedLane, waiting: readonly WaitingTask[]): AdmissibleLane {
  const { decided } = lane;
  if (!isOnQueue(lane)) return decided;
  const tasks = decided.tasks.filter(({ id }) => waiting.every(({ task }) => task !== id));
  const warnings = [...decided.notes.warnings, ...waiting.map(sentenceOnWaiting)];
  return { ...decided, tasks, notes: { ...decided.notes, warnings } };
}

function freshOf({ lane, opened }: LaneIntake['intake']): OpenedBeside['fresh'] {
  return lane.start.kind === 'fresh' ? opened : null;
}

/** Opens a lane in addition to the first. Returns null if that is not possible now, which ends only this lane. */
async function openBeside(
  deps: GateDeps,
  decided: AdmissibleLane,
  claimed: ClaimedWork,
): Promise<LaneIntake['intake'] | null> {
  try {
    const intake = await openOrRelease(deps, decided, claimed);
    return intake.kind === 'work' ? intake : null;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    deps.log.warning(`${decided.lane.branch} is not worked on in this run: ${completeSentence(error.message)}`);
    return null;
  }
}

/** Returns the lines for the log: the branches of this run with their probable files, and what waits for them. */
function linesFor(
  files: readonly LaneFiles[],
  waiting: readonly WaitingTask[],
  { parallel }: Pick<GateDeps['config'], 'parallel'>,
): readonly string[] {
  const lanes = files.map(({ lane, files: of }) => `${nameOfLane(lane)} (${joinNames([...(of ?? [])], 3)})`);
  return [
    `Works on ${String(files.length)} branches${files.length > parallel ? `, ${String(parallel)}` : ''} at once, with the files that each probably touches: ${lanes.join(', ')}.`,
    ...waiting.map(sentenceOnWaiting),
  ];
}

function sentenceOnWaiting({ task, lane, path }: WaitingTask): string {
  const [name, other] = [capitalizeFirst(nameOfLane(task)), nameOfLane(lane)];
  return path === null
    ? `${name} waits for a later run: ${other} is being worked on, and the files of one of them are unknown.`
    : `${name} waits for a later run: it probably touches ${path}, on which ${other} is being worked on.`;
}
