import { join } from 'node:path';
import { claudeProvider } from '../agents/claude/provider.ts';
import { agentEnvironment, verifyEnvironment } from '../config/agent-environment.ts';
import type { Agent, Verifier } from '../ports/agent.ts';
import { COMMIT_IDENTITY, gitFolder } from './git.ts';
import { loginFor } from './agent-login.ts';
import { systemClock, type World } from './world.ts';

/** The agent's CLI. */
export async function createAgent(world: World): Promise<Agent> {
  const { createClaudeAgent } = await import('../agents/claude/agent.ts');
  const { config, context, environment } = world;
  const given = { ...gitIdentity(), ...agentEnvironment(environment, config.agent.envNames, claudeProvider) };
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
    ...(await loginFor(given, config.policy.allowedTools)),
    workFolder: context.workspace,
    configFolder: join(world.runFolder, 'agent'),
    runTag: world.runTag,
    log: world.log,
    now: systemClock.now,
    redact: world.redact,
  });
}

/** The user's verify commands. */
export async function createCommands(world: World): Promise<Verifier> {
  const [{ createVerifier }, { rememberSurroundings }, { trustedProgram }, { cleanCloneParent }] = await Promise.all([
    import('../processes/verifier.ts'),
    import('../processes/clean-surroundings.ts'),
    import('../processes/trusted-programs.ts'),
    import('../git/checkout/clean-clone.ts'),
  ]);
  const { config, context } = world;
  const environment = verifyEnvironment(world.environment, config.agent.envNames, claudeProvider);
  const bash = (): string | null => trustedProgram('bash', world.environment);
  // Found before the first call, it stays that one.
  bash();
  return createVerifier({
    commands: config.verify,
    bash,
    workFolder: context.workspace,
    environment,
    clean: await rememberSurroundings({
      environment,
      workspace: context.workspace,
      folder: join(world.runFolder, 'surroundings'),
      clones: cleanCloneParent(gitFolder(world)),
    }),
    runTag: world.runTag,
    log: world.log,
    now: systemClock.now,
  });
}

/** Without these the agent's own `git commit` fails on a runner, which has no git user. */
function gitIdentity(): Record<string, string> {
  const { name, email } = COMMIT_IDENTITY;
  return { GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email, GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: email };
}

/** Ends every process that carries the run tag. */
export async function endAgent(runTag: string): Promise<void> {
  const { endTagged } = await import('../processes/process-tree.ts');
  await endTagged(runTag);
}
