import { meaningOfRun } from '../gate/event/event-table.ts';
import { runGate } from '../gate/gate.ts';
import type { GateDeps } from '../gate/deps.ts';
import { renewReservation } from '../gate/lane/claim.ts';
import { acknowledgeIssue } from '../gate/people/trust.ts';
import { applyPipelinePolicy } from '../core/policy.ts';
import type { GateResult, Work, WorkIntake, EndIntake } from '../handover/intake.ts';
import type { RunReport } from '../handover/report.ts';
import { getErrorText } from '../errors.ts';
import type { PublishDeps } from '../publish/deps.ts';
import { createLiveStatus, publishEnd, settleClosedThread } from '../publish/end.ts';
import { lookAtLane, lookAtTask } from '../publish/people-now.ts';
import { reportOfEnd } from '../publish/report-of.ts';
import { withTimeLimit } from '../publish/answers.ts';
import { createLoopAgents, listOpenedExporters, openFirstAgents } from './agents.ts';
import { connectStages, type Stages } from './stages.ts';
import { logRefusedWishes, createUnpublishedReport, withGitHubFacts } from './reports.ts';
import type { ActionDeps, RunEnd } from './deps.ts';
import { runLoopJob } from './jobs/loop-job.ts';
import { finishJob } from './jobs/finish-job.ts';
import { runGateJob } from './jobs/gate-job.ts';
import { publishJob } from './jobs/publish-job.ts';
import { runLoop } from './run-loop.ts';
import type { Recording } from './recording.ts';
import { giveBackClaims, giveUpRun, publishRecorded, salvageRun } from './salvage.ts';

/** Maximum time for finding the address of the log, in ms; the run does not need that link. */
const LOG_WITHIN_MS = 10_000;

/**
 * Runs gate, loop and publish, in one job or in three. Every end has a report or is handed over, and work that was
 * finished before a failure is published.
 */
export async function runStages(deps: ActionDeps, recording: Recording): Promise<RunEnd> {
  const signal = deps.machine.onCancel((why) => giveUpRun(deps, recording, why));
  try {
    const end = await flow(deps, recording, signal);
    switch (end.kind) {
      case 'ended':
        return { ...end, report: withGitHubFacts(deps, end.report) };
      case 'handed-over':
        return { ...end, report: end.report === null ? null : withGitHubFacts(deps, end.report) };
      case 'summed-up':
        return end;
    }
  } catch (error) {
    return ended(withGitHubFacts(deps, await salvageRun(deps, recording, error)));
  } finally {
    logRefusedWishes(deps);
  }
}

async function flow(deps: ActionDeps, recording: Recording, signal: AbortSignal): Promise<RunEnd> {
  switch (deps.config.handoff.phase) {
    case 'all':
      return ended(await inOneJob(deps, recording, signal));
    case 'gate': {
      const entered = await enter(deps, recording, signal);
      return entered.kind === 'ended' ? ended(entered.report) : runGateJob(deps, recording, entered);
    }
    case 'loop':
      return runLoopJob(deps, recording, signal);
    case 'publish':
      return ended(await publishJob(deps, recording));
    case 'finish':
      return finishJob(deps);
  }
}

function ended(report: RunReport): RunEnd {
  return { kind: 'ended', report, beside: [] };
}

