import type { LaneFiles, WaitingTask } from '../../core/parallel/choose-lanes.ts';
import { mayServeOtherLanes } from '../../core/sharing/elsewhere.ts';
import { runTagOfLane } from '../../core/sharing/lease.ts';
import { issueLane, type LaneId, nameOfLane, QUEUE } from '../../core/tasks/ids.ts';
import { completeSentence, firstNames } from '../../core/text/phrase.ts';
import { UserError } from '../../errors.ts';
import type { GateResult, Intake, LaneIntake } from '../../handover/intake.ts';
import type { Issue } from '../../ports/forge.ts';
import type { GateDeps } from '../deps.ts';
import { FOR_TASKS, requestByItself, type Request } from '../tasks/sources.ts';
import {
  admitWork,
  type Claimed,
  endChangedTooOften,
  keepLeftCircuit,
  MAX_TRIES,
  type OpenedBeside,
  openOrRelease,
  readSettings,
  type ReadSettings,
  wantedFor,
} from './admit.ts';
import { claimLanes, releaseLane } from './claim.ts';
import { type Admissible, decideOnLane } from './decide.ts';
import { type LanePlan, type PlannedLane, planLanes } from './plan-lanes.ts';
import { MAX_EXAMINED, needsUnnotifiedPerson, rememberResting } from './waiting-pulls.ts';

/** A planned lane, and the tag under which this run claims it. */
interface TaggedLane extends PlannedLane {
  readonly runTag: string;
}

/** Admits the queue's work, on several lanes at once if `parallel` asks for that and the tasks allow it. */
export async function admitQueue(deps: GateDeps, request: Request): Promise<GateResult> {
  if (deps.config.parallel === 1 || request.purpose.kind !== 'tasks')
    return { intake: await admitWork(deps, request), runTag: deps.runTag, beside: [] };
  const settings = new Map<boolean, ReadSettings>();
  for (let tried = 0; tried < MAX_TRIES; tried += 1) {
    const planned = await plan(deps, request);
    if (planned.kind === 'end') return { intake: planned.intake, runTag: deps.runTag, beside: [] };
    // Nothing is claimed yet, so a mistake in the settings costs nothing.
    for (const lane of planned.lanes)
      if (!settings.has(isQueue(lane))) settings.set(isQueue(lane), await readSettings(deps, lane.request));
    const admitted = await claimAndOpen(deps, planned, (lane) => settings.get(isQueue(lane)) ?? null);
    if (admitted !== 'changed') return admitted;
  }
  return { intake: endChangedTooOften(deps, request), runTag: deps.runTag, beside: [] };
}

function isQueue({ request }: PlannedLane): boolean {
  return request.id === QUEUE;
}

type Planned = (LanePlan & { readonly kind: 'lanes' }) | { readonly kind: 'end'; readonly intake: Intake };

async function plan(deps: GateDeps, request: Request): Promise<Planned> {
  const decided = await decideOnLane(deps, request);
  if (decided.kind === 'end') {
    await keepLeftCircuit(deps, decided.intake, decided.kept);
    if (!mayServeOtherLanes(decided.intake.outcome)) return { kind: 'end', intake: decided.intake };
  }
  const queue = decided.kind === 'end' ? null : decided;
  const continuable = decided.kind === 'end' ? decided.continuable : decided.look.continuable;
  const { unfinished, unnotified } = await decideOnUnfinished(deps, continuable);
  const planned = await planLanes(deps, request, { queue, unfinished });
  if (planned.lanes.length > 0) return { ...planned, kind: 'lanes' };
  if (decided.kind === 'end') return { kind: 'end', intake: unnotified ?? decided.intake };
  throw new Error('a queue with work has a lane');
}

/** Decides on the queue's issues whose own lanes have unfinished work. */
async function decideOnUnfinished(
  deps: GateDeps,
  continuable: readonly Issue[],
): Promise<{ readonly unfinished: readonly PlannedLane[]; readonly unnotified: Intake | null }> {
  const unfinished: PlannedLane[] = [];
  const resting: LaneId[] = [];
  let unnotified: Intake | null = null;
  for (const issue of continuable.slice(0, MAX_EXAMINED)) {
    const request = requestByItself(issue, FOR_TASKS);
    const decided = await decideOnLane(deps, request);
    if (decided.kind === 'admissible') unfinished.push({ request, decided });
    else if (unnotified === null && needsUnnotifiedPerson(deps, decided.intake)) unnotified = decided.intake;
    else if (decided.intake.outcome.reason === 'all_done') resting.push(issueLane(issue.number));
  }
  await rememberResting(deps, resting);
  return { unfinished, unnotified };
}

