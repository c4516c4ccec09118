import { jobsOf } from '../../config/config.ts';
import { unpostedIn } from '../../core/feedback/unposted.ts';
import { isKnownReady, needsAtRest } from '../../core/people/needs.ts';
import { z } from 'zod';
import { isWorthWaiting, nextStep, startRun } from '../../core/lane/decide.ts';
import type { Outcome } from '../../core/outcome.ts';
import { forgetFeedback } from '../../core/feedback/rounds.ts';
import { isFeedback } from '../../core/feedback/subject.ts';
import { noChange } from '../../core/lane/change.ts';
import { probeNow } from '../../core/lane/settle.ts';
import {
  lanesToGoOn,
  reservedByOthers,
  withAsked,
  withNothingToDo,
  type Budget,
  type Reservation,
} from '../../core/sharing/budget.ts';
import { leaseMs } from '../../core/sharing/lease.ts';
import type { LaneState } from '../../core/lane/state.ts';
import { tighter, type Windows } from '../../core/lane/windows.ts';
import { wakeEdited } from '../../core/tasks/preparation.ts';
import { isPlanComplete, withinReach } from '../../core/tasks/queue.ts';
import { awakeInRun } from '../../core/tasks/set-aside.ts';
import { nameOfTask, type Task } from '../../core/tasks/task.ts';
import { UserError } from '../../errors.ts';
import type { Issue } from '../../ports/forge.ts';
import { anotherRun, claimLane, releaseLane, type LaneClaim } from './claim.ts';
import type { GateDeps } from '../deps.ts';
import { readFeedback } from '../feedback/read.ts';
import { hashOfText } from '../people/approvals.ts';
import { endIntake, type Answer, type Intake, type Lane, type Notes } from '../../handover/intake.ts';
import { keepLeftCircuit } from './keep-left.ts';
import { loadLane, judgeLane, reopenProgress, type KeptLane, type RestoredLane } from './restore.ts';
import {
  byItself,
  findTasks,
  issuesOfLane,
  issuesWithBranch,
  listTasks,
  prepareTasks,
  type Request,
} from '../tasks/sources.ts';
import { readMcpServers } from './mcp-servers.ts';
import { readPipeline, type ReadPipeline } from './pipeline.ts';
import { issueLane, nameOfLane, taskIdOfIssue, type LaneId, type TaskId } from '../../core/tasks/ids.ts';
import type { McpServer } from '../../core/mcp/server.ts';
import { formatInstant } from '../../core/time.ts';
import { namesOf } from '../../core/text/lists.ts';

/** So often a run tries to claim a lane that changes under its hands. */
const MAX_TRIES = 3;
/** Admits work, or ends the run: decides on the lane as it is now, and makes this run the only one that works on it. */
export async function admit(deps: GateDeps, request: Request): Promise<Intake> {
  let read: (ReadPipeline & { readonly mcpServers: readonly McpServer[] }) | null = null;
  for (let tried = 0; tried < MAX_TRIES; tried += 1) {
    const decided = await decide(deps, request);
    if (decided.kind === 'end') {
      await keepLeftCircuit(deps, decided.intake, decided.kept);
      return (await goOnElsewhere(deps, decided)) ?? decided.intake;
    }
    // Nothing is claimed yet: what is wrong with it costs nothing.
    read ??= { ...(await readPipeline(deps)), mcpServers: await readMcpServers(deps) };
    const { policy } = read;
    deps.claiming(request.id);
    const reach = (elsewhere: ReadonlyMap<TaskId, number>) =>
      withinReach(
        // What is said of this pull request is nobody else's work.
        decided.tasks.filter(({ id }) => !elsewhere.has(id) && !isFeedback(id)),
        awakeInRun(decided.state.tasks, policy, deps.clock.now()),
        policy.maxIterations,
      );
    const claim = await claimLane(
      { ...deps, config: { ...deps.config, policy } },
      { lane: request.id, windows: decided.ownWindows, named: namedBy(request), tasks: reach },
    );
    if (claim.kind === 'refused') return { ...decided.end(claim.outcome), notes: decided.notes };
    // Somebody changed the lane between our look and our claim: what we decided may not hold any more.
    if (claim.kind === 'changed') continue;
    try {
      return await open(deps, { ...decided, notes: withPipeline(decided.notes, read) }, { claim, read });
    } catch (error) {
      await releaseLane(deps, request.id);
      throw error;
    }
  }
  return endIntake({
    kind: 'refused',
    reason: 'another_run',
    message: `The state of ${nameOfLane(request.id)} changed ${String(MAX_TRIES)} times while this run tried to claim it. The run that has it now holds it until ${formatInstant(deps.clock.now() + leaseMs(deps.config.policy.maxRunMs, jobsOf(deps.config)))} at the latest.`,
  });
}

