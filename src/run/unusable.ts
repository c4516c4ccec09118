import type { Config, RunContext } from '../config/config.ts';
import type { NotificationInputs } from '../config/inputs.ts';
import { meaningOfRun } from '../gate/event/event-table.ts';
import { findRequester } from '../gate/event/intent.ts';
import { isAskedFor } from '../gate/people/trust.ts';
import { createLanelessReport } from '../handover/report.ts';
import type { Forge } from '../ports/forge.ts';
import type { Clock, Log, SendWebhook } from '../ports/machine.ts';
import { withTimeLimit } from '../publish/answers.ts';
import { notifyOfConfiguration } from '../publish/notifications.ts';
import { type FailedOutcome, renderUnnotified } from './failure.ts';
import { hashText } from './packed-journal.ts';

/** Maximum time for the notification of a run that has already failed, in ms. */
const WITHIN_MS = 30_000;

interface UnusableDeps {
  readonly reach: NotificationInputs;
  readonly context: RunContext;
  readonly connectForge: (config: Pick<Config, 'githubToken'>) => Promise<Forge>;
  readonly webhook: SendWebhook | null;
  readonly clock: Clock;
  readonly log: Log;
  readonly redact: (text: string) => string;
}

/** Notifies people of inputs that stop every run, once for each reason. Never throws. */
export async function notifyOfInputs(deps: UnusableDeps, failure: FailedOutcome): Promise<void> {
  await withTimeLimit(WITHIN_MS, tryToNotify(deps, failure)).catch((error: unknown) => {
    deps.log.warning(renderUnnotified(failure, error));
  });
}

async function tryToNotify(deps: UnusableDeps, outcome: FailedOutcome): Promise<void> {
  const { reach: config, context, clock } = deps;
  const meaning = meaningOfRun({ context, config });
  const forge = await deps.connectForge(config);
  if (!(await isAskedFor({ config, forge }, meaning))) return;
  const { owner, repo } = context.repository;
  const now = clock.now();
  const report = createLanelessReport({
    outcome,
    repositoryUrl: `${context.serverUrl}/${owner}/${repo}`,
    runUrl: context.runUrl,
    startedAt: now,
    endedAt: now,
  });
  const asked = findRequester(meaning);
  await notifyOfConfiguration({ ...deps, config, forge, asked, sha256: hashText, stepWithinMs: null }, report);
}