async function inOneJob(deps: ActionDeps, recording: Recording, signal: AbortSignal): Promise<RunReport> {
  // Read the prompt first, before an agent can change the checkout.
  const prompt = await deps.machine.readPrompt();
  const entered = await enter(deps, recording, signal);
  if (entered.kind === 'ended') return entered.report;
  const { stages, intake } = entered;
  const called = createLoopAgents(deps.connect, intake, () => undefined);
  const { agents } = called;
  await openFirstAgents(called, intake, deps.clock.now());
  const begun = await acknowledgeIssue(stages.forge, intake);
  const { remote, store, forge } = stages;
  const live = createLiveStatus({ ...stages, config: { ...deps.config, policy: begun.policy }, debug: deps.debug });
  const outlet = { kind: 'push', remote, forge } as const;
  const looking = { forge: stages.forge, remote, config: deps.config, debug: deps.debug };
  const policy = applyPipelinePolicy(deps.config.policy, begun.policy);
  const work = await runLoop(
    deps,
    {
      ...{ ...called, prompt, signal, outlet, store, recording, ...live },
      ending: neverAborts,
      sayLeft: deps.log.info,
      lookAtPeople: async (unfinished, task) => ({
        task: task === null ? null : await lookAtTask(looking, task),
        lane: (await lookAtLane(looking, unfinished))?.by ?? null,
      }),
      waitPolicy: {
        policy,
        renew: (unfinished, maxRunMs) =>
          renewReservation({ ...deps, config: { ...deps.config, policy }, store }, unfinished, maxRunMs),
      },
    },
    begun,
  );
  // A cancelled job has only seconds left, so leave the work that the loop has on disk to post.
  if (work.outcome.kind === 'cancelled') return createUnpublishedReport(deps, work);
  const context = { ...deps.context, logUrl: await findLog(deps, work) };
  return publishRecorded(
    await connectStages({ ...deps, context }, { exporters: listOpenedExporters(agents), stepWithinMs: null }),
    recording,
    work,
  );
}

/** A signal that never aborts: only a run at home can be ended after its current iteration. */
const neverAborts = new AbortController().signal;

/** The gate's decision about the event, and everything that the loop needs to begin. */
type Entered =
  | { readonly kind: 'ended'; readonly report: RunReport }
  | ({ readonly kind: 'work'; readonly stages: Stages; readonly intake: WorkIntake } & Omit<
      GateResult,
      'intake' | 'over'
    >);

async function enter(deps: ActionDeps, recording: Recording, signal: AbortSignal): Promise<Entered> {
  const { connect } = deps;
  const meaning = meaningOfRun(deps);
  if (meaning.kind !== 'for-us') throw new Error('an event that is not for us has ended the run before');
  const repository = await connect.repository();
  const stages = await connectStages(deps, { exporters: null, stepWithinMs: null });
  const examine: GateDeps['examine'] = (known) => connect.examine(known, { ...connect, signal });
  const { readLeftCircuit } = deps.machine;
  const { intake, over, ...lanes } = await runGate(
    { ...stages, repository, examine, readLeftCircuit, claiming: recording.claiming },
    meaning,
  );
  if (intake.kind === 'end')
    return { kind: 'ended', report: await endInGate(deps, recording, { publishing: stages, intake }) };
  await settleClosedThread(stages, over);
  return { kind: 'work', stages, intake, ...lanes };
}

/** Finds the address of the step's log. If that fails, the run's own page serves instead. */
async function findLog({ connect, context, debug }: ActionDeps, { journal }: Work): Promise<string> {
  if (journal.length === 0) return context.logUrl;
  try {
    const forge = await connect.forge();
    return (await withTimeLimit(LOG_WITHIN_MS, forge.stepUrl(context))) ?? context.logUrl;
  } catch (error) {
    debug(`The link to the log leads to the whole run: ${getErrorText(error)}`);
    return context.logUrl;
  }
}

async function endInGate(
  deps: ActionDeps,
  recording: Recording,
  { publishing, intake }: { readonly publishing: PublishDeps; readonly intake: EndIntake },
): Promise<RunReport> {
  // The gate has already tried to release its claims, so this is the second attempt, and post makes the third.
  await giveBackClaims(deps, recording, 'claim');
  const end = await publishEnd(publishing, intake);
  recording.tryToRecord('ended');
  const { config, context, redact, clock, startedAt } = deps;
  return reportOfEnd({ config, context, redact, now: clock.now() }, end, startedAt);
}