/** What a run would begin with, or why it would make no call. */
export type Preview =
  | ({ readonly kind: 'work' } & Pick<Admissible, 'lane' | 'tasks' | 'state' | 'notes'>)
  | { readonly kind: 'end'; readonly intake: Ended['intake'] };

/** Decides on the lane as it is now, and claims nothing. */
export async function preview(deps: GateDeps, request: Request): Promise<Preview> {
  const decided = await decide(deps, request);
  if (decided.kind === 'end') return { kind: 'end', intake: decided.intake };
  const { lane, tasks, state, notes } = decided;
  return { kind: 'work', lane, tasks, state, notes };
}

/** Lanes of their own that are looked at in one run: each takes a few requests. */
const MAX_LANES = 3;

/** Where the queue has nothing to do, an issue's own lane goes on that came to a limit, or was parked; or people are notified of one that rests, where an earlier run could not. Null: neither. */
async function goOnElsewhere(deps: GateDeps, { intake, goesOn }: Ended): Promise<Intake | null> {
  const { outcome } = intake;
  let unheard: Intake | null = null;
  const resting: LaneId[] = [];
  const hasTime = outcome.kind === 'blocked' || (outcome.kind === 'idle' && outcome.reason !== 'updated');
  for (const issue of hasTime ? goesOn.slice(0, MAX_LANES) : []) {
    const own = await admit(deps, byItself(issue, 'tasks'));
    if (own.kind === 'work') return own;
    if (unheard === null && isUnheard(deps, own)) unheard = own;
    else if (own.outcome.reason === 'all_done') resting.push(issueLane(issue.number));
  }
  // No run looks at them again before something is asked of them.
  if (resting.length > 0) await deps.budget?.update((newest) => withNothingToDo(newest, resting));
  return unheard;
}

/** Whether the lane needs a person who does not know. */
function isUnheard({ config, clock }: GateDeps, { lane, state, tasks, outcome }: Ended['intake']): boolean {
  if (config.notify.kind === 'none' || lane === null || state === null) return false;
  const { maxRounds } = config.answers;
  return needsAtRest({ lane: lane.id, state, tasks, outcome, maxRounds }, clock.now()).length > 0;
}

/** The end of a run that makes no call on its lane, and issues whose own lanes could go on instead. */
interface Ended {
  readonly kind: 'end';
  readonly intake: Extract<Intake, { kind: 'end' }>;
  readonly goesOn: readonly Issue[];
  readonly kept: KeptLane;
}

/** A lane that may be worked on, as far as is known without claiming it. */
interface Admissible {
  readonly kind: 'admissible';
  readonly lane: Lane;
  readonly tasks: readonly Task[];
  readonly state: LaneState;
  readonly ownWindows: Windows;
  /** Whether people wait for an answer of an earlier run, or for what is to be said of checks. */
  readonly owes: boolean;
  readonly notes: Notes;
  readonly end: (outcome: Outcome) => Extract<Intake, { kind: 'end' }>;
}

