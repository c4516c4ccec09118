import { createMachine } from '../wiring/machine.ts';
import { connectPorts, openWebhook, connectForge } from '../wiring/connect.ts';
import { createGuard, guardConnections } from '../wiring/guard.ts';
import { createRunIsolation, removeDeadSandboxes } from '../wiring/isolation/isolated.ts';
import { readIdentity } from '../wiring/handoff.ts';
import { createWorld, hasCollector, listJobSecrets, systemClock } from '../wiring/world.ts';
import type { Config } from '../config/config.ts';
import { withKeyInputs } from '../config/agent-inputs.ts';
import { deriveConclusion, type Conclusion, type Outcome } from '../core/outcome.ts';
import { suggestNextSteps } from '../report/next/for-run.ts';
import { renderSteps } from '../report/next/step.ts';
import { describeOutcome, renderHeadline } from '../report/sentences/outcome-text.ts';
import { buildOutputs } from '../report/pages/outputs.ts';
import { renderClosingBlock } from '../report/pages/progress.ts';
import { createLanelessReport, type RunReport, type ParallelEnd } from '../handover/report.ts';
import { selectLaneReport } from '../report/facts.ts';
import { renderSummary } from '../report/pages/summary.ts';
import { buildTogetherOutputs, renderTogether, renderTogetherLog } from '../report/pages/together.ts';
import { type FailedOutcome, convertErrorToOutcome } from '../run/failure.ts';
import { removeLeftSettings } from '../git/regular-files.ts';
import { createJournalFile, type JournalFile } from '../runner/journal-file.ts';
import {
  addSummary,
  checkOutputFile,
  createLog,
  logDebug,
  failStep,
  maskValues,
  setOutputs,
} from '../runner/results.ts';
import { takeIdentity, digestSteering } from '../runner/run-context.ts';
import { createRunnerFiles } from '../runner/workspace-files.ts';
import type { RunEnd } from '../run/deps.ts';
import { runAction } from '../run/run-action.ts';
import { closeInTime } from './close-in-time.ts';
import { readRunSetUp, type RunSetUp } from './run-set-up.ts';
import { writeRunRecord } from '../run/run-record.ts';
import { completeSentence } from '../core/text/phrase.ts';

/**
 * Runs the action's main step: event → gate → loop → publish → outputs. It is the only error boundary: any error ends
 * as a failed run that gives the reason.
 */
