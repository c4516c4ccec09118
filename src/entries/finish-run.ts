import { existsSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { connectPorts } from '../wiring/connect.ts';
import { nothingToIsolate } from '../wiring/isolation/isolated.ts';
import { readIdentity } from '../wiring/handoff.ts';
import { readSettledTexts } from '../wiring/settings/run-settings.ts';
import {
  createWorld,
  hasCollector,
  listJobSecrets,
  systemClock,
  type ServerTimeouts,
  type World,
} from '../wiring/world.ts';
import type { Config, RunContext } from '../config/config.ts';
import { buildConfig } from '../config/inputs.ts';
import { createLanelessReport } from '../handover/report.ts';
import { rescueLostRun, rescueRun, type RescueLimits } from '../run/rescue.ts';
import { renderClosingBlock } from '../report/pages/progress.ts';
import { renderSummary } from '../report/pages/summary.ts';
import { addSummary, createLog, readInputTexts, maskValues } from '../runner/results.ts';
import { readRunContext, type RunIdentity, digestSteering } from '../runner/run-context.ts';
import type { RunnerFiles } from '../runner/workspace-files.ts';
import { type RunRecord, writeRunRecord } from '../run/run-record.ts';

/**
 * Time limits that leave time for ending processes (3 s) and for the summary. Push and pull request may hang, and the
 * state still gets the 20 s that a hanging ref and a hanging cache take.
 */
const LIMITS: RescueLimits = { publishMs: 50_000, stepMs: 15_000, releaseMs: 4_000 };
/** Time limits of single steps: a healthy command takes a second or two, a healthy request less than one. */
const TIMEOUTS: ServerTimeouts = {
  gitCommandMs: 8_000,
  request: { requestMs: 5_000, secondMs: 1_000, retries: 0, outageMs: 10_000, downloadMs: 10_000 },
};

/** The record of a run whose own record is missing. */
const UNKNOWN = { version: 2, startedAt: 0, steeringDigest: null, claimed: [], work: null } as const;

type Environment = World['environment'];

/**
 * Finishes a run that main may have left. `record` is null if main did not write the file in the run's folder;
 * `hasFolder` is true if that folder, or another entry in its place, exists.
 */
export async function finishRun(known: {
  readonly environment: Environment;
  readonly identity: RunIdentity;
  readonly runnerFiles: RunnerFiles;
  readonly record: RunRecord | null;
  readonly hasFolder: boolean;
}): Promise<void> {
  const { environment, identity, runnerFiles, record, hasFolder } = known;
  const { runFolder, key } = identity;
  if (!existsSync(dirname(runFolder))) return;
  const { steeringDigest, collectorDigest } = digestSteering(environment, key);
  const isSteered = steeringDigest !== (record?.steeringDigest ?? null);
  if (isSteered && record?.stage !== 'ended') {
    // If there is no folder and the inputs are unusable, main has not begun, so there is nothing to refuse.
    if (hasFolder || (await isReadable(environment, record)))
      refuse({ environment, runnerFiles, problem: record === null ? unknownSteering(runFolder) : STEERED });
    return;
  }
  const read = await readRun(environment, record).catch((error: unknown) => {
    // Without a folder, main has already reported this error and done nothing, so do not report it again.
    if (hasFolder) throw error;
    return null;
  });
  if (read === null) return;
  const { phase } = read.config.handoff;
  // The jobs `loop` and `finish` have nothing to clean up, because they neither publish nor claim anything.
  if (phase === 'loop' || phase === 'finish') return;
  const secrets = listJobSecrets(environment, read.config);
  const world = createWorld({
    environment,
    ...read,
    secrets,
    log: createLog(secrets.redact),
    identity: await readIdentity(read.config, identity),
  });
  maskValues(secrets.values());
  const report = await (hasFolder ? rescueRun : rescueLostRun)({
    ...world,
    connect: connectPorts(world, { timeouts: TIMEOUTS, isolated: nothingToIsolate }),
    record,
    folder: runFolder,
    limits: LIMITS,
  });
  if (report === null) {
    // Remove the folder that was created only for this attempt.
    if (!hasFolder) rmSync(runFolder, { recursive: true, force: true });
    return;
  }
  world.log.info(renderClosingBlock(report));
  runnerFiles.write(() => {
    addSummary(world.redact(renderSummary(report)), environment.GITHUB_STEP_SUMMARY);
  });
  // The post step of the job's next use of the action finds this run as well, so record that the run has ended.
  writeRunRecord(runFolder, { ...(record ?? UNKNOWN), stage: 'ended' }, key);
  if (!hasCollector(environment) || collectorDigest !== record?.collectorDigest) return;
  const { sendTelemetry } = await import('../wiring/telemetry.ts');
  await sendTelemetry(world, { kind: 'ended', report, beside: [] }, record.startedAt);
}

const STEERED =
  'Variables that decide which servers this step talks to (proxies, certificates) have changed since the main step: a later step, the agent, or another program on this machine changed them. The post step sends the token nowhere, so nothing more is published.';

function unknownSteering(runFolder: string): string {
  return `The record of this run in ${runFolder} is gone or unreadable, and with it whether proxies and certificates are those that the main step had: the main step could not write it, or a program on this machine removed it. The post step sends the token nowhere, so nothing more is published.`;
}

async function isReadable(environment: Environment, record: RunRecord | null): Promise<boolean> {
  try {
    await readRun(environment, record);
    return true;
  } catch {
    return false;
  }
}

/** Reports why nothing is done, using only loaded modules and no requests. */
function refuse(refused: {
  readonly environment: Environment;
  readonly runnerFiles: RunnerFiles;
  readonly problem: string;
}): void {
  const { environment, runnerFiles, problem } = refused;
  const { redact } = listJobSecrets(environment, null);
  const message = `${problem} The next run continues from what was saved before.`;
  createLog(redact).error(message);
  const now = systemClock.now();
  const outcome = { kind: 'failed', reason: 'infrastructure', message } as const;
  const report = createLanelessReport({ outcome, repositoryUrl: '', runUrl: '', startedAt: now, endedAt: now });
  runnerFiles.write(() => {
    addSummary(redact(renderSummary(report)), environment.GITHUB_STEP_SUMMARY);
  });
}

/**
 * Reads the run with the settings that main recorded, because the agent may have changed the environment and the
 * checkout since.
 */
async function readRun(
  environment: Environment,
  record: RunRecord | null,
): Promise<{ readonly config: Config; readonly context: RunContext }> {
  const settled = await readSettledTexts(readInputTexts(environment), record?.settings ?? null);
  // No agent logs in after this, so there are no problems to report.
  return {
    config: buildConfig(settled),
    context: { ...(await readRunContext(environment)), loginProblems: [], otherLoginProblems: {}, verifyProblems: [] },
  };
}
