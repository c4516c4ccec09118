import { releaseLane, renewReservation } from '../../gate/lane/claim.ts';
import type { GateDeps } from '../../gate/deps.ts';
import { TASKS_PURPOSE } from '../../gate/tasks/sources.ts';
import { detectOtherRalphs, startQueueWorkOnLanes } from '../../gate/work.ts';
import type { RunStatus } from '../../core/local/status-document.ts';
import type { Outcome } from '../../core/outcome.ts';
import { policyOfShare } from '../../core/parallel/shares.ts';
import { nameTaskReference, findTaskByName } from '../../core/people/named-task.ts';
import { applyPipelinePolicy } from '../../core/policy.ts';
import type { Task } from '../../core/tasks/task.ts';
import { endIntake, type GateResult, type Intake, type Work, type WorkIntake } from '../../handover/intake.ts';
import type { RunReport } from '../../handover/report.ts';
import type { LaneState } from '../../core/lane/state/state.ts';
import type { LoopAgent, OpenedAgent } from '../../loop/deps.ts';
import { beginLoop } from '../../loop/loop.ts';
import type { UserPrompt } from '../../ports/prompt.ts';
import type { SealedTranscript } from '../../ports/state.ts';
import { reportOfEnd, reportOfWork } from '../../publish/report-of.ts';
import {
  type LoopAgents,
  createLoopAgents,
  listOpenedExporters,
  openFirstAgents,
  createSessionExport,
} from '../agents.ts';
import { createWorklessReport } from '../reports.ts';
import { hashText } from '../packed-journal.ts';
import { UserError } from '../../errors.ts';
import { convertErrorToOutcome } from '../failure.ts';
import type { ActionDeps } from '../deps.ts';
import { runLoop } from '../run-loop.ts';
import { createRecording, type Recording } from '../recording.ts';
import { createHomeOutlet } from './outlet.ts';

/** The current activity of the run, for people and programs that watch it. */
export interface ShownActivity {
  readonly doing: RunStatus['doing'];
  /** The lane's work; null if it is not known yet or has not changed. */
  readonly work: ShownWork | null;
  readonly task: Task | null;
  /** Instant at which a wait ends, or null if the run does not wait. */
  readonly resumeAt: number | null;
  /** Outcome of the run, or null while it continues. */
  readonly outcome: Outcome | null;
}

/** The known facts of the lane. `journal` is null if the gate ends the run. */
interface ShownWork extends Pick<Work, 'tasks' | 'state'> {
  readonly lane: Pick<Work['lane'], 'id' | 'branch'> | null;
  readonly journal: Work['journal'] | null;
}

/** The dependencies of a run on a person's machine. It uses GitHub only to read issues, and notifies nobody. */
export interface HomeDeps extends ActionDeps, Pick<GateDeps, 'forge' | 'findStart'> {
  readonly runName: string;
  /** The only task to work on, by its id or name; null means all tasks. */
  readonly task: string | null;
  /** The lane that another process of this run has claimed for this one, or null if the gate decides. */
  readonly handed: WorkIntake | null;
  /** Starts a process for each lane that is worked on in addition to the one of this process. */
  readonly startBeside: (lanes: GateResult['beside']) => void;
  readonly signal: AbortSignal;
  readonly ending: AbortSignal;
  readonly show: (shown: ShownActivity) => void;
  /** Reports the remaining time of a wait. */
  readonly sayLeft: (text: string) => void;
}

/** Runs everything at home: gate → loop → the branch in the person's repository. Always ends in a report. */
export async function runAtHome(deps: HomeDeps): Promise<RunReport> {
  const recording = createRecording(deps);
  const report = await flow(deps, recording).catch((error: unknown) =>
    createWorklessReport(deps, convertErrorToOutcome(error, deps.debug), deps.startedAt),
  );
  deps.show({ doing: 'ended', work: null, task: null, resumeAt: null, outcome: report.outcome });
  return report;
}