export async function runMain(): Promise<void> {
  const environment = withKeyInputs(process.env);
  const startedAt = systemClock.now();
  const read = await readRunSetUp(environment);
  const secrets = listJobSecrets(environment, read.kind === 'ready' ? read.config : read.reach);
  const { redact } = secrets;
  maskValues(secrets.values());
  let journal: JournalFile | null = null;
  let receipt: string | null = null;
  let historyPath: string | null = null;
  // Keep the log next to the journal, in the artifact that people get.
  const log = createLog(redact, (text) => journal?.keepLog(text));
  const debugRedacted = (text: string): void => {
    logDebug(redact(text));
  };
  const foreign = new Set<string>();
  const runnerFiles = createRunnerFiles(environment, (name) => {
    if (!foreign.has(name))
      log.warning(`Something else wrote to the file of ${name} during the run. The action's own content was restored.`);
    foreign.add(name);
  });
  if (read.kind === 'unusable') {
    await notifyOf(read);
    await closeInTime(() => removeDeadSandboxes(environment).then(() => null), new AbortController().signal);
    finish(endedReport(read.failure, startedAt), 'failure');
  } else
    await run(read)
      .then((end) => {
        showEnd(end, read.config);
      }, giveUp)
      .catch(giveUp);

  async function run({ config, context }: Extract<RunSetUp, { kind: 'ready' }>): Promise<RunEnd> {
    checkOutputFile(environment);
    const identity = takeIdentity(environment);
    const { runFolder, key } = identity;
    writeRunRecord(
      runFolder,
      {
        version: 2,
        stage: 'gate',
        startedAt,
        ...digestSteering(environment, key),
        claimed: [],
        settings: config.settings.found,
        work: null,
      },
      key,
    );
    // Set the output at once, so that the steps after a killed main can read it.
    journal = createJournalFile(runFolder, (path) => {
      runnerFiles.write(() => {
        setOutputs({ 'journal-path': path });
      });
    });
    await removeLeftSettings(context.workspace);
    const world = createWorld({
      environment,
      config,
      context,
      secrets,
      log,
      identity: await readIdentity(config, identity),
    });
    const guard = createGuard(world, runnerFiles);
    const isolated = createRunIsolation(world);
    const connections = connectPorts(world, { timeouts: null, isolated });
    const machine = createMachine(world, { startedAt, workFiles: connections.workFiles });
    let cancelled = new AbortController().signal;
    try {
      const end = await runAction({
        ...world,
        connect: guardConnections(connections, guard),
        machine: { ...machine, onCancel: (leave) => (cancelled = machine.onCancel(leave)) },
        startedAt,
        appendJournal: journal.append,
        keepPatch: journal.keepPatch,
        keepReceipt: (content) => (receipt = journal?.keepReceipt(content) ?? null),
        journalHash: journal.hash,
        // The runner kills this process soon, so post removes the sandboxes.
        leave: (report) => {
          finish(report, deriveConclusion(report.outcome, config.failOn));
        },
      });
      if (end.kind === 'ended' && end.report.kind === 'worked') {
        const { keepHistoryPage } = await import('../publish/history-page.ts');
        historyPath = await keepHistoryPage({ ...world, store: connections.store }, journal.keepHistory);
      }
      // Do not send the spans of a run that ends early: post, or the job that publishes, sends them.
      const isLeft = cancelled.aborted && end.kind !== 'summed-up' && end.report?.outcome.kind === 'cancelled';
      if (hasCollector(environment) && !isLeft) {
        const { sendTelemetry } = await import('../wiring/telemetry.ts');
        await closeInTime(() => sendTelemetry(world, end, startedAt).then(() => null), cancelled);
      }
      return end;
    } finally {
      const close = async (): Promise<string | null> => {
        const left = await isolated.close();
        await removeDeadSandboxes(environment);
        return left;
      };
      const unremoved = await closeInTime(close, cancelled);
      if (unremoved !== null) log.warning(unremoved);
    }
  }

  async function notifyOf({ failure, reach, context }: Extract<RunSetUp, { kind: 'unusable' }>): Promise<void> {
    if (reach === null || context === null || failure.reason !== 'configuration') return;
    const connecting = { environment, context, log, debug: debugRedacted };
    const { notifyOfInputs } = await import('../run/unusable.ts');
    await notifyOfInputs(
      {
        reach,
        context,
        connectForge: (config) => connectForge({ ...connecting, config }, null),
        webhook: openWebhook(reach.webhook, false),
        clock: systemClock,
        log,
        redact,
      },
      failure,
    );
  }

  function giveUp(error: unknown): void {
    finish(endedReport(convertErrorToOutcome(error, debugRedacted), startedAt), 'failure');
  }

  function showEnd(end: RunEnd, config: Config): void {
    switch (end.kind) {
      case 'ended': {
        const others = end.beside.map((report) => showBeside(report, config));
        const conclusion = deriveConclusion(end.report.outcome, config.failOn);
        finish(end.report, others.includes('failure') ? 'failure' : conclusion);
        break;
      }
      case 'handed-over':
        leaveTo(end, config);
        break;
      case 'summed-up':
        sumUp(end.together);
        break;
    }
  }

  /** Leaves the run to other jobs, which continue it and show its end to people. */
  function leaveTo(
    { lanes, report, beside }: Extract<RunEnd, { kind: 'handed-over' }>,
    config: Pick<Config, 'failOn' | 'handoff' | 'parallel'>,
  ): void {
    const [{ branch, digest }] = lanes;
    const known = report === null ? { branch } : outputsOf(report);
    const each = {
      'handoff-branches': JSON.stringify(lanes.map(({ lane }) => lane)),
      'handoff-digests': JSON.stringify(Object.fromEntries(lanes.map((one) => [one.lane, one.digest]))),
      'handoff-parallel': String(config.parallel),
    };
    const handed = { 'handed-over': 'true', 'handoff-digest': digest, ...(config.handoff.lane === 'each' ? each : {}) };
    const unwritten = failureIn(() => {
      runnerFiles.write(() => {
        setOutputs(mapValues({ ...known, ...handed }, redact));
      });
    });
    if (report !== null) log.info(renderClosingBlock(report, 'by-another-job'));
    const conclusions = beside.map((ended) => showBeside(ended, config));
    // Without the outputs of this job, no other job can continue the run.
    if (unwritten !== null) failStep(redact(unwritten.message));
    process.exit(unwritten === null && !conclusions.includes('failure') ? 0 : 1);
  }

  /** Shows the end of another branch of the run, which ended in this job. */
  function showBeside(report: RunReport, { failOn }: Pick<Config, 'failOn'>): Conclusion {
    showSummary(renderSummary(report));
    log.info(renderClosingBlock(report));
    return deriveConclusion(report.outcome, failOn);
  }

  /** Shows the end of each branch of the run. The job of a failed branch has already failed. */
  function sumUp(together: ParallelEnd): void {
    const unwritten = failureIn(() => {
      runnerFiles.write(() => {
        setOutputs(mapValues(buildTogetherOutputs(together), redact));
      });
    });
    showSummary(renderTogether(together));
    log.info(renderTogetherLog(together));
    if (unwritten !== null) failStep(redact(unwritten.message));
    process.exit(unwritten === null ? 0 : 1);
  }

  function outputsOf(report: RunReport): Record<string, string> {
    const beside = { path: journal?.path() ?? null, hash: journal?.hash() ?? null, receipt, history: historyPath };
    return { ...buildOutputs(report, beside) };
  }

  function finish(report: RunReport, conclusion: Conclusion): void {
    const unwritten = failureIn(() => {
      runnerFiles.write(() => {
        setOutputs(mapValues(outputsOf(report), redact));
      });
    });
    // Report a failure if the outputs cannot be written; a run that failed before reports that itself.
    const end = unwritten === null || report.outcome.kind === 'failed' ? report : { ...report, outcome: unwritten };
    const failed = conclusion === 'failure' || unwritten !== null;
    // Post publishes a cancelled run's work, and then shows a more complete summary.
    if (report.outcome.kind !== 'cancelled' || selectLaneReport(report) === null) showSummary(renderSummary(end));
    log.info(renderClosingBlock(end));
    const { what } = describeOutcome(end);
    if (failed)
      failStep(
        redact(`${renderHeadline(end, 'log')}. ${completeSentence(what)} ${renderSteps(suggestNextSteps(end), 'log')}`),
      );
    // Exit now, because sockets of a hanging service would keep the job alive.
    process.exit(failed ? 1 : 0);
  }

  function showSummary(markdown: string): void {
    failureIn(() => {
      runnerFiles.write(() => {
        addSummary(redact(markdown), environment.GITHUB_STEP_SUMMARY);
      });
    });
  }

  /**
   * Writes a result at the end of the run. Returns the failure, or null on success, because a failed write must not
   * prevent the others.
   */
  function failureIn(write: () => void): FailedOutcome | null {
    try {
      write();
      return null;
    } catch (error) {
      const failure = convertErrorToOutcome(error, debugRedacted);
      log.warning(failure.message);
      return failure;
    }
  }
}

function endedReport(outcome: Outcome, startedAt: number): RunReport {
  return createLanelessReport({ outcome, repositoryUrl: '', runUrl: '', startedAt, endedAt: systemClock.now() });
}

function mapValues(
  record: Readonly<Record<string, string>>,
  change: (value: string) => string,
): Record<string, string> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));
}
