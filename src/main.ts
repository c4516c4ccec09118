import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { actionFolderOf, connectForge, connectRemote, createAgent, createCommands, endAgent, openRepository, openStore, secretsOf, systemClock, type World } from './adapters.ts';
import type { Config, RunContext } from './config/config.ts';
import { parseInputs } from './config/inputs.ts';
import { conclude, type Outcome } from './core/outcome.ts';
import { countTasks } from './core/tasks/queue.ts';
import { acknowledge, gate } from './gate/gate.ts';
import { loop } from './loop/loop.ts';
import type { Work } from './loop/work.ts';
import { publishAnswer } from './publish/answer.ts';
import { isOnRemote, publish, type PublishRun } from './publish/publish.ts';
import { reportOfEnd, reportOfWork } from './publish/report-of.ts';
import { describeOutcome } from './report/outcome-text.ts';
import { renderOutputs } from './report/outputs.ts';
import { renderClosingBlock, renderIterationEnd, renderProgressLine } from './report/progress.ts';
import { reportWithoutLane, type RunReport } from './report/run-report.ts';
import { renderSummary } from './report/summary.ts';
import { onCancel } from './runner/cancellation.ts';
import { createJournalFile } from './runner/journal-file.ts';
import { createLog, debug } from './runner/log.ts';
import { addSummary, fail, inputTexts, mask, rememberForPost, setOutputs } from './runner/results.ts';
import { readRunContext } from './runner/run-context.ts';
import { readWorkspaceFile } from './runner/workspace-files.ts';
import { createRunFolder, writeRunRecord } from './run-record.ts';
import { UserError } from './user-error.ts';

/** A prompt file may be so long; the CLI takes 10 MB on stdin, task and context included. */
const MAX_PROMPT_BYTES = 1024 * 1024;
/** The prompt shows the last 2,000 characters; a character is at most four bytes. */
const MAX_LEARNINGS_BYTES = 8_000;

/** The action's main step: event → gate → loop → publish → outputs. The one error boundary. */
export async function main(): Promise<void> {
  const environment = process.env;
  const startedAt = systemClock.now();
  const read = readRun(environment);
  const { secrets, redact } = secretsOf(environment, read.kind === 'ready' ? read.config.agent.envNames : []);
  mask(secrets);
  const log = createLog(redact);
  if (read.kind === 'unusable') {
    finish(endedReport({ kind: 'failed', reason: 'configuration', message: read.message }, startedAt), { conclusion: 'failure', journalPath: null });
    return;
  }
  const { config, context } = read;
  const runFolder = createRunFolder(context.temp);
  rememberForPost('run-folder', runFolder);
  // Set at once: the steps after a killed main can read it.
  const journal = createJournalFile(runFolder, (path) => { setOutputs({ 'journal-path': path }); });
  const world: World = { environment, actionFolder: actionFolderOf(process.argv[1]), config, context, secrets, redact, log, debug: (text) => { debug(redact(text)); }, runFolder, mark: randomUUID() };
  const { promise: left, resolve: leave } = Promise.withResolvers<RunReport>();
  const report = await Promise.race([runRiver({ world, startedAt, appendJournal: journal.append, leave }), left]);
  finish(report, { conclusion: conclude(report.outcome, config.failOn), journalPath: journal.path() });

  function finish(end: RunReport, { conclusion, journalPath }: { readonly conclusion: 'success' | 'failure'; readonly journalPath: string | null }): void {
    setOutputs(mapValues(renderOutputs(end, journalPath), redact));
    if (!isLeftToPost(end)) addSummary(redact(renderSummary(end)), environment.GITHUB_STEP_SUMMARY);
    log.info(renderClosingBlock(end));
    const { title, what, next } = describeOutcome(end);
    if (conclusion === 'failure') fail(redact(`${title}. ${what} ${next}`));
    // Sockets of a service that hangs must not keep the job alive.
    process.exit(conclusion === 'failure' ? 1 : 0);
  }
}

type ReadRun = { readonly kind: 'ready'; readonly config: Config; readonly context: RunContext } | { readonly kind: 'unusable'; readonly message: string };

/** Inputs and environment, with the problems of both at once. */
function readRun(environment: World['environment']): ReadRun {
  const problems: string[] = [];
  const attempt = <T>(read: () => T): T | null => {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      problems.push(error.message);
      return null;
    }
  };
  const config = attempt(() => parseInputs(inputTexts(environment)));
  const context = attempt(() => readRunContext(environment));
  return config !== null && context !== null ? { kind: 'ready', config, context } : { kind: 'unusable', message: problems.join('\n') };
}

interface River {
  readonly world: World;
  readonly startedAt: number;
  readonly appendJournal: (line: string) => void;
  /** Ends the run while a part of it hangs. */
  readonly leave: (report: RunReport) => void;
}

