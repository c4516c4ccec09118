import { ALL_PROVIDERS } from './agents/providers.ts';
import { dirname } from 'node:path';
import { secretValues, verifyEnvironment } from '../config/agent-environment.ts';
import type { RunContext } from '../config/config.ts';
import { createRedactor, createSecretFinder } from '../core/text/redact.ts';
import type { Pace } from '../github/client.ts';
import type { Clock } from '../ports/machine.ts';
import type { RunDeps } from '../river/deps.ts';
import { debug, mask } from '../runner/results.ts';
import type { RunIdentity } from '../runner/run-context.ts';

/** The environment of this process, and what is derived from it once. Composition is the entries' work: no other layer knows an adapter. */
export interface World extends Omit<RunDeps, 'connect'> {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Folder of the action: dist/ and templates/. */
  readonly actionFolder: string;
  readonly secrets: Secrets;
  /** Where git reaches the repository: a URL, or the folder of a person's own. */
  readonly remoteUrl: string;
  /** Folders that a room does not show, beside what every room hides. */
  readonly hidden: readonly string[];
  /** The agent's own folder for settings and transcripts, where nothing isolates it; null: one of the run's. */
  readonly agentFolder: string | null;
  /** This run's private folder. */
  readonly runFolder: string;
  /** Seals what main leaves in it for post. */
  readonly runKey: Buffer;
}

/** Values that nothing may show, and what hides them in a text. */
export interface Secrets {
  readonly values: () => readonly string[];
  readonly redact: (text: string) => string;
  /** Tells known secrets from what only has the form of a key. */
  readonly holdsSecret: (text: string) => boolean;
  /** From now on these are hidden as well, by the runner too. */
  readonly learn: (values: readonly string[]) => void;
}

/** The world of a run, in main and in post. `runTag`: every process of the agent carries it. */
export function createWorld({
  environment,
  config,
  context,
  secrets,
  log,
  identity: { runFolder, runTag, key },
}: Pick<World, 'environment' | 'config' | 'context' | 'secrets' | 'log'> & { readonly identity: RunIdentity }): World {
  const { redact } = secrets;
  return {
    environment,
    actionFolder: actionFolderOf(process.argv[1]),
    config,
    context,
    secrets,
    remoteUrl: remoteUrl(context),
    hidden: [],
    agentFolder: null,
    redact,
    clock: systemClock,
    log,
    debug: (text) => {
      debug(redact(text));
    },
    variables: verifyEnvironment(environment, config.agent.envNames, ALL_PROVIDERS),
    runFolder,
    runKey: key,
    runTag,
  };
}

/** How long ports wait for a server. */
export interface Patience {
  /** Of one git command that talks to the remote, in ms. */
  readonly gitCommandMs: number;
  readonly request: Pace;
}

/** The wall clock at the start, and from then on a clock that nobody can turn back: a run's own time must bind whatever happens to the machine's. */
const STARTED_AT = Date.now() - performance.now();
export const systemClock: Clock = { now: () => Math.round(STARTED_AT + performance.now()) };

/** The secrets that the job gave to this process. */
export function secretsOf(environment: World['environment'], envNames: readonly string[]): Secrets {
  return secretsFrom(environment, { envNames, announce: mask });
}

/** The same, where somebody else than the runner hears of what is found. */
export function secretsFrom(
  environment: World['environment'],
  {
    envNames,
    announce,
  }: { readonly envNames: readonly string[]; readonly announce: (found: readonly string[]) => void },
): Secrets {
  let values: readonly string[] = secretValues(environment, envNames, ALL_PROVIDERS);
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

/** Folder that holds `dist/`, from the script that the runner started. */
export function actionFolderOf(script: string | undefined): string {
  return dirname(dirname(script ?? ''));
}

/** Where git reaches the repository. */
function remoteUrl({ serverUrl, repository }: RunContext): string {
  return `${serverUrl}/${repository.owner}/${repository.repo}.git`;
}
