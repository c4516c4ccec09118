import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { agentEnvironment, secretValues, verifyEnvironment } from '../config/agent-environment.ts';
import type { RunContext } from '../config/config.ts';
import { leaseMs, type Lease } from '../core/sharing/lease.ts';
import { createRedactor } from '../core/text/redact.ts';
import type { LaneId } from '../core/lane/state.ts';
import type { Pace } from '../github/client.ts';
import type { Agent, Verifier } from '../ports/agent.ts';
import type { Forge } from '../ports/forge.ts';
import type { Clock } from '../ports/machine.ts';
import type { Remote, Repository } from '../ports/repository.ts';
import type { BudgetStore, CellStore, CopyStore, StateStore } from '../ports/state.ts';
import type { Connections, RunFrame, RunPlace } from '../river/river.ts';
import { onCancel } from '../runner/cancellation.ts';
import { createLog, debug } from '../runner/log.ts';
import { rememberForPost } from '../runner/results.ts';
import { createWorkFiles, readWorkspaceFile } from '../runner/workspace-files.ts';
import { writeRunRecord } from '../river/run-record.ts';
import { batchReads } from '../state/batched-cells.ts';

/** The environment of this process, and what is derived from it once. Composition is the entries' work: no other layer knows an adapter. */
export interface World extends Omit<RunFrame, 'connect'> {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Folder of the action: dist/ and templates/. */
  readonly actionFolder: string;
  readonly secrets: readonly string[];
  /** This run's private folder. */
  readonly runFolder: string;
}

/** The world of a run, in main and in post. `mark`: every process of the agent carries it. */
export function createWorld({
  environment,
  config,
  context,
  runFolder,
  mark,
}: Pick<World, 'environment' | 'config' | 'context' | 'runFolder' | 'mark'>): World {
  const { secrets, redact } = secretsOf(environment, config.agent.envNames);
  return {
    environment,
    actionFolder: actionFolderOf(process.argv[1]),
    config,
    context,
    secrets,
    redact,
    clock: systemClock,
    log: createLog(redact),
    debug: (text) => {
      debug(redact(text));
    },
    runFolder,
    mark,
  };
}

/** How long ports wait for a server. */
export interface Patience {
  /** Of one git command that talks to the remote, in ms. */
  readonly gitCommandMs: number;
  readonly request: Pace;
}

/** The world's ports, each made at its first use and once. `patience`: null leaves it to each adapter. */
export function connect(world: World, patience: Patience | null): Connections {
  const { stateStore } = world.config;
  const cells = once(async () => batchReads(await openCells(world, patience)));
  return {
    forge: once(() => connectForge(world, patience)),
    remote: once(() => connectRemote(world, patience)),
    repository: once(() => openRepository(world)),
    store: once(async () => openStore(world, stateStore === 'cache' ? null : await cells())),
    budget: once(async () => (stateStore === 'cache' || stateStore === 'none' ? null : openBudget(await cells()))),
    agent: once(() => createAgent(world)),
    verifier: once(() => createCommands(world)),
  };
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () => (made ??= make());
}

/** Author of the loop's commits, and of the agent's own where the checkout names none. */
const COMMIT_IDENTITY = { name: 'ralph-action', email: 'ralph-action@users.noreply.github.com' } as const;

/** The wall clock at the start, and from then on a clock that nobody can turn back: a run's own time must bind whatever happens to the machine's. */
const startedAt = Date.now() - performance.now();
export const systemClock: Clock = { now: () => Math.round(startedAt + performance.now()) };

/** Values that nothing may show, and the function that hides them. */
export function secretsOf(
  environment: World['environment'],
  envNames: readonly string[],
): { readonly secrets: readonly string[]; readonly redact: (text: string) => string } {
  const secrets = secretValues(environment, envNames);
  return { secrets, redact: createRedactor(secrets) };
}

/** Folder that holds `dist/`, from the script that the runner started. */
function actionFolderOf(script: string | undefined): string {
  return dirname(dirname(script ?? ''));
}

/** GitHub's API. */
async function connectForge({ config, context, log, debug }: World, patience: Patience | null): Promise<Forge> {
  const { createForge } = await import('../github/forge.ts');
  return createForge({
    token: config.githubToken,
    apiUrl: context.apiUrl,
    repository: context.repository,
    log,
    debug,
    now: systemClock.now,
    ...(patience === null ? {} : { pace: patience.request }),
  });
}

/** The remote side of the repository. */
async function connectRemote(world: World, patience: Patience | null): Promise<Remote> {
  const { createRemote } = await import('../git/remote/remote.ts');
  const gitFolder = join(world.context.workspace, '.git');
  return createRemote({
    url: remoteUrl(world.context),
    token: world.config.githubToken,
    branchPrefix: world.config.branchPrefix,
    workFolder: join(world.runFolder, 'push'),
    sourceGitFolder: existsSync(gitFolder) ? gitFolder : null,
    env: world.environment as NodeJS.ProcessEnv,
    log: world.log,
    ...(patience === null ? {} : { commandTimeoutMs: patience.gitCommandMs }),
  });
}

/** The checkout. */
async function openRepository(world: World): Promise<Repository> {
  const [{ createRepository }, { createSecretScanner }] = await Promise.all([
    import('../git/checkout/checkout.ts'),
    import('../secrets/scanner.ts'),
  ]);
  const { config, context } = world;
  return createRepository({
    folder: context.workspace,
    remote: { url: remoteUrl(context), token: config.githubToken },
    workFolder: join(world.runFolder, 'git'),
    rules: {
      allowProtectedPaths: config.allowProtectedPaths,
      maxPatchFiles: config.maxPatchFiles,
      maxPatchKib: config.maxPatchKib,
      secretValues: world.secrets,
      scanner: createSecretScanner(),
    },
    identity: COMMIT_IDENTITY,
    env: world.environment as NodeJS.ProcessEnv,
  });
}

