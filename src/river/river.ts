import type { Config, RunContext } from '../config/config.ts';
import type { Reach } from '../config/inputs.ts';
import { withPipelineOf } from '../core/policy.ts';
import { textOf } from '../errors.ts';
import type { GateDeps } from '../gate/deps.ts';
import { meaningOfRun } from '../gate/event/event-table.ts';
import { requesterOf } from '../gate/event/intent.ts';
import { dismiss, gate } from '../gate/gate.ts';
import { renewReservation } from '../gate/lane/claim.ts';
import { acknowledge, isAskedFor } from '../gate/people/trust.ts';
import { endIntake, type Intake, type Work, type WorkIntake } from '../handover/intake.ts';
import { reportWithoutLane, type RunReport } from '../handover/report.ts';
import type { Forge } from '../ports/forge.ts';
import type { Clock, Log } from '../ports/machine.ts';
import { within } from '../publish/answers.ts';
import type { PublishDeps } from '../publish/deps.ts';
import { createLiveStatus, publishEnd } from '../publish/end.ts';
import { notifyOfConfiguration } from '../publish/notifications.ts';
import { lookAtLane, lookAtTask } from '../publish/people-now.ts';
import { reportOfEnd } from '../publish/report-of.ts';
import {
  agentsOf,
  connectStages,
  type Failure,
  giveBackLane,
  logRefusedWishes,
  openedExporters,
  openFirst,
  reportUnpublished,
  type Stages,
  unnotified,
  withGitHub,
} from './agents.ts';
import type { RiverDeps, RunEnd } from './deps.ts';
import { loopJob } from './jobs/loop-job.ts';
import { gateJob, publishJob } from './jobs/publish-job.ts';
import { createRecording, type Recording, runLoop } from './run-loop.ts';
import { giveUp, publishRecorded, salvage } from './salvage.ts';

/** Maximum time at an ordinary end for a busy machine to remove the agent's user, namespaces and folders, in ms. */
const CLOSE_MS = 20_000;

/** The same limit for a cancelled run, in ms, of which 2 s are left. */
const CLOSE_CANCELLED_MS = 1_500;

/** Maximum time for the notification of a run that has already failed, in ms. */
const WITHIN_MS = 30_000;

interface UnusableDeps {
  readonly reach: Reach;
  readonly context: RunContext;
  readonly connectForge: (config: Pick<Config, 'githubToken'>) => Promise<Forge>;
  readonly clock: Clock;
  readonly log: Log;
  readonly redact: (text: string) => string;
}

/** Maximum time for finding the link to the log, in ms. */
const LOG_WITHIN_MS = 10_000;

type EndIntake = Extract<Intake, { kind: 'end' }>;

/** Runs everything: gate → loop → publish, in one job or in three. Always ends in a report or a hand-over; what was finished before a failure is published. */
export async function runRiver(deps: RiverDeps): Promise<RunEnd> {
  const recording = createRecording(deps);
  const signal = deps.machine.onCancel((why) => giveUp(deps, recording, why));
  try {
    const end = await flow(deps, recording, signal);
    return { ...end, report: end.report === null ? null : withGitHub(deps, end.report) };
  } catch (error) {
    return { handedOver: null, report: withGitHub(deps, await salvage(deps, recording, error)) };
  } finally {
    logRefusedWishes(deps);
  }
}

async function flow(deps: RiverDeps, recording: Recording, signal: AbortSignal): Promise<RunEnd> {
  switch (deps.config.handoff.phase) {
    case 'all':
      return { handedOver: null, report: await inOneJob(deps, recording, signal) };
    case 'gate': {
      const entered = await enter(deps, recording, signal);
      return entered.kind === 'ended'
        ? { handedOver: null, report: entered.report }
        : gateJob(deps, recording, entered);
    }
    case 'loop':
      return loopJob(deps, recording, signal);
    case 'publish':
      return { handedOver: null, report: await publishJob(deps, recording) };
  }
}

async function inOneJob(deps: RiverDeps, recording: Recording, signal: AbortSignal): Promise<RunReport> {
  // The prompt is read before anything else, from the checkout as the job made it, before any agent ran.
  const prompt = await deps.machine.readPrompt();
  const entered = await enter(deps, recording, signal);
  if (entered.kind === 'ended') return entered.report;
  const { stages, intake } = entered;
  const agents = agentsOf(deps.connect, intake, () => undefined);
  await openFirst(agents, intake, deps.clock.now());
  const begun = await acknowledge(stages.forge, intake);
  const { remote, store, forge } = stages;
  const live = createLiveStatus({ ...stages, config: { ...deps.config, policy: begun.policy }, debug: deps.debug });
  const outlet = { kind: 'push', remote, forge } as const;
  const looking = { forge: stages.forge, remote, config: deps.config, debug: deps.debug };
  const policy = withPipelineOf(deps.config.policy, begun.policy);
  const work = await runLoop(
    deps,
    {
      ...{ agents, prompt, signal, outlet, store, recording, ...live },
      ending: neverAborts,
      sayLeft: deps.log.info,
      lookAtPeople: async (unfinished, task) => ({
        task: task === null ? null : await lookAtTask(looking, task),
        lane: (await lookAtLane(looking, unfinished))?.by ?? null,
      }),
      patience: {
        policy,
        renew: (unfinished, maxRunMs) =>
          renewReservation({ ...deps, config: { ...deps.config, policy }, store }, unfinished, maxRunMs),
      },
    },
    begun,
  );
  // A cancelled job has only seconds left, so post publishes what the loop put on disk.
  if (work.outcome.kind === 'cancelled') return reportUnpublished(deps, work);
  const context = { ...deps.context, logUrl: await findLog(deps, work) };
  return publishRecorded(
    await connectStages({ ...deps, context }, { exporters: openedExporters(agents), stepWithinMs: null }),
    recording,
    work,
  );
}

