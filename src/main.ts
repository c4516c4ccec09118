import { randomUUID } from 'node:crypto';
import { actionFolderOf, secretsOf, systemClock, type World } from './adapters.ts';
import type { Config, RunContext } from './config/config.ts';
import { parseInputs } from './config/inputs.ts';
import { conclude, type Outcome } from './core/outcome.ts';
import { describeOutcome } from './report/outcome-text.ts';
import { renderOutputs } from './report/outputs.ts';
import { renderClosingBlock } from './report/progress.ts';
import { reportWithoutLane, type RunReport } from './report/run-report.ts';
import { renderSummary } from './report/summary.ts';
import { createJournalFile } from './runner/journal-file.ts';
import { createLog, debug } from './runner/log.ts';
import { addSummary, fail, inputTexts, mask, rememberForPost, setOutputs } from './runner/results.ts';
import { readRunContext } from './runner/run-context.ts';
import { runRiver } from './river.ts';
import { createRunFolder } from './run-record.ts';
import { UserError } from './user-error.ts';

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

/** A cancelled run's work is published by post, which has its own summary and knows more then. */
function isLeftToPost({ outcome, lane }: RunReport): boolean {
  return outcome.kind === 'cancelled' && lane !== null;
}

function endedReport(outcome: Outcome, startedAt: number): RunReport {
  return reportWithoutLane({ outcome, repositoryUrl: '', runUrl: '', startedAt, endedAt: systemClock.now() });
}

function mapValues(record: Readonly<Record<string, string>>, change: (value: string) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));
}