/** The lanes' cells on a git ref. */
async function openCells(world: World, patience: Patience | null): Promise<CellStore> {
  const { createRefCells } = await import('../git/refs/ref-cells.ts');
  const { config, context, environment, runFolder } = world;
  return createRefCells({
    url: remoteUrl(context),
    access: { kind: 'token', token: config.githubToken },
    workFolder: join(runFolder, 'cells'),
    env: environment as NodeJS.ProcessEnv,
    now: systemClock.now,
    ...(patience === null ? {} : { timeoutMs: patience.gitCommandMs }),
  });
}

/** The state store that the input asks for; `cells` is null where the cache alone keeps it. */
async function openStore(world: World, cells: CellStore | null): Promise<StateStore> {
  const [{ createLayeredStore }, { createGuardedStore }] = await Promise.all([
    import('../state/layered-store.ts'),
    import('../state/guarded-store.ts'),
  ]);
  const guarded =
    cells === null ? null : createGuardedStore({ cells, lease: () => leaseOf(world), now: systemClock.now });
  const copies = world.config.stateStore === 'ref' ? null : { place: 'cache', store: await openCache(world) };
  return createLayeredStore({ guarded, copies });
}

async function openBudget(cells: CellStore): Promise<BudgetStore> {
  const { createBudgetStore } = await import('../state/budget-store.ts');
  return createBudgetStore(cells, systemClock.now);
}

function leaseOf({ config, context, mark }: World): Lease {
  return {
    mark,
    runId: context.runId,
    runAttempt: context.runAttempt,
    runUrl: context.runUrl,
    acquiredAt: systemClock.now(),
    durationMs: leaseMs(config.policy.maxRunMs),
  };
}

/** The Actions cache, each operation in a process of its own. */
async function openCache(world: World): Promise<CopyStore> {
  const { cacheTimeouts, createCacheStore } = await import('../state/cache-store.ts');
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
async function createAgent(world: World): Promise<Agent> {
  const { createClaudeAgent } = await import('../agents/claude/agent.ts');
  const { config, context, environment } = world;
  return createClaudeAgent({
    command:
      config.agent.path === null
        ? {
            kind: 'install',
            version: config.agent.version,
            folder: join(
              environment.RUNNER_TOOL_CACHE ?? context.temp,
              'ralph-action',
              `claude-code-${config.agent.version}`,
            ),
          }
        : { kind: 'path', path: config.agent.path },
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
async function createCommands(world: World): Promise<Verifier> {
  const { createVerifier } = await import('../agents/command.ts');
  const { config, context } = world;
  return createVerifier({
    commands: config.verify,
    workFolder: context.workspace,
    environment: verifyEnvironment(world.environment, config.agent.envNames),
    mark: world.mark,
    log: world.log,
    now: systemClock.now,
  });
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
  const { endMarked } = await import('../agents/claude/agent.ts');
  await endMarked(mark);
}

/** Puts credentials back that a killed main had taken out of the checkout. */
export async function giveCredentialsBack({ runFolder }: Pick<World, 'runFolder'>): Promise<void> {
  const { restoreCredentials } = await import('../git/checkout/credentials.ts');
  await restoreCredentials(join(runFolder, 'git'));
}

/** A prompt file may be so long; the CLI takes 10 MB on stdin, task and context included. */
const MAX_PROMPT_BYTES = 1024 * 1024;
/** The prompt shows the last 2,000 characters; a character is at most four bytes. */
const MAX_LEARNINGS_BYTES = 8_000;

/** This machine, as main needs it. */
export function createPlace(world: World, startedAt: number): RunPlace {
  const { context, runFolder, mark } = world;
  let remembered: LaneId | null = null;
  return {
    readPrompt: () => readPrompt(world),
    readLearnings: async () =>
      (await readWorkspaceFile(context.workspace, '.ralph/learnings.md', MAX_LEARNINGS_BYTES)) ?? '',
    files: createWorkFiles(context.workspace),
    record: (record) => {
      writeRunRecord(runFolder, { version: 1, mark, startedAt, ...record });
      // The lane by itself as well: it must be given back even when the folder is gone.
      if (record.held !== remembered) rememberForPost('lane', record.held ?? '');
      remembered = record.held;
    },
    loss: () =>
      existsSync(runFolder)
        ? null
        : `The run's own folder ${runFolder} was removed while it ran, by the agent or by another program of this machine. What was finished before is published.`,
    sessionFolder: sessionFolderOf(world),
    onCancel,
    endAgent: () => endAgent(mark),
    exit: (code) => process.exit(code),
  };
}

/** Where the session's transcript is put before it is stored. */
export function sessionFolderOf({ runFolder }: Pick<World, 'runFolder'>): string {
  return join(runFolder, 'session');
}

/** The user's prompt, or the built-in one. */
async function readPrompt({ context, config, actionFolder, log }: World): Promise<string> {
  for (const path of [config.promptFile, 'PROMPT.md']) {
    const text = await readWorkspaceFile(context.workspace, path, MAX_PROMPT_BYTES);
    if (text !== null && text.trim() !== '') {
      log.info(`prompt: ${path}`);
      return text;
    }
  }
  return readFile(join(actionFolder, 'templates', 'PROMPT.md'), 'utf8');
}
