import { textOf } from '../errors.ts';
import { countTasks } from '../core/tasks/queue.ts';
import { parseIntent } from '../gate/event/events.ts';
import type { GateDeps } from '../gate/deps.ts';
import { dismiss, gate } from '../gate/gate.ts';
import { acknowledge } from '../gate/people/acknowledge.ts';
import { endIntake, type Intake } from '../handover/intake.ts';
import type { RunReport } from '../handover/report.ts';
import type { Work } from '../handover/work.ts';
import type { LoopDeps } from '../loop/deps.ts';
import { loop } from '../loop/loop.ts';
import type { Log } from '../ports/machine.ts';
import type { PublishDeps } from '../publish/deps.ts';
import { createLiveStatus } from '../publish/live-status.ts';
import { publishEnd } from '../publish/end.ts';
import { reportOfEnd } from '../publish/report-of.ts';
import { within } from '../publish/within.ts';
import { renderIterationEnd, renderProgressLine } from '../report/pages/progress.ts';
import type { RiverDeps } from './deps.ts';
import { giveBack, reportUnpublished, withRequests } from './ends.ts';
import { createRecording, type Recording } from './recording.ts';
import { giveUp, publishRecorded, salvage } from './salvage.ts';
import { connectStages } from './stages.ts';

/** In ms: a link is not worth more. */
const LOG_WITHIN_MS = 10_000;

type EndIntake = Extract<Intake, { kind: 'end' }>;

/** The river: gate → loop → publish. Whatever happens in it ends in a report; what was finished before a failure is published. */
export async function runRiver(deps: RiverDeps): Promise<RunReport> {
  const recording = createRecording(deps);
  const signal = deps.machine.onCancel((why) => giveUp(deps, recording, why));
  try {
    return withRequests(deps, await flow(deps, recording, signal));
  } catch (error) {
    return withRequests(deps, await salvage(deps, recording, error));
  }
}

async function flow(deps: RiverDeps, recording: Recording, signal: AbortSignal): Promise<RunReport> {
  const { connect, machine, appendJournal } = deps;
  // Read before anything else: from the checkout as the job made it, before any agent ran.
  const promptTemplate = await machine.readPrompt();
  const intent = parseIntent(deps.context.event, deps.config);
  // Most events of a repository: they end before the code of any adapter is loaded.
  if (intent.kind === 'not-for-us' || intent.kind === 'refused')
    return endBeforeLoop(deps, recording, endIntake(dismiss(intent, deps.log)));

  const repository = await connect.repository();
  const stages = await connectStages(deps, { agent: null, stepWithinMs: null });
  const examine: GateDeps['examine'] = (known) => connect.examine(known, { ...connect, signal });
  const intake = await gate({ ...stages, repository, examine, claiming: recording.claiming }, intent);
  if (intake.kind === 'end') return endInGate(deps, recording, { publishing: stages, intake });

  const agent = await connect.agent();
  const agentName = await agent.prepare();
  const begun = await acknowledge(stages.forge, intake);
  const finished = await loop(
    {
      ...stages,
      config: { ...deps.config, policy: begun.policy },
      agent,
      agentName,
      repository,
      verifier: await connect.verifier(),
      signal,
      promptTemplate,
      readLearnings: machine.readLearnings,
      files: machine.files,
      narrate: narrateTo(deps.log),
      showLive: createLiveStatus({ ...stages, config: { policy: begun.policy }, debug: deps.debug }),
      appendJournal,
      journalHash: deps.journalHash,
      record: (unfinished) => {
        recording.keep(withJournalHash(deps, unfinished));
      },
    },
    begun,
  );
  const work = withJournalHash(deps, finished);
  recording.keep(work);
  await agent.sweep();
  // A cancelled job has seconds left: post publishes what the loop put on disk.
  if (work.outcome.kind === 'cancelled') return reportUnpublished(deps, work);
  const context = { ...deps.context, logUrl: await findLog(deps, work) };
  return publishRecorded(await connectStages({ ...deps, context }, { agent, stepWithinMs: null }), recording, work);
}

/** Where people read the iterations. It is only a link: whatever keeps it from being found, the run's own page has the log as well. */
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

/** The journal stands on the machine's disk; with its hash in the state nobody can put another in its place unseen. */
function withJournalHash({ journalHash }: RiverDeps, work: Work): Work {
  return { ...work, state: { ...work.state, journalHash: journalHash() } };
}

async function endInGate(
  deps: RiverDeps,
  recording: Recording,
  { publishing, intake }: { readonly publishing: PublishDeps; readonly intake: EndIntake },
): Promise<RunReport> {
  const lane = recording.claimed();
  // The gate gave back what it had claimed; where it could not, this is the second try, and post the third.
  if (lane !== null && (await giveBack(deps, lane, 'claim')).kind === 'free') recording.released();
  return endBeforeLoop(deps, recording, await publishEnd(publishing, intake));
}

function endBeforeLoop(deps: RiverDeps, recording: Recording, intake: EndIntake): RunReport {
  const { config, context, redact, clock, startedAt } = deps;
  recording.tryToRecord('ended');
  return reportOfEnd({ config, context, redact, now: clock.now() }, intake, startedAt);
}

function narrateTo(log: Log): LoopDeps['narrate'] {
  return (entry, { tasks, state }) => {
    const { done, all } = countTasks(tasks, state.tasks);
    log.info(renderIterationEnd(entry));
    log.info(renderProgressLine({ done, total: all, title: entry.taskTitle }));
  };
}
