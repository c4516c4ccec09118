import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { agentEnvironment, secretValues, verifyEnvironment } from './config/agent-environment.ts';
import type { Config, RunContext } from './config/config.ts';
import { createRedactor } from './core/redact.ts';
import type { Agent, Clock, Forge, Log, Remote, Repository, StateStore, Verifier } from './ports.ts';

/** The environment of this process, and what is derived from it once. Composition is the entries' work: no other layer knows an adapter. */
export interface World {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Folder of the action: dist/ and templates/. */
  readonly actionFolder: string;
  readonly config: Config;
  readonly context: RunContext;
  readonly secrets: readonly string[];
  readonly redact: (text: string) => string;
  readonly log: Log;
  readonly debug: (text: string) => void;
  /** This run's private folder. */
  readonly runFolder: string;
  /** Every process of the agent carries it. */
  readonly mark: string;
}

/** Author of the loop's commits, and of the agent's own where the checkout names none. */
const COMMIT_IDENTITY = { name: 'ralph-action', email: 'ralph-action@users.noreply.github.com' } as const;

export const systemClock: Clock = { now: () => Date.now() };

/** Values that nothing may show, and the function that hides them. */
export function secretsOf(environment: World['environment'], envNames: readonly string[]): { readonly secrets: readonly string[]; readonly redact: (text: string) => string } {
  const secrets = secretValues(environment, envNames);
  return { secrets, redact: createRedactor(secrets) };
}

/** Folder that holds `dist/`, from the script that the runner started. */
export function actionFolderOf(script: string | undefined): string {
  return dirname(dirname(script ?? ''));
}

/** GitHub's API. */
export async function connectForge({ config, context, log }: World): Promise<Forge> {
  const { createForge } = await import('./github/forge.ts');
  return createForge({ token: config.githubToken, apiUrl: context.apiUrl, repository: context.repository, log, now: systemClock.now });
}

/** The remote side of the repository. */
export async function connectRemote(world: World): Promise<Remote> {
  const { createRemote } = await import('./git/remote.ts');
  const gitFolder = join(world.context.workspace, '.git');
  return createRemote({
    url: remoteUrl(world.context),
    token: world.config.githubToken,
    branchPrefix: world.config.branchPrefix,
    workFolder: join(world.runFolder, 'push'),
    sourceGitFolder: existsSync(gitFolder) ? gitFolder : null,
    env: world.environment as NodeJS.ProcessEnv,
    log: world.log,
  });
}

/** The checkout. */
export async function openRepository(world: World): Promise<Repository> {
  const [{ createRepository }, { createSecretScanner }] = await Promise.all([import('./git/checkout.ts'), import('./secrets/scanner.ts')]);
  const { config, context } = world;
  return createRepository({
    folder: context.workspace,
    remote: { url: remoteUrl(context), token: config.githubToken },
    workFolder: join(world.runFolder, 'git'),
    rules: { allowProtectedPaths: config.allowProtectedPaths, maxPatchFiles: config.maxPatchFiles, maxPatchKib: config.maxPatchKib, secretValues: world.secrets, scanner: createSecretScanner() },
    identity: COMMIT_IDENTITY,
    env: world.environment as NodeJS.ProcessEnv,
  });
}

/** The Actions cache, each operation in a process of its own. */
export async function openStore(world: World): Promise<StateStore> {
  const { cacheTimeouts, createCacheStore } = await import('./state/cache-store.ts');
  return createCacheStore({
    ...cacheTimeouts,
    workerCommand: [process.execPath, join(world.actionFolder, 'dist', 'cache-worker.js')],
    stagingFolder: join(world.runFolder, 'state'),
    environment: world.environment,
    runId: world.context.runId,
    runAttempt: world.context.runAttempt,
    now: systemClock.now,
    log: { warning: world.log.warning, debug: world.debug },
  });
}

/** The agent's CLI. */
export async function createAgent(world: World): Promise<Agent> {
  const { createClaudeAgent } = await import('./agents/claude.ts');
  const { config, context, environment } = world;
  return createClaudeAgent({
    command: config.agent.path === null ? { kind: 'install', version: config.agent.version, folder: join(environment.RUNNER_TOOL_CACHE ?? context.temp, 'ralph-action', `claude-code-${config.agent.version}`) } : { kind: 'path', path: config.agent.path },
    model: config.agent.model,
    allowedTools: config.policy.allowedTools,
    extraArgs: config.agent.args,
    environment: { ...gitIdentity(), ...agentEnvironment(environment, config.agent.envNames) },
    workFolder: context.workspace,
    configFolder: join(world.runFolder, 'agent'),
    mark: world.mark,
    log: world.log,
    now: systemClock.now,
    redact: world.redact,
  });
}

/** The user's verify commands. */
export async function createCommands(world: World): Promise<Verifier> {
  const { createVerifier } = await import('./agents/command.ts');
  const { config, context } = world;
  return createVerifier({ commands: config.verify, workFolder: context.workspace, environment: verifyEnvironment(world.environment, config.agent.envNames), mark: world.mark, log: world.log, now: systemClock.now });
}

/** Without these the agent's own `git commit` fails on a runner, which has no git user. */
function gitIdentity(): Record<string, string> {
  const { name, email } = COMMIT_IDENTITY;
  return { GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email, GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: email };
}

function remoteUrl({ serverUrl, repository }: RunContext): string {
  return `${serverUrl}/${repository.owner}/${repository.repo}.git`;
}

/** Ends every process that carries the mark. */
export async function endAgent(mark: string): Promise<void> {
  const { endMarked } = await import('./agents/claude.ts');
  await endMarked(mark);
}

/** Puts credentials back that a killed main had taken out of the checkout. */
export async function giveCredentialsBack({ runFolder }: Pick<World, 'runFolder'>): Promise<void> {
  const { restoreCredentials } = await import('./git/credentials.ts');
  await restoreCredentials(join(runFolder, 'git'));
}