async function decide(deps: GateDeps, request: Request): Promise<Admissible | Ended> {
  const { config, log } = deps;
  const branch = config.branchPrefix + request.id;
  // The state before the branches: of a run that ends between the two we see the branch, and our claim sees that it saved.
  const kept = await loadLane({ lane: request.id, deps });
  const branches = await deps.remote.branches(config.branchPrefix);
  const remoteHead = branches[branch] ?? null;
  const unfinished = request.requested === 'by-queue' && kept.budget !== null ? lanesToGoOn(kept.budget.budget) : [];
  const goesOn = request.issues.filter(
    ({ number }) =>
      unfinished.includes(issueLane(number)) && branches[config.branchPrefix + issueLane(number)] !== undefined,
  );
  const ended = (intake: Ended['intake']): Ended => ({ kind: 'end', intake, goesOn, kept });

  const hasTasks =
    issuesOfLane(request, config, branches).length > 0 || request.files !== null || request.prompt !== null;
  if (request.purpose === 'tasks' && !hasTasks) return ended(allElsewhere(request));

  const restored = judgeLane(kept, {
    lane: request.id,
    expected: remoteHead !== null,
    elsewhere: request.requested === 'by-queue' ? issuesWithBranch(branches, config) : [],
    deps,
  });
  log.info(`state: ${restored.note}`);
  const noteAll = (warnings: readonly string[], notices: Notes['notices']): Notes => ({
    restored: restored.note,
    notices,
    warnings: [...restored.warnings, ...warnings],
    claimedBy: restored.claimedBy,
    found: [],
    checks: null,
  });
  const { pause } = restored.state;
  if (pause !== null)
    return ended({
      ...endIntake({ kind: 'paused', reason: 'by_person', by: pause.by }),
      ...(await listTasks(deps, request, { branches, state: restored.state })),
      notes: noteAll([], []),
    });

  // What people and CI say of the lane's pull request comes before everything that it was made for.
  const said = await readFeedback(deps, { branch, hasBranch: remoteHead !== null, state: restored.state });
  const noteSaid = (warnings: readonly string[], notices: Notes['notices']): Notes => ({
    ...noteAll([...said.warnings, ...warnings], notices),
    checks: said.checks,
  });
  const lookUpStart = (): ReturnType<GateDeps['findStart']> =>
    deps.findStart({ branch, remoteHead, lastHead: restored.state.lastRun?.published?.head ?? null });
  // What a lane that rests has done is all published: where it begins matters only to task files.
  const isKnown = deps.config.notify.kind === 'none' || isKnownReady(restored.state);
  // A run without a call makes up for what people were not notified of, or not answered; what the pull request says of checks that do not start is said once, and taken back once.
  const isSaid = (said.state.feedback.unstarted === null) === (restored.state.feedback.unstarted === null);
  const owes = unpostedIn(said.state.feedback).length > 0 || !isSaid;
  // Our own replies are events as well, with a token that is not the job's: they start no task before its time.
  if (request.purpose === 'answers' && !owes && said.tasks.length === 0)
    return ended({
      ...endIntake({
        kind: 'idle',
        reason: 'updated',
        message: `Nothing on the pull request of ${branch} asks for an answer now.`,
      }),
      notes: noteSaid([], []),
    });
  const rests = !request.redo && isPublished(restored, remoteHead) && isKnown && !owes && said.tasks.length === 0;
  const foundEarly = rests && request.files === null ? null : await lookUpStart();
  const reopened = reopenProgress(said.state, {
    named: namedBy(request),
    redo: request.redo,
    promptAgain: request.promptAgain,
    workIsLost: foundEarly?.workIsLost ?? false,
  });
  const judged = await findTasks(deps, request, {
    branch,
    branches,
    start: foundEarly?.start ?? null,
    state: reopened,
  });
  const tasks = [...said.tasks, ...judged.tasks];
  const woken = wakeEdited(judged, (text) => hashOfText(text, deps.sha256));
  const state = request.asked ? probeNow(woken, deps.config.policy, deps.clock.now()) : woken;
  const notes = noteSaid(judged.warnings, judged.notices);
  if (tasks.length === 0)
    return ended({
      ...endIntake({ kind: 'idle', reason: 'no_tasks' }),
      answer: refusal(request, judged.warnings),
      notes,
    });
  const allDone = isPlanComplete(tasks, state.tasks);
  if (rests && allDone) return ended({ ...endIntake({ kind: 'idle', reason: 'all_done' }), tasks, state, notes });

  const base = await baseBranch(deps);
  const found = foundEarly ?? (await lookUpStart());
  // Where the branch begins again, its pull request does, too.
  const change = found.start.kind === 'continue' ? state.change : noChange;
  const lane: Lane = { id: request.id, branch, baseBranch: base, start: found.start, pullRequest: found.pullRequest };
  const endWith = (intake: Pick<Admissible, 'tasks' | 'state' | 'notes'>) => (outcome: Outcome) => ({
    ...endIntake(outcome),
    lane,
    ...intake,
  });
  // A branch that begins again has another pull request.
  const begun = found.start.kind === 'continue' ? { ...state, change } : { ...state, change, ...forgetFeedback(state) };
  const end = endWith({ tasks, state: begun, notes });
  if (found.closedBy !== null && request.requested !== 'by-name')
    return ended(end({ kind: 'paused', reason: 'by_person', by: found.closedBy }));

  // Everything is done and merged, or was done before the first run: nothing is left to publish either.
  if (found.start.kind !== 'continue' && allDone)
    return ended(
      end(
        state.lastRun === null ? { kind: 'complete', reason: 'plan_complete' } : { kind: 'idle', reason: 'all_done' },
      ),
    );

  if (restored.claimedBy !== null) return ended(end(anotherRun(request.id, restored.claimedBy)));
  const stopped =
    stopNow(deps, { state: begun, tasks, owes }) ??
    (await tooManyOpen(deps, { request, branches, hasPullRequest: found.pullRequest !== null }));
  if (stopped !== null) {
    await waitNoMore(deps, request, kept);
    return ended(
      waitingFor(
        kept.budget === null ? [] : reservedByOthers(kept.budget.budget, deps.runTag, deps.clock.now()),
        end(stopped),
      ),
    );
  }
  await checkBeforeSpending(deps, { base, branch });
  const prepared = await prepareTasks(deps, { ...judged, tasks, state: begun });
  const eligible = {
    tasks: prepared.tasks,
    state: prepared.state,
    notes: noteSaid([...judged.warnings, ...prepared.warnings], judged.notices),
  };
  return { kind: 'admissible', lane, ...eligible, ownWindows: restored.ownWindows, owes, end: endWith(eligible) };
}