/** A person ends a run on GitHub by an order, so this signal stays unused. */
const neverAborts = new AbortController().signal;

/** The gate's result for the event. */
type Entered =
  | { readonly kind: 'ended'; readonly report: RunReport }
  | { readonly kind: 'work'; readonly stages: Stages; readonly intake: WorkIntake };

async function enter(deps: RiverDeps, recording: Recording, signal: AbortSignal): Promise<Entered> {
  const { connect } = deps;
  const meaning = meaningOfRun(deps);
  // Most events of a repository end here, before the code of any adapter is loaded.
  if (meaning.kind !== 'for-us')
    return { kind: 'ended', report: endBeforeLoop(deps, recording, endIntake(dismiss(meaning, deps.log))) };
  const repository = await connect.repository();
  const stages = await connectStages(deps, { exporters: null, stepWithinMs: null });
  const examine: GateDeps['examine'] = (known) => connect.examine(known, { ...connect, signal });
  const { readLeftCircuit } = deps.machine;
  const intake = await gate({ ...stages, repository, examine, readLeftCircuit, claiming: recording.claiming }, meaning);
  return intake.kind === 'end'
    ? { kind: 'ended', report: await endInGate(deps, recording, { publishing: stages, intake }) }
    : { kind: 'work', stages, intake };
}

/** Returns the page on which people read the iterations. If it cannot be found, the run's own page also has the log. */
async function findLog({ connect, context, debug }: RiverDeps, { journal }: Work): Promise<string> {
  if (journal.length === 0) return context.logUrl;
  try {
    const forge = await connect.forge();
    return (await within(LOG_WITHIN_MS, forge.stepUrl(context))) ?? context.logUrl;
  } catch (error) {
    debug(`The log is linked as a whole: ${textOf(error)}`);
    return context.logUrl;
  }
}

async function endInGate(
  deps: RiverDeps,
  recording: Recording,
  { publishing, intake }: { readonly publishing: PublishDeps; readonly intake: EndIntake },
): Promise<RunReport> {
  const lane = recording.claimed();
  // The gate gave back its claim. If it could not, this is the second try, and post makes the third.
  if (lane !== null && (await giveBackLane(deps, lane, 'claim')).kind === 'free') recording.released();
  return endBeforeLoop(deps, recording, await publishEnd(publishing, intake));
}

function endBeforeLoop(deps: RiverDeps, recording: Recording, intake: EndIntake): RunReport {
  const { config, context, redact, clock, startedAt } = deps;
  recording.tryToRecord('ended');
  return reportOfEnd({ config, context, redact, now: clock.now() }, intake, startedAt);
}

/** Notifies people of inputs that stop every run, once for each reason. Never throws. */
export async function notifyOfInputs(deps: UnusableDeps, failure: Failure): Promise<void> {
  await within(WITHIN_MS, tryToNotify(deps, failure)).catch((error: unknown) => {
    deps.log.warning(unnotified(failure, error));
  });
}

async function tryToNotify(deps: UnusableDeps, outcome: Failure): Promise<void> {
  const { reach: config, context, clock, redact } = deps;
  const meaning = meaningOfRun({ context, config });
  const forge = await deps.connectForge(config);
  if (!(await isAskedFor({ config, forge }, meaning))) return;
  const { owner, repo } = context.repository;
  const now = clock.now();
  const report = reportWithoutLane({
    outcome,
    repositoryUrl: `${context.serverUrl}/${owner}/${repo}`,
    runUrl: context.runUrl,
    startedAt: now,
    endedAt: now,
  });
  await notifyOfConfiguration(
    { config, forge, clock, redact, asked: requesterOf(meaning), stepWithinMs: null },
    report,
  );
}

/** Waits until `close` has finished, within the time that the run has for it. Returns its message; null also when time ran out, in which case the post step closes it again. */
export async function closeInTime(close: () => Promise<string | null>, cancelled: AbortSignal): Promise<string | null> {
  const late = Promise.withResolvers<null>();
  const giveUp = (): void => {
    late.resolve(null);
  };
  let timer = setTimeout(giveUp, CLOSE_MS);
  const hurry = (): void => {
    clearTimeout(timer);
    timer = setTimeout(giveUp, CLOSE_CANCELLED_MS);
  };
  if (cancelled.aborted) hurry();
  else cancelled.addEventListener('abort', hurry);
  try {
    return await Promise.race([close(), late.promise]);
  } finally {
    clearTimeout(timer);
    cancelled.removeEventListener('abort', hurry);
  }
}
