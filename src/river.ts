import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connectForge, connectRemote, createAgent, createCommands, endAgent, openRepository, openStore, systemClock, type World } from './adapters.ts';
import type { Outcome } from './core/outcome.ts';
import { countTasks } from './core/tasks/queue.ts';
import { acknowledge, gate } from './gate/gate.ts';
import { loop } from './loop/loop.ts';
import type { LoopRun } from './loop/loop-run.ts';
import type { Work } from './loop/work.ts';
import type { Agent } from './ports.ts';
import { publishAnswer } from './publish/answer.ts';
import { isOnRemote, publish, type PublishRun } from './publish/publish.ts';
import { reportOfEnd, reportOfWork } from './publish/report-of.ts';
import { renderIterationEnd, renderProgressLine } from './report/progress.ts';
import { reportWithoutLane, type RunReport } from './report/run-report.ts';
import { onCancel } from './runner/cancellation.ts';
import { failureOf, messageOf, type Failure } from './runner/failure.ts';
import { readWorkspaceFile } from './runner/workspace-files.ts';
import { writeRunRecord } from './run-record.ts';

/** A prompt file may be so long; the CLI takes 10 MB on stdin, task and context included. */
const MAX_PROMPT_BYTES = 1024 * 1024;
/** The prompt shows the last 2,000 characters; a character is at most four bytes. */
const MAX_LEARNINGS_BYTES = 8_000;

export interface River {
  readonly world: World;
  readonly startedAt: number;
  readonly appendJournal: LoopRun['appendJournal'];
  /** Ends the run while a part of it hangs. */
  readonly leave: (report: RunReport) => void;
}