/** The tasks that a person asks for by name. */
function namedBy({ requested, issues }: Request): readonly TaskId[] {
  return requested === 'by-name' ? issues.map(({ number }) => taskIdOfIssue(number)) : [];
}

/** What a person asked for and this run cannot do now is for the next run, wherever it waited. */
async function waitNoMore({ budget, clock }: GateDeps, request: Request, { budget: known }: KeptLane): Promise<void> {
  const asked = (stored: Budget): Budget => withAsked(stored, namedBy(request), clock.now());
  if (known !== null && asked(known.budget) !== known.budget) await budget?.update(asked);
}

/** Whether people have as many pull requests to review as they want; a person who asks for one more gets it. */
async function tooManyOpen(
  { config, forge }: GateDeps,
  lane: {
    readonly request: Request;
    readonly branches: Readonly<Record<string, string>>;
    readonly hasPullRequest: boolean;
  },
): Promise<Outcome | null> {
  const { maxOpenPrs, branchPrefix } = config;
  if (maxOpenPrs === 0 || lane.request.asked || lane.hasPullRequest) return null;
  // There are no more pull requests than branches.
  if (Object.keys(lane.branches).length < maxOpenPrs) return null;
  const open = await forge.openPullRequests(branchPrefix);
  return open.length >= maxOpenPrs ? { kind: 'idle', reason: 'waiting_for_review' } : null;
}

/** Every issue of the queue has its own lane. */
function allElsewhere({ issues }: Request): Ended['intake'] {
  const { notes, ...end } = endIntake({ kind: 'idle', reason: 'no_tasks' });
  const named = namesOf(issues.map(({ number }) => `#${String(number)}`));
  return {
    ...end,
    notes: {
      ...notes,
      warnings: [
        `Worked on branches of their own, not by the queue: ${named}. To continue with one that is not done, comment \`/ralph run\` on it.`,
      ],
    },
  };
}

/** The answer to a person who named an issue that is not a task: why it is not. */
function refusal({ requested, issues }: Request, why: readonly string[]): Answer | null {
  const thread = requested === 'by-name' ? issues[0]?.number : undefined;
  return thread === undefined || why.length === 0 ? null : { thread, text: { kind: 'refusal', why: why.join('\n') } };
}

function withPipeline(notes: Notes, { warnings }: ReadPipeline): Notes {
  return warnings.length === 0 ? notes : { ...notes, warnings: [...notes.warnings, ...warnings] };
}

/** Opens the lane that this run has claimed. */
async function open(
  deps: GateDeps,
  decided: Admissible,
  {
    claim,
    read,
  }: {
    readonly claim: Extract<LaneClaim, { kind: 'claimed' }>;
    readonly read: ReadPipeline & { readonly mcpServers: readonly McpServer[] };
  },
): Promise<Intake> {
  const { lane } = decided;
  // A person and the schedule may ask for the same issue at the same moment: it is worked once.
  const tasks = decided.tasks.filter(({ id }) => !claim.elsewhere.has(id));
  const state: LaneState = {
    ...decided.state,
    // A state that was lost counts from nothing; what it replaces must not look newer one day.
    sequence: Math.max(decided.state.sequence, claim.sequence),
    // Unguarded, the repository's counters stand still while the lane's own go on.
    windows: claim.windows ?? tighter(decided.state.windows, decided.ownWindows),
  };
  const notes: Notes = { ...decided.notes, warnings: [...decided.notes.warnings, ...claim.warnings] };
  // Other lanes may have reserved the rest of the hour since.
  const stopped =
    tasks.length === 0
      ? onAnotherLane(decided.tasks, claim.elsewhere)
      : stopNow({ ...deps, config: { ...deps.config, policy: read.policy } }, { state, tasks, owes: decided.owes });
  if (stopped !== null) {
    await releaseLane(deps, lane.id);
    return { ...decided.end(stopped), state, notes };
  }
  const opened = await deps.repository.openLane(lane);
  if (lane.pullRequest === null) await deps.forge.checkMayOpenPullRequests(lane.baseBranch);
  else await deps.forge.checkMayUpdatePullRequest(lane.pullRequest.number);
  const { pipeline, mcpServers } = read;
  const { policy, at: claimedAt } = claim;
  return { kind: 'work', lane, opened, tasks, state, policy, claimedAt, pipeline, mcpServers, notes };
}

