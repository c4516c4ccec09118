import { AGENTS } from '../../core/agent-names.ts';
import { describeUnusableLogin, limitRunTime } from '../../core/agents/login-term.ts';
import { agentsOfSteps } from '../../core/pipeline/pipeline.ts';
import { findStepAgentProblems } from '../../gate/lane/pipeline.ts';
import { toOneLine, completeSentence } from '../../core/text/phrase.ts';
import type { Task } from '../../core/tasks/task.ts';
import { formatInstant } from '../../core/countdown.ts';
import { getErrorMessage, UserError } from '../../errors.ts';
import type { Work, WorkIntake } from '../../handover/intake.ts';
import type { RunReport } from '../../handover/report.ts';
import type { LoopDeps } from '../../loop/deps.ts';
import type { HandoffFolder } from '../../ports/handoff.ts';
import { createLoopAgents, listOpenedExporters, openFirstAgents, createSessionExport } from '../agents.ts';
import { createUnpublishedReport, createWorklessReport } from '../reports.ts';
import { convertErrorToOutcome } from '../failure.ts';
import type { ActionDeps, RunEnd } from '../deps.ts';
import { runLoop } from '../run-loop.ts';
import type { Recording } from '../recording.ts';
import { giveFailure, giveWork, readNamedFile, takeIntake, type HandOverDeps, type TakenIntake } from './parcels.ts';

/**
 * Runs the job of the loop: receives the gate's hand-over, works, and hands over after each iteration and at the end.
 * Sends no requests to GitHub's API, and pushes nothing.
 */
export async function runLoopJob(deps: ActionDeps, recording: Recording, signal: AbortSignal): Promise<RunEnd> {
  const { config, connect, machine, redact, log } = deps;
  // Read the prompt first, before an agent can change the checkout.
  const prompt = await machine.readPrompt();
  const folder = await connect.handoff(null);
  const taken = await takeIntake(folder, config.handoff);
  const giving: HandOverDeps = {
    ...taken,
    folder,
    redact,
    readJournal: deps.readJournal,
    bundle: async (file) => (await connect.repository()).bundle(file),
  };
  const patches = handOverPatches(deps, folder);
  try {
    const intake = withinLogin(deps, taken.handed.intake);
    await openHandedLane(deps, taken);
    const called = createLoopAgents(connect, intake, () => undefined);
    const { agents } = called;
    await openFirstAgents(called, intake, deps.clock.now());
    const store = handedStore(folder, taken);
    const work = await runLoop(
      { ...deps, keepPatch: patches.keep },
      {
        ...called,
        prompt,
        signal,
        recording,
        outlet: {
          kind: 'hand-over',
          handOver: (unfinished) => giveUnfinished(deps, giving, unfinished),
          forbiddenMerge: taken.handed.forbiddenMerge,
        },
        store,
        // The issue already shows that the run is at work, and this job has no token to add more.
        showLive: () => Promise.resolve(),
        showWait: () => Promise.resolve(),
        sayLeft: () => undefined,
        ending: new AbortController().signal,
        // After a wait, this job could not find out what other runs have used in the meantime, so it must not wait.
        waitPolicy: null,
        lookAtPeople: null,
      },
      { ...intake, tasks: intake.tasks.map((task) => withoutSecrets(task, redact)), claimedAt: deps.clock.now() },
    );
    await patches.kept();
    const exported = {
      exporters: listOpenedExporters(agents),
      first: agents[0].name,
      seal: await connect.seal(),
      store,
      log,
    };
    await giveWork(giving, work, createSessionExport(exported));
    recording.tryToRecord('ended');
    return passedOn(taken, createUnpublishedReport(deps, work));
  } catch (error) {
    return handOverFailure(deps, recording, { giving, error });
  }
}

/** Returns the intake with its time cut to the end of the agent's login; throws a UserError if that is too little. */
function withinLogin({ config, clock, log }: ActionDeps, intake: WorkIntake): WorkIntake {
  const { policy } = intake;
  const time = limitRunTime(config.handoff.login, { now: clock.now(), maxRunMs: policy.maxRunMs });
  if (time.kind === 'unusable') throw new UserError('configuration', time.problem);
  if (time.warning !== null) log.warning(time.warning);
  return { ...intake, policy: { ...policy, maxRunMs: time.maxRunMs } };
}

/**
 * Redacts a task about a failed check, because CI's log may show a secret of this job that the gate's job does not
 * know. Leaves other tasks as people wrote them.
 */
function withoutSecrets(task: Task, redact: (text: string) => string): Task {
  const { source } = task;
  return source.kind === 'feedback' && source.on.kind === 'check' ? { ...task, body: redact(task.body) } : task;
}