async function flow(deps: HomeDeps, recording: Recording): Promise<RunReport> {
  const { config, context, log, redact, clock } = deps;
  deps.show({ doing: 'starting', work: null, task: null, resumeAt: null, outcome: null });
  // Read the prompt first, before an agent can change the copy.
  const prompt = await deps.machine.readPrompt();
  const gateDeps = await createHomeGatePorts(deps, recording);
  if (deps.handed !== null) return work(deps, recording, { gateDeps, intake: deps.handed, prompt, isOpen: false });
  const { intake, runTag, beside } = await enter(deps, gateDeps);
  for (const warning of intake.notes.warnings) log.warning(warning);
  if (intake.kind === 'end') {
    const { lane, tasks, state } = intake;
    const known = state === null ? null : { lane, tasks, state, journal: null };
    deps.show({ doing: 'starting', work: known, task: null, resumeAt: null, outcome: null });
    const frame = { config, context, redact, now: clock.now() };
    return reportOfEnd(frame, intake, deps.startedAt);
  }
  if (beside.length === 0) return work(deps, recording, { gateDeps, intake, prompt, isOpen: true });
  deps.startBeside(beside);
  const policy = policyOfShare(config.policy, { at: 0, of: beside.length + 1, atOnce: config.parallel });
  const own = { config: { ...config, policy }, runTag };
  return work({ ...deps, ...own }, recording, { gateDeps: { ...gateDeps, ...own }, intake, prompt, isOpen: false });
}

/** Returns the gate's decision about the queue. */
async function enter(deps: HomeDeps, gateDeps: GateDeps): Promise<GateResult> {
  const foreign = await detectOtherRalphs(gateDeps);
  const { intake: found, ...lanes } = await startQueueWorkOnLanes(gateDeps, {
    asked: false,
    byHand: true,
    purpose: TASKS_PURPOSE,
  });
  const intake = await narrowToTask(gateDeps, found, deps.task);
  return { ...lanes, intake: { ...intake, notes: { ...intake.notes, found: foreign } } };
}

async function work(
  deps: HomeDeps,
  recording: Recording,
  start: {
    readonly gateDeps: GateDeps;
    readonly intake: WorkIntake;
    readonly prompt: UserPrompt;
    /** False if this process's copy of the repository is not at the lane yet, or is at another one. */
    readonly isOpen: boolean;
  },
): Promise<RunReport> {
  const { gateDeps, intake, prompt, isOpen } = start;
  const {
    connect,
    clock,
    log,
    redact,
    config,
    context,
    journalHash,
    runTag,
    signal,
    ending,
    show,
    sayLeft,
    readJournal,
  } = deps;
  const { store } = gateDeps;
  const { pipeline } = intake;
  const begun = beginLoop(intake, clock.now());
  const outletDeps = {
    config: { ...config, policy: intake.policy },
    context,
    clock,
    log,
    redact,
    journalHash,
    runTag,
    readJournal,
  };
  const outlet = createHomeOutlet({ ...outletDeps, remote: await connect.remote(), store }, begun);
  let exportSessions: (state: LaneState) => Promise<SealedTranscript | null> = () => Promise.resolve(null);
  const finish = async (ended: Work): Promise<RunReport> => {
    const { work: last, headSha, saved } = await outlet.end(ended, exportSessions);
    recording.released(intake.lane.id);
    recording.tryToKeep(last);
    return reportOfWork({ config, context, redact, now: clock.now() }, last, { pullRequest: null, headSha, saved });
  };
  try {
    if (!isOpen) await openAgain(gateDeps, intake);
    const called = createLoopAgents(connect, intake, ({ name, version }) => {
      log.info(`agent: ${version === '' ? name : `${version} (${name})`}`);
    });
    const { agents } = called;
    const first = agents[0].name;
    const exporters = listOpenedExporters(agents);
    exportSessions = createSessionExport({ exporters, first, seal: await connect.seal(), store, log });
    await openFirstAgents(called, intake, clock.now());
    const shown = { resumeAt: null, outcome: null } as const;
    const policy = applyPipelinePolicy(config.policy, intake.policy);
    const worked = await runLoop(
      { ...deps, context: { ...context, runId: deps.runName } },
      {
        ...{ prompt, signal, ending, store, recording, sayLeft },
        lookAtPeople: null,
        ...(pipeline === null ? called : showPipelineSteps(called, show)),
        outlet: { kind: 'hand-over', handOver: outlet.keep, forbiddenMerge: null },
        waitPolicy: {
          policy,
          renew: (unfinished, maxRunMs) =>
            renewReservation({ ...deps, config: { ...config, policy }, store }, unfinished, maxRunMs),
        },
        showLive: (unfinished, { task }) => {
          show({ ...shown, doing: pipeline === null ? 'agent' : 'steps', work: unfinished, task });
          return Promise.resolve();
        },
        showWait: (unfinished, { resumeAt }) => {
          show({ ...shown, doing: 'waiting', work: unfinished, task: null, resumeAt });
          return Promise.resolve();
        },
      },
      intake,
    );
    return await finish(worked);
  } catch (error) {
    const outcome = convertErrorToOutcome(error, deps.debug);
    const unfinished = recording.work();
    if (unfinished === null) {
      await releaseLane(gateDeps, intake.lane.id);
      return createWorklessReport(deps, outcome, deps.startedAt);
    }
    return finish({ ...unfinished, outcome, endedAt: clock.now() });
  }
}

