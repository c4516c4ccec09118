import { lstatSync } from 'node:fs';
import { endAgent, removeRunSandboxes } from '../wiring/isolation/isolated.ts';
import { listJobSecrets } from '../wiring/world.ts';
import { withKeyInputs } from '../config/agent-inputs.ts';
import { convertErrorToOutcome } from '../run/failure.ts';
import { getErrorMessage } from '../errors.ts';
import { createLog, logDebug } from '../runner/results.ts';
import { deriveRunIdentities, type RunIdentity } from '../runner/run-context.ts';
import { createRunnerFiles } from '../runner/workspace-files.ts';
import { readRunRecord, type RunRecord } from '../run/run-record.ts';
import { describeRemains } from '../core/isolation/sandbox-record.ts';
import { listFirstNames, completeSentence } from '../core/text/phrase.ts';

/**
 * Maximum time for the post step: GitHub gives a cancelled job five minutes in total, of which other actions' post
 * steps need some.
 */
const POST_WITHIN_MS = 58_000;

/**
 * Runs the action's post step, which finishes the work of a killed or cancelled main. Does nothing after a main that
 * ended by itself. Never throws.
 */
export async function runPost(): Promise<void> {
  const environment = withKeyInputs(process.env);
  const { redact } = listJobSecrets(environment, null);
  const log = createLog(redact);
  const runnerFiles = createRunnerFiles(environment, () => undefined);
  setTimeout(() => {
    log.error('The post step ran out of time and ends here. The next run continues from what was saved before.');
    process.exit(0);
  }, POST_WITHIN_MS);
  const logFailure =
    (what: string) =>
    (error: unknown): void => {
      convertErrorToOutcome(error, (stack) => {
        logDebug(redact(stack));
      });
      log.error(`${what}: ${completeSentence(getErrorMessage(error))}`);
    };

  // Find runs only by variables that the runner gave to this process, because an agent can change everything that main
  // could leave for post.
  const [first, ...others] = deriveRunIdentities(environment);
  const runs = [first, ...others.filter(isThere)].map((identity) => ({
    identity,
    record: isThere(identity) ? readRunRecord(identity.runFolder, identity.key) : null,
  }));
  // Load the code now, right after the files of the action were compared, because processes that the agent left could
  // still change them. Most runs have nothing to finish.
  const rescue = runs.every(({ record }) => isOver(record))
    ? null
    : await import('./finish-run.ts').catch((error: unknown) => {
        logFailure('The post step could not load what finishes a run')(error);
        return null;
      });
  for (const { identity, record } of runs) {
    // This ends processes that the agent left running in a separate session.
    await endAgent(identity.runTag).catch(logFailure('Processes of the agent may still run'));
    const left = await removeRunSandboxes(identity, environment).catch((error: unknown) => {
      logFailure("The agent's sandbox could not be removed")(error);
      return null;
    });
    if (left !== null && left.processes.length > 0)
      log.error(`Processes of the agent still run: ${listFirstNames(left.processes)}. Restart the runner.`);
    else if (left !== null) {
      const remains = describeRemains(left);
      if (remains !== null) log.warning(remains);
    }
    runnerFiles.putBack();
    await rescue
      ?.finishRun({ environment, identity, runnerFiles, record, hasFolder: isThere(identity) })
      .catch(logFailure('The post step could not finish this run. The next run continues from what was saved before'));
  }
  runnerFiles.putBack();
  process.exit(0);
}

/** Returns true if main ended the run itself and has released all lanes. */
function isOver(record: RunRecord | null): boolean {
  return record?.stage === 'ended' && record.claimed.length === 0;
}

/** Returns true if main made the run's folder, or there is another entry in its place. */
function isThere({ runFolder }: RunIdentity): boolean {
  return lstatSync(runFolder, { throwIfNoEntry: false }) !== undefined;
}
