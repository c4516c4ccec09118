import { spansOfJob } from '../core/journal/spans.ts';
import { mapTexts } from '../core/text/redact.ts';
import { completeSentence } from '../core/text/phrase.ts';
import { getErrorText } from '../errors.ts';
import type { RunReport } from '../handover/report.ts';
import { listIterations, selectLaneReport, selectReportSetting } from '../report/facts.ts';
import type { RunEnd } from '../run/deps.ts';
import { hashText } from '../run/packed-journal.ts';
import { takeIntake } from '../run/jobs/parcels.ts';
import { openHandoff } from './handoff.ts';
import type { World } from './world.ts';

/** Sends the spans of this job to the collector; a failure becomes a warning. Never throws. */
export async function sendTelemetry(world: World, end: RunEnd, startedAt: number): Promise<void> {
  const why = await send(world, end, startedAt).catch(getErrorText);
  if (why !== null) world.log.warning(`The spans of this job were not sent: ${completeSentence(world.redact(why))}`);
}

async function send(world: World, end: RunEnd, startedAt: number): Promise<string | null> {
  const { config, context, environment, clock, redact } = world;
  const { phase } = config.handoff;
  const named = environment['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'] || environment['OTEL_EXPORTER_OTLP_PROTOCOL'] || '';
  if (!['', 'http/protobuf'].includes(named))
    return `the protocol is \`${named}\`, and only \`http/protobuf\` is known`;
  // Send nothing for the last job of a run on several branches, which has no spans of its own, or for an event that
  // asks for nothing, which starts no run.
  const report = end.kind === 'summed-up' ? null : end.report;
  if (phase === 'finish' || end.kind === 'summed-up' || report?.outcome.reason === 'not_for_us') return null;
  const isBehindGate = phase === 'loop' || phase === 'publish';
  const begun = isBehindGate ? (await takeIntake(await openHandoff(config, null), config.handoff)).handed : null;
  const made = spansOfJob(
    {
      ...{ phase, startedAt, endedAt: clock.now() },
      runTag: begun?.runTag ?? world.runTag,
      beginsSeveral: end.kind === 'handed-over' && end.lanes.length > 1,
      run: end.kind === 'ended' && phase !== 'loop' ? runOf(end.report, begun?.intake.claimedAt) : null,
      iterations: report === null || isSentByLoop(phase, report) ? [] : listIterations(report),
      models: modelsOf(report),
    },
    hashText,
  );
  const { owner, repo } = context.repository;
  const { sendSpans } = await import('../runner/send-spans.ts');
  const { createProxyAgent: proxyAgentFor } = await import('../github/proxied-fetch.ts');
  const { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: ofTraces = '', OTEL_EXPORTER_OTLP_ENDPOINT: ofAll = '' } = environment;
  const ofJob = {
    'vcs.repository.url.full': `${context.serverUrl}/${owner}/${repo}`,
    'cicd.pipeline.run.id': context.runId,
    'cicd.pipeline.run.url.full': context.runUrl,
  };
  const attributes = {
    'service.name': (environment['OTEL_SERVICE_NAME'] ?? '') || 'ralph-action',
    // A run at home belongs to no job, so leave the job's attributes out.
    ...(context.runUrl === '' ? {} : ofJob),
  };
  return sendSpans(mapTexts(made, redact), { attributes, proxy: await proxyAgentFor(ofTraces || ofAll) });
}

/**
 * Returns true if the job of the loop has sent its iterations, which a cancelled job, with only seconds left, does not
 * do.
 */
function isSentByLoop(phase: World['config']['handoff']['phase'], { outcome }: RunReport): boolean {
  return phase === 'publish' && outcome.kind !== 'cancelled';
}

function runOf(report: RunReport, claimedAt = report.startedAt) {
  const { startedAt, outcome } = report;
  return { startedAt: Math.min(startedAt, claimedAt), outcome, branch: selectLaneReport(report)?.branch ?? null };
}

function modelsOf(report: RunReport | null): ReadonlyMap<string, string> {
  const agents = (report === null ? null : selectReportSetting(report))?.agents ?? [];
  return new Map(agents.flatMap(({ name, model }) => (model === null ? [] : [[name, model] as const])));
}