/** A run that is parked while others hold what they reserved waits for them, not for the end of the hour or day. */
function waitingFor(others: readonly Reservation[], intake: Ended['intake']): Ended['intake'] {
  const { outcome } = intake;
  const first = [...others].sort((a, b) => a.expiresAt - b.expiresAt)[0];
  if (
    first === undefined ||
    outcome.kind !== 'parked' ||
    outcome.reason === 'usage_limit' ||
    outcome.reason === 'step_circuit' ||
    first.expiresAt >= outcome.resumeAt
  )
    return intake;
  const runs = others.map(
    ({ lane, runUrl, expiresAt }) =>
      `a run on ${nameOfLane(lane)} (${runUrl}, until ${formatInstant(expiresAt)} at the latest)`,
  );
  return {
    ...intake,
    outcome: { ...outcome, resumeAt: first.expiresAt },
    notes: {
      ...intake.notes,
      warnings: [
        ...intake.notes.warnings,
        `Part of the limit is reserved by ${runs.join(', ')}. What it does not use becomes available when it ends.`,
      ],
    },
  };
}

function onAnotherLane(tasks: readonly Task[], until: ReadonlyMap<TaskId, number>): Outcome {
  const last = Math.max(...tasks.map(({ id }) => until.get(id) ?? 0));
  return {
    kind: 'refused',
    reason: 'another_run',
    message: `Another run may be working on ${tasks.map(nameOfTask).join(', ')} on another branch right now. If it was killed, its claim ends at ${formatInstant(last)} at the latest.`,
  };
}

/** Why no call may be made now; null when one may, or when what is complete, or owed to people, is still to be published. */
function stopNow(
  { config, clock }: GateDeps,
  { state, tasks, owes }: { readonly state: LaneState; readonly tasks: readonly Task[] } & Pick<Admissible, 'owes'>,
): Outcome | null {
  const now = clock.now();
  const situation = { run: startRun(state, now), policy: config.policy, now };
  const step = nextStep({ state, tasks, ...situation });
  if (step.kind === 'iterate' || step.outcome.kind === 'complete' || (owes && step.outcome.kind === 'blocked'))
    return null;
  // The lane is this run's while it waits.
  return isWorthWaiting(step.outcome, situation) ? null : step.outcome;
}

/** Throws one UserError with everything at hand that would make this run's work impossible or its result unpublishable. */
async function checkBeforeSpending(
  deps: GateDeps,
  lane: { readonly base: string; readonly branch: string },
): Promise<void> {
  const [found, pushObstacle] = await Promise.all([deps.repository.problems(), deps.remote.pushObstacle()]);
  // The agent's key is in the job of the loop, which looks for it there.
  const login = deps.config.handoff.phase === 'gate' ? [] : deps.context.loginProblems;
  const { unknown } = deps.config.settings;
  const problems = [...found, ...login, ...(unknown === null ? [] : [unknown])];
  if (lane.branch === lane.base)
    problems.push(
      `The branch to work on, "${lane.branch}", is the base branch. Set a different \`branch-prefix\` or \`base-branch\`.`,
    );
  if (pushObstacle !== null) problems.push(pushObstacle);
  if (problems.length > 0)
    throw new UserError(
      'configuration',
      `The run cannot work:\n${problems.map((problem) => `- ${problem}`).join('\n')}`,
    );
}

/** Whether the last run reported that all is complete, and the remote branch still holds it. One that was killed at its end did not. */
function isPublished({ state: { lastRun } }: RestoredLane, remoteHead: string | null): boolean {
  const head = lastRun?.published?.head ?? null;
  return lastRun?.outcome === 'complete' && head !== null && head === remoteHead;
}

const defaultBranchOfEvent = z.object({ repository: z.object({ default_branch: z.string().min(1) }) });

/** The branch that work starts from. */
export async function baseBranch(deps: GateDeps): Promise<string> {
  if (deps.config.baseBranch !== null) return deps.config.baseBranch;
  const event = defaultBranchOfEvent.safeParse(deps.context.event.payload);
  return event.success ? event.data.repository.default_branch : deps.forge.defaultBranch();
}