/** The river: gate → loop → publish. Whatever happens in it ends in a report; what was finished before a failure is published. */
export async function runRiver({ world, startedAt, appendJournal, leave }: River): Promise<RunReport> {
  const { config, context, runFolder, mark, log, redact, debug } = world;
  let work: Work | null = null;
  const record = (stage: 'work' | 'ended'): void => { writeRunRecord(runFolder, { version: 1, stage, mark, startedAt, work }); };
  const keep = (latest: Work): void => {
    work = latest;
    record('work');
  };
  let toldOfRecord = false;
  /** For where no new call depends on the record any more: the work is in memory, and publishing it matters more. */
  const tryToRecord = (stage: 'work' | 'ended'): void => {
    try {
      record(stage);
    } catch (error) {
      if (!toldOfRecord) log.warning(messageOf(error));
      toldOfRecord = true;
    }
  };
  const frame = (): Parameters<typeof reportOfEnd>[0] => ({ config, context, redact, now: systemClock.now() });

  const signal = onCancel(async (why) => {
    await endAgent(mark);
    if (work !== null) {
      log.warning(`Cancelled (${why}) and not done in time: the rest is left to the post step.`);
      process.exit(1);
    }
    tryToRecord('ended');
    leave(endedReport({ kind: 'cancelled', reason: 'signal' }));
  });

  try {
    return await flow();
  } catch (error) {
    return await salvage(error);
  }

  async function flow(): Promise<RunReport> {
    const repository = await openRepository(world);
    // Read before anything else: from the checkout as the job made it, before any agent ran.
    const promptTemplate = await readPrompt(world);
    const publishing = await publisher(null);
    const intake = await gate({ ...publishing, repository });
    if (intake.kind === 'end') {
      await publishAnswer(publishing, intake);
      tryToRecord('ended');
      return reportOfEnd(frame(), intake, startedAt);
    }
    const agent = await createAgent(world);
    const agentName = nameOfAgent(await agent.prepare());
    await acknowledge(publishing.forge, intake);
    const verifier = await createCommands(world);
    const readLearnings = async (): Promise<string> => (await readWorkspaceFile(context.workspace, '.ralph/learnings.md', MAX_LEARNINGS_BYTES)) ?? '';
    const finished = await loop({ config, agent, agentName, repository, verifier, clock: systemClock, log, signal, runId: context.runId, promptTemplate, readLearnings, redact, narrate, appendJournal, record: keep }, intake);
    keep(finished);
    await agent.sweep();
    // A cancelled job has seconds left: post publishes what the loop put on disk.
    if (finished.outcome.kind === 'cancelled') return reportOfWork(frame(), finished, { pullRequest: finished.lane.pullRequest, headSha: null, saved: null });
    return publishWork(await publisher(agent), finished);
  }

  /** After a failure: publishes what was finished before it. */
  async function salvage(error: unknown): Promise<RunReport> {
    const outcome = whatFailed(error);
    if (work === null) {
      tryToRecord('ended');
      return endedReport(outcome);
    }
    const unfinished: Work = { ...(work as Work), outcome, endedAt: systemClock.now() };
    work = unfinished;
    tryToRecord('work');
    try {
      return await publishWork(await publisher(null), unfinished);
    } catch (second) {
      // Post tries once more.
      return reportOfWork(frame(), { ...unfinished, outcome: failureOf(second, debug) }, { pullRequest: unfinished.lane.pullRequest, headSha: null, saved: null });
    }
  }

  function whatFailed(error: unknown): Failure {
    const failure = failureOf(error, debug);
    // Everything fails in some way of its own then; this is the one thing worth saying.
    if (!existsSync(runFolder)) return { kind: 'failed', reason: 'infrastructure', message: `The run's own folder ${runFolder} was removed while it ran, by the agent or by another program of this machine. What was finished before is published.` };
    return failure;
  }

  async function publishWork(publishing: PublishRun, finished: Work): Promise<RunReport> {
    const report = await publish(publishing, finished);
    // Commits that are only on this machine are not given up before post has tried as well.
    if (isOnRemote(finished, report)) tryToRecord('ended');
    return report;
  }

  async function publisher(agent: Agent | null): Promise<PublishRun> {
    return connectPublisher(world, agent);
  }

  function narrate(entry: Work['journal'][number], { tasks, state }: Work): void {
    const { done, all } = countTasks(tasks, state.tasks);
    log.info(renderIterationEnd(entry));
    log.info(renderProgressLine({ done, total: all, title: entry.taskTitle }));
  }

  function endedReport(outcome: Outcome): RunReport {
    return reportWithoutLane({ outcome, repositoryUrl: '', runUrl: context.runUrl, startedAt, endedAt: systemClock.now() });
  }
}

/** The publisher's ports; `agent` (null: none at hand) knows where the session's transcript is. */
export async function connectPublisher(world: World, agent: Agent | null): Promise<PublishRun> {
  const { config, context, log, redact } = world;
  const [forge, remote, store] = await Promise.all([connectForge(world), connectRemote(world), openStore(world)]);
  const folder = join(world.runFolder, 'session');
  const exportSession = async (id: string): Promise<string | null> => (agent !== null && (await agent.exportSession(id, folder)) ? folder : null);
  return { config, context, forge, remote, store, clock: systemClock, log, redact, exportSession };
}

/** The user's prompt, or the built-in one. */
async function readPrompt({ context, config, actionFolder, log }: World): Promise<string> {
  for (const path of [config.promptFile, 'PROMPT.md']) {
    const text = await readWorkspaceFile(context.workspace, path, MAX_PROMPT_BYTES);
    if (text !== null && text.trim() !== '') {
      log.info(`prompt: ${path}`);
      return text;
    }
  }
  return readFile(join(actionFolder, 'templates', 'PROMPT.md'), 'utf8');
}

/** What `--version` prints: `2.1.330 (Claude Code)`, or anything else for another CLI. */
function nameOfAgent(printed: string): { readonly name: string; readonly version: string } {
  const parts = /^(\S+) \(([^)]+)\)$/.exec(printed);
  return parts === null ? { name: printed, version: '' } : { name: parts[2] ?? '', version: parts[1] ?? '' };
}