/** Claims the planned lanes with one update and opens those that it got; `changed` if the first must be decided again. */
async function claimAndOpen(
  deps: GateDeps,
  { lanes, files, waiting }: LanePlan,
  settingsOf: (lane: PlannedLane) => ReadSettings | null,
): Promise<GateResult | 'changed'> {
  const tagged = lanes.map((lane): TaggedLane => ({
    ...lane,
    runTag: lanes.length === 1 ? deps.runTag : runTagOfLane(deps.runTag, lane.request.id),
  }));
  const [first, ...others] = tagged;
  const read = first === undefined ? null : settingsOf(first);
  if (first === undefined || read === null) throw new Error('a plan has lanes, and each its settings');
  const claiming = (some: readonly TaggedLane[]): void => {
    deps.claiming(some.map(({ request, runTag }) => ({ lane: request.id, runTag })));
  };
  claiming(tagged);
  const { policy } = read;
  const wanted = (lane: TaggedLane) => wantedFor({ ...deps, runTag: lane.runTag, policy }, lane.request, lane.decided);
  const [claim, ...claims] = await claimLanes({ ...deps, config: { ...deps.config, policy } }, [
    wanted(first),
    ...others.map(wanted),
  ]);
  // Nothing is claimed, so nothing has to be given back.
  if (claim.kind !== 'claimed') claiming([]);
  if (claim.kind === 'refused')
    return alone({ ...first.decided.end(claim.outcome), notes: first.decided.notes }, first);
  if (claim.kind !== 'claimed') return 'changed';
  const taken = others.flatMap((lane, at) => {
    const one = claims[at];
    const own = settingsOf(lane);
    return one?.kind === 'claimed' && own !== null ? [{ lane, claimed: { claim: one, read: own } }] : [];
  });
  claiming([first, ...taken.map(({ lane }) => lane)]);
  const isTaken = ({ lane }: { readonly lane: LaneId }): boolean =>
    lane === first.request.id || taken.some((one) => one.lane.request.id === lane);
  const held = waiting.filter(isTaken);
  if (taken.length > 0) for (const line of linesFor(files.filter(isTaken), held)) deps.log.info(line);
  const intake = await openOrRelease({ ...deps, runTag: first.runTag }, withoutWaiting(first.decided, held), {
    claim,
    read,
    beside: null,
  });
  if (intake.kind === 'end') {
    for (const { lane } of taken) await releaseLane({ ...deps, runTag: lane.runTag }, lane.request.id);
    return alone(intake, first);
  }
  let known: OpenedBeside = { base: intake.opened.base, fresh: freshOf(intake) };
  const beside: LaneIntake[] = [];
  for (const { lane, claimed } of taken) {
    const opened = await openBeside({ ...deps, runTag: lane.runTag }, lane.decided, { ...claimed, beside: known });
    if (opened === null) continue;
    beside.push({ intake: opened, runTag: lane.runTag });
    known = { ...known, fresh: known.fresh ?? freshOf(opened) };
  }
  const warnings = [...intake.notes.warnings, ...held.map(sentenceOnWaiting)];
  return { intake: { ...intake, notes: { ...intake.notes, warnings } }, runTag: first.runTag, beside };
}

function alone(intake: Intake, { runTag }: TaggedLane): GateResult {
  return { intake, runTag, beside: [] };
}

function withoutWaiting(decided: Admissible, waiting: readonly WaitingTask[]): Admissible {
  return { ...decided, tasks: decided.tasks.filter(({ id }) => waiting.every(({ task }) => task !== id)) };
}

function freshOf({ lane, opened }: LaneIntake['intake']): OpenedBeside['fresh'] {
  return lane.start.kind === 'fresh' ? opened : null;
}

/** Opens a lane beside the first; null if that is not possible now, which ends only this lane. */
async function openBeside(deps: GateDeps, decided: Admissible, claimed: Claimed): Promise<LaneIntake['intake'] | null> {
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
function linesFor(files: readonly LaneFiles[], waiting: readonly WaitingTask[]): readonly string[] {
  const lanes = files.map(({ lane, files: of }) => `${nameOfLane(lane)} (${firstNames([...(of ?? [])], 3)})`);
  return [
    `Works on ${String(files.length)} branches at once, with the files that each probably touches: ${lanes.join(', ')}.`,
    ...waiting.map(sentenceOnWaiting),
  ];
}

function sentenceOnWaiting({ task, lane, path }: WaitingTask): string {
  const why = path === null ? 'nobody knows which files it touches' : `it probably touches ${path}`;
  return `${nameOfLane(task)} waits for a later run: ${why}, ${path === null ? 'and' : 'on which'} ${nameOfLane(lane)} is worked on now.`;
}
