import { dirname, join } from 'node:path';
import { buildAgentEnvironment } from '../config/agent-environment.ts';
import { loadableAgents } from '../agents/all.ts';
import type { CliCall, CliPlace } from '../agents/cli/cli.ts';
import type { Agent, CommandRunner, Verifier } from '../ports/agent.ts';
import type { ShellSurroundings } from '../processes/run-program.ts';
import { relocateEnvironment } from '../processes/clean-surroundings.ts';
import { locateTreeFolder } from '../git/checkout/tree/tree-folder.ts';
import { buildIdentityVariables } from '../git/git.ts';
import { COMMIT_IDENTITY, locateGitFolder } from './git.ts';
import { AGENTS, type AgentName } from '../core/agent-names.ts';
import type { ConfiguredAgent } from '../config/config.ts';
import type { AgentNeeds } from '../run/deps.ts';
import { buildMcpToolRules } from '../core/mcp/values.ts';
import { describeMissingPrice, describeUnboundCost } from '../core/spending/prices.ts';
import { UserError } from '../errors.ts';
import type { BrokerOptions } from '../isolation/broker.ts';
import {
  type AgentLogin,
  checkRules,
  checkStepRules,
  openServerHosts,
  createAgentLogin,
  restrictToCapabilities,
} from './agents/agent-settings.ts';
import type { Isolation } from './isolation/isolation.ts';
import { systemClock, type World } from './world.ts';

/** Creates the agent with its CLI. */
export async function createAgent(
  world: World,
  { name, version, path, model, args: extraArgs }: ConfiguredAgent,
  needs: AgentNeeds & { readonly isolation: Isolation; readonly login: AgentLogin },
): Promise<Agent> {
  const { isolation, login, mcpServers, pipeline } = needs;
  const [{ createCliAgent }, cli, { locateInstallFolder: installFolder }] = await Promise.all([
    import('../agents/cli/agent.ts'),
    loadableAgents[name].adapter(),
    import('./isolation/sandbox-place.ts'),
  ]);
  const { config } = world;
  const { agentSandbox } = isolation;
  await checkStepRules(world, name, { ...isolation, pipeline });
  openServerHosts(world, { isolation, login, servers: mcpServers, unmapped: cli.unmappedServers(mcpServers) });
  const agent = createCliAgent(cli, {
    command:
      path === null
        ? { kind: 'install', version, folder: installFolder(world, { name, version }) }
        : { kind: 'path', path },
    model,
    allowedTools: [...config.policy.allowedTools, ...buildMcpToolRules(mcpServers)],
    servers: mcpServers,
    extraArgs,
    stallMs: config.agent.stallMs,
    environment: movePathsInto(world, agentSandbox, isolation.environmentFor(login.environment)),
    installEnvironment: login.environment,
    broker: login.broker,
    agentSandbox,
    ...agentFoldersOf(world, name, agentSandbox),
    checkoutFolder: join(world.context.workspace, config.workingDirectory),
    runTag: world.runTag,
    log: world.log,
    now: world.clock.now,
    redact: world.redact,
    holdsSecret: world.secrets.holdsSecret,
  });
  return restrictToCapabilities(agent, AGENTS[name]);
}

/** Returns the command-line arguments of a call, to show them in a dry run. */
export async function buildCallArguments(
  world: World,
  { name }: ConfiguredAgent,
  call: Omit<CliCall, 'environment'>,
): Promise<readonly string[]> {
  const cli = await loadableAgents[name].adapter();
  const { args } = await cli.prepare(
    { ...call, environment: {} },
    {
      ...agentFoldersOf(world, name, null),
      run: () => Promise.resolve({ end: { kind: 'cancelled' }, stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) }),
    },
  );
  return args;
}

/** Returns the folders in which an agent works and keeps its own files. */
function agentFoldersOf(world: World, name: AgentName, agentSandbox: Isolation['agentSandbox']): Omit<CliPlace, 'run'> {
  const { config, runFolder } = world;
  const tree = treeFolderOf(world, agentSandbox);
  const root = agentSandbox?.seenAt(tree) ?? tree;
  return {
    workFolder: join(root, config.workingDirectory),
    alsoFolder: config.workingDirectory === '' ? null : root,
    tree,
    configFolder: configFolderOf(world, name, agentSandbox),
    inbox: join(agentSandbox === null ? runFolder : agentSandbox.folders.inbox, 'agent-files'),
    isolated: agentSandbox !== null,
    prices: config.prices,
  };
}