/** Opens the lane in this process's copy as the gate found it. */
async function openAgain({ repository }: Pick<GateDeps, 'repository'>, { lane, opened }: WorkIntake): Promise<void> {
  const { head } = await repository.openLane(lane, opened.base);
  if (head !== opened.head)
    throw new UserError(
      'infrastructure',
      `The branch ${lane.branch} is at ${head}, but was at ${opened.head} when this run claimed it. Start the run again.`,
    );
}

/** Shows when an agent of a pipeline is at work, because other steps run before and after its calls. */
function showPipelineSteps({ agents: [first, ...others], stepAgents }: LoopAgents, show: HomeDeps['show']): LoopAgents {
  const shown = (agent: LoopAgent): LoopAgent => showing(agent, show);
  return { agents: [shown(first), ...others.map(shown)], stepAgents: stepAgents.map(shown) };
}

function showing(agent: LoopAgent, show: HomeDeps['show']): LoopAgent {
  return {
    ...agent,
    open: async () => {
      const { agent: opened, called } = await agent.open();
      return { agent: showingCalls(opened, show), called };
    },
  };
}

function showingCalls(agent: OpenedAgent['agent'], show: HomeDeps['show']): OpenedAgent['agent'] {
  const asBefore = { work: null, task: null, resumeAt: null, outcome: null };
  return {
    ...agent,
    call: async (call) => {
      show({ ...asBefore, doing: 'agent' });
      try {
        return await agent.call(call);
      } finally {
        show({ ...asBefore, doing: 'steps' });
      }
    },
  };
}

/** Returns the gate's ports; at home they cannot check the set-up. */
export async function createHomeGatePorts(
  deps: Pick<
    HomeDeps,
    | 'config'
    | 'context'
    | 'forge'
    | 'findStart'
    | 'connect'
    | 'clock'
    | 'log'
    | 'redact'
    | 'runTag'
    | 'variables'
    | 'machine'
  >,
  recording: Pick<Recording, 'claiming'>,
): Promise<GateDeps> {
  const { config, context, forge, findStart, connect, clock, log, redact, runTag, variables, machine } = deps;
  const [repository, remote, store] = await Promise.all([connect.repository(), connect.remote(), connect.store()]);
  return {
    ...{
      config,
      context,
      forge,
      findStart,
      repository,
      remote,
      store,
      clock,
      log,
      sha256: hashText,
      runTag,
      variables,
    },
    readLeftCircuit: machine.readLeftCircuit,
    examine: () => Promise.resolve([]),
    claiming: recording.claiming,
    redact,
  };
}

/**
 * Reduces the intake to the one task that the person asks for. A task that does not exist ends the run and frees the
 * lane.
 */
async function narrowToTask(deps: GateDeps, intake: Intake, wanted: string | null): Promise<Intake> {
  if (wanted === null || (intake.kind === 'end' && !endsWithoutOpenTask(intake.outcome))) return intake;
  const asked = findAskedTask(intake.tasks, wanted);
  if (asked.kind === 'tasks') return intake.kind === 'end' ? intake : { ...intake, tasks: asked.tasks };
  if (intake.kind === 'work') await releaseLane(deps, intake.lane.id);
  return { ...endIntake({ kind: 'failed', reason: 'configuration', message: asked.why }), notes: intake.notes };
}

/** Returns true for a run that ends because no task is open, so that a task named by a person may not exist. */
export function endsWithoutOpenTask(outcome: Outcome): boolean {
  const withoutTask = ['no_tasks', 'all_done', 'no_such_label'];
  return outcome.kind === 'complete' || (outcome.kind === 'idle' && withoutTask.includes(outcome.reason));
}

/** Returns the one task that a person calls by this name, or the reason why there is no such task, in sentences. */
export function findAskedTask(
  tasks: readonly Task[],
  wanted: string,
): { readonly kind: 'tasks'; readonly tasks: readonly Task[] } | { readonly kind: 'none'; readonly why: string } {
  const named = findTaskByName(wanted, tasks.map(nameTaskReference));
  if (named.kind === 'task') return { kind: 'tasks', tasks: tasks.filter(({ id }) => id === named.id) };
  return {
    kind: 'none',
    why: named.kind === 'several' ? named.why : `There is no task ${wanted} that a run can work on. ${named.nearest}`,
  };
}
