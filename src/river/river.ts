import type { Config, RunContext } from '../config/config.ts';
import type { Reach } from '../config/inputs.ts';
import { meaningOfRun } from '../gate/event/event-table.ts';
import { requesterOf } from '../gate/event/intent.ts';
import { isAskedFor } from '../gate/people/trust.ts';
import { reportWithoutLane } from '../handover/report.ts';
import type { Forge } from '../ports/forge.ts';
import type { Clock, Log } from '../ports/machine.ts';
import { within } from '../publish/answers.ts';
import { notifyOfConfiguration } from '../publish/notifications.ts';
import { type Failure, unnotified } from './agents.ts';
import type { RiverDeps, RunEnd } from './deps.ts';
import { reportOfDismissed } from './dismissed.ts';
import { createRecording } from './run-loop.ts';

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

/** The river: event → gate → loop → publish. Most events of a repository are not for us: they end before the code of the stages is loaded. */
export async function runRiver(deps: RiverDeps): Promise<RunEnd> {
  const recording = createRecording(deps);
  const report = reportOfDismissed(deps, recording);
  if (report !== null) return { report, handedOver: null };
  const { runStages } = await import('./flow.ts');
  return runStages(deps, recording);
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