/** Returns the agent's own config folder, which is that of the person whose login it uses, see findHomeLogin. */
function configFolderOf(
  { agentFolder, runFolder }: World,
  name: AgentName,
  agentSandbox: Isolation['agentSandbox'],
): string {
  if (agentFolder !== null && agentSandbox === null) return agentFolder;
  return join(agentSandbox === null ? join(runFolder, 'agent') : agentSandbox.folders.session, name);
}

function treeFolderOf(world: World, agentSandbox: Isolation['agentSandbox']): string {
  return locateTreeFolder('work', { top: world.context.workspace, workFolder: locateGitFolder(world), agentSandbox });
}

/** Returns the environment in which paths into the checkout lead into the tree instead. */
function movePathsInto(
  world: World,
  agentSandbox: Isolation['agentSandbox'],
  environment: Readonly<Record<string, string>>,
): Record<string, string> {
  const tree = treeFolderOf(world, agentSandbox);
  return relocateEnvironment(environment, world.context.workspace, agentSandbox?.seenAt(tree) ?? tree);
}

/** Opens the agent's login, with the holder of its keys. */
export async function openLogin(
  world: World,
  { name, model }: ConfiguredAgent,
  isolation: Pick<Isolation, 'level' | 'agentSandbox'> & Pick<BrokerOptions, 'listen'>,
): Promise<AgentLogin> {
  await checkRules(world, name, isolation);
  const { config, environment } = world;
  // Set an identity, because the agent's own `git commit` fails on a runner, which has no git user.
  const identity = buildIdentityVariables(COMMIT_IDENTITY);
  const given = { ...identity, ...buildAgentEnvironment(environment, config.agent.envNames, AGENTS[name].provider) };
  const { allowedTools, maxCostUsd, maxCostUsdPerDay } = config.policy;
  const login = await createAgentLogin(name, given, {
    allowedTools,
    model,
    prices: config.prices,
    listen: isolation.listen,
  });
  const { directLogin } = AGENTS[name];
  if (login.broker === null && isolation.agentSandbox !== null && directLogin !== null)
    throw new UserError('configuration', directLogin);
  const isLimited = maxCostUsd + maxCostUsdPerDay > 0;
  // Check the price before a call, so that nothing is spent.
  if (isLimited && model !== null && login.hasPrice?.(model) === false)
    throw new UserError('configuration', describeMissingPrice(model));
  const { title, cost, tokens, capsCost } = AGENTS[name];
  if (isLimited && login.broker === null && !capsCost) world.log.warning(describeUnboundCost(title, { cost, tokens }));
  return login;
}

/** Creates the verifier with the user's verify commands. */
export async function createVerifyCommands(world: World, isolation: Isolation): Promise<Verifier> {
  const [{ createVerifier }, { rememberSurroundings, createSandboxSurroundings: surroundingsInSandbox }, surroundings] =
    await Promise.all([
      import('../processes/verifier.ts'),
      import('../processes/clean-surroundings.ts'),
      shellOf(world, isolation),
    ]);
  const { config, context } = world;
  const { agentSandbox } = isolation;
  const environment = isolation.environmentFor(world.variables);
  const workspace = context.workspace;
  return createVerifier({
    ...surroundings,
    commands: config.verify,
    clean:
      agentSandbox === null
        ? await rememberSurroundings({
            environment,
            workspace,
            folder: join(world.runFolder, 'surroundings'),
            trees: dirname(
              locateTreeFolder('clean', { top: workspace, workFolder: locateGitFolder(world), agentSandbox }),
            ),
          })
        : surroundingsInSandbox({ environment, seenAt: agentSandbox.seenAt, workspace }, () => agentSandbox.refresh()),
    log: world.log,
    now: systemClock.now,
  });
}

/** Creates the commands of a pipeline. */
export async function loadStepCommands(world: World, isolation: Isolation): Promise<CommandRunner> {
  const { createStepCommands: create } = await import('../processes/run-program.ts');
  return create({ ...(await shellOf(world, isolation)), log: world.log });
}

/** Returns the surroundings of the user's commands: in the agent's sandbox, without the agent's keys. */
async function shellOf(world: World, { agentSandbox, environmentFor }: Isolation): Promise<ShellSurroundings> {
  const { findTrustedProgram: trustedProgram } = await import('../processes/trusted-programs.ts');
  const bash = (): string | null => trustedProgram('bash', world.environment);
  // Look it up before the first call, so that the agent cannot replace it.
  bash();
  return {
    bash,
    workFolder: treeFolderOf(world, agentSandbox),
    folder: world.config.workingDirectory,
    environment: movePathsInto(world, agentSandbox, environmentFor(world.variables)),
    agentSandbox,
    runTag: world.runTag,
  };
}