/** Hands over a failure together with the work that was finished before it. */
async function handOverFailure(
  deps: ActionDeps,
  recording: Recording,
  { giving, error }: { readonly giving: HandOverDeps; readonly error: unknown },
): Promise<RunEnd> {
  const outcome = convertErrorToOutcome(error, deps.debug);
  const work = recording.work();
  const isolation = deps.connect.isolation();
  const ended: Work | null =
    work === null ? null : { ...work, isolation: isolation ?? work.isolation, outcome, endedAt: deps.clock.now() };
  if (ended === null) await giveFailure(giving, outcome);
  else await giveWork(giving, ended, null);
  recording.tryToRecord('ended');
  const report =
    ended === null ? createWorklessReport(deps, outcome, deps.startedAt) : createUnpublishedReport(deps, ended);
  return passedOn(giving, report);
}

/** Returns the end of this job, after which another one publishes. */
function passedOn({ of, handed }: TakenIntake, report: RunReport): RunEnd {
  const { id, branch } = handed.intake.lane;
  return { kind: 'handed-over', lanes: [{ lane: id, branch, digest: of }], report, beside: [] };
}

/** Opens the lane as the gate found it, from this job's own checkout as far as possible. */
async function openHandedLane({ config, context, connect, clock }: ActionDeps, { handed }: TakenIntake): Promise<void> {
  const { lane, opened, startBy } = handed.intake;
  if (clock.now() > startBy)
    throw new UserError(
      'infrastructure',
      `This job began too long after the gate's job: another run may take over before its work is done. It had to begin by ${formatInstant(startBy)}. No call was made. Run the workflow again when runners are free.`,
    );
  const repository = await connect.repository();
  const { order } = config.agent;
  const called = [...new Set([...order, ...agentsOfSteps(handed.intake.pipeline)].map(({ name }) => name))];
  const isLoginUsed =
    config.handoff.login.kind === 'lasting' || called.some((name) => AGENTS[name].provider.switches.length > 0);
  const problems = [
    ...(isLoginUsed ? [] : [describeUnusableLogin(called)]),
    ...(await repository.problems()),
    ...context.loginProblems,
    ...findStepAgentProblems(handed.intake.pipeline, { agent: config.agent, context }),
  ];
  if (problems.length > 0)
    throw new UserError(
      'configuration',
      `The run cannot work:\n${problems.map((problem) => `- ${problem}`).join('\n')}`,
    );
  const { head } = await repository.openLane(lane, opened.base);
  if (head !== opened.head)
    throw new UserError(
      'infrastructure',
      `The branch ${lane.branch} is at ${head} in this job, but was at ${opened.head} in the gate's job. Run the workflow again. (handoff-path: ${config.handoff.path})`,
    );
}

/**
 * Hands over after an iteration, or a commit within one. If that fails, the next hand-over contains this work as well.
 */
async function giveUnfinished({ log }: ActionDeps, giving: HandOverDeps, work: Work): Promise<void> {
  await giveWork(giving, work, null).catch((error: unknown) => {
    log.warning(
      `The work so far could not be handed over, so the next hand-over includes it: ${completeSentence(getErrorMessage(error))}`,
    );
  });
}

/** Maximum size of all patches together, in characters. */
const MAX_PATCHES_CHARS = 4 * 1024 * 1024;

/**
 * Keeps for people the work that the agent left outside of the work tree, because this job's machine will be gone.
 * Writes it as one file of the hand-over, each patch after a line with its name.
 */
function handOverPatches(
  { keepPatch, debug }: Pick<ActionDeps, 'keepPatch' | 'debug'>,
  folder: HandoffFolder,
): { readonly keep: ActionDeps['keepPatch']; readonly kept: () => Promise<void> } {
  let all = '';
  let written: Promise<unknown> = Promise.resolve();
  return {
    keep: (name, patch) => {
      keepPatch(name, patch);
      if (all.length + patch.length > MAX_PATCHES_CHARS) return;
      all += `# ${toOneLine(name, 200)}\n${patch}\n`;
      const text = all;
      written = written
        .then(() => folder.write('loop/beside.patch', text))
        .catch((error: unknown) => {
          // Do not warn, because the name of this work is reported anyway.
          debug(`The agent's work beside the work tree could not be handed over: ${getErrorMessage(error)}`);
        });
    },
    kept: async () => {
      await written;
    },
  };
}

/** Returns a store that contains only the gate's hand-over, without orders. */
function handedStore(folder: HandoffFolder, { handed }: TakenIntake): LoopDeps['store'] {
  return {
    lastSeen: () => null,
    read: () => Promise.resolve({ kind: 'none' }),
    update: () => Promise.resolve({ kind: 'unguarded', why: 'this job cannot reach it', last: null }),
    transcript: async () => {
      const transcript = await readNamedFile(folder, 'gate/session.sealed', handed.session);
      return transcript === null ? { kind: 'absent' } : { kind: 'found', transcript };
    },
  };
}
