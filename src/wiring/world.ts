import { ALL_PROVIDERS } from './agents/providers.ts';
import { dirname } from 'node:path';
import { listSecretValues, buildVerifyEnvironment } from '../config/agent-environment.ts';
import type { Config } from '../config/config.ts';
import { createRedactor, createSecretFinder } from '../core/text/redact.ts';
import type { RequestPace } from '../github/client.ts';
import type { Clock } from '../ports/machine.ts';
import type { RunDeps } from '../run/deps.ts';
import { readJournalFile } from '../runner/journal-file.ts';
import { logDebug, maskValues } from '../runner/results.ts';
import type { RunIdentity } from '../runner/run-context.ts';

/**
 * The environment of this process, and everything that is derived from it once. Only wiring and the entries connect
 * adapters to it.
 */
export interface World extends Omit<RunDeps, 'connect'> {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Folder of the action, with dist/ and templates/. */
  readonly actionFolder: string;
  readonly secrets: Secrets;
  /** The address of the repository for git: a URL, or the folder of a person's own repository. */
  readonly remoteUrl: string;
  /** Folders to hide in the agent's sandbox in addition to those that every sandbox hides. */
  readonly hidden: readonly string[];
  /** The agent's own folder for settings and transcripts if it is not isolated, or null to use a folder of the run. */
  readonly agentFolder: string | null;
  /** This run's private folder. */
  readonly runFolder: string;
  /** The key that seals main's record for post. */
  readonly runKey: Buffer;
}

/** Values that must never be shown, and the function that hides them in a text. */
export interface Secrets {
  readonly values: () => readonly string[];
  readonly redact: (text: string) => string;
  /** Returns true if a text contains a known secret, not just text that resembles a key. */
  readonly holdsSecret: (text: string) => boolean;
  /** Adds values to hide, also for the runner. */
  readonly learn: (values: readonly string[]) => void;
}

/** Creates the world of a run, in main and in post. Every process of the agent carries `runTag`. */
export function createWorld(
  given: Pick<World, 'environment' | 'config' | 'context' | 'secrets' | 'log'> & { readonly identity: RunIdentity },
): World {
  const { environment, config, context, secrets, log, identity } = given;
  const { runFolder, runTag, key } = identity;
  const { redact } = secrets;
  return {
    environment,
    actionFolder: dirname(dirname(process.argv[1] ?? '')),
    config,
    context,
    secrets,
    remoteUrl: `${context.serverUrl}/${context.repository.owner}/${context.repository.repo}.git`,
    hidden: [],
    agentFolder: null,
    redact,
    clock: systemClock,
    log,
    debug: (text) => {
      logDebug(redact(text));
    },
    variables: buildVerifyEnvironment(environment, config.agent.envNames, ALL_PROVIDERS),
    readJournal: () => readJournalFile(runFolder),
    // Keep nothing, because no later step reads outputs of post.
    keepReceipt: () => undefined,
    runFolder,
    runKey: key,
    runTag,
  };
}

/** Time limits for adapters that talk to a server. */
export interface ServerTimeouts {
  /** Maximum time of one git command that talks to the remote, in ms. */
  readonly gitCommandMs: number;
  readonly request: RequestPace;
}

/**
 * The wall clock at the start. Later times come from a clock that cannot be set back, so that changes of the machine's
 * clock do not affect a run's own time limit.
 */
const STARTED_AT = Date.now() - performance.now();
export const systemClock: Clock = { now: () => Math.round(STARTED_AT + performance.now()) };

/** Returns true if the standard variables name a collector for traces. */
export function hasCollector(environment: World['environment']): boolean {
  const given = (name: string): string => (environment[name] ?? '').trim().toLowerCase();
  const isOn = given('OTEL_SDK_DISABLED') !== 'true' && /^(?:|.*\botlp\b.*)$/.test(given('OTEL_TRACES_EXPORTER'));
  return isOn && given('OTEL_EXPORTER_OTLP_ENDPOINT') + given('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') !== '';
}

/**
 * Returns the secrets that the job gave to this process. `config` is the usable part of the configuration, or null if
 * nothing is usable or it is not known yet.
 */
export function listJobSecrets(
  environment: World['environment'],
  config: (Pick<Config, 'webhook'> & Partial<Pick<Config, 'agent'>>) | null,
): Secrets {
  const secrets = collectSecrets(environment, { envNames: config?.agent?.envNames ?? [], announce: maskValues });
  const { address = null, secret = '' } = config?.webhook ?? {};
  secrets.learn([address ?? '', secret].filter((text) => text !== ''));
  return secrets;
}

/** Works like `listJobSecrets`, but passes secrets that are found later to `announce` and not to the runner. */
export function collectSecrets(
  environment: World['environment'],
  {
    envNames,
    announce,
  }: { readonly envNames: readonly string[]; readonly announce: (found: readonly string[]) => void },
): Secrets {
  let values: readonly string[] = listSecretValues(environment, envNames, ALL_PROVIDERS);
  let redact = createRedactor(values);
  let holdsSecret = createSecretFinder(values);
  return {
    values: () => values,
    redact: (text) => redact(text),
    holdsSecret: (text) => holdsSecret(text),
    learn: (found) => {
      announce(found);
      values = [...new Set([...values, ...found])];
      redact = createRedactor(values);
      holdsSecret = createSecretFinder(values);
    },
  };
}
