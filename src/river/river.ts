import type { Config, RunContext } from '../config/config.ts';
import type { Outcome } from '../core/outcome.ts';
import type { LaneId } from '../core/tasks/ids.ts';
import { countTasks } from '../core/tasks/queue.ts';
import { releaseLane } from '../gate/lane/claim.ts';
import { acknowledge } from '../gate/people/acknowledge.ts';
import { gate } from '../gate/gate.ts';
import { loop } from '../loop/loop.ts';
import type { LoopDeps } from '../loop/deps.ts';
import type { Work } from '../handover/work.ts';
import type { Agent, Verifier } from '../ports/agent.ts';
import type { Forge } from '../ports/forge.ts';
import type { Clock, Log } from '../ports/machine.ts';
import type { Remote, Repository, WorkFiles } from '../ports/repository.ts';
import type { BudgetStore, StateStore } from '../ports/state.ts';
import { publishEnd } from '../publish/end.ts';
import { isOnRemote, publish } from '../publish/publish.ts';
import type { PublishDeps } from '../publish/deps.ts';
import { reportOfEnd, reportOfWork } from '../publish/report-of.ts';
import { renderIterationEnd, renderProgressLine } from '../report/pages/progress.ts';
import { reportWithoutLane, type RunReport } from '../handover/report.ts';
import { failureOf, type Failure } from './failure.ts';
import { messageOf } from '../errors.ts';
import type { RunRecord } from './run-record.ts';

/** The world that a run talks to. Each is made at its first use, and once. */
export interface Connections {
  readonly forge: () => Promise<Forge>;
  readonly remote: () => Promise<Remote>;
  readonly repository: () => Promise<Repository>;
  readonly store: () => Promise<StateStore>;
  /** null: nothing is counted for the whole repository. */
  readonly budget: () => Promise<BudgetStore | null>;
  readonly agent: () => Promise<Agent>;
  readonly verifier: () => Promise<Verifier>;
}

/** What a run has of its machine. */
export interface RunPlace {
  /** The user's prompt, or the built-in one. */
  readonly readPrompt: () => Promise<string>;
  readonly readLearnings: () => Promise<string>;
  readonly files: WorkFiles;
  /** Puts the run's record on disk, whole or not at all; throws a UserError when it cannot. */
  readonly record: (record: Omit<RunRecord, 'version' | 'mark' | 'startedAt'>) => void;
  /** Why everything that this run has on disk is gone, as a sentence; null while it is there. */
  readonly loss: () => string | null;
  /** Folder for the session's transcript. */
  readonly sessionFolder: string;
  /** Calls `giveUp` when the run was cancelled and is not done in time. */
  readonly onCancel: (giveUp: (why: string) => Promise<void>) => AbortSignal;
  /** Ends the agent's processes. */
  readonly endAgent: () => Promise<void>;
  readonly exit: (code: number) => void;
}

/** What main and post have in common. */
export interface RunFrame {
  readonly config: Config;
  readonly context: RunContext;
  readonly mark: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly debug: (text: string) => void;
  /** Text → the same text without secrets. */
  readonly redact: (text: string) => string;
  readonly connect: Connections;
}

export interface River extends RunFrame {
  readonly place: RunPlace;
  readonly startedAt: number;
  readonly appendJournal: LoopDeps['appendJournal'];
  /** Ends the run while a part of it hangs. */
  readonly leave: (report: RunReport) => void;
}