/** The river. Whatever happens in it ends in a report; what was finished before a failure is published. */
async function runRiver({ world, startedAt, appendJournal, leave }: River): Promise<RunReport> {
  const { config, context, runFolder, mark, log } = world;
  let work: Work | null = null;
  const record = (stage: 'gate' | 'work' | 'ended'): void => { writeRunRecord(runFolder, { version: 1, stage, mark, startedAt, work }); };
  const frame = { config, context, now: startedAt };
  record('gate');
  const signal = onCancel(async (why) => {
    await endAgent(mark);
    if (work !== null) {
      log.warning(`Cancelled (${why}) and not done in time: the rest is left to the post step.`);
      process.exit(1);
    }
    record('ended');
    leave({ ...endedReport({ kind: 'cancelled', reason: 'signal' }, startedAt), runUrl: context.runUrl });
  });

  try {
    const [forge, remote, repository, store, promptTemplate] = await Promise.all([connectForge(world), connectRemote(world), openRepository(world), openStore(world), readPrompt(world)]);
    const publishing = (exportSession: PublishRun['exportSession']): PublishRun => ({ config, context, forge, remote, store, clock: systemClock, log, redact: world.redact, exportSession });
    try {
      const intake = await gate({ config, context, forge, repository, remote, store, clock: systemClock, log });
      if (intake.kind === 'end') {
        await publishAnswer(publishing(noSession), intake);
        record('ended');
        return reportOfEnd({ ...frame, now: systemClock.now() }, intake, startedAt);
      }
      const agent = await createAgent(world);
      const agentName = nameOfAgent(await agent.prepare());
      await acknowledge(forge, intake);
      work = await loop(
        {
          config, agent, agentName, repository, log, signal, promptTemplate,
          verifier: await createCommands(world),
          clock: systemClock,
          runId: context.runId,
          readLearnings: async () => (await readWorkspaceFile(context.workspace, '.ralph/learnings.md', MAX_LEARNINGS_BYTES)) ?? '',
          redact: world.redact,
          narrate: (entry, { tasks, state }) => {
            const { done, all } = countTasks(tasks, state.tasks);
            log.info(renderIterationEnd(entry));
            log.info(renderProgressLine({ done, total: all, title: entry.taskTitle }));
          },
          appendJournal,
          record: (latest) => {
            work = latest;
            record('work');
          },
        },
        intake,
      );
      await agent.sweep();
      // A cancelled job has seconds left: post publishes what the loop put on disk.
      if (work.outcome.kind === 'cancelled') return reportOfWork({ ...frame, now: systemClock.now() }, work, { pullRequest: work.lane.pullRequest, headSha: null, saved: null });
      const sessionFolder = join(runFolder, 'session');
      const report = await publish(publishing(async (id) => ((await agent.exportSession(id, sessionFolder)) ? sessionFolder : null)), work);
      // Commits that are only on this machine are not given up before post has tried as well.
      if (isOnRemote(work, report)) record('ended');
      return report;
    } catch (error) {
      const outcome = failureOf(error, log);
      if (work === null) {
        record('ended');
        return { ...endedReport(outcome, startedAt), runUrl: context.runUrl };
      }
      // Explicitly typed: TypeScript does not see that a callback assigned it.
      const unfinished: Work = { ...(work as Work), outcome, endedAt: systemClock.now() };
      work = unfinished;
      record('work');
      const report = await publish(publishing(noSession), unfinished);
      if (isOnRemote(unfinished, report)) record('ended');
      return report;
    }
  } catch (error) {
    // Publishing failed as well: post tries once more.
    return { ...endedReport(failureOf(error, log), startedAt), runUrl: context.runUrl };
  }
}

/** The user's prompt, or the built-in one; from the checkout as the job made it, before any agent ran. */
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

/** An error as an outcome. What is not a UserError is ours or the machine's: its stack goes to the log. */
function failureOf(error: unknown, log: World['log']): Outcome {
  if (error instanceof UserError) return { kind: 'failed', reason: error.kind, message: error.message };
  log.error(error instanceof Error ? (error.stack ?? error.message) : String(error));
  return { kind: 'failed', reason: 'infrastructure', message: `Something failed that should not: ${error instanceof Error ? error.message : String(error)}` };
}

/** A cancelled run's work is published by post, which has its own summary and knows more then. */
function isLeftToPost({ outcome, lane }: RunReport): boolean {
  return outcome.kind === 'cancelled' && lane !== null;
}

function endedReport(outcome: Outcome, startedAt: number): RunReport {
  return reportWithoutLane({ outcome, repositoryUrl: '', runUrl: '', startedAt, endedAt: systemClock.now() });
}

function noSession(): Promise<null> {
  return Promise.resolve(null);
}

function mapValues(record: Readonly<Record<string, string>>, change: (value: string) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));
}