/** The river: gate → loop → publish. Whatever happens in it ends in a report; what was finished before a failure is published. */
export async function runRiver(river: River): Promise<RunReport> {
  const { config, context, mark, clock, log, redact, debug, connect, place, startedAt } = river;
  let work: Work | null = null;
  let held: LaneId | null = null;
  const record = (stage: RunRecord['stage']): void => {
    place.record({ stage, held, work });
  };
  const keep = (latest: Work): void => {
    work = latest;
    record('work');
  };
  let toldOfRecord = false;
  /** For where no new call depends on the record any more: the work is in memory, and publishing it matters more. */
  const tryToRecord = (stage: RunRecord['stage']): void => {
    try {
      record(stage);
    } catch (error) {
      if (!toldOfRecord) log.warning(messageOf(error));
      toldOfRecord = true;
    }
  };
  const frame = (): Parameters<typeof reportOfEnd>[0] => ({ config, context, redact, now: clock.now() });

  const signal = place.onCancel(async (why) => {
    await place.endAgent();
    if (work !== null) {
      log.warning(`Cancelled (${why}) and not done in time: the rest is left to the post step.`);
      place.exit(1);
    }
    tryToRecord('ended');
    river.leave(endedReport({ kind: 'cancelled', reason: 'signal' }));
  });

  try {
    return await counted(await flow());
  } catch (error) {
    return await counted(await salvage(error));
  }

  async function flow(): Promise<RunReport> {
    const repository = await connect.repository();
    // Read before anything else: from the checkout as the job made it, before any agent ran.
    const promptTemplate = await place.readPrompt();
    const publishing = await publisher(null);
    // On disk before the lane is claimed: a run that is killed right behind its claim is let go by post.
    const claiming = (lane: LaneId): void => {
      held = lane;
      record('gate');
    };
    const intake = await gate({ ...publishing, repository, claiming });
    if (intake.kind === 'end') {
      // The gate gave back what it had taken; where it could not, this is the second try, and post the third.
      if (held !== null && (await publishing.store.release(held)).kind === 'free') held = null;
      const told = await publishEnd(publishing, intake);
      tryToRecord('ended');
      return reportOfEnd(frame(), told, startedAt);
    }
    const agent = await connect.agent();
    const agentName = nameOfAgent(await agent.prepare());
    const begun = await acknowledge(publishing.forge, intake);
    const verifier = await connect.verifier();
    const finished = await loop(
      {
        config: { ...config, policy: begun.policy },
        agent,
        agentName,
        repository,
        ordersNow: (lane) => publishing.store.orders(lane),
        verifier,
        clock,
        log,
        signal,
        runId: context.runId,
        promptTemplate,
        readLearnings: place.readLearnings,
        files: place.files,
        redact,
        narrate,
        appendJournal: river.appendJournal,
        record: keep,
      },
      begun,
    );
    keep(finished);
    await agent.sweep();
    // A cancelled job has seconds left: post publishes what the loop put on disk.
    if (finished.outcome.kind === 'cancelled')
      return reportOfWork(frame(), finished, { pullRequest: finished.lane.pullRequest, headSha: null, saved: null });
    return publishWork(await publisher(agent), finished);
  }

  /** After a failure: publishes what was finished before it, or gives back the lane of a run that never began. */
  async function salvage(error: unknown): Promise<RunReport> {
    const outcome = whatFailed(error);
    if (work === null) {
      if (
        held !== null &&
        (await releaseLane({ store: await connect.store(), budget: await connect.budget(), clock, mark }, held))
          .kind === 'free'
      )
        held = null;
      // A lane that is still held is given back by post.
      tryToRecord('ended');
      return endedReport(outcome);
    }
    const unfinished: Work = { ...(work as Work), outcome, endedAt: clock.now() };
    work = unfinished;
    tryToRecord('work');
    try {
      return await publishWork(await publisher(null), unfinished);
    } catch (second) {
      // Post tries once more.
      return reportOfWork(
        frame(),
        { ...unfinished, outcome: failureOf(second, debug) },
        { pullRequest: unfinished.lane.pullRequest, headSha: null, saved: null },
      );
    }
  }

  function whatFailed(error: unknown): Failure {
    const failure = failureOf(error, debug);
    // Everything fails in some way of its own then; this is the one thing worth saying.
    const loss = place.loss();
    return loss === null ? failure : { kind: 'failed', reason: 'infrastructure', message: loss };
  }

  async function publishWork(publishing: PublishDeps, finished: Work): Promise<RunReport> {
    const { report, lane } = await publish(publishing, finished);
    if (lane.kind === 'free') held = null;
    else log.warning(`Lane ${finished.lane.id} is not given back yet: ${lane.why}. The post step tries once more.`);
    // Neither commits that are only on this machine nor a lane that is still held are given up before post has tried as well.
    tryToRecord(held === null && isOnRemote(finished, report) ? 'ended' : 'work');
    return report;
  }

  async function publisher(agent: Agent | null): Promise<PublishDeps> {
    return connectPublisher(river, { agent, sessionFolder: place.sessionFolder, stepWithinMs: null });
  }

  function narrate(entry: Work['journal'][number], { tasks, state }: Work): void {
    const { done, all } = countTasks(tasks, state.tasks);
    log.info(renderIterationEnd(entry));
    log.info(renderProgressLine({ done, total: all, title: entry.taskTitle }));
  }

  async function counted(report: RunReport): Promise<RunReport> {
    return { ...report, requests: await requestsSent(connect) };
  }

  function endedReport(outcome: Outcome): RunReport {
    return reportWithoutLane({ outcome, repositoryUrl: '', runUrl: context.runUrl, startedAt, endedAt: clock.now() });
  }
}

/** What a run asked of GitHub's API; null when it could not ask at all. */
export async function requestsSent({ forge }: Connections): Promise<RunReport['requests']> {
  return forge().then(
    (made) => made.requests(),
    () => null,
  );
}

/** The publisher's ports; `agent` (null: none at hand) knows where the session's transcript is. */
export async function connectPublisher(
  { config, context, mark, clock, log, redact, connect }: RunFrame,
  {
    agent,
    sessionFolder,
    stepWithinMs,
  }: { readonly agent: Agent | null; readonly sessionFolder: string; readonly stepWithinMs: number | null },
): Promise<PublishDeps> {
  const [forge, remote, store, budget] = await Promise.all([
    connect.forge(),
    connect.remote(),
    connect.store(),
    connect.budget(),
  ]);
  const exportSession = async (id: string): Promise<string | null> =>
    agent !== null && (await agent.exportSession(id, sessionFolder)) ? sessionFolder : null;
  return {
    config,
    context,
    mark,
    runUrl: context.runUrl,
    forge,
    remote,
    store,
    budget,
    clock,
    log,
    redact,
    exportSession,
    stepWithinMs,
  };
}

/** What `--version` prints: `2.1.330 (Claude Code)`, or anything else for another CLI. */
function nameOfAgent(printed: string): { readonly name: string; readonly version: string } {
  const parts = /^(\S+) \(([^)]+)\)$/.exec(printed);
  return parts === null ? { name: printed, version: '' } : { name: parts[2] ?? '', version: parts[1] ?? '' };
}
